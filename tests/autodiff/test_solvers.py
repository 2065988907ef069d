"""Solvers that stop when they are done, in plain NumPy: their derivatives in both modes against those of what they solve."""

import numpy as np
import pytest

from wengert import grad, jit, jvp, vjp

RNG = np.random.default_rng(0)
HALF = RNG.normal(size=(6, 6))
MATRIX = HALF @ HALF.T + 6 * np.eye(6)


def newton(a):
    """The cube root of a."""
    x = a
    while abs(x**3 - a) > 1e-14 * a:
        x = x - (x**3 - a) / (3 * x * x)
    return x


def bisection(a):
    """Where x exp(x) is a, halved in until the ends meet, then polished by one step of Newton, which carries the derivative."""
    low, high = 0.0, a
    for _ in range(200):
        middle = 0.5 * (low + high)
        if high - low < 1e-9:
            break
        if middle * np.exp(middle) > a:
            high = middle
        else:
            low = middle
    return middle - (middle * np.exp(middle) - a) / ((1 + middle) * np.exp(middle))


def conjugate_gradients(matrix, b):
    x = np.zeros_like(b)
    r = b - matrix @ x
    p = r.copy()
    rr = r @ r
    while rr > 1e-24:
        ap = matrix @ p
        step = rr / (p @ ap)
        x += step * p
        r -= step * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x


STAGES = [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
FIFTH = [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0]
FOURTH = [5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40]


def runge_kutta(y, rate, end):
    """y' = (-rate y[0], y[0] - y[1]) by steps as long as the error allows (Dormand and Prince 1980)."""

    def slope(y):
        return np.array([-rate * y[0], y[0] - y[1]])

    t, h = 0.0, 0.1
    while t < end:
        h = min(h, end - t)
        ks = []
        for row in STAGES:
            ks.append(slope(y + h * sum([a * k for a, k in zip(row, ks)], np.zeros(2))))
        fifth = y + h * sum(b * k for b, k in zip(FIFTH, ks))
        fourth = y + h * sum(b * k for b, k in zip(FOURTH, ks))
        error = np.abs(fifth - fourth).max() / 1e-11
        if error <= 1:
            t, y = t + h, fifth
        h = h * min(5.0, max(0.2, 0.9 * (1 / max(error, 1e-10)) ** 0.2))
    return y


def exact(y, rate, end):
    first = y[0] * np.exp(-rate * end)
    return np.array([first, y[1] * np.exp(-end) + y[0] * (np.exp(-rate * end) - np.exp(-end)) / (1 - rate)])


def slopes(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


def test_roots():
    for a in (0.5, 8.0, 1000.0):
        assert jit(grad(newton))(a) == pytest.approx(a ** (-2 / 3) / 3, rel=1e-12)
        assert jvp(newton, (a,), (1.0,))[1] == pytest.approx(a ** (-2 / 3) / 3, rel=1e-12)
        x = bisection(a)
        assert grad(bisection)(a) == pytest.approx(np.exp(-x) / (1 + x), rel=1e-9)
        assert jvp(bisection, (a,), (1.0,))[1] == pytest.approx(np.exp(-x) / (1 + x), rel=1e-9)
    assert jit(grad(grad(newton)))(8.0) == pytest.approx(-2 / 9 * 8.0 ** (-5 / 3), rel=1e-10)


def test_conjugate_gradients_until_they_have_converged():
    b, g, t = RNG.normal(size=(3, 6))
    inverse = np.linalg.inv(MATRIX)
    x, pull = vjp(lambda b: conjugate_gradients(MATRIX, b), b)
    np.testing.assert_allclose(x, inverse @ b, rtol=1e-9)
    np.testing.assert_allclose(pull(g)[0], inverse @ g, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jvp(lambda b: conjugate_gradients(MATRIX, b), (b,), (t,))[1], inverse @ t, rtol=1e-6, atol=1e-8)
    towards = HALF + HALF.T
    moved = jvp(lambda s: conjugate_gradients(MATRIX + s * towards, b), (0.0,), (1.0,))[1]
    np.testing.assert_allclose(moved, -inverse @ towards @ x, rtol=1e-5, atol=1e-8)
    assert jit(grad(lambda s: g @ conjugate_gradients(MATRIX + s * towards, b)))(0.0) == pytest.approx(g @ moved, rel=1e-9)


def test_steps_of_adaptive_length():
    y, g = np.array([1.0, 0.5]), np.array([0.7, -1.3])
    np.testing.assert_allclose(jit(runge_kutta)(y, 0.3, 2.0), exact(y, 0.3, 2.0), rtol=1e-9)
    by_rate = jit(grad(lambda rate: g @ runge_kutta(y, rate, 2.0)))(0.3)
    assert by_rate == pytest.approx(slopes(lambda rate: g @ exact(y, rate, 2.0), 0.3), rel=1e-7)
    assert jvp(lambda rate: g @ runge_kutta(y, rate, 2.0), (0.3,), (1.0,))[1] == pytest.approx(by_rate, rel=1e-9)
    by_start = jit(grad(lambda y: g @ runge_kutta(y, 0.3, 2.0)))(y)
    np.testing.assert_allclose(by_start, [g @ exact(np.array(e), 0.3, 2.0) for e in ([1.0, 0.0], [0.0, 1.0])], rtol=1e-7)
