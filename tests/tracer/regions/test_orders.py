"""The order in which dicts and objects get their keys, where data decide it; lists that a first trip leaves alone; and
context managers of the user's that end exceptions."""

import decimal
import io
import json
import re
import types

import numpy as np
import pytest

from wengert import jit


def displayed(x):
    d = {"a": 1, "b": 2} if x[0] > 0 else {"b": 3, "a": 4}
    for k, v in d.items():
        if v > 0:
            return k


def stored(x):
    d = {}
    if x[0] > 0:
        d["a"] = 1
        d["b"] = 2
    else:
        d["b"] = 1
        d["a"] = 2
    return d, list(d)


def stored_again(x):
    d = {}
    if x[0] > 0:
        d["a"] = 1
    d["b"] = 2
    if x[1] > 0:
        d["a"] = 3
    return list(d.items())


def attributes(x):
    p = types.SimpleNamespace()
    if x[0] > 0:
        p.a = 1
        p.b = 2
    else:
        p.b = 1
        p.a = 2
    return list(vars(p)), p


def in_a_loop(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = v
        if v < 0:
            d["neg"] = i
    return d


def after_one_that_was_positive(x):
    found, before = [], False
    for v in x:
        if before:
            found.append(v)
        before = v > 0
    return found


def segments(x):
    start, found = None, []
    for i in range(len(x)):
        if x[i] > 0:
            if start is None:
                start = i
        elif start is not None:
            found.append((start, i))
            start = None
    return found


class Ending:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is ValueError


def ended(x):
    with Ending():
        if x[0] < 0:
            raise ValueError("x")
        return x[0]
    return "out"


def ended_in_a_loop(x):
    n = 0
    for i in range(3):
        with Ending():
            if x[i] < 0:
                raise ValueError("x")
            n += x[i]
    return n


def word(x):
    s = "12" if x[0] > 0 else "345"
    try:
        return int(s), s.split("4"), float(s)
    except TypeError:
        return "bad"


def read(x):
    s = "12" if x[0] > 0 else "345"
    try:
        return json.loads(s), decimal.Decimal(s), re.findall("[24]", s), io.StringIO(s).read()
    except TypeError:
        return "bad"


def shapes(x):
    v = np.arange(3.0) * x[0] if x[0] > 0 else np.arange(5.0) - x[0]
    return v == v, (v != v).any()


CASES = [
    displayed, stored, stored_again, attributes, in_a_loop, after_one_that_was_positive, segments, ended, ended_in_a_loop, word, read, shapes,
]  # fmt: skip
POINTS = [np.array(p) for p in ([1.0, -1.0, 2.0], [-1.0, 2.0, -3.0], [3.0, -2.0, 1.0], [-5.0, -6.0, -7.0], [1.0, 1.0, -1.0])]


@pytest.mark.parametrize("points", [POINTS, POINTS[::-1]], ids=["forth", "back"])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_it_is_pythons(f, points, falling_back):
    compiled = jit(f)
    for x in points:
        assert repr(compiled(x)) == repr(f(x))
