"""Sums, extremes, means and their positions, cumulative forms, and the twins of all these that ignore NaN."""

import operator

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops.shape import transpose
from ..common.emit import cast_to, reshape_to, spread_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh, wrap
from ..values.promote import mask_of, result_dtype
from ..values.storage import current_trace
from .arguments import NOTHING, axes_of, castable_out, flat, give, given, reduced_shape, sample_of, traced, verdict
from .registry import implements
from .ufunc_calls import apply_ufunc
from .ufunc_methods import accumulate, elements_along, only_axis, reduce, reduce_axes
from .ufunc_rules import everywhere, is_nan, truth

COUNT = np.dtype(np.int64)


# -- sums and extremes -----------------------------------------------------------------------------


@implements(np.sum, method="sum")
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return reduce(np.add, a, axis, dtype, out, keepdims, initial, where)


@implements(np.prod, method="prod")
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return reduce(np.multiply, a, axis, dtype, out, keepdims, initial, where)


@implements(np.max, np.amax, method="max")
def max(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return reduce(np.maximum, a, axis, None, out, keepdims, initial, where)


@implements(np.min, np.amin, method="min")
def min(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return reduce(np.minimum, a, axis, None, out, keepdims, initial, where)


@implements(np.any, method="any")
def any(a, axis=None, out=None, keepdims=False, *, where=True):
    return reduce(np.logical_or, a, axis, np.dtype(bool), out, keepdims, where=where)


@implements(np.all, method="all")
def all(a, axis=None, out=None, keepdims=False, *, where=True):
    return reduce(np.logical_and, a, axis, np.dtype(bool), out, keepdims, where=where)


@implements(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    if out is None:
        return np.subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))
    # in this order: `out` may be memory of a
    return np.subtract(max(a, axis, out, keepdims), min(a, axis, keepdims=keepdims), out)


@implements(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return reduce(np.add, fresh(truth(traced(a).value)), axis, COUNT, keepdims=keepdims)


# -- means -----------------------------------------------------------------------------------------


def count_of(a, axis, keepdims, where):
    """How many elements each result is made of: a number, or an integer value where `where` says which."""
    axes = axes_of(axis, a.ndim) if where is True or a.ndim else ()  # only with a mask has a number an axis
    if where is True:
        return elements_along(a, axes)
    mask = mask_of(where, a.shape)
    return reshape_to(reduce_axes(np.add, cast_to(mask, COUNT), axes), reduced_shape(a.shape, axes, keepdims))


def divided(x, count):
    """x / count in the dtype of x; integers by way of float64."""
    work = x.type.dtype if x.type.inexact else np.dtype(np.float64)
    n = cast_to(spread_to(count, x.type.shape), work) if hasattr(count, "type") else Lit(count, x.type.like(dtype=work))
    return cast_to(e.div(cast_to(x, work), n), x.type.dtype)


def at_least_zero(count, ddof):
    """max(count - ddof, 0)."""
    if not hasattr(count, "type"):
        return np.maximum(count - ddof, 0)
    return count if type(ddof) is int and not ddof else np.maximum(fresh(count) - ddof, 0).value


def mean_dtype(dtype):
    """The dtype in which means of `dtype` are taken."""
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


@implements(np.mean, method="mean")
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    a, keepdims, where = traced(a), given(keepdims, False), given(where, True)
    half = dtype is None and (a.dtype == np.float16 or a.value.type.small)
    work = np.dtype(np.float32) if half else mean_dtype(a.dtype) if dtype is None else np.dtype(dtype)
    total = reduce(np.add, a, axis, work, out, keepdims, where=where)
    value = divided(total.value, count_of(a, axis, keepdims, where))
    return give(cast_to(value, a.dtype) if half and out is None else value, out, "mean", like=total)


def correction_of(ddof, correction):
    if correction is NOTHING:
        return ddof
    if ddof != 0:
        raise with_note(ValueError, message("ddof and correction can't be provided simultaneously.", locate()))
    return correction


def squared(x):
    """|x|^2, real."""
    if x.type.kind != "c":
        return x * x
    re, im = e.real(x), e.imag(x)
    return re * re + im * im


@implements(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    """The mean of |x - mean|^2, the mean taken first; real for complex x."""
    a, keepdims, where = traced(a), given(keepdims, False), given(where, True)
    ddof = correction_of(ddof, correction)
    work = mean_dtype(a.dtype) if dtype is None and a.dtype.kind != "c" else dtype
    if mean is NOTHING or mean is None:
        total = reduce(np.add, a, axis, work, keepdims=True, where=where)
        mean = fresh(divided(total.value, count_of(a, axis, True, where)))
    gap = np.subtract(a, mean).value
    # NumPy squares as the array's own kind asks, though a mean be complex
    squares = fresh(gap * gap if a.dtype.kind in "iuf" else squared(gap))
    if dtype is None and a.dtype.kind == "f":
        work = None
    total = reduce(np.add, squares, axis, work, out, keepdims, where=where)
    return give(divided(total.value, at_least_zero(count_of(a, axis, keepdims, where), ddof)), out, "var")


@implements(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    """The square root of the variance; its gradient is infinite where the variance of several numbers is 0."""
    z = var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    # each is its own mean: 0 or NaN, and so is the root
    alone = given(where, True) is True and given(mean) is None and dtype is out is None
    alone = alone and z.size == traced(a).size
    return z if alone else root(z, out)


@implements(method="var")
def var_method(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING):
    return var(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


@implements(method="std")
def std_method(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING):
    return std(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def root(x, out):
    target = x if out is None and isinstance(x, TracedArray) else out
    return wrap(cast_to(np.sqrt(x).value, x.dtype)) if target is None else apply_ufunc(np.sqrt, (x,), out=target)


def weights_of(weights, a, axes):
    """Weights laid along the axes they belong to."""
    w = traced(weights)
    if w.shape == a.shape:
        return w
    if axes is None:
        raise with_note(TypeError, message("Axis must be specified when shapes of a and weights differ.", locate()))
    if w.shape != tuple(a.shape[d] for d in axes):
        raise with_note(
            ValueError, message("Shape of weights must be consistent with shape of a along specified axis.", locate())
        )
    rising = transpose(w.value, perm=tuple(int(k) for k in np.argsort(axes)))
    return fresh(reshape_to(rising, tuple(n if d in axes else 1 for d, n in enumerate(a.shape))))


@implements(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a, keepdims = traced(a), given(keepdims, False)
    axes = None if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weights is None:
        result = mean(a, axes, keepdims=keepdims)
        total = traced(result.dtype.type(a.size / result.size))
    else:
        w = weights_of(weights, a, axes)
        dtype = result_dtype([a.dtype, w.dtype, *([np.dtype(np.float64)] if a.dtype.kind in "biu" else [])])
        total = sum(w, axes, dtype, keepdims=keepdims)
        current_trace().check(
            everywhere(e.ne(total.value, 0)),
            ZeroDivisionError,
            message("Weights sum to zero, can't be normalized", locate()),
        )
        result = sum(np.multiply(a, w, dtype=dtype), axes, keepdims=keepdims) / total
    if not returned:
        return result
    return result, give(spread_to(total.value, result.shape))


# -- positions -------------------------------------------------------------------------------------


def position(op, function):
    def run(a, axis=None, out=None, *, keepdims=False):
        a, keepdims = traced(a), given(keepdims, False)
        verdict(function, sample_of(a), axis)
        castable_out(out, COUNT, function.__name__)
        whole = axis is None or not a.ndim  # NumPy, just asked, lets a scalar have axis 0 here
        axes = axes_of(None if whole else axis, a.ndim)
        x, at = (flat(a.value), 0) if whole else (a.value, axes[0])
        value = op(x if x.type.kind != "c" else rank(x, at, function), axis=at)
        return give(reshape_to(value, reduced_shape(a.shape, axes, keepdims)), out, function.__name__)

    return run


def rank(x, axis, function):
    """Complex numbers as 2 where NaN, 1 where they equal the extreme, 0 elsewhere; negated for argmin."""
    ufunc, sign = (np.maximum, 1) if function is np.argmax else (np.minimum, -1)
    best = reshape_to(reduce_axes(ufunc, x, (axis,)), reduced_shape(x.type.shape, (axis,), True))
    missing, hit = is_nan(x), e.eq(x, spread_to(best, x.type.shape))
    level = lambda c, n: e.select(
        c, Lit(sign * n, missing.type.like(dtype=np.int8)), Lit(0, missing.type.like(dtype=np.int8))
    )
    return level(missing, 2) + level(hit, 1)


argmax = implements(np.argmax, method="argmax")(position(r.argmax, np.argmax))
argmin = implements(np.argmin, method="argmin")(position(r.argmin, np.argmin))


# -- cumulative ------------------------------------------------------------------------------------


def cumulative(ufunc):
    def run(a, axis=None, dtype=None, out=None):
        a, axis = traced(a), None if axis is None else operator.index(axis)
        whole = axis is None or not a.shape
        return accumulate(ufunc, fresh(flat(a.value)) if whole else a, 0 if axis is None else axis, dtype, out)

    return run


cumsum = implements(np.cumsum, method="cumsum")(cumulative(np.add))
cumprod = implements(np.cumprod, method="cumprod")(cumulative(np.multiply))


def cumulative_along(ufunc, x, axis, dtype, out, include_initial):
    x = traced(x)
    x = x if x.shape else fresh(reshape_to(x.value, (1,)))
    if axis is None:
        if x.ndim > 1:
            raise with_note(
                ValueError,
                message("For arrays which have more than one dimension ``axis`` argument is required.", locate())
            )
        axis = 0
    asked, axis = axis, only_axis("accumulate", axis, x.ndim)
    if include_initial:
        operator.index(asked)
    done = accumulate(ufunc, x, axis, dtype, None if include_initial else out)
    if not include_initial:
        return done
    first = Lit(ufunc.identity, done.type.like(1 if d == axis else n for d, n in enumerate(x.shape)))
    return give(np.concatenate([fresh(first), done], axis).value, out, ufunc.__name__)


@implements(np.cumulative_sum)
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return cumulative_along(np.add, x, axis, dtype, out, include_initial)


@implements(np.cumulative_prod)
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return cumulative_along(np.multiply, x, axis, dtype, out, include_initial)


# -- NaN left out ----------------------------------------------------------------------------------


def filling(a, value):
    """(a with `value` for NaN, where it was); None for integers, and small floats, whose NaN NumPy does not know."""
    a = traced(a)
    if not np.issubdtype(a.dtype, np.inexact):
        return a, None
    mask = is_nan(a.value)
    return fresh(e.select(mask, Lit(value, a.type), a.value)), mask


def ignoring(function, value):
    """`function` of an array in which NaN counts as `value`."""

    def run(a, *args, **kwargs):
        return function(filling(a, value)[0], *args, **kwargs)

    return run


nansum = implements(np.nansum)(ignoring(sum, 0))
nanprod = implements(np.nanprod)(ignoring(prod, 1))
nancumsum = implements(np.nancumsum)(ignoring(cumsum, 0))
nancumprod = implements(np.nancumprod)(ignoring(cumprod, 1))


@implements(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return nan_of_none(a, reduce(np.fmax, a, axis, None, out, keepdims, initial, where), where)


@implements(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return nan_of_none(a, reduce(np.fmin, a, axis, None, out, keepdims, initial, where), where)


def nan_of_none(a, best, where):
    """The best of the numbers; of one number that is no array, NaN where it is left out, whatever `initial` is."""
    if not isinstance(a, TracedScalar) or best.dtype.kind not in "fc" or given(where, True) is True:
        return best
    found = np.where(all(np.isnan(a), where=where), np.nan, best)
    if isinstance(best, TracedArray):  # `out`
        best[...] = found
        return best
    return found[()]


def nan_position(find, worst):
    def run(a, axis=None, out=None, *, keepdims=False):
        filled, mask = filling(a, worst)
        if mask is not None and mask.type.size:
            some = e.not_(r.reduce_and(mask, axes=axes_of(axis, mask.type.ndim) if mask.type.ndim else ()))
            current_trace().check(everywhere(some), ValueError, message("All-NaN slice encountered", locate()))
        return find(filled, axis, out, keepdims=keepdims)

    return run


nanargmax = implements(np.nanargmax)(nan_position(argmax, -np.inf))
nanargmin = implements(np.nanargmin)(nan_position(argmin, np.inf))


def check_inexact(dtype, out):
    for what, given_ in (
        ("dtype", None if dtype is None else np.dtype(dtype)),
        ("out", None if out is None else out.dtype),
    ):
        if given_ is not None and given_.kind not in "fc":
            raise with_note(TypeError, message(f"If a is inexact, then {what} must be inexact", locate()))


def present(mask, where):
    """Which elements count: no NaN, and allowed by `where`."""
    return e.not_(mask) if where is True else e.and_(e.not_(mask), mask_of(where, mask.type.shape))


@implements(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    filled, mask = filling(a, 0)
    keepdims, where = given(keepdims, False), given(where, True)
    if mask is None:
        return mean(filled, axis, dtype, out, keepdims, where=where)
    check_inexact(dtype, out)
    total = sum(filled, axis, dtype, out, keepdims, where=where)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = divided(total.value, count_of(filled, axis, keepdims, fresh(present(mask, where))))
    return give(found, out, "nanmean")


@implements(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    filled, mask = filling(a, 0)
    keepdims, where = given(keepdims, False), given(where, True)
    if mask is None:
        return var(filled, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    check_inexact(dtype, out)
    ddof = correction_of(ddof, correction)
    count = count_of(filled, axis, True, fresh(present(mask, where)))
    if mean is NOTHING:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = fresh(divided(sum(filled, axis, dtype, keepdims=True, where=where).value, count))
    gap = cast_to(np.subtract(filled, mean).value, filled.dtype)
    squares = fresh(squared(e.select(mask, Lit(0, gap.type), gap)))
    total = sum(squares, axis, dtype, out, keepdims, where=where).value
    freedom = (fresh(reshape_to(count, total.type.shape)) - ddof).value
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = divided(total, cast_to(freedom, total.type.dtype))
    return give(e.select(e.le(freedom, 0), Lit(np.nan, ratio.type), ratio), out, "nanvar")


@implements(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    return root(nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction), out)
