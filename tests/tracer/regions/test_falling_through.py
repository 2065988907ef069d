"""A function that ends without a return gives None, also where data decide that it comes to its end."""

import numpy as np
import pytest

from wengert import jit


def number(x):
    if x[2] > 0:
        return 1.0


def array(x):
    if x[2] > 0:
        return x


def pair(x):
    if x[2] > 0:
        return True, x[0]


def in_a_loop(x):
    for i in range(len(x)):
        if x[i] > 0.95:
            return x[i] * 2, i


def in_a_while(x):
    i = 0
    while i < 3:
        if x[i] > 0.95:
            return x
        i += 1


def nested(x):
    if x[0] > 0.5:
        if x[1] > 0.95:
            return x[2]
        for i in range(3):
            if x[i] > 0.7:
                return i


def used(x):
    found = array(x)
    return 0.0 if found is None else found.sum()


def inside(x):
    def found():
        if x[2] > 0:
            return x[0]

    return found(), 1.0


def else_falls(x):
    if x[2] > 0:
        x = x * 2
    else:
        return x
    x = x + 1


def bare(x):
    if x[0] > 0.5:
        return
    if x[1] > 0.5:
        return x[1]


POINTS = [np.array(p) for p in ([0.1, 0.2, -1.0], [0.9, 1.0, 1.0], [0.6, 0.1, -1.0], [0.8, 0.2, 0.96], [0.1, 0.9, 0.3])]
WITHOUT_SOURCE = {}
exec("def unseen(x):\n    if x[2] > 0: return x[0]\ndef unseen_loop(x):\n    for i in range(3):\n        if x[i] > 0.95: return i\n", WITHOUT_SOURCE)
CASES = [number, array, pair, in_a_loop, in_a_while, nested, used, inside, else_falls, bare]
CASES += [WITHOUT_SOURCE["unseen"], WITHOUT_SOURCE["unseen_loop"]]


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_it_gives_none(f):
    compiled = jit(f)
    for x in (*POINTS, *POINTS):
        assert repr(compiled(x.copy())) == repr(f(x.copy()))


def raises(x):
    n = 0
    if x[0] > 0.5:
        n += len(0.5)
    return n


def test_what_a_side_that_is_not_taken_would_raise():
    compiled = jit(raises)
    assert compiled(POINTS[0]) == 0
    with pytest.raises(TypeError, match="has no len"):
        compiled(POINTS[1])
