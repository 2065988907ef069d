"""Derivatives and batching of reductions over sliding windows."""

import numpy as np

from ..ir.core import Lit
from ..ir.ops.elementwise import lt, select
from ..ir.ops.indexing import put_arrays, take_along
from ..ir.ops.shape import broadcast, iota, pad, reshape
from ..ir.ops.window import (
    reduce_window_argmax,
    reduce_window_argmin,
    reduce_window_max,
    reduce_window_min,
    reduce_window_sum,
)
from .batch import BATCH
from .forms import explicit, linear, zero


def unsum(g, x, *, window, strides, low, high):
    """Each element gets the sum of the cotangents of the windows that cover it: windows over g, spread out by the
    strides."""
    if not x.type.size:
        return Lit(0, x.type)
    before = tuple(k - 1 - l for k, l in zip(window, low))
    after = tuple(
        n + k - 1 - b - ((m - 1) * s + 1) for n, k, b, m, s in zip(x.type.shape, window, before, g.type.shape, strides)
    )
    wide = pad(g, Lit(0, g.type.like(())), low=before, high=after, interior=tuple(s - 1 for s in strides))
    ones, zeros = (1,) * g.type.ndim, (0,) * g.type.ndim
    return reduce_window_sum(wide, window=window, strides=ones, low=zeros, high=zeros)


def flat(x):
    return reshape(x, shape=(x.type.size,))


def follows(chosen):
    """The derivative of an extreme: that of the one element that `chosen` finds, the first of equal ones."""
    def jvp(z, operands, tangents, **attrs):
        return (take_along(flat(tangents[0]), chosen(operands[0], **attrs), 0, mode="fill"),)

    def vjp(z, operands, cotangents, needs, **attrs):
        (x,) = operands
        sums = put_arrays(flat(Lit(0, x.type)), [(0, chosen(x, **attrs))], cotangents[0], "add")
        return (reshape(sums, shape=x.type.shape),)

    return {"jvp": jvp, "vjp": vjp}


linear(reduce_window_sum, unsum)
explicit(reduce_window_max, **follows(reduce_window_argmax))
explicit(reduce_window_min, **follows(reduce_window_argmin))
zero(reduce_window_argmax, reduce_window_argmin)


def deeper(window, strides, low, high):
    return {"window": (1, *window), "strides": (1, *strides), "low": (0, *low), "high": (0, *high)}


def batch_index(op):
    """Indices count from the start of each example."""
    def rule(size, batched, x, **attrs):
        out = op(x, **deeper(**attrs))
        example = x.type.size // max(size, 1)
        start = broadcast(iota(shape=(size,), axis=0, dtype=np.dtype("i8")) * example, shape=out.type.shape, dims=(0,))
        return select(lt(out, 0), out, out - start)

    return rule


for op in (reduce_window_sum, reduce_window_max, reduce_window_min):
    BATCH[op] = lambda n, b, x, op=op, **attrs: op(x, **deeper(**attrs))
for op in (reduce_window_argmax, reduce_window_argmin):
    BATCH[op] = batch_index(op)
