"""Derivatives and batching of the shape ops."""

from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import broadcast, constant, iota, reshape, transpose
from .batch import BATCH
from .forms import linear, zero


def inverse(perm):
    return tuple(perm.index(i) for i in range(len(perm)))


def unbroadcast(g, x, *, shape, dims):
    """Sum over what was repeated, and give back the axes of size one."""
    repeated = tuple(d for d in range(len(shape)) if d not in dims or x.type.shape[dims.index(d)] != shape[d])
    return reshape(reduce_sum(g, axes=repeated), shape=x.type.shape)


# fmt: off
#       op          transposes
linear( reshape,    lambda g, x, *, shape: reshape(g, shape=x.type.shape))
linear( transpose,  lambda g, x, *, perm: transpose(g, perm=inverse(perm)))
linear( broadcast,  unbroadcast)
zero(   constant, iota)

# op -> the op with one more axis in front
BATCH.add({
    reshape:    lambda n, b, x, *, shape: reshape(x, shape=(n, *shape)),
    transpose:  lambda n, b, x, *, perm: transpose(x, perm=(0, *(p + 1 for p in perm))),
    broadcast:  lambda n, b, x, *, shape, dims: broadcast(x, shape=(n, *shape), dims=(0, *(d + 1 for d in dims))),
})
