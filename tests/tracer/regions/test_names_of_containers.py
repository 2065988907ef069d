"""A list or dict that a loop changes under a name that a trip binds: after the loop both names are of one thing, as it is then."""

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit


class Box:
    pass


def another_name(x):
    state, t = [x[0], x[1]], 0.0
    while t < x[0]:
        s = state
        s[0] = s[0] + 0.1 * s[1]
        s[1], t = s[1] - 0.1 * s[0], t + 0.3
    return s[0], s is state


def the_last_dict(x):
    d, s = {"v": 0.0}, x[0]
    while s > 0:
        d["v"] += s * x[1]
        last, s = d, s - 1
    return last["v"] * x[1]


def an_item(x):
    a, s = {"p": [0.0], "q": []}, x[0]
    while s > 0:
        p, q = a["p"], a["q"]
        p[0] += s
        q.append(x[1])
        s = s - 1
    return p[0], a["p"][0], sum(q), len(a["q"])


def an_attribute(x):
    box, s = Box(), x[0]
    box.values = [0.0]
    while s > 0:
        values = box.values
        values[0] += s
        s = s - 1
    return values[0], box.values


def a_row(x):
    grid, s = [[0.0], [1.0]], x[0]
    while s > 0:
        row = grid[1]
        row[0] += s
        s = s - 1
    return row[0], grid


def in_a_tuple(x):
    values, s = [0.0], x[0]
    while s > 0:
        values[0] += s
        both, s = (values, s), s - 1
    return both[0][0], both[1], values


def one_of_two(x):
    best, d, s = {"v": -1.0}, {"v": 0.0}, x[0]
    while s > 0:
        d["v"] += s
        best, s = d, s - 1
    return best["v"], d["v"]


def given_back(x):
    state, s = {"sum": 0.0, "n": 0}, x[0]

    def update(s):
        state["sum"] += s
        state["n"] += 1
        return state

    while s > 0:
        current, s = update(s), s - 1
    return current["sum"] / current["n"], state


def returned_within(x):
    values, s = [0.0], x[0]
    while s > 0:
        values[0] += s
        s = s - 1
        if values[0] > 2:
            return values, s
    return values, -s


FUNCTIONS = [another_name, the_last_dict, an_item, an_attribute, a_row, in_a_tuple, one_of_two, given_back, returned_within]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_both_names_hold_what_the_loop_leaves(f, falling_back, recwarn):
    compiled = jit(f)
    for x in (np.array([2.0, 3.0]), np.array([3.0, -1.0]), np.array([1.0, 0.5])):
        agree(compiled(x), f(x))


def test_derivatives_go_through_both():
    x = np.array([2.0, 3.0])
    agree(grad(the_last_dict)(x), np.array([2 * 9.0, 2 * 3.0 * 3.0]))


def test_trips_whose_number_is_traced(falling_back, recwarn):
    def f(n):
        a = []

        def add(v):
            a.append(v)
            return a

        for i in range(n):
            r = add(i)
        return r, len(r)

    compiled = jit(f)
    for n in (3, 20, 5, 7):
        agree(compiled(n), f(n))


def copied_in_trips(x, a):
    q, p = a, [0.5, x[0]]
    for _ in range(int(x[1])):
        q = list(q)
        p = p[:]
    q[1] = 8.0
    return q is a, q, p


@pytest.mark.parametrize("trips", [1.0, 0.0, 2.0])
def test_a_copy_of_the_same_items_is_another_list(trips, falling_back, recwarn):
    mine, theirs, x = [0.25, 1.0], [0.25, 1.0], np.array([0.1, trips])
    agree(jit(copied_in_trips)(x, mine), copied_in_trips(x, theirs))
    assert mine == theirs
