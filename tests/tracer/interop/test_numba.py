"""Functions that Numba has compiled, called in captured code: their Python is captured, ufuncs of Numba's are called."""

import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit, vmap

numba = pytest.importorskip("numba")
X = np.array([1.0, 2.0, 0.5, 4.0])


@numba.njit
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s


@numba.njit
def nested(x, y):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = np.sin(x[i]) * y if x[i] > 0.75 else total(x) * y
    return out


@numba.njit
def write(x):
    x[0] = 7.0


@numba.njit
def several(x):
    return x.sum(), x.shape[0], x > 1.0, x[0] > 0, x[0] + 1j, np.float32(x[0]), np.int32(3)


@numba.njit(parallel=True, fastmath=True)
def parallel(x):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += np.exp(-x[i])
    return s


@numba.njit
def reciprocal(x, y):
    return x[0] / y[1] + x[0] // y[2]


@numba.njit
def payoff(s, strike):
    return max(s - strike, 0.0)


@numba.njit
def mean_payoff(x, n):
    s, strike = 0.0, np.exp(x[0]) // 2
    for i in range(n):
        s += payoff(x[i] * np.exp(x[i]), strike)
    return np.exp(-x[0]) * s / n + (s + x[0]) % n + (s + x[0]) // n


@numba.njit(error_model="numpy")
def quiet(x):
    return 1.0 / x[0]


@numba.vectorize
def elementwise(x):
    return x * x + 1 if x > 1 else x


@numba.vectorize(["float64(float64)"])
def of_floats(x):
    return x * 2


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def doubled(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * 2


def written(x):
    x = x.copy()
    write(x)
    return x * 2


FUNCTIONS = {
    "loop": lambda x: total(x) * 2,
    "nested": lambda x: nested(np.sin(x), 2.0),
    "write": written,
    "several": lambda x: several(x),
    "parallel": lambda x: parallel(x),
    "by itself": total,
    "a number of either kind": lambda x: payoff(x[0] * x[1], x[2]),
    "divided by a number that is known": lambda x: mean_payoff(x, 3),
    "vectorize": lambda x: elementwise(x) * 2,
    "vectorize with a signature": lambda x: of_floats(x > 1),
    "vectorize of numbers": lambda x: elementwise(x[1]) + elementwise(3.0) * x,
    "guvectorize": lambda x: doubled(np.sin(x)).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_as_without(name):
    f = FUNCTIONS[name]
    meant, compiled = f(X.copy()), jit(f)
    for _ in range(2):
        got = compiled(X.copy())
        pairs = zip(got, meant, strict=True) if isinstance(meant, tuple) else [(got, meant)]
        for a, b in pairs:
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b, rtol=1e-14)
    assert compiled.explain().split()[1] == "1"


def test_derivatives_follow():
    np.testing.assert_allclose(grad(total)(X), 2 * X)
    np.testing.assert_allclose(grad(lambda x: parallel(x * x))(X), -2 * X * np.exp(-X * X))
    np.testing.assert_allclose(vmap(grad(total))(np.stack([X, 2 * X])), [2 * X, 4 * X])
    slope = grad(lambda x: nested(x, 3.0).sum())(X)
    step = 1e-6 * np.eye(4)
    plain = lambda x: nested(x, 3.0).sum()
    np.testing.assert_allclose(slope, [(plain(X + e) - plain(X - e)) / 2e-6 for e in step], rtol=1e-6)


def test_derivatives_of_ufuncs_are_refused():
    for f in (elementwise, doubled):
        with pytest.raises(UnsupportedError, match="no derivative here\n.*\n.*\n  State one: wengert.custom_jvp"):
            grad(lambda x: f(x).sum())(X)  # noqa: B023


def test_numbers_are_divided_as_by_numba():
    """Numba raises where a number is divided by zero, unless error_model="numpy" was asked for."""
    one, ok, zero = np.ones(3), np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.0, 1.0])
    f = jit(lambda x, y: reciprocal(x, y))
    assert f(one, ok) == reciprocal(one, ok)
    for call in (reciprocal, f):
        for bad in (zero, zero[::-1] * [1, 1, 0] + [0, 1, 0]):
            with pytest.raises(ZeroDivisionError, match="division by zero"):
                call(one, bad)
    assert jit(lambda x: quiet(x))(np.zeros(1)) == np.inf
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        jit(lambda x: mean_payoff(x, 0))(X)


def test_foreign_functions_of_c_are_left_to_python():
    """Nobody knows what they do: ctypes, and with it Numba's cfunc."""
    twice = numba.cfunc("float64(float64)")(lambda x: x * 2.0).ctypes
    f = lambda x: twice(x[1]) * x
    with pytest.warns(match="not known to give the same each time"):
        np.testing.assert_array_equal(jit(f, whole=False)(X), f(X))
    with pytest.raises(UnsupportedError, match="not known to give the same each time"):
        grad(lambda x: f(x).sum())(X)


def test_what_is_not_known_is_left_to_python():
    @numba.stencil
    def smooth(x):
        return 0.5 * (x[-1] + x[1])

    with pytest.warns(match="not known to give the same each time"):
        np.testing.assert_allclose(jit(lambda x: smooth(x) * 2, whole=False)(X), smooth(X) * 2)
