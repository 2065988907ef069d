"""scipy.optimize on traced values: SciPy's own numbers, kinds and errors, and derivatives of the equations solved."""

import numpy as np
import pytest

from wengert import grad, jacrev, jit, jvp
from wengert.tracer.numpy_api.scipy_registry import FUNCTIONS

so = pytest.importorskip("scipy.optimize")


def cubic(x, a):
    return x**3 - a


def slope(x, a):
    return 3 * x**2


def bend(x, a):
    return 6 * x


def plane(p, a):
    return np.array([p[0] ** 2 - a, p[0] * p[1] - 1.0])


def plane_slope(p, a):
    return np.array([[2 * p[0], 0.0], [p[1], p[0]]])


def bowl(p, a):
    return (p[0] - a) ** 2 + 2 * (p[1] + p[0] * a) ** 2


def decay(t, k, c):
    return c * np.exp(-k * t)


T = np.linspace(0.0, 3.0, 12)
FAULTS = np.array([0.01, -0.02, 0.03, 0.0, -0.01, 0.02] * 2)

# name -> (function of one number that calls it, relative tolerance of its slope against differences)
CASES = {
    "brentq": (lambda a: so.brentq(cubic, 0.0, 5.0, args=(a,)), 1e-6),
    "brenth": (lambda a: so.brenth(cubic, 0.0, 5.0, args=(a,)), 1e-6),
    "bisect": (lambda a: so.bisect(cubic, 0.0, 5.0, args=(a,)), 1e-5),
    "ridder": (lambda a: so.ridder(cubic, 0.0, 5.0, args=(a,)), 1e-5),
    "toms748": (lambda a: so.toms748(cubic, 0.0, 5.0, args=(a,)), 1e-5),
    "newton": (lambda a: so.newton(cubic, 1.0, args=(a,)), 1e-6),
    "newton_slope": (lambda a: so.newton(cubic, 1.0, fprime=slope, args=(a,)), 1e-6),
    "newton_halley": (lambda a: so.newton(cubic, 1.0, fprime=slope, args=(a,), fprime2=bend), 1e-6),
    "newton_many": (lambda a: so.newton(cubic, np.ones(3), args=(a * np.arange(1.0, 4.0),)).sum(), 1e-5),
    "root_scalar": (lambda a: so.root_scalar(cubic, args=(a,), bracket=[0.0, 5.0]).root, 1e-6),
    "fsolve": (lambda a: so.fsolve(plane, [1.0, 1.0], args=(a,))[1], 1e-5),
    "fsolve_slope": (lambda a: so.fsolve(plane, [1.0, 1.0], args=(a,), fprime=plane_slope)[0], 1e-5),
    "root": (lambda a: so.root(plane, np.ones(2), args=(a,)).x.sum(), 1e-5),
    "minimize": (lambda a: so.minimize(bowl, np.zeros(2), args=(a,)).x[1], 1e-3),
    "minimize_bounds": (lambda a: so.minimize(bowl, np.zeros(2), args=(a,), bounds=[(0, 9), (-90, 9)]).x[0], 1e-3),
    "minimize_scalar": (lambda a: so.minimize_scalar(lambda x: (x - a) ** 2 + 0.1 * x**4).x, 1e-3),
    "least_squares": (lambda a: so.least_squares(lambda p: p * np.arange(1.0, 4.0) - a, np.ones(1)).x[0], 1e-4),
    "curve_fit": (lambda a: so.curve_fit(decay, T, decay(T, 0.7, a) + FAULTS, p0=(1.0, 1.0))[0][0], 1e-3),
}


def test_every_name_of_the_table_is_tested():
    assert [name for name in FUNCTIONS["scipy.optimize"] if name not in CASES] == []


@pytest.mark.parametrize("name", CASES)
def test_values_are_scipys_and_slopes_those_of_the_solution(name):
    f, close = CASES[name]
    want, got = f(2.0), jit(f)(2.0)
    np.testing.assert_allclose(got, want, rtol=1e-7)
    assert type(got) is type(want)
    step = 1e-3
    differences = (f(2.0 + step) - f(2.0 - step)) / (2 * step)
    np.testing.assert_allclose(grad(f)(2.0), differences, rtol=max(close, 2e-6), atol=1e-6)
    np.testing.assert_allclose(jvp(f, (2.0,), (1.0,))[1], grad(f)(2.0), rtol=1e-6)


@pytest.mark.parametrize("a", [-1.0, 130.0])
@pytest.mark.parametrize("name", ["brentq", "bisect", "toms748", "root_scalar"])
def test_a_bracket_without_a_root_raises_what_scipy_raises(name, a):
    f, _ = CASES[name]
    for g in (f, jit(f)):
        with pytest.raises(ValueError, match=r"f\(a\) and f\(b\) must have different signs"):
            g(a)


def test_a_root_within_a_loop_follows_its_numbers():
    def path(a):
        total = 0.0
        for n in range(4):
            total += so.brentq(cubic, 0.0, 9.0, args=(a + n,))
        return total

    np.testing.assert_allclose(jit(path)(2.0), path(2.0))
    np.testing.assert_allclose(grad(path)(2.0), sum((2.0 + n) ** (-2 / 3) / 3 for n in range(4)), rtol=1e-7)


def test_second_derivatives_of_a_root():
    root = CASES["brentq"][0]
    np.testing.assert_allclose(grad(grad(root))(2.0), -2 / 9 * 2.0 ** (-5 / 3), rtol=1e-6)


def test_jacobian_of_a_fit():
    def fitted(ys):
        return so.curve_fit(decay, T, ys, p0=(1.0, 1.0))[0]

    ys = decay(T, 0.7, 2.0)
    slopes = jacrev(fitted)(ys)
    model = np.stack([-T * ys, np.exp(-0.7 * T)], axis=1)
    np.testing.assert_allclose(slopes, np.linalg.pinv(model), rtol=1e-4, atol=1e-6)


def test_what_the_search_tells_is_scipys():
    def told(a):
        found = so.root_scalar(cubic, args=(a,), bracket=[0.0, 5.0])
        return found.root, found.converged, found.iterations, found.function_calls

    assert jit(told)(2.0) == told(2.0)
