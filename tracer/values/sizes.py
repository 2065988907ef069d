"""Sizes while a function is traced for programs of all sizes: ints that keep the expression they are, and facts asked.

`x.shape[0]`, `len(x)` and their like give a `Size` while `asking`. Arithmetic with ints and Sizes gives Sizes; a
comparison is answered with the number of this trace and told as a `Fact`; what only a number will do for is told as a
`Pin`. Arithmetic with floats and arrays takes the size as an integer of the program, which `Asked.param` makes; when
the program has been optimised, these are replaced by the numbers again (`Asked.settled`), so that programs traced at
several sizes differ in ints alone.

The expression is known of sizes of arguments (`Asked.leaves`). Any other size, of an array that the function makes, is
a name of its own, `r3`, whose numbers in several traces say what it is (`tracer.capture.alike`).
"""

from __future__ import annotations

import contextlib
import math
import operator

import numpy as np

from ...ir.core import Func, Lit, Value
from ...ir.dims import Dim
from ...ir.types import Tensor
from ..common.emit import INT64
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from .array import ASKING, TracedArray, TracedScalar, bring
from .storage import Storage, current_trace

LARGEST = 1 << 31  # bound: of a size, so that sums and products of two are known to fit
POWERS = 4  # bound: the largest power of a size that is written as a product


class Fact:
    """`left name right` (name: "<", "<=" or "==") was asked of sizes, and held or not."""

    __slots__ = ("left", "name", "right", "holds")

    def __init__(self, left, name, right, holds):
        self.left, self.name, self.right, self.holds = left, name, right, holds

    def key(self):
        """What must be the same in all traces, beside what the sizes are."""
        return "fact", self.name, self.holds


class Pin:
    """A size was used as a mere number. why: by what."""

    __slots__ = ("dim", "number", "why")

    def __init__(self, dim, number, why):
        self.dim, self.number, self.why = dim, number, why

    def key(self):
        return "pin", self.why


class Met:
    """Something else that a trace met which hangs on sizes unseen: it must be the same in all traces."""

    __slots__ = ("what",)

    def __init__(self, *what):
        self.what = what

    def key(self):
        return ("met", *self.what)


class Asked:
    """What one trace tells of sizes.

    leaves: for each dynamic argument, what each of its sizes is: an int, or a Dim of names.
    sizes: the numbers of these names.
    reads: the numbers of `r0`, `r1`, ...; events: Facts, Pins and Mets in order.
    refused: why there can be no program for other sizes, if the trace has met what says so.
    """

    def __init__(self, leaves, sizes):
        self.leaves, self.sizes = leaves, dict(sizes)
        self.clear()

    def clear(self):
        self.reads, self.events, self.refused = [], [], None
        self.dims = {}  # value -> what each of its sizes is
        self.params = {}  # Dim -> (the value that stands for it in the program, its number)

    def begin(self, params):
        """A trace starts, or starts again; params: the values of the dynamic arguments."""
        self.clear()
        self.dims = {p: leaf for p, leaf in zip(params, self.leaves, strict=True) if leaf is not None}

    def tell(self, event):
        self.events.append(event)

    def refuse(self, why):
        """No program of other sizes can come of this."""
        self.refused = self.refused or f"{why}, at {locate() or 'a line that is not known'}"

    def read(self, number):
        """The expression of a size that is none of an argument."""
        self.reads.append(number)
        return Dim.symbol(f"r{len(self.reads) - 1}")

    def param(self, dim, number):
        """The value in the outermost trace that stands for a size."""
        if dim not in self.params:
            root = current_trace().root
            value = Value(INT64, None, "size")
            root.build.values.add(value)
            root.bounds[value] = (min(number, 0), LARGEST)
            self.params[dim] = value, number
        return self.params[dim][0]

    def inputs(self):
        """[(its number, the value)], which are the last inputs of the captured program."""
        return [(number, value) for value, number in self.params.values()]

    def settled(self, func):
        """A function whose last parameters stand for sizes, with the numbers in their places."""
        count = len(self.params)
        if not count:
            return func
        numbers = [number for _, number in self.params.values()]
        known = {p: Lit(n, p.type) for p, n in zip(func.params[-count:], numbers, strict=True)}
        for e in func.eqns:
            e.operands = tuple([known.get(x, x) for x in e.operands])
        return Func(func.name, func.params[:-count], func.eqns, [known.get(r, r) for r in func.results])


def asking():
    """The Asked of the trace that this thread makes for programs of all sizes, or None."""
    return getattr(ASKING, "asked", None)


@contextlib.contextmanager
def asked_by(asked):
    """Within, traces of this thread are made for programs of all sizes."""
    before, ASKING.asked = asking(), asked
    try:
        yield asked
    finally:
        ASKING.asked = before


# -- where sizes come from -------------------------------------------------------------------------


def made(dim, number):
    """A size as user code holds it: an int where it is one at all sizes."""
    dim = dim.simplified() if isinstance(dim, Dim) else dim
    return dim if isinstance(dim, int) else Size(dim, number)


def anew(number):
    """An int that hangs on sizes in a way that several traces have to tell."""
    return made(asking().read(number), number)


def shape_of(x):
    """`x.shape` of a traced array, as user code holds it."""
    shape = x.type.shape
    if asking() is None or not shape:
        return shape
    dims = known_dims(x)
    return tuple(made(d, n) for d, n in zip(dims, shape, strict=True))


def known_dims(x):
    """What each size of a traced array is."""
    asked, storage = asking(), x.storage
    if x.chain or type(storage) is not Storage or storage.value.type.shape != x.type.shape:
        return [asked.read(n) for n in x.type.shape]
    value = outermost(storage.value)
    if value not in asked.dims:
        asked.dims[value] = [asked.read(n) for n in x.type.shape]
    return asked.dims[value]


def outermost(value):
    """The value that a parameter of an inner trace stands for."""
    trace = current_trace()
    while trace is not None and not isinstance(value, Lit):
        value = trace.given.get(value, trace.root.lifts.get(value, value))
        trace = trace.parent
    return value


def size_of(x):
    """`x.size`."""
    return math.prod(shape_of(x)) if x.type.shape else 1


def settle(x, why=None):
    """Plain ints in place of Sizes, in tuples, lists, dicts and slices too; why: what needs them as numbers, where that
    is nothing that several traces would tell."""
    kind = type(x)
    if kind is Size:
        return x.pinned(why) if why else x.number
    if kind is slice:
        return slice(*(settle(k, why) for k in (x.start, x.stop, x.step)))
    if kind is SizedRange:
        return x.unseen() if why else x.plain
    if not has_sizes(x):
        return x
    if kind is dict:
        return {k: settle(v, why) for k, v in x.items()}
    return kind(*(settle(v, why) for v in x)) if hasattr(x, "_fields") else kind([settle(v, why) for v in x])


def plain_key(owner, key):
    """A subscript without Sizes: of an array it shows in the program, all else needs the number."""
    return settle(key, None if isinstance(owner, TracedArray | np.ndarray) else "an index into a container")


def has_sizes(x):
    """Whether a value holds Sizes, so far as C code could come to them."""
    kind = type(x)
    if kind is Size or kind is SizedRange:
        return True
    if kind is slice:
        return Size in (type(x.start), type(x.stop), type(x.step))
    if isinstance(x, tuple | list) and len(x) < LARGEST:
        return any(map(has_sizes, x))
    return kind is dict and any(map(has_sizes, x.values()))


def traced(x):
    """A Size as an integer of the program; anything else as it is."""
    return x.traced() if type(x) is Size else x


# -- what user code holds --------------------------------------------------------------------------


def expression(x):
    """(Dim, number) of an int or a Size; None for anything else."""
    if type(x) is Size:
        return x.dim, x.number
    return (Dim.of(int(x)), int(x)) if type(x) is int or type(x) is bool else None


def arithmetic(name, of_dims):
    """A method of an operator that Dims have, and the one of its reflected form."""
    plain = getattr(operator, name)

    def forward(self, other):
        found = expression(other)
        if found is None:
            return with_others(plain, self, other)
        return made(of_dims(self.dim, found[0]), plain(self.number, found[1]))

    def reflected(self, other):
        found = expression(other)
        if found is None:
            return with_others(plain, other, self)
        return made(of_dims(found[0], self.dim), plain(found[1], self.number))

    return forward, reflected


def with_others(plain, a, b):
    """An operator of a Size and something that is no size."""
    for x in (a, b):
        if isinstance(x, list | tuple | str | bytes):  # `[0] * n`
            return plain(settle(a, "the length of a container"), settle(b, "the length of a container"))
    if not isinstance(b if type(a) is Size else a, OPERANDS):
        return NotImplemented
    return plain(traced(a), traced(b))


OPERANDS = TracedArray | TracedScalar | np.ndarray | np.generic | float | complex


def whole(plain, of_dim):
    """A method of a whole division: by an int it is an expression, else the numbers decide."""

    def forward(self, other):
        if type(other) is int and other > 0:
            return made(of_dim(self.dim, other), plain(self.number, other))
        if type(other) is Size and self.dim == other.dim and self.number:
            return plain(self.number, other.number)
        return by_number(plain, self, other)

    def reflected(self, other):
        return by_number(plain, other, self)

    return forward, reflected


def by_number(plain, a, b):
    """An operator that says nothing of other sizes."""
    if expression(a) is None or expression(b) is None:
        return with_others(plain, a, b)
    return plain(settle(a, plain.__name__), settle(b, plain.__name__))


def of_traced(plain):
    """A method of an operator that gives a float, which the program computes, and its reflected form."""
    return (
        lambda self, other: plain(self.traced(), traced(other)),
        lambda self, other: plain(traced(other), self.traced()),
    )


def compared(name, plain, turned, swaps):
    """A method of a comparison, told as the Fact `left name right`. turned: whether what is asked is that it does not
    hold; swaps: whether the other operand is the left one."""

    def method(self, other):
        if type(other) is float and math.isfinite(other):
            return of_float(plain, self, other)
        found = expression(other)
        if found is None:
            if name == "==" and not isinstance(other, OPERANDS):
                return NotImplemented
            return with_others(plain, self, other)
        answer = plain(self.number, found[1])
        left, right = (found[0], self.dim) if swaps else (self.dim, found[0])
        asking().tell(Fact(left, name, right, answer is not turned))
        return answer

    return method


def of_float(plain, size, other):
    """A comparison with a float, which is one with the whole number at it or below."""
    floor = math.floor(other)
    if other == floor:
        return plain(size, floor)
    if plain in (operator.eq, operator.ne):
        return plain is operator.ne
    return size <= floor if plain in (operator.lt, operator.le) else size > floor


class Size(TracedScalar):
    """A Python int that hangs on sizes. dim: the expression; number: what it is in this trace."""

    __slots__ = ("dim", "number")

    def __init__(self, dim, number):
        self.dim, self.number = dim, number
        self.type, self.weak = Tensor((), INT64.dtype), int

    @property
    def _value(self):
        return self.asked().param(self.dim, self.number)

    @property
    def value(self):
        return bring(self._value)

    def asked(self):
        found = asking()
        if found is None:
            raise UnsupportedError(message("a size outlived the trace that asked for it", locate()))
        return found

    def traced(self):
        """It as an integer that the program computes with."""
        return TracedScalar(self._value, int)

    def pinned(self, why):
        """The mere number."""
        self.asked().tell(Pin(self.dim, self.number, why))
        return self.number

    def known(self):
        return np.array(self.pinned("a number that Python must know"))

    __add__, __radd__ = arithmetic("add", operator.add)
    __sub__, __rsub__ = arithmetic("sub", operator.sub)
    __mul__, __rmul__ = arithmetic("mul", operator.mul)
    __floordiv__, __rfloordiv__ = whole(operator.floordiv, operator.floordiv)
    __mod__, __rmod__ = whole(operator.mod, operator.mod)
    __truediv__, __rtruediv__ = of_traced(operator.truediv)
    __lt__ = compared("<", operator.lt, False, False)
    __le__ = compared("<=", operator.le, False, False)
    __gt__ = compared("<", operator.gt, False, True)
    __ge__ = compared("<=", operator.ge, False, True)
    __eq__ = compared("==", operator.eq, False, False)
    __ne__ = compared("==", operator.ne, True, False)

    def __pow__(self, other, modulus=None):
        if type(other) is int and 0 <= other <= POWERS and modulus is None:
            return math.prod([self] * other)
        if type(other) is int or modulus is not None:
            return pow(self.pinned("a power"), settle(other, "a power"), modulus)
        return with_others(operator.pow, self, other)

    def __rpow__(self, other):
        return by_number(operator.pow, other, self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def __lshift__(self, other):
        return self * 2**other if type(other) is int and other >= 0 else by_number(operator.lshift, self, other)

    def __rshift__(self, other):
        return self // 2**other if type(other) is int and other >= 0 else by_number(operator.rshift, self, other)

    def __and__(self, other):
        if type(other) is int and other > 0 and not other & (other + 1):
            return self % (other + 1)
        return by_number(operator.and_, self, other)

    __rand__ = __and__
    __or__, __ror__ = by_numbers_alone = (
        lambda self, other: by_number(operator.or_, self, other),
        lambda self, other: by_number(operator.or_, other, self),
    )
    __xor__ = lambda self, other: by_number(operator.xor, self, other)
    __rxor__ = lambda self, other: by_number(operator.xor, other, self)
    __rlshift__ = lambda self, other: by_number(operator.lshift, other, self)
    __rrshift__ = lambda self, other: by_number(operator.rshift, other, self)

    def __neg__(self):
        return made(-self.dim, -self.number)

    def __invert__(self):
        return -self - 1

    def __abs__(self):
        return self if self >= 0 else -self

    def __round__(self, digits=None):
        return self if digits is None or digits >= 0 else round(self.pinned("round"), digits)

    def __pos__(self):
        return self

    __trunc__ = __floor__ = __ceil__ = __pos__

    def __bool__(self):
        return self != 0

    def __index__(self):
        return self.pinned("an index or a number that C code reads")

    def __hash__(self):
        return hash(self.pinned("a key of a dict or set"))

    def __repr__(self):
        return str(self.pinned("text")) if asking() is not None else f"<size {self.dim}>"

    def __format__(self, spec):
        return format(self.pinned("text"), spec)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return int, (self.pinned("a copy of it"),)


class SizedRange:
    """range() of Sizes: a captured loop goes over `plain`; whoever goes over it item by item is told of."""

    def __init__(self, *bounds):
        self.bounds, self.plain = bounds, range(*[b.number if type(b) is Size else b for b in bounds])

    def unseen(self):
        """The range, for what goes over its items unseen."""
        for b in self.bounds:
            if type(b) is Size:
                b.pinned("the bound of a range that is gone through item by item")
        return self.plain

    def __iter__(self):
        return iter(self.unseen())

    def __getitem__(self, key):
        return self.unseen()[settle(key, "an index")]

    def __contains__(self, x):
        return x in self.unseen()

    def __len__(self):
        return len(self.unseen())

    def __reversed__(self):
        return reversed(self.unseen())
