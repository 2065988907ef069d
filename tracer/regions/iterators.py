"""Python's iterators over things that a captured loop can run over: `range`, `zip`, `enumerate`, `map`, those of
itertools, and NumPy's."""

import builtins
import itertools
import math
import operator

import numpy as np

from ..common.errors import ConcretizationError, message, with_note
from ..common.frames import locate
from ..extents import numbers
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.outermost import trips_by_value
from .builtins import REPLACED
from .series import Listed, Product, Scanned, TracedRange, as_listed, count_of, length, rollable
from .stand_ins import Chain, Endless, Islice, MappedSeries, Pairwise, Reversed, Zipped, iterators_within


def range_(*args):
    if not any(isinstance(a, Traced) for a in args):
        return builtins.range(*args)
    args = [operator.index(a) if isinstance(a, Traced) and a.known() is not None else a for a in args]
    if not any(isinstance(a, Traced) for a in args):
        return builtins.range(*args)
    for a in args:
        if isinstance(a, Traced) and (a.type.kind not in "iu" or a.type.shape):
            raise with_note(TypeError, message(f"range() takes integers, got {a.type}", locate()))
    args = [trips_by_value(a) if isinstance(a, Traced) else a for a in args]
    if not any(isinstance(a, Traced) for a in args):
        return builtins.range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if isinstance(step, Traced):
        raise ConcretizationError(
            message(
                "the step of range() is traced", locate(), "Multiply inside the loop: for k in range(n): i = k * step."
            )
        )
    return TracedRange(start, stop, step)


def zip_(*parts, strict=False):
    given = all_series(parts, ()) if parts and not strict else None
    if given is not None:
        return Zipped(given, None if any(length(p) is None for p in given) else builtins.zip(*parts))
    return builtins.zip(*parts, strict=strict)


def all_series(parts, but=(None, math.inf)):
    """Things to go through together as series; None where one is none, or of such a length."""
    given = tuple([as_listed(p, True) for p in parts])
    within = [id(y) for p in given for y in iterators_within(p)]  # one that is twice there is advanced by both
    fine = all(rollable(p) and length(p) not in but for p in given) and len({*within}) == len(within)
    return given if given and fine else None


def enumerate_(iterable, start=0):
    part = as_listed(iterable, True)
    if not rollable(part):
        return builtins.enumerate(iterable, start)
    if length(part) is None:
        return Zipped((TracedRange(start, start + numbers.traced(count_of(part)), 1), part), None)
    if length(part) == math.inf or type(part) is Listed and type(part.items) is list:  # which may get longer
        return Zipped((Endless((start, 1), None), part), builtins.enumerate(iterable, start))
    count = builtins.range(start, start + length(part))
    return Zipped((count, part), builtins.enumerate(iterable, start))


def map_(function, *parts, **more):
    given = None if more else all_series(parts, (None,))
    if given is not None:
        return MappedSeries(function, given, builtins.map(function, *parts))
    return builtins.map(function, *parts, **more)


def reversed_(x):
    given = None if isinstance(x, Zipped) else all_series((x,))
    return builtins.reversed(x) if given is None else Reversed(given, builtins.reversed(x))


def chain_(*parts):
    given = all_series(parts) if not any(isinstance(p, Zipped) for p in parts) else None
    return itertools.chain(*parts) if given is None else Chain(given, itertools.chain(*parts))


def count_(start=0, step=1):
    plain = itertools.count(start, step)
    whole = type(start) is int or type(start) is TracedScalar and start.weak is int
    return Endless((start, step), plain) if whole and type(step) is int else plain


def islice_(iterable, *args):
    given = None if isinstance(iterable, Zipped) else all_series((iterable,))
    if given is None:
        return itertools.islice(iterable, *args)
    plain = itertools.islice(iterable, *args)
    return Islice(given, plain, builtins.range(length(given[0]))[slice(*args)])


def pairwise_(iterable, /):
    given = None if isinstance(iterable, Zipped) else all_series((iterable,))
    return itertools.pairwise(iterable) if given is None else Pairwise(given, itertools.pairwise(iterable))


def product(*parts, repeat=1):
    if parts and repeat == 1 and all(rollable(p) and length(p) not in (None, math.inf) for p in parts):
        return Product(parts, itertools.product(*parts))
    return itertools.product(*parts, repeat=repeat)


def ndindex(*shape):
    plain = np.ndindex(*shape)
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return Product([builtins.range(n) for n in sizes], plain) if sizes else plain


def ndenumerate(x):
    return Zipped((ndindex(x.shape), x.reshape(-1)), builtins.zip(np.ndindex(x.shape), x.reshape(-1)))


def nditer(otherwise, op, *args, **kwargs):
    if type(op) is TracedArray and not args and not kwargs and op.shadow.flags.c_contiguous and op.size:
        return Scanned(op)
    return otherwise(op, *args, **kwargs)


REPLACED |= {range: range_, enumerate: enumerate_, zip: zip_, reversed: reversed_, np.ndindex: ndindex}
REPLACED |= {itertools.chain: chain_, itertools.count: count_, itertools.islice: islice_, itertools.pairwise: pairwise_}
REPLACED |= {itertools.product: product, np.ndenumerate: ndenumerate}
