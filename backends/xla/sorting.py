"""XLA lowering of sorting."""

from jax import lax
from jax import numpy as jnp

from ...ir.ops.sorting import sort, top_k
from .table import XLA


def greatest(x, *, k, dtype):
    """XLA's top_k has -0.0 below 0.0 and asks NaN for its sign; NumPy's order does neither."""
    key = jnp.where(x == 0, jnp.zeros_like(x), jnp.where(x != x, jnp.full_like(x, jnp.nan), x)) if x.dtype.kind == "f" else x
    order = lax.top_k(key, k)[1]
    return jnp.take_along_axis(x, order, -1, mode="promise_in_bounds"), order.astype(dtype)


XLA.add({
    sort: lambda *xs, axis, num_keys, stable: lax.sort(xs, axis, is_stable=True, num_keys=num_keys),  # the order is the same everywhere
    top_k: greatest,
})  # fmt: skip
