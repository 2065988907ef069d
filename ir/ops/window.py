"""Reductions over sliding windows: pooling.

Window i along an axis covers `window` elements from i * stride - low on; what lies beyond x is the
identity of the reduction. As many windows as fit within `low` more elements before and `high` after.
"""

import numpy as np

from ..op import NUMBER, REAL, case, distinct, op, require

# fmt: off


def window_rule(kinds, index=False):
    """The type rule of a windowed reduction; `index`: the result counts elements."""
    def rule(op, x, *, window, strides, low, high):
        require(x.kind in kinds, op, f"{x} is not among the dtype kinds it takes ({kinds})")
        require(len(window) == len(strides) == len(low) == len(high) == x.ndim, op,
            f"{x} wants {x.ndim} entries in window, strides, low, high")
        counts = min((*window, *strides), default=1) > 0 and min((*low, *high), default=0) >= 0
        require(counts, op, f"windows {list(window)} and strides {list(strides)} are positive, padding {list(low)}, "
                            f"{list(high)} is not negative")
        fits = all(n + l + h >= k for n, l, h, k in zip(x.shape, low, high, window))
        require(fits, op, f"no window {list(window)} fits {x} padded by {list(low)} and {list(high)}")
        out = x.like((n + l + h - k) // s + 1 for n, k, s, l, h in zip(x.shape, window, strides, low, high))
        return out.like(dtype=np.int64) if index else out

    return rule


CASES = [
    case("f64[6]", window=(2,), strides=(2,), low=(0,), high=(0,)),
    case("f64[7]", window=(3,), strides=(1,), low=(1,), high=(1,)),
    case("f64[2,5,6]", window=(1, 3, 2), strides=(1, 2, 3), low=(0, 1, 0), high=(0, 0, 1)),
    case("i32[6]", window=(3,), strides=(2,), low=(1,), high=(0,)),
    case("f32[4,4]", window=(2, 2), strides=(2, 2), low=(0, 0), high=(0, 0)),
    case("f64[]", window=(), strides=(), low=(), high=()),
    case("u8[5]", window=(2,), strides=(1,), low=(0,), high=(0,)),
]
SPECIAL = [  # in single precision, which is not differentiated: windows of nothing are infinite
    case("f32[0,3]", window=(1, 2), strides=(1, 1), low=(1, 0), high=(0, 0)),
    case(np.array([1, np.nan, 3, -np.inf, -np.inf, 2, 2], "f4"), window=(2,), strides=(1,), low=(2,), high=(2,)),
    case(np.array([1, np.nan, np.inf, np.inf, 0.0, -0.0], "f4"), window=(3,), strides=(1,), low=(1,), high=(1,)),
]


def _sliding(x, fill, window, strides, low, high):
    """Windows of x padded with `fill`, each flat along the last axis."""
    x = np.pad(x, list(zip(low, high)), constant_values=fill) if np.ndim(x) else np.asarray(x)
    every = np.lib.stride_tricks.sliding_window_view(x,
        window)[tuple(slice(None, None, s) for s in strides)] if window else x
    return every.reshape(*every.shape[: len(window)], -1)


def lowest_of(dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def highest_of(dtype):
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


@op(window_rule(NUMBER), cases=[
    *CASES, case("c128[5]", window=(3,), strides=(2,), low=(0,), high=(1,)),
    case("f64[5]", window=(2,), strides=(3,), low=(3,), high=(2,)),
    case("f64[0,3]", window=(1, 2), strides=(1, 1), low=(1, 0), high=(0, 0)),
])
def reduce_window_sum(x, *, window, strides, low, high):
    """Sum of each window; integers wrap.  [StableHLO reduce_window]"""
    return np.sum(_sliding(x, 0, window, strides, low, high), -1, x.dtype)


@op(window_rule(REAL), sample=distinct, cases=CASES + SPECIAL)
def reduce_window_max(x, *, window, strides, low, high):
    """The greatest element of each window; NaN if one is NaN; the lowest number where a window covers nothing of x."""
    return np.max(_sliding(x, lowest_of(x.dtype), window, strides, low, high), -1)


@op(window_rule(REAL), sample=distinct, cases=CASES + SPECIAL)
def reduce_window_min(x, *, window, strides, low, high):
    """The least element of each window; NaN if one is NaN; the highest number where a window covers nothing of x."""
    return np.min(_sliding(x, highest_of(x.dtype), window, strides, low, high), -1)


def _first_best_index(x, best, fill, window, strides, low, high):
    """Row-major index in x of the first element of each window that is the `best` of its window; -1 where there is
    none."""
    place = _sliding(np.arange(np.size(x)).reshape(np.shape(x)), -1, window, strides, low, high)
    values = _sliding(x, fill, window, strides, low, high)
    top = best(values, -1)[..., None]
    hit = ((values == top) | ((values != values) & (top != top))) & (place >= 0)
    return np.where(hit.any(-1), np.take_along_axis(place, hit.argmax(-1)[..., None], -1)[..., 0], -1)


@op(window_rule(REAL, index=True), sample=distinct, cases=CASES + SPECIAL)
def reduce_window_argmax(x, *, window, strides, low, high):
    """Row-major index in x of the first greatest element of each window; NaN counts as the greatest; -1 where a window
    covers nothing of x."""
    return _first_best_index(x, np.max, lowest_of(x.dtype), window, strides, low, high)


@op(window_rule(REAL, index=True), sample=distinct, cases=CASES + SPECIAL)
def reduce_window_argmin(x, *, window, strides, low, high):
    """Row-major index in x of the first least element of each window; NaN counts as the least; -1 where a window covers
    nothing of x."""
    return _first_best_index(x, np.min, highest_of(x.dtype), window, strides, low, high)
