"""Counting and interpolating between edges: histogram, bincount, interp."""

import operator

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops.indexing import index_arrays, put_arrays
from ..common.emit import cast_to, filled, reshape_to, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import made, room_for
from ..values.array import Traced, TracedArray, TracedScalar, fresh, wrap
from ..values.promote import UFUNCS
from ..values.storage import current_trace
from .arguments import flat, index_of, sample_of, traced, verdict
from .handles import dtype_of, is_traced, value_of
from .registry import implements
from .sorting import PLACE, places_in
from .ufunc_calls import casting_error, weak_kind
from .ufunc_rules import everywhere

DOUBLE = np.dtype(np.float64)


def must(ok, error, text):
    """Python's `if not ok: raise error(text)` for a known or a traced condition, in all places."""
    if is_traced(ok):
        current_trace().check(everywhere(value_of(ok)), error, message(text, locate()))
    elif not np.all(ok):
        raise with_note(error, message(text, locate()))


def counts(places, length, weights=None):
    """How often each of 0..length-1 occurs among flat places, or the sum of its weights; others are left out."""
    ones = Lit(1, places.type) if weights is None else weights
    start = filled(0, (length,), ones.type.dtype)
    return put_arrays(start, [(0, places)], ones, "add", mode="drop") if length and places.type.size else start


# -- histogram -------------------------------------------------------------------------------------


def outer_edges(a, range):
    if range is not None:
        first, last = range
        must(np.less_equal(first, last), ValueError, "max must be larger than min in range parameter.")
        must(np.isfinite(first) & np.isfinite(last), ValueError, f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    else:
        first, last = np.min(a), np.max(a)
        must(np.isfinite(first) & np.isfinite(last), ValueError, "autodetected range is not finite")
    if not is_traced([first, last]):
        return (first - 0.5, last + 0.5) if first == last else (first, last)
    level = np.equal(first, last)
    return scalar(np.where(level, first - 0.5, first)), scalar(np.where(level, last + 0.5, last))


def scalar(x):
    return wrap(x.value) if isinstance(x, TracedArray) else x


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """Edges of bins; a traced range, or that of the data, moves them but does not change their number."""
    if isinstance(bins, str):
        situation = f"bins={bins!r} chooses a number of bins that depends on data"
        raise UnsupportedError(message(situation, locate(), "Give the number of bins, or their edges."))
    if isinstance(bins, Traced) and bins.shape == ():
        raise UnsupportedError(
            message("a traced number of bins", locate(), "Give the number as a Python int, which is static.")
        )
    a = bytes_of(a)
    if weights is not None and np.shape(weights) != a.shape:
        raise with_note(ValueError, message("weights should have the same shape as a.", locate()))
    if np.ndim(bins) == 1:
        edges = traced(bins) if is_traced(bins) else np.asarray(bins)
        must(edges[:-1] <= edges[1:], ValueError, "`bins` must increase monotonically, when an array")
        return edges
    if np.ndim(bins) != 0:
        raise with_note(ValueError, message("`bins` must be 1d, when an array", locate()))
    n = index_of(bins, message("`bins` must be an integer, a string, or an array", locate()))
    if n < 1:
        raise with_note(ValueError, message("`bins` must be positive, when an integer", locate()))
    if a.dtype.kind == "c" and a.size:
        raise UnsupportedError(
            message(
                "bins between complex numbers, which are in no order", locate(), "Count their parts, or give the edges."
            )
        )
    first, last = outer_edges(a, range)
    known = [x if not isinstance(x, Traced) else 0.0 if x.weak else x.dtype for x in (first, last)]
    dtype = np.result_type(*known, a.dtype)
    dtype = np.result_type(dtype, float) if dtype.kind in "iu" else dtype
    edges = np.linspace(first, last, n + 1, dtype=dtype)
    must(edges[:-1] < edges[1:], ValueError, f"Too many bins for data range. Cannot create {n} finite-sized bins.")
    return edges


def bytes_of(a):
    """Booleans are counted as bytes."""
    a = traced(a)
    return fresh(cast_to(a.value, np.dtype(np.uint8))) if a.dtype.kind == "b" else a


@implements(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """(counts, edges): each bin holds its left edge, the last one both."""
    a = bytes_of(a)
    dtype = PLACE if weights is None else dtype_of(weights)
    if weights is not None:
        weights = value_of(weights)
        if weights.type.shape != a.shape:
            raise with_note(ValueError, message("weights should have the same shape as a.", locate()))
        weights = cast_to(flat(weights), np.dtype(np.complex128) if dtype.kind == "c" else DOUBLE)
        # NumPy adds up in their dtype what it has summed as integers
        if dtype.kind == "b" and np.ndim(bins) and a.size:
            raise casting_error("add", PLACE, dtype, "same_kind")
    edges = histogram_bin_edges(a, bins, range)
    limits, x = value_of(edges), flat(a.value)
    n = limits.type.shape[0] - 1
    both = limits.type.dtype if np.ndim(bins) == 0 else np.promote_types(a.dtype, limits.type.dtype)
    limits, x = cast_to(limits, both), cast_to(x, both)
    first, last = (
        spread_to(reshape_to(value_of(part), ()), x.type.shape) for part in (fresh(limits)[:1], fresh(limits)[n:])
    )
    inside = e.and_(UFUNCS[np.greater_equal](x, first), UFUNCS[np.less_equal](x, last))
    if np.ndim(bins) == 0 and both.kind == "f":
        place = even_places(limits, x, first, last, n)
    else:
        place = places_in(limits, x, "right") - 1
        place = e.select(e.eq(x, last), Lit(n - 1, place.type), place)
    found = counts(e.select(inside, place, Lit(n, place.type)), n, weights)
    found = fresh(cast_to(found, dtype))
    if not density:
        return found, edges
    return found / (edges[1:] - edges[:-1]).real.astype(float) / np.sum(found), edges


def even_places(limits, x, first, last, n):
    """The bins of numbers between `first` and `last`, n of one width: computed, then moved by one where an edge says
    so, as NumPy does."""
    share = e.div(e.sub(x, first), e.sub(last, first))
    scaled = e.mul(share, Lit(n, share.type))
    place = cast_to(e.clamp(Lit(0, scaled.type), scaled, Lit(n - 1, scaled.type)), PLACE)
    edge = lambda k: index_arrays(limits, [(0, k)], mode="clip")
    place = e.select(e.lt(x, edge(place)), place - 1, place)
    return e.select(e.and_(e.ge(x, edge(place + 1)), e.ne(place, n - 1)), place + 1, place)


@implements(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    """How often each number occurs. The length is `minlength` where that is given and x traced: a greater element
    raises at run time."""
    if minlength is None or operator.index(minlength) < 0:
        raise (TypeError if minlength is None else ValueError)(message("'minlength' must not be negative", locate()))
    places, extent = traced(x), None
    verdict(np.bincount, np.zeros((0,) * places.ndim, places.dtype), None, minlength)
    length = minlength
    if is_traced(x):
        must(places >= 0, ValueError, "'list' argument must have no negative elements")
        if places.size and not minlength:
            length, extent = room_for((np.max(places.astype(PLACE)) + 1).value)
            if extent is None:
                hint = "Give a bound: np.bincount(x, minlength=n), with all of x below n."
                raise UnsupportedError(message("the length of np.bincount(x) depends on data", locate(), hint))
        situation = (
            f"np.bincount(x, minlength={length}) met an element of {length} or more; captured results have minlength "
            "elements"
        )
        must(places < length, UnsupportedError, situation)
    elif places.size:
        verdict(np.bincount, np.asarray(x))
        length = max(length, int(np.max(np.asarray(x))) + 1)
    if weights is not None and places.size:  # without elements NumPy looks at no weights
        weights = value_of(weights)
        if weights.type.shape != places.shape:
            raise with_note(ValueError, message("The weights and list don't have the same length.", locate()))
        if weights.type.kind == "c":
            raise with_note(
                TypeError,
                message(
                    f"Cannot cast array data from {weights.type.dtype!r} to dtype('float64') according to the rule "
                    "'safe'",
                    locate(),
                )
            )
        weights = cast_to(weights, DOUBLE)
    return made(fresh(counts(cast_to(places.value, PLACE), length, weights if places.size else None)), [extent])


# -- interpolation ---------------------------------------------------------------------------------


@implements(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """The broken line through (xp, fp), at x; xp rises."""
    number = isinstance(x, complex) or weak_kind(x) is complex
    x, xp, fp = traced(x), traced(xp), traced(fp)
    # where NumPy drops imaginary parts unasked
    x, xp = (x, xp) if period is None else (traced(v.astype(DOUBLE)) for v in (x, xp))
    # NumPy tells complex numbers, its own and arrays of them apart
    sample = sample_of(x)[()] if type(x) is TracedScalar else sample_of(x)
    verdict(np.interp, 1j if number and period is None else sample, sample_of(xp), sample_of(fp))
    if xp.shape != fp.shape:
        raise with_note(ValueError, message("fp and xp are not of the same length.", locate()))
    dtype = np.dtype(np.complex128) if fp.dtype.kind == "c" else DOUBLE
    x, xp, fp = (fresh(cast_to(v.value, d)) for v, d in ((x, DOUBLE), (xp, DOUBLE), (fp, dtype)))
    if period is not None:
        must(np.not_equal(period, 0), ValueError, "period must be a non-zero value")
        period, left, right = abs(period), None, None
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        x, order = fresh(value_of(x)), np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
    n = xp.shape[0]
    below, above = fp[0] if left is None else left, fp[n - 1] if right is None else right
    place = places_in(xp.value, x.value, "right") - 1
    lower = e.clamp(Lit(0, place.type), place, Lit(max(n - 2, 0), place.type))
    x0, y0, x1, y1 = (
        fresh(gather_at(v, i)) for i in (lower, e.minimum(lower + 1, Lit(n - 1, lower.type))) for v in (xp, fp)
    )
    run = np.where(x1 == x0, 1.0, x1 - x0)
    if dtype.kind == "c":  # an infinity in one part says nothing of the other
        parts = (
            interpolated(x, x0, x1, (p1 - p0) * (1.0 / run), p0, p1)
            for p0, p1 in ((y0.real, y1.real), (y0.imag, y1.imag))
        )
        line = fresh(e.make_complex(*(p.value for p in parts)))
    else:
        line = interpolated(x, x0, x1, (y1 - y0) / run, y0, y1)
    line = np.where(fresh(place) == n - 1, fp[n - 1], line)  # the last of several at one place
    result = np.where(x < xp[0], below, np.where(x > xp[n - 1], above, line))
    result = np.where(np.isnan(x), x, result)
    return wrap(cast_to(result.value, dtype))


def interpolated(x, x0, x1, slope, y0, y1):
    """The line from (x0, y0) to (x1, y1), at x between them; exact at its ends, and from the other end where an
    infinity makes NaN of it."""
    line = slope * (x - x0) + y0
    line = np.where(np.isnan(line), slope * (x - x1) + y1, line)
    return np.where((np.isnan(line) & (y0 == y1)) | (x == x0), y0, np.where(x == x1, y1, line))


def gather_at(v, places):
    return index_arrays(v.value, [(0, places)], mode="promise")
