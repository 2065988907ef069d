"""What a captured `for` runs over: ranges, arrays, `enumerate`, `zip`, `reversed` and products of them, each with its
k-th item."""

import builtins
import functools
import itertools
import math
import operator

import numpy as np

from ..common.errors import ConcretizationError, message
from ..common.frames import locate
from ..extents import numbers
from ..extents.bounded import BoundedArray
from ..numpy_api.handles import handle
from ..values.array import Traced, TracedArray, TracedScalar


class TracedRange:
    """range() of which a bound is traced."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self):
        raise ConcretizationError(
            message(
                "range() of a traced number has a length known only when the program runs",
                locate(),
                "A `for` statement can run over it; for lists and sums write such a loop, or pass the bound as an "
                "int\nargument, which is static.",
            )
        )


class Zipped:
    """zip or enumerate of things a captured loop can run over; an ordinary iterator everywhere else."""

    def __init__(self, parts, plain):
        self.parts, self.plain = parts, plain

    def __iter__(self):
        return self

    def __next__(self):
        if self.plain is None:
            for part in self.parts:
                iter(part)  # one of them says why it has no end that is known
        self.parts = None  # begun: from here on a plain iterator
        return next(self.plain)


class Reversed(Zipped):
    """reversed() of such a thing."""


class Product(Zipped):
    """itertools.product or np.ndindex: the last part runs fastest."""

    def items(self, k):
        stride = math.prod(map(length, self.parts))
        for n, part in enumerate(self.parts):
            count = length(part)
            stride //= max(count, 1)
            at = k // stride if stride > 1 else k
            at = at % count if n and count else at
            if isinstance(at, TracedScalar) and at.value.eqn is not None:
                numbers.bounded(at.value, 0, count - 1)
            yield item(part, at)


def range_(*args):
    if not any(isinstance(a, Traced) for a in args):
        return builtins.range(*args)
    args = [operator.index(a) if isinstance(a, Traced) and a.known() is not None else a for a in args]
    if not any(isinstance(a, Traced) for a in args):
        return builtins.range(*args)
    for a in args:
        if isinstance(a, Traced) and (a.type.kind not in "iu" or a.type.shape):
            raise TypeError(message(f"range() takes integers, got {a.type}", locate()))
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if isinstance(step, Traced):
        raise ConcretizationError(
            message(
                "the step of range() is traced", locate(), "Multiply inside the loop: for k in range(n): i = k * step."
            )
        )
    return TracedRange(start, stop, step)


def zip_(*parts, strict=False):
    if parts and not strict and all(map(rollable, parts)):
        return Zipped(parts, None if any(length(p) is None for p in parts) else builtins.zip(*parts))
    return builtins.zip(*parts, strict=strict)


def enumerate_(iterable, start=0):
    if not rollable(iterable):
        return builtins.enumerate(iterable, start)
    if length(iterable) is None:
        return Zipped((TracedRange(start, start + numbers.traced(count_of(iterable)), 1), iterable), None)
    count = builtins.range(start, start + length(iterable))
    return Zipped((count, iterable), builtins.enumerate(iterable, start))


def reversed_(x):
    if rollable(x) and not isinstance(x, Zipped) and length(x) is not None:
        return Reversed((x,), builtins.reversed(x))
    return builtins.reversed(x)


def product(*parts, repeat=1):
    if parts and repeat == 1 and all(rollable(p) and length(p) is not None for p in parts):
        return Product(parts, itertools.product(*parts))
    return itertools.product(*parts, repeat=repeat)


def ndindex(*shape):
    plain = np.ndindex(*shape)
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return Product([builtins.range(n) for n in sizes], plain) if sizes else plain


def ndenumerate(x):
    return Zipped((ndindex(x.shape), x.reshape(-1)), builtins.zip(np.ndindex(x.shape), x.reshape(-1)))


def rollable(x):
    """Whether a loop over x can be captured as one: its items are a function of their number."""
    if isinstance(x, Zipped):
        return x.parts is not None and all(map(rollable, x.parts))
    if isinstance(x, TracedArray | BoundedArray) or type(x) is np.ndarray:
        return x.ndim > 0
    return isinstance(x, range | TracedRange)


def length(x):
    """How many items: an int, or None where it is known at run time only."""
    if isinstance(x, Zipped):
        counts = [length(p) for p in x.parts]
        return None if None in counts else (math.prod if isinstance(x, Product) else min)(counts)
    if type(x) is BoundedArray:
        return x.shape[0] if isinstance(x.shape[0], int) else None
    return None if isinstance(x, TracedRange) else len(x)


def item(x, k):
    """The k-th item, for an int or a traced Python int known to be in range."""
    if isinstance(x, Product):
        return tuple(x.items(k))
    if isinstance(x, Reversed):
        return item(x.parts[0], length(x) - 1 - k)
    if isinstance(x, Zipped):
        return tuple(item(p, k) for p in x.parts)
    if isinstance(x, range | TracedRange):
        if isinstance(x, range) and not isinstance(k, Traced):
            return x[k]
        return noted_in_range(
            numbers.traced(numbers.plus(numbers.number(x.start), numbers.times(numbers.number(k), x.step))), x
        )
    if type(x) is BoundedArray:
        return x[k]
    return handle(x)[k] if isinstance(k, Traced) else x[k]


def noted_in_range(k, x):
    """An item of a range: noted to lie between its ends, which no sum of intervals shows."""
    if isinstance(k, TracedScalar) and isinstance(x, TracedRange):
        first, last = (numbers.ends(numbers.number(e)) for e in (x.start, x.stop))
        low, high = (first[0], last[1] - 1) if x.step > 0 else (last[0] + 1, first[1])
        if k.value.eqn is not None:
            numbers.bounded(k.value, low, high)
    return k


def count_of(x):
    """The number of trips of a TracedRange, or over an array of unknown length, as an i64 operand; of several things
    the least."""
    if isinstance(x, Zipped):
        counts = [count_of(p) if length(p) is None else length(p) for p in x.parts]
        return functools.reduce(numbers.least, counts)
    if type(x) is BoundedArray:
        return numbers.number(x.shape[0])
    start, stop = numbers.number(x.start), numbers.number(x.stop)
    distance = numbers.greatest(numbers.minus(stop, start) if x.step > 0 else numbers.minus(start, stop), 0)
    return numbers.quotient(numbers.plus(distance, abs(x.step) - 1), abs(x.step))
