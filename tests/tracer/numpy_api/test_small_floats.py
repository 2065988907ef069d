"""Arrays of bfloat16, float8_e4m3fn and float8_e5m2: what NumPy with ml_dtypes gives of each call, in dtype, kind and bits."""

import copy
import warnings

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import random_small_floats

from wengert import UnsupportedError, custom_vjp, grad, hessian, jacfwd, jit, jvp, value_and_grad, vjp, vmap
from wengert.ir.text import parse, show
from wengert.ir.types import Tensor, parse_type
from wengert.tracer.program import backend_choice

BF = np.dtype(ml_dtypes.bfloat16)
SMALL = [BF, np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)]

EXPRESSIONS = """
a + b; a - b; a * b; a / b; a // b; a % b; -a; abs(a); a ** 2; a + 1; 2 * a; a + 1.5; a * True; a < b; a == b; a + c; a * np.float32(2)
a * np.int8(3); a + i8; a + i64; a + f64; a + f16; a * 1j; a @ b.T; a @ np.round(c.T * 4); np.dot(a, b.T); np.inner(a, b); np.tensordot(a, b.T, 1)
np.outer(a[0], b[0]); np.einsum('ij,kj->ik', a, b); a.max(); a.min(axis=1); a.argmax(); a.argmin(axis=0); np.sort(a); np.argsort(a)
np.round(a); np.any(a); np.all(a, axis=0); np.clip(a, b.min(), b.max()); np.clip(a, 0, 1); np.conj(a); np.real(a); np.ptp(a)
a.astype(np.float32); a.astype(np.float64); a.astype(np.int32); a.astype(np.int8); a.astype(np.uint8); a.astype(bool); a.astype(np.float16)
a.astype(complex); c.astype(d); f64.astype(d); i64.astype(d); f16.astype(d); (c > 0).astype(d); np.concatenate([a, c]); np.stack([a, b])
np.where(c > 0, a, b); np.where(c > 0, a, c); np.where(c > 0, a, 0); np.where(c > 0, a, 1.5); np.zeros(3, d); np.ones_like(a)
np.full(3, 1.5, d) + a[0, :3]; np.arange(3, dtype=d); np.eye(3, dtype=d); np.sqrt(abs(a)); np.maximum(a, b); np.fmin(a, b); np.sign(a)
np.square(a); np.reciprocal(a); np.floor(a); np.ceil(a); np.trunc(a); np.rint(a); np.signbit(a); np.isnan(a); np.isfinite(a)
np.copysign(a, b); np.nextafter(a, b); np.spacing(a); np.heaviside(a, b); np.modf(a)[0]; np.modf(a)[1]; np.frexp(a)[0]; np.frexp(a)[1]
np.divmod(a, b)[0]; np.fmod(a, b); np.float_power(a, 2); np.median(a); np.diff(a); np.nan_to_num(a); np.isclose(a, b); np.array_equal(a, b)
np.unique(a); np.array([a[0, 0], 1.0]); np.array([1.0, 2.0], dtype=d) * a[0, :2]; np.array([a[0, 0], a[0, 1]]); np.tril(a); np.repeat(a, 2)
np.tile(a, 2); np.roll(a, 1); np.flip(a); a.sum(dtype=np.float64); np.maximum.accumulate(a); np.multiply.outer(a[0], b[0])
np.searchsorted(np.sort(a[0]), b[0]); np.result_type(a, b); np.result_type(a, f64); a[0, 0]; a[0, 0] + 1; a[0, 0] * 1.0; float(a[0, 0])
int(a[0, 0]); a[0, 0].item(); bool(a[0, 0]); round(a[0, 0]); a.dtype; a.dtype.kind; a.itemsize; a.nbytes; a[0, 0] < b[0, 0]; a[a > 0]
a[1:3, ::2]; a.T; a.reshape(-1); a[np.array([0, 2])]; a.tolist(); np.select([a > 0, a < 0], [a, b]); np.argwhere(a > 0); np.isin(a, b)
np.minimum(a, 0); np.maximum(a, 0.0); d.type(2) * a; np.percentile(a, 50); np.finfo(a.dtype).eps
np.random.default_rng(0).normal(size=3).astype(d); a[::-1] != i8; a.view(f"u{a.itemsize}"); np.asarray(c, d)
np.can_cast(a.dtype, np.float32); np.add(a, c, dtype=np.float64); np.pad(a, 1); np.gradient(a[0]); np.polyval(a[0, :2], b[0])
np.linalg.norm(a); np.linalg.matrix_rank(c.astype(d)); isinstance(a[0, 0], np.floating); np.inner(a, f16)
"""
CLOSE = """
np.exp(a); np.sin(a); np.tanh(a); np.log(abs(a)); np.cbrt(a); np.exp2(a); np.arctan2(a, b); np.hypot(a, b); np.logaddexp(a, b)
np.radians(a); np.fft.fft(a); np.linalg.inv(a); np.linalg.det(a); np.linalg.solve(a, b); np.interp(a[0], np.sort(b[0]), b[0])
np.arcsin(np.clip(a, -1, 1)); a ** 0.5; a ** b; np.log10(abs(a)); a @ c.T
"""
SUMS = """
a.sum(); a.sum(axis=0); a.mean(axis=1); a.var(); a.std(axis=0); a.prod(axis=0); a.cumsum(axis=0); np.trace(a); np.nansum(a); np.average(a)
np.convolve(a[0], b[0])
"""
texts = lambda block: [e.strip() for line in block.strip().splitlines() for e in line.split(";")]


def arguments(d):
    draw = np.random.default_rng(3)
    x = lambda: draw.normal(size=(4, 4)) + 0.1
    return {
        "a": x().astype(d),
        "b": x().astype(d),
        "c": x().astype(np.float32),
        "f64": x(),
        "f16": x().astype(np.float16),
        "i64": draw.integers(-5, 5, (4, 4)),
        "i8": draw.integers(-5, 5, (4, 4)).astype(np.int8),
    }


def both(text, d):
    """(the result or exception of a compiled expression, of NumPy)"""
    f = eval(f"lambda a, b, c, f64, f16, i64, i8: {text}", {"np": np, "d": d})
    found = []
    for g in (jit(f), f):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found.append(g(**copy.deepcopy(arguments(d))))
            except Exception as error:
                found.append(error)
    return found


def alike(got, want):
    assert (type(got), getattr(got, "dtype", None), np.shape(got)) == (type(want), getattr(want, "dtype", None), np.shape(want))


@pytest.mark.parametrize("text", texts(EXPRESSIONS))
def test_bits_are_those_of_numpy(text):
    for d in SMALL:
        got, want = both(text, d)
        if isinstance(want, Exception) or want is None or getattr(want, "dtype", None) is np.dtype(object):
            assert isinstance(got, type(want) if isinstance(want, Exception) else UnsupportedError), got
            continue
        assert not isinstance(got, Exception), got
        alike(got, want)
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes() or repr(got) == repr(want)


@pytest.mark.parametrize("text", texts(CLOSE))
def test_functions_are_right_to_a_last_digit(text):
    for d in SMALL:
        got, want = both(text, d)
        assert not isinstance(got, Exception), got
        alike(got, want)
        step = {1: 0.15, 2: 0.01, 4: 1e-5, 8: 1e-5, 16: 1e-10}[got.dtype.itemsize if got.dtype.kind != "f" or got.dtype.itemsize < 4 else 4]
        np.testing.assert_allclose(got.astype(complex), want.astype(complex), rtol=step, atol=step * 1e-3)


@pytest.mark.parametrize("text", texts(SUMS))
def test_sums_are_rounded_once(text):
    """NumPy rounds each step: what it gives has the dtype, and float64 says what is right."""
    for d in SMALL:
        got, want = both(text, d)
        alike(got, want)
        with np.errstate(all="ignore"):
            a, b = (arguments(d)[n].astype(np.float64) for n in "ab")
            right = eval(text, {"np": np, "a": a, "b": b})
        np.testing.assert_allclose(got.astype(float), right, rtol=0.3 if d.itemsize == 1 else 0.02, atol=0.05)
    ones = np.ones(1000, BF)
    assert ones.sum() == 256 and jit(lambda x: x.sum())(ones) == 1000


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_random_programs(first):
    found = [random_small_floats.outcome(seed) for seed in range(first, first + 10)]
    assert not [f for f in found if f.startswith("differs")] and found.count("agree") >= 5


@pytest.mark.parametrize("seed", range(30, 34))
def test_random_programs_exactly(seed):
    assert not random_small_floats.outcome(seed, exact=True).startswith("differs")


@pytest.mark.slow
def test_many_random_programs():
    assert not [seed for seed in range(1000, 1300) if random_small_floats.outcome(seed).startswith("differs")]


# -- arguments and results -------------------------------------------------------------------------


def test_numbers_and_jax_arrays_come_and_go():
    two = BF.type(2)
    assert type(jit(lambda s: s * s)(two)) is BF.type and jit(lambda s: s * s)(two) == 4
    out = jit(lambda x: x * 2)(jnp.ones(3, jnp.bfloat16))
    assert isinstance(out, jnp.ndarray) and out.dtype == jnp.bfloat16
    assert jit(lambda x, y: x + y)(jnp.ones(3, jnp.float8_e4m3fn), np.ones(3, np.float32)).dtype == np.float32
    held = np.array([1.5, 2.5], BF)
    np.testing.assert_array_equal(jit(lambda x: x * held + two)(held), held * held + two)


def test_arguments_are_written():
    def store(x):
        x[0] = x[1] * 2
        x[2] += 1.5
        return x[0]

    for d in SMALL:
        mine, theirs = (np.array([1, 3, 2], d) for _ in range(2))
        assert jit(store)(mine)[()] == store(theirs) and mine.tobytes() == theirs.tobytes()


def test_programs_are_written_down_and_read():
    assert parse_type("bf16[3]") is Tensor((3,), BF)
    assert [repr(Tensor((2,), d)) for d in SMALL] == ["bf16[2]", "f8e4m3fn[2]", "f8e5m2[2]"]
    for f in (
        lambda x: np.exp(x) * np.array([1, 2, 3], BF) + 1,
        lambda x: x.astype(SMALL[1]) @ x.T,
        lambda x: x.astype(SMALL[2]).max(0) + SMALL[2].type(2),
    ):
        for passes in (True, False):
            text = show(jit(f).ir(np.ones((2, 3), BF), passes=passes), sources=False)
            assert show(parse(text), sources=False) == text and "f8e" in text or "bf16" in text


def test_programs_are_kept_on_disk(tmp_path):
    x = np.array([1.5, 2, 3], BF)
    for word in ("kept in", "read from"):
        f = jit(lambda x: np.exp(x) * np.array([1, 2, 3], BF), cache=tmp_path)
        assert f(x).tobytes() == f(x.copy()).tobytes() and word in f.explain()


def test_what_runs_them(falling_back, monkeypatch):
    """XLA: plain Python and generated NumPy would round sums at each step."""
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    f = jit(lambda x: x.sum())
    x = np.ones(1000, BF)
    assert {float(f(x)) for _ in range(40)} == {1000.0} and "as plain Python" not in f.explain()
    assert "bfloat16" in f.plan(x).json()["traces"][0]["why"]


SUMMED = {
    "of the argument": (lambda x: x.sum(), BF),
    "made inside": (lambda x: x.astype(BF).mean() * 1000, np.float32),
    "running": (lambda x: np.cumsum(x)[-1], BF),
    "accumulated": (lambda x: np.add.accumulate(x[None], axis=1)[0, -1], BF),
}


@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"dynamic": False}, {"engine": "numpy"}, {"whole": True}], ids=str)
@pytest.mark.parametrize("name", SUMMED)
def test_every_length_is_summed_alike(name, options, learning):
    """Plain Python, which answers new shapes of other programs, rounds each step."""
    (function, dtype), lengths = SUMMED[name], (1000, 1024, 500, 1000, 512, 1024, 768)
    f = jit(function, **options)
    got = [float(f(np.ones(n, dtype))) for n in lengths]
    assert got == ([1000.0] * 7 if name == "made inside" else [*map(float, lengths)])


def test_what_answers_before_the_compiler_has_finished(learning):
    f = jit(lambda x: x.sum(), tier="background")
    assert [float(f(np.ones(n, BF))) for n in (1000, 500, 1000)] == [1000.0, 500.0, 1000.0]


def test_a_mean_is_rounded_once():
    for d in SMALL:
        quarters = np.full(1001, 0.25, d)
        assert float(jit(np.mean)(quarters)) == 0.25 and float(jit(np.average)(quarters)) == 0.25


def test_a_nan_is_found_where_it_is_born():
    f = jit(lambda x: np.log(x) * 2 + 1, debug="nan")
    with pytest.raises(FloatingPointError, match=r"np\.log\(x\) is nan|log is nan"):
        f(np.array([1, -1], BF))


def test_what_differs_from_numpy_is_told():
    f = jit(lambda x: np.exp(x) * x, check=True)
    x = np.linspace(-2, 2, 9).astype(BF)
    assert f(x).dtype == BF


# -- derivatives -----------------------------------------------------------------------------------


def test_gradients_have_the_dtype_of_the_argument():
    x = np.array([0.5, -1, 2], BF)
    for d in SMALL:
        y = x.astype(d)
        slope = grad(lambda x: (x * x).sum())(y)
        assert slope.dtype == d and slope.tobytes() == (2 * y).tobytes()
        assert vjp(lambda x: x * x, y)[1](y)[0].dtype == d and jvp(lambda x: x * x, (y,), (y,))[1].dtype == d
    assert hessian(lambda x: (x**3).sum())(x).tobytes() == np.diag(6 * x).astype(BF).tobytes()
    assert jacfwd(np.square)(x).dtype == BF and vmap(lambda x: x + 1)(x).tobytes() == (x + 1).tobytes()


def network(dtype):
    def loss(weights, x):
        h = np.tanh((x.astype(dtype) @ weights["w"].astype(dtype)).astype(dtype))
        return ((h @ weights["v"].astype(dtype)) ** 2).mean()

    return loss


def test_mixed_precision_keeps_master_weights(rng):
    weights = {"w": rng.normal(size=(6, 5)).astype(np.float32), "v": rng.normal(size=5).astype(np.float32)}
    x = rng.normal(size=(8, 6)).astype(np.float32)
    (value, slope), (right, exact) = (value_and_grad(network(d))(weights, x) for d in (BF, np.float32))
    assert value.dtype == np.float32 and all(slope[k].dtype == np.float32 for k in weights)
    assert abs(value - right) < 0.02 * right and value != right
    for k in weights:
        np.testing.assert_allclose(slope[k], exact[k], atol=0.05 * abs(exact[k]).max())


def test_training_in_mixed_precision(rng):
    weights = {"w": rng.normal(size=(6, 16)).astype(np.float32), "v": rng.normal(size=16).astype(np.float32)}
    x, step = rng.normal(size=(32, 6)).astype(np.float32), value_and_grad(network(BF))
    values = []
    for _ in range(60):
        value, slope = step(weights, x)
        weights = {k: w - np.float32(0.05) * slope[k] for k, w in weights.items()}
        values.append(value)
    assert values[-1] < 0.2 * values[0]


def test_derivatives_go_through_loops_and_rules(rng):
    x = (rng.normal(size=(3, 4)) / 2).astype(BF)

    def f(x):
        s = np.zeros(4, BF)
        for row in x:
            s = s * s + row
        return s.sum()

    wide = grad(f)(x.astype(np.float32)).astype(float)
    np.testing.assert_allclose(grad(f)(x).astype(float), wide, rtol=0.1, atol=0.02)

    @custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, g: (3 * g * x,))
    assert grad(lambda x: square(x).sum())(x).tobytes() == (3 * x).astype(BF).tobytes()


def test_other_floats_still_stand(rng):
    """float16 and complex64, which NumPy has itself."""
    x = rng.normal(size=(3, 3)).astype(np.float16)
    assert grad(lambda x: np.tanh(x @ x.T).sum())(x).dtype == np.float16
    z = (x + 1j * x).astype(np.complex64)
    assert jit(lambda z: np.exp(z) * 2)(z).dtype == np.complex64 and grad(lambda z: abs(z).sum())(z).dtype == np.complex64


def test_lists_of_several_dtypes():
    """np.array finds a dtype one number after the other, and has none for a small float beside a whole number."""
    x = np.ones(2, BF)
    for f in (
        lambda x: np.array([x[0], 1.0, 2]),
        lambda x: np.array([2, 1.0, x[0]]),
        lambda x: np.array([x[0], np.float32(1), 2]),
        lambda x: np.array([True, x[0], np.int8(2)]),
    ):
        assert jit(f, whole=True)(x).dtype == f(x).dtype and jit(f)(x).tobytes() == f(x).tobytes()
    with pytest.raises(UnsupportedError, match="a list of bfloat16 and int64, of which NumPy makes an array of objects"):
        jit(lambda x: np.array([x[0], 2]), whole=True)(x)


def test_nan_is_left_out_where_numpy_does():
    """np.nansum and its like take small floats for numbers that are never NaN; np.nanmax looks."""
    x = np.array([2, np.nan, 1, 3], BF)
    with np.errstate(all="ignore"):
        for name in ("nansum", "nanprod", "nancumsum", "nanmean", "nanvar", "nanstd", "nanargmax", "nanargmin", "nanmax"):
            f = getattr(np, name)
            got, wanted = jit(lambda x, f=f: f(x), whole=True)(x), f(x)
            assert got.dtype == wanted.dtype, name
            assert np.array_equal(got.astype(float), wanted.astype(float), equal_nan=True), name


def test_integers_lose_digits_on_their_way():
    """A cast to a float of few digits and on is no cast from the integer."""
    i = np.arange(-128, 128).astype(np.int8)
    for d in SMALL:
        f = lambda i, d=d: i.astype(d).astype(np.float32)
        assert jit(f)(i).tobytes() == f(i).tobytes()
    assert jit(lambda x: x.astype(np.float32).astype(BF) + 0)(i.astype(BF)).tobytes() == (i.astype(BF) + 0).tobytes()
