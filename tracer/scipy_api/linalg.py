"""scipy.linalg of single matrices: systems, factors, spectra, functions of a matrix, structured matrices.

By NumPy's own functions where they mean the same. Arguments that are not finite raise ValueError when the program runs,
as SciPy's do.
"""

import numpy as np

from ...backends.xla import bridge
from ...ir.ops import OPS, dense, spectral
from ..api import foreign
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle, value_of
from ..numpy_api.linalg import as_real, demand, working_dtype
from ..numpy_api.scipy_registry import captures, only, refuse
from ..values.array import fresh
from ..values.storage import current_trace

LINALG = "scipy.linalg"
IGNORED = ("overwrite_a", "overwrite_b", "overwrite_x", "overwrite_ab", "lapack_driver")


def options(name, given):
    """Options that change nothing are dropped; -> whether numbers are to be checked. Others are refused."""
    check = given.pop("check_finite", True)
    for option in IGNORED:
        given.pop(option, None)
    if given:
        refuse(f"scipy.linalg.{name}({', '.join(given)}=...)")
    return check


def matrix(name, a, check=True, square=True):
    """a as one matrix of the dtype it is computed in."""
    x = value_of(a)
    if x.type.ndim != 2:
        refuse(f"scipy.linalg.{name} of an array of shape {x.type.shape}", "It is for one matrix.")
    if square and x.type.shape[0] != x.type.shape[1]:
        raise with_note(
            ValueError, message(f"scipy.linalg.{name} needs a square matrix, got shape {x.type.shape}", locate())
        )
    if not x.type.size:
        refuse(f"scipy.linalg.{name} of an empty matrix")
    return require_finite(x, check).astype(working_dtype(x))


def require_finite(x, check=True):
    """An array whose numbers must be finite when the program runs."""
    if check and x.type.kind in "fc" and x.type.size:
        finite = np.isfinite(fresh(x)).all().value
        current_trace().check(finite, ValueError, message("array must not contain infs or NaNs", locate()))
    return fresh(x)


def right_hand(name, x, b, check=True):
    """(matrix, right-hand side) in one dtype, the second as columns, and whether it was a vector."""
    y = value_of(b)
    if y.type.ndim not in (1, 2) or y.type.shape[0] != x.shape[0] or not y.type.size:
        text = f"scipy.linalg.{name}: a matrix of shape {x.shape} and a right-hand side of shape {y.type.shape}"
        raise with_note(ValueError, message(text, locate()))
    dtype = working_dtype(x.value, y)
    y = require_finite(y, check).astype(dtype)
    return x.astype(dtype), y if y.ndim == 2 else y[:, None], y.ndim == 1


def shaped(z, vector):
    return z[:, 0] if vector else z


def substitute(x, y, **attrs):
    return fresh(OPS["triangular_solve"](x.value, y.value, **attrs))


@captures(LINALG)
def solve(a, b, lower=False, assume_a=None, transposed=False, **given):
    only("scipy.linalg.solve", assume_a=(assume_a, (None, "gen", "general")))
    check = options("solve", given)
    x, y, vector = right_hand("solve", matrix("solve", a, check), b, check)
    if transposed and x.dtype.kind == "c":
        raise NotImplementedError(message("scipy.linalg.solve(transposed=True) is for real matrices", locate()))
    return shaped(np.linalg.solve(x.T if transposed else x, y), vector)


@captures(LINALG)
def inv(a, assume_a=None, lower=False, **given):
    only("scipy.linalg.inv", assume_a=(assume_a, (None, "gen", "general")))
    return np.linalg.inv(matrix("inv", a, options("inv", given)))


@captures(LINALG)
def det(a, **given):
    """In double precision, whatever the matrix is."""
    x = matrix("det", a, options("det", given))
    return np.linalg.det(x.astype(np.result_type(x.dtype, np.float64)))


@captures(LINALG)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, **given):
    only("scipy.linalg.solve_triangular", trans=(trans, (0, 1, 2, "N", "T", "C")))
    check = options("solve_triangular", given)
    x, y, vector = right_hand("solve_triangular", matrix("solve_triangular", a, check), b, check)
    if not unit_diagonal:
        demand((np.diagonal(x) != 0).value, "singular matrix")
    way = {0: "N", 1: "T", 2: "C"}.get(trans, trans)
    z = substitute(x, y, lower=bool(lower), transpose=way != "N", conj=way == "C", unit=bool(unit_diagonal))
    return shaped(z, vector)


def factor(x, lower):
    """The Cholesky factor by the triangle that SciPy reads."""
    low = np.linalg.cholesky(x if lower else np.conj(x.T))
    return low if lower else np.conj(low.T)


@captures(LINALG)
def cholesky(a, lower=False, **given):
    return factor(matrix("cholesky", a, options("cholesky", given)), lower)


@captures(LINALG)
def cho_factor(a, lower=False, **given):
    """The other triangle is the matrix's own."""
    x = matrix("cho_factor", a, options("cho_factor", given))
    c = factor(x, lower)
    return np.where(np.tri(x.shape[0], dtype=bool) if lower else np.tri(x.shape[0], dtype=bool).T, c, x), lower


@captures(LINALG)
def cho_solve(c_and_lower, b, **given):
    c, lower = c_and_lower
    check = options("cho_solve", given)
    x, y, vector = right_hand("cho_solve", matrix("cho_solve", c, check), b, check)
    first = substitute(x, y, lower=bool(lower), transpose=not lower, conj=not lower)
    return shaped(substitute(x, first, lower=bool(lower), transpose=bool(lower), conj=bool(lower)), vector)


@captures(LINALG)
def lu_factor(a, **given):
    x = matrix("lu_factor", a, options("lu_factor", given), square=False)
    packed, pivots, _ = dense.lu(x.value)
    return fresh(packed), fresh(pivots)


@captures(LINALG)
def lu_solve(lu_and_piv, b, trans=0, **given):
    """The exchanges are made one after another, as LAPACK notes them."""
    only("scipy.linalg.lu_solve", trans=(trans, (0, 1, 2)))
    packed, pivots = lu_and_piv
    check = options("lu_solve", given)
    x, y, vector = right_hand("lu_solve", matrix("lu_solve", packed, check), b, check)
    order = fresh(pivot_permutation(handle(pivots), x.shape[0]))
    if trans:
        z = substitute(x, y, lower=False, transpose=True, conj=trans == 2)
        z = substitute(x, z, lower=True, transpose=True, conj=trans == 2, unit=True)
        return shaped(z[np.argsort(order)], vector)
    z = substitute(x, y[order], lower=True, unit=True)
    return shaped(substitute(x, z, lower=False), vector)


def pivot_permutation(pivots, n):
    """The permutation that the exchanges amount to."""
    return foreign.run(bridge.library("lax.linalg.lu_pivots_to_permutation"), (pivots.astype(np.int32), n), {}).value


@captures(LINALG)
def lu(a, permute_l=False, p_indices=False, **given):
    x = matrix("lu", a, options("lu", given), square=False)
    packed, _, order = map(fresh, dense.lu(x.value))
    m, n = x.shape
    k = min(m, n)
    low = np.tril(packed[:, :k], -1) + np.eye(m, k, dtype=x.dtype)
    up = np.triu(packed[:k])
    back = np.argsort(order)
    if permute_l:
        return low[back], up
    if p_indices:
        return back.astype(np.int32), low, up
    return (np.arange(m)[:, None] == order[None, :]).astype(x.dtype if x.dtype.kind == "f" else x.real.dtype), low, up


@captures(LINALG)
def qr(a, mode="full", pivoting=False, lwork=None, **given):
    only("scipy.linalg.qr", mode=(mode, ("full", "r", "economic")), pivoting=(pivoting, (False,)))
    x = matrix("qr", a, options("qr", given), square=False)
    if mode == "r":
        return (np.linalg.qr(x, mode="complete")[1],)
    return tuple(np.linalg.qr(x, mode="complete" if mode == "full" else "reduced"))


@captures(LINALG)
def svd(a, full_matrices=True, compute_uv=True, **given):
    x = matrix("svd", a, options("svd", given), square=False)
    found = np.linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


@captures(LINALG)
def svdvals(a, **given):
    return svd(a, compute_uv=False, **given)


@captures(LINALG)
def eigh(a, b=None, *, lower=True, eigvals_only=False, **given):
    only("scipy.linalg.eigh", b=(b, (None,)))
    given.pop("driver", None)
    x = matrix("eigh", a, options("eigh", given))
    triangle = "L" if lower else "U"
    return np.linalg.eigvalsh(x, triangle) if eigvals_only else tuple(np.linalg.eigh(x, triangle))


@captures(LINALG)
def eigvalsh(a, b=None, *, lower=True, **given):
    return eigh(a, b, lower=lower, eigvals_only=True, **given)


@captures(LINALG)
def eig(a, b=None, left=False, right=True, homogeneous_eigvals=False, **given):
    """Eigenvalues are complex, eigenvectors real where all of those are: this call's data decide that."""
    only("scipy.linalg.eig", b=(b, (None,)), left=(left, (False,)), homogeneous_eigvals=(homogeneous_eigvals, (False,)))
    x = matrix("eig", a, options("eig", given)).value
    if not right:
        return fresh(spectral.eigvals(x))
    w, v = spectral.eig(x)
    return fresh(w), as_real(x, w, v)[1]


@captures(LINALG)
def eigvals(a, b=None, homogeneous_eigvals=False, **given):
    return eig(a, b, right=False, homogeneous_eigvals=homogeneous_eigvals, **given)


@captures(LINALG)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(require_finite(value_of(a), check_finite), ord, axis, keepdims)


@captures(LINALG)
def pinv(a, *, atol=None, rtol=None, return_rank=False, **given):
    only("scipy.linalg.pinv", atol=(atol, (None, 0.0)), return_rank=(return_rank, (False,)))
    x = matrix("pinv", a, options("pinv", given), square=False)
    return np.linalg.pinv(x, rtol=max(x.shape) * np.finfo(x.dtype).eps if rtol is None else rtol)


SQUARINGS = 32


@captures(LINALG)
def expm(A):
    """By scaling and squaring with Pade's approximant; a matrix too large to be scaled raises when the program runs."""
    x = matrix("expm", A, check=False)
    norm = np.abs(x).sum(axis=0).max()
    small = (norm < 5.0 * 2.0**SQUARINGS) | ~np.isfinite(norm)
    current_trace().check(
        small.value,
        ValueError,
        message(f"expm of a matrix whose norm is beyond 5e{int(np.log10(2.0**SQUARINGS))}", locate()),
    )
    return foreign.run(bridge.library("scipy.linalg.expm"), (x,), {"max_squarings": SQUARINGS})


@captures(LINALG)
def block_diag(*arrs):
    blocks = [np.atleast_2d(handle(a)) for a in arrs]
    if any(b.ndim > 2 for b in blocks):
        refuse("scipy.linalg.block_diag of arrays of more than two dimensions")
    width, rows, at = sum(b.shape[1] for b in blocks), [], 0
    dtype = np.result_type(*(b.dtype for b in blocks))
    for b in blocks:
        rows.append(np.pad(b.astype(dtype), ((0, 0), (at, width - at - b.shape[1]))))
        at += b.shape[1]
    return np.concatenate(rows)


def vector(name, x):
    found = handle(x)
    if found.ndim != 1 or not found.size:
        refuse(f"scipy.linalg.{name} of an array of shape {found.shape}", "It is for vectors.")
    return found


@captures(LINALG)
def toeplitz(c, r=None):
    c = vector("toeplitz", c)
    r = np.conj(c) if r is None else vector("toeplitz", r)
    line = np.concatenate([c[::-1], r[1:]])
    m, n = len(c), len(r)
    return line[m - 1 - np.arange(m)[:, None] + np.arange(n)[None, :]]


@captures(LINALG)
def hankel(c, r=None):
    c = vector("hankel", c)
    r = np.zeros_like(c) if r is None else vector("hankel", r)
    return np.concatenate([c, r[1:]])[np.arange(len(c))[:, None] + np.arange(len(r))[None, :]]


@captures(LINALG)
def circulant(c):
    c = vector("circulant", c)
    n = np.arange(len(c))
    return c[(n[:, None] - n[None, :]) % len(c)]


