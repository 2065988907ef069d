"""Trips that store an item of a list or dict and give it other items too, in either order: done once each, whatever the
loop is run for to find out what it does."""

import itertools

import numpy as np
import pytest
from compare import agree
from random_asking import function_of

from wengert import grad, jit

STORES = ["L[0] += 1", "L[-1] = L[-1] * 2", "d['h'] += 1", "d[k] = 1", "L[0] = L[0] + x[k]", "d['h'] = x[k]"]
CHANGES = [
    "L.append(9)", "L.pop()", "L.insert(0, k)", "L[1:2] = [k, k]", "d.update(q=k)", "d.setdefault('r', []).append(k)",
    "del d[next(iter(d))]", "L.append(x[k])", "d.update(q=x[k])",
]  # fmt: skip


def function_that_does(*effects):
    lines = "".join(f"        {e}\n" for e in effects)
    text = f"def f(x, L, d):\n    s = 0.0\n    for k in range(3):\n        s += x[k]\n{lines}    return s, L, d\n"
    return function_of(text, f"/tmp/drawn/items_{effects}.py")


def outcome(f):
    given = np.arange(4.0), [1, 2, 3, 4, 5, 6, 7, 8], {"h": 0, "p": 1, "z": 2, "y": 3}
    try:
        s, L, d = f(*given)
        found = s, L, L is given[1], in_order(d), d is given[2]
    except Exception as error:
        return type(error).__name__, str(error)  # a program that raises has written nothing
    return found, given[:2], in_order(given[2])


def in_order(d):
    return [(str(key), x) for key, x in d.items()]


@pytest.mark.parametrize("store", STORES)
def test_an_item_and_a_length(store, falling_back, recwarn):
    for change in CHANGES:
        for effects in itertools.permutations([store, change]):
            f = function_that_does(*effects)
            made, want = jit(f), outcome(f)
            for _ in range(2):
                agree(outcome(made), want)


def counted(x):
    found, t = {"n": 0}, 0.0
    for v in x:
        found["n"] += 1
        found.setdefault("first", v)
        t += v * found["n"]
    return t


def test_a_derivative_through_them():
    x = np.array([1.0, 2.0, 3.0, -1.0])
    agree(jit(counted)(x), counted(x))
    agree(grad(counted)(x), np.arange(1.0, 5.0))


def stacked(x):
    stack = [1.0]
    for v in x:
        stack[-1] += v
        stack.append(v)
    return stack


def nested(x, L):
    for k in range(2):
        for _ in x:
            L[0] += k
            L.insert(1, k)
        L[1] = L[0]
        L.pop()
    return x.sum()


def test_traced_items_and_loops_in_loops(falling_back, recwarn):
    x = np.array([1.0, 2.0, 3.0])
    agree(jit(stacked)(x), stacked(x))
    ours, plain = [5, 6], [5, 6]
    agree(jit(nested)(x, ours), nested(x, plain))
    assert ours == plain
