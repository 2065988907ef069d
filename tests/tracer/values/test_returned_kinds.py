"""A number of which data decide the kind leaves the program as the kind it is: returned, stored, in containers."""

import math

import numpy as np
import pytest

from wengert import jit


class Box:
    v = None


BOX = Box()


def of_mathematics(x):
    if abs(x[0]) < 1e-3:
        th = math.sqrt(x[1])
    else:
        th = abs(x[1])
    return x / th, th


def literal_or_item(x):
    if x[0] < 1e-3:
        th = 1.0
    else:
        th = x[1]
    return th


def int_or_float(x):
    if x[0] < 1e-3:
        return 1
    return 2.5


def three_kinds(x):
    if x[0] < 1e-3:
        return True
    if x[1] > 3:
        return x[1]
    return 2


def of_a_loop(x):
    s = 0
    for v in x:
        s += v
    while s > 3:
        s = 2
    return s


def stored(x):
    BOX.v = 1 if x[0] < 1e-3 else x[1]
    return [BOX.v, {"a": BOX.v}]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize("f", [of_mathematics, literal_or_item, int_or_float, three_kinds, of_a_loop, stored])
def test_kinds_are_pythons(f, engine, dtype):
    compiled = jit(f, engine=engine)
    for numbers in ([1, 4], [0, 4], [1, 2], [0, 1]):
        x = np.array(numbers, dtype)
        assert repr((compiled(x), BOX.v)) == repr((f(x), BOX.v))
    assert "assumed" not in str(compiled.explain())
