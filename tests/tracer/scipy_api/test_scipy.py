"""SciPy's names on traced values: values, dtypes, shapes and kinds are SciPy's, gradients agree with finite differences.

Tolerances stand here once, in units in the last place; those of `LOOSER` are explained there.
"""

import sys

import numpy as np
import pytest
from sweep import by_xla

from wengert import DerivativeError, UnsupportedError, grad, jacrev, jit, jvp, vmap
from wengert.ir.types import IRTypeError
from wengert.tracer.numpy_api.scipy_registry import DISTRIBUTIONS, FUNCTIONS, RULES
from wengert.tracer.scipy_api import hosted

pytest.importorskip("scipy")

import scipy.integrate as si
import scipy.linalg as sl
import scipy.ndimage as snd
import scipy.signal as ss
import scipy.special as sp
import scipy.stats as st

ULPS = 10
LOOSER = {  # name -> ulps of the greatest magnitude about
    "beta": 1024, "betainc": 512, "gammainc": 512, "gammaincc": 16384,  # exp of a long exponent; 1 - P where P is near 1
    "digamma": 256, "psi": 256, "gammaln": 2048, "betaln": 2048, "kl_div": 1024, "rel_entr": 128, "inv_boxcox": 64,  # near their zeros
}  # fmt: skip
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 10.0, 170.0])
NOT_NEGATIVE = ("beta", "betaln")  # refused below 0
WHOLE_ORDER = ("yn", "kn", "expn")


LONG = {"beta", "t"}  # incomplete beta functions, which XLA compiles for seconds


def some(cases, every=9):
    """All cases, of which only one in so many is run where the slow ones are left out."""
    cases = [c if hasattr(c, "values") else pytest.param(*(c if isinstance(c, tuple) else (c,))) for c in cases]
    short = lambda c: not any(isinstance(v, str) and v in LONG for v in c.values)
    return [c if n % every == 0 and short(c) else pytest.param(*c.values, id=c.id, marks=[*c.marks, pytest.mark.slow]) for n, c in enumerate(cases)]


def special_arguments(name, dtype):
    """A wide draw and every pair of special values."""
    rng = np.random.default_rng(3)
    wide = np.concatenate([rng.uniform(-5, 5, 200), rng.uniform(0, 1, 100), np.exp(rng.uniform(-8, 5, 100)), -np.exp(rng.uniform(-8, 4.0, 100))])
    n = len(SPECIAL)
    if getattr(sp, name).nin == 1:
        args = (np.concatenate([wide, SPECIAL]),)
    elif getattr(sp, name).nin == 2:
        args = np.concatenate([wide, np.repeat(SPECIAL, n)]), np.concatenate([rng.permutation(wide), np.tile(SPECIAL, n)])
    elif name in hosted.FUNCTIONS:
        args = rng.uniform(0.2, 0.8, (getattr(sp, name).nin, 20))
    else:
        p = np.exp(rng.uniform(-3, 3, 300))
        rows = (p, SPECIAL), (rng.permutation(p), SPECIAL[::-1]), (rng.uniform(0, 1, 300), SPECIAL)
        args = tuple(map(np.concatenate, rows))
    if name in WHOLE_ORDER:
        args = [np.clip(np.nan_to_num(np.round(args[0])), 0, 20), args[1]]
    return [np.abs(a).astype(dtype) if name in NOT_NEGATIVE else a.astype(dtype) for a in args]


def near(got, want, ulps, floor=0.0):
    """Equal kind, dtype, shape; equal where not finite; numbers within `ulps`, subnormal ones being 0 to XLA."""
    assert type(got) is type(want), f"{type(got)} against {type(want)}"
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape} against {want.dtype}{want.shape}"
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    info = np.finfo(want.dtype)
    bound = ulps * float(info.eps) * np.abs(want[finite].astype(complex)) + 2 * float(info.tiny) + floor * float(info.eps)
    off = np.abs(got[finite].astype(complex) - want[finite])
    assert np.all(off <= bound), f"by {np.max(off / bound) * ulps:.0f} ulps at {np.argmax(off / bound)}\n{got[finite]}\n{want[finite]}"


def scaled(got, want, ulps):
    """As `near`, by the greatest magnitude of the whole."""
    assert type(got) is type(want), f"{type(got)} against {type(want)}"
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            scaled(g, w, ulps)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, f"{got.dtype}{got.shape} against {want.dtype}{want.shape}"
    eps = np.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, want, rtol=0, atol=float(ulps * eps * np.max(np.abs(want), initial=1)))


def slope(f, x, t, h=1e-3):
    """Sixth-order central difference of f along t."""
    return sum(w / (60 * h) * (f(x + k * h * t) - f(x - k * h * t)) for k, w in ((1, 45), (2, -9), (3, 1)))


# -- scipy.special ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", some(sorted(RULES["scipy.special"]), 9))
def test_special_values(name, dtype):
    f, args = getattr(sp, name), special_arguments(name, dtype)
    with np.errstate(all="ignore"):
        want = f(*args)
    near(jit(lambda *a: f(*a))(*args), want, LOOSER.get(name, ULPS), floor=4.0 * (name == "betaln"))  # the logarithm of a number rounded near 1


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", some(sorted(RULES["scipy.special"]), 9))
def test_special_dtypes_and_kinds(name):
    f = getattr(sp, name)
    if name in WHOLE_ORDER:
        return near(jit(lambda n, x: f(n, x))(2, np.float32(0.5)), f(2, np.float32(0.5)), 1)
    for value in (np.float32(0.5), 0.5, np.int64(1), True, np.float16(0.5), np.array(0.5), np.array([[1], [2]], np.uint8)):
        args = (value,) + (np.array([0.25, 0.5]),) * (f.nin - 1)
        near(jit(lambda a, *rest: f(a, *rest))(*args), f(*args), 512)
        if f.nin > 1:
            near(jit(lambda *a: f(*a))(*(np.float32(0.5),) * (f.nin - 1), value), f(*(np.float32(0.5),) * (f.nin - 1), value), 512)


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", some(sorted(RULES["scipy.special"]), 9))
def test_special_derivatives(name):
    f = getattr(sp, name)
    x = np.array([0.2, 0.35, 0.6, 0.8])
    more = np.array([0.7, 0.3, 0.9, 0.45]), np.array([0.3, 0.4, 0.6, 0.7]), np.array([0.2, 0.1, 0.5, 0.4])
    args = (x if name not in WHOLE_ORDER else np.arange(4), *more[: f.nin - 1])
    t = np.array([1.0, -0.5, 0.7, 0.3])
    own = hosted.FUNCTIONS.get("jv" if name == "jn" else name) if name not in hosted.COMPLEX else None
    known = own.slopes if own else (True,) * f.nin
    for i in range(f.nin):
        one = lambda v, i=i: np.real(f(*args[:i], v, *args[i + 1 :])).sum()
        if not known[i]:
            with pytest.raises((IRTypeError, DerivativeError)):
                grad(one)(args[i])
            continue
        first = grad(one)
        np.testing.assert_allclose((first(args[i]) * t).sum(), slope(one, args[i], t), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(jvp(one, (args[i],), (t,))[1], slope(one, args[i], t), rtol=1e-7, atol=1e-8)
        along = lambda v, first=first: (first(v) * t).sum()
        np.testing.assert_allclose((grad(along)(args[i]) * t).sum(), slope(along, args[i], t), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [*hosted.COMPLEX, "digamma", "jv", "wofz"])
def test_special_functions_of_complex_numbers(name):
    f = getattr(sp, name)
    z = np.array([0.3 + 0.4j, 1.2 - 0.7j, 2.5 + 0.1j])
    at = (lambda z: f(z)) if f.nin == 1 else lambda z: f(1.5, z)
    near(jit(at)(z), at(z), 1)
    near(jit(at)(z.astype("c8")), at(z.astype("c8")), 1)
    if name in ("psi", "digamma"):
        with pytest.raises(IRTypeError, match="not known"):
            grad(lambda z: at(z).sum(), holomorphic=True)(z)
        return
    np.testing.assert_allclose(grad(lambda z: at(z).sum(), holomorphic=True)(z), slope(at, z, 1.0), rtol=1e-8)


@pytest.mark.as_numpy
def test_bessel_functions_have_derivatives_at_zero():
    for f, want in ((sp.i1, [0.5, 0.0, 0.375]), (sp.i0, [0.0, 0.5, 0.0]), (sp.j1, [0.5, 0.0, -0.375]), (lambda x: sp.jv(2, x), [0.0, 0.25])):
        g = f
        for slope_at_zero in want:
            g = grad(lambda x, g=g: g(x))
            assert g(0.0) == pytest.approx(slope_at_zero, abs=1e-14)


@pytest.mark.as_numpy
def test_gamma_has_derivatives_at_whole_numbers():
    x = np.array([1.0, 2.0, 5.0])
    np.testing.assert_allclose(grad(lambda x: sp.gamma(x).sum())(x), sp.gamma(x) * sp.psi(x), rtol=1e-12)
    np.testing.assert_allclose(grad(lambda a: sp.betaln(a, 2.0).sum())(x), sp.psi(x) - sp.psi(x + 2), rtol=1e-12)


def test_derivatives_stay_finite_where_the_formula_does_not():
    assert grad(lambda x: sp.xlogy(x, 2.0))(0.0) == np.log(2.0)
    np.testing.assert_array_equal(grad(lambda y: sp.xlogy(np.zeros(2), y).sum())(np.array([0.0, 3.0])), 0)
    assert np.isfinite(grad(lambda x: sp.rel_entr(x, np.array([1.0, 2.0])).sum())(np.array([0.5, 3.0]))).all()
    assert np.isfinite(grad(lambda x: sp.logsumexp(x))(np.array([-np.inf, 0.0, 1.0]))[1:]).all()


MATRIX = np.array([[0.3, -1.0, 2.0, np.inf], [-np.inf, 0.5, 700.0, -700.0], [0.1, 0.2, 0.3, 0.4]])
WHOLE = {
    "logsumexp": [
        lambda x: sp.logsumexp(x), lambda x: sp.logsumexp(x[2], axis=0), lambda x: sp.logsumexp(x[1:], axis=-1, keepdims=True),
        lambda x: sp.logsumexp(x[2], b=np.array([1.0, 0.0, 2.0, -0.5])), lambda x: sp.logsumexp(x, axis=(0, 1)), lambda x: sp.logsumexp(x[2, 0]),
        lambda x: sp.logsumexp(x[1, :1]),
    ],
    "softmax": [lambda x: sp.softmax(x[1:]), lambda x: sp.softmax(x[2]), lambda x: sp.softmax(x[1:], axis=1)],
    "log_softmax": [lambda x: sp.log_softmax(x[2]), lambda x: sp.log_softmax(x[2:], axis=1)],
    "softplus": [lambda x: sp.softplus(x[2])],
    "polygamma": [lambda x: sp.polygamma(2, x[2]), lambda x: sp.polygamma(0, x[2]), lambda x: sp.polygamma(1, x[2, 0])],
    "multigammaln": [lambda x: sp.multigammaln(x[2] + 1.5, 3), lambda x: sp.multigammaln(x[2, 0], 1)],
    "factorial": [
        lambda x: sp.factorial(x[2] * 10), lambda x: sp.factorial(x[2, 0]), lambda x: sp.factorial(np.arange(9) + 0 * x[2, :1].astype(int)),
    ],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name, f", some([pytest.param(n, f, id=f"{n}{k}") for n, fs in WHOLE.items() for k, f in enumerate(fs)]))
def test_special_functions_of_arrays(name, f, dtype):
    if not hasattr(sp, name):
        pytest.skip("an older SciPy")
    x = MATRIX.astype(dtype)
    if dtype == "f4" and name in ("polygamma", "factorial", "multigammaln"):  # single precision, which SciPy mixes with double, is refused in part
        x = MATRIX
    with np.errstate(all="ignore"):
        want = f(x)
    near(jit(f)(x), want, 64)


@pytest.mark.as_numpy
def test_special_functions_of_integers():
    x = np.array([1, 2, 5])
    for f in (sp.logsumexp, sp.softmax, sp.log_softmax, sp.factorial, lambda x: sp.polygamma(1, x), lambda x: sp.factorial(x[1])):
        near(jit(lambda x, f=f: f(x))(x), f(x), 16)


# -- scipy.linalg ----------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
A, B, V = RNG.normal(size=(4, 4)) + 3 * np.eye(4), RNG.normal(size=(4, 2)), RNG.normal(size=4)
S = A @ A.T
LINALG = {
    "solve": [lambda a, b, v: sl.solve(a, b), lambda a, b, v: sl.solve(a, v), lambda a, b, v: sl.solve(a, v, transposed=True)],
    "inv": [lambda a, b, v: sl.inv(a)],
    "det": [lambda a, b, v: sl.det(a)],
    "solve_triangular": [
        lambda a, b, v: sl.solve_triangular(a, b), lambda a, b, v: sl.solve_triangular(a, v, lower=True),
        lambda a, b, v: sl.solve_triangular(a, v, trans="T"), lambda a, b, v: sl.solve_triangular(a, b, trans=2, lower=True, unit_diagonal=True),
    ],
    "cholesky": [lambda a, b, v: sl.cholesky(a @ a.T), lambda a, b, v: sl.cholesky(a @ a.T, lower=True)],
    "cho_factor": [lambda a, b, v: sl.cho_factor(a @ a.T), lambda a, b, v: sl.cho_factor(a @ a.T, lower=True)],
    "cho_solve": [lambda a, b, v: sl.cho_solve(sl.cho_factor(a @ a.T), v), lambda a, b, v: sl.cho_solve(sl.cho_factor(a @ a.T, True), b)],
    "lu_factor": [lambda a, b, v: sl.lu_factor(a), lambda a, b, v: sl.lu_factor(a[:, :2].copy())],
    "lu_solve": [lambda a, b, v, t=t: sl.lu_solve(sl.lu_factor(a[::-1]), b, trans=t) for t in (0, 1, 2)],
    "lu": [lambda a, b, v: sl.lu(a), lambda a, b, v: sl.lu(a[:, :2], permute_l=True), lambda a, b, v: sl.lu(a[:2], p_indices=True)],
    "qr": [lambda a, b, v: sl.qr(b), lambda a, b, v: sl.qr(b, mode="economic"), lambda a, b, v: sl.qr(b, mode="r")],
    "svd": [lambda a, b, v: sl.svd(b, compute_uv=False), lambda a, b, v: np.abs(sl.svd(b, full_matrices=False)[0])],
    "svdvals": [lambda a, b, v: sl.svdvals(b)],
    "eigh": [lambda a, b, v: sl.eigh(a @ a.T)[0], lambda a, b, v: np.abs(sl.eigh(a @ a.T, lower=False)[1])],
    "eigvalsh": [lambda a, b, v: sl.eigvalsh(a @ a.T)],
    "norm": [lambda a, b, v: sl.norm(b), lambda a, b, v: sl.norm(v, 1), lambda a, b, v: sl.norm(b, axis=0), lambda a, b, v: sl.norm(b, 2)],
    "eig": [lambda a, b, v: np.abs(sl.eig(a)[0]), lambda a, b, v: np.abs(sl.eig(a @ a.T)[1]), lambda a, b, v: sl.eig(a, right=False).real],
    "eigvals": [lambda a, b, v: sl.eigvals(a).imag, lambda a, b, v: sl.eigvals(b @ b.T)],
    "pinv": [lambda a, b, v: sl.pinv(b)],
    "expm": [lambda a, b, v: sl.expm(a), lambda a, b, v: sl.expm(-3 * a), lambda a, b, v: sl.expm(a / 1000)],
    "block_diag": [lambda a, b, v: sl.block_diag(a, b, v), lambda a, b, v: sl.block_diag(v, [[1, 2]], 3.0)],
    "toeplitz": [lambda a, b, v: sl.toeplitz(v), lambda a, b, v: sl.toeplitz(v, v[:2])],
    "hankel": [lambda a, b, v: sl.hankel(v), lambda a, b, v: sl.hankel(v, v[:2])],
    "circulant": [lambda a, b, v: sl.circulant(v)],
    "solve_sylvester": [lambda a, b, v: sl.solve_sylvester(a, a[:2, :2] + 1, b)],
    "sqrtm": [lambda a, b, v: sl.sqrtm(a @ a.T).real],
    "solve_banded": [
        lambda a, b, v: sl.solve_banded((1, 1), a[:3], b), lambda a, b, v: sl.solve_banded((2, 0), a[:3], v),
        lambda a, b, v: sl.solve_banded((0, 4), np.concatenate([a, v[None]]), b),
    ],
}  # fmt: skip
ROWS = [pytest.param(name, f, id=f"{name}{k}") for name, fs in LINALG.items() for k, f in enumerate(fs)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("name, f", some(ROWS))
def test_linalg(name, f, dtype):
    turn = np.exp(0.3j) if dtype == "c16" else 1
    args = [(turn * x).astype(dtype) for x in (A, B, V)]
    if dtype == "c16":
        args[0] = args[0] + 1j * A.T
        if name in ("cholesky", "cho_factor", "cho_solve", "eigh", "eigvalsh"):
            pytest.skip("a @ a.T is not Hermitian; test_hermitian has these")
    if dtype == "c16" and f is LINALG["solve"][2]:
        return raises_alike(f, *args)
    single_det = name == "det" and dtype == "f4"  # SciPy gives a determinant of single precision as double
    scaled(jit(f)(*args), f(*args), 2.0**30 if single_det else 256 if name != "expm" else 2.0**16)


def test_hermitian():
    h = A + 1j * B @ B.T
    h = h @ np.conj(h.T)
    for f in (sl.cholesky, sl.eigvalsh, lambda h: sl.cho_solve(sl.cho_factor(h), V), lambda h: sl.cho_solve(sl.cho_factor(h, True), V)):
        scaled(jit(lambda h, f=f: f(h))(h), f(h), 256)


@pytest.mark.as_numpy
@pytest.mark.parametrize("name, f", some([p for p in ROWS if p.values[0] not in ("qr", "svd", "eigh", "lu_factor", "lu", "cho_factor")]))
def test_linalg_derivatives(name, f):
    weights = RNG.normal(size=np.shape(f(A, B, V)))
    args = [A, B, V]
    for i in range(3):
        t = RNG.normal(size=args[i].shape)
        loss = lambda x, i=i: (f(*args[:i], x, *args[i + 1 :]) * weights).sum()
        got = (grad(loss)(args[i]) * t).sum()
        np.testing.assert_allclose(got, slope(loss, args[i], t), rtol=1e-6, atol=1e-7 * max(1, np.abs(f(*args)).max()))


@pytest.mark.as_numpy
def test_square_roots_are_complex_where_scipys_are():
    for a in (S, -S, A, S.astype("f4")):
        scaled(jit(lambda a: sl.sqrtm(a))(a), sl.sqrtm(a), 1024)
    moved = lambda x: np.abs(sl.sqrtm(x - 4 * np.eye(4))).sum()
    t = RNG.normal(size=(4, 4))
    np.testing.assert_allclose((grad(moved)(S) * t).sum(), slope(moved, S, t, 1e-4), rtol=1e-6)
    np.testing.assert_allclose(jvp(moved, (S,), (t,))[1], slope(moved, S, t, 1e-4), rtol=1e-6)


@pytest.mark.as_numpy
def test_equations_have_second_derivatives_and_lanes():
    many = np.stack([A, A.T, S])
    for f in (lambda a: sl.solve_sylvester(a, a.T, B @ B.T), lambda a: sl.sqrtm(a @ a.T).real, lambda a: sl.solve_banded((1, 2), a, B)):
        np.testing.assert_allclose(vmap(f)(many), np.stack([f(a) for a in many]), rtol=1e-10, atol=1e-12)
        first, t = grad(lambda a, f=f: np.sin(f(a)).sum()), RNG.normal(size=(4, 4))
        along = lambda a, first=first, t=t: (first(a) * t).sum()
        want = slope(along, A, t, 1e-4)
        np.testing.assert_allclose((grad(along)(A) * t).sum(), want, rtol=1e-6)
        np.testing.assert_allclose(jvp(along, (A,), (t,))[1], want, rtol=1e-6)


@pytest.mark.as_numpy
def test_linalg_of_integers_is_double():
    x = np.array([[2, 1], [1, 3]])
    more = lambda x: sl.solve(x, np.array([1, 2])), lambda x: sl.toeplitz(x[0]), lambda x: sl.block_diag(x, x)
    for f in (sl.inv, sl.det, sl.expm, sl.cholesky, *more):
        scaled(jit(lambda x, f=f: f(x))(x), f(x), 64 if f is not sl.expm else 2.0**12)


def raises_alike(f, *args):
    with pytest.raises(Exception) as plain:
        f(*args)
    with pytest.raises(type(plain.value)):
        jit(f)(*args)


def test_linalg_errors():
    zero, wild = np.zeros((2, 2)), np.array([[1.0, np.nan], [0.0, 1.0]])
    raises_alike(lambda a: sl.inv(a), zero)
    raises_alike(lambda a: sl.solve(a, np.ones(2)), np.ones((2, 2)))  # SciPy 1.15.0 divides by a diagonal matrix, whatever it holds
    raises_alike(lambda a: sl.solve_triangular(a, np.ones(2)), zero)
    raises_alike(lambda a: sl.cholesky(a), -np.eye(2))
    raises_alike(lambda a: sl.det(a), wild)
    raises_alike(lambda a: sl.solve(a, np.ones(2)), wild)
    raises_alike(lambda a: sl.inv(a), np.ones((2, 3)))
    raises_alike(lambda a: sl.solve(a, np.ones(3)), np.eye(2))
    raises_alike(lambda a: sl.solve_banded((0, 0), a, np.ones(2)), np.array([[0.0, 1.0]]))
    raises_alike(lambda a: sl.solve_banded((1, 1), a, np.ones(2)), np.ones((2, 2)))
    raises_alike(lambda a: sl.solve_sylvester(a, a, np.ones((3, 2))), np.eye(2))
    for f in (lambda a: sl.solve(a, a, assume_a="pos"), lambda a: sl.qr(a, pivoting=True), lambda a: sl.eigh(a, a), lambda a: sl.inv(a[None])):
        with pytest.raises(UnsupportedError, match="scipy.linalg"):
            jit(f)(np.eye(2))


# -- scipy.signal and scipy.ndimage ----------------------------------------------------------------

SIGNAL = sorted(FUNCTIONS["scipy.signal"])
SIGNAL_DTYPES = "f8", "f4", "i8", "c16", "i2"


@pytest.mark.parametrize("name, mode", some([(name, mode) for name in SIGNAL for mode in ("full", "same", "valid")], 2))
def test_signal(name, mode):
    f = getattr(ss, name)
    for shapes in (((7,), (3,)), ((3,), (7,)), ((4,), (4,)), ((5, 6), (2, 3)), ((3, 4, 5), (2, 2, 2))):
        pairs = [[(RNG.normal(size=s) * 5 + (1j * RNG.normal(size=s) if t == "c16" else 0)).astype(t) for s in shapes] for t in SIGNAL_DTYPES]
        found = jit(lambda *pairs: [f(x, w, mode) for x, w in pairs])(*pairs)
        for got, (x, w) in zip(found, pairs, strict=True):
            scaled(got, f(x, w, mode), 64)


def test_signal_in_two_dimensions_and_mixed_dtypes():
    x, w = RNG.normal(size=(5, 6)), RNG.normal(size=(2, 3)).astype("f4")
    scaled(jit(lambda x, w: ss.convolve(x, w, "same"))(x, w), ss.convolve(x, w, "same"), 64)
    scaled(jit(lambda x: ss.convolve(x, [1, 2, 1], method="fft"))(x[0]), ss.convolve(x[0], [1, 2, 1], method="fft"), 64)
    with pytest.raises(UnsupportedError, match="axes"):
        jit(lambda x: ss.fftconvolve(x, x, axes=0))(x)
    raises_alike(lambda x, w: ss.convolve(x, w, "valid"), np.ones((2, 5)), np.ones((3, 4)))
    raises_alike(lambda x, w: ss.convolve(x, w), np.ones((2, 5)), np.ones(3))


@pytest.mark.parametrize("name", SIGNAL)
def test_signal_derivatives(name):
    f, x, w = getattr(ss, name), RNG.normal(size=(4, 5)), RNG.normal(size=(2, 3))
    for i, t in enumerate((RNG.normal(size=x.shape), RNG.normal(size=w.shape))):
        loss = lambda v, i=i: np.sin(f(*((v, w) if i == 0 else (x, v)), "same")).sum()
        np.testing.assert_allclose((grad(loss)((x, w)[i]) * t).sum(), slope(loss, (x, w)[i], t), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", some(["constant", "nearest", "mirror", "reflect", "grid-mirror", "grid-wrap", "grid-constant"]))
def test_map_coordinates(mode, order):
    x = RNG.normal(size=(5, 4))
    at = np.concatenate([RNG.uniform(-9, 9, (2, 60)), RNG.uniform(-0.9, 4.9, (2, 60)), RNG.integers(-6, 7, (2, 40))], 1).reshape(2, 16, 10)
    f = lambda x, at: snd.map_coordinates(x, at, order=order, mode=mode, cval=0.5)
    scaled(jit(f)(x, at), f(x, at), 64)
    scaled(jit(f)(x.astype("f4"), at), f(x.astype("f4"), at), 2)
    g = lambda c: snd.map_coordinates(x[0], c, order=order, mode=mode)
    c = np.array([[0.25, 1.5, 2.75]])
    near(jit(g)(c), g(c), ULPS)
    if order:
        t = np.array([[1.0, -0.5, 2.0]])
        np.testing.assert_allclose((grad(lambda c: g(c).sum())(c) * t).sum(), slope(lambda c: g(c).sum(), c, t, 1e-4), rtol=1e-7)


def test_splines_are_refused():
    with pytest.raises(UnsupportedError, match="order=3"):
        jit(lambda c: snd.map_coordinates(np.ones(3), c))(np.ones((1, 2)))
    with pytest.raises(UnsupportedError, match="wrap"):
        jit(lambda c: snd.map_coordinates(np.ones(3), c, order=1, mode="wrap"))(np.ones((1, 2)))


# -- scipy.stats -----------------------------------------------------------------------------------

PARAMETERS = {
    "gamma": (1.7,), "chi2": (3.0,), "beta": (1.3, 2.5), "t": (4.0,), "lognorm": (0.7,), "poisson": (2.5,), "binom": (7, 0.3),
    "bernoulli": (0.3,), "geom": (0.3,),
}  # fmt: skip
VECTORS = ("dirichlet", "multivariate_normal")
METHODS = [(name, how) for name, table in sorted(DISTRIBUTIONS.items()) if name not in VECTORS for how in table]
POINTS = np.array([-np.inf, -3.5, -1.0, -0.0, 0.0, 0.2, 0.5, 0.75, 1.0, 2.0, 2.5, 4.0, 7.0, 9.0, 40.0, np.inf, np.nan])
STATS_ULPS = 512  # the incomplete gamma and beta functions, and exp of a logarithm


@pytest.mark.parametrize("name, how", some(METHODS))
def test_stats(name, how):
    d, parameters = getattr(st, name), PARAMETERS.get(name, ())
    f, discrete = getattr(d, how), name in ("poisson", "binom", "bernoulli", "geom")
    with np.errstate(all="ignore"):
        for x in (POINTS, POINTS.astype("f4"), POINTS[5:7].astype(int), np.float32(1.0), 0.5):
            near(jit(lambda x: f(x, *parameters))(x), f(x, *parameters), STATS_ULPS)
        where = {"loc": 1} if discrete else {"loc": 0.5, "scale": 2.0}
        near(jit(lambda x: f(x, *parameters, **where))(POINTS), f(POINTS, *parameters, **where), STATS_ULPS)
        frozen = d(*parameters, **where)
        near(jit(lambda x: getattr(frozen, how)(x))(POINTS), getattr(frozen, how)(POINTS), STATS_ULPS)
        if not discrete:
            scales = np.array([[2.0], [-1.0], [0.0], [np.nan]])
            near(jit(lambda s: f(POINTS, *parameters, 0, s))(scales), f(POINTS, *parameters, 0, scales), STATS_ULPS)
        for i in range(len(parameters)):
            odd = np.array([[0.5], [0.0], [-1.0], [1.0], [2.0], [np.nan]])
            at = lambda p, i=i: f(POINTS, *parameters[:i], p, *parameters[i + 1 :])
            near(jit(at)(odd), at(odd), STATS_ULPS)


@pytest.mark.as_numpy
@pytest.mark.parametrize("name, how", some([m for m in METHODS if m[0] not in ("poisson", "binom", "bernoulli", "geom")]))
def test_stats_derivatives(name, how):
    f, parameters = getattr(getattr(st, name), how), PARAMETERS.get(name, ())
    x = np.array([0.2, 0.45, 0.7])
    every = (x, *(np.float64(p) for p in parameters), np.float64(0.05), np.float64(1.3))
    for i, v in enumerate(every):
        loss = lambda v, i=i: np.sum(f(*every[:i], v, *every[i + 1 :]))
        np.testing.assert_allclose(np.sum(grad(loss)(v)), slope(loss, v, np.ones_like(v), 1e-3), rtol=1e-7, atol=1e-8)
    first = grad(lambda x: np.sum(f(x, *parameters)))
    np.testing.assert_allclose(grad(lambda x: first(x).sum())(x).sum(), slope(lambda x: first(x).sum(), x, np.ones(3)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name, how", [m for m in METHODS if m[1] == "logpmf"])
def test_mass_functions_have_derivatives_in_their_parameters(name, how):
    f, (*rest, p) = getattr(getattr(st, name), how), PARAMETERS[name]
    loss = lambda p: np.sum(f(np.array([1.0, 1.0, 0.0 if name != "geom" else 4.0]), *rest, p))
    np.testing.assert_allclose(grad(loss)(p), slope(loss, p, 1.0, 1e-4), rtol=1e-7)


@pytest.mark.parametrize("how", by_xla(["logpdf"], "logpdf", "pdf"))
def test_stats_of_vectors(how):
    alpha, x = np.array([1.5, 1.0, 3.0]), np.array([[0.2, 0.1], [0.3, 0.0], [0.5, 0.9]])
    f = getattr(st.dirichlet, how)
    for args in ((x, alpha), (x[:, 0], alpha), (x[:2, 0], alpha)):
        near(jit(lambda x, a: f(x, a))(*args), f(*args), 64)
    raises_alike(lambda x: f(x, alpha), np.array([0.5, 0.2, 0.9]))
    raises_alike(lambda a: f(x[:, 0], a), np.array([1.0, -1.0, 2.0]))
    np.testing.assert_allclose(grad(lambda a: f(x[:, 0], a))(alpha).sum(), slope(lambda a: f(x[:, 0], a), alpha, np.ones(3)), rtol=1e-7)
    m, g = np.array([0.1, 0.2, 0.3, 0.4]), getattr(st.multivariate_normal, how)
    for v in (V, np.stack([V, -V, m]), V.astype("f4")):
        near(jit(lambda v: g(v, m, S))(v), g(v, m, S), 1024)
    raises_alike(lambda c: g(V, m, c), np.ones((4, 4)))
    t = RNG.normal(size=(4, 4))
    np.testing.assert_allclose((grad(lambda c: g(V, m, c))(S) * (t + t.T)).sum(), slope(lambda c: g(V, m, c), S, t + t.T), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (3,), (3, 1), (3, 2), (1, 2), (2, 1), (4, 3, 2), (4, 3, 1)])
@pytest.mark.parametrize("n", [1, 2])
def test_shapes_of_normal_densities(shape, n):
    f = lambda x: st.multivariate_normal.logpdf(x, np.zeros(n), np.eye(n))
    x = RNG.normal(size=shape)
    try:
        want = f(x)
    except ValueError:
        with pytest.raises(ValueError):
            jit(f)(x)
        return
    got = jit(f)(x)
    assert np.shape(got) == np.shape(want) and type(got) is type(want)
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.as_numpy
@pytest.mark.parametrize("how", some(["logpdf", "pdf"]))
def test_normal_densities_of_singular_covariances(how):
    g = getattr(st.multivariate_normal, how)
    basis = np.linalg.qr(A)[0][:, :2]
    cov, m = basis @ np.array([[2.0, 0.3], [0.3, 1.0]]) @ basis.T, np.array([0.1, 0.2, 0.3, 0.4])
    inside = m + basis @ np.array([0.5, -0.3])
    for x in (inside, np.stack([inside, V, m])):
        near(jit(lambda x: g(x, m, cov, allow_singular=True))(x), g(x, m, cov, allow_singular=True), 2.0**14)
    raises_alike(lambda c: g(inside, m, c), cov)
    raises_alike(lambda c: g(inside, m, c, allow_singular=True), -cov)
    t = basis @ np.array([1.0, -0.7])
    loss = lambda x: g(x, m, cov, allow_singular=True)
    np.testing.assert_allclose(grad(loss)(inside) @ t, slope(loss, inside, t), rtol=1e-6)
    turn = basis @ np.array([[0.4, -0.2], [-0.2, 0.7]]) @ basis.T
    at = lambda c: g(inside, m, c, allow_singular=True)
    np.testing.assert_allclose((grad(at)(cov) * turn).sum(), slope(at, cov, turn), rtol=1e-6)
    for c in (cov, np.array([1.0, 2.0, 3.0, 4.0])):
        near(jit(lambda c: st.multivariate_normal.entropy(m, c))(c), st.multivariate_normal.entropy(m, c), 2.0**12)


# -- scipy.integrate -------------------------------------------------------------------------------


def bend(y, t, rate, drive):
    return -rate * y * (y * y).sum() + drive["push"] * np.sin(t)


START, TIMES, RATE, PUSH = V[:3], np.array([0.1, 0.4, 0.5, 1.1]), 0.7, np.array([0.5, -1.0, 2.0])
STEPS = {"rtol": 1e-11, "atol": 1e-11}


def flown(y, t, rate, push):
    return si.odeint(bend, y, t, (rate, {"push": push}), **STEPS)


def test_integrals_are_scipys():
    args = START, TIMES, RATE, PUSH
    np.testing.assert_array_equal(jit(flown)(*args), flown(*args))
    np.testing.assert_allclose(jit(lambda y: si.odeint(bend, y, TIMES, (RATE, {"push": PUSH})))(START), flown(*args), rtol=1e-6)
    back = lambda y: si.odeint(lambda t, y: -y * t, y, TIMES[::-1], tfirst=True)
    np.testing.assert_array_equal(jit(back)(START), back(START))
    one = lambda y: si.odeint(lambda y, t: [y[0] * 2], y, TIMES[:1])
    np.testing.assert_array_equal(jit(one)(0.5), one(0.5))
    alone = lambda rate: si.odeint(lambda y, t: -rate * y, [1.0], [0.0, 1.0], full_output=0)  # no argument is traced
    np.testing.assert_array_equal(jit(alone)(RATE), alone(RATE))
    with pytest.raises(UnsupportedError, match="full_output"):
        jit(lambda y: si.odeint(bend, y, TIMES, (RATE, {"push": PUSH}), full_output=True))(START)
    raises_alike(lambda y: si.odeint(lambda y, t: y[:2], y, TIMES), START)


@pytest.mark.as_numpy
@pytest.mark.parametrize("i", some(range(4)))
def test_integrals_have_derivatives(i):
    args = [START, TIMES, np.float64(RATE), PUSH]
    weights, t = RNG.normal(size=(4, 3)), RNG.normal(size=np.shape(args[i]))
    loss = lambda v: (np.sin(flown(*args[:i], v, *args[i + 1 :])) * weights).sum()
    want = slope(loss, args[i], t)
    np.testing.assert_allclose(np.sum(grad(loss)(args[i]) * t), want, rtol=1e-6)
    np.testing.assert_allclose(jvp(loss, (args[i],), (t,))[1], want, rtol=1e-6)
    along = lambda v: np.sum(grad(loss)(v) * t)
    want = slope(along, args[i], t)
    np.testing.assert_allclose(np.sum(grad(along)(args[i]) * t), want, rtol=1e-5)
    np.testing.assert_allclose(jvp(along, (args[i],), (t,))[1], want, rtol=1e-5)


def test_integrals_of_functions_that_close_over_values_and_on_lanes():
    ends = lambda rate, y: si.odeint(lambda y, t: -rate * y, y, TIMES, **STEPS)[-1]
    want = -(TIMES[-1] - TIMES[0]) * np.exp(-RATE * (TIMES[-1] - TIMES[0])) * START
    np.testing.assert_allclose(jacrev(ends)(RATE, START), want, rtol=1e-8)
    rates = np.array([0.5, 1.0])
    np.testing.assert_allclose(vmap(ends, (0, None))(rates, START), np.stack([ends(r, START) for r in rates]), rtol=1e-9)
    lanes = grad(lambda rates: vmap(lambda r: ends(r, START).sum())(rates).sum())(rates)
    np.testing.assert_allclose(lanes, [grad(lambda r: ends(r, START).sum())(r) for r in rates], rtol=1e-8)


# -- how it is found -------------------------------------------------------------------------------


def test_every_name_of_the_tables_is_tested():
    assert set(FUNCTIONS["scipy.special"]) == WHOLE.keys() and set(FUNCTIONS["scipy.linalg"]) == LINALG.keys()
    modules = "special linalg signal ndimage integrate optimize"  # the last in test_optimize.py
    beneath = {m for m in FUNCTIONS if "._" in m}  # what the classes of scipy.spatial ask, in test_rotations.py
    assert (FUNCTIONS.keys() | RULES.keys()) - beneath == {f"scipy.{m}" for m in modules.split()}
    for module, table in [*FUNCTIONS.items(), *RULES.items()]:
        if module in beneath:
            continue
        assert [name for name in table if not hasattr(sys.modules[module], name) and name != "softplus"] == []


def test_plain_arguments_meet_scipy_itself():
    seen = jit(lambda x: x + sl.det(np.eye(2)) + st.norm.pdf(0.0) + sp.logsumexp([0.0, 0.0]) + sp.erf(0.5))(np.zeros(2))
    np.testing.assert_allclose(seen, 1 + st.norm.pdf(0.0) + np.log(2) + sp.erf(0.5))


def test_names_imported_alone_and_methods_kept():
    from scipy.special import erf as e
    from scipy.stats import norm

    density = norm(0.5, 2).logpdf
    np.testing.assert_allclose(jit(lambda x: e(x) + density(x))(np.ones(2)), e(1.0) + density(1.0))


def test_what_is_not_captured_says_so():
    for f in (sp.owens_t, sp.eval_jacobi):
        with pytest.raises(UnsupportedError, match=f"{f.__name__} is not captured"):
            jit(lambda x, f=f: f(*(x,) * f.nin))(np.ones(2))
    with pytest.raises(UnsupportedError, match="negative numbers"):
        jit(lambda x: sp.betaln(x, 2.0))(np.array([1.0, -0.5]))
    with pytest.raises(UnsupportedError, match="polygamma of order"):
        jit(lambda x: sp.polygamma(x, 2.0))(np.float64(1.5))
