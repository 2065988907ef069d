"""XLA lowering of triangular systems, factorisations and spectra."""

from jax import lax
from jax import numpy as jnp

from ...ir.ops.dense import cholesky, lu, qr, solve, triangular_solve, tridiagonal_solve
from ...ir.ops.spectral import eig, eigh, eigvals, eigvalsh, svd
from .table import XLA


def triangular(a, b, *, left, lower, transpose, conj, unit):
    return lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conj, unit_diagonal=unit
    )


def through_lu(a, b, *, transpose):
    """With a[order] = l u: l u x = b[order], or u^T l^T x[order] = b."""
    packed, _, order = lax.linalg.lu(a)
    order = order if not transpose else inverse(order)
    lower, upper = {"lower": True, "unit_diagonal": True}, {"lower": False}
    b = b if transpose else jnp.take_along_axis(b, order[..., None], axis=-2)
    for half in (upper, lower) if transpose else (lower, upper):
        b = lax.linalg.triangular_solve(packed, b, left_side=True, transpose_a=transpose, **half)
    return jnp.take_along_axis(b, order[..., None], axis=-2) if transpose else b


def inverse(order):
    """The permutations that undo others."""
    if order.ndim > 1:
        return jnp.argsort(order, axis=-1)
    return (
        jnp.zeros_like(order)
        .at[order]
        .set(jnp.arange(order.size, dtype=order.dtype), unique_indices=True, mode="promise_in_bounds")
    )


def tridiagonal(dl, d, du, b):
    """Some solvers want zeros in the two places that no row reads."""
    row, n = jnp.arange(d.shape[-1]), d.shape[-1]
    return lax.linalg.tridiagonal_solve(jnp.where(row == 0, 0, dl), d, jnp.where(row == n - 1, 0, du), b)


def singular(x, *, full_matrices, compute_uv):
    out = lax.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    return out if compute_uv else (out,)


def spectrum(x, *, lower):
    v, w = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return w, v


def general(x, right):
    return tuple(lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=right))


# fmt: off
XLA.add({
    triangular_solve:   triangular,
    solve:              through_lu,
    tridiagonal_solve:  tridiagonal,
    cholesky:           lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
    lu:                 lax.linalg.lu,
    qr:                 lambda x, *, full: lax.linalg.qr(x, full_matrices=full),
    eigh:               spectrum,
    eigvalsh:           lambda x, *, lower: spectrum(x, lower=lower)[0],
    eig:                lambda x: general(x, True),
    eigvals:            lambda x: general(x, False)[0],
    svd:                singular,
})
