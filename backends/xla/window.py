"""XLA lowering of reductions over sliding windows."""

import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.window import (
    highest_of,
    lowest_of,
    reduce_window_argmax,
    reduce_window_argmin,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
)
from .table import XLA


def pooled(combine, identity):
    def run(x, *, window, strides, low, high):
        return lax.reduce_window(
            x, np.asarray(identity(x.dtype), x.dtype), combine, window, strides, tuple(zip(low, high))
        )

    return run


def best_index(better, identity):
    """The index of the best element, by reducing (element, index) pairs; `better` is strict."""
    def keep(a, b):
        (x, i), (y, j) = a, b
        tie = (x == y) | ((x != x) & (y != y))
        first = ((x != x) & (y == y)) | better(x, y) | (tie & (i < j))
        first = ((j < 0) | first) & (i >= 0)
        return jnp.where(first, x, y), jnp.where(first, i, j)

    def run(x, *, window, strides, low, high):
        index = lax.iota(jnp.int64, math.prod(x.shape)).reshape(x.shape)
        start = np.asarray(identity(x.dtype), x.dtype), np.int64(-1)
        return lax.reduce_window((x, index), start, keep, window, strides, tuple(zip(low, high)))[1]

    return run


# fmt: off
XLA.add({
    reduce_window_sum:     pooled(lax.add, lambda dtype: 0),
    reduce_window_max:     pooled(lax.max, lowest_of),
    reduce_window_min:     pooled(lax.min, highest_of),
    reduce_window_argmax:  best_index(lambda x, y: x > y, lowest_of),
    reduce_window_argmin:  best_index(lambda x, y: x < y, highest_of),
})
