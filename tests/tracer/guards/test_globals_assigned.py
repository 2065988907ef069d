"""Globals that a function assigns under conditions on data and in loops: as in Python, after each call, however they
changed between."""

import copy

import numpy as np
import pytest

from wengert import grad, jit
from wengert.tracer.common.errors import LeakError

G = globals()
total, steps, seen = 0.0, 0, np.zeros(3)
START = {"total": 0.0, "steps": 0, "seen": np.zeros(3)}


def under(x):
    global total
    if x[0] > 0:
        total = total + x[0]
    return total * 2


def either(x):
    global total
    if x[0] > 0:
        total = x[0]
    else:
        total = -x.sum() * 2
    return x


def summed(x):
    global total
    for v in x:
        if v > 0:
            total += v
    return total


def counts(v):
    global steps, total
    steps += 1
    if v > 1:
        total = v


def by_helper(x):
    for v in x:
        counts(v)
    return steps


def halved(x):
    global steps
    while x[2] > 1:
        x = x / 2
        steps += 1
    return x


def whole_arrays(x):
    global seen
    for i in range(3):
        if x[i] > 0:
            seen = seen + x
    return seen.sum()


def elements(x):
    for i in range(3):
        if x[i] > 0:
            seen[i] += x[i]
    return x


def made(x):
    global total
    if x[0] > 0:
        global born
        born = x[0]
    total = 3
    return x


def until(x):
    global total
    for v in x:
        if v < 0:
            break
        total = v
    return total


def put_back(x):
    global total
    before = total
    if x[0] > 0:
        total = 1
    got = summed(x)
    total = before
    return got


def state():
    return {k: (type(G[k]), copy.deepcopy(G[k])) for k in (*START, "born") if k in G}


def calls(f):
    """What each of many calls gives and leaves, globals changed by others between them."""
    G.pop("born", None)
    G.update(copy.deepcopy(START))
    xs = [np.array(x) for x in ([1.0, -2, 3], [-1.0, 2, 0.5], [4.0, 0, -3], [-1.0, 5, 9], [2.0, 2, 2])]
    out = []
    for n, x in enumerate([*xs, *xs]):
        if n == 2:
            G["total"] = 100.0
        if n == 4:
            G.update(total=7, steps=np.int32(3), seen=np.ones(3))
        got = f(x.copy())
        out.append((type(got), got, state()))
    return out


@pytest.mark.parametrize("f", [under, either, summed, by_helper, halved, whole_arrays, elements, made, until, put_back])
def test_globals_are_as_in_python_after_each_call(f):
    np.testing.assert_equal(calls(jit(f)), calls(f))


def around(c):
    """Functions around one variable, each of which assigns it otherwise."""

    def put(v):
        nonlocal c
        c = v

    def if_positive(x):
        nonlocal c
        if x > 0:
            c = 3
        return x

    def always(x):
        nonlocal c
        c = 3
        return x

    def by_call(x):
        if x > 0:
            put(3)
        return x

    def by_calls_in_a_loop(x):
        for i in range(3):
            if x > i:
                put(i)
        return x

    def in_a_loop(x):
        nonlocal c
        for i in range(3):
            if x > i:
                c = i
        return x

    return put, lambda: c, {f.__name__: f for f in (if_positive, always, by_call, by_calls_in_a_loop, in_a_loop)}


@pytest.mark.parametrize("name", ["if_positive", "always", "by_call", "by_calls_in_a_loop", "in_a_loop"])
def test_enclosing_variables_are_as_in_python_after_each_call(name):
    (put, get, ours), (put_plain, get_plain, plain) = around(7.5), around(7.5)
    compiled = jit(ours[name])
    for n, v in enumerate([7, 7.5, 3, 3, 8, 8.5, 9, 3, 7, 3, 5, 6, 7.0, 8.0, 9.0, 3]):
        x = 1.5 if n % 3 != 1 else -1.0
        put(v), put_plain(v)
        compiled(x), plain[name](x)
        assert (get(), type(get())) == (get_plain(), type(get_plain()))


def test_an_exception_leaves_globals_as_they_were():
    def f(x):
        global total
        for v in x:
            if v > 1:
                total = v
            if v < 0:
                raise ValueError("negative")
        return total

    compiled = jit(f)
    G.update(copy.deepcopy(START))
    assert compiled(np.array([0.5, 2.0])) == 2.0
    with pytest.raises(ValueError, match="negative"):
        compiled(np.array([3.0, -1.0, 5.0]))
    assert total == 2.0


def test_no_traced_value_is_left_in_a_global():
    def f(x):
        global total
        total = x * 0
        for n in range(4):
            if x > n:
                total = total * x + n
        return total

    G.update(copy.deepcopy(START))
    with pytest.raises(LeakError, match="outside"):
        grad(f)(2.5)
    assert total == 0.0
