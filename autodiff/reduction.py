"""Derivatives and batching of reductions."""

from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import broadcast
from .batch import BATCH
from .forms import linear


def spread_back(g, x, axes):
    """g, which lacks `axes`, repeated along them to the shape of x."""
    return broadcast(g, shape=x.type.shape, dims=tuple(a for a in range(x.type.ndim) if a not in axes))


linear(reduce_sum, lambda g, x, *, axes: spread_back(g, x, axes))

BATCH.add({reduce_sum: lambda n, b, x, *, axes: reduce_sum(x, axes=tuple(a + 1 for a in axes))})
