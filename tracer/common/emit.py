"""Small IR compositions every part of the tracer needs: broadcasts, casts and constants made explicit."""

import functools

import numpy as np

from ...ir.core import Builder, Constant, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.elementwise import cast
from ...ir.ops.shape import broadcast, reshape
from ...ir.types import Tensor

constant = OPS["constant"]
INDEX = np.dtype(np.int64)
INT64 = Tensor((), INDEX)


def spread_to(x, shape):
    """x broadcast to `shape` by NumPy's rule: trailing axes align, size one repeats."""
    if x.type.shape == shape:
        return x
    if isinstance(x, Lit):
        return Lit(x.value, x.type.like(shape))
    missing = len(shape) - x.type.ndim
    return broadcast(x, shape=shape, dims=tuple(range(missing, len(shape))))


def cast_to(x, dtype):
    """x as `dtype`, or x itself."""
    if x.type.dtype == dtype:
        return x
    if isinstance(x, Lit):
        with np.errstate(all="ignore"):
            return Lit(OPS["cast"].body(x.value, dtype=dtype), x.type.like(dtype=dtype))
    return cast(x, dtype=np.dtype(dtype))


def without_ones(x, ndim):
    """A value that is stored into an array of `ndim` axes: more axes, of one element, before those do not count."""
    extra = x.type.ndim - ndim
    return reshape_to(x, x.type.shape[extra:]) if extra > 0 and set(x.type.shape[:extra]) == {1} else x


def reshape_to(x, shape):
    shape = tuple(shape)
    if x.type.shape == shape:
        return x
    return Lit(x.value, x.type.like(shape)) if isinstance(x, Lit) else reshape(x, shape=shape)


def constant_of(array):
    """A concrete array as an operand: a splat where all elements are one number, else a constant."""
    array = np.asarray(array)
    if array.size and (array.size == 1 or (array == array.flat[0]).all() and not _signed_zeros(array)):
        return Lit(array.flat[0], Tensor(array.shape, array.dtype))
    return Builder.current().emit(constant, (), {"value": Constant(array)})


def _signed_zeros(array):
    return array.dtype.kind in "fc" and bool((array == 0).any())


def filled(value, shape, dtype):
    return Lit(value, Tensor(tuple(shape), np.dtype(dtype)))


def counted(shape, axis=0, dtype=INDEX):
    """0, 1, 2, ... along an axis."""
    return Builder.current().emit(OPS["iota"], (), {"shape": tuple(shape), "axis": axis, "dtype": np.dtype(dtype)})


def index_start(x):
    """A start of dynamic_slice: an int64 scalar operand."""
    return cast_to(x, INDEX) if isinstance(x, Value | Lit) else known_start(x)


@functools.lru_cache(4096)
def known_start(n):
    return filled(n, (), INDEX)
