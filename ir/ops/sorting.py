"""Sorting along an axis."""

import numpy as np

from ..op import BOOL, REAL, case, distinct, op, require
from .shape import iota

# fmt: off


def _sort_rule(op, *xs, axis, num_keys, stable):
    require(xs and 1 <= num_keys <= len(xs), op, f"{num_keys} of {len(xs)} operands cannot be keys")
    require(all(x.shape == xs[0].shape for x in xs) and 0 <= axis < xs[0].ndim, op,
        f"no axis {axis} to sort {', '.join(map(repr, xs))} along")
    require(all(x.kind in REAL + BOOL for x in xs[:num_keys]), op,
        f"{', '.join(map(repr, xs[:num_keys]))} is not ordered")
    return xs


@op(_sort_rule, multiple=True, sample=distinct, cases=[
    case("f64[5]", axis=0), case("f64[3,4]", "f64[3,4]", axis=1), case("i64[4,3]", "f64[4,3]", axis=0),
    case("i8[2,6]", "bool[2,6]", "i64[2,6]", axis=1, num_keys=2), case("f64[0]", axis=0),
    case("f64[1,3]", "i32[1,3]", axis=0),
    case("bool[7]", "u8[7]", axis=0), case("f32[6]", axis=0, stable=False), case("f64[4]", "c128[4]", axis=0),
    case(np.array([2, np.nan, -np.inf, 0.0, -0.0, np.nan, 0.0, np.inf], "f4"), np.arange(8), axis=0),
    case(np.array([
        0, 1, 0, 1, 0, 1, 0, 1,
    ]), np.array([3, -0.0, np.nan, 0.0, 1, np.nan, 3, -1], "f4"), np.arange(8), axis=0, num_keys=2),
])
def sort(*xs, axis, num_keys=1, stable=True):
    """All operands in the order that sorts the first along `axis`; ties by the next keys, then (if stable) as they
    came.

    NaN is last, -0.0 equals 0.0.  [numpy.lexsort, its keys in reverse]
    """
    if len(xs) == 1:
        return (np.sort(xs[0], axis, kind="stable"),)
    order = np.argsort(xs[0], axis, kind="stable") if num_keys == 1 else np.lexsort(xs[num_keys - 1 :: -1], axis)
    return tuple(np.take_along_axis(x, order, axis) for x in xs)


def _top_k_rule(op, x, *, k, dtype):
    require(x.kind in REAL, op, f"{x} is not ordered")
    require(x.ndim > 0 and 0 <= k <= x.shape[-1], op, f"{x} has no {k} elements along its last axis")
    out = x.like((*x.shape[:-1], k))
    return out, out.like(dtype=dtype)


@op(_top_k_rule, multiple=True, sample=distinct, cases=[
    case("f64[6]", k=3), case("f64[3,4]", k=1), case("i32[2,5]", k=5), case("u8[7]", k=4), case("f64[4]", k=0),
    case("f64[0,3]", k=2, dtype=np.dtype("i4")), case(np.array([1, np.nan, 3, 3, -np.inf, np.nan, np.inf], "f4"), k=6),
    case(np.array([0.0, -0.0, 0.0, -0.0, -1.0], "f4"), k=4), case(np.array([-128, 127, -128, 5], "i1"), k=4),
])
def top_k(x, *, k, dtype=np.dtype("i8")):
    """The k greatest elements along the last axis, greatest first, and their indices.

    Of equal ones the first come first; NaN counts as the greatest.
    """
    order = x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1][..., :k]
    return np.take_along_axis(x, order, -1), order.astype(dtype)


def sort_with_order(*xs, axis, num_keys=1, stable=True, dtype=np.dtype("i8")):
    """Appends: (sorted operands, the permutation along `axis` that sorts them)."""
    *out, order = sort(*xs, iota(shape=xs[0].type.shape, axis=axis, dtype=dtype), axis=axis, num_keys=num_keys,
        stable=stable)
    return tuple(out), order


def argsort(x, axis, stable=True, dtype=np.dtype("i8")):
    """Appends np.argsort(x, axis)."""
    return sort_with_order(x, axis=axis, stable=stable, dtype=dtype)[1]
