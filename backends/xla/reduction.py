"""XLA lowering of reductions and their cumulative forms."""

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.reduction import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from ...ir.ops.window import highest_of, lowest_of
from .table import XLA

LONG = 32  # an axis shorter than this is not worth a form of its own on the CPU
ROW = 8  # elements beside each other from which a scan's step fills the vector units by itself


def in_single(reduce):
    """float16 is added up in float32, as NumPy does."""
    def run(x, *, axes):
        return reduce(x.astype(np.float32), axes).astype(x.dtype) if x.dtype == np.float16 else reduce(x, axes)

    return run


def place(search, extreme):
    """XLA's argmax is slow on the CPU: over long axes it is quicker to find the extreme, then its first place (benchmarks/reductions.py)."""
    def run(x, *, axis, dtype):
        if x.dtype == bool:
            other = lambda x: run(x.astype(np.uint8), axis=axis, dtype=dtype)
            return lax.platform_dependent(x, cpu=lambda x: first(x, axis, dtype, search is lax.argmax), default=other)
        direct = lambda x: search(x, axis, dtype)
        if x.dtype.kind != "f" or not LONG <= x.shape[axis] < 2**31:
            return direct(x)

        def two_passes(x):
            hit = (x == lax.expand_dims(extreme(x, (axis,)), (axis,))) | (x != x)
            index = lax.broadcasted_iota(np.int32, x.shape, axis)
            return lax.reduce_min(jnp.where(hit, index, np.int32(x.shape[axis])), (axis,)).astype(dtype)

        return lax.platform_dependent(x, cpu=two_passes, default=direct)

    return run


def first(x, axis, dtype, wanted):
    """The index of the first bool along an axis that is as wanted, 0 if none is: one pass, into which XLA fuses what computes them.

    Of the least index alone XLA would make a tree, with the bools in memory.
    """
    def earlier(a, b):
        return lax.min(a[0], b[0]), lax.bitwise_or(a[1], b[1])

    found, narrow = x if wanted else lax.bitwise_not(x), np.int32 if x.shape[axis] < 2**31 else np.int64
    end = narrow(np.iinfo(narrow).max)
    index = lax.select(found, lax.broadcasted_iota(narrow, x.shape, axis), lax.full(x.shape, end))
    place, some = lax.reduce((index, found), (end, np.False_), earlier, (axis,))
    return lax.select(some, place, lax.full_like(place, 0)).astype(dtype)


def running(combine, tree, start):
    """XLA's prefix sums are trees; on the CPU the plain loop is quicker and rounds as NumPy does (benchmarks/reductions.py)."""
    def run(x, *, axis, reverse):
        if x.dtype == bool:
            return run(x.astype(np.uint8), axis=axis, reverse=reverse).astype(bool)
        whole = lambda x: tree(x, axis, reverse)
        if x.shape[axis] < LONG or not x.size:
            return whole(x)

        def loop(x):
            rows = jnp.moveaxis(x, axis, 0)

            def step(sofar, row):
                sofar = combine(sofar, row)
                return sofar, sofar

            first = jnp.full(rows.shape[1:], start(x.dtype), x.dtype)
            return jnp.moveaxis(lax.scan(step, first, rows, reverse=reverse, unroll=1 if first.size >= ROW else 8)[1], 0, axis)

        return lax.platform_dependent(x, cpu=loop, default=whole)

    return run


# fmt: off
XLA.add({
    reduce_sum:    in_single(lax.reduce_sum),
    reduce_prod:   in_single(lax.reduce_prod),
    reduce_max:    lambda x, *, axes: lax.reduce_max(x, axes),
    reduce_min:    lambda x, *, axes: lax.reduce_min(x, axes),
    reduce_and:    lambda x, *, axes: lax.reduce_and(x, axes),
    reduce_or:     lambda x, *, axes: lax.reduce_or(x, axes),
    reduce_xor:    lambda x, *, axes: lax.reduce_xor(x, axes),
    argmax:        place(lax.argmax, lax.reduce_max),
    argmin:        place(lax.argmin, lax.reduce_min),
    cumsum:        running(lax.add, lax.cumsum, lambda dtype: 0 if dtype.kind in "iu" else -0.0),  # 0.0 + -0.0 would lose the sign
    cumprod:       running(lax.mul, lax.cumprod, lambda dtype: 1),
    cummax:        running(lax.max, lax.cummax, lowest_of),
    cummin:        running(lax.min, lax.cummin, highest_of),
    cumlogsumexp:  running(jnp.logaddexp, lax.cumlogsumexp, lowest_of),
})
