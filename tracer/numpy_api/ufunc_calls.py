"""Calls of ufuncs on traced values: plain, with NumPy's keywords, and as Python's operators."""

import contextlib
import itertools
import operator

import numpy as np

from ...ir.bounded import Limited
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..common.emit import cast_to, spread_to
from ..common.errors import ShapeError, UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray, mentioned
from ..values import exceptional, overflow
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, wrap
from ..values.beyond import against, compare_float_big, far
from ..values.layout import laid_as
from ..values.mixed import Mixed, has_mixed
from ..values.ordering import compared
from ..values.promote import (
    COMPARISONS,
    CONNECTIVES,
    ORDERS,
    PYTHON_NUMBERS,
    UFUNCS,
    broadcast_shapes,
    loop,
    mask_of,
    operand_as,
    read,
    rule_of,
    ufunc_values,
)  # fmt: skip
from ..values.storage import current_trace
from ..values.weak import WEAK_NUMBERS
from .ufunc_rules import computed_where

_plans = Limited()  # (ufunc, operand types) -> what `call_ufunc` does


def _plan(ufunc, types):
    """(rule, operand dtypes or None where nothing is to convert, shape, result dtype) for one-result ufuncs; None: ask
    each time."""
    rule = rule_of(ufunc)
    if rule is None or ufunc.nout != 1 or (ufunc in COMPARISONS | CONNECTIVES and int in types):
        return None
    wants, gives = loop(ufunc, tuple(t.dtype if isinstance(t, Tensor) else t for t in types))
    shape = broadcast_shapes([t.shape if isinstance(t, Tensor) else () for t in types])
    same = all(isinstance(t, Tensor) and t.dtype == want and t.shape == shape for t, want in zip(types, wants))
    return rule, None if same else wants, shape, Tensor((), gives[0]).dtype


def call_ufunc(ufunc, *inputs):
    """The plain call `ufunc(*inputs)`: what operators and most calls need.

    How NumPy treats the operand types is worked out once and remembered: per call there remain one
    lookup, the conversions this combination needs, and the op.
    """
    operands, types = [], []
    for x in inputs:
        kind = type(x)
        if kind is TracedArray or (kind is TracedScalar and x.weak is None and not WEAK_NUMBERS.get()):
            x = x.value
            types.append(x.type)
        elif kind is float or kind is int or kind is complex:
            types.append(kind)
        else:
            break
        operands.append(x)
    else:
        key = (ufunc, WEAK_NUMBERS.get(), *types)
        found = _plans.get(key, 0)
        if found == 0:
            found = _plans[key] = _plan(ufunc, types)
        if found is not None:
            rule, wants, shape, gives = found
            if wants is not None:
                operands = [operand_as(x, want, shape) for x, want in zip(operands, wants)]
            value = rule(*operands)
            overflow.noted(ufunc, operands, value)
            return laid_as(value if value.type.dtype is gives else cast_to(value, gives), inputs)
    if mentioned(inputs) is not None:
        return BoundedArray.ufunc_handler(ufunc, "__call__", inputs, {})
    if has_mixed(inputs):
        return Traced.meet(ufunc, inputs, False)
    out = ufunc_values(ufunc, inputs)
    return laid_as(out[0], inputs) if len(out) == 1 else tuple(laid_as(v, inputs) for v in out)


def apply_ufunc(
    ufunc, inputs, *, out=None, where=True, dtype=None, casting="same_kind", order="K", subok=True, signature=None
):
    """`ufunc(*inputs, **kwargs)` with NumPy's keywords."""
    if signature is not None:
        raise UnsupportedError(
            message(f"np.{ufunc.__name__}(signature=...) is not captured", locate(), "Give dtype=... instead.")
        )
    if mentioned((*inputs, out, where)) is not None:
        return BoundedArray.ufunc_handler(
            ufunc, "__call__", inputs, {"out": out, "where": where, "dtype": dtype, "casting": casting}
        )
    if has_mixed(inputs):
        given = {"out": out, "where": where, "dtype": dtype, "casting": casting}
        plain = Traced.firm(ufunc, inputs) if dtype is None and casting == "same_kind" else None
        if plain is None:
            return Traced.apart(lambda *xs: apply_ufunc(ufunc, xs, **given), inputs)
        inputs = plain
    outs = (None,) * ufunc.nout if out is None else out if isinstance(out, tuple) else (out,)
    if out is not None:  # NumPy refuses a cast before it looks at shapes
        check_outputs(ufunc, inputs, outs, dtype, casting)
    with contextlib.nullcontext() if where is True else computed_where(lambda: mask_of(where)):
        shapes = [t.shape for t in outs if t is not None]
        values = ufunc_values(ufunc, inputs, dtype, casting, shapes)
    if len(outs) > 1 and out is not None:
        values = spread_to_outputs(ufunc, values, [t for t in outs if t is not None])
    laid = lambda v: laid_as(v, inputs) if order in ("K", "k") else wrap(v)
    results = [
        laid(value if where is True else zero_outside(value, where))
        if target is None
        else write_out(ufunc.__name__, target, value, where, casting)
        for value, target in zip(values, outs, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def check_outputs(ufunc, inputs, outs, dtype, casting):
    """Refuse outputs to which the results may not be cast."""
    _, gives = loop(ufunc, tuple(read(x)[1] for x in inputs), dtype, casting)
    for have, target in zip(gives, outs):
        if isinstance(target, TracedArray) and not np.can_cast(have, target.dtype, casting):
            raise casting_error(ufunc.__name__, have, target.dtype, casting)


def spread_to_outputs(ufunc, values, targets):
    """All results in the shape that all outputs broadcast to, if the outputs have it, and memory of their own."""
    shape = broadcast_shapes([values[0].type.shape, *(t.shape for t in targets)])
    if any(t.shape != shape for t in targets):
        raise ShapeError(message(f"np.{ufunc.__name__}: an output has not the broadcast shape {shape}", locate()))
    values = [spread_to(v, shape) for v in values]
    if any(np.shares_memory(a.shadow, b.shadow) for a, b in itertools.combinations(targets, 2)):
        raise UnsupportedError(
            message(
                f"np.{ufunc.__name__} writes two results into one memory", locate(), "Give them memory of their own."
            )
        )
    return values


def zero_outside(value, where):
    """A result that is computed where a mask is True; NumPy leaves the rest as it happens to be."""
    mask = mask_of(where)
    shape = broadcast_shapes([value.type.shape, mask.type.shape])
    return OPS["select"](spread_to(mask, shape), spread_to(value, shape), Lit(0, value.type.like(shape)))


def casting_error(name, have, want, casting):
    """NumPy's own exception for an output that may not be cast, its class being private, with the user's line as a
    note."""
    ufunc = getattr(np, name, None)
    try:
        if isinstance(ufunc, np.ufunc):
            ufunc(*[np.zeros(0, have)] * ufunc.nin, out=np.zeros(0, want), casting=casting)
    except TypeError as error:
        error.add_note(message("while tracing", locate()))
        return error.with_traceback(None)
    text = f"Cannot cast output of np.{name} from {have!r} to {want!r} with casting rule {casting!r}"
    return with_note(TypeError, message(text, locate()))


def write_out(name, target, value, where=True, casting="same_kind"):
    """Store a result into `out=`; returns `out` itself."""
    if not isinstance(target, TracedArray):
        raise UnsupportedError(
            message(
                f"np.{name}(out=...) was given an array that is not traced",
                locate(),
                "An array that receives traced results must be traced: pass it as an argument, or make it with "
                "np.zeros_like(x).",
            )
        )
    if not np.can_cast(value.type.dtype, target.dtype, casting):
        raise casting_error(name, value.type.dtype, target.dtype, casting)
    new = cast_to(value, target.dtype)
    if broadcast_shapes([new.type.shape, target.shape]) != target.shape:
        raise ShapeError(
            message(
                f"non-broadcastable output operand with shape {target.shape} for a result of shape {new.type.shape}",
                locate(),
            )
        )
    new = spread_to(new, target.shape)
    if where is not True:
        new = OPS["select"](mask_of(where, target.shape), new, target.value)
    target.write(new)
    return target


def weak_result(kinds, ufunc):
    """The Python type of `a op b` for two Python numbers."""
    if ufunc in ORDERS and complex in kinds:
        first, second = (kind.__name__ for kind in kinds)
        raise with_note(
            TypeError,
            message(f"{ORDERS[ufunc]!r} not supported between instances of {first!r} and {second!r}", locate())
        )
    if ufunc in COMPARISONS:
        return bool
    widest = max(kinds, key=PYTHON_NUMBERS.index)
    if ufunc is np.absolute and widest is complex:
        return float
    if ufunc is np.true_divide and widest in (bool, int):
        return float
    return int if widest is bool and ufunc not in (np.bitwise_and, np.bitwise_or, np.bitwise_xor) else widest


def weak_kind(x):
    """The Python type of a Python number, traced or not; None for everything else."""
    if type(x) is TracedScalar:
        return x.weak
    return type(x) if type(x) in PYTHON_NUMBERS else None


def _beyond(ufunc, kinds, inputs, python):
    """An operator on a traced Python number and an int beyond 64 bits; None where that becomes a float."""
    swapped = far(inputs[0])
    x, big = inputs[::-1] if swapped else inputs
    kind = kinds[swapped]
    if kind is complex or kind is float and python is not bool:
        return None
    value = operand_as(read(x)[0], WEAK_DTYPES[float if kind is float else int])
    found = compare_float_big(ufunc, value, big, swapped) if kind is float else against(ufunc, value, big, swapped)
    return found if isinstance(found, bool) else TracedScalar(found, python)


WHOLE = {np.floor_divide: "//", np.remainder: "%", np.divmod: "divmod()"}  # not of Python's complex numbers
# nor of its floats
BITS = {np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>"}


def refuse_undefined(ufunc, kinds):
    """TypeError, in Python's words, for an operator that Python's numbers of these kinds do not have."""
    symbol = "@" if ufunc is np.matmul else WHOLE.get(ufunc) if complex in kinds else None
    if symbol is None and (complex in kinds or float in kinds):
        symbol = BITS.get(ufunc)
    if ufunc is np.invert and kinds[0] in (float, complex):
        raise with_note(TypeError, message(f"bad operand type for unary ~: {kinds[0].__name__!r}", locate()))
    if symbol is not None:
        text = f"unsupported operand type(s) for {symbol}: " + " and ".join(repr(k.__name__) for k in kinds)
        raise with_note(TypeError, message(text, locate()))


def standing(x):
    """An array or number of the kind that a traced one stands for."""
    if not isinstance(x, Traced):
        return x
    zero = np.zeros(x.type.shape, x.type.dtype)
    return zero if type(x) is not TracedScalar else x.weak() if x.weak else zero[()]


def refuse_as_python(ufunc, inputs):
    """Raise what Python does where an operator meets what is no number."""
    try:
        OPERATORS[ufunc](*map(standing, inputs))
    except TypeError as error:
        raise error.with_traceback(None) from None


OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge, np.equal: operator.eq,
    np.not_equal: operator.ne, np.bitwise_and: operator.and_, np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor, np.left_shift: operator.lshift, np.right_shift: operator.rshift,
    np.matmul: operator.matmul, np.divmod: divmod,
}  # fmt: skip


def operate(ufunc, *inputs):
    """A Python operator on traced values."""
    kinds = [weak_kind(x) for x in inputs]
    if None in kinds:
        if any(x is None or type(x) is str for x in inputs):
            refuse_as_python(ufunc, inputs)
        if ufunc in exceptional.DIVISIONS:
            check_divisor(inputs)
        if (
            kinds[0] is complex
            and ufunc not in ORDERS
            and type(inputs[1]) is TracedScalar
            and inputs[1].dtype == np.float64
        ):
            # complex.__mul__ and its like take it for the float that it is
            return operate(ufunc, inputs[0], TracedScalar(inputs[1].value, float))
        return (
            call_ufunc(ufunc, *inputs)
            if Mixed not in map(type, inputs) or mentioned(inputs)
            else Traced.meet(ufunc, inputs, True)
        )
    python = weak_result(kinds, ufunc)
    refuse_undefined(ufunc, kinds)
    work = WEAK_DTYPES[max([*kinds, python] if python is not bool else kinds, key=PYTHON_NUMBERS.index)]
    if work.kind == "b" and python is int:
        work = WEAK_DTYPES[int]
    if len(inputs) == 2 and (far(inputs[0]) or far(inputs[1])) and ufunc is not np.true_divide:
        found = _beyond(ufunc, kinds, inputs, python)
        if found is not None:
            return found
    if python is bool:
        found = compared(ufunc, kinds, [operand_as(read(x)[0], WEAK_DTYPES[kind]) for x, kind in zip(inputs, kinds)])
        if found is not None:
            return TracedScalar(found, bool)
    return _computed(ufunc, [operand_as(read(x)[0], work) for x in inputs], python, kinds)


def check_divisor(inputs):
    """Have the program check the divisor of two numbers, where NumPy's are divided as Python's are."""
    trace = current_trace()
    if trace is None or not trace.root.zero_raises:
        return
    if all(isinstance(x, TracedScalar | np.generic | float | int) for x in inputs):
        divisor = read(inputs[1])[0]
        if not isinstance(divisor, Value | Lit):  # a number that is known
            divisor = operand_as(divisor != 0, np.dtype(bool))
        exceptional.check(exceptional.test("ne", divisor, 0), ZeroDivisionError, "division by zero")


def _computed(ufunc, values, python, kinds=()):
    """What an operator of numbers of Python's gives of operands in the dtype it works in; python: the result's type;
    kinds: the operands', where they are not those of the dtype."""
    if ufunc is np.power and python is int:
        turned = exceptional.exponent_of(values[1])
        if turned:
            return operate(ufunc, *(TracedScalar(cast_to(v, WEAK_DTYPES[float]), float) for v in values))
        if turned is None:
            values[1] = OPS["maximum"](values[1], Lit(0, values[1].type))
    exceptional.before(ufunc, values, kinds)
    result = UFUNCS[ufunc](*values)
    if isinstance(result, Value) and result not in values:
        current_trace().root.of_python.add(result)
    exceptional.after(ufunc, values, result)
    if python is int:
        overflow.check_overflow(ufunc, values, result)
    return TracedScalar(cast_to(result, WEAK_DTYPES[python]), python)
