"""Eigenvalues and singular values of matrices stacked along leading axes; NaN where a matrix holds NaN or infinity.

Vectors are given up to sign, or phase: what the machine's library chooses. Derivatives hold for functions that do not
depend on it.
"""

import numpy as np

from ..op import case, complex_type, op, real_type
from .dense import adjoint, assert_close, drawn, matrices, orthonormal

# -- samples and checks for the generated tests ----------------------------------------------------


def gapped(a):
    """Hermitian, eigenvalues well apart."""
    q = np.linalg.qr(a)[0]
    return q * (np.arange(1.0, a.shape[-1] + 1) ** 1.5 - 2) @ adjoint(q)


def spaced(a):
    """Singular values well apart, and away from zero."""
    u, s, v = np.linalg.svd(a, full_matrices=False)
    return u * (s / 4 + np.arange(s.shape[-1], 0, -1))[..., None, :] @ v


def rotating(a):
    """Real, of order two, with complex eigenvalues; the components of each vector differ in size."""
    return np.array([[0.5, 3.0], [-1.0, 0.5]]) + a / 8


def stretching(a):
    """Of order two, far from both multiple eigenvalues and equal components."""
    return np.array([[2.0, 0.6], [0.4, -1.0]]) + a / 8


def _hermitian(x, lower):
    """The matrix of which one triangle is read."""
    half = np.tril(x, -1) if lower else np.triu(x, 1)
    return half + adjoint(half) + np.eye(x.shape[-1]) * x.real


def _ascending(operands, results, *, lower):
    assert np.all(np.diff(results[0]) >= 0)
    assert_close(results[0], np.linalg.eigvalsh(_hermitian(operands[0], lower)).astype(results[0].dtype))


def _is_eigh(operands, results, *, lower):
    w, v = results
    _ascending(operands, results, lower=lower)
    orthonormal(v)
    assert_close(v * w[..., None, :] @ adjoint(v), _hermitian(operands[0], lower))


def _is_spectrum(operands, results):
    """The same numbers in whatever order: every coefficient of the characteristic polynomial."""
    for w, v in zip(
        results[0].reshape(-1, results[0].shape[-1]), np.linalg.eigvals(operands[0]).reshape(-1, results[0].shape[-1])
    ):
        assert_close(np.poly(w).astype(w.dtype), np.poly(v).astype(w.dtype))


def _is_eig(operands, results):
    w, v = results
    _is_spectrum(operands, results)
    assert_close(operands[0] @ v, v * w[..., None, :])
    assert_close(np.linalg.norm(v, axis=-2), np.ones_like(w.real))


def _is_svd(operands, results, *, full_matrices, compute_uv):
    s = results[1 if compute_uv else 0]
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    assert_close(s, np.linalg.svd(operands[0], compute_uv=False))
    if compute_uv:
        u, _, vh = results
        orthonormal(u)
        orthonormal(adjoint(vh))
        k = s.shape[-1]
        assert_close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], operands[0])


# -- ops -------------------------------------------------------------------------------------------


def _finite(x):
    """x with zeros in place of the matrices that hold NaN or infinity, and which those are."""
    bad = ~np.isfinite(x).all((-2, -1), keepdims=True)
    return np.where(bad, 0, x), bad


def _eigvalsh_rule(op, x, *, lower):
    matrices(op, x, square=True)
    return real_type(x).like(x.shape[:-1])


def _eigh_rule(op, x, *, lower):
    return _eigvalsh_rule(op, x, lower=lower), x


# fmt: off
@op(_eigh_rule, multiple=True, check=_is_eigh, cases=[
    case(drawn("f8", (3, 3), gapped)), case(drawn("f8", (2, 4, 4), gapped), lower=False), case(drawn("f8", (1, 1))),
    case(drawn("f4", (3, 3), gapped)), case(drawn("c8", (2, 3, 3), gapped)),
    case(drawn("c8", (3, 3), gapped), lower=False),
])
# fmt: on
def eigh(x, *, lower=True):
    """(w, v) with x v = v diag(w): ascending eigenvalues and orthonormal eigenvectors of a Hermitian x.

    Only the lower, or upper, triangle of x is read.  [LAPACK syevd]
    """
    x, bad = _finite(np.tril(x) if lower else np.triu(x))
    w, v = np.linalg.eigh(x, "L" if lower else "U")
    return np.where(bad[..., 0], np.nan, w), np.where(bad, np.nan, v)


# fmt: off
@op(_eigvalsh_rule, check=_ascending, cases=[
    case(drawn("f8", (3, 3), gapped)), case(drawn("c16", (2, 3, 3), gapped), lower=False),
    case(drawn("c16", (3, 3), gapped)),
    case(drawn("f4", (3, 3), gapped)),
])
# fmt: on
def eigvalsh(x, *, lower=True):
    """The ascending eigenvalues of a Hermitian x, of which the lower, or upper, triangle is read.  [LAPACK syevd]"""
    x, bad = _finite(np.tril(x) if lower else np.triu(x))
    return np.where(bad[..., 0], np.nan, np.linalg.eigvalsh(x, "L" if lower else "U"))


def _eigvals_rule(op, x):
    matrices(op, x, square=True)
    return complex_type(x).like(x.shape[:-1])


def _eig_rule(op, x):
    return _eigvals_rule(op, x), complex_type(x)


# fmt: off
@op(_eig_rule, multiple=True, check=_is_eig, cases=[
    case(drawn("f8", (2, 2), rotating)), case(drawn("f8", (2, 2, 2), stretching)), case(drawn("f8", (1, 1))),
    case(drawn("c16", (2, 2), stretching)),
    # from order three on LAPACK's order and signs jump: no finite differences
    case(drawn("f4", (4, 4))), case(drawn("c8", (2, 3, 3))),
])
# fmt: on
def eig(x):
    """(w, v) with x v = v diag(w): eigenvalues and right eigenvectors, complex whatever x, in no order.

    Each vector has norm 1 and its greatest component real.  [LAPACK geev]
    """
    x, bad = _finite(x)
    w, v = (a.astype(np.result_type(x, np.complex64)) for a in np.linalg.eig(x))
    return np.where(bad[..., 0], np.nan, w), np.where(bad, np.nan, v)


# fmt: off
@op(_eigvals_rule, check=_is_spectrum, cases=[
    case(drawn("f8", (2, 2), rotating)), case(drawn("c16", (2, 2, 2), stretching)), case(drawn("f4", (4, 4))),
])
# fmt: on
def eigvals(x):
    """Eigenvalues, complex whatever x, in no order.  [LAPACK geev]"""
    x, bad = _finite(x)
    return np.where(bad[..., 0], np.nan, np.linalg.eigvals(x).astype(np.result_type(x, np.complex64)))


def _svd_rule(op, x, *, full_matrices, compute_uv):
    batch, m, n = matrices(op, x)
    k = min(m, n)
    s = real_type(x).like((*batch, k))
    return (x.like((*batch, m, m if full_matrices else k)), s,
        x.like((*batch, n if full_matrices else k, n))) if compute_uv else (s,)


# fmt: off
@op(_svd_rule, multiple=True, check=_is_svd, cases=[
    case(drawn("f8", (3, 3), spaced)), case(drawn("f8", (2, 4, 2), spaced)), case(drawn("f8", (2, 4), spaced)),
    case(drawn("f8", (1, 1))),
    case(drawn("f8", (3, 3), spaced), full_matrices=True), case(drawn("f8", (2, 3, 2), spaced), compute_uv=False),
    case(drawn("c16", (2, 3), spaced), compute_uv=False), case(drawn("f4", (4, 2), spaced), full_matrices=True),
    case(drawn("c8", (3, 2), spaced)), case(drawn("c8", (2, 4), spaced), full_matrices=True),
])
# fmt: on
def svd(x, *, full_matrices=False, compute_uv=True):
    """(u, s, v^H) with u diag(s) v^H = x: orthonormal columns in u and v, s >= 0 descending; (s,) alone unless
    `compute_uv`.

    x: [..., m, n] -> u: [..., m, k], s: [..., k], v^H: [..., k, n], k the lesser of m and n; if `full_matrices`, u and
    v are square.  [LAPACK gesdd]
    """
    x, bad = _finite(x)
    if not compute_uv:
        return (np.where(bad[..., 0], np.nan, np.linalg.svd(x, compute_uv=False)),)
    u, s, v = np.linalg.svd(x, full_matrices=full_matrices)
    return np.where(bad, np.nan, u), np.where(bad[..., 0], np.nan, s), np.where(bad, np.nan, v)
