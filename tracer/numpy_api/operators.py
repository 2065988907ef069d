"""Python's operators on traced values: the ufuncs, and for a traced Python number what Python makes of lists, strings
and None."""

import operator

import numpy as np

from ..common.emit import filled
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray
from ..values import exceptional
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, answers, wrap
from ..values.beyond import far
from ..values.promote import PYTHON_NUMBERS, operand_as, read
from .ufunc_calls import apply_ufunc, operate, weak_kind

BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "pow": np.power, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift, "rshift": np.right_shift,
}  # fmt: skip
COMPARE = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
OPERANDS = {TracedArray, TracedScalar, BoundedArray, np.ndarray, float, int, complex, bool}


def define_operators():
    def forward(ufunc, name):
        def apply(self, other):
            found = NotImplemented if type(other) in OPERANDS else takes(self, other, name)
            return operate(ufunc, self, operand_beside(self, other)) if found is NotImplemented else found

        return apply

    def reflected(ufunc, name):
        def apply(self, other):
            if type(other) in OPERANDS:
                return operate(ufunc, other, self)
            if (found := takes(self, other, name, swapped=True)) is not NotImplemented:
                return found
            mine = as_float(self) if base_of(other) in (float, complex) else self
            return operate(ufunc, operand_beside(mine, other), mine)

        return apply

    def in_place(ufunc):
        def write(self, other):
            apply_ufunc(ufunc, (self, other), out=self)
            return self

        return write

    def single(ufunc):
        return lambda self: operate(ufunc, self)

    for name, ufunc in BINARY.items():
        setattr(Traced, f"__{name}__", forward(ufunc, name))
        setattr(Traced, f"__r{name}__", reflected(ufunc, name))
        setattr(TracedArray, f"__i{name}__", in_place(ufunc))
        setattr(BoundedArray, f"__i{name}__", in_place(ufunc))
    for name, ufunc in COMPARE.items():
        setattr(Traced, f"__{name}__", forward(ufunc, name))
    for name, ufunc in UNARY.items():
        setattr(Traced, f"__{name}__", single(ufunc))
    Traced.__pow__ = squares(Traced.__pow__)
    Traced.__divmod__ = lambda self, other: divmod_of(self, other)
    Traced.__rdivmod__ = lambda self, other: divmod_of(other, self)


def base_of(x):
    """The class of Python's numbers that the class of an operand is a subclass of (`enum.IntEnum`), None for others."""
    if type(x) in OPERANDS or isinstance(x, np.generic):
        return None
    return next((t for t in reversed(PYTHON_NUMBERS) if isinstance(x, t)), None)


def operand_beside(x, other):
    """The other operand of a traced one: where that is a number of Python's, an instance of a subclass of its classes
    is one, too. NumPy takes it for an array."""
    base = base_of(other)
    return other if base is None or weak_kind(x) is None else base.__pos__(other)


def as_float(x):
    """An np.float64 as the float that the operator of an instance of a subclass takes it for."""
    return TracedScalar(x.value, float) if type(x) is TracedScalar and not x.weak and x.dtype == np.float64 else x


def own_answer(x, other, name):
    """The method of a number's subclass that Python asks before the operator of x, a number of Python's: one of its
    own, where x is of the class that it is a subclass of, or of one that does not know it. None for others."""
    kind, base = weak_kind(x), base_of(other)
    if kind is None or base is None or PYTHON_NUMBERS.index(base) < PYTHON_NUMBERS.index(kind):
        return None
    name = f"__{SWAPPED[name]}__" if name in SWAPPED else f"__r{name}__"
    is_own = getattr(type(other), name, None) is not getattr(base, name, None)
    return getattr(other, name) if is_own else None


def divmod_of(x, y):
    """divmod(x, y)."""
    x, y = operand_beside(y, x), operand_beside(x, y)
    kinds = weak_kind(x), weak_kind(y)
    if None not in kinds and complex not in kinds and not far(y):
        divisor = operand_as(read(y)[0], WEAK_DTYPES[kinds[1]])
        exceptional.not_zero(divmod, divisor, *kinds)
    return x // y, x % y


def squares(power):
    """`x ** 2` of an array of booleans is np.square of it, int8, where np.power gives int64; `x ** 0.5` of numbers is
    C's, 0.0 at -0.0, where that of arrays is their square root."""

    def raised(x, n, modulus=None):
        if modulus is not None:
            hint = "Multiply in a loop, and take the remainder as you go."
            raise UnsupportedError(message("pow() of a traced number with a modulus is not captured", locate(), hint))
        if type(n) is float and n == 0.5 and type(x) is TracedScalar and x.type.kind == "f":
            x = x + 0.0
        return (
            operate(np.square, x)
            if type(n) is int and n == 2 and type(x) is TracedArray and x.dtype == bool
            else power(x, n)
        )

    return raised


def sequence_times(x, sequence):
    """`[a, b] * x` for a traced scalar x: Python repeats the sequence, and has to know how often."""
    if x.type.kind not in ("iub" if x.weak else "iu"):
        name = x.weak.__name__ if x.weak else f"numpy.{x.type.dtype.type.__name__}"
        raise with_note(TypeError, message(f"can't multiply sequence by non-int of type {name!r}", locate()))
    return sequence * x.__index__()


def incomparable(x, other, name):
    """`x == other` for a traced Python number and something that is no number: never equal, and not ordered."""
    if name in ("eq", "ne"):
        return name == "ne"
    raise refused_by_python(name, x.weak(), other)


def refused_by_python(name, *operands):
    """The TypeError of an operator of Python's that has no answer for these operands."""
    names = {"and": "and_", "or": "or_"}
    try:
        getattr(operator, names.get(name, name))(*operands)
    except TypeError as error:
        return with_note(TypeError, message(str(error), locate()))
    raise AssertionError(f"{name} of {operands}")


def takes(x, other, name, swapped=False):
    """What Python itself makes of an operator between a traced scalar and a sequence, string or other object;
    NotImplemented where NumPy decides."""
    if answers(type(other), "__array_ufunc__"):
        ufunc = (BINARY | COMPARE)[name]
        return type(other).__array_ufunc__(other, ufunc, "__call__", *((other, x) if swapped else (x, other)))
    if not swapped and (own := own_answer(x, other, name)) is not None:
        return own(x)
    text = isinstance(other, str | bytes)
    if name in ("eq", "ne") and (text and not weak_kind(x) or type(x) is TracedArray and other is None):
        return wrap(filled(name == "ne", x.shape, bool))  # equal nowhere
    if (
        not isinstance(x, TracedScalar)
        or isinstance(other, np.generic | int | float | complex)
        or hasattr(other, "__array__")
    ):
        return NotImplemented
    if name == "mul" and isinstance(other, list | tuple | str | bytes):
        return sequence_times(x, other)
    if name in ("eq", "ne", "lt", "le", "gt", "ge") and (x.weak or not isinstance(other, list | tuple)):
        return incomparable(x, other, name) if x.weak else name == "ne" if name in ("eq", "ne") else NotImplemented
    if x.weak and isinstance(other, list | tuple | str | bytes | dict | set):
        raise refused_by_python(name, *((other, x.weak()) if swapped else (x.weak(), other)))
    return NotImplemented


define_operators()
