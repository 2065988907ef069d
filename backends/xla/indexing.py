"""XLA lowering of gather and scatter."""

import contextvars
import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.indexing import gather, scatter, scatter_add, scatter_max, scatter_min, scatter_mul
from ..target import per_platform
from .table import XLA

MODES = {
    "clip": lax.GatherScatterMode.CLIP,
    "fill": lax.GatherScatterMode.FILL_OR_DROP,
    "drop": lax.GatherScatterMode.FILL_OR_DROP,
    "promise": lax.GatherScatterMode.PROMISE_IN_BOUNDS,
}


SHORT = contextvars.ContextVar("short", default=False)  # whether what jax compiles may have no 64-bit indices
INT32 = np.iinfo(np.int32)


def wide(indices, shape):
    """Index types too narrow to count a large axis as int32; and such as are wider than all axes, where jax compiles
    with 64-bit types off: indices that are out of range stay so."""
    if indices.dtype.itemsize < 4:
        return indices.astype(jnp.int32)
    if SHORT.get() and indices.dtype.itemsize > 4 and max(shape, default=0) < INT32.max:
        least = indices.dtype.type(max(INT32.min, np.iinfo(indices.dtype).min))
        return lax.clamp(least, indices, indices.dtype.type(INT32.max)).astype(jnp.int32)
    return indices


def gather_(
    x, indices, *, sizes, offset_dims, collapsed, start_index_map, operand_batch, indices_batch, mode, fill, unique
):
    if 0 in (*indices.shape[:-1], *(k for a, k in enumerate(sizes) if a not in operand_batch)):
        shape = (
            iter(indices.shape[:-1]),
            (k for a, k in enumerate(sizes) if a not in collapsed and a not in operand_batch),
        )
        return jnp.zeros([next(shape[d in offset_dims]) for d in range(indices.ndim - 1 + len(offset_dims))], x.dtype)
    dims = lax.GatherDimensionNumbers(offset_dims, collapsed, start_index_map, operand_batch, indices_batch)
    fill = fill if mode == "fill" else None
    return lax.gather(x, wide(indices, x.shape), dims, sizes, unique_indices=unique, mode=MODES[mode], fill_value=fill)


def scatters(function):
    def run(
        x, indices, updates, *, offset_dims, collapsed, start_index_map, operand_batch, indices_batch, mode, unique
    ):
        if 0 in (x.size, updates.size):
            return x
        shape = x.shape
        if x.ndim == 0:  # XLA cannot scatter into a scalar
            collapsed, start_index_map = (0,), (0,)
            x, indices = x.reshape(1), jnp.zeros((*indices.shape[:-1], 1), jnp.int32)
        dims = lax.ScatterDimensionNumbers(offset_dims, collapsed, start_index_map, operand_batch, indices_batch)
        indices = wide(indices, x.shape)
        return function(x, indices, updates, dims, unique_indices=unique, mode=MODES[mode]).reshape(shape)

    return run


def overwrite(x, indices, updates, dims, *, unique_indices, mode):
    """The CPU writes in order; elsewhere repeated windows are ordered first."""
    def in_order(x, indices, updates):
        return lax.scatter(x, indices, updates, dims, unique_indices=unique_indices, mode=mode)

    def last_wins(x, indices, updates):
        return ordered(x, indices, updates, dims, mode)

    once = unique_indices or math.prod(indices.shape[:-1]) <= 1
    return (
        in_order(x, indices, updates)
        if once
        else per_platform(x, indices, updates, cpu=in_order, default=last_wins)
    )


def ordered(x, indices, updates, dims, mode):
    """Scatter of which the last update wins: the greatest number of an update to reach an element names its winner.

    One winner and nothing else is then added to nothing (-0.0, for 0.0 + -0.0 is 0.0), which any order of addition
    survives.
    """
    if x.dtype == bool:
        return ordered(x.astype(jnp.uint8), indices, updates.astype(jnp.uint8), dims, mode).astype(bool)
    batch = [d for d in range(updates.ndim) if d not in dims.update_window_dims]
    count = math.prod(indices.shape[:-1])
    turn = lax.broadcast_in_dim(jnp.arange(count, dtype=jnp.int32).reshape(indices.shape[:-1]), updates.shape, batch)
    winner = lax.scatter_max(jnp.full(x.shape, -1, jnp.int32), indices, turn, dims, mode=mode)
    window = iter(dims.update_window_dims)
    gone = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    sizes = [1 if a in gone else updates.shape[next(window)] for a in range(x.ndim)]
    back = lax.GatherDimensionNumbers(*dims)
    wins = lax.gather(winner, indices, back, sizes, mode=mode, fill_value=-1) == turn
    nothing = jnp.asarray(-0.0 if x.dtype.kind == "f" else complex(-0.0, -0.0) if x.dtype.kind == "c" else 0, x.dtype)
    summed = lax.scatter_add(jnp.full(x.shape, nothing), indices, jnp.where(wins, updates, nothing), dims, mode=mode)
    return jnp.where(winner < 0, x, summed)


# fmt: off
XLA.add({
    gather:       gather_,
    scatter:      scatters(overwrite),
    scatter_add:  scatters(lax.scatter_add),
    scatter_mul:  scatters(lax.scatter_mul),
    scatter_min:  scatters(lax.scatter_min),
    scatter_max:  scatters(lax.scatter_max),
})
