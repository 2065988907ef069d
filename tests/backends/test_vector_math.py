"""Functions of the C library on the lanes of vectors: their values, at every place, and what keeps away from them."""

import numpy as np
import pytest

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build
from wengert.backends.native.nest import Nest
from wengert.backends.native.vector_math import SUFFIX, VectorForm, single_lanes

pytestmark = pytest.mark.skipif(
    native.uncallable() is not None or build.vector_form("exp", "double", 1) is None, reason="there are no vector functions"
)
NAMES = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh cbrt"
).split()
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, -1e-310, 5e-324, 1e300, -1e300, 709.0, 711.0, -745.0, -747.0, 1e22, 89.5, -105.0, 1.0, -1.0]


def loop_of(form):
    space = {"np": np}
    exec(f"def f(x, out):\n    for i in range(len(x)):\n        v = x[i]\n        out[i] = {form}\n    return out", space)
    return space["f"]


def run(form, x, **options):
    return jit(loop_of(form), engine="numpy", **options)(x, np.empty_like(x))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype, rng):
    x = (rng.uniform(1.0, 20.0, 203) if name == "arccosh" else rng.uniform(-0.99, 0.99, 203)).astype(dtype)
    x = np.abs(x) if name.startswith("log") and name != "log1p" else x
    with np.errstate(all="ignore"):
        got, want = run(f"np.{name}(v)", x), getattr(np, name)(x.astype(np.longdouble if dtype == "f8" else "f8"))
        assert np.abs((got - want) / np.spacing(np.abs(want).astype(dtype))).max() < 4
        special = np.resize(np.array(SPECIAL), 67).astype(dtype)
        np.testing.assert_allclose(run(f"np.{name}(v)", special), getattr(np, name)(special), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ["exp", "log", "sin", "cbrt", "tanh", "expm1"])
def test_an_element_is_the_same_wherever_it_stands(name, dtype, rng):
    once = rng.uniform(0.1, 3.0, 29).astype(dtype)
    found = run(f"np.{name}(v)", np.tile(once, 40)[:-5])
    assert np.array_equal(found, np.resize(found[:29], len(found)))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_series_hold_over_all_exponents_and_near_zero(dtype, rng):
    """1.9 ulp at most in `benchmarks/correctness/vector_functions.py`; the last place is of the reference's double."""
    wide = np.longdouble if dtype == "f8" else np.float64
    spans = [(-1e-5, 1e-5), (-0.4, 0.4), (-40.0, 40.0), (-80.0, 88.0), (0.34, 0.36), (8.9, 9.2), (19.0, 20.1)]
    x = np.concatenate([rng.uniform(*span, 501) for span in spans]).astype(dtype)
    for name in ("tanh", "expm1"):
        want = getattr(np, name)(x.astype(wide))
        assert np.abs((run(f"np.{name}(v)", x) - want) / np.spacing(np.abs(want).astype(dtype))).max() < 2.5
    with np.errstate(over="ignore"):
        ends = np.array([709.78, 709.79, 88.72, 88.73, -0.0, 0.0, np.inf, -np.inf, np.nan, -37.5, -17.5]).astype(dtype)
        for name in ("tanh", "expm1"):
            got, want = run(f"np.{name}(v)", ends), getattr(np, name)(ends)
            np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(np.signbit(got)[:-3], np.signbit(want)[:-3])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_powers_end_in_subnormal_numbers_and_in_zero(name, dtype, rng):
    least = np.log({"f8": np.longdouble(2) ** -1075, "f4": np.longdouble(2) ** -150}[dtype])
    least = float(least if name == "exp" else least / np.log(np.longdouble(2)))
    x = np.concatenate([least + np.linspace(-0.2, 0.2, 401), rng.uniform(least - 1.0, 0.9 * least, 601)]).astype(dtype)
    x = np.concatenate([x, np.array([-1e9, -1e30, -np.inf, np.nan], dtype)])
    with np.errstate(under="ignore"):
        got, want = run(f"np.{name}(v)", x), getattr(np, name)(x.astype(np.longdouble))
        near = np.abs(got - want) <= 2.0 * np.spacing(np.abs(want).astype(dtype))
    assert near[:-1].all() and np.isnan(got[-1]) and not np.signbit(got[:-1]).any()
    assert not got[:-1][x[:-1] < least - 0.01].any()


@pytest.mark.parametrize("form", ["v ** 2.3", "np.arctan2(v, 1.5)", "np.hypot(v, 2.0)", "1.0 / (1.0 + np.exp(-v))", "np.logaddexp(v, 0.3)"])
def test_two_numbers_and_several_calls(form, rng):
    x = rng.uniform(0.1, 3.0, 501)
    np.testing.assert_allclose(run(form, x), eval(form, {"np": np, "v": x}), rtol=2e-15)


def rows(x, trips):
    s = x * 0.0
    for _ in range(trips):
        s = np.exp(-s * s) * np.sin(x + s)
    return s


def rows_of_tanh(x, trips):
    s = x * 0.0
    for _ in range(trips):
        s = np.tanh(s + x)
    return s


def reasons(function, x, **options):
    with native.asked(0, log := []):
        found = jit(function, engine="xla", **options)(x, 5)
    np.testing.assert_allclose(found, function(x, 5), rtol=1e-13)
    return [reason for _, reason in log]


def test_rows_are_no_longer_left_to_xla(rng):
    x = rng.standard_normal(100)
    assert reasons(rows, x) == [None]
    assert reasons(rows_of_tanh, x) == reasons(rows_of_tanh, x, exact=True) == [None]
    assert "which XLA computes in vectors" in reasons(rows, x, exact=True)[0]


def text_of(x, **options):
    made, texts = Nest.text, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Nest, "text", lambda *args: texts.append(made(*args)) or texts[-1])
        run("np.sin(v) * 0.5", x, **options)
    return texts[0]


def test_exact_calls_the_c_library(rng):
    x = rng.standard_normal(64)
    assert f"@sin{SUFFIX}(" in text_of(x)
    assert "@sin(" in (exact := text_of(x, exact=True)) and SUFFIX not in exact


def test_machine_code_that_is_kept_finds_them_again(rng):
    x = rng.standard_normal(75)
    want = run("np.sin(v) + 0.125", x)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "ENGINES", {})  # as in another process, which has the object files
        text = text_of(x)
        count = len(build.OBJECTS)
        build.machine_code(text)
        assert len(build.OBJECTS) == count
    assert np.array_equal(run("np.sin(v) + 0.125", x), want)


def test_single_calls_are_lanes_only_beside_vectors():
    form = VectorForm.of("exp", "_ZGVdN4v_exp", "double", 4, 1)
    text = f"declare double @{form.name}(double){form.attributes}\n{form.declaration}\n"
    alone = f"{text} %y = call double @{form.name}(double %x)\n"
    assert single_lanes(text, alone) == {}
    definition = single_lanes(text, f"{alone} %z = call <4 x double> @_ZGVdN4v_exp(<4 x double> %v)\n")[form.name]
    assert "extractelement <4 x double>" in definition and "define double @exp.in_vectors(double %x0)" in definition
