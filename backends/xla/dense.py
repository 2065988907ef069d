"""XLA lowering of triangular systems, factorisations and spectra."""

from jax import lax

from ...ir.ops.dense import cholesky, lu, qr, triangular_solve
from ...ir.ops.spectral import eig, eigh, eigvals, eigvalsh, svd
from .table import XLA


def solve(a, b, *, left, lower, transpose, conj, unit):
    return lax.linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transpose, conjugate_a=conj, unit_diagonal=unit)


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
    triangular_solve:  solve,
    cholesky:          lambda x: lax.linalg.cholesky(x, symmetrize_input=False),
    lu:                lax.linalg.lu,
    qr:                lambda x, *, full: lax.linalg.qr(x, full_matrices=full),
    eigh:              spectrum,
    eigvalsh:          lambda x, *, lower: spectrum(x, lower=lower)[0],
    eig:               lambda x: general(x, True),
    eigvals:           lambda x: general(x, False)[0],
    svd:               singular,
})
