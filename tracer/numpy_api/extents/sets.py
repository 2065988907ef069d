"""Arrays as sets: distinct values with places, counts and inverses, rows among them; what two arrays have together or
alone."""

import numpy as np

from ....ir.ops import OPS
from ...common.emit import counted
from ...common.errors import message, with_note
from ...common.frames import locate
from ...extents.align import from_zero, harmless, inside, mask_extent
from ...extents.bounded import BoundedArray, SpanExtent, made, refused
from ...extents.indexing import getitem
from ...extents.numbers import traced
from ...extents.windows import WHOLE
from ...values.array import fresh
from ..handles import handle
from ..registry import HANDLERS
from ..sorting import sorted_along
from .functions import FUNCTIONS
from .joining import concatenate
from .reductions import missing, sort_

normalize_axis_index, normalize_axis_tuple = (
    np.lib.array_utils.normalize_axis_index,
    np.lib.array_utils.normalize_axis_tuple,
)
ALL, INVERSE, COUNTS = (type(f(np.zeros(1))) for f in (np.unique_all, np.unique_inverse, np.unique_counts))


def array_of(x):
    return x if type(x) is BoundedArray else handle(x)


def front(x):
    """(the elements in a row, junk behind them that sorts last; how many are meant)."""
    if type(x) is not BoundedArray:
        x = np.ravel(x)
        return x, x.shape[0]
    x = from_zero(np.ravel(x), 0)
    return fresh(harmless(x, missing(x.array.type), (0,))), x.lengths[0]


def sorted_with_order(x):
    """(the elements of a row in order, the place each had)."""
    return map(fresh, sorted_along(x.value, 0, counted(x.shape)))


def first_of(n, count, differ):
    """Where, of n places of which the first `count` are meant, another value begins: a bool value. differ: of the n - 1
    neighbours."""
    first = np.concatenate([[True], differ])
    meant = inside(SpanExtent(0, traced(count)), n)
    return first.value if meant is True else OPS["and"](first.value, meant)


def differing(x, equal_nan=True):
    """Which elements are another value than the one before; NaNs are one value."""
    differ = np.not_equal(x[1:], x[:-1])
    if equal_nan and x.dtype.kind in "fc":
        differ = np.logical_and(differ, np.logical_not(np.isnan(x[1:]) & np.isnan(x[:-1])))
    return differ


def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    """The distinct values, or rows, in order: of the sorted ones those that differ from the one before."""
    ar = array_of(ar)
    n = ar.array.shape if type(ar) is BoundedArray else ar.shape
    if not ar.size if type(ar) is not BoundedArray else 0 in n:
        empty = np.unique(np.zeros(n, ar.dtype), return_index, return_inverse, return_counts, axis)
        return tuple(map(handle, empty)) if isinstance(empty, tuple) else handle(empty)
    if axis is not None:
        axis = normalize_axis_index(axis, ar.ndim)
    rows = axis is not None and ar.ndim > 1
    if rows and type(ar) is BoundedArray:
        refused("np.unique along an axis", ar)
    if rows:
        x = np.moveaxis(ar, axis, 0)
        shape, x = x.shape, np.reshape(x, (ar.shape[axis], -1))
        count = x.shape[0]
        order = np.lexsort(tuple(x[:, j] for j in reversed(range(x.shape[1]))))
        x = x[order]
    else:
        x, count = front(ar)
        x, order = sorted_with_order(x) if return_index or return_inverse else (np.sort(x), None)
    differ = np.any(np.not_equal(x[1:], x[:-1]), axis=1) if rows else differing(x, equal_nan)
    extent = mask_extent(first_of(x.shape[0], count, differ))
    values = np.moveaxis(np.reshape(x, shape), 0, axis) if rows else x
    extents = [extent if d == (axis if rows else 0) else None for d in range(values.ndim)]
    found = [BoundedArray(fresh(values.value), extents)]
    if return_index:
        found.append(BoundedArray(order, (extent,)))
    if return_inverse:
        found.append(inverse_indices(order, extent, ar, count, rows or axis is not None))
    if return_counts:
        found.append(BoundedArray(lengths(extent, x.shape[0], count), (extent,)))
    return tuple(found) if len(found) > 1 else found[0]


def inverse_indices(order, extent, ar, count, along):
    """For each element the number of its value."""
    rank = np.cumsum(fresh(extent.mask.value)) - 1
    out = rank[np.argsort(order)]
    if type(ar) is BoundedArray:
        return made(out, (SpanExtent(0, traced(count)),))
    return out if along else np.reshape(out, ar.shape)


def lengths(extent, n, count):
    """At each place that is chosen: how far it is to the next one."""
    places, end = fresh(counted((n,))), traced(count)
    next_ = np.flip(np.minimum.accumulate(np.flip(np.where(fresh(extent.mask.value), places, end))))
    return np.append(next_[1:], end) - places


def register_unique(of, kind, **options):
    def run(x, /):
        return kind(*unique(x, equal_nan=False, **options))

    HANDLERS[of] = FUNCTIONS[of] = run


HANDLERS[np.unique] = FUNCTIONS[np.unique] = unique
HANDLERS[np.unique_values] = FUNCTIONS[np.unique_values] = lambda x, /: unique(x, equal_nan=False)
register_unique(np.unique_all, ALL, return_index=True, return_inverse=True, return_counts=True)
register_unique(np.unique_inverse, INVERSE, return_inverse=True)
register_unique(np.unique_counts, COUNTS, return_counts=True)


# -- two of them -----------------------------------------------------------------------------------


def set_function(function, of=array_of):
    """Register a function of two arrays, of any lengths."""

    def register(handler):
        HANDLERS[function] = FUNCTIONS[function] = lambda ar1, ar2, *args, **kwargs: handler(
            of(ar1), of(ar2), *args, **kwargs
        )
        return handler

    return register


def concat_unique(ar1, ar2, assume_unique):
    """The elements of two arrays in one, each of them once an array."""
    return concatenate([np.ravel(x) if assume_unique else unique(x) for x in (ar1, ar2)])


def together(ar1, ar2):
    """The elements of both in a row; a Python number takes the other's dtype."""
    join = concatenate if BoundedArray in (type(ar1), type(ar2)) else np.concatenate
    return join([ar1, ar2], axis=None)


def union1d(ar1, ar2):
    """The elements of both, each once."""
    return unique(together(ar1, ar2))


HANDLERS[np.union1d] = FUNCTIONS[np.union1d] = union1d


@set_function(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """What is there twice, of the elements of both in order."""
    known = [
        (np.ravel(x), None) if assume_unique else unique(x, True) if return_indices else (unique(x), None)
        for x in (ar1, ar2)
    ]
    x, count = front(concatenate([values for values, _ in known]))
    x, order = sorted_with_order(x) if return_indices else (np.sort(x), None)
    if x.shape[0] < 2 or not (assume_unique or all(getattr(v, "array", v).shape[0] for v, _ in known)):
        twice = fresh(getattr(x, "array", x).value)[:0]
        return (twice, handle(np.zeros(0, int)), handle(np.zeros(0, int))) if return_indices else twice
    meant = inside(SpanExtent(0, traced(count)), x.shape[0])
    same = np.equal(x[1:], x[:-1])
    extent = mask_extent(same.value if meant is True else OPS["and"](same.value, fresh(meant)[1:].value))
    twice = BoundedArray(fresh(x[:-1].value), (extent,))
    if not return_indices:
        return twice
    before = known[0][0].shape[0]
    places = [BoundedArray(fresh(p.value), (extent,)) for p in (order[:-1], order[1:] - before)]
    return twice, *[p if index is None else getitem(index, p) for p, (_, index) in zip(places, known)]


@set_function(np.setxor1d, of=lambda x: x)
def setxor1d(ar1, ar2, assume_unique=False):
    """What is there once, of the elements of both in order; a Python number taken for unique takes the other's
    dtype."""
    x = together(ar1, ar2) if assume_unique else concat_unique(array_of(ar1), array_of(ar2), False)
    x, count = front(x)
    n, end = x.shape[0], traced(count)
    if not n:
        return x
    x = np.sort(x)
    alone = np.not_equal(x[1:], x[:-1])
    last = np.equal(fresh(counted((n,))), end - 1)
    behind = np.logical_or(np.append(alone, True), last)
    return BoundedArray(fresh(x.value), (mask_extent(OPS["and"](first_of(n, count, alone), behind.value)),))


@set_function(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    x = np.ravel(ar1) if assume_unique else unique(ar1)
    return getitem(x, np.logical_not(np.isin(x, ar2)))


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Whether elements are among others, either of unknown length."""
    if type(test_elements) is not BoundedArray:
        found = PLAIN_ISIN(element.array, test_elements, assume_unique, kind=kind)
    else:
        dtype = np.result_type(*[x.dtype if hasattr(x, "dtype") else x for x in (element, test_elements)])
        tests = sort_(np.ravel(test_elements).astype(dtype))
        ordered, count = tests.array, tests.lengths[0]
        x = element.array if type(element) is BoundedArray else handle(element)
        if not ordered.size:
            found = np.zeros_like(x, bool)
        else:
            places = np.searchsorted(ordered, x)
            near = np.take(ordered, places, mode="clip")
            found = np.logical_and(np.equal(near, x), np.less(places, traced(count)))
    out = np.logical_not(found) if invert else found
    return BoundedArray(out, element.extents) if type(element) is BoundedArray else out


PLAIN_ISIN = HANDLERS[np.isin]
FUNCTIONS[np.isin] = isin


# -- ends ------------------------------------------------------------------------------------------


def trim_zeros(filt, trim="fb", axis=None):
    """The window from the first element that is not zero to the last, along the axes."""
    trim = trim.lower()
    if trim not in {"fb", "bf", "f", "b"}:
        raise with_note(ValueError, message(f"unexpected character(s) in `trim`: {trim!r}", locate()))
    x = handle(filt)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, argname="axis")
    if not axes:
        return filt
    if not x.size:
        return getitem(x, tuple(slice(0, 0) if d in axes else WHOLE for d in range(x.ndim)))
    full = np.not_equal(x, 0)
    if isinstance(filt, list | tuple):  # stays one: its length is a choice by value
        first = next((i for i in range(len(filt)) if full[i]), len(filt)) if "f" in trim else 0
        return filt[
            first : next((i for i in range(len(filt), first, -1) if full[i - 1]), first) if "b" in trim else len(filt)
        ]
    some = np.any(full)
    key = [WHOLE] * x.ndim
    for d in axes:
        line = np.any(full, axis=tuple(a for a in range(x.ndim) if a != d))
        start = np.argmax(line) if "f" in trim else 0
        stop = x.shape[d] - np.argmax(np.flip(line)) if "b" in trim else x.shape[d]
        key[d] = slice(start, np.where(some, stop, 0)[()])
    return getitem(x, tuple(key))


HANDLERS[np.trim_zeros] = trim_zeros
