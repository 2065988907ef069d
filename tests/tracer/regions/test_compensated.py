"""Python's `sum` of floats to the bit: since 3.12 it adds at the end what its additions rounded away."""

import numpy as np
import pytest

from wengert import grad, jit

CANCELS = [1e16, 1.0, -1e16]


def plain(xs):
    return sum(xs)


def of_expression(xs):
    return sum(v * 1.0 for v in xs)


def of_some(xs):
    return sum(v for v in xs if v > -1e20)


def of_kept(xs):
    return sum([v for v in xs if v > -1e20])


def begun(xs):
    return sum(xs, xs[1] / 2), sum(xs, 2), sum(xs, 0.5)


def listed(a):
    return sum(a.tolist()), sum(a.tolist(), 0.3)


def squares(xs):
    return sum([v * v for v in xs if v > 0])


def none_kept(xs):
    return sum([v for v in xs if v > 1e300])


DRAWN = [
    (RNG.normal(size=n) * 10.0 ** RNG.integers(-12, 12, n)).tolist()
    for RNG, n in ((np.random.default_rng(n), n) for n in (3, 20, 200))
]


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("f", [plain, of_expression, of_some, of_kept, begun, listed, none_kept])
def test_same_bits(f, engine):
    for xs in (CANCELS, CANCELS * 30, [0.1] * 10, [-0.0] * 3, [1e308, 1e308, -1e308], [np.inf, 1.0, -np.inf], *DRAWN):
        given = np.array(xs) if f is listed else xs
        want, got = f(given), jit(f, engine=engine)(given)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
        assert type(got) is type(want)


def test_numbers_of_other_kinds_are_added_as_they_stand():
    mixed = [1, 2.5, 1e16, 3, -1e16], [True, 0.1, 0.2], [1e16, 1j, -1e16, 1.0]
    for xs in (np.array(CANCELS), np.array(CANCELS * 30), *mixed):
        assert jit(plain)(xs) == plain(xs)


def test_derivatives_know_nothing_of_it():
    assert grad(of_expression)(DRAWN[2]) == [1.0] * 200
    assert grad(squares)([1.0, 2.0, -3.0] * 10) == [2.0, 4.0, 0.0] * 10
