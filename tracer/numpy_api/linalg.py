"""np.linalg: systems, determinants, factorisations and spectra of matrices stacked along leading axes.

Single precision is computed in single precision (NumPy computes in double and rounds). A singular matrix, or one
that is not positive definite, raises LinAlgError when the program runs. Where NumPy's result dtype or shape depends
on the data, this call's data decides (see `assume`); where it cannot, `eig` of a real matrix is real in loops, as the
program checks, and complex in functions that are differentiated, and `lstsq` gives its residuals whatever the rank is.
"""


import numpy as np

from ...ir.ops import OPS, dense, spectral
from ..common.emit import cast_to, counted, filled, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import fresh, wrap
from ..values.promote import broadcast_shapes
from ..values.speculate import decide, presumed
from ..values.storage import current_trace
from ..values.views import Diagonal
from .handles import dtype_of, handle, value_of
from .products import matmul
from .registry import implements
from .shaping import matrix_transpose

LinAlgError = np.linalg.LinAlgError
EigResult, EighResult, QRResult, SVDResult, SlogdetResult = (
    type(f(np.eye(1))) for f in (np.linalg.eig, np.linalg.eigh, np.linalg.qr, np.linalg.svd, np.linalg.slogdet)
)  # fmt: skip
ne, is_finite, reduce_and = OPS["ne"], OPS["is_finite"], OPS["reduce_and"]

# -- operands and checks ---------------------------------------------------------------------------


def working_dtype(*values):
    """The dtype matrices are computed in: single only if all are; integers and bool become double."""
    for v in values:
        if v.type.dtype == np.float16:
            raise TypeError("array type float16 is unsupported in linalg")
    single = all(v.type.dtype.name in ("float32", "complex64") for v in values)
    wide = any(v.type.kind == "c" for v in values)
    return np.dtype({(True, True): "c8", (True, False): "f4", (False, True): "c16", (False, False): "f8"}[single, wide])


def matrices(a, square=True):
    """a as a value of matrices in the dtype they are computed in; LinAlgError for other shapes."""
    x = value_of(a)
    if x.type.ndim < 2:
        raise LinAlgError(f"{x.type.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and x.type.shape[-1] != x.type.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return cast_to(x, working_dtype(x))


def demand(ok, text):
    """LinAlgError(text) when the program runs, unless all of `ok` holds."""
    whole = reduce_and(ok, axes=tuple(range(ok.type.ndim))) if ok.type.ndim else ok
    current_trace().check(whole, LinAlgError, message(text, locate()))


def demand_regular(x):
    """LinAlgError where a pivot is zero, as LAPACK finds it."""
    if x.type.size:
        pivots = diagonal_of(dense.lu(x)[0])
        demand(ne(pivots, filled(0, pivots.type.shape, pivots.type.dtype)), "Singular matrix")


def demand_finite(x, text="Array must not contain infs or NaNs"):
    if x.type.size:
        demand(is_finite(x), text)


def diagonal_of(x):
    return Diagonal(0, -2, -1).get(x)


def real_dtype(x):
    return np.dtype(x.type.dtype.type(0).real.dtype)


def empty(value, shape, dtype=None):
    """What NumPy returns for matrices without elements."""
    return wrap(filled(value, shape, dtype))


# -- systems ---------------------------------------------------------------------------------------


@implements(np.linalg.solve)
def solve(a, b):
    x, y = value_of(a), value_of(b)
    matrices(a)
    dtype = working_dtype(x, y)
    x, y = cast_to(x, dtype), cast_to(y, dtype)
    n = x.type.shape[-1]
    vector = y.type.ndim == 1
    right = fresh(y)[:, None].value if vector else y
    if y.type.ndim < 1 or right.type.shape[-2] != n:
        text = (
            f"solve: Input operand 1 has a mismatch in its core dimension 0: matrices {x.type.shape}, right-hand "
            f"sides {y.type.shape}"
        )
        raise with_note(ValueError, message(text, locate()))
    lead = broadcast_shapes([x.type.shape[:-2], right.type.shape[:-2]])
    columns = right.type.shape[-1]
    demand_regular(x)
    if not n or not columns or 0 in lead:
        out = filled(0, (*lead, n, columns), dtype)
    else:
        out = dense.solve(spread_to(x, (*lead, n, n)), spread_to(right, (*lead, n, columns)))
    return fresh(out)[..., 0] if vector else fresh(out)


@implements(np.linalg.inv)
def inv(a):
    x = matrices(a)
    if not x.type.size:
        return fresh(x)
    return solve(fresh(x), fresh(identity_like(x)))


def identity_like(x):
    """The identity matrices of x's type."""
    shape = x.type.shape
    row, column = (OPS["iota"](shape=shape, axis=len(shape) - k, dtype=np.dtype("i4")) for k in (2, 1))
    return cast_to(OPS["eq"](row, column), x.type.dtype)


@implements(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    x, y = handle(a), handle(b)
    if axes is not None:
        order = [d for d in range(x.ndim) if d not in axes] + list(axes)
        x = np.transpose(x, order)
    shape = x.shape[-(x.ndim - y.ndim) :]
    size = int(np.prod(shape, dtype=object))
    if x.size != size**2:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return solve(x.reshape(size, size), y.ravel()).reshape(shape)


@implements(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    x = handle(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = x.shape[ind:] + x.shape[:ind]
    return inv(x.reshape(int(np.prod(x.shape[ind:], dtype=object)), -1)).reshape(shape)


def squares(x):
    """The sums of |x|^2 down the columns."""
    return np.sum((x * np.conj(x)).real, axis=0)


@implements(np.linalg.lstsq)
def lstsq(a, b, rcond=None):
    """By singular values, those below rcond times the greatest taken as zero."""
    x, y = value_of(a), value_of(b)
    vector = y.type.ndim == 1
    for v in (x, fresh(y)[:, None].value if vector else y):
        if v.type.ndim != 2:
            raise LinAlgError(f"{v.type.ndim}-dimensional array given. Array must be two-dimensional")
    if x.type.shape[0] != y.type.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    dtype = working_dtype(x, y)
    x, y = fresh(cast_to(x, dtype)), fresh(cast_to(y, dtype))
    (m, n), columns = x.shape, y[:, None] if vector else y
    real = np.dtype(dtype.type(0).real.dtype)
    rcond = np.finfo(np.float64).eps * max(m, n) if rcond is None else rcond
    if not m or not n:
        zeros = np.zeros_like(columns, shape=(n, columns.shape[1]))
        return (
            zeros[:, 0] if vector else zeros,
            squares(columns) if m > n else np.zeros(0, real),
            np.int32(0),
            np.zeros(0, real),
        )
    u, s, vt = svd(x, full_matrices=False)
    large = s > rcond * s[0]
    factors = np.where(large, 1 / np.where(large, s, 1), 0)
    solution = matmul(conjugate_transpose(vt), factors[:, None] * matmul(conjugate_transpose(u), columns))
    full = m > n and decide(np.all(large)) is not False
    residuals = squares(columns - matmul(x, solution)) if full else np.zeros(0, real)
    rank = np.sum(large).astype(np.int32)
    return solution[:, 0] if vector else solution, residuals, rank, s


@implements(np.linalg.pinv)
def pinv(a, rcond=None, hermitian=False, *, rtol=np._NoValue):
    x, given = handle(a), dtype_of(a)
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else max(x.shape[-2:]) * np.finfo(given).eps if rtol is None else rtol
    if x.ndim > 1 and 0 in x.shape[-2:]:
        return matrix_transpose(x).astype(given)
    x = fresh(matrices(a, square=False))
    u, s, vt = svd(np.conj(x), full_matrices=False, hermitian=hermitian)
    cutoff = (np.expand_dims(rcond, -1) if np.ndim(rcond) else rcond) * np.max(s, axis=-1, keepdims=True)
    large = s > cutoff
    s = np.where(large, 1 / np.where(large, s, 1), 0).astype(s.dtype)
    return matmul(matrix_transpose(vt), s[..., None] * matrix_transpose(u))


def conjugate_transpose(x):
    return np.conj(matrix_transpose(x))


# -- determinants ----------------------------------------------------------------------------------


def triangular_factors(a):
    """(diagonal of u, sign of the row exchanges) of a matrix's LU factors."""
    packed, pivots, _ = dense.lu(a)
    shape = pivots.type.shape
    exchanged = ne(pivots, counted(shape, len(shape) - 1, pivots.type.dtype))
    odd = OPS["reduce_xor"](exchanged, axes=(len(shape) - 1,))
    sign = OPS["select"](odd, *(filled(s, odd.type.shape, packed.type.dtype) for s in (-1, 1)))
    return fresh(diagonal_of(packed)), wrap(sign)


@implements(np.linalg.det)
def det(a):
    x = matrices(a)
    if not x.type.size:
        return empty(1, x.type.shape[:-2], x.type.dtype)
    pivots, sign = triangular_factors(x)
    return sign * np.prod(pivots, axis=-1)


@implements(np.linalg.slogdet)
def slogdet(a):
    x = matrices(a)
    if not x.type.size:
        return SlogdetResult(empty(1, x.type.shape[:-2], x.type.dtype), empty(0, x.type.shape[:-2], real_dtype(x)))
    pivots, sign = triangular_factors(x)
    return SlogdetResult(sign * np.prod(np.sign(pivots), axis=-1), np.sum(np.log(np.abs(pivots)), axis=-1))


# -- factorisations --------------------------------------------------------------------------------


@implements(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    x = matrices(a)
    if not x.type.size:
        return fresh(x)
    factor = dense.cholesky(fresh(x).mT.value if upper else x)  # U.T of a.T, without conjugates: -0j
    demand(is_finite(diagonal_of(factor)), "Matrix is not positive definite")
    return fresh(factor).mT.copy() if upper else fresh(factor)


@implements(np.linalg.qr)
def qr(a, mode="reduced"):
    if mode not in ("reduced", "complete", "r"):
        if mode != "raw":
            raise ValueError(f"Unrecognized mode '{mode}'")
        raise UnsupportedError(
            message("np.linalg.qr(mode='raw') is not captured", locate(), "Use mode='reduced' or 'complete'.")
        )
    x = matrices(a, square=False)
    *lead, m, n = x.type.shape
    k = m if mode == "complete" else min(m, n)
    if not x.type.size:
        q = fresh(spread_to(identity_like(filled(0, (m, k), x.type.dtype)), (*lead, m, k)))
        r = np.zeros_like(q, shape=(*lead, k, n))
        return r if mode == "r" else QRResult(q, r)
    q, r = (fresh(v) for v in dense.qr(x, full=mode == "complete"))
    return r if mode == "r" else QRResult(q, r)


@implements(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        return hermitian_svd(a, compute_uv)
    x = matrices(a, square=False)
    *lead, m, n = x.type.shape
    k = min(m, n)
    if not x.type.size:
        rows, columns = (m, n) if full_matrices else (k, k)
        u, vt = (
            fresh(spread_to(identity_like(filled(0, s, x.type.dtype)), (*lead, *s))) for s in ((m, rows), (columns, n))
        )
        s = fresh(filled(0, (*lead, k), real_dtype(x)))
        return SVDResult(u, s, vt) if compute_uv else s
    found = spectral.svd(x, full_matrices=bool(full_matrices and compute_uv), compute_uv=bool(compute_uv))
    demand(is_finite(found[1 if compute_uv else 0]), "SVD did not converge")
    found = [fresh(v) for v in found]
    return SVDResult(*found) if compute_uv else found[0]


def hermitian_svd(a, compute_uv):
    """From the eigenvalues: their sizes, descending; signs go into v."""
    if not compute_uv:
        return np.sort(np.abs(eigvalsh(a)))[..., ::-1]
    w, u = eigh(a)
    sign, size = np.copysign(w.dtype.type(1), w), np.abs(w)
    order = np.argsort(size)[..., ::-1]
    sign, size = np.take_along_axis(sign, order, -1), np.take_along_axis(size, order, -1)
    u = np.take_along_axis(u, order[..., None, :], -1)
    return SVDResult(u, size, conjugate_transpose(u * sign[..., None, :]))


@implements(np.linalg.svdvals)
def svdvals(x, /):
    return svd(x, compute_uv=False)


# -- spectra ---------------------------------------------------------------------------------------


def triangle(UPLO):
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO == "L"


@implements(np.linalg.eigh)
def eigh(a, UPLO="L"):
    lower, x = triangle(UPLO), matrices(a)
    if not x.type.size:
        return EighResult(fresh(filled(0, x.type.shape[:-1], real_dtype(x))), fresh(x))
    w, v = spectral.eigh(x, lower=lower)
    demand_finite(w, "Eigenvalues did not converge")
    return EighResult(fresh(w), fresh(v))


@implements(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    lower, x = triangle(UPLO), matrices(a)
    if not x.type.size:
        return fresh(filled(0, x.type.shape[:-1], real_dtype(x)))
    w = spectral.eigvalsh(x, lower=lower)
    demand_finite(w, "Eigenvalues did not converge")
    return fresh(w)


# since NumPy 2.5 eigenvalues are complex, whatever they are
AS_DATA_HAVE_IT = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


def without_elements(x):
    """The dtype of the eigenvalues of matrices without elements."""
    return np.linalg.eigvals(np.empty((0, 0), x.type.dtype)).dtype


@implements(np.linalg.eig)
def eig(a):
    x = matrices(a)
    if not x.type.size:
        dtype = without_elements(x)
        return EigResult(fresh(filled(0, x.type.shape[:-1], dtype)), fresh(filled(0, x.type.shape, dtype)))
    demand_finite(x)
    w, v = spectral.eig(x)
    return EigResult(*(as_real(x, w, v) if AS_DATA_HAVE_IT else (fresh(w), fresh(v))))


@implements(np.linalg.eigvals)
def eigvals(a):
    x = matrices(a)
    if not x.type.size:
        return fresh(filled(0, x.type.shape[:-1], without_elements(x)))
    if AS_DATA_HAVE_IT:
        return real_eigvals(x)
    demand_finite(x)
    return fresh(spectral.eigvals(x))


def real_eigvals(x):
    """The eigenvalues of matrices, real where these are and the data leave them so."""
    demand_finite(x)
    return as_real(x, spectral.eigvals(x))[0]


def as_real(x, w, *more):
    """Eigenvalues w, and eigenvectors, of x: real if x is, and this call's data leave no imaginary part."""
    real = x.type.kind == "f" and presumed(
        np.all(fresh(w).imag == 0),
        "a real matrix has complex eigenvalues, or a complex root, in a loop or branch, where all are taken for real",
        "Give it the matrix as complex numbers: x + 0j.",
    )
    return [fresh(OPS["real"](v) if real else v) for v in (w, *more)]
