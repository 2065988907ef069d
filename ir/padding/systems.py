"""Matrices in room: an identity matrix stands beside them, which leaves their factors and solutions alone."""

from ..ops.control import COUNTER
from ..ops.dense import cholesky, lu, qr, solve, triangular_solve, tridiagonal_solve
from ..ops.elementwise import and_, cast, eq, select
from ..ops.shape import broadcast, iota
from .building import ROOM, refuse
from .tails import Roomy


def beside_identity(scope, eqn, x):
    """A square matrix, and the identity behind it; matrices in the tails of other axes are zeros."""
    r, c = len(x.axes) - 2, len(x.axes) - 1
    if x.axes[r] != x.axes[c]:
        refuse(eqn, f"a matrix of {x.axes[r]} by {x.axes[c]}")
    x = scope.fill(x, range(r), 0, eqn)
    if x.axes[c] is None:
        return x
    shape = x.value.type.shape
    inside = scope.sizes.within(x.axes[c], shape[c])
    both = and_(broadcast(inside, shape=shape, dims=(r,)), broadcast(inside, shape=shape, dims=(c,)))
    square = shape[r:]
    diagonal = eq(iota(shape=square, axis=0, dtype=COUNTER.dtype), iota(shape=square, axis=1, dtype=COUNTER.dtype))
    unit = broadcast(cast(diagonal, dtype=x.value.type.dtype), shape=shape, dims=(r, c))
    value = select(both, x.value, unit)
    scope.masks.note(eqn, value)
    return Roomy(value, x.axes)


def on_the_right(scope, eqn, b, axis):
    """Zeros where the rows of the identity are, and for systems that are not there."""
    return scope.fill(b, [a for a in range(len(b.axes)) if a < len(b.axes) - 2 or a == axis], 0, eqn)


@ROOM.rule(cholesky)
def rooted(scope, eqn, x):
    scope.plain(eqn, x)
    return scope.made(eqn, cholesky(beside_identity(scope, eqn, x).value))


@ROOM.rule(lu)
def factored(scope, eqn, x):
    scope.plain(eqn, x)
    return scope.made(eqn, lu(beside_identity(scope, eqn, x).value))


@ROOM.rule(solve)
def solved(scope, eqn, a, b):
    scope.plain(eqn, a)
    scope.plain(eqn, b)
    b = on_the_right(scope, eqn, b, len(b.axes) - 2)
    return scope.made(eqn, solve(beside_identity(scope, eqn, a).value, b.value, **eqn.attrs))


@ROOM.rule(triangular_solve)
def substituted(scope, eqn, a, b):
    scope.plain(eqn, a)
    scope.plain(eqn, b)
    b = on_the_right(scope, eqn, b, len(b.axes) - (2 if eqn.attrs["left"] else 1))
    return scope.made(eqn, triangular_solve(beside_identity(scope, eqn, a).value, b.value, **eqn.attrs))


@ROOM.rule(tridiagonal_solve)
def solved_along(scope, eqn, low, middle, high, b):
    """Ones on the diagonal and zeros beside it are the rows of the identity."""
    for x in (low, middle, high, b):
        scope.plain(eqn, x)
    axes = range(len(middle.axes))
    last = len(middle.axes) - 1
    if middle.axes[last] is not None:
        (n,) = middle.axes[last]
        shorter = [*high.axes[:-1], (n - 1,)]  # the last one is not read where there is no room
        high = Roomy(high.value, shorter)
    low, high = scope.fill(low, axes, 0, eqn), scope.fill(high, axes, 0, eqn)
    middle = scope.fill(middle, axes, 1, eqn)
    b = on_the_right(scope, eqn, b, len(b.axes) - 2)
    return scope.made(eqn, tridiagonal_solve(low.value, middle.value, high.value, b.value))


@ROOM.rule(qr)
def orthogonal(scope, eqn, x):
    """Rows of zeros below stay such in q."""
    scope.plain(eqn, x)
    r, c = len(x.axes) - 2, len(x.axes) - 1
    q, _ = (scope.dims(y) for y in eqn.results)
    if eqn.attrs["full"] or x.axes[c] is not None or q[-1] != x.value.type.shape[c]:
        refuse(eqn, "columns that hang on sizes")
    x = scope.fill(x, range(r + 1), 0, eqn)
    return scope.made(eqn, qr(x.value, **eqn.attrs))
