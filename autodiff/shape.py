"""Derivatives and batching of the shape ops."""

import numpy as np

from ..ir.core import Lit
from ..ir.ops.elementwise import cast, select
from ..ir.ops.indexing import scatter
from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import (
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
from ..ir.types import Tensor
from .batch import BATCH, every, spread
from .forms import explicit, linear, zero
from .indexing import batch_gather, batch_scatter, behind


def inverse(perm):
    return tuple(perm.index(i) for i in range(len(perm)))


def scalar_zero(x):
    """The scalar 0 of the dtype of x."""
    return Lit(0, x.type.like(()))


def unbroadcast(g, x, *, shape, dims):
    """Sum over what was repeated, and give back the axes of size one."""
    repeated = tuple(d for d in range(len(shape)) if d not in dims or x.type.shape[dims.index(d)] != shape[d])
    return reshape(reduce_sum(g, axes=repeated), shape=x.type.shape)


# -- concatenate -----------------------------------------------------------------------------------


def concatenate_jvp(z, operands, tangents, *, axis):
    return (concatenate(*(Lit(0, x.type) if t is None else t for x, t in zip(operands, tangents)), axis=axis),)


def concatenate_vjp(z, operands, cotangents, needs, *, axis):
    (g,), at, out = cotangents, 0, []
    for x, need in zip(operands, needs):
        n = x.type.shape[axis]
        start = tuple(at if a == axis else 0 for a in range(g.type.ndim))
        stop = tuple(at + n if a == axis else m for a, m in enumerate(g.type.shape))
        out.append(slice_(g, start=start, stop=stop, stride=(1,) * g.type.ndim) if need else None)
        at += n
    return tuple(out)


# -- pad and slice, each the other's transpose -----------------------------------------------------


def spread_size(n, interior):
    return n + max(n - 1, 0) * interior


def unpad(g, x, value, *, low, high, interior):
    """The elements of g at the places of those of x."""
    sizes = tuple(map(spread_size, x.type.shape, interior))
    stride = tuple(i + 1 for i in interior)
    if min((*low, *high), default=0) >= 0:
        return slice_(g, start=low, stop=tuple(l + n for l, n in zip(low, sizes)), stride=stride)
    g = pad(g, scalar_zero(g), low=tuple(-l for l in low), high=tuple(-h for h in high), interior=(0,) * g.type.ndim)
    return slice_(g, start=(0,) * g.type.ndim, stop=sizes, stride=stride) if any(interior) else g


def padding(g, x, value, **attrs):
    """The sum of g where nothing of x lies."""
    return reduce_sum(select(around(x, **attrs), g, 0.0), axes=tuple(range(g.type.ndim)))


def around(x, **attrs):
    """True at the padding of x, False at its elements."""
    flag = Tensor((), bool)
    return pad(Lit(False, x.type.like(dtype=bool)), Lit(True, flag), **attrs)


def unslice(g, x, *, start, stop, stride):
    interior = tuple(s - 1 for s in stride)
    high = tuple(n - a - spread_size(m, i) for n, a, m, i in zip(x.type.shape, start, g.type.shape, interior))
    return pad(g, scalar_zero(g), low=start, high=high, interior=interior)


# -- parts at traced starts ------------------------------------------------------------------------


def dynamic_update_slice_jvp(z, operands, tangents):
    x, u, *starts = operands
    tx, tu = (Lit(0, y.type) if t is None else t for y, t in zip((x, u), tangents))
    return (dynamic_update_slice(tx, tu, *starts),)


def dynamic_update_slice_vjp(z, operands, cotangents, needs):
    (_, u, *starts), (g,) = operands, cotangents
    to_x = dynamic_update_slice(g, Lit(0, u.type), *starts) if needs[0] else None
    to_u = dynamic_slice(g, *starts, sizes=u.type.shape) if needs[1] else None
    return to_x, to_u, *(None for _ in starts)


# fmt: off
#         op             transposes
linear(   reshape,       lambda g, x, *, shape: reshape(g, shape=x.type.shape))
linear(   transpose,     lambda g, x, *, perm: transpose(g, perm=inverse(perm)))
linear(   broadcast,     unbroadcast)
linear(   reverse,       lambda g, x, *, axes: reverse(g, axes=axes))
linear(   pad,           unpad, padding)
linear(   slice_,        unslice)
linear(   dynamic_slice, lambda g, x, *starts, sizes: dynamic_update_slice(Lit(0, x.type), g, *starts), None)
explicit( concatenate,   jvp=concatenate_jvp, vjp=concatenate_vjp)
explicit( dynamic_update_slice, jvp=dynamic_update_slice_jvp, vjp=dynamic_update_slice_vjp)
zero(     constant, iota)
# fmt: on


# -- batching: one more axis in front --------------------------------------------------------------


def batch_pad(size, batched, x, value, *, low, high, interior):
    more = {"low": (0, *low), "high": (0, *high), "interior": (0, *interior)}
    (x,) = every(size, batched[:1], (x,))
    if not batched[1]:
        return pad(x, value, **more)
    filled = pad(x, scalar_zero(x), **more)
    return select(around(x, **more), broadcast(value, shape=filled.type.shape, dims=(0,)), filled)


def vectors(size, batched, starts):
    """Starts, each a scalar or a column of them, as index vectors."""
    columns = [reshape(cast(i, dtype=np.dtype("i8")), shape=(size, 1)) for i in every(size, batched, starts)]
    return concatenate(*columns, axis=1)


def box(x_ndim):
    """The layout of one window with as many axes as x, for gather and scatter."""
    axes = tuple(range(x_ndim))
    return {
        "offset_dims": axes,
        "collapsed": (),
        "start_index_map": axes,
        "operand_batch": (),
        "indices_batch": (),
        "mode": "clip",
    }


def batch_dynamic_slice(size, batched, x, *starts, sizes):
    if any(batched[1:]):
        return batch_gather(
            size,
            (batched[0], True),
            x,
            vectors(size, batched[1:], starts),
            sizes=sizes,
            fill=0,
            unique=True,
            **box(len(starts)),
        )
    return dynamic_slice(x, zero_start(starts), *starts, sizes=(size, *sizes))


def batch_dynamic_update_slice(size, batched, x, u, *starts):
    if any(batched[2:]):
        return batch_scatter(
            scatter,
            size,
            (batched[0], True, batched[1]),
            x,
            vectors(size, batched[2:], starts),
            u,
            unique=True,
            **box(len(starts)),
        )
    return dynamic_update_slice(*every(size, batched[:2], (x, u)), zero_start(starts), *starts)


def zero_start(starts):
    """A start 0 along the new axis."""
    return Lit(0, starts[0].type if starts else Tensor((), np.dtype("i8")))


# fmt: off
BATCH.add({
    constant:              lambda n, b, *, value: spread(constant(value=value), n),
    iota:                  lambda n, b, *, shape, axis, dtype: iota(shape=(n, *shape), axis=axis + 1, dtype=dtype),
    reshape:               lambda n, b, x, *, shape: reshape(x, shape=(n, *shape)),
    transpose:             lambda n, b, x, *, perm: transpose(x, perm=(0, *behind(perm))),
    broadcast:             lambda n, b, x, *, shape, dims: broadcast(x, shape=(n, *shape), dims=(0, *behind(dims))),
    reverse:               lambda n, b, x, *, axes: reverse(x, axes=behind(axes)),
    concatenate:           lambda n, b, *xs, axis: concatenate(*every(n, b, xs), axis=axis + 1),
    pad:                   batch_pad,
    slice_:                lambda n, b, x, *, start, stop,
    stride: slice_(x, start=(0, *start), stop=(n, *stop), stride=(1, *stride)),
    dynamic_slice:         batch_dynamic_slice,
    dynamic_update_slice:  batch_dynamic_update_slice,
})
