"""Generators that are left before their end: closed where Python closes them, or the loop is refused."""

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError


def first(x):
    def items():
        try:
            yield x[0]
            yield x[1]
        finally:
            x[0] = 9.0

    for v in items():
        return v


def one(x):
    def items():
        try:
            yield x[0]
            yield x[1]
        finally:
            x[0] = 9.0

    left = items()
    v = next(left)
    del left
    return x[0] + v


def broken(x):
    def items():
        try:
            yield x[0]
            yield x[1]
        finally:
            x[0] = 9.0

    for v in items():  # noqa: B007
        break
    return x[0] + v


def by_data(x):
    def items():
        try:
            yield x[0]
            yield x[1]
        finally:
            x[0] = 9.0

    for v in items():
        if v > 0:
            return v
    return 0.0


def without_a_try(x):
    def items():
        while True:
            yield x[0]
            yield x[1]

    for v in items():
        if v > 1:
            break
    return x[0] + v


def acting(x):
    def items():
        try:
            yield x[0]
        finally:
            print("closed")

    return next(items())


def check_closed(f, args, capfd):
    compiled = jit(f, engine="numpy")
    for given in args:
        mine, theirs = given.copy(), given.copy()
        assert f(theirs) == compiled(mine)
        np.testing.assert_array_equal(mine, theirs)
    assert "ignored" not in capfd.readouterr().err


@pytest.mark.parametrize("f", [first, one, broken])
def test_what_is_left_open_is_closed_in_the_call(f, capfd):
    check_closed(f, [np.array([1.0, 2.0]), np.array([3.0, 0.5])], capfd)


def test_a_loop_that_data_may_leave_is_refused(capfd):
    with pytest.raises(UnsupportedError, match="is left before its end"):
        jit(by_data)(np.array([1.0, 2.0]))
    assert "ignored" not in capfd.readouterr().err


@pytest.mark.parametrize("f", [first, one, broken, by_data, without_a_try, acting])
def test_by_default_it_is_as_in_python(f, capfd, falling_back):
    check_closed(f, [np.array([1.0, 2.0]), np.array([0.5, 3.0])], capfd)


def test_what_it_does_when_closed_is_refused_in_silence(capfd):
    with pytest.raises(UnsupportedError, match=r"print\(\)"):
        jit(acting)(np.array([1.0, 2.0]))
    assert "ignored" not in capfd.readouterr().err


def numbers(x, log):
    for v in x:
        yield v * 1.0
    log.append("end")


class Numbers:
    """An iterator that notes what it is asked for."""

    def __init__(self, x, log):
        self.x, self.log, self.k = x, log, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.log.append(self.k)
        if self.k == len(self.x):
            raise StopIteration
        self.k += 1
        return self.x[self.k - 1]


def up_to_a_large_one(items):
    total = 0.0
    for v in items:
        v = v[0] if isinstance(v, tuple) else v
        if v > 0.3:
            break
        total += v
    return total


def is_large(v):
    return v > 0.3


THROUGH = {
    "enumerate": lambda items: up_to_a_large_one((v, k) for k, v in enumerate(items)),
    "zip": lambda items: up_to_a_large_one(zip(items, range(5))),
    "map": lambda items: up_to_a_large_one(map(abs, items)),
    "comprehension": lambda items: up_to_a_large_one(v for v in items),
    "any": lambda items: any(v > 0.3 for v in items),
    "all": lambda items: all(v < 0.3 for v in items),
    "any of map": lambda items: any(map(is_large, items)),
    "next": lambda items: next((v for v in items if v > 0.9), 0.0),
}


@pytest.mark.parametrize("way", THROUGH)
@pytest.mark.parametrize("kind", [numbers, Numbers])
def test_no_item_is_made_behind_the_one_that_ends_it(kind, way, falling_back, recwarn):
    def f(x, log):
        return THROUGH[way](kind(x, log))

    compiled = jit(f)
    for x in (np.array([0.1, 0.5, 0.2]), np.array([0.1, 0.2, 0.2]), np.array([0.1, 0.5, 0.2])):
        mine, theirs = [], []
        assert compiled(x, mine) == f(x, theirs)
        assert mine == theirs
