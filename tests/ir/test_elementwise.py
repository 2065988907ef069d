"""What the generated tests of elementwise ops leave out: signs of zeros, digits over wide ranges, exact cases, kinks, warnings."""

import functools
import math
import warnings

import jax
import numpy as np
import pytest

from wengert import jit
from wengert.autodiff import vjp
from wengert.backends.numpy import callable_of
from wengert.backends.xla import XLA, lower
from wengert.backends.xla.powers import half_powers
from wengert.ir.core import Builder
from wengert.ir.exactness import exactly
from wengert.ir.ops import OPS
from wengert.ir.ops.elementwise import FLOAT, cast
from wengert.ir.ops.samples import EDGES
from wengert.ir.types import IRTypeError, Tensor, parse_type, type_of
from wengert.ir.verify import verify


@functools.cache
def compiled(op, attrs):
    return jax.jit(lambda *xs: XLA[OPS[op]](*xs, **dict(attrs)))


def on_xla(op, *operands, **attrs):
    with jax.enable_x64(True):
        return np.asarray(compiled(op, tuple(attrs.items()))(*operands))


def on_numpy(op, *operands, **attrs):
    with np.errstate(all="ignore"):
        return np.asarray(OPS[op](*operands, **attrs))


def cotangents(op, *operands, xla=False, **attrs):
    """The gradient of the sum of op's result, by every inexact operand."""
    build = Builder()
    with build:
        params = [build.param(type_of(x)) for x in operands]
        z = OPS[op](*params, **attrs)
    backward = verify(vjp(build.finish((z,)), keep=False))
    inputs = [*operands, np.ones(z.type.shape, z.type.dtype)]
    if xla:
        with jax.enable_x64(True):
            return [np.asarray(r) for r in jax.jit(lambda *xs: lower(backward, xs))(*inputs)]
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in callable_of(backward)(*inputs)]


def applies(op, *dtypes):
    if op.attrs or "elementwise" not in op.traits:
        return False
    try:
        op.result_types([Builder().param(Tensor((), np.dtype(t))) for t in (dtypes * 3)[: len(op.operands)]], {})
    except IRTypeError:
        return False
    return True


# -- values ----------------------------------------------------------------------------------------

EITHER_ZERO = {"maximum", "minimum", "clamp"}  # of 0 and -0, NumPy gives the one its vector instructions give
FLOATS = [op.name for op in OPS.values() if applies(op, "f4")]


@pytest.mark.parametrize("name", [n for n in FLOATS if n not in EITHER_ZERO])
def test_signs_of_zeros(name):
    operands = [EDGES[FLOAT](np.random.default_rng(k)) for k in range(len(OPS[name].operands))]
    got, want = on_xla(name, *operands), on_numpy(name, *operands)
    got, want = (x.view("f4") if x.dtype.kind == "c" else x for x in (got, want))
    zero = (want == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


RANGES = {
    "tiny": lambda rng: rng.uniform(-1, 1, 2000) * 10.0 ** rng.uniform(-6, 0, 2000),
    "large": lambda rng: rng.uniform(-85, 85, 2000),
    "positive": lambda rng: 10.0 ** rng.uniform(-4, 3, 2000),
    "near one": lambda rng: 1 + rng.uniform(-1, 1, 2000) * 10.0 ** rng.uniform(-6, -1, 2000),
}
SLIPPERY = {  # op -> why a result near 0 has fewer digits on either side
    "logaddexp": "the logarithm of a sum near 1",
    "lgamma": "has zeros at 1 and 2",
    "digamma": "has a zero at 1.46",
    "igamma": "see LOOSER in test_ops",
    "igammac": "see LOOSER in test_ops",
    "betainc": "see LOOSER in test_ops",
    "erfc": "XLA's f32 rounds x^2 before exp(-x^2)",
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", [n for n in FLOATS if n not in SLIPPERY])
def test_digits_number_by_number(name, dtype):
    """Eight units in the last place of each result, where the generated tests take the array's largest."""
    op = OPS[name]
    for draw in RANGES.values():
        rng = np.random.default_rng(0)
        operands = [draw(rng).astype(dtype) for _ in op.operands]
        got, want = on_xla(name, *operands), on_numpy(name, *operands)
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            continue
        info = np.finfo(want.dtype)
        normal = np.isfinite(want) & (np.abs(want) >= 2 * info.tiny)
        np.testing.assert_array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)])
        error = np.abs(got - want)[normal] / np.abs(want[normal]) / info.eps
        assert np.max(error, initial=0) <= 8, [x[normal][np.argmax(error)] for x in operands]


@pytest.mark.parametrize("name", [op.name for op in OPS.values() if applies(op, "f2")])
def test_half_precision_is_computed_in_single(name):
    rng = np.random.default_rng(0)
    operands = [rng.uniform(0.1, 0.9, 50).astype("f2") for _ in OPS[name].operands]
    got, want = on_xla(name, *operands), on_numpy(name, *operands)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=4e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exact_cases(dtype):
    """Programs floor and compare these: floor(log10(1000)) is 3."""
    n = np.arange(-30, 31).astype(dtype)
    np.testing.assert_array_equal(on_xla("exp2", n), np.ldexp(np.ones_like(n), n.astype(int)))
    np.testing.assert_array_equal(on_xla("log2", np.ldexp(np.ones_like(n), n.astype(int))), n)
    np.testing.assert_array_equal(on_xla("cbrt", n * n * n), n)
    tens = np.arange(11 if dtype == "f4" else 23)
    np.testing.assert_array_equal(on_xla("log10", np.array([10.0**k for k in tens], dtype)), tens)


INTEGERS = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")


def whole_numbers(t):
    """The ends of an integer dtype, its width, and a few numbers between."""
    if t.kind == "b":
        return [False, True]
    ends, bits = np.iinfo(t), 8 * t.itemsize
    return [ends.min, ends.min + 1, 0, 1, 2, 3, 7, bits - 1, bits, 100, ends.max, *([-1, -2, -7] if t.kind == "i" else [])]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_agree_bit_for_bit(dtype):
    """All ops as one program: most of what one costs is the start of a compilation."""
    numbers, ops = np.array(whole_numbers(np.dtype(dtype)), dtype), [op for op in OPS.values() if applies(op, dtype)]
    given = [[x.ravel() for x in np.meshgrid(*[numbers] * len(op.operands))] for op in ops]
    with jax.enable_x64(True):
        found = jax.jit(lambda given: [XLA[op](*operands) for op, operands in zip(ops, given)])(given)
    for op, operands, got in zip(ops, given, found, strict=True):
        want = on_numpy(op.name, *operands)
        assert got.dtype == want.dtype, op.name
        np.testing.assert_array_equal(got, want, op.name)


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("xla", [False, True])
def test_powers_of_zero(xla):
    x, y = np.zeros(4), np.array([0.0, 1.0, 2.0, 2.5])
    dx, dy = cotangents("pow", x, y, xla=xla)
    np.testing.assert_array_equal(dx, [0, 1, 0, 0])
    np.testing.assert_array_equal(dy, [0, 0, 0, 0])
    for n, slope in ((0, 0.0), (1, 1.0), (2, 0.0), (3, 0.0)):
        np.testing.assert_array_equal(cotangents("integer_pow", np.zeros(2), xla=xla, n=n)[0], slope)


@pytest.mark.parametrize("a", [1.5, 2.5, 3.5, -1.5, -2.5, -3.5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers_with_a_half_of_many_numbers(a, dtype):
    top = np.finfo(dtype)
    x = np.exp(np.random.default_rng(0).uniform(np.log(top.tiny), np.log(top.max), 20_000)).astype(dtype)
    x[:8] = 0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, 4.0
    with np.errstate(all="ignore"):
        want = x**a
    got = jit(lambda x: x**a, engine="xla")(x)
    normal = (abs(want) >= 4 * top.tiny) | ~np.isfinite(want) | (want == 0)
    np.testing.assert_allclose(got[normal], want[normal], rtol=8 * float(top.eps))
    assert not np.signbit(got[:2]).any()
    assert half_powers(jit(lambda x: x**a).ir(x)) and not half_powers(jit(lambda x: x**a).ir(x[:100]))
    with exactly(True):
        assert not half_powers(jit(lambda x: x**a).ir(x))


def test_kinks_are_shared():
    x = np.array([1.0])
    for name in ("maximum", "minimum"):
        assert cotangents(name, x, x) == [0.5, 0.5]
    assert cotangents("clamp", x, x, x + 1) == [0.5, 0.5, 0.0]
    for z in (np.zeros(1), np.zeros(1, complex)):
        assert cotangents("abs", z) == [0.0]
        assert cotangents("sign", z) == [0.0]
    assert cotangents("hypot", np.zeros(1), np.zeros(1)) == [0.0, 0.0]
    assert cotangents("sqrt", np.zeros(1)) == [np.inf]


BESIDE = [("acosh", -2 + 0.5j), ("acosh", -0.5 - 2j), ("asinh", -0.3 + 3j), ("asin", 3 - 0.2j), ("atanh", 4 + 0.1j), ("sqrt", -2 - 0.1j)]


@pytest.mark.parametrize("name, z", BESIDE)
def test_holomorphic_derivatives_beside_the_cuts(name, z):
    h = 1e-5
    with np.errstate(all="ignore"):
        slope = (OPS[name](np.array(z + h)) - OPS[name](np.array(z - h))) / (2 * h)
    np.testing.assert_allclose(cotangents(name, np.array(z))[0], slope, rtol=1e-8)


# -- conversions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["i4", "i8", "u8"])
@pytest.mark.parametrize("start", ["f4", "f8"])
def test_what_no_integer_holds_is_cast_as_by_the_processor(start, end):
    near = [s * (2.0**k + d) for k in (31, 32, 63, 64) for d in (-4096, -0.5, 0, 0.5, 4096) for s in (1, -1)]
    x = np.array([*near, 1.5, -1.5, 1e300, -1e300, np.inf, -np.inf, np.nan] if start == "f8" else [*near, np.inf, -np.inf, np.nan], start)
    for part in (x, np.tile(x, 20), x[-1]):
        np.testing.assert_array_equal(on_xla("cast", part, dtype=np.dtype(end)), on_numpy("cast", part, dtype=np.dtype(end)))


def test_a_bound_that_is_nan_makes_nan():
    x = np.array([-1.0, 0.5, 2.0, np.nan, np.inf])
    for low, high in ((0.0, 1.0), (np.nan, 1.0), (0.0, np.nan), (np.nan, np.nan), (1.0, 0.0)):
        bounds = np.full_like(x, low), np.full_like(x, high)
        np.testing.assert_array_equal(on_xla("clamp", bounds[0], x, bounds[1]), on_numpy("clamp", bounds[0], x, bounds[1]))


def test_cast_drops_imaginary_parts_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype, want in (("f8", [1.0, 0.0]), ("f4", [1.0, 0.0]), ("i8", [1, 0]), ("bool", [True, True])):
            got = cast(np.array([1 + 2j, 3j]), dtype=np.dtype(dtype))
            assert got.dtype == dtype and got.tolist() == want
            assert on_xla("cast", np.array([1 + 2j, 3j]), dtype=np.dtype(dtype)).tolist() == want


@pytest.mark.parametrize("start", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("end", ["f4", "f8", "c8", "c16"])
def test_cast_transposes(start, end):
    """Re(g cast(t)) = Re(cast'(g) t)."""
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(5) + 1j * rng.standard_normal(5)) if start[0] == "c" else rng.standard_normal(5)
    x = x.astype(start)
    (back,) = cotangents("cast", x, dtype=np.dtype(end))
    assert back.dtype == x.dtype
    np.testing.assert_allclose(np.sum(back * x).real, np.sum(cast(x, dtype=np.dtype(end))).real, rtol=1e-5)


# -- special functions against published values ----------------------------------------------------

PUBLISHED = [  # Abramowitz and Stegun (1964), tables 4 to 26; DLMF
    ("erf", (0.5,), {}, 0.5204998778130465), ("erfc", (2.0,), {}, 0.004677734981047266), ("erf_inv", (0.5,), {}, 0.4769362762044699),
    ("gamma", (0.5,), {}, math.sqrt(math.pi)), ("gamma", (-1.5,), {}, 4 / 3 * math.sqrt(math.pi)), ("lgamma", (0.5,), {}, math.log(math.pi) / 2),
    ("digamma", (1.0,), {}, -0.5772156649015329), ("polygamma", (1.0,), {"n": 1}, math.pi**2 / 6),
    ("polygamma", (0.5,), {"n": 2}, -16.828796644234320), ("zeta", (1.0,), {"s": 4}, math.pi**4 / 90), ("zeta", (0.5,), {"s": 2}, math.pi**2 / 2),
    ("igamma", (0.5, 0.5), {}, math.erf(math.sqrt(0.5))), ("igammac", (1.0, 30.0), {}, math.exp(-30)), ("betainc", (2.0, 3.0, 0.4), {}, 0.5248),
    ("bessel_i0e", (1.0,), {}, 0.46575960759364043), ("bessel_i1e", (1.0,), {}, 0.20791041534970845),
    ("igamma_slope", (1.0, 1.0), {"n": 1}, 0.5772156649015329 * (1 - math.exp(-1)) - 0.7965995992970531),
]  # fmt: skip


@pytest.mark.parametrize("name, operands, attrs, want", PUBLISHED)
def test_special_functions_are_the_published_ones(name, operands, attrs, want):
    operands = [np.array(x) for x in operands]
    np.testing.assert_allclose(on_numpy(name, *operands, **attrs), want, rtol=3e-14)
    np.testing.assert_allclose(on_xla(name, *operands, **attrs), want, rtol=3e-14)


@pytest.mark.parametrize("run", [on_numpy, on_xla])
def test_slopes_are_slopes(run):
    """Derivatives by the parameters, of second order and mixed, against differences of the functions."""
    a, b, x, h = np.array([0.7, 3.0, 9.0]), np.array([2.0, 0.6, 4.0]), np.array([0.3, 0.8, 0.5]), 1e-3
    weights = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))

    def slope(f, x):
        return sum(w * f(x + k * h) for k, w in weights) / h

    np.testing.assert_allclose(run("igamma_slope", a, 8 * x, n=2), slope(lambda a: run("igamma_slope", a, 8 * x, n=1), a), rtol=1e-8)
    np.testing.assert_allclose(run("betainc_slope", a, b, x, n=1, m=1), slope(lambda b: run("betainc_slope", a, b, x, n=1, m=0), b), rtol=1e-8)
    np.testing.assert_allclose(run("betainc_slope", a, b, x, n=0, m=2), slope(lambda b: run("betainc_slope", a, b, x, n=0, m=1), b), rtol=1e-8)


def test_attributes_out_of_range_are_refused():
    x = Builder().param(parse_type("i8[3]"))
    y = Builder().param(parse_type("f64[3]"))
    for name, operands, attrs in (
        ("integer_pow", [x], {"n": -1}), ("integer_pow", [x], {"n": 1000}), ("bitcast", [y], {"dtype": np.dtype("f4")}), ("zeta", [y], {"s": 1}),
        ("polygamma", [y], {"n": -1}), ("igamma_slope", [y, y], {"n": 0}), ("cast", [y], {"dtype": np.dtype("datetime64[s]")}),
    ):  # fmt: skip
        with pytest.raises(IRTypeError, match=name if name != "cast" else "datetime64"):
            OPS[name].result_types(operands, OPS[name].complete(dict(attrs)))
