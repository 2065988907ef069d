"""Sizes while a function is traced for programs of all sizes: ints that keep the expression they are, and facts asked.

`x.shape[0]`, `len(x)` and their like give a `Size` while `asking`. Arithmetic with ints and Sizes gives Sizes; a
comparison is answered with the number of this trace and told as a `Fact`; what only a number will do for is told as a
`Pin`. Arithmetic with floats and arrays takes the size as an integer of the program, which `SizesAsked.param` makes;
when the program has been optimised, these are replaced by the numbers again (`SizesAsked.settled`), so that programs
traced at several sizes differ in ints alone. What is told is in `asked`.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from ...ir.dims import Dim
from ...ir.types import Tensor
from ..common.emit import INT64
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from .array import TracedArray, TracedScalar, bring
from .asked import LARGEST, Fact, Pin, asking
from .storage import current_trace

POWERS = 4  # bound: the largest power of a size that is written as a product


# -- where sizes come from -------------------------------------------------------------------------


def size_made(dim, number, weak=int):
    """A size as user code holds it: an int where it is one at all sizes. weak: None where it is one of NumPy's."""
    dim = dim.simplified() if isinstance(dim, Dim) else dim
    if isinstance(dim, int):
        return np.int64(dim) if weak is None else dim
    return Size(dim, number, weak)


def anew(number):
    """An int that hangs on sizes in a way that several traces have to tell."""
    return size_made(asking().read(number), number)


def plain_sizes(x, why=None):
    """Plain ints in place of Sizes, in tuples, lists, dicts and slices too; why: what needs them as numbers, where that
    is nothing that several traces would tell."""
    kind = type(x)
    if kind is Size:
        return x.pinned(why) if why else x.shown()
    if kind is slice:
        return slice(*(plain_sizes(k, why) for k in (x.start, x.stop, x.step)))
    if isinstance(x, SizedItems):
        return x.unseen() if why else x.shown()
    if not has_sizes(x):
        return x
    if kind is dict:
        return {k: plain_sizes(v, why) for k, v in x.items()}
    return kind(*(plain_sizes(v, why) for v in x)) if hasattr(x, "_fields") else kind([plain_sizes(v, why) for v in x])


def plain_key(owner, key):
    """A subscript without Sizes: of an array of the program it shows there, all else needs the number."""
    if asking() is None:
        return key
    shows = isinstance(owner, TracedArray) or id(owner) in current_trace().root.outside.paths
    if isinstance(owner, TracedArray):
        for k in key if type(key) is tuple else (key,):
            for n in owner.type.shape if type(k) is int else ():
                asking().index(k, k, n)
    if isinstance(owner, TracedArray | np.ndarray):
        tell_numbers(key, [owner.shape if isinstance(owner, np.ndarray) else owner.type.shape])
    return plain_sizes(key, None if shows else "an index into a container")


def has_sizes(x):
    """Whether a value holds Sizes, so far as C code could come to them."""
    kind = type(x)
    if kind is Size or isinstance(x, SizedItems):
        return True
    if kind is slice:
        return Size in (type(x.start), type(x.stop), type(x.step))
    if isinstance(x, tuple | list):
        return any(map(has_sizes, x))
    return kind is dict and any(map(has_sizes, x.values()))


def tell_numbers(x, shapes):
    """Sizes within a value become numbers, by which code without Sizes decides, beside arrays of these shapes."""
    kind = type(x)
    if kind is Size:
        asking().number(x, shapes)
    elif kind is slice:
        tell_numbers((x.start, x.stop, x.step), shapes)
    elif kind in (tuple, list, dict) and has_sizes(x):
        for v in x.values() if kind is dict else x:
            tell_numbers(v, shapes)


def integer_of(x):
    """A Size as an integer of the program; anything else as it is."""
    return x.traced() if type(x) is Size else x


# -- what user code holds --------------------------------------------------------------------------


def size_expression(x):
    """(Dim, number) of an int or a Size; None for anything else."""
    if type(x) is Size:
        return x.dim, x.number
    return (Dim.of(int(x)), int(x)) if type(x) is int or type(x) is bool else None


def arithmetic(name, of_dims):
    """A method of an operator that Dims have, and the one of its reflected form."""
    plain = getattr(operator, name)

    def of_both(a, b):
        (left, m), (right, n) = size_expression(a), size_expression(b)
        weak, number = kind_of_both(a, b), plain(m, n)
        if weak is None and abs(number) > LARGEST**2:
            return with_others(plain, a, b)  # which wraps
        return size_made(of_dims(left, right), number, weak)

    def forward(self, other):
        return with_others(plain, self, other) if size_expression(other) is None else of_both(self, other)

    def reflected(self, other):
        return with_others(plain, other, self) if size_expression(other) is None else of_both(other, self)

    return forward, reflected


def kind_of_both(a, b):
    """What arithmetic with a Size gives: int, or None for a number of NumPy's."""
    return None if None in (getattr(a, "weak", int), getattr(b, "weak", int)) else int


def with_others(plain, a, b):
    """An operator of a Size and something that is no size."""
    for x in (a, b):
        if isinstance(x, list | tuple | str | bytes):  # `[0] * n`
            return plain(plain_sizes(a, "the length of a container"), plain_sizes(b, "the length of a container"))
    if not isinstance(b if type(a) is Size else a, OPERANDS):
        return NotImplemented
    return plain(integer_of(a), integer_of(b))


OPERANDS = TracedArray | TracedScalar | np.ndarray | np.generic | float | complex


def whole_division(plain, of_dim):
    """A method of a whole division: by an int it is an expression; of a number from 0 up, by a larger size, it is
    known, and which is larger is told; else the numbers decide."""

    def forward(self, other):
        if type(other) is int and other > 0:
            return size_made(of_dim(self.dim, other), plain(self.number, other), self.weak)
        if type(other) is Size and self.dim == other.dim and self.number:
            return plain(self.plain(), other.plain())
        if type(other) is Size and is_less(self, other):
            return of_less(self, other)
        return by_number(plain, self, other)

    def reflected(self, other):
        if type(other) is int and is_less(other, self):
            return of_less(other, self)
        return by_number(plain, other, self)

    def of_less(a, b):
        found = a if plain is operator.mod else 0
        return found if kind_of_both(a, b) else size_made(*size_expression(found), None)

    return forward, reflected


def is_less(a, b):
    """Whether a number is none or more, and less than another, which is told where it is so."""
    return size_expression(b)[1] > size_expression(a)[1] >= 0 and bool(a >= 0 and a < b)


def by_number(plain, a, b):
    """An operator that says nothing of other sizes."""
    if size_expression(a) is None or size_expression(b) is None:
        return with_others(plain, a, b)
    return plain(plain_sizes(a, plain.__name__), plain_sizes(b, plain.__name__))


def of_traced(plain):
    """A method of an operator that gives a float, which the program computes, and its reflected form."""
    return (
        lambda self, other: plain(self.traced(), integer_of(other)),
        lambda self, other: plain(integer_of(other), self.traced()),
    )


def comparison(name, plain, turned, swaps):
    """A method of a comparison, told as the Fact `left name right`. turned: whether what is asked is that it does not
    hold; swaps: whether the other operand is the left one."""

    def method(self, other):
        if type(other) is float and math.isfinite(other):
            return of_float(plain, self, other)
        found = size_expression(other)
        if found is None:
            if name == "==" and not isinstance(other, OPERANDS):
                return NotImplemented
            return with_others(plain, self, other)
        answer = plain(self.number, found[1])
        left, right = (found[0], self.dim) if swaps else (self.dim, found[0])
        asking().tell(Fact(left, name, right, answer is not turned))
        return answer if kind_of_both(self, other) else np.bool_(answer)

    return method


def of_float(plain, size, other):
    """A comparison with a float, which is one with the whole number at it or below."""
    floor = math.floor(other)
    if other == floor:
        return plain(size, floor)
    if plain in (operator.eq, operator.ne):
        return (plain is operator.ne) if size.weak else np.bool_(plain is operator.ne)
    return size <= floor if plain in (operator.lt, operator.le) else size > floor


class SizedItems:
    """Items that are as many as sizes say. `shown()`: what has them where that shows in the program, `unseen()` where
    it does not."""

    __slots__ = ()


class Size(TracedScalar):
    """A Python int, or with `weak` None an np.int64, that hangs on sizes. dim: the expression; number: what it is in
    this trace."""

    __slots__ = ("dim", "number")

    def __init__(self, dim, number, weak=int):
        self.dim, self.number = dim, int(number)
        self.type, self.weak = Tensor((), INT64.dtype), weak

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
        return TracedScalar(self._value, self.weak)

    def plain(self):
        """The number as user code would hold it."""
        return self.number if self.weak else np.int64(self.number)

    def shown(self):
        """The number, which is to show in the program."""
        self.asked().used.add(self.dim)
        return self.number

    def pinned(self, why):
        """The mere number."""
        self.asked().tell(Pin(self.dim, self.number, why))
        return self.plain()

    def as_int(self):
        """What int() gives of it."""
        return Size(self.dim, self.number)

    def known(self):
        return np.array(self.pinned("a number that Python must know"))

    __add__, __radd__ = arithmetic("add", operator.add)
    __sub__, __rsub__ = arithmetic("sub", operator.sub)
    __mul__, __rmul__ = arithmetic("mul", operator.mul)
    __floordiv__, __rfloordiv__ = whole_division(operator.floordiv, operator.floordiv)
    __mod__, __rmod__ = whole_division(operator.mod, operator.mod)
    __truediv__, __rtruediv__ = of_traced(operator.truediv)
    __lt__ = comparison("<", operator.lt, False, False)
    __le__ = comparison("<=", operator.le, False, False)
    __gt__ = comparison("<", operator.gt, False, True)
    __ge__ = comparison("<=", operator.ge, False, True)
    __eq__ = comparison("==", operator.eq, False, False)
    __ne__ = comparison("==", operator.ne, True, False)

    def __pow__(self, other, modulus=None):
        if type(other) is int and 0 <= other <= POWERS and modulus is None:
            return math.prod([self] * other, start=np.int64(1) if self.weak is None and not other else 1)
        if type(other) is int or modulus is not None:
            return pow(self.pinned("a power"), plain_sizes(other, "a power"), modulus)
        return with_others(operator.pow, self, other)

    __rpow__ = lambda self, other: by_number(operator.pow, other, self)
    __divmod__ = lambda self, other: (self // other, self % other)
    __rdivmod__ = lambda self, other: (other // self, other % self)

    def __lshift__(self, other):
        return self * 2**other if type(other) is int and other >= 0 else by_number(operator.lshift, self, other)

    def __rshift__(self, other):
        return self // 2**other if type(other) is int and other >= 0 else by_number(operator.rshift, self, other)

    def __and__(self, other):
        if type(other) is int and other > 0 and not other & (other + 1):
            return self % (other + 1)
        return by_number(operator.and_, self, other)

    __rand__ = __and__
    __or__ = lambda self, other: by_number(operator.or_, self, other)
    __ror__ = lambda self, other: by_number(operator.or_, other, self)
    __xor__ = lambda self, other: by_number(operator.xor, self, other)
    __rxor__ = lambda self, other: by_number(operator.xor, other, self)
    __rlshift__ = lambda self, other: by_number(operator.lshift, other, self)
    __rrshift__ = lambda self, other: by_number(operator.rshift, other, self)

    def __neg__(self):
        return size_made(-self.dim, -self.number, self.weak)

    __invert__ = lambda self: -self - 1
    __abs__ = lambda self: self if self >= 0 else -self

    def __round__(self, digits=None):
        if digits is None:
            return self.as_int()
        return self if digits >= 0 else round(self.pinned("round"), digits)

    def __pos__(self):
        return self

    __trunc__ = __floor__ = __ceil__ = as_int

    def __bool__(self):
        return bool(self != 0)

    def __index__(self):
        return int(self.pinned("an index or a number that C code reads"))

    def __hash__(self):
        return hash(self.pinned("a key of a dict or set"))

    def __repr__(self):
        return repr(self.pinned("text")) if asking() is not None else f"<size {self.dim}>"

    def __str__(self):
        return str(self.pinned("text")) if asking() is not None else repr(self)

    def __format__(self, spec):
        return format(self.pinned("text"), spec)

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return int, (self.pinned("a copy of it"),)
