"""A list or dict outside that the function replaces by another, and goes on to read and to change."""

import copy

import numpy as np
import pytest

from wengert import jit

WAVE = np.arange(3.0)


class Holder:
    def __init__(self):
        self.items, self.table = [1.0, 2.0], {"a": [1.0]}


def changed_after(o):
    old = o.items
    o.items = [10.0]
    old[0] = old[0] + 5.0
    return old


def grown_after(o):
    old = o.table["a"]
    o.table["a"] = [7.0, 8.0]
    old.append(3.0)
    return old[0]


def both(o):
    old = o.items
    o.items = old[:]
    o.items[0] = 9.0
    old[1] = 4.0


def read_after(o):
    old = o.items
    o.items = [10.0, 11.0, 12.0]
    return old[1] + len(old)


def nested(o):
    old = o.table
    o.table = {"a": o.items}
    old["a"][0] += 1
    o.table["a"][1] *= 2
    return old["a"][0] + old.get("z", 1.0)


def with_array(o):
    old = o.table
    o.table = {"a": [WAVE]}
    old["a"] = [WAVE * 2]
    return old["a"][0][1]


@pytest.mark.parametrize("f", [changed_after, grown_after, both, read_after, nested, with_array])
def test_replaced(f):
    plain, ours = Holder(), Holder()
    compiled = jit(f, whole=True)
    for _ in range(3):
        was = [(o.items, o.table, o.table["a"]) for o in (plain, ours)]
        want, got = f(plain), compiled(ours)
        assert repr((want, vars(plain), was[0])) == repr((got, vars(ours), was[1]))
        assert (plain.items is was[0][0]) == (ours.items is was[1][0])
        if f is grown_after:
            plain.table["a"], ours.table["a"] = [1.0], [1.0]
        if f is with_array:
            plain.table, ours.table = copy.deepcopy(was[0][1]), copy.deepcopy(was[1][1])
