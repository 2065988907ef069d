"""What a captured `for` runs over: ranges, arrays, and `enumerate` and `zip` of them, each with its k-th item."""

import builtins
import operator

import numpy as np

from ...ir.core import Lit
from ..array import Traced, TracedArray, TracedScalar
from ..emit import INDEX
from ..errors import ConcretizationError, message
from ..frames import locate
from ..numpy_api.handles import handle
from ..storage import current_trace


class TracedRange:
    """range() of which a bound is traced."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self):
        raise ConcretizationError(
            message(
                "range() of a traced number has a length known only when the program runs",
                locate(),
                "A `for` statement can run over it; for lists and sums write such a loop, or pass the bound as an int\nargument, which is static.",
            )
        )


class Zipped:
    """zip or enumerate of things a captured loop can run over; an ordinary iterator everywhere else."""

    def __init__(self, parts, plain):
        self.parts, self.plain = parts, plain

    def __iter__(self):
        return self

    def __next__(self):
        self.parts = None  # begun: from here on a plain iterator
        return next(self.plain)


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
        raise ConcretizationError(message("the step of range() is traced", locate(), "Multiply inside the loop: for k in range(n): i = k * step."))
    return TracedRange(start, stop, step)


def zip_(*parts, strict=False):
    plain = builtins.zip(*parts, strict=strict)
    return Zipped(parts, plain) if parts and not strict and all(map(rollable, parts)) else plain


def enumerate_(iterable, start=0):
    if not rollable(iterable):
        return builtins.enumerate(iterable, start)
    count = builtins.range(start, start + length(iterable))
    return Zipped((count, iterable), builtins.enumerate(iterable, start))


def rollable(x):
    """Whether a loop over x can be captured as one: its items are a function of their number."""
    if isinstance(x, Zipped):
        return x.parts is not None and all(map(rollable, x.parts))
    return isinstance(x, range | TracedArray | TracedRange) and (not isinstance(x, TracedArray) or x.ndim > 0) or type(x) is np.ndarray and x.ndim > 0


def length(x):
    """How many items: an int, or None where it is known at run time only."""
    if isinstance(x, Zipped):
        counts = [length(p) for p in x.parts]
        return None if None in counts else min(counts)
    return None if isinstance(x, TracedRange) else len(x)


def item(x, k):
    """The k-th item, for an int or a traced Python int known to be in range."""
    if isinstance(x, Zipped):
        return tuple(item(p, k) for p in x.parts)
    if isinstance(x, range | TracedRange):
        if isinstance(x, range) and not isinstance(k, Traced):
            return x[k]
        step = k if x.step == 1 else k * x.step
        return step if type(x.start) is int and x.start == 0 else x.start + step
    return handle(x)[k] if isinstance(k, Traced) else x[k]


def count_of(x):
    """The number of trips of a TracedRange as an i64 operand."""
    distance = x.stop - x.start if x.step > 0 else x.start - x.stop
    trips = (distance + (abs(x.step) - 1)) // abs(x.step) if abs(x.step) != 1 else distance
    trips = trips if isinstance(trips, Traced) else TracedScalar(Lit(trips, current_trace()), int)
    return np.maximum(trips, 0).value if trips.type.dtype == INDEX else np.maximum(trips, 0).astype(INDEX).value
