"""Iterators that a variable holds, and that a loop leaves where data decide: what is left of them is Python's to say."""

import numpy as np
import pytest

from wengert import jit


def of_an_array(x):
    it = iter(x)
    for v in it:
        if v < 0:
            break
    s = 0
    for w in it:
        s += w
    return s


def of_a_range(x):
    it = iter(range(10))
    for i in it:
        if i > x[0]:
            break
    return i, list(it)


def of_a_generator(x):
    it = (i for i in range(10))
    for i in it:
        if i > x[0]:
            break
    return i, list(it)


def nested(x):
    it = iter(range(10))
    for i in it:  # noqa: B007, read after it
        for j in it:
            if j > x[0]:
                break
    return i, j


def zipped(x):
    it = zip(range(5), "abcde")
    for i, c in it:  # noqa: B007, read after it
        if i >= x[0]:
            break
    return c, next(it, None)


def asked_by_any(x):
    it = iter(range(5))
    return any(i > x[0] for i in it), list(it)


def asked_by_all(x):
    it = iter(x)
    if all(v > 0 for v in it):
        return "all"
    return sum(it)


class Steps:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 5:
            raise StopIteration
        self.n += 1
        return self.n - 1


def of_a_class(x):
    it = Steps()
    for v in it:
        if v > x[0]:
            break
    return v, it.n, list(it)


CASES = [of_an_array, of_a_range, of_a_generator, nested, zipped, asked_by_any, asked_by_all, of_a_class]
POINTS = [np.array(p) for p in ([1.0, -1.0, 2.0], [-1.0, 2.0, -3.0], [3.0, 2.0, 1.0])]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_what_is_left(f, falling_back):
    compiled = jit(f)
    for x in POINTS:
        assert repr(compiled(x)) == repr(f(x))
