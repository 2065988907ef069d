"""XLA lowering of the shape ops."""

from jax import lax
from jax import numpy as jnp

from ...ir.ops.shape import broadcast, constant, iota, reshape, transpose
from .table import XLA

# fmt: off
XLA.add({
    constant:   lambda *, value: jnp.asarray(value.array),
    reshape:    lambda x, *, shape: lax.reshape(x, shape),
    transpose:  lambda x, *, perm: lax.transpose(x, perm),
    broadcast:  lambda x, *, shape, dims: lax.broadcast_in_dim(x, shape, dims),
    iota:       lambda *, shape, axis, dtype: lax.broadcasted_iota(dtype, shape, axis),
})
