"""XLA lowering of sorting."""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.sorting import sort, top_k
from .. import native
from ..target import per_platform
from . import radix_sort
from .by_nest import by_nest
from .lower import lower
from .table import XLA


def stable_sort(*xs, axis, num_keys, stable):
    """Ties stay as they came, whether that was asked for or not, so the order is the same everywhere."""
    by_comparing = lambda *xs: tuple(lax.sort(xs, axis, is_stable=True, num_keys=num_keys))
    if xs[0].dtype == bool and num_keys == 1 < len(xs) and xs[0].size:
        return per_platform(*xs, cpu=lambda *xs: by_bools(xs, axis, by_comparing), default=by_comparing)
    if num_keys > 1 or not jax.config.jax_enable_x64 or not radix_sort.fits(xs[0].shape, axis, xs[0].dtype):
        return by_comparing(*xs)
    rows = jnp.moveaxis(xs[0], axis, -1).shape
    program = radix_sort.program((xs[0].size // rows[-1], rows[-1]), xs[0].dtype)
    if not native.here(program):
        return by_comparing(*xs)

    def by_digits(*xs):
        with native.asked(native.LEAST):
            (order,) = lower(program, [jnp.moveaxis(xs[0], axis, -1).reshape(-1, rows[-1])])
        order = jnp.moveaxis(order.reshape(rows), -1, axis)
        return tuple(jnp.take_along_axis(x, order, axis, mode="promise_in_bounds") for x in xs)

    @jax.custom_jvp
    def run(*xs):
        return per_platform(*xs, cpu=by_digits, default=by_comparing)

    run.defjvp(lambda primals, tangents: jax.jvp(by_comparing, primals, tangents))  # digits have no derivative
    return run(*xs)


def by_bools(xs, axis, other):
    """Those of False, then those of True."""
    falses = jnp.sum(~xs[0], axis, keepdims=True, dtype=np.int64)
    key = lax.broadcasted_iota(np.int64, xs[0].shape, axis) >= falses
    attrs = {"axis": axis, "num_keys": 1, "stable": True}
    return key, *by_nest(sort, xs, attrs, lambda *xs: other(*xs)[1:], first=1)


def greatest(x, *, k, dtype):
    """XLA's top_k has -0.0 below 0.0 and asks NaN for its sign; NumPy's order does neither."""
    key = (
        jnp.where(x == 0, jnp.zeros_like(x), jnp.where(x != x, jnp.full_like(x, jnp.nan), x))
        if x.dtype.kind == "f"
        else x
    )
    order = lax.top_k(key, k)[1]
    return jnp.take_along_axis(x, order, -1, mode="promise_in_bounds"), order.astype(dtype)


XLA.add({
    sort: stable_sort,
    top_k: greatest,
})  # fmt: skip
