"""Maxima that softmax and its logarithm take out of exponentials have no derivative where they cancel, and keep theirs elsewhere."""

import numpy as np
import pytest

from wengert import grad, hessian, jit
from wengert.ir.passes import shifts


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def cross_entropy(x):
    t = x - x.max(1, keepdims=True)
    return -(t - np.log(np.exp(t).sum(1, keepdims=True)))[np.arange(len(x)), np.arange(len(x)) % x.shape[1]].mean()


def log_sum_exp(x):
    m = x.max(0)
    return (np.log(np.exp(x - m).sum(0)) + m - x[0]).sum()


def attention(x):
    return (np.tanh(softmax(x @ x.T * 0.3) @ x) ** 2).sum()


def through_a_loop(x):
    for _ in range(3):
        x = x + softmax(x)
    return (x * x).sum()


CANCEL = {
    "softmax": lambda x: (softmax(x) ** 2).sum(),
    "along the first axis": lambda x: (softmax(x, 0) ** 3).sum(),
    "of all": lambda x: (np.exp(x - x.max()) / np.exp(x - x.max()).sum() * x).sum(),
    "cross entropy": cross_entropy,
    "log-sum-exp": log_sum_exp,
    "attention": attention,
    "in a loop": through_a_loop,
    "three axes": lambda x: (softmax(np.stack([x, 2 * x]), (0, 2)) ** 2).sum(),
}


def other_axis(x):
    t = x - x.max(1, keepdims=True)
    return (t - np.log(np.exp(t).sum(1))[None, :]).std()  # of a square matrix it fits, and is something else


def exponentials_read(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True) + e).sum()


def quotient_upside_down(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return (e.sum(1, keepdims=True) / e).sum()


def another_sum(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return (e / e.sum(0) * x).sum()


def another_exponential(x):
    """A quotient of an exponential without the maximum, by a sum of exponentials with it."""
    s = np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
    return (np.exp(np.sin(x)) / s * x).sum()


STAY = {
    "another exponential": another_exponential,
    "sums alone": lambda x: np.exp(x - x.max(1, keepdims=True)).sum(),
    "maximum read": lambda x: (softmax(x) ** 2).sum() + x.max(1).sum(),
    "difference read": lambda x: (lambda t: (np.exp(t) / np.exp(t).sum(1, keepdims=True) * t).sum())(x - x.max(1, keepdims=True)),
    "logarithm alone": lambda x: np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)).sum(),
    "other axis": other_axis,
    "exponentials read": exponentials_read,
    "upside down": quotient_upside_down,
    "another sum": another_sum,
    "another power": lambda x: (lambda e: (e / e.sum(1, keepdims=True) ** 2).sum())(np.exp(x - x.max(1, keepdims=True))),
}


def slopes_by_differences(f, x, step=1e-5):
    found = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        d = np.zeros(x.shape)
        d[at] = step
        found[at] = (f(x + d) - f(x - d)) / (2 * step)
    return found


@pytest.mark.parametrize("name", [*CANCEL, *STAY])
def test_slopes_are_right_and_maxima_drop_out_where_they_cancel(name, rng, inexact_rules):
    f, x = {**CANCEL, **STAY}[name], rng.normal(size=(5, 5))
    captured = jit(f).ir(x, passes=False)
    assert ("stop_gradient" in str(shifts(captured))) == (name in CANCEL)
    np.testing.assert_allclose(grad(f)(x), slopes_by_differences(f, x), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", ["softmax", "cross entropy", "log-sum-exp"])
def test_second_derivatives(name, rng, inexact_rules):
    f, x = CANCEL[name], rng.normal(size=(2, 3))
    got = hessian(f)(x)
    for at in np.ndindex(x.shape):
        np.testing.assert_allclose(got[at], slopes_by_differences(lambda y, at=at: grad(f)(y)[at], x), rtol=1e-5, atol=1e-7)


def test_ties_and_extremes(inexact_rules):
    x = np.array([[1.0, 1.0, 0.0], [800.0, -800.0, 800.0], [-900.0, -901.0, -902.0]])
    for f in (cross_entropy, CANCEL["softmax"]):
        assert np.isfinite(grad(f)(x)).all()
    np.testing.assert_allclose(grad(cross_entropy)(x), (softmax(x) - np.eye(3)) / 3, atol=1e-12)


def test_exact_programs_derive_what_is_written(rng):
    assert "reduce_max" in str(grad(cross_entropy).ir(rng.normal(size=(4, 3))))
    exact = jit(grad(cross_entropy), exact=True).ir(rng.normal(size=(4, 3)))
    plain = jit(grad(cross_entropy), exact=False).ir(rng.normal(size=(4, 3)))
    assert exact.count() > plain.count()
