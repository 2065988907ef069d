"""Objects that change at each call cost a trace or two, not one a call: counters, histories, schedules, derivatives of
methods."""

import copy

import numpy as np
import pytest

from wengert import grad, jit, jvp, value_and_grad, vmap

X = np.arange(12.0).reshape(4, 3) / 10
CALLS = 12


def traces(f):
    return sum(len(w.versions) for e in f.compiled.entries.values() for w in e.worlds)


def same(a, b):
    """Whether two results or states are alike in types, dtypes and values."""
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            same(a[k], b[k])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    elif isinstance(a, np.ndarray | np.generic):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-12)
    elif isinstance(a, float):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    elif hasattr(a, "__dict__"):
        same(vars(a), vars(b))
    else:
        assert a == b


def agree(made, most, calls=CALLS, change=lambda x, i: None, **options):
    """The method `step` of one object plain, of another compiled, call after call; at most so many traces."""
    other = copy.deepcopy(made)
    plain = type(made).step
    step = jit(plain, **options)
    for i in range(calls):
        change(made, i), change(other, i)
        same(step(other), plain(made))
        same(other, made)
    assert traces(step) <= most, step.explain()


class Linear:
    def __init__(self):
        self.w, self.y, self.rate, self.scale, self.held = np.ones(3), np.ones(4), 0.01, 2.0, [3.0]

    def loss(self, w):
        return self.scale * ((X @ w - self.y) ** 2).mean() + self.held[0] * w[0]

    def flat(self, w):
        return self.scale * w * w + self.held[0] * w


class Descent(Linear):
    def step(self):
        self.w = self.w - self.rate * grad(self.loss)(self.w)
        return self.w.sum()


class Decaying(Linear):
    def step(self):
        self.rate *= 0.9
        value, slope = value_and_grad(self.loss)(self.w)
        self.w = self.w - self.rate * slope
        return value


class Mapped(Linear):
    def step(self):
        self.scale += 1
        value, slope = jvp(self.loss, (self.w,), (np.ones(3),))
        return vmap(self.flat)(self.w).sum() + value + slope


class OfNumbers(Linear):
    def step(self):
        return grad(self.flat)(1.0)


@pytest.mark.parametrize("kind", [Descent, Decaying, Mapped, OfNumbers])
def test_derivatives_of_methods_are_traced_once(kind):
    """They are called with hooks: their object is not relied on as a whole, and what they read is read at each call."""

    def change(x, i):
        x.held[0] = 3.0 + i

    agree(kind(), 3, change=change)


held, scale = [3.0], 0.5


def parabola(w):
    return scale * w * w + held[0] * w


def test_a_derivative_at_a_known_number_reads_at_each_call(monkeypatch):
    f = jit(lambda: grad(parabola)(1.0))
    for k in range(5):
        held[0] = k * 1.0
        monkeypatch.setitem(globals(), "scale", k * 3.0)
        assert f() == k * 7.0
    assert traces(f) <= 3
