"""Generators and iterators of the user's that handle exceptions, or are left before their end; managers that decorate."""

import collections.abc
import contextlib
import warnings

import numpy as np
import pytest
from random_raising import agrees, outcome

from wengert import jit

X, FAR, NEAR = np.array([0.1, 0.9, 0.5, 0.3]), np.array([0, 7, 2, 3]), np.array([0, 1, 2, 3])


def handling(x, j):
    try:
        for k in j:
            yield x[k]
    except IndexError:
        pass


def counted(x, j):
    n = 0
    for _ in handling(x, j):
        n += 1
    return n


def listed(x, j):
    return list(handling(x, j))


def added(x, j):
    return sum(handling(x, j))


def left_before_it_raises(x, j):
    def items():
        for k in range(9):
            yield x[k]

    for v in items():
        if v > 0.4:
            return v


def left_before_it_changes(x, j):
    seen = []

    def items():
        for k in range(4):
            seen.append(k)
            yield x[k]

    for v in items():
        if v > 0.4:
            break
    return len(seen)


def left_before_it_stores(x, j):
    seen = np.zeros(4)

    def items():
        for k in range(4):
            seen[k] = 1.0
            yield x[k]

    for v in items():
        if v > 0.4:
            break
    return seen


def left_before_a_check(x, j):
    def items():
        for k in j:
            yield x[k]

    for v in items():
        if v > 0.05:
            return v


class Short(collections.abc.Sequence):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return 4

    def __getitem__(self, i):
        if self.x[i] > 0.6:
            raise IndexError
        return self.x[i]


class Old:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        if self.x[i] > 0.6:
            raise IndexError
        return self.x[i]


def a_sequence_that_ends(x, j):
    return list(Short(x)), 0.5 in Short(x)


def items_by_number(x, j):
    total = 0.0
    for v in Old(x):
        total += v
    return total, list(Old(x))


PROGRAMS = [
    counted, listed, added, left_before_it_raises, left_before_it_changes, left_before_it_stores, left_before_a_check,
    a_sequence_that_ends, items_by_number,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_in_python(function, falling_back):
    made = jit(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, j in ((X, FAR), (X, NEAR), (X[::-1].copy(), NEAR), (X * 0.1, FAR), (X, FAR)):
            assert agrees(outcome(made, x, j), outcome(function, x, j))


# -- functions that a context manager decorates ----------------------------------------------------
LOG = []


class Logging(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        LOG.append(kind)
        return kind is IndexError


@Logging()
def decorated(x, j):
    return x[j[1]] + 1.0


class Decorated:
    @Logging()
    def method(self, x, j):
        return x[j[1]] * 2.0


def calls_them(x, j):
    return decorated(x, j), Decorated().method(x, j)


def test_a_manager_that_decorates_is_entered_and_left_at_every_call(falling_back):
    made = jit(calls_them)
    for n, j in enumerate((NEAR, NEAR, FAR, NEAR), 1):
        assert made(X, j) == calls_them(X, j) and len(LOG) == 4 * n
    assert LOG[8:12] == [IndexError] * 4
