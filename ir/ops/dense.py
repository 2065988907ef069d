"""Triangular systems and triangular factorisations of matrices, stacked along leading axes."""

import numpy as np

from ..op import INEXACT, case, op, require
from ..types import Tensor

# -- type rules ------------------------------------------------------------------------------------


def matrices(op, x, square=False):
    require(x.kind in INEXACT and x.dtype.itemsize >= 4, op, f"takes matrices of f32, f64, c64 or c128, not {x}")
    fits = x.ndim >= 2 and (not square or x.shape[-1] == x.shape[-2])
    require(fits, op, f"{x} holds no {'square ' if square else ''}matrices in its last two axes")
    return x.shape[:-2], *x.shape[-2:]


def square_rule(op, x, **attrs):
    matrices(op, x, square=True)
    return x


# -- samples and checks for the generated tests ----------------------------------------------------


def drawn(type, shape, make=lambda a: a):
    """A spec: normal numbers through `make`."""

    def draw(rng):
        a = rng.standard_normal(shape)
        return np.asarray(make(a + 1j * rng.standard_normal(shape) if type[0] == "c" else a), np.dtype(type))

    draw.__name__ = f"{make.__name__.strip('<>')} {type}{list(shape)}"
    return draw


def definite(a):
    return a @ adjoint(a) + a.shape[-1] * np.eye(a.shape[-1])


def dominant(a):
    """Far from singular, whatever triangle is read."""
    return a + 3 * np.eye(*a.shape[-2:])


def shuffled(a):
    """Each pivot far above the rest of its column, and none in its own row."""
    return a / 4 + 3 * np.roll(np.eye(*a.shape[-2:]), 1, axis=0)


def adjoint(a):
    return np.swapaxes(a, -1, -2).conj()


def assert_close(a, b):
    """Equal to rounding of matrix products."""
    assert np.max(np.abs(a - b), initial=0.0) <= 2e3 * np.finfo(a.dtype).eps * max(
        1.0, np.max(np.abs(b), initial=0.0)
    ), f"\n{a}\n{b}"


def orthonormal(q):
    """The columns of q."""
    assert_close(
        adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1]))
    )


# -- triangular systems ----------------------------------------------------------------------------


def _triangular_solve_rule(op, a, b, *, left, lower, transpose, conj, unit):
    batch, n, _ = matrices(op, a, square=True)
    same = matrices(op, b)[0] == batch and a.dtype == b.dtype and b.shape[-2 if left else -1] == n
    require(same, op, f"{a} is no system for {b} on its {'right' if left else 'left'}")
    return b


# fmt: off
@op(_triangular_solve_rule, cases=[
    case(drawn("f8", (3, 3), dominant), "f64[3,2]"),
    case(drawn("f8", (2, 3, 3), dominant), "f64[2,3,2]", lower=False, unit=True),
    case(drawn("f8", (3, 3), dominant), "f64[2,3]", left=False, transpose=True),
    case(drawn("f8", (2, 3, 3), dominant), "f64[2,4,3]", left=False, lower=False),
    case(drawn("c16", (3, 3), dominant), "c128[3,2]", transpose=True, conj=True),
    case(drawn("c16", (3, 3), dominant), "c128[2,3]", left=False, lower=False, conj=True),
    case(drawn("c16", (3, 3), dominant), "c128[3,2]", lower=False, transpose=True),
    case(drawn("f8", (1, 1), dominant), "f64[1,1]"),
    case(drawn("f4", (3, 3), dominant), "f32[3,2]"),
])
# fmt: on
def triangular_solve(a, b, *, left=True, lower=True, transpose=False, conj=False, unit=False):
    """The x with op(a) x = b, or x op(a) = b unless `left`; op(a) is the `lower` or upper triangle of a,
    its diagonal taken as ones if `unit`, then transposed and conjugated as asked.

    By substitution; a zero on the diagonal divides by zero.  [BLAS trsm]
    """
    m = np.swapaxes(a, -1, -2) if transpose == left else a  # x op(a) = b is op(a)^T x^T = b^T
    m = np.conjugate(m) if conj else m
    b = b if left else np.swapaxes(b, -1, -2)
    x, n = np.zeros_like(b), m.shape[-1]
    down = lower == (transpose != left)
    for i in range(n) if down else range(n - 1, -1, -1):
        known = slice(0, i) if down else slice(i + 1, n)
        x[..., i, :] = b[..., i, :] - (m[..., i, None, known] @ x[..., known, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= m[..., i, i, None]
    return x if left else np.swapaxes(x, -1, -2)


def _solved(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:  # of the whole stack: one by one then
        return np.full_like(b, np.nan) if a.ndim == 2 else np.stack([_solved(m, c) for m, c in zip(a, b)])


def _solve_rule(op, a, b, *, transpose):
    batch, n, _ = matrices(op, a, square=True)
    same = matrices(op, b)[0] == batch and a.dtype == b.dtype and b.shape[-2] == n
    require(same, op, f"{a} is no system for {b}")
    return b


# fmt: off
@op(_solve_rule, cases=[
    case(drawn("f8", (3, 3), dominant), "f64[3,2]"),
    case(drawn("f8", (2, 4, 4), shuffled), "f64[2,4,1]", transpose=True),
    case(drawn("c16", (3, 3), shuffled), "c128[3,2]", transpose=True),
    case(drawn("f4", (3, 3), dominant), "f32[3,2]"),
])
# fmt: on
def solve(a, b, *, transpose=False):
    """The x with a x = b, or a^T x = b if `transpose`; NaN or infinite where a is singular.

    Systems of one matrix share its factors: XLA merges the equal factorisations.  [LAPACK gesv]
    """
    return _solved(np.swapaxes(a, -1, -2) if transpose else a, b)


def _tridiagonal_rule(op, dl, d, du, b):
    batch, n, _ = matrices(op, b)
    require(dl is d is du and d.dtype == b.dtype and d.shape == (*batch, n), op,
        f"diagonals {dl}, {d}, {du} are no system for {b}")
    return b


def off_zero(type, shape):
    """Diagonals that dominate."""
    return drawn(type, shape, lambda a: a + 4)


# fmt: off
@op(_tridiagonal_rule, cases=[
    case("f64[4]", off_zero("f8", (4,)), "f64[4]", "f64[4,2]"),
    case("f64[2,3]", off_zero("f8", (2, 3)), "f64[2,3]", "f64[2,3,1]"),
    case("c128[3]", off_zero("c16", (3,)), "c128[3]", "c128[3,2]"),
    case("f32[1]", off_zero("f4", (1,)), "f32[1]", "f32[1,2]"),
])
# fmt: on
def tridiagonal_solve(dl, d, du, b):
    """The x with dl[i] x[i-1] + d[i] x[i] + du[i] x[i+1] = b[i] for every row i; dl[0] and du[-1] are not read.
    [LAPACK gtsv]"""
    a, i = np.zeros((*d.shape, d.shape[-1]), d.dtype), np.arange(d.shape[-1])
    a[..., i, i], a[..., i[1:], i[:-1]], a[..., i[:-1], i[1:]] = d, dl[..., 1:], du[..., :-1]
    return _solved(a, b)


# -- factorisations --------------------------------------------------------------------------------


@op(square_rule, cases=[
    case(drawn("f8", (3, 3), definite)), case(drawn("f8", (2, 4, 4), definite)), case(drawn("f8", (1, 1), definite)),
    case(drawn("c16", (3, 3), definite)), case(drawn("f4", (3, 3), definite)), case(drawn("c8", (2, 2, 2), definite)),
    case(np.array([[[1, 9], [2, 3]], [[4, 9], [2, 3]]], "f4")),
])
def cholesky(x):
    """The lower triangular l, its diagonal positive, with l l^H = x; NaN where x is not positive definite.

    Only the lower triangle of x is read, as by numpy.linalg.cholesky.  [LAPACK potrf]
    """
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:  # of the whole stack: one by one then
        return np.tril(np.full_like(x, np.nan)) if x.ndim == 2 else np.stack([cholesky(a) for a in x])


def _lu_rule(op, x):
    batch, m, n = matrices(op, x)
    return x, Tensor((*batch, min(m, n)), np.dtype("i4")), Tensor((*batch, m), np.dtype("i4"))


@op(_lu_rule, multiple=True, cases=[
    case(drawn("f8", (3, 3), shuffled)), case(drawn("f8", (2, 4, 4), shuffled)), case(drawn("f8", (4, 2), shuffled)),
    case(drawn("f8", (2, 2, 4), shuffled)), case(drawn("f8", (1, 1))), case(drawn("c16", (3, 3), shuffled)),
    case(drawn("f4", (3, 3))), case(np.zeros((2, 2), "f4")),
])
def lu(x):
    """Factors by rows exchanged: (l and u packed, pivots, permutation) with x[permutation] = l u.

    l has ones on its diagonal and lies below that of the first result, u on and above it. Row i was exchanged with row
    pivots[i] >= i, chosen for the greatest |re| + |im| in its column.  [LAPACK getrf]
    """
    a = x.reshape(-1, *x.shape[-2:]).copy()
    (batch, m, n), each = a.shape, np.arange(a.shape[0])
    order, pivots = np.tile(np.arange(m, dtype=np.int32), (batch, 1)), np.zeros((batch, min(m, n)), np.int32)
    for k in range(min(m, n)):
        p = pivots[:, k] = k + np.argmax(np.abs(a[:, k:, k].real) + np.abs(a[:, k:, k].imag), axis=1)
        a[each, k], a[each, p] = a[each, p], a[each, k].copy()
        order[each, k], order[each, p] = order[each, p], order[each, k].copy()
        pivot = a[:, k, k, None]
        a[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 :]
    return a.reshape(x.shape), pivots.reshape(*x.shape[:-2], -1), order.reshape(*x.shape[:-2], -1)


def _qr_rule(op, x, *, full):
    batch, m, n = matrices(op, x)
    k = m if full else min(m, n)
    return x.like((*batch, m, k)), x.like((*batch, k, n))


def _is_qr(operands, results, *, full):
    q, r = results
    orthonormal(q)
    assert_close(q @ r, operands[0])
    assert np.array_equal(r, np.triu(r))


@op(_qr_rule, multiple=True, check=_is_qr, cases=[
    case(drawn("f8", (3, 3), dominant)), case(drawn("f8", (2, 4, 2), dominant)), case(drawn("f8", (2, 4), dominant)),
    case(drawn("f8", (1, 1))),
    case(drawn("f8", (3, 4), dominant), full=True), case(drawn("c16", (3, 3), dominant)),
    case(drawn("c16", (4, 2), dominant)),
    case(drawn("c16", (2, 3), dominant)), case(drawn("f4", (4, 2)), full=True), case(drawn("c8", (3, 3))),
])
def qr(x, *, full=False):
    """(q, r) with q r = x, the columns of q orthonormal, r upper triangular; signs are those of the machine's library.

    x: [..., m, n] -> q: [..., m, k], r: [..., k, n], k the lesser of m and n, or m if `full`.  [LAPACK geqrf, orgqr]
    """
    return np.linalg.qr(x, "complete" if full else "reduced")
