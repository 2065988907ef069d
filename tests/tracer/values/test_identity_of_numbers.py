"""`is` of traced truth values: there is one True and one False, of Python's and of NumPy's each."""

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError


def asked(x, y):
    a = x[0] > 0
    b = bool(a)
    c = True if x[1] > 0 else False
    n = None if y else a
    return (
        a is b, b is c, a is np.True_, b is True, c is not False, a is True, n is None, b is None, x is None, a is a,
        b is not True, x[0] is x[0], x[0] is y,
    )  # fmt: skip


def decides(x, _):
    if (x[0] > 0) is np.True_:
        return 1
    return 2 if bool(x[1] > 0) is True else 3


def matched(x, _):
    match bool(x[0] > 0):
        case True:
            return x[1]
        case False:
            return 2 * x[1]


def of_either_kind(x, _):
    flag = True
    if x[0] > 0:
        flag = x[1] > 0
    return flag is True, flag is np.True_, flag is not True, flag is None


class Grid:
    def __init__(self):
        self.data = [0.0] * 4

    def inside(self, a):
        inside = False
        if a > 0:
            inside = not inside
        return inside

    def mark(self, x, wanted, value):
        for i in range(4):
            flag = self.inside(x[i])
            if flag is wanted:
                self.data[i] = value


@pytest.mark.parametrize("f", [asked, decides, of_either_kind])
def test_truth_values_are_one_each(f):
    compiled = jit(f)
    for x in ([1.0, 1], [1.0, -1], [-1.0, 1], [-1.0, -1]):
        for y in (0, 1):
            got, want = compiled(np.array(x), y), f(np.array(x), y)
            assert got == want and str(type(got)) == str(type(want))
            assert f is decides or [*map(type, got)] == [*map(type, want)]


def test_a_flag_that_is_the_one_wanted():
    compiled, ours, plain = jit(Grid.mark), Grid(), Grid()
    for t, x in enumerate(([1.0, -1, 1, -1], [-1.0, 1, 1, 1], [-1.0, -1, -1, -1])):
        for wanted in (False, True):
            compiled(ours, np.array(x), wanted, t + 1.0)
            plain.mark(np.array(x), wanted, t + 1.0)
            assert ours.data == plain.data


def test_patterns_that_ask_for_true_are_refused():
    with pytest.raises(UnsupportedError, match="if and else"):
        jit(matched)(np.ones(2), 0)


def test_two_ints_are_not_asked_whether_they_are_one():
    with pytest.raises(UnsupportedError, match="a == b"):
        jit(lambda x: int(x[0]) is int(x[1]))(np.arange(3.0))
