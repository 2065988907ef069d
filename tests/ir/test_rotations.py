"""Loops that hand arrays on from one name to another: as many trips as bring each back are written as one."""

import sys

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.ir.ops import OPS
from wengert.ir.passes.rotations import period_of, places_of

LOOP = OPS["loop"]
RNG = np.random.default_rng(0)
T = 7


def leapfrog(x, y, trips=T):
    a, b = x, y
    for k in range(trips):
        a, b = b, a * 0.5 + b * 0.25 + k
    return a, b


def wave(x, y, trips=T):
    before, now = x, y
    for _ in range(trips):
        after = 2 * now - before
        after[1:-1] += 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, after
    return now


def double_buffer(x, y, trips=T):
    a, b = x.copy(), y.copy()
    for _ in range(trips):
        b[1:-1] = 0.5 * (a[2:] + a[:-2])
        a, b = b, a
    return a, b


def three_levels(x, y, trips=T):
    a, b, c = x.copy(), y.copy(), np.zeros_like(x)
    for k in range(trips):
        c[1:-1] = a[1:-1] + 0.1 * b[2:] - 0.1 * b[:-2] + k
        a, b, c = b, c, a
    return a, b, c


def kept_beside(x, y, trips=T):
    last = x
    for _ in range(trips):
        last = x
        x = 0.5 * x * y + 0.25
    return x, last


def by_elements(x, y, trips=T):
    """Inner loops store into what changes places."""
    a, b = x.copy(), y.copy()
    for _ in range(trips):
        for i in range(1, len(a)):
            b[i] = a[i - 1] * 0.5 + b[i - 1] * 0.25
        a, b = b, a
    return a


def two_pairs(x, y, trips=T):
    a, b, c, d, n = x, y, x * 2, y * 2, 0
    for _ in range(trips):
        a, b = b, a * 0.5 + c
        c, d = d, c - d * 0.5
        n = n * 2 + 1
    return a, b, c, d, n


def pair_and_three(x, y, trips=T + 6):
    a, b, c, d, e = x, y, x * 2, y * 2, x - y
    for _ in range(trips):
        a, b = b, a * 0.5 + c
        c, d, e = d, e, c * 0.25 - a
    return a, b, c, d, e


PERIODS = {
    leapfrog: 2, wave: 2, double_buffer: 2, three_levels: 3, kept_beside: 2, by_elements: 2, two_pairs: 2, pair_and_three: 6,
}  # fmt: skip


def in_place(x, y, trips=T):
    for _ in range(trips):
        x = 0.5 * x * y + 0.25
        y = y * 0.5
    return x, y


def one_twice(x, y, trips=T):
    """Both are what one was: no permutation."""
    a, b = x.copy(), y
    for _ in range(trips):
        a, b = b * 0.5, b
    return a, b


def other_lengths(x, y, trips=T):
    a, b = x, x[1:]
    for _ in range(trips):
        a, b = a * 0.5 + 1, a[1:]
    return a, b


def left_when_small(x, y):
    a, b = x, y
    while a[0] > 0.1:
        a, b = b * 0.5, a * 0.5
    return a, b


STAYING = [in_place, one_twice, other_lengths, left_when_small, lambda x, y: leapfrog(x, y, 3)]


def loops_of(f, *args):
    return [eqn for eqn in jit(f).ir(*args).eqns if eqn.op is LOOP]


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("n", [3, 90])
@pytest.mark.parametrize("function", [*PERIODS, *STAYING], ids=lambda f: f.__name__)
def test_values(function, n, engine):
    x, y = RNG.random(n), RNG.random(n)
    x[0] += 0.5
    agree(jit(function, engine=engine)(x.copy(), y.copy()), function(x.copy(), y.copy()), 1e-12)


@pytest.mark.parametrize("function", PERIODS, ids=lambda f: f.__name__)
def test_as_many_trips_as_bring_each_back(function):
    x, y = RNG.random(90), RNG.random(90)
    period, trips = PERIODS[function], function.__defaults__[0]
    (eqn,) = (eqn for eqn in loops_of(function, x, y) if eqn.attrs["trips"] == trips // period)
    assert period_of(eqn.attrs | {"trips": 1000}) == 1
    for more in range(2 * period, 2 * period + 4):
        agree(jit(function)(x.copy(), y.copy(), more), function(x.copy(), y.copy(), more), 1e-12)


@pytest.mark.parametrize("function", STAYING, ids=lambda f: f.__name__)
def test_others_stay(function):
    x, y = RNG.random(90), RNG.random(90)
    x[0] += 0.5
    for eqn in loops_of(function, x, y):
        assert eqn.attrs["trips"] in (T, 3, None)


def test_each_stays_where_it_lies():
    (eqn,) = loops_of(pair_and_three, RNG.random(90), RNG.random(90))
    places = places_of(eqn.attrs["body"], eqn.attrs["carried"])
    assert places == {k: k for k in range(5)}


def test_long_trips_are_not_written_twice(monkeypatch):
    x, y = RNG.random(90), RNG.random(90)
    (eqn,) = loops_of(leapfrog, x, y)
    assert eqn.attrs["trips"] == T // 2
    monkeypatch.setattr(sys.modules[period_of.__module__], "WRITTEN", 3)  # the pass hides the name of its module
    (eqn,) = loops_of(lambda a, b: leapfrog(a, b), x, y)
    assert eqn.attrs["trips"] == T


@pytest.mark.parametrize("function", [leapfrog, wave, kept_beside, three_levels], ids=lambda f: f.__name__)
def test_gradients(function):
    def loss(x, y):
        out = function(x, y)
        return sum((k + 1) * (a * a).sum() for k, a in enumerate(out if isinstance(out, tuple) else (out,)))

    x, y, d, h = RNG.random(70), RNG.random(70), RNG.normal(size=70), 1e-6
    slope = (loss(x + h * d, y) - loss(x - h * d, y)) / (2 * h)
    agree(grad(loss)(x, y) @ d, slope, 1e-5)


def test_text(golden):
    golden("control/rotations.txt", str(jit(leapfrog).ir(np.ones(90), np.ones(90))) + "\n")
