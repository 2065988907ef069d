"""XLA lowering of the shape ops."""

from jax import lax
from jax import numpy as jnp

from ...ir.ops.shape import (
    broadcast,
    concatenate,
    constant,
    dynamic_slice,
    dynamic_update_slice,
    iota,
    pad,
    reshape,
    reverse,
    slice_,
    transpose,
)
from .indexing import SHORT, wide
from .table import XLA


def as_starts(starts, shape):
    """Starts share one dtype in XLA."""
    starts = [wide(i, shape) for i in starts] if SHORT.get() else starts
    return [lax.convert_element_type(i, jnp.int64) for i in starts] if len({i.dtype for i in starts}) > 1 else starts


# fmt: off
XLA.add({
    constant:              lambda *, value: jnp.asarray(value.array),
    iota:                  lambda *, shape, axis, dtype: lax.broadcasted_iota(dtype, shape, axis),
    reshape:               lambda x, *, shape: lax.reshape(x, shape),
    transpose:             lambda x, *, perm: lax.transpose(x, perm),
    broadcast:             lambda x, *, shape, dims: lax.broadcast_in_dim(x, shape, dims),
    reverse:               lambda x, *, axes: lax.rev(x, axes),
    concatenate:           lambda *xs, axis: lax.concatenate(xs, axis),
    pad:                   lambda x, value, *, low, high, interior: lax.pad(x, value, tuple(zip(low, high, interior))),
    slice_:                lambda x, *, start, stop, stride: lax.slice(x, start, stop, stride),
    dynamic_slice:         lambda x, *starts,
    sizes: lax.dynamic_slice(x, as_starts(starts, x.shape), sizes, allow_negative_indices=False),
    dynamic_update_slice:  lambda x, u, *starts: lax.dynamic_update_slice(x, u, as_starts(starts, x.shape),
        allow_negative_indices=False),
})
