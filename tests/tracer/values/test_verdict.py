"""Conditions of every op, of values and numbers, as checks and as choices: first calls that look only whether one has failed say what NumPy says."""

import functools
import random

import numpy as np
import pytest
from deep import I0, NUMBER, TRUTH, VECTOR, WHOLE, at, op

from wengert import jit
from wengert.ir.core import Builder, Lit
from wengert.ir.ops.control import evaluate
from wengert.ir.verify import verify
from wengert.tracer.program.check_weakening import decided

pytestmark = pytest.mark.as_numpy
COMPARISONS = [getattr(np, name) for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")]
TESTS = [lambda x, f=f, n=n: f(x, n) for f in COMPARISONS for n in (0, 1.5, -np.inf, np.nan)]
TESTS += [lambda x, f=f, n=n: f(n, x) for f in COMPARISONS for n in (0.0, 2)] + [np.isfinite, np.isnan, np.isinf, np.signbit, np.logical_not]
WAYS = [np.all, np.any, lambda t: not t.all(), lambda t: t.sum() == t.size, lambda t: t[0], lambda t: (t & True).all(), lambda t: (t | t[::-1]).any()]


def drawn(rng, depth):
    """A condition on a vector."""
    if not depth or rng.random() < 0.2:
        return rng.choice(TESTS)
    one, other = (drawn(rng, depth - 1) for _ in range(2))
    joined = rng.choice([np.logical_and, np.logical_or, np.not_equal, lambda a, b: np.where(a, b, ~a), lambda a, b: ~a])
    return lambda x: joined(one(x), other(x))


def programs(test, way):
    """A check, and a choice of shapes."""

    def asserted(x):
        assert way(test(x))
        return x + 1

    def chosen(x):
        return x + 1 if way(test(x)) else x[:-1]

    return asserted, chosen


@pytest.mark.parametrize("seed", range(8))
def test_conditions(seed):
    rng = random.Random(seed)
    for _ in range(6):
        for f in programs(drawn(rng, 3), rng.choice(WAYS)):
            g = jit(f, engine="numpy")
            for x in (np.ones(3), np.array([0.0, 1.5, np.nan]), np.array([2.0, -np.inf, 3.0])):
                try:
                    want = f(x)
                except AssertionError:
                    with pytest.raises(AssertionError):
                        g(x)
                else:
                    assert np.array_equal(g(x), want, equal_nan=True)


def test_searches_that_check():
    x = np.array([1.0, np.nan, 3.0])
    for f in (np.nanargmax, np.nanargmin):
        assert jit(lambda x, f=f: f(x))(x) == f(x) and jit(lambda x, f=f: f(x))(np.ones(3)) == 0
        with pytest.raises(ValueError):
            jit(lambda x, f=f: f(x))(np.full(2, np.nan))


def status(rng, x, n):
    """A status of checks whose conditions are of values, numbers and each other."""
    truths = [Lit(True, TRUTH), Lit(False, TRUTH), op.lt(at(x, I0), Lit(1, NUMBER)), op.reduce_and(op.ne(x, Lit(0, VECTOR)), axes=(0,))]
    for _ in range(n):
        a, b = rng.choice(truths), rng.choice(truths)
        truths.append(rng.choice([lambda a, b: op.and_(a, b), lambda a, b: op.or_(a, b), lambda a, b: op.not_(a), lambda a, b: op.xor(a, b)])(a, b))
    number = lambda k: rng.choice([Lit(k, WHOLE), op.add(Lit(k, WHOLE), op.mul(op.argmax(x, axis=0), Lit(1 << 32, WHOLE)))])

    def step(s, k):
        if rng.random() < 0.7:
            return op.select(op.and_(op.eq(s, I0), rng.choice(truths)), number(k), s)
        return op.select(rng.choice(truths), s, number(k))

    return functools.reduce(step, range(1, n), I0)


@pytest.mark.parametrize("seed", range(20))
def test_a_status_is_0_or_not(seed):
    rng = random.Random(seed)
    for n in (1, 2, 4, 8):
        build = Builder("checks")
        x = build.param(VECTOR)
        with build:
            func = build.finish((x, status(rng, x, n)))
        made = verify(decided(func))
        for _ in range(4):
            y = np.array([rng.choice([0.0, 1.0, 2.0]) for _ in range(6)])
            assert bool(evaluate(made, [y])[-1]) == bool(evaluate(func, [y])[-1])
