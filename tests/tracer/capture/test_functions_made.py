"""Functions that a compiled function makes, and returns or stores, are functions of the user's own code."""

import types

import numpy as np
import pytest

from wengert import jit


def with_defaults(k, x):
    y = x * 2

    def inner(a, b=3.0, *, c=k):
        """Of these."""
        return a * k + y.sum() + b + c

    return inner


def scaled(k):
    return lambda x: x * k


def counting(x):
    n = x[0]

    def more():
        nonlocal n
        n = n + 1
        return n

    def get():
        return n

    return more, get


def with_a_list(x):
    items = []
    return lambda: items.append(x) or len(items)


def recursive(x):
    def power(n):
        return 1 if n < 1 else n * power(n - 1) * x

    return power


def listed(x):
    return [lambda i=i: i * x for i in range(3)]


def of_last_trip(x):
    found = []
    for i in range(3):
        def product(j):
            return j * x[i]  # noqa: B023, of the last trip, as Python has it

        found.append(product)
    return found


V, W = np.arange(1.0, 4.0), np.array([2.0, -1.0, 0.5])
CASES = [
    (with_defaults, [(2.0, V), (3.0, W)], lambda f: (f(1.0), f(2.0, 4.0), f(1.0, c=0.0), f.__name__, f.__qualname__, f.__doc__)),
    (scaled, [(2.0,), (5.0,)], lambda f: (f(3.0), f.__code__ is scaled(1.0).__code__)),
    (counting, [(V,), (W,)], lambda fs: (fs[0](), fs[0](), fs[1]())),
    (with_a_list, [(2.0,), (3.0,)], lambda f: (f(), f())),
    (recursive, [(2.0,), (0.5,)], lambda f: (f(4), type(f(2)))),
    (listed, [(2.0,), (3.0,)], lambda fs: [f() for f in fs]),
    (of_last_trip, [(V,), (W,)], lambda fs: [f(2.0) for f in fs]),
]  # fmt: skip


@pytest.mark.parametrize("f, given, use", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_a_function_that_is_returned_is_made_at_each_call(f, given, use):
    compiled = jit(f)
    made = [compiled(*args) for args in given]
    for args, found in zip(given, made):
        assert use(found) == use(f(*args))
    again = compiled(*given[0])
    assert again is not made[0] and use(again) == use(f(*given[0]))


def store(s, k):
    s.k = k * 2
    s.f = lambda u: u * s.k
    s.g = lambda u: s.f(u) + 1
    return s.f(3.0)


def test_functions_that_are_stored_share_what_they_see():
    compiled = jit(store)
    for k in (2.0, 4.0):
        mine, pythons = types.SimpleNamespace(), types.SimpleNamespace()
        assert compiled(mine, k) == store(pythons, k)
        mine.k, pythons.k = mine.k + 1, pythons.k + 1
        assert (mine.f(2.0), mine.g(1.0)) == (pythons.f(2.0), pythons.g(1.0))
