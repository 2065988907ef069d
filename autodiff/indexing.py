"""Derivatives and batching of gather and scatter.

A gather is the transpose of a scatter_add of the same layout, and the other way round.
"""

import functools

import numpy as np

from ..ir.core import Lit
from ..ir.ops.elementwise import cast, eq, mul, ne, select
from ..ir.ops.indexing import (
    SCATTERS,
    gather,
    scatter,
    scatter_add,
    scatter_max,
    scatter_min,
    scatter_mul,
    window_sizes,
)
from ..ir.ops.shape import broadcast, iota, pad, reshape
from ..ir.ops.sorting import sort_with_order
from .batch import BATCH, every
from .forms import explicit, linear
from .program import register_program

INDEX = np.dtype(np.int64)
WRITES = {"clip": "clip", "fill": "drop", "promise": "promise"}
READS = {write: read for read, write in WRITES.items()}


def scatter_cotangents(g, x, indices, *, sizes, mode, fill, unique, **dims):
    """Cotangents of the windows, added up where the windows were read."""
    return scatter_add(Lit(0, x.type), indices, g, mode=WRITES[mode], unique=unique, **dims)


def gather_windows(x, indices, updates, *, mode, unique=False, fill=0, **dims):
    """x where each update would go."""
    sizes = window_sizes(x.type.ndim, updates.type.shape, dims["offset_dims"], dims["collapsed"], dims["operand_batch"])
    return gather(x, indices, sizes=sizes, mode=READS[mode], fill=fill, unique=unique, **dims)


def gather_jvp(z, operands, tangents, *, fill, **attrs):
    return (gather(tangents[0], operands[1], fill=0, **attrs) if tangents[0] is not None else None,)


def gather_vjp(z, operands, cotangents, needs, **attrs):
    return scatter_cotangents(cotangents[0], *operands, **attrs), None


# -- overwriting -----------------------------------------------------------------------------------


def turns(indices, updates, offset_dims):
    """The number of the index vector behind each update."""
    batch = indices.type.shape[:-1]
    count = indices.type.like(batch, INDEX).size
    lie = tuple(d for d in range(updates.type.ndim) if d not in offset_dims)
    return broadcast(
        reshape(iota(shape=(count,), axis=0, dtype=INDEX), shape=batch), shape=updates.type.shape, dims=lie
    )


def is_last_update(x, indices, updates, *, mode, unique, **dims):
    """Whether each update is the last of its element."""
    turn = turns(indices, updates, dims["offset_dims"])
    last = scatter_max(Lit(-1, x.type.like(dtype=INDEX)), indices, turn, mode=mode, unique=False, **dims)
    return eq(gather_windows(last, indices, updates, mode=mode, fill=-1, **dims), turn)


def scatter_jvp(z, operands, tangents, **attrs):
    tx, tu = (Lit(0, x.type) if t is None else t for x, t in zip(operands[::2], tangents[::2]))
    return (scatter(tx, operands[1], tu, **attrs),)


def scatter_vjp(z, operands, cotangents, needs, **attrs):
    (x, indices, updates), g = operands, cotangents[0]
    to_x = scatter(g, indices, Lit(0, updates.type), **attrs) if needs[0] else None
    to_u = gather_windows(g, indices, updates, **attrs) if needs[2] else None
    if needs[2] and not attrs["unique"]:
        to_u = select(is_last_update(x, indices, updates, **attrs), to_u, 0.0)
    return to_x, None, to_u


# -- products and extremes -------------------------------------------------------------------------


def product_program(x, indices, updates, **attrs):
    """x times one factor an element; where updates share an element, their product by doubling along sorted runs, which
    divides by nothing."""
    one = x.type.like(())
    if attrs["unique"]:
        return mul(x, scatter(Lit(1, x.type), indices, updates, **attrs))
    total, count = x.type.size, updates.type.size
    if not total or not count:
        return x
    attrs.pop("unique")
    element = gather_windows(
        reshape(iota(shape=(total,), axis=0, dtype=INDEX), shape=x.type.shape), indices, updates, fill=total, **attrs
    )
    (keys,), order = sort_with_order(reshape(element, shape=(count,)), axis=0)
    column = {"offset_dims": (), "collapsed": (0,), "start_index_map": (0,), "operand_batch": (), "indices_batch": ()}
    run = gather(
        reshape(updates, shape=(count,)),
        reshape(order, shape=(count, 1)),
        sizes=(1,),
        mode="promise",
        unique=True,
        **column,
    )
    step = 1
    while step < count:
        shift = {"low": (step,), "high": (-step,), "interior": (0,)}
        same = eq(keys, pad(keys, Lit(-1, keys.type.like(())), **shift))
        run, step = mul(run, select(same, pad(run, Lit(1, one), **shift), 1.0)), 2 * step
    # the last of each run holds its product; the others go beyond the end, each to a place of its own
    ends = ne(keys, pad(keys, Lit(-1, keys.type.like(())), low=(-1,), high=(1,), interior=(0,)))
    place = select(ends, keys, iota(shape=(count,), axis=0, dtype=INDEX) + (total + 1))
    factor = scatter(
        Lit(1, x.type.like((total,))), reshape(place, shape=(count, 1)), run, mode="drop", unique=True, **column
    )
    return mul(x, reshape(factor, shape=x.type.shape))


def extreme_shares(z, operands, attrs):
    """Which elements of x and of the updates equal the result, and how many share each."""
    x, indices, updates = operands
    attrs = {**attrs, "unique": False}
    from_x, from_u = eq(x, z), eq(updates, gather_windows(z, indices, updates, **attrs))
    count = scatter_add(cast(from_x, dtype=x.type.dtype), indices, cast(from_u, dtype=x.type.dtype), **attrs)
    return from_x, from_u, count


def extreme_jvp(z, operands, tangents, **attrs):
    """The mean tangent of what equals the result."""
    from_x, from_u, count = extreme_shares(z[0], operands, attrs)
    tx, tu = (Lit(0, x.type) if t is None else t for x, t in zip(operands[::2], tangents[::2]))
    return (scatter_add(select(from_x, tx, 0.0), operands[1], select(from_u, tu, 0.0), **attrs) / count,)


def extreme_vjp(z, operands, cotangents, needs, **attrs):
    """The cotangent in even parts to what equals the result (JAX's convention for maxima)."""
    from_x, from_u, count = extreme_shares(z[0], operands, attrs)
    share = cotangents[0] / count
    return select(from_x, share, 0.0), None, select(from_u, gather_windows(share, *operands[1:], **attrs), 0.0)


# fmt: off
#         op            derivative
explicit( gather,       jvp=gather_jvp, vjp=gather_vjp)
explicit( scatter,      jvp=scatter_jvp, vjp=scatter_vjp)
linear(   scatter_add,  lambda g, x, i, u, **attrs: g,    None,    lambda g, x, i, u,
    **attrs: gather_windows(g, i, u, **attrs))
register_program(  scatter_mul,  product_program)
explicit( scatter_min,  jvp=extreme_jvp, vjp=extreme_vjp)
explicit( scatter_max,  jvp=extreme_jvp, vjp=extreme_vjp)
# fmt: on


# -- batching: axes of x that indices share become batch axes, axes that only x has become axes of the window --


def behind(axes):
    """The same axes once there is one more in front."""
    return tuple(a + 1 for a in axes)


def batched_layout(in_x, in_indices, *, offset_dims, collapsed, start_index_map, operand_batch, indices_batch):
    """The layout when x, the indices or both have one more axis in front, as then has w."""
    shared = (0,) if in_x and in_indices else ()
    up = behind if in_x else tuple
    return {
        "offset_dims": behind(offset_dims) if in_indices else (0, *behind(offset_dims)),
        "collapsed": up(collapsed),
        "start_index_map": up(start_index_map),
        "operand_batch": (*shared, *up(operand_batch)),
        "indices_batch": (*shared, *(behind(indices_batch) if in_indices else indices_batch)),
    }


@BATCH.rule(gather)
def batch_gather(size, batched, x, indices, *, sizes, mode, fill, unique, **dims):
    in_x, in_indices = batched
    if in_x:
        sizes = (1 if in_indices else size, *sizes)
    return gather(
        x,
        indices,
        sizes=sizes,
        mode=mode,
        fill=fill,
        unique=unique and in_x,
        **batched_layout(in_x, in_indices, **dims),
    )


def batch_scatter(op, size, batched, x, indices, updates, *, mode, unique, **dims):
    x, updates = every(size, batched[::2], (x, updates))
    return op(x, indices, updates, mode=mode, unique=unique, **batched_layout(True, batched[1], **dims))


for op in SCATTERS.values():
    BATCH[op] = functools.partial(batch_scatter, op)
