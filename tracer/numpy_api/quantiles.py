"""Medians and quantiles, with and without NaN: sort, then read between the neighbours of a virtual index."""

import math

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops.indexing import take_along_axis
from ...ir.ops.shape import transpose
from ..common.emit import cast_to, reshape_to, spread_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import TracedScalar, fresh, wrap
from ..values.sized_shapes import sized_shape
from ..values.sizes import integer_of
from ..values.speculate import decide
from ..values.storage import current_trace
from .arguments import axes_of, give, given, last, reduced_shape, sample_of, traced, verdict
from .handles import cut, is_traced, picked, value_of
from .reductions import mean, nanmean, weights_of
from .registry import implements
from .sorting import PLACE, sorted_along
from .ufunc_rules import everywhere, is_nan

# -- the virtual index: where the quantile lies among the sorted elements  [Hyndman and Fan 1996] --


def continuous_method(alpha, beta):
    """The continuous methods: (virtual index, its fraction as it is)."""
    return lambda n, q: (n * q + (alpha + q * (1 - alpha - beta)) - 1, None)


def stepping(shift, stays):
    """The discrete methods: the element after, or the one itself where `stays(fraction, whole)`."""

    def index(n, q):
        v = n * q - 1 - shift
        whole = np.floor(v)
        return np.maximum(np.where(stays(v - whole, whole), whole, whole + 1), 0)

    return index


CONTINUOUS = {
    "linear": lambda n, q: ((n - 1) * q, None),
    "interpolated_inverted_cdf": continuous_method(0, 1),
    "hazen": continuous_method(0.5, 0.5),
    "weibull": continuous_method(0, 0),
    "median_unbiased": continuous_method(1 / 3, 1 / 3),
    "normal_unbiased": continuous_method(3 / 8, 3 / 8),
    "averaged_inverted_cdf": lambda n, q: (n * q - 1, lambda v, f: np.where(f == 0, 0.5, 1.0)),
    "midpoint": lambda n, q: (
        0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
        lambda v, f: np.where(v % 1 == 0, 0.0, 0.5),
    ),
}  # virtual index, and what becomes of its fraction
DISCRETE = {
    "inverted_cdf": stepping(0.0, lambda f, whole: f == 0),
    "closest_observation": stepping(0.5, lambda f, whole: (f == 0) & (whole % 2 == 1)),
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}


def nth(x, index):
    """x[..., index]: one index for all rows, known or traced, or one row of indices for each row of x."""
    if not is_traced(index):
        return picked(x, np.asarray(index).astype(PLACE), x.type.ndim - 1)
    index = cast_to(value_of(index), PLACE)
    shape = (*x.type.shape[:-1], index.type.shape[-1])
    return take_along_axis(x, spread_to(index, shape), x.type.ndim - 1, mode="clip")


def read_quantiles(x, n, q, method, dtype):
    """Quantiles q, of one axis, of the first n sorted elements of each row; q's axis is last."""
    if method in DISCRETE:
        return cast_to(nth(x, DISCRETE[method](n, q)), dtype)
    v, change = CONTINUOUS[method](n, q)
    if v.dtype.kind in "iu":
        return cast_to(nth(x, v), dtype)
    below, above = v < 0, v >= n - 1
    whole = np.floor(v)
    fraction = v - whole if change is None else change(v, v - whole)
    ends = lambda i: np.where(below, 0, np.where(above, n - 1, i))
    a, b = (fresh(nth(x, ends(i))) for i in (whole, whole + 1))
    d = fresh(cast_to((b - a).value, dtype))  # of integers it wraps, as NumPy's does
    a, b = (fresh(cast_to(v.value, dtype)) for v in (a, b))
    fraction = np.where(below | above, 0.0, fraction) if change is None else fraction
    t = fresh(spread_to(value_of(fraction, dtype), a.shape))
    return np.where(t >= 0.5, b - d * (1 - t), a + d * t).value  # each end is met exactly


def weighted(x, weights, q):
    """The inverse of the weighted distribution function; weights are sorted along with x."""
    w = fresh(cast_to(weights, np.dtype(np.float64)))
    trace = current_trace()
    trace.check(everywhere((w >= 0).value), ValueError, message("Weights must be non-negative.", locate()))
    rows, w = sorted_along(x, x.type.ndim - 1, w.value)
    share = np.cumsum(fresh(w), -1)
    share = share / share[..., -1:]
    trace.check(
        everywhere(e.not_(is_nan(share.value))),
        ValueError,
        message("Weights included NaN, inf or were all zero.", locate()),
    )
    share = np.where(share == 0, -1.0, share).astype(q.dtype)
    index = np.minimum(np.sum(share[..., None, :] < q[:, None], axis=-1), x.type.shape[-1] - 1)
    return rows, nth(rows, index)


def quantiles(function, percent, ignore_nan=False):
    unit, words = (
        (100, "Percentiles must be in the range [0, 100]") if percent else (1, "Quantiles must be in the range [0, 1]")
    )

    def run(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
        a, keepdims, known = traced(a), given(keepdims, False), not is_traced(q)
        q = checked_quantiles(q, function)
        whole, shape, trial = is_whole(q), np.shape(q) if known else q.shape, trial_of(q, unit)
        ignoring = ignore_nan and a.dtype.kind == "f"
        weighing = {} if weights is None else {"weights": np.ones(sample_of(a).shape)}
        like = verdict(function, sample_of(a), trial, axis, method=method, **weighing)
        if out is not None:  # which NumPy may write to step by step, in its dtype
            verdict(function, sample_of(a), trial, axis, np.zeros(np.shape(like), out.dtype), method=method, **weighing)
        if ignore_nan and a.size == 0:
            return nanmean(a, axis, out=out, keepdims=keepdims)
        axes = axes_of(axis, a.ndim)
        q = shares(np.reshape(np.asarray(q) if known else traced(q), (-1,)), unit, whole and method == "linear")
        if not known:
            current_trace().check(everywhere(((q >= 0) & (q <= 1)).value), ValueError, message(words, locate()))
        x = last(a.value, axes)
        if weights is not None:
            w = weights_of(weights, a, None if axis is None else axes)
            x, value = weighted(x, last(spread_to(w.value, a.shape), axes), q)
        else:
            x = sorted_along(x, x.type.ndim - 1)
            count = numbers_of(x) if ignoring else sized_count(a, axes)
            value = read_quantiles(x, count, q, method, like.dtype)
        if x.type.inexact:
            end = (
                cut(x, x.type.ndim - 1, 0, 1)
                if ignoring
                else cut(x, x.type.ndim - 1, x.type.shape[-1] - 1, x.type.shape[-1])
            )
            end = spread_to(cast_to(end, value.type.dtype), value.type.shape)
            value = e.select(is_nan(end), end, value)
        value = transpose(value, perm=(value.type.ndim - 1, *range(value.type.ndim - 1)))
        value = reshape_to(cast_to(value, like.dtype), (*shape, *reduced_shape(a.shape, axes, keepdims)))
        array = weights is not None or bool(keepdims)
        # NumPy's is a scalar if NaN, else an array
        if array and not keepdims and out is None and not value.type.shape and x.type.inexact:
            array = not decide(wrap(is_nan(reshape_to(end, ()))))
        # stored as a number, which among integers must be finite
        if ignore_nan and out is not None and out.shape == value.type.shape == ():
            out[...] = wrap(value)
            return out
        return give(value, out, function.__name__, array=array)

    return run


def checked_quantiles(q, function):
    """q as an array if it is traced; else as it is, of NumPy's numbers."""
    if is_traced(q):
        return traced(q) if isinstance(q, list | tuple) else q
    if np.asarray(q).dtype.kind == "O":
        raise UnsupportedError(
            message(f"{function.__name__} of q = {q!r:.40}, which is no number of NumPy's", locate(), "Write float(q).")
        )
    return q


def trial_of(q, unit):
    """What NumPy is asked with in the place of q, to learn what the result is like."""
    if not is_traced(q):
        return q
    return unit / 2 if getattr(q, "weak", None) is not None else np.full(q.shape, unit / 2, q.dtype)


def shares(q, unit, linear):
    """q, in hundredths if that is its unit, as shares of 1; whole ones may stay as they are where the method is
    linear."""
    if unit != 1:
        return q / unit
    return q if linear or q.dtype.kind == "f" else q.astype(np.float64)


def sized_count(a, axes):
    """How many elements there are along some axes: while a function is traced for programs of all sizes, as a number
    that the program computes with."""
    return integer_of(math.prod(sized_shape(a)[axis] for axis in axes))


def numbers_of(x):
    """How many along the last axis are not NaN."""
    n = fresh(r.reduce_sum(cast_to(e.not_(is_nan(x)), PLACE), axes=(x.type.ndim - 1,)))
    return fresh(reshape_to(n.value, (*n.shape, 1)))


def is_whole(q):
    """Whether q has an integer dtype, or bool."""
    return (
        (q.weak is int if type(q) is TracedScalar and q.weak else q.dtype.kind in "biu")
        if is_traced(q)
        else np.asarray(q).dtype.kind in "biu"
    )


quantile = implements(np.quantile)(quantiles(np.quantile, False))
percentile = implements(np.percentile)(quantiles(np.percentile, True))
nanquantile = implements(np.nanquantile)(quantiles(np.nanquantile, False, True))
nanpercentile = implements(np.nanpercentile)(quantiles(np.nanpercentile, True, True))


# -- medians: the mean of the middle two -----------------------------------------------------------


@implements(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a, keepdims = traced(a), given(keepdims, False)
    like = verdict(np.median, sample_of(a), axis)
    axes = axes_of(axis, a.ndim)
    x = last(a.value, axes)
    end, n = x.type.ndim - 1, x.type.shape[-1]
    shape = reduced_shape(a.shape, axes, keepdims)
    if not n:
        return give(
            Lit(complex(np.nan, np.nan) if like.dtype.kind == "c" else np.nan, like_of(like, shape)), out, "median"
        )
    x = sorted_along(x, end)
    middle = value_of(mean(fresh(cut(x, end, (n - 1) // 2, n // 2 + 1)), -1))
    if x.type.inexact:
        worst = reshape_to(cut(x, end, n - 1, n), middle.type.shape)
        middle = e.select(is_nan(worst), worst, middle)
    return give(reshape_to(middle, shape), out, "median", array=bool(keepdims))


def like_of(sample, shape):
    """A type of the sample's dtype."""
    return value_of(np.zeros((), sample.dtype)).type.like(shape)


@implements(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    a, keepdims = traced(a), given(keepdims, False)
    if not a.size:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if not a.type.inexact:
        found = median(a, axis, out, keepdims=keepdims)
        return fresh(found.value) if keepdims and out is None else found
    verdict(np.nanmedian, sample_of(a), axis)
    axes = axes_of(axis, a.ndim)
    x = last(a.value, axes)
    end = x.type.ndim - 1
    x = sorted_along(x, end)
    n = r.reduce_sum(cast_to(e.not_(is_nan(x)), PLACE), axes=(end,))
    n = fresh(reshape_to(n, (*n.type.shape, 1)))
    pair = np.concatenate([fresh(nth(x, np.maximum(n - 1, 0) // 2)), fresh(nth(x, n // 2))], axis=end)
    return give(
        reshape_to(value_of(mean(pair, -1)), reduced_shape(a.shape, axes, keepdims)),
        out,
        "nanmedian",
        array=bool(keepdims),
    )
