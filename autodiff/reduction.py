"""Derivatives and batching of reductions and their cumulative forms."""

from ..ir.core import Lit
from ..ir.ops.elementwise import cast, eq, maximum, minimum, mul, select
from ..ir.ops.reduction import (
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
from ..ir.ops.shape import broadcast, concatenate, pad, reshape, reverse, slice_, transpose
from ..ir.ops.transcendental import logaddexp
from .batch import BATCH
from .forms import explicit, linear, zero
from .program import through


def spread_back(g, x, axes):
    """g, which lacks `axes`, repeated along them to the shape of x."""
    return broadcast(g, shape=x.type.shape, dims=tuple(a for a in range(x.type.ndim) if a not in axes))


def part(x, axis, start, stop, step=1):
    """x[start:stop:step] along one axis."""
    at = lambda value, others: tuple(value if a == axis else others[a] for a in range(x.type.ndim))
    return slice_(x, start=at(start, (0,) * x.type.ndim), stop=at(stop, x.type.shape), stride=at(step, (1,) * x.type.ndim))


def product_tree(x, *, axes):
    """Product by halves: no division, so exact where factors are zero."""
    kept = tuple(a for a in range(x.type.ndim) if a not in axes)
    shape = tuple(x.type.shape[a] for a in kept)
    n, last = x.type.size // max(x.type.like(shape).size, 1), len(shape)
    if not n or not x.type.size:
        return Lit(1, x.type.like(shape))
    x = reshape(transpose(x, perm=(*kept, *axes)), shape=(*shape, n))
    while n > 1:
        half = (n + 1) // 2
        zeros = (0,) * (last + 1)
        rest = pad(part(x, last, half, n), Lit(1, x.type.like(())), low=zeros, high=(*zeros[1:], 2 * half - n), interior=zeros)
        x, n = mul(part(x, last, 0, half), rest), half
    return reshape(x, shape=shape)


def scan(combine, x, axis):
    """Every prefix combined, in O(n) work and O(log n) depth.  [Blelloch 1990, Prefix Sums and Their Applications]"""
    n = x.type.shape[axis]
    if n < 2:
        return x
    odd = scan(combine, combine(part(x, axis, 0, n - 1, 2), part(x, axis, 1, n, 2)), axis)
    even = part(x, axis, 0, 1)
    if n > 2:
        even = concatenate(even, combine(part(odd, axis, 0, (n - 1) // 2), part(x, axis, 2, n, 2)), axis=axis)
    # interleave: side by side on a new axis, which then merges with its neighbour
    half = (n + 1) // 2
    if n % 2:
        odd = concatenate(odd, part(odd, axis, 0, 1), axis=axis)
    shape = x.type.shape[:axis], x.type.shape[axis + 1 :]
    column = tuple(reshape(y, shape=(*shape[0], half, 1, *shape[1])) for y in (even, odd))
    return part(reshape(concatenate(*column, axis=axis + 1), shape=(*shape[0], 2 * half, *shape[1])), axis, 0, n)


def prefixes(combine):
    def program(x, *, axis, reverse):
        return flip(scan(combine, flip(x, axis), axis), axis) if reverse else scan(combine, x, axis)

    return program


def flip(x, axis):
    return reverse(x, axes=(axis,))


def chosen_jvp(z, operands, tangents, *, axes):
    """The mean tangent of the elements equal to the result."""
    hit, count = ties(z[0], operands[0], axes)
    return (reduce_sum(select(hit, tangents[0], 0.0), axes=axes) / count,)


def chosen_vjp(z, operands, cotangents, needs, *, axes):
    """The cotangent in even parts to the elements equal to the result (JAX's convention)."""
    hit, count = ties(z[0], operands[0], axes)
    return (select(hit, spread_back(cotangents[0] / count, operands[0], axes), 0.0),)


def ties(z, x, axes):
    """Which elements equal the result, and how many."""
    hit = eq(x, spread_back(z, x, axes))
    return hit, reduce_sum(cast(hit, dtype=x.type.dtype), axes=axes)


# fmt: off
#         op             derivative
linear(   reduce_sum,    lambda g, x, *, axes: spread_back(g, x, axes))
through(  reduce_prod,   product_tree)
explicit( reduce_max,    jvp=chosen_jvp, vjp=chosen_vjp)
explicit( reduce_min,    jvp=chosen_jvp, vjp=chosen_vjp)
linear(   cumsum,        lambda g, x, *, axis, reverse: cumsum(g, axis=axis, reverse=not reverse))
through(  cumprod,       prefixes(mul))
through(  cummax,        prefixes(maximum))
through(  cummin,        prefixes(minimum))
through(  cumlogsumexp,  prefixes(logaddexp))
zero(     reduce_and, reduce_or, reduce_xor, argmax, argmin)

# op -> the op with one more axis in front
for op in (reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor):
    BATCH[op] = lambda n, b, x, *, axes, op=op: op(x, axes=tuple(a + 1 for a in axes))
for op in (argmax, argmin, cumsum, cumprod, cummax, cummin, cumlogsumexp):
    BATCH[op] = lambda n, b, x, *, axis, op=op, **attrs: op(x, axis=axis + 1, **attrs)
