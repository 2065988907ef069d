"""Ops that move elements and compute nothing."""

import numpy as np

from ..core import Constant, Lit
from ..op import Cost, case, op, require
from ..types import Tensor, type_of

# fmt: off
# -- made from nothing -----------------------------------------------------------------------------


def _constant_rule(op, *, value):
    return type_of(value.array)


@op(_constant_rule, cost=Cost.MOVE, cases=[
    case(value=Constant(np.array([1.5, -2.0, 0.25]))), case(value=Constant(np.arange(24).reshape(2, 12))),
    case(value=Constant(np.zeros((0, 3), bool))),
    case(value=Constant(np.array([np.inf, -np.inf, np.nan, -0.0], np.float32))),
    case(value=Constant(np.array(1 + 2j))),
])
def constant(*, value):
    """An array known while tracing."""
    return np.asarray(value)


def _iota_rule(op, *, shape, axis, dtype):
    require(0 <= axis < len(shape), op, f"shape {list(shape)} has no axis {axis}")
    return Tensor(shape, dtype)


@op(_iota_rule, cost=Cost.MOVE, cases=[
    case(shape=(3, 4), axis=1, dtype=np.dtype("i8")), case(shape=(5,), axis=0, dtype=np.dtype("f8")),
    case(shape=(3, 2), axis=0, dtype=np.dtype("u1")), case(shape=(0, 2), axis=0, dtype=np.dtype("i4")),
])
def iota(*, shape, axis, dtype):
    """0, 1, 2, ... along `axis`."""
    return np.broadcast_to(np.arange(shape[axis],
        dtype=dtype).reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


# -- one operand, other axes -----------------------------------------------------------------------


def _reshape_rule(op, x, *, shape):
    require(int(np.prod(shape, dtype=object)) == x.size, op, f"{x} cannot become shape {list(shape)}")
    return x.like(shape)


@op(_reshape_rule, traits=["moves"], cases=[
    case("f64[3,4]", shape=(2, 6)), case("f64[6]", shape=(6, 1)), case("f64[]", shape=(1,)), case("i32[1,1]", shape=()),
    case("f64[0,3]", shape=(2, 0)), case("bool[2,3]", shape=(3, 2)), case("c128[4]", shape=(2, 2)),
])
def reshape(x, *, shape):
    """The elements of x in row-major order, in another shape."""
    return np.reshape(x, shape)


def _transpose_rule(op, x, *, perm):
    require(sorted(perm) == list(range(x.ndim)), op, f"{list(perm)} is no permutation of the axes of {x}")
    return x.like(x.shape[p] for p in perm)


@op(_transpose_rule, traits=["moves"], cases=[
    case("f64[3,4]", perm=(1, 0)), case("f64[2,3,4]", perm=(2, 0, 1)), case("i64[2,0,3]", perm=(1, 2, 0)),
    case("bool[]", perm=()),
    case("f32[3]", perm=(0,)),
])
def transpose(x, *, perm):
    """Axes in the order `perm`: result axis i is operand axis perm[i]."""
    return np.transpose(x, perm)


def _broadcast_rule(op, x, *, shape, dims):
    rising = len(dims) == x.ndim and list(dims) == sorted(set(dims)) and all(0 <= d < len(shape) for d in dims)
    fits = rising and all(n in (1, shape[d]) for n, d in zip(x.shape, dims))
    require(fits, op, f"{x} does not spread over {list(shape)} along {list(dims)}")
    return x.like(shape)


@op(_broadcast_rule, traits=["moves"], cases=[
    case("f64[4]", shape=(3, 4), dims=(1,)), case("f64[3,1]", shape=(3, 4), dims=(0, 1)),
    case("f64[]", shape=(2, 2), dims=()),
    case("f64[3]", shape=(3, 4), dims=(0,)), case("i64[1,2]", shape=(3, 1, 2), dims=(1, 2)),
    case("f64[1]", shape=(0,), dims=(0,)),
    case("bool[]", shape=(), dims=()), case("f64[2,1]", shape=(1, 2, 3, 1), dims=(1, 2)),
])
def broadcast(x, *, shape, dims):
    """x repeated to `shape`; operand axis i lies along result axis dims[i], sizes one repeat.  [StableHLO
    broadcast_in_dim]"""
    return np.broadcast_to(np.expand_dims(x, tuple(d for d in range(len(shape)) if d not in dims)), shape)


def _reverse_rule(op, x, *, axes):
    require(len(set(axes)) == len(axes) and all(0 <= a < x.ndim for a in axes), op, f"{x} has no axes {list(axes)}")
    return x


@op(_reverse_rule, traits=["moves"], cases=[
    case("f64[3,4]", axes=(1,)), case("i64[2,3]", axes=(0, 1)), case("f64[]", axes=()), case("bool[0,2]", axes=(0,)),
])  # fmt: skip
def reverse(x, *, axes):
    """x backwards along `axes`."""
    return np.flip(x, axes)


# -- parts, joined and cut -------------------------------------------------------------------------


def _concatenate_rule(op, *xs, axis):
    require(xs and 0 <= axis < xs[0].ndim, op, f"no axis {axis} to join {', '.join(map(repr, xs)) or 'nothing'} along")
    first = xs[0]
    for x in xs:
        alike = x.dtype == first.dtype and x.ndim == first.ndim and all(n == m for d,
            (n, m) in enumerate(zip(x.shape, first.shape)) if d != axis)
        require(alike, op, f"{x} and {first} cannot be joined along axis {axis}")
    return first.like(sum(x.shape[axis] for x in xs) if d == axis else n for d, n in enumerate(first.shape))


@op(_concatenate_rule, traits=["joins"], cases=[
    case("f64[3,4]", "f64[3,2]", axis=1), case("f64[2]", axis=0), case("f64[2]", "f64[0]", "f64[1]", axis=0),
    case("i32[1,2]", "i32[3,2]", axis=0),
    case("bool[2]", "bool[3]", axis=0),
])
def concatenate(*xs, axis):
    """The operands one after another along `axis`."""
    return np.concatenate(xs, axis)


def _pad_rule(op, x, value, *, low, high, interior):
    require(value.shape == () and value.dtype == x.dtype, op,
        f"the padding value is a scalar of dtype {x.dtype}, got {value}")
    entries = len(low) == len(high) == len(interior) == x.ndim and all(i >= 0 for i in interior)
    require(entries, op, f"{x} wants {x.ndim} entries in low, high and interior, which is not negative")
    shape = [l + n + max(n - 1, 0) * i + h for n, l, h, i in zip(x.shape, low, high, interior)]
    require(all(n >= 0 for n in shape), op, f"nothing of {x} is left: low={list(low)}, high={list(high)}")
    return x.like(shape)


@op(_pad_rule, traits=["joins"], cases=[
    case("f64[3]", "f64[]", low=(1,), high=(2,), interior=(0,)),
    case("f64[3,4]", "f64[]", low=(-1, 2), high=(1, -2), interior=(2, 1)),
    case("f64[3]", "f64[]", low=(-4,), high=(5,), interior=(1,)),
    case("f64[2,0]", "f64[]", low=(1, 1), high=(0, 1), interior=(0, 3)),
    case("i32[2,2]", "i32[]", low=(0, 1), high=(1, 0), interior=(1, 0)),
    case("bool[3]", "bool[]", low=(2,), high=(-1,), interior=(0,)),
    case("f64[]", "f64[]", low=(), high=(), interior=()), case("f64[4]", "f64[]", low=(-2,), high=(-2,), interior=(0,)),
])
def pad(x, value, *, low, high, interior):
    """x with `value` around it and `interior` copies of it between neighbours; negative `low` and `high` cut.

    Element i of x lands at low + i * (interior + 1).  [StableHLO pad]
    """
    spread = [n + max(n - 1, 0) * i for n, i in zip(x.shape, interior)]
    out = np.full([max(l, 0) + n + max(h, 0) for n, l, h in zip(spread, low, high)], value, x.dtype)
    out[tuple(slice(max(l, 0), max(l, 0) + n, i + 1) for n, l, i in zip(spread, low, interior))] = x
    return out[tuple(slice(max(-l, 0), n - max(-h, 0)) for n, l, h in zip(out.shape, low, high))]


def _slice_rule(op, x, *, start, stop, stride):
    fits = len(start) == len(stop) == len(stride) == x.ndim and all(0 <= a <= b <= n and s > 0 for a, b, s,
        n in zip(start, stop, stride, x.shape))
    require(fits, op, f"{x} has no part {list(start)} to {list(stop)} in steps of {list(stride)}")
    return x.like(-(-(b - a) // s) for a, b, s in zip(start, stop, stride))


@op(_slice_rule, traits=["moves"], cases=[
    case("f64[5]", start=(1,), stop=(4,), stride=(1,)), case("f64[7,4]", start=(0, 1), stop=(7, 4), stride=(3, 2)),
    case("f64[5]", start=(2,), stop=(2,), stride=(1,)), case("i64[6]", start=(1,), stop=(6,), stride=(2,)),
    case("bool[2,0]", start=(1, 0), stop=(2, 0), stride=(1, 1)), case("f64[]", start=(), stop=(), stride=()),
])
def slice_(x, *, start, stop, stride):
    """x from `start` to `stop`, which is left out, in steps of `stride` > 0, axis by axis."""
    return x[tuple(slice(a, b, s) for a, b, s in zip(start, stop, stride))]


def require_starts(op, x, starts):
    fits = len(starts) == x.ndim and all(s.shape == () and s.kind == "i" for s in starts)
    require(fits, op, f"{x} wants {x.ndim} signed integer scalars as starts, got {list(starts)}")


def _dynamic_slice_rule(op, x, *starts, sizes):
    require_starts(op, x, starts)
    require(len(sizes) == x.ndim and all(0 <= k <= n for k, n in zip(sizes, x.shape)), op,
        f"{x} has no part of shape {list(sizes)}")
    return x.like(sizes)


def _dynamic_update_slice_rule(op, x, u, *starts):
    require_starts(op, x, starts)
    require(u.dtype == x.dtype and u.ndim == x.ndim and all(k <= n for k, n in zip(u.shape, x.shape)), op,
        f"{u} is no part of {x}")
    return x


def whole(low, high, dtype=np.int64):
    """Draws an integer scalar, low <= i < high."""
    return lambda rng: np.asarray(rng.integers(low, high), dtype)


@op(_dynamic_slice_rule, traits=["moves"], cases=[
    case("f64[5,4]", whole(0, 3), whole(0, 3), sizes=(3, 2)), case("f64[6]", whole(-3, 9, np.int32), sizes=(2,)),
    case("i64[5]", whole(-9, -1), sizes=(5,)), case("f64[3,0]", whole(0, 2), whole(0, 2), sizes=(1, 0)),
    case("bool[4]", whole(3, 9), sizes=(1,)),
    case("f64[]", sizes=()),
])
def dynamic_slice(x, *starts, sizes):
    """The part of x of shape `sizes` at `starts`; starts are clamped so that it lies within x.  [StableHLO
    dynamic_slice]"""
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, sizes)]
    return x[tuple(slice(i, i + k) for i, k in zip(inside, sizes))]


@op(_dynamic_update_slice_rule, cases=[
    case("f64[5,4]", "f64[3,2]", whole(0, 3), whole(0, 3)), case("f64[6]", "f64[2]", whole(-3, 9, np.int32)),
    case("i64[5]", "i64[5]", whole(-9, 9)),
    case("f64[3,2]", "f64[0,2]", whole(0, 3), whole(0, 3)), case("f64[]", "f64[]"),
    case("bool[4]", "bool[1]", whole(3, 9)),
])
def dynamic_update_slice(x, u, *starts):
    """x with its part at `starts` replaced by u; starts are clamped so that u lies within x.  [StableHLO
    dynamic_update_slice]"""
    inside = [min(max(int(i), 0), n - k) for i, n, k in zip(starts, x.shape, u.shape)]
    out = np.array(x)
    out[tuple(slice(i, i + k) for i, k in zip(inside, u.shape))] = u
    return out


def element_at(v, i):
    """Appends v[i], along the first axis."""
    rest = v.type.shape[1:]
    return reshape(dynamic_slice(v, i, *([Lit(0, i.type)] * len(rest)), sizes=(1, *rest)), shape=rest)


def with_element(v, x, i):
    """Appends v with x for v[i], along the first axis."""
    return dynamic_update_slice(v, reshape(x, shape=(1, *x.type.shape)), i, *([Lit(0, i.type)] * x.type.ndim))
