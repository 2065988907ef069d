"""XLA lowering of the ops that compute nothing."""

from jax import lax

from ...ir.ops.flow import barrier, stop_gradient
from .table import XLA

XLA.add({
    stop_gradient: lambda x: x,
    barrier:       lambda *operands: lax.optimization_barrier(operands),
})  # fmt: skip
