"""Products, np.linalg, np.fft and polynomials on traced values: NumPy's values, dtypes, shapes, types and errors."""

import warnings

import numpy as np
import pytest
from arrays import drawn
from compare import agree, check_same
from sweep import by_xla
from table import check

import wengert
from wengert import UnsupportedError, jit, jvp

DTYPES = ["float64", "float32", "complex128", "int32", "uint8", "bool"]


def operands(dtype):
    """v [3], w [4], a [2,3], b [3,4], m [3,3], t [2,3,4], s []."""
    shapes = {"v": 3, "w": 4, "a": (2, 3), "b": (3, 4), "m": (3, 3), "t": (2, 3, 4), "s": ()}
    return {name: drawn(dtype, shape, seed) for seed, (name, shape) in enumerate(shapes.items())}


PRODUCTS = """
a @ b, v @ v, v @ b, b @ w, t @ w, a @ b @ w, m @ t, v @ t, t @ t.swapaxes(1, 2), b[:, :0] @ b.T[:0], a[:0] @ b, t[:, None] @ w
np.matmul(a, b), np.matmul(t, b.T), np.matmul(t[:1], t.mT), np.matmul(t[:, None], b.T[None]), np.linalg.matmul(a, b), [1, 2] @ a, a @ [1, 0, 1]
np.matmul(a, b, axes=[(0, 1), (0, 1), (1, 0)]), np.matmul(a, b, dtype=complex)
a @ a  # ValueError
a @ s  # ValueError
t @ t  # ValueError
np.vecdot(v, v), np.vecdot(t, w), np.vecdot(t, t, axis=0), np.vecdot(b, w, keepdims=True), np.linalg.vecdot(t, t, axis=1)
np.matvec(a, v), np.matvec(t, w), np.vecmat(v, b), np.vecmat(t[..., 0], b)
np.vecdot(v, w)  # ValueError
np.matmul(a, b, keepdims=True)  # TypeError
np.dot(a, b), np.dot(v, v), np.dot(t, w), np.dot(a, t), np.dot(s, a), np.dot(a, 2), a.dot(b), np.dot(v, [1, 2, 3]), np.dot(v[:0], v[:0])
np.dot(a, a)  # ValueError
np.dot(v, w)  # ValueError
np.vdot(v, v), np.vdot(a, a), np.vdot(t, t), np.vdot(a, b[:2, :3]), np.inner(v, v), np.inner(t, w), np.inner(a, m), np.inner(s, v), np.inner(2, v)
np.vdot(v, w)  # ValueError
np.inner(v, w)  # ValueError
np.outer(v, w), np.outer(a, w), np.outer(s, v), np.linalg.outer(v, w), np.outer(v, [1, 2])
np.linalg.outer(a, v)  # ValueError
np.tensordot(a, b, 1), np.tensordot(v, w, 0), np.tensordot(t, t, ([0, 2], [0, 2])), np.tensordot(t, b, ([1, 2], [0, 1]))
np.tensordot(t, b, (-1, 1)), np.tensordot(a, a.T, ((0, 1), (1, 0))), np.linalg.tensordot(a, b, axes=1)
np.tensordot(a, a, 1)  # ValueError
np.tensordot(t, t, ([0, 0], [0, 0]))  # ValueError
np.kron(v, w), np.kron(a, b), np.kron(v, a), np.kron(s, v), np.kron(t, a), np.kron(v, [1, 2])
np.linalg.multi_dot([a, b, w]), np.linalg.multi_dot([v, m, b, b.T]), np.linalg.multi_dot([a, b]), np.linalg.multi_dot([v, m, v])
np.linalg.multi_dot([a, m, m, b])
np.linalg.multi_dot([a, t, b])  # LinAlgError
np.linalg.multi_dot([a])  # ValueError
np.convolve(v, w), np.convolve(w, v, "same"), np.convolve(v, w, "valid"), np.convolve(v, v[:1]), np.convolve(w, v[:2], "same")
np.convolve(w, [1, 2])
np.correlate(v, w), np.correlate(w, v), np.correlate(v, w, "full"), np.correlate(w, v, "same"), np.correlate(v, w, "same")
np.correlate(w, v[:2], "full")
np.convolve(v[:0], w)  # ValueError
np.convolve(v, w, "middle")  # ValueError
np.convolve(a, v)  # ValueError
np.correlate(v, s)  # ValueError
"""

EINSUM = """
np.einsum("ij,jk->ik", a, b), np.einsum("ij,jk", a, b), np.einsum("i,i", v, v), np.einsum("i,j->ij", v, w), np.einsum("ij->ji", a)
np.einsum("ii", m)
np.einsum("ii->i", m), np.einsum("ij->", a), np.einsum("ij->j", a), np.einsum("ba", a), np.einsum("ii,ij->j", m, m), np.einsum("ij,ij->i", a, a)
np.einsum("...j,jk->...k", t[..., :3], b), np.einsum("i...->...", t), np.einsum("...ij,...jk", t, b.T), np.einsum("...", t)
np.einsum("ij...,ij...->...", a, t)
np.einsum("ij,jk,kl->il", a, b, b.T), np.einsum("ij,jk,kl,l", a, m, m, v), np.einsum("i,j,k->kij", v, w, v)
np.einsum("ij,jk,k->", a, b, w, optimize="optimal")
np.einsum("i,->i", v, s), np.einsum(",", s, s), np.einsum("iij->j", np.stack([m, m], 2)), np.einsum("iji->ij", np.stack([m, m, m], 1))
np.einsum("iii->i", np.stack([m, m, m]))
np.einsum("ij,kj->ik", a[:1], b.T), np.einsum("bij,bjk->bik", t, t.mT), np.einsum("bij,bjk->bik", t[:1], t.mT)
np.einsum("abc,acd->abd", t[..., None][..., 0], t.mT)
np.einsum(a, [0, 1], b, [1, 2], [0, 2]), np.einsum(a, [0, 1], b, [1, 2]), np.einsum(a, [1, 0]), np.einsum(t, [Ellipsis, 0], w, [0], [Ellipsis])
np.einsum("ij,jk->ik", a, b, dtype=complex), np.einsum(" i j , j k -> i k ", a, b), np.einsum("ij,j->i", a, [1, 2, 3]), np.einsum("Aa,aB->AB", a, b)
np.einsum_path("ij,jk,kl->il", a, b, b.T)[0], np.einsum("ij,jk,kl->il", a, b, b.T, optimize=["einsum_path", (1, 2), (0, 1)])
np.einsum("i,i->i", v, v)
np.einsum("ij,jk", a, a)  # ValueError
np.einsum("ij->k", a)  # ValueError
np.einsum("ijk", a)  # ValueError
np.einsum("i,j", a, b)  # ValueError
"""

CROSSES = """
np.cross(v, v[::-1]), np.cross(a, v), np.cross(a.T, a.T, axis=0)
np.cross(a, a[::-1], axisc=0)
np.cross(a.T, a, axisa=0), np.linalg.cross(a, v)
np.cross(w, w)  # ValueError
np.cross(s, v)  # ValueError
np.linalg.cross(v[:2], v)  # ValueError
np.cross(v, v, axisa=2)  # AxisError
np.linalg.matrix_power(m, 0), np.linalg.matrix_power(m, 1), np.linalg.matrix_power(m, 2), np.linalg.matrix_power(m, 3), np.linalg.matrix_power(m, 7)
np.linalg.matrix_power(a, 2)  # LinAlgError
np.linalg.matrix_power(m, 1.5)  # TypeError
"""


@pytest.mark.parametrize("dtype", by_xla(["float32", "complex128", "int32", "bool"], *DTYPES))
@pytest.mark.parametrize("table", [PRODUCTS, EINSUM], ids=["products", "einsum"])
def test_products(table, dtype):
    check(table, rtol=3e-5 if dtype == "float32" else 1e-12, **operands(dtype))


@pytest.mark.parametrize("dtype", by_xla(["float32", "complex128"], *DTYPES[:5]))
def test_crosses_and_powers(dtype):
    check(CROSSES, rtol=3e-5 if dtype == "float32" else 1e-11, **operands(dtype))


def test_mixed_dtypes_and_python_numbers():
    a, b = drawn("float32", (2, 3)), drawn("int8", (3, 2))
    check_same(lambda a, b: (a @ b, b @ a, np.dot(a, b), np.einsum("ij,ji", a, b), np.tensordot(b, a), np.kron(a, b)), a, b, rtol=1e-6)
    check_same(lambda a: (np.dot(a, 2.0), np.outer(a, 2.0), np.inner(2, a), np.kron(a, 3)), a, rtol=1e-6)
    check_same(lambda a, b: np.convolve(a[0], b[0]), a, b, rtol=1e-6)
    wrapping = np.array([[100, 90], [80, -70]], np.int8)
    check_same(lambda b: (b @ b.T, np.dot(b, b.T), np.vdot(b, b), np.einsum("ij,kj", b, b), np.convolve(b[0], b[1])), wrapping)


def test_products_into_out():
    def run(a, b, out):
        np.matmul(a, b, out=out)
        first = out.copy()
        np.dot(a, b.T, out=out)
        np.einsum("ij,jk->ik", b, b, out=out)
        a @= b
        return first, a, np.linalg.multi_dot([a, b, b], out=out) is out

    check_same(run, *(drawn(float, (3, 3), i) for i in range(3)))


# -- np.linalg -------------------------------------------------------------------------------------

SYSTEMS = """
linalg.solve(m, v), linalg.solve(m, b), linalg.solve(n, b), linalg.solve(n, n), linalg.solve(m, n), linalg.solve(n, v), linalg.solve(n[:0], b)
linalg.solve(m, b[:, :0])
linalg.inv(m), linalg.inv(n), linalg.inv(m[:0, :0]), linalg.det(m), linalg.det(n), linalg.det(m[:1, :1]), linalg.det(m[:0, :0]), linalg.det(0 * m)
linalg.det(n[:0])
linalg.slogdet(m), linalg.slogdet(n), linalg.slogdet(0 * m), linalg.slogdet(m[:0, :0]), linalg.slogdet(-m[:1, :1])
linalg.matrix_power(m, -2), linalg.tensorinv(np.reshape(n[0], (3, 3, 1)), 1), linalg.tensorsolve(np.reshape(n[0], (3, 1, 3)), b[:, :1])
linalg.tensorsolve(np.reshape(n[0], (3, 3, 1)), v, axes=(1,))
linalg.tensorsolve(b, v)  # LinAlgError
linalg.tensorinv(m, 0)  # ValueError
linalg.solve(b, v)  # LinAlgError
linalg.solve(m, b.T)  # ValueError
linalg.solve(v, v)  # LinAlgError
linalg.inv(b)  # LinAlgError
linalg.det(v)  # LinAlgError
linalg.slogdet(b)  # LinAlgError
linalg.cholesky(m @ m.T.conj()), linalg.cholesky(p), linalg.cholesky(p, upper=True), linalg.cholesky(p + np.tril(0 * p + 1, -1), upper=True)
linalg.cholesky(m[:0, :0])
linalg.cholesky(b)  # LinAlgError
linalg.lstsq(b.T, np.ones(4)), linalg.lstsq(b.T, b.T), linalg.lstsq(b, v), linalg.lstsq(m, b), linalg.lstsq(b.T, b.T[:, :2], rcond=0.5)[0]
linalg.lstsq(n, v)  # LinAlgError
linalg.lstsq(m, b.T)  # LinAlgError
linalg.pinv(b), linalg.pinv(n), linalg.pinv(b, rcond=0.5), linalg.pinv(p, hermitian=True), linalg.pinv(b[:0])
linalg.pinv(b, rcond=0.1, rtol=0.1)  # ValueError
"""

SIZES = """
linalg.norm(v), linalg.norm(b), linalg.norm(n), linalg.norm(b, keepdims=True), linalg.norm(b, "fro"), linalg.norm(v, 1), linalg.norm(v, np.inf)
linalg.norm(v, -np.inf)
linalg.norm(v, 0), linalg.norm(v, 3), linalg.norm(v, 2.5), linalg.norm(v, -1), linalg.norm(b, axis=0), linalg.norm(b, 1, axis=1)
linalg.norm(b, 3, axis=0, keepdims=True)
linalg.norm(b, 1), linalg.norm(b, -1), linalg.norm(b, 2), linalg.norm(b, -2), linalg.norm(b, np.inf), linalg.norm(b, -np.inf), linalg.norm(b, "nuc")
linalg.norm(n, 1, axis=(0, 2)), linalg.norm(n, np.inf, (2, 0), keepdims=True), linalg.norm(n, axis=(1, 2)), linalg.norm(n, 2, (0, 1))
linalg.norm(n, "nuc", (1, 2), True)
linalg.norm(n, -1, (1, 0)), linalg.norm(v[:0]), linalg.norm(b[:0], axis=0), linalg.norm(v, np.inf, keepdims=True)
linalg.norm(b, "no")  # ValueError
linalg.norm(v, "fro")  # ValueError
linalg.norm(n, 2)  # ValueError
linalg.norm(b, axis=(0, 0))  # ValueError
linalg.norm(b, axis=5)  # AxisError
linalg.norm(b, axis="x")  # TypeError
linalg.matrix_norm(n), linalg.matrix_norm(n, ord=1, keepdims=True), linalg.matrix_norm(b, ord=2), linalg.vector_norm(n)
linalg.vector_norm(n, axis=(0, 2), keepdims=True)
linalg.vector_norm(n, axis=1, ord=1), linalg.vector_norm(b, keepdims=True, ord=np.inf), linalg.vector_norm(v[0])
linalg.cond(m), linalg.cond(n), linalg.cond(b), linalg.cond(m, -2), linalg.cond(m, 1), linalg.cond(n, "fro"), linalg.cond(0 * m, 1)
linalg.cond(m, np.inf)
linalg.cond(m[:0, :0])  # LinAlgError
linalg.matrix_rank(m), linalg.matrix_rank(n), linalg.matrix_rank(b[:, :1] * np.ones(3)), linalg.matrix_rank(v), linalg.matrix_rank(0 * v)
linalg.matrix_rank(b, 0.5)
linalg.matrix_rank(p, hermitian=True), linalg.matrix_rank(n, rtol=0.5), linalg.matrix_rank(n, tol=[1.0, 2.0])
linalg.matrix_rank(b, 1, rtol=1)  # ValueError
"""

FACTORS = """
linalg.svdvals(b), linalg.svdvals(n), linalg.svd(b, compute_uv=False), linalg.svd(b).S, linalg.svd(n, full_matrices=False).S
linalg.svd(p, compute_uv=False, hermitian=True)
[np.shape(u) for u in linalg.svd(b)], [np.shape(u) for u in linalg.svd(b.T)], [np.shape(u) for u in linalg.svd(n, full_matrices=False)]
linalg.svd(b[:0])
[u.dtype for u in linalg.svd(b)], (lambda u, s, v: u * s @ v)(*linalg.svd(b, full_matrices=False))
(lambda u, s, v: u * s @ v)(*linalg.svd(p, hermitian=True))
linalg.svd(v)  # LinAlgError
linalg.eigvalsh(p), linalg.eigvalsh(m), linalg.eigvalsh(m, "U"), linalg.eigvalsh(n), linalg.eigh(p).eigenvalues, linalg.eigh(m, "u").eigenvalues
linalg.eigh(m[:0, :0])
(lambda w, v: v * w @ v.T.conj())(*linalg.eigh(m)), (lambda w, v: v[0] * w[0] @ v[0].T.conj())(*linalg.eigh(n)), [x.dtype for x in linalg.eigh(p)]
linalg.eigh(m, "X")  # ValueError
linalg.eigh(b)  # LinAlgError
abs(linalg.qr(b).Q), abs(linalg.qr(b.T).R), abs(linalg.qr(n)[1]), abs(linalg.qr(b, "r")), [x.shape for x in linalg.qr(b.T, "complete")]
linalg.qr(b[:0])
(lambda q, r: q @ r)(*linalg.qr(b)), (lambda q, r: q @ r)(*linalg.qr(b.T, mode="complete")), [x.dtype for x in linalg.qr(m)], linalg.qr(m[:, :0])
linalg.qr(b, "wrong")  # ValueError
linalg.qr(v)  # LinAlgError
linalg.eig(b)  # LinAlgError
linalg.eigvals(v)  # LinAlgError
"""


def matrices(dtype):
    """m [3,3], n [2,3,3], p [3,3] positive definite, b [3,4], v [3]."""
    m, n, b, v = (drawn(dtype, shape, k) for k, shape in enumerate([(3, 3), (2, 3, 3), (3, 4), 3]))
    m, n = (np.asarray(x + np.diag([5, 3, 4]), x.dtype) for x in (m, n))
    p = np.asarray(m @ m.T.conj() + np.eye(3), m.dtype)
    return {"m": m, "n": n, "p": p, "b": b, "v": v}


@pytest.mark.parametrize("dtype", by_xla(["float64", "complex64"], "float64", "float32", "complex128", "complex64", "int64"))
@pytest.mark.parametrize("table", [SYSTEMS, SIZES, FACTORS], ids=["systems", "sizes", "factors"])
def test_linalg(table, dtype):
    check(table, rtol=2e-3 if dtype in ("float32", "complex64") else 1e-9, **matrices(dtype))


def test_eig():
    m = drawn(float, (4, 4))
    got, want = jit(np.linalg.eig)(m), np.linalg.eig(m)
    agree([np.sort_complex(got.eigenvalues), type(got)], [np.sort_complex(want.eigenvalues), type(want)])
    agree(m @ got.eigenvectors, got.eigenvectors * got.eigenvalues, rtol=1e-11)
    z = m + 1j * drawn(float, (4, 4), 1)
    check_same(lambda z: np.sort_complex(np.linalg.eigvals(z)), z, rtol=1e-11)
    d = np.diag([1.0, 2.0])
    assert jit(np.linalg.eigvals)(d).dtype == np.linalg.eigvals(d).dtype  # NumPy before 2.5 looks at the data
    assert jvp(np.linalg.eigvals, (np.diag([1.0, 2.0]),), (np.eye(2),))[0].dtype == complex  # which a derivative does not


def test_eig_in_loops(falling_back):
    """Real where all are, as the data of each trip would have it; a call in which one is not is plain Python's."""
    def largest(ms):
        return np.array([np.linalg.eigvals(m).max() for m in ms]), [np.linalg.eigvals(m)[0] for m in ms]

    real = np.stack([np.diag([1.0, 2.0, k]) for k in range(20)])
    turns = real.copy()
    turns[7, :2, :2] = [[0.0, 1.0], [-1.0, 0.0]]
    compiled = jit(largest)
    agree(compiled(real), largest(real))
    if np.linalg.eigvals(np.eye(2)).dtype == complex:  # since NumPy 2.5, whatever the data
        return agree(compiled(turns), largest(turns))
    with pytest.warns(wengert.Fallback, match="complex eigenvalues"):
        agree(compiled(turns), largest(turns))
    with pytest.raises(UnsupportedError, match="complex eigenvalues"):
        jit(largest, whole=True)(turns)


@pytest.mark.parametrize("function, bad", [
    (np.linalg.inv, np.ones((2, 2))), (np.linalg.inv, np.stack([np.eye(2), np.zeros((2, 2))])),
    (lambda a: np.linalg.solve(a, a[0]), np.zeros((3, 3))), (lambda a: np.linalg.matrix_power(a, -1), np.zeros((2, 2))),
    (np.linalg.cholesky, -np.eye(2)), (np.linalg.cholesky, np.array([[1.0, 0], [2, 1]])), (np.linalg.eig, np.full((2, 2), np.nan)),
    (np.linalg.svd, np.full((2, 2), np.nan)), (np.linalg.eigvals, np.full((2, 2), np.inf)),
])  # fmt: skip
def test_linalg_errors_when_the_program_runs(function, bad):
    check_same(function, bad)
    with pytest.raises(np.linalg.LinAlgError):
        jit(function)(bad)


def test_a_failed_call_changes_nothing():
    def update(x, a):
        x[0] = 5
        x[:] = np.linalg.solve(a, x)

    x = np.ones(2)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(update)(x, np.zeros((2, 2)))
    assert (x == 1).all()


def test_pinv_with_numpys_tolerance():
    check_same(lambda a: np.linalg.pinv(a, rtol=None), drawn(float, (3, 4)))
    check_same(lambda a: np.linalg.pinv(a, rtol=None), drawn(int, (3, 4)))  # NumPy asks finfo of the integers


def test_half_precision_and_raw_are_refused():
    with pytest.raises(TypeError, match="float16"):
        jit(np.linalg.inv)(np.eye(2, dtype=np.float16))
    with pytest.raises(UnsupportedError, match="raw"):
        jit(lambda a: np.linalg.qr(a, "raw"))(np.eye(2))


# -- np.fft ----------------------------------------------------------------------------------------

WHOLE = """
fft.fft(v), fft.fft(v, 5), fft.fft(v, 2), fft.fft(b, axis=0), fft.fft(b, 6, 0, "ortho"), fft.fft(b, norm="forward"), fft.fft(t, axis=1)
fft.fft(b[:0])
fft.ifft(v), fft.ifft(v, 5), fft.ifft(b, axis=0, norm="ortho"), fft.ifft(b, norm="forward"), fft.ifft(b, norm="backward")
fft.irfft(v), fft.irfft(v, 5), fft.irfft(b, 7, 0), fft.irfft(b, norm="ortho"), fft.irfft(t, 3, axis=1, norm="forward"), fft.hfft(v)
fft.hfft(v, 5, norm="ortho")
fft.fft2(b), fft.fft2(t), fft.fft2(t, (2, 5)), fft.fft2(t, axes=(0, 1)), fft.ifft2(t, norm="ortho"), fft.fftn(t), fft.fftn(t, axes=(0, 2))
fft.fftn(t, (3, 3, 3))
fft.fftn(t, (2, 2), axes=(2, 0), norm="forward"), fft.ifftn(t), fft.ifftn(t, axes=(1,)), fft.fftn(t[None]), fft.fftn(b, axes=(0, 0))
fft.fftn(b, axes=())
fft.irfft2(b), fft.irfftn(t), fft.irfftn(t, (2, 3, 5)), fft.irfftn(t[None], axes=(0, 1, 2, 3)), fft.irfft2(t, norm="ortho")
fft.fftn(t, (-1, 2), axes=(0, 1))
fft.fftshift(v), fft.fftshift(b), fft.fftshift(b, 0), fft.ifftshift(b), fft.ifftshift(t, (0, -1)), fft.ifftshift(v, axes=(0,))
fft.fft(v, 0)  # ValueError
fft.fft(b, axis=3)  # IndexError
fft.fft(v, norm="no")  # ValueError
fft.fftn(b, (1, 2, 3), axes=(0, 1))  # ValueError
fft.irfft(v[:1])  # ValueError
fft.fftn(b, axes=(0, 5))  # IndexError
"""

HALVED = """
fft.rfft(v), fft.rfft(v, 5), fft.rfft(v, 2), fft.rfft(b, axis=0), fft.rfft(b, 6, 0, "ortho"), fft.rfft(b, norm="forward"), fft.ihfft(v)
fft.ihfft(v, 5, norm="ortho")
fft.rfft2(b), fft.rfft2(t), fft.rfftn(t), fft.rfftn(t, (2, 5), axes=(1, 2)), fft.rfftn(t[None]), fft.rfft2(t, norm="ortho")
fft.rfftn(t, axes=(2, 0), norm="forward"), fft.rfft(b[:0])
fft.irfft(fft.rfft(v), 3), fft.rfft(v, 1)
"""


@pytest.mark.parametrize("dtype", by_xla(["complex128", "float32"], "float64", "complex128", "float32", "int32", "bool"))
def test_fft(dtype):
    given = {name: drawn(dtype, shape, k) for k, (name, shape) in enumerate({"v": 3, "b": (3, 4), "t": (2, 3, 4)}.items())}
    rtol = 3e-5 if dtype == "float32" else 1e-11
    check(WHOLE, rtol=rtol, **given)
    if dtype != "complex128":
        check(HALVED, rtol=rtol, **given)
    else:
        check("fft.rfft(v)  # TypeError\nfft.rfftn(b)  # TypeError", **given)


def test_fft_into_out():
    check_same(lambda x, out: (np.fft.fft(x, out=out), out), drawn(float, 4), np.zeros(4, complex))


# -- polynomials -----------------------------------------------------------------------------------

POLYNOMIALS = """
np.polyval(p, x), np.polyval(p, 2), np.polyval([1, 2, 3], x), np.polyval(p, s), np.polyval(p, x[0]), np.polyval(p[:0], x), np.polyval([], x)
np.polyadd(p, q), np.polyadd(q, p), np.polyadd(p, [1, 2, 3, 4, 5]), np.polysub(p, q), np.polysub(q, p), np.polymul(p, q), np.polymul(p, [0, 1, 2])
np.polyadd(p, 1)
np.polyder(p), np.polyder(p, 2), np.polyder(p, 0), np.polyder(p, 5), np.polyint(p), np.polyint(p, 2), np.polyint(p, 2, [3, 4]), np.polyint(p, 1, 5)
np.polyint(p, 0)
np.polyder(p, -1)  # ValueError
np.polyint(p, -1)  # ValueError
np.polyint(p, 3, [1, 2])  # ValueError
np.poly(q), np.poly(x[:0]), np.poly(np.outer(x, x))
np.poly(np.ones(3) * np.ones((2, 3)) * s)  # ValueError
"""

FITS = """
np.polyfit(x, y, 2), np.polyfit(x, y, 0), np.polyfit(x, y, 1, w=w), np.polyfit(x, np.stack([y, w], 1), 2), np.polyfit(x, y, 2, full=True)
np.polyfit(x, y, 1, cov=True)
np.polyfit(x, y, 1, cov="unscaled"), np.polyfit(x, np.stack([y, w], 1), 1, cov=True)
np.polyfit(x, y, -1)  # ValueError
np.polyfit(x[None], y, 1)  # TypeError
np.polyfit(x, y[:3], 1)  # TypeError
np.polyfit(x, y, 5, cov=True)  # ValueError
"""


@pytest.mark.parametrize("dtype", by_xla(["float64", "complex128"], "float64", "float32", "int32", "complex128"))
def test_polynomials(dtype):
    given = {name: drawn(dtype, shape, k) for k, (name, shape) in enumerate({"p": 4, "q": 2, "x": 3, "s": ()}.items())}
    given["p"][0] = 2  # polymul keeps leading zeros
    table = POLYNOMIALS if dtype != "complex128" else POLYNOMIALS.replace(", np.poly(np.outer(x, x))", "")
    check(table, rtol=1e-4 if dtype == "float32" else 1e-11, **given)


def test_polyfit():
    check(FITS, rtol=1e-8, x=np.linspace(-1, 2, 6), y=drawn(float, 6), w=abs(drawn(float, 6, 1)) + 0.5)
    single = {"x": np.linspace(-1, 2, 6, dtype="f4"), "y": drawn("f4", 6), "w": abs(drawn("f4", 6, 1)) + 1}
    check("np.polyfit(x, y, 2), np.polyfit(x, y, 1, w=w)", rtol=2e-3, **single)


# -- derivatives -----------------------------------------------------------------------------------


def everything(x):
    m = x @ x.T + 3 * np.eye(3)
    parts = [
        np.linalg.solve(m, x), np.linalg.inv(m), np.linalg.det(m) / 50, np.linalg.slogdet(m)[1], np.linalg.cholesky(m), np.linalg.norm(x),
        np.linalg.norm(m, 2), np.linalg.eigvalsh(m), np.linalg.pinv(x), np.linalg.lstsq(x.T, np.ones(4))[0], np.linalg.qr(m).R ** 2,
        np.linalg.cond(m), np.linalg.matrix_power(m / 5, 3), np.linalg.multi_dot([x, x.T, x]) / 9, abs(np.fft.fft(x)), np.fft.irfft(np.fft.rfft(x)),
        np.convolve(x[0], x[1]), np.correlate(x[0], x[1, :2], "same"), np.einsum("ij,ik,jl->kl", x, x, x.T), np.polyval(x[0], x[1]),
        np.polyfit(x[0], x[1], 1), np.kron(x[0], x[1]), np.cross(x[:, :3], x[0, :3]),
    ]  # fmt: skip
    return sum(np.sum(np.sin(p / (k + 1))) for k, p in enumerate(parts))


def test_gradients():
    x, d = drawn(float, (3, 4)), 1e-6 * drawn(float, (3, 4), 5)
    slope = wengert.grad(everything)(x)
    agree((slope * d).sum(), (everything(x + d) - everything(x - d)) / 2, rtol=1e-6)


def test_batched_gradients():
    def loss(a, b):
        squares = np.linalg.solve(a, b) ** 2, np.linalg.det(a) ** 2, np.matmul(a, b) ** 2, np.einsum("...ij,...jk->...ik", a, b) ** 2
        return sum(np.sum(s) for s in squares)

    a, b = drawn(float, (2, 3, 3)), drawn(float, (2, 3, 2), 1)
    for k, slope in enumerate(wengert.grad(loss, argnums=(0, 1))(a, b)):
        d = 1e-6 * drawn(float, slope.shape, 7)
        up, down = ((loss(a + d, b), loss(a - d, b)) if k == 0 else (loss(a, b + d), loss(a, b - d)))
        np.testing.assert_allclose((slope * d).sum(), (up - down) / 2, rtol=1e-6)


# -- counting in boxes -----------------------------------------------------------------------------

BOXES = """
np.histogram2d(x, y), np.histogram2d(x, y, 3), np.histogram2d(x, y, (2, 4), range=[[-1, 1], [0, 2]]), np.histogram2d(x, y, [[-2, 0, 1, 4], 3])
np.histogram2d(x, y, [-1, 0, 1, 2.5]), np.histogram2d(x, y, 3, density=True), np.histogram2d(x, y, 3, weights=w), np.histogram2d(x, y, [x[:1], 2])
np.histogramdd(np.stack([x, y, w], 1), 2), np.histogramdd((x, y), [2, 3], density=True, weights=w), np.histogramdd(x[:, None], 4)
np.histogram2d(x, y[:2])  # ValueError
np.histogram2d(x, y, 0)  # ValueError
np.histogramdd((x, y), [2, 3, 4])  # ValueError
np.histogramdd((x, y), 2, range=[[0, 1]])  # ValueError
np.histogram2d(x, y, [[1, 0], 2])  # ValueError
np.histogram2d(x, y, 2, weights=w[:2])  # ValueError
"""


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_boxes(dtype):
    check(BOXES, rtol=1e-9, x=drawn(dtype, 9), y=drawn(dtype, 9, 1), w=drawn(dtype, 9, 2))


def test_cross_products_of_the_plane_are_what_this_numpy_says():
    v, w = np.arange(1.0, 4.0), np.array([2.0, -1.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated before NumPy 2.5, refused since
        for cross in (lambda v, w: np.cross(v[:2], w), lambda v, w: np.cross(v, w[:2]), lambda v, w: np.cross(v[:2], w[1:])):
            check_same(cross, v, w)
