"""Ops that move elements and compute nothing."""

import numpy as np

from ..core import Constant
from ..op import case, op, require
from ..types import Tensor, type_of


def _constant_rule(op, *, value):
    return type_of(value.array)


@op(_constant_rule, cases=[case(value=Constant(np.array([1.5, -2.0, 0.25]))), case(value=Constant(np.arange(24).reshape(2, 12)))])
def constant(*, value):
    """An array known while tracing."""
    return value.array


def _reshape_rule(op, x, *, shape):
    require(int(np.prod(shape, dtype=object)) == x.size, op, f"{x} cannot become shape {list(shape)}")
    return x.like(shape)


@op(_reshape_rule, cases=[case("f64[3,4]", shape=(2, 6)), case("f64[6]", shape=(6, 1)), case("f64[]", shape=(1,))])
def reshape(x, *, shape):
    """The elements of x in row-major order, in another shape."""
    return np.reshape(x, shape)


def _transpose_rule(op, x, *, perm):
    require(sorted(perm) == list(range(x.ndim)), op, f"{list(perm)} is no permutation of the axes of {x}")
    return x.like(x.shape[p] for p in perm)


@op(_transpose_rule, cases=[case("f64[3,4]", perm=(1, 0)), case("f64[2,3,4]", perm=(2, 0, 1))])
def transpose(x, *, perm):
    """Axes in the order `perm`: result axis i is operand axis perm[i]."""
    return np.transpose(x, perm)


def _broadcast_rule(op, x, *, shape, dims):
    fits = len(dims) == x.ndim and list(dims) == sorted(set(dims)) and all(n in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True))
    require(fits, op, f"{x} does not spread over {list(shape)} along {list(dims)}")
    return x.like(shape)


@op(_broadcast_rule, cases=[case("f64[4]", shape=(3, 4), dims=(1,)), case("f64[3,1]", shape=(3, 4), dims=(0, 1)), case("f64[]", shape=(2, 2), dims=()), case("f64[3]", shape=(3, 4), dims=(0,))])
def broadcast(x, *, shape, dims):
    """x repeated to `shape`; operand axis i lies along result axis dims[i].  [StableHLO broadcast_in_dim]"""
    return np.broadcast_to(np.reshape(x, [np.shape(x)[dims.index(d)] if d in dims else 1 for d in range(len(shape))]), shape)


@op(lambda op, *, shape, axis, dtype: Tensor(shape, dtype), cases=[case(shape=(3, 4), axis=1, dtype=np.dtype("i8")), case(shape=(5,), axis=0, dtype=np.dtype("f8"))])
def iota(*, shape, axis, dtype):
    """0, 1, 2, ... along `axis`."""
    return np.broadcast_to(np.arange(shape[axis], dtype=dtype).reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)
