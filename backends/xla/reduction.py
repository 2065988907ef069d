"""XLA lowering of reductions."""

from jax import lax

from ...ir.ops.reduction import reduce_sum
from .table import XLA

# fmt: off
XLA.add({
    reduce_sum:  lambda x, *, axes: lax.reduce_sum(x, axes),
})
