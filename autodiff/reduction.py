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
    recurrence,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from ..ir.ops.shape import broadcast, concatenate, pad, reshape, reverse, slice_, transpose
from ..ir.ops.transcendental import logistic
from .batch import BATCH, spread
from .forms import add_tangents, explicit, linear, zero
from .program import register_program


def spread_back(g, x, axes):
    """g, which lacks `axes`, repeated along them to the shape of x."""
    return broadcast(g, shape=x.type.shape, dims=tuple(a for a in range(x.type.ndim) if a not in axes))


def axis_slice(x, axis, start, stop, step=1):
    """x[start:stop:step] along one axis."""
    at = lambda value, others: tuple(value if a == axis else others[a] for a in range(x.type.ndim))
    return slice_(
        x, start=at(start, (0,) * x.type.ndim), stop=at(stop, x.type.shape), stride=at(step, (1,) * x.type.ndim)
    )


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
        rest = pad(
            axis_slice(x, last, half, n),
            Lit(1, x.type.like(())),
            low=zeros,
            high=(*zeros[1:], 2 * half - n),
            interior=zeros,
        )
        x, n = mul(axis_slice(x, last, 0, half), rest), half
    return reshape(x, shape=shape)


def scan(combine, x, axis):
    """Every prefix combined, in O(n) work and O(log n) depth.  [Blelloch 1990, Prefix Sums and Their Applications]"""
    n = x.type.shape[axis]
    if n < 2:
        return x
    odd = scan(combine, combine(axis_slice(x, axis, 0, n - 1, 2), axis_slice(x, axis, 1, n, 2)), axis)
    even = axis_slice(x, axis, 0, 1)
    if n > 2:
        even = concatenate(
            even, combine(axis_slice(odd, axis, 0, (n - 1) // 2), axis_slice(x, axis, 2, n, 2)), axis=axis
        )
    # interleave: side by side on a new axis, which then merges with its neighbour
    half = (n + 1) // 2
    if n % 2:
        odd = concatenate(odd, axis_slice(odd, axis, 0, 1), axis=axis)
    shape = x.type.shape[:axis], x.type.shape[axis + 1 :]
    column = tuple(reshape(y, shape=(*shape[0], half, 1, *shape[1])) for y in (even, odd))
    return axis_slice(reshape(concatenate(*column, axis=axis + 1), shape=(*shape[0], 2 * half, *shape[1])), axis, 0, n)


def by_scan(combine):
    """Ties of a running extreme share as in JAX, whose scan is this one."""

    def program(x, *, axis, reverse):
        return flip(scan(combine, flip(x, axis), axis), axis) if reverse else scan(combine, x, axis)

    return program


def flip(x, axis):
    return reverse(x, axes=(axis,))


def shifted_by_one(x, like, axis, by, fill):
    """x one place further along an axis, `fill` where it came from; x lacks the last (by 1) or first (by -1) element of
    what it is to be like."""
    missing = like.type.shape[axis] - x.type.shape[axis]
    at = lambda n: tuple(n if a == axis else 0 for a in range(x.type.ndim))
    return pad(x, Lit(fill, x.type.like(())), low=at(missing * (by > 0)), high=at(missing * (by < 0)), interior=at(0))


def neighbours(x, axis, reverse):
    """-> (x without the element that is met last, x without the one that is met first) along an axis."""
    n = x.type.shape[axis]
    low, high = axis_slice(x, axis, 0, max(n - 1, 0)), axis_slice(x, axis, min(n, 1), n)
    return (high, low) if reverse else (low, high)


def prefixes(op, by_sofar, by_x):
    """z_i = f(z_(i-1), x_i) with the partials `by_sofar(z_(i-1), x_i)` and `by_x`: tangents and cotangents are linear
    recurrences."""

    def partials(z, x, axis, reverse):
        sofar, here = neighbours(z, axis, reverse)[0], neighbours(x, axis, reverse)[1]
        by = -1 if reverse else 1
        return by_sofar(sofar, here), shifted_by_one(by_x(sofar, here), x, axis, by, 1), by

    def jvp(z, operands, tangents, *, axis, reverse):
        factor, own, by = partials(z[0], operands[0], axis, reverse)
        return (
            recurrence(shifted_by_one(factor, z[0], axis, by, 0), mul(own, tangents[0]), axis=axis, reverse=reverse),
        )

    def vjp(z, operands, cotangents, needs, *, axis, reverse):
        factor, own, by = partials(z[0], operands[0], axis, reverse)
        return (
            mul(
                own,
                recurrence(shifted_by_one(factor, z[0], axis, -by, 0), cotangents[0], axis=axis, reverse=not reverse),
            ),
        )

    explicit(op, jvp=jvp, vjp=vjp)


def recurrence_jvp(z, operands, tangents, *, axis, reverse):
    (a, _), (ta, tb), sofar = operands, tangents, previous_elements(z[0], axis, reverse)
    return (recurrence(a, add_tangents(None if ta is None else mul(ta, sofar), tb), axis=axis, reverse=reverse),)


def recurrence_vjp(z, operands, cotangents, needs, *, axis, reverse):
    """A recurrence from the other end."""
    later = shifted_by_one(neighbours(operands[0], axis, reverse)[1], z[0], axis, 1 if reverse else -1, 0)
    g = recurrence(later, cotangents[0], axis=axis, reverse=not reverse)
    return mul(g, previous_elements(z[0], axis, reverse)) if needs[0] else None, g


def previous_elements(z, axis, reverse):
    """z_(i-1), 0 before the first."""
    return shifted_by_one(neighbours(z, axis, reverse)[0], z, axis, -1 if reverse else 1, 0)


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
register_program(  reduce_prod,   product_tree)
explicit( reduce_max,    jvp=chosen_jvp, vjp=chosen_vjp)
explicit( reduce_min,    jvp=chosen_jvp, vjp=chosen_vjp)
linear(   cumsum,        lambda g, x, *, axis, reverse: cumsum(g, axis=axis, reverse=not reverse))
prefixes( cumprod,       lambda sofar, x: x,                       lambda sofar, x: sofar)
register_program(  cummax,        by_scan(maximum))
register_program(  cummin,        by_scan(minimum))
prefixes( cumlogsumexp,  lambda sofar, x: logistic(sofar - x),     lambda sofar, x: logistic(x - sofar))
explicit( recurrence,    jvp=recurrence_jvp, vjp=recurrence_vjp)
zero(     reduce_and, reduce_or, reduce_xor, argmax, argmin)

# op -> the op with one more axis in front
for op in (reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or, reduce_xor):
    BATCH[op] = lambda n, b, x, *, axes, op=op: op(x, axes=tuple(a + 1 for a in axes))
BATCH[recurrence] = lambda n, b, *xs, axis, reverse: recurrence(*[x if y else spread(x, n) for x, y in zip(xs, b)],
    axis=axis + 1, reverse=reverse)
for op in (argmax, argmin, cumsum, cumprod, cummax, cummin, cumlogsumexp):
    BATCH[op] = lambda n, b, x, *, axis, op=op, **attrs: op(x, axis=axis + 1, **attrs)
