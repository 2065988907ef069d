"""Derivatives and batching of spectra.

Sources: Giles, Collected matrix derivative results (2008); Seeger et al., Auto-differentiating linear algebra (2017);
Townsend, Differentiating the singular value decomposition (2016). Those write the cotangent as the conjugate of ours:
rules conjugate on entry and exit.

Vectors of equal eigenvalues (or singular values) are any basis: derivatives are those of functions that depend on none
of the choices, and NaN where they would mix such vectors.
"""

import math

from ..ir.core import splat
from ..ir.ops.dense import solve
from ..ir.ops.elementwise import cast, eq, ge, imag, make_complex, real, select
from ..ir.ops.reduction import reduce_max, reduce_sum
from ..ir.ops.spectral import eig, eigh, eigvals, eigvalsh, svd
from ..ir.types import IRTypeError
from .batch import BATCH
from .dense import is_complex
from .forms import add_tangents, explicit
from .linalg import (
    adjoint,
    along_columns,
    along_rows,
    conjugate,
    diagonal,
    half_lower,
    matmul,
    off_diagonal,
    on_diagonal,
)


def like(x, y):
    """x in the dtype of y: real numbers become complex beside complex ones."""
    return x if x.type.dtype == y.type.dtype else cast(x, dtype=y.type.dtype)


def real_part(x):
    return real(x) if is_complex(x) else x


def over_gaps(x, w, power=1):
    """x[i, j] / (w[j]**power - w[i]**power) off the diagonal, zero on it; 0 / 0 is 0, and anything else over 0 is
    NaN."""
    x, shape = off_diagonal(x), x.type.shape
    row, column = along_rows(w, shape), along_columns(w, shape)
    gaps = row - column if power == 1 else (row - column) * (row + column)
    none = eq(gaps, 0)
    gaps = like(select(none, splat(1, gaps), gaps), x)
    return select(none, select(eq(x, 0), splat(0, x), splat(math.nan, x)), x / gaps)


# -- Hermitian -------------------------------------------------------------------------------------


def from_triangle(t, lower):
    """The Hermitian matrix of which one triangle is read."""
    p = half_lower(t if lower else adjoint(t))
    return p + adjoint(p)


def unread(a, lower):
    """The transpose of `from_triangle`."""
    p = half_lower(a + adjoint(a))
    return p if lower else adjoint(p)


def eigh_jvp(z, operands, tangents, *, lower):
    """With m = v^H dx v: dw = diag m, dv = v (m / gaps).  [Giles 3.1]"""
    (w, v), (t,) = z, tangents
    m = matmul(adjoint(v), matmul(from_triangle(t, lower), v))
    return real_part(diagonal(m)), matmul(v, over_gaps(m, w))


def eigh_vjp(z, operands, cotangents, needs, *, lower):
    """v (diag gw + v^H gv / gaps) v^H."""
    (w, v), (gw, gv) = z, cotangents
    m = None if gw is None else like(on_diagonal(gw), v)
    if gv is not None:
        m = add_tangents(m, over_gaps(matmul(adjoint(v), conjugate(gv)), w))
    return (conjugate(unread(matmul(matmul(v, m), adjoint(v)), lower)),)


def eigvalsh_jvp(z, operands, tangents, *, lower):
    _, v = eigh(operands[0], lower=lower)
    return (real_part(diagonal(matmul(adjoint(v), matmul(from_triangle(tangents[0], lower), v)))),)


def eigvalsh_vjp(z, operands, cotangents, needs, *, lower):
    return eigh_vjp(eigh(operands[0], lower=lower), operands, (cotangents[0], None), needs, lower=lower)


explicit(eigh, jvp=eigh_jvp, vjp=eigh_vjp)
explicit(eigvalsh, jvp=eigvalsh_jvp, vjp=eigvalsh_vjp)


# -- general ---------------------------------------------------------------------------------------


def argmax_mask(v):
    """1 at the greatest component of every column, which is real, and 0 elsewhere; real."""
    size = real(v) * real(v) + imag(v) * imag(v)
    most = reduce_max(size, axes=(v.type.ndim - 2,))
    return cast(ge(size, along_rows(most, v.type.shape)), dtype=size.type.dtype)


def columns_sum(x):
    return reduce_sum(x, axes=(x.type.ndim - 2,))


def eig_jvp(z, operands, tangents):
    """With m = v^-1 dx v: dw = diag m, dv = u + v c where u = v (m / gaps) and c keeps the norm and the phase of each
    column: c = -Re(v^H u) - i Im(u at the greatest component) / (v there)."""
    (w, v), t = z, like(tangents[0], z[1])
    m = solve(v, matmul(t, v))
    u, at = matmul(v, over_gaps(m, w)), argmax_mask(v)
    c = make_complex(-columns_sum(real(conjugate(v) * u)), -columns_sum(at * imag(u)) / columns_sum(at * real(v)))
    return diagonal(m), u + v * along_rows(c, v.type.shape)


def eig_vjp(z, operands, cotangents, needs):
    """The transpose of the same: v^-H (diag gw + v^H gu / conj(gaps)) v^H, with s = v^H gv per column and
    gu = gv - Re(s) v - i (Im(s) / v there) at the greatest component."""
    (w, v), (gw, gv) = z, (g if g is None else conjugate(g) for g in cotangents)
    shape = v.type.shape
    m = None if gw is None else on_diagonal(gw)
    if gv is not None:
        s, at = columns_sum(conjugate(v) * gv), argmax_mask(v)
        turned = at * along_rows(imag(s) / columns_sum(at * real(v)), shape)
        gu = gv - v * along_rows(like(real(s), v), shape) - make_complex(splat(0, turned), turned)
        m = add_tangents(m, over_gaps(matmul(adjoint(v), gu), conjugate(w)))
    x = conjugate(solve(conjugate(v), matmul(m, adjoint(v)), transpose=True))
    return (x if is_complex(operands[0]) else real(x),)


def eigvals_jvp(z, operands, tangents):
    _, v = eig(operands[0])
    return (diagonal(solve(v, matmul(like(tangents[0], v), v))),)


def eigvals_vjp(z, operands, cotangents, needs):
    return eig_vjp(eig(operands[0]), operands, (cotangents[0], None), needs)


explicit(eig, jvp=eig_jvp, vjp=eig_vjp)
explicit(eigvals, jvp=eigvals_jvp, vjp=eigvals_vjp)


# -- singular values -------------------------------------------------------------------------------


def svd_parts(z, operands, full_matrices, compute_uv):
    """u, s, v and the shape (m, n); vectors are computed where the op left them out."""
    (x,) = operands
    m, n = x.type.shape[-2:]
    if not compute_uv:
        z, full_matrices = svd(x), False
    if full_matrices and m != n:
        raise IRTypeError(
            f"svd: no derivative with full_matrices=True for {x.type}: the last {abs(m - n)} vectors are any basis"
        )
    u, s, vh = z
    return u, s, adjoint(vh), m, n


def phases(m, s):
    """What turns the columns of u against those of v: (m - m^H) / 2s on the diagonal; nothing where m is real."""
    d = diagonal(m)
    turn = on_diagonal(imag(d) / s)
    return make_complex(splat(0, turn), turn)


def svd_jvp(z, operands, tangents, *, full_matrices, compute_uv):
    """With m = u^H dx v: ds = diag m, dv = v ((s m + m^H s) / gaps), du = u ((m s + s m^H) / gaps),
    and the parts of dx v s^-1 and dx^H u s^-1 outside the spans of u and v; gaps are those of s**2.  [Townsend]"""
    u, s, v, rows, columns = svd_parts(z, operands, full_matrices, compute_uv)
    (t,) = tangents
    xv = matmul(t, v)
    m = matmul(adjoint(u), xv)
    ds = real_part(diagonal(m))
    if not compute_uv:
        return (ds,)
    shape, sc = m.type.shape, like(s, m)
    by_column = along_rows(sc, shape)
    ms, sm = m * by_column, m * along_columns(sc, shape)
    p, q = over_gaps(ms + adjoint(ms), s, 2), over_gaps(sm + adjoint(sm), s, 2)
    du, dv = matmul(u, p + phases(m, s) if is_complex(m) else p), matmul(v, q)
    if rows > columns:
        du = du + (xv - matmul(u, m)) / along_rows(sc, xv.type.shape)
    if columns > rows:
        xu = matmul(adjoint(t), u)
        dv = dv + (xu - matmul(v, adjoint(m))) / along_rows(sc, xu.type.shape)
    return du, ds, adjoint(dv)


def svd_vjp(z, operands, cotangents, needs, *, full_matrices, compute_uv):
    """The transpose of the same, term by term."""
    u, s, v, rows, columns = svd_parts(z, operands, full_matrices, compute_uv)
    gu, gs, gv = cotangents if compute_uv else (None, cotangents[0], None)
    m = None if gs is None else like(on_diagonal(gs), u)
    outside = None
    if gu is not None:
        gu = conjugate(gu)
        inner = matmul(adjoint(u), gu)
        sc = like(s, u)
        p = over_gaps(inner, s, 2)
        m = add_tangents(m, p * along_rows(sc, p.type.shape) + adjoint(p * along_columns(sc, p.type.shape)))
        if is_complex(u):
            m = m + phases(inner, s)
        if rows > columns:
            outside = matmul((gu - matmul(u, inner)) / along_rows(sc, gu.type.shape), adjoint(v))
    if gv is not None:
        gv = adjoint(conjugate(gv))
        inner = matmul(adjoint(v), gv)
        sc = like(s, v)
        q = over_gaps(inner, s, 2)
        m = add_tangents(m, q * along_columns(sc, q.type.shape) + adjoint(q * along_rows(sc, q.type.shape)))
        if columns > rows:
            outside = add_tangents(outside, matmul(u, adjoint((gv - matmul(v, inner)) / along_rows(sc, gv.type.shape))))
    return (conjugate(add_tangents(matmul(matmul(u, m), adjoint(v)), outside)),)


explicit(svd, jvp=svd_jvp, vjp=svd_vjp)

BATCH.add({
    eigh:      lambda n, b, x, *, lower: eigh(x, lower=lower),
    eigvalsh:  lambda n, b, x, *, lower: eigvalsh(x, lower=lower),
    eig:       lambda n, b, x: eig(x),
    eigvals:   lambda n, b, x: eigvals(x),
    svd:       lambda n, b, x, **attrs: svd(x, **attrs),
})  # fmt: skip
