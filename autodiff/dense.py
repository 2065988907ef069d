"""Derivatives and batching of triangular systems and factorisations.

Sources: Giles, Collected matrix derivative results (2008); Murray, Differentiation of the Cholesky decomposition
(2016); Seeger et al., Auto-differentiating linear algebra (2017); Walter & Lehmann, Algorithmic differentiation of
linear algebra functions (2018). Those write the cotangent as the conjugate of ours: rules whose equations hold an
adjoint conjugate on entry and exit.
"""

from ..ir.core import Lit, splat, zeros_like
from ..ir.ops.dense import cholesky, lu, qr, solve, triangular_solve, tridiagonal_solve
from ..ir.ops.elementwise import eq, lt, select
from ..ir.ops.indexing import gather, scatter
from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import pad, reshape
from ..ir.types import IRTypeError
from .batch import BATCH, every
from .forms import add_tangents, explicit
from .linalg import (
    adjoint,
    along_columns,
    conjugate,
    half_lower,
    matmul,
    mirrored,
    permuted,
    row_and_column,
    tril,
    triu,
)
from .shape import inverse


def is_complex(x):
    return x.type.kind == "c"


# -- triangular systems ----------------------------------------------------------------------------


def _op(m, transpose, conj):
    m = mirrored(m) if transpose else m
    return conjugate(m) if conj else m


def _triangle(a, lower, unit):
    return (tril if lower else triu)(a, strict=unit)


def triangular_jvp(z, operands, tangents, *, left, lower, transpose, conj, unit):
    """dx = op(a)^-1 (db - op(da) x)."""
    (x,), (a, _), (ta, tb) = z, operands, tangents
    if ta is not None:
        m = _op(_triangle(ta, lower, unit), transpose, conj)
        tb = subtracted(tb, matmul(m, x) if left else matmul(x, m))
    return (triangular_solve(a, tb, left=left, lower=lower, transpose=transpose, conj=conj, unit=unit),)


def triangular_vjp(z, operands, cotangents, needs, *, left, lower, transpose, conj, unit):
    """cb = op(a)^-T g, and -cb x^T for op(a)."""
    (x,), (a, _), (g,) = z, operands, cotangents
    cb = triangular_solve(a, g, left=left, lower=lower, transpose=not transpose, conj=conj, unit=unit)
    if not needs[0]:
        return None, cb
    m = matmul(cb, mirrored(x)) if left else matmul(mirrored(x), cb)
    return -_triangle(_op(m, transpose, conj), lower, unit), cb


def solve_jvp(z, operands, tangents, *, transpose):
    """The same for a whole matrix."""
    (x,), (a, _), (ta, tb) = z, operands, tangents
    if ta is not None:
        tb = subtracted(tb, matmul(_op(ta, transpose, False), x))
    return (solve(a, tb, transpose=transpose),)


def solve_vjp(z, operands, cotangents, needs, *, transpose):
    (x,), (a, _), (g,) = z, operands, cotangents
    cb = solve(a, g, transpose=not transpose)
    return -_op(matmul(cb, mirrored(x)), transpose, False) if needs[0] else None, cb


def subtracted(t, moved):
    return -moved if t is None else t - moved


def tridiagonal_jvp(z, operands, tangents):
    """dx = a^-1 (db - da x), row by row."""
    (x,), (*diagonals, _), (*ts, tb) = z, operands, tangents
    for k, t in zip((-1, 0, 1), ts):
        if t is not None:
            tb = subtracted(tb, along_columns(t, x.type.shape) * shifted_rows(x, k))
    return (tridiagonal_solve(*diagonals, tb),)


def tridiagonal_vjp(z, operands, cotangents, needs):
    """cb = a^-T g, and for a the three diagonals of -cb x^T."""
    (x,), (dl, d, du, _), (g,) = z, operands, cotangents
    n = x.type.ndim
    cb = tridiagonal_solve(shifted_rows(du, -1, n - 2), d, shifted_rows(dl, 1, n - 2), g)
    return *(
        -reduce_sum(cb * shifted_rows(x, k), axes=(n - 1,)) if need else None for k, need in zip((-1, 0, 1), needs)
    ), cb


def shifted_rows(x, k, axis=None):
    """x[i + k] at i along the rows of matrices (or an axis), zero beyond the ends."""
    axis = x.type.ndim - 2 if axis is None else axis
    low, high = (tuple(s if a == axis else 0 for a in range(x.type.ndim)) for s in (-k, k))
    return pad(x, Lit(0, x.type.like(())), low=low, high=high, interior=(0,) * x.type.ndim) if k else x


def batch_system(op):
    """Where only b is batched, its new axis joins the right-hand sides: one matrix for all."""

    def rule(size, batched, *operands, left=True, **attrs):
        *system, b = operands
        attrs |= {"left": left} if "left" in op.attrs else {}
        if any(batched[:-1]):
            return op(*every(size, batched, operands), **attrs)
        last, shape = b.type.ndim - 1, b.type.shape
        into = last if left else last - 1  # the axis in front of which the new one goes
        order = (*range(1, into), 0, *range(into, last + 1))
        moved = permuted(b, order)
        wide = reshape(moved, shape=(*shape[1:into], size * shape[into], *shape[into + 1 :]))
        return permuted(reshape(op(*system, wide, **attrs), shape=moved.type.shape), inverse(order))

    return rule


explicit(triangular_solve, jvp=triangular_jvp, vjp=triangular_vjp)
explicit(solve, jvp=solve_jvp, vjp=solve_vjp)
explicit(tridiagonal_solve, jvp=tridiagonal_jvp, vjp=tridiagonal_vjp)


# -- Cholesky --------------------------------------------------------------------------------------


def cholesky_jvp(z, operands, tangents):
    """dl = l phi(l^-1 dx l^-H), phi keeping the lower triangle and half the diagonal; dx is Hermitian, read from its
    lower triangle.  [Murray]"""
    (l,), (t,) = z, tangents
    p = half_lower(t)
    inner = triangular_solve(l, triangular_solve(l, p + adjoint(p)), left=False, transpose=True, conj=is_complex(l))
    return (matmul(l, half_lower(inner)),)


def cholesky_vjp(z, operands, cotangents, needs):
    """phi(a + a^H) with a = l^-H phi(l^H g) l^-1."""
    (l,), g = z, conjugate(cotangents[0])
    s = half_lower(matmul(adjoint(l), g))
    a = triangular_solve(l, triangular_solve(l, s, transpose=True, conj=is_complex(l)), left=False)
    return (conjugate(half_lower(a + adjoint(a))),)


explicit(cholesky, jvp=cholesky_jvp, vjp=cholesky_vjp)


# -- LU --------------------------------------------------------------------------------------------


def resized(x, m, n):
    """The matrices of x cut, or filled with zeros, to m by n."""
    *batch, p, q = x.type.shape
    if (p, q) == (m, n):
        return x
    zeros = (0,) * len(batch)
    return pad(x, Lit(0, x.type.like(())), low=(*zeros, 0, 0), high=(*zeros, m - p, n - q), interior=(*zeros, 0, 0))


def row_gather(order):
    """The layout of a gather of whole rows, and its indices."""
    *batch, m = order.type.shape
    n = len(batch)
    stacked = tuple(range(n))
    layout = {
        "offset_dims": (n + 1,),
        "collapsed": (n,),
        "start_index_map": (n,),
        "operand_batch": stacked,
        "indices_batch": stacked,
        "unique": True,
    }
    return reshape(order, shape=(*batch, m, 1)), layout


def exchanged(x, order):
    """x[order], matrix by matrix."""
    indices, layout = row_gather(order)
    return gather(x, indices, sizes=(1,) * (x.type.ndim - 1) + x.type.shape[-1:], **layout)


def unpermuted_rows(x, order):
    """The inverse, and transpose, of the same."""
    indices, layout = row_gather(order)
    return scatter(zeros_like(x), indices, x, **layout)


def lu_factors(packed):
    """Square factors: l to read below its unit diagonal, and u, the smaller of them filled up with the identity."""
    m, n = packed.type.shape[-2:]
    l, u = resized(packed, m, m), resized(packed, n, n)
    if m < n:
        row, column = row_and_column(u)
        u = select(lt(row, splat(m, row)), u, select(eq(row, column), splat(1, u), 0))
    return l, u


def lu_jvp(z, operands, tangents):
    """With y = l^-1 dx[order] u^-1: dl = l strictly_lower(y), du = upper(y) u."""
    (packed, _, order), (t,) = z, tangents
    l, u = lu_factors(packed)
    y = triangular_solve(l, exchanged(t, order), unit=True)
    y = triangular_solve(u, y, left=False, lower=False)
    below = tril(y, strict=True)
    return below + matmul(tril(l, strict=True), below) + matmul(triu(y), triu(u)), None, None


def lu_vjp(z, operands, cotangents, needs):
    """The transpose of the same, in reverse."""
    (packed, _, order), g = z, cotangents[0]
    if g is None:
        return (None,)
    l, u = lu_factors(packed)
    y = tril(g + matmul(mirrored(tril(l, strict=True)), g), strict=True) + triu(matmul(g, mirrored(triu(u))))
    y = triangular_solve(u, y, left=False, lower=False, transpose=True)
    y = triangular_solve(l, y, unit=True, transpose=True)
    return (unpermuted_rows(y, order),)


explicit(lu, jvp=lu_jvp, vjp=lu_vjp)


# -- QR --------------------------------------------------------------------------------------------


def qr_parts(z, full):
    """q, r, the square part of r, and whether q is tall."""
    q, r = z
    (m, k), n = q.type.shape[-2:], r.type.shape[-1]
    if full and m > n:
        raise IRTypeError(
            f"qr: no derivative with full=True for {q.type.like((*q.type.shape[:-1], n))}: the last {m - n} columns "
            "of q are any basis"
        )
    return q, r, resized(r, k, k), m > k


def right_solve(x, u, adjoint=False):
    """x u^-1, or x u^-H, for u upper triangular."""
    return triangular_solve(u, x, left=False, lower=False, transpose=adjoint, conj=adjoint and is_complex(u))


def qr_jvp(z, operands, tangents, *, full):
    """With c = q^H dx and the skew s = phi(c u^-1) - phi(c u^-1)^H: dr = c - s r, dq = q s + (dx - q c) u^-1.  [Walter
    & Lehmann]"""
    q, r, u, tall = qr_parts(z, full)
    (t,) = tangents
    c = matmul(adjoint(q), t)
    p = half_lower(right_solve(resized(c, *u.type.shape[-2:]), u))
    s = p - adjoint(p)
    tq = matmul(q, s)
    return tq + right_solve(t - matmul(q, c), u) if tall else tq, triu(c - matmul(s, r))


def qr_vjp(z, operands, cotangents, needs, *, full):
    """The transpose of the same: with s = q^H gq - gr r^H and p = phi(s - s^H), q gr + q p u^-H, and for tall q (gq - q
    q^H gq) u^-H."""
    q, r, u, tall = qr_parts(z, full)
    gq, gr = (g if g is None else conjugate(g) for g in cotangents)
    gr = gr if gr is None else triu(gr)
    inner = None if gq is None else matmul(adjoint(q), gq)
    s = add_tangents(inner, None if gr is None else -matmul(gr, adjoint(r)))
    p = half_lower(s - adjoint(s))
    c = right_solve(p, u, adjoint=True)
    c = add_tangents(resized(c, *r.type.shape[-2:]), gr)
    x = matmul(q, c)
    if tall and gq is not None:
        x = x + right_solve(gq - matmul(q, inner), u, adjoint=True)
    return (conjugate(x),)


explicit(qr, jvp=qr_jvp, vjp=qr_vjp)

BATCH.add({
    triangular_solve:   batch_system(triangular_solve),
    solve:              batch_system(solve),
    tridiagonal_solve:  batch_system(tridiagonal_solve),
    cholesky:           lambda n, b, x: cholesky(x),
    lu:                 lambda n, b, x: lu(x),
    qr:                 lambda n, b, x, *, full: qr(x, full=full),
})  # fmt: skip
