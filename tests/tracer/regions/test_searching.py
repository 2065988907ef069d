"""`bisect` of traced numbers, in lists of them and in the user's own."""

import bisect

import numpy as np
import pytest

from wengert import jit

XS = [0.0, 1.0, 1.0, 2.0, 4.0, 7.0]


def of_a_number(v):
    return bisect.bisect(XS, v), bisect.bisect_left(XS, v), bisect.bisect_right(XS, v, 1, 4)


def of_numbers(v):
    ys = [x * v for x in XS]
    return bisect.bisect(ys, 2.0), bisect.bisect_left(ys, 2.0), bisect.bisect_left(ys, -2.0, key=lambda y: -y)


def in_a_loop(v):
    return [bisect.bisect_left(XS, v + i * 0.1) - 1 for i in range(40)]


def of_an_array(v):
    ys = np.array(XS) * v
    return bisect.bisect(ys, 2.0), ys[bisect.bisect_left(ys, v) - 1]


@pytest.mark.parametrize("f", [of_a_number, of_numbers, in_a_loop, of_an_array], ids=lambda f: f.__name__)
def test_bisect(f):
    compiled = jit(f)
    for v in (1.0, 0.5, 3.0, 10.0, -1.0):
        assert compiled(v) == f(v)


def test_bisect_in_a_list_that_changes():
    compiled = jit(of_a_number)
    for _ in range(3):
        assert compiled(1.5) == of_a_number(1.5)
        XS.insert(0, -1.0)
    del XS[:3]


def from_below(v):
    return bisect.bisect(XS, v, -1)


def test_a_place_below_zero():
    with pytest.raises(ValueError, match="lo must be non-negative"):
        jit(from_below)(1.0)
