"""What may be asked by `debug=`, how it is asked, and NumPy's own words for it."""

import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wengert import Fallback, NumericalError, WengertError, grad, hessian, jit, vmap
from wengert.tracer.blame.words import words_asked


def root(x):
    y = np.sqrt(x)
    return y.sum()


def ratio(x):
    e = np.exp(10.0 * x)
    return e / (1.0 + e)


X = np.array([1.0, 100.0])


@pytest.mark.parametrize(
    "word, f, x, expression",
    [
        ("invalid", root, np.array([1.0, -1.0]), "np.sqrt(x)"),
        ("overflow", ratio, X, "np.exp(10.0 * x)"),
        ("invalid", ratio, X, "e / (1.0 + e)"),
        ("inf", lambda x: np.exp(10.0 * x), X, "np.exp(10.0 * x)"),
        ("divide", lambda x: 1.0 / x, np.array([1.0, 0.0]), "1.0 / x"),
        ("divide", lambda x: np.log(x), np.array([1.0, 0.0]), "np.log(x)"),
        ("divide", lambda x: x**-1.5, np.array([1.0, 0.0]), "x ** (-1.5)"),
        ("divide", lambda x: x // 0, np.array([1, 2]), "x // 0"),
        ("overflow", lambda x: x.astype(np.float32), np.array([1.0, 1e300]), "x.astype(np.float32)"),
        ("overflow", lambda x: x.sum(), np.array([1e308, 1e308]), "x.sum()"),
        ("overflow", lambda x: x @ x, np.array([1e308, 1e308]), "x @ x"),
        ("invalid", lambda x: x.astype(np.int64) + 1, np.array([1.0, np.nan]), "x.astype(np.int64)"),
    ],
)
def test_the_words(word, f, x, expression):
    with pytest.raises(FloatingPointError) as caught:
        jit(f, debug=word)(x)
    assert isinstance(caught.value, NumericalError) and isinstance(caught.value, WengertError)
    assert (caught.value.word, caught.value.expression) == (word, expression)


def test_a_division_is_no_overflow_nor_the_other_way_round():
    assert jit(lambda x: 1.0 / x, debug="overflow")(np.array([0.0]))[0] == np.inf
    assert jit(lambda x: np.exp(x), debug="divide")(np.array([1000.0]))[0] == np.inf
    assert np.isnan(jit(lambda x: x - x, debug=("divide", "overflow"))(np.array([np.inf]))[0])


def test_what_was_bad_before_is_not_born():
    given = np.array([[np.nan, 1.0], [np.inf, 1.0]])
    for f in (lambda x: np.sqrt(x) + 1.0, lambda x: (2.0 * x).sum(axis=1), lambda x: x @ x, lambda x: np.cumsum(x)):
        watched = jit(f, debug=("invalid", "divide", "overflow"))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(watched(given), f(given))


def test_what_is_computed_while_the_function_is_traced():
    def scaled(x, n):
        y = np.sqrt(n - 5.0)
        return x * y

    for debug in ("nan", "invalid"):
        g = jit(scaled, debug=debug)
        assert g(np.ones(2), 9).tolist() == [2.0, 2.0]
        for _ in range(2):
            with pytest.raises(NumericalError) as caught:
                g(np.ones(2), 3)
            assert caught.value.text == "y = np.sqrt(n - 5.0)"
    numbers = np.array([1.0, -1.0])

    def masked(x):
        return x + np.where(numbers > 0, np.log(numbers), 0.0)

    assert jit(masked, debug="nan")(np.ones(2)).tolist() == [1.0, 1.0]


def test_a_trace_of_jax_is_asked_nothing():
    watched = jit(lambda x: np.log(x).sum(), debug="nan")
    assert np.isnan(jax.jit(watched)(jnp.array([-1.0])))
    with pytest.raises(NumericalError):
        watched(jnp.array([-1.0]))


def test_words_that_are_none_are_refused():
    assert words_asked("warn") == ("invalid", "divide", "overflow", "warn")
    assert words_asked(("warn", "nan")) == ("nan", "warn")
    for wrong in ("nann", 3, (), ("nan", 3), ("nan", "under"), True):
        with pytest.raises(ValueError, match="jit looks for 'nan', 'inf', 'invalid', 'divide', 'overflow', not for debug="):
            jit(root, debug=wrong)
    with pytest.raises(ValueError, match="Ask for one of the two"):
        jit(root, debug="nan", tier="background")


def test_functions_made_alike_are_told_apart_by_it():
    make = lambda debug: jit(lambda x: np.log(x), debug=debug)
    assert np.isnan(make(None)(np.array([-1.0]))[0])
    with pytest.raises(NumericalError):
        make("nan")(np.array([-1.0]))
    assert np.isnan(make(None)(np.array([-1.0]))[0])
    assert make("overflow")(np.array([1.0]))[0] == 0.0


def test_warnings_are_numpys_at_its_lines():
    g = jit(ratio, debug="warn")
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        want = ratio(X)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        got = g(X)
    np.testing.assert_array_equal(got, want)
    assert len(plain) == 2
    told = lambda found: [(str(w.message), w.category, w.filename, w.lineno) for w in found]
    assert told(ours) == told(plain)
    with warnings.catch_warnings(record=True) as again:
        warnings.simplefilter("default")
        g(X), g(X)
    assert len(again) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow encountered in exp"):
            g(X)
        g(X * 0.1)


def test_warnings_of_loops_and_of_what_was_asked_alone():
    def loop(x, n):
        s = 0.0
        for i in range(n):
            s = s + np.log(x - i)
        return s

    with pytest.warns(RuntimeWarning, match="invalid value encountered in log") as told:
        assert np.isnan(jit(loop, debug=("invalid", "warn"))(10.5, 2000))
    assert len(told) == 1
    with pytest.warns(RuntimeWarning, match="NaN is born in loop"):
        assert np.isnan(jit(loop, debug=("nan", "warn"))(10.5, 2000))


def test_what_is_warned_of_is_written():
    def write(u):
        u[:] = np.log(u)

    u = np.array([1.0, -1.0])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in log"):
        jit(write, debug="warn")(u)
    assert np.isnan(u).tolist() == [False, True]


def test_the_callers_error_state_holds_for_derivatives():
    x, g = np.array([0.0, 1.0]), grad(root)
    assert g(x)[0] == np.inf
    for f in (g, g, grad(lambda x: 2.0 * root(x))):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
            f(x)
        with np.errstate(invalid="raise"):
            assert f(x)[0] == np.inf
        assert f(x)[0] == np.inf
    with np.errstate(all="raise"):
        with pytest.raises(NumericalError, match="np.sqrt"):
            vmap(root)(np.array([[1.0, -1.0]]))
        with pytest.raises(NumericalError):
            hessian(root)(x)
        assert g(np.array([4.0]))[0] == 0.25


def test_plain_python_is_watched_too(falling_back):
    def opened(x):
        y = np.log(x)
        open(os.devnull).close()
        return y.sum()

    for debug in ("nan", "invalid"):
        with pytest.warns(Fallback), pytest.raises(NumericalError) as caught:
            jit(opened, debug=debug, whole=False)(np.array([-1.0, 3.0]))
        assert caught.value.text == "y = np.log(x)" and caught.value.word == debug
    with pytest.warns(Fallback):
        assert jit(opened, debug="nan", whole=False)(np.array([1.0])) == 0.0


def test_the_environment_asks_for_all():
    program = """
import numpy as np, wengert
def norm(x):
    return np.sqrt((x * x).sum())
for g in (wengert.grad(norm), wengert.jit(lambda x: np.log(x - 1))):
    try:
        g(np.zeros(2))
    except wengert.NumericalError as error:
        print(error.word, error.line)
"""
    asked = {**os.environ, "WENGERT_DEBUG": "nan, overflow"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=asked)
    assert done.stdout.split() == ["nan", "4", "nan", "5"], done.stderr


def test_nothing_is_asked_of_programs_that_are_not_watched():
    watched, other = jit(root, debug="nan"), jit(root)
    x = np.array([1.0, 2.0])
    assert watched(x) == other(x)
    assert "NumericalError" in watched.explain() and "NumericalError" not in other.explain()
    assert str(watched.ir(x)) == str(other.ir(x)) or watched.ir(x).count() == other.ir(x).count()


def masked(x):
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.log(x)
    return np.where(x > 0, y, 0.0)


def looped(x):
    s = 0.0
    for v in x:
        with np.errstate(all="ignore"):
            y = 1.0 / v
        s += np.where(v == 0, 0.0, y)
    return s


def loud(x):
    s = looped(x)
    for v in x:
        s += 1.0 / v
    return s


def either(x):
    s = 0
    for v in x:
        if v > 1.5:
            continue
        s = s + 1.0 / (v - 1.0)
    return s


@pytest.mark.parametrize("options", [{}, {"engine": "xla"}, {"engine": "numpy"}])
def test_what_the_program_asks_not_to_hear_of(options):
    x, words = np.array([-1.0, 0.0, 1.0]), ("invalid", "divide", "overflow")
    for f in (masked, looped):
        with np.errstate(all="raise"):
            expected = f(x)
        assert np.array_equal(jit(f, debug=words, **options)(x), expected)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.array_equal(jit(f, debug="warn", **options)(x), expected)
    with np.errstate(all="raise"):
        assert grad(lambda x: masked(x).sum())(x).tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(NumericalError, match="1.0 / v is"):
        jit(loud, debug="divide", **options)(x)


def test_numpys_own_silence():
    far = np.array([np.inf, 1.0])
    assert jit(np.isclose, debug="invalid")(far, far).all()
    for f in (np.nanmean, np.nanvar):
        assert np.isnan(jit(lambda x, f=f: f(x), debug="invalid")(np.full(3, np.nan)))
    assert jit(np.logaddexp2, debug="invalid")(far, far).tolist() == [np.inf, 2.0]


def test_a_number_of_another_kind_than_it_has_is_not_made():
    """What data leave an int or a float is both until it is returned: an infinity is no int there."""
    assert jit(either, debug="invalid")(np.array([2.0, 1.0])) == np.inf
    assert type(jit(either, debug="invalid")(np.array([2.0, 2.0]))) is int


def test_remainders_of_integers_divide_too():
    a, b = np.array([1, 2]), np.array([1, 0])
    for f in (lambda a, b: a % b, lambda a, b: a // b, np.fmod):
        with pytest.raises(NumericalError, match="divide by zero"):
            jit(f, debug="divide")(a, b)
