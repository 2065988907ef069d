"""Comprehensions whose items may be None, as of functions that return early: one loop while none is, and Python's items where one is."""

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit


def unit(v):
    n = np.sqrt(v @ v)
    if n == 0:
        return None
    return v / n


def root(x):
    return None if x < 0 else np.sqrt(x)


def stacked(X):
    return np.array([unit(x) for x in X])


def listed(X):
    return [unit(x) for x in X]


def numbers(X):
    found = [root(x) for x in X[:, 0]]
    return sum(v for v in found if v is not None), len(found)


def pairs(X):
    return np.array([[unit(x) for x in (row, -row)] for row in X])


def given(n, seed, zero=False):
    X = np.abs(np.random.default_rng(seed).normal(size=(n, 3)))
    X[n // 2] *= -1 if zero else 1
    X[n // 3] *= 0 if zero else 1
    return X


@pytest.mark.parametrize("n", [3, 20, 400])
@pytest.mark.parametrize("f", [stacked, numbers, pairs])
def test_none_of_them_is(f, n):
    if f is pairs and n > 20:
        pytest.skip("each item is a choice by value: that of an inner comprehension is written out")
    compiled = jit(f)
    for seed in range(3):
        agree(compiled(given(n, seed)), f(given(n, seed)))


def test_it_is_one_loop():
    compiled = jit(stacked)
    compiled(given(400, 0))
    assert str(compiled.ir(given(400, 0))).count("loop ") == 1


@pytest.mark.parametrize("zeros", [(0, 1, 0, 1), (1, 0, 1, 0)])
@pytest.mark.parametrize("n", [20, 60, 400])
@pytest.mark.parametrize("f", [listed, numbers])
def test_some_are(f, n, zeros, falling_back):
    """The first call may be the one that meets them."""
    compiled = jit(f)
    for seed, zero in enumerate(zeros):
        agree(compiled(given(n, seed, zero)), f(given(n, seed, zero)))


def test_numpy_says_what_it_says_of_them(falling_back):
    compiled = jit(stacked)
    for zero in (False, True, False):
        if zero:
            with pytest.raises(ValueError, match="inhomogeneous"):
                compiled(given(30, 1, zero))
        else:
            agree(compiled(given(30, 1, zero)), stacked(given(30, 1, zero)))


def test_their_gradient():
    w = np.arange(1.0, 4.0)
    f = lambda X: np.sum(np.array([unit(x) for x in X]) * w)
    X, step = given(50, 2), 1e-6
    found = grad(f)(X)
    for at in ((0, 0), (17, 2), (49, 1)):
        moved = np.zeros_like(X)
        moved[at] = step
        assert found[at] == pytest.approx((f(X + moved) - f(X - moved)) / (2 * step), rel=1e-5)


def grown_past_the_guess(x, n):
    seen = []
    while x < 1.0:
        x = x + 1.0 / n
        if x > 0.1:
            seen.append(x * 2)
    return np.array(seen).sum(), len(seen)


def test_a_guess_that_the_first_call_refutes(falling_back):
    """Small programs run as generated NumPy at once: there too a presumption that does not hold has another trace answer."""
    compiled = jit(grown_past_the_guess)
    for n in (3000.0, 9000.0, 10.0):
        agree(compiled(0.0, n), grown_past_the_guess(0.0, n))
