"""Items of lists and dicts from outside: one place under all spellings, put back where a trace begins again, and those of a list that is also
an argument."""

import numpy as np
import pytest
from compare import agree

from wengert import jit

L, D = [], {}


def spelled(x):
    a, L[-1] = L[2], x[0]
    L[True] += L[len(L) - 1]
    L[1] += 1
    return a, L[2], L[-2]


def in_a_loop(x):
    for _ in range(3):
        L[-1] = L[2] + x[0]
    return L[-1]


def on_two_sides(x):
    if x[0] > 1:
        L[2] = x[1]
    else:
        L[-1] = -x[1]
    return L[2], L[-1]


def counted_and_grown(x):
    for k in range(3):
        L[0] += 5
        if x[0] > 1:
            L.append(k)
    return len(L)


def looked_at_between(x):
    if x[0] > 1:
        L[-1] -= D["k"]
    else:
        L[0] = 1.5
        D["k"] *= L[-len(L)]


def deleted_before_a_choice(x):
    L[1] = L[1] * 2
    del L[0]
    if x[0] > 1:
        D[2] *= x[1]
    else:
        L.append(x[1])
    return L[-1]


def numbers_of_numpy_as_keys(x):
    a = D[np.float64(2.0)]
    del D[2]
    return a * x[0]


FUNCTIONS = [spelled, in_a_loop, on_two_sides, counted_and_grown, looked_at_between, deleted_before_a_choice, numbers_of_numpy_as_keys]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_items_are_one_place(f, falling_back):
    g = jit(f)
    for n, x in enumerate(([0.5, 2.0], [3.0, 1.0], [0.5, 2.0], [2.0, -1.0], [1.5, 4.0])):
        left = []
        for h in (f, g):
            L[:], extra = [float(n), 2.0, 0.25 + n], [7.0] * (n % 2)
            L[1:1] = extra
            D.clear()
            D.update({"k": 0.5, 2: 1.5, (1, 2): 4.5})
            left.append((h(np.array(x)), [*L], sorted(map(str, D)), D.get(2), D["k"]))
        agree(left[1][:2], left[0][:2])
        assert left[1][2] == left[0][2]
        agree([v or 0.0 for v in left[1][3:]], [v or 0.0 for v in left[0][3:]])


def emptied(x, p):
    p[0] = 0.5
    if L[0] > 1:
        for _ in range(3):
            p.pop()
    return p[-len(p)]


def told(x, p):
    p.pop()
    if len(L) == 3:
        raise ValueError("three")
    return x[0]


def asked(x, p):
    p.append(x[0])
    return L[3]


@pytest.mark.parametrize("f", [emptied, told, asked], ids=lambda f: f.__name__)
def test_a_list_that_is_also_an_argument_raises_what_python_raises(f, falling_back):
    g = jit(f)
    for n in range(6):
        left = []
        for h in (f, g):
            L[:] = [float(n * 3), 2.0, 3.0]
            try:
                out = h(np.array([0.5]), L if n % 3 else [1.0, 2.0, 3.0])
            except (ValueError, IndexError) as error:
                out = repr(error)
            left.append((out, [*L]))
        assert left[0] == left[1]
