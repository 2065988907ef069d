"""`is` of two tuples, which loops and choices hand on as others of the same items: plain Python's answer, or none."""

import numpy as np
import pytest

from wengert import UnsupportedError, jit


def numbers(x, a):
    p, q = (x[1], 2.0), (x[0], 3.0)
    for k in range(3):
        if x[k] > 0:
            p = q
    return q is p


def texts(x, a):
    p, q = ("a",), ("b",)
    for k in range(3):
        if x[k] > 0:
            p = q
    return q is p, p is not q, p


def none_or_one(x, a):
    p, m = None, 0
    while x[0] > m:
        p, m = a, m + 1
    return p is a, p is None


def stored_where_one(x, a):
    t, p, q = 1.0, None, (0.9,)
    for i in range(3):
        if isinstance(t, np.ndarray):
            x[1] = x[1] + np.sum(t)
        if x[1] > 0.1:
            p = q
        if q is p:
            t = x[:2] * i
    return x[1]


def made_anew(x, a):
    p = (x[0], 1)
    q = p
    for _ in range(3):
        p = (p[0] + 1, 2)
    return p is q, q is q


def of_other_items(x, a):
    p, q, r, s = (x[0], "a"), (x[0], "b"), (x[0], "a", 3), [x[0], "a"]
    return p is q, p is r, p is s


@pytest.mark.parametrize("f", [numbers, texts, none_or_one, stored_where_one, made_anew, of_other_items])
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_as_python(falling_back, f):
    compiled = jit(f)
    for seed in range(6):
        for a in ((1.0, 2.0), ("a",), (np.ones(2),)):
            x = np.random.default_rng(seed).normal(size=5)
            want = f(x.copy(), a)
            for _ in range(2):
                assert repr(compiled(x.copy(), a)) == repr(want)


def test_what_cannot_be_told_is_refused():
    with pytest.raises(UnsupportedError, match="whether two tuples are one object is asked"):
        jit(numbers, whole=True)(np.ones(3), ())
    assert jit(of_other_items, whole=True)(np.ones(3), ()) == (False, False, False)
