"""What a loop carries from trip to trip, where data decide in each which of several things it is."""

import math

import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit


def best_none(x):
    b = None
    for i in range(len(x)):
        c = x[i] * x[i]
        if b is None or c > b:
            b = c
    return b


def best_index(x):
    b = None
    for i in range(len(x)):
        if x[i] > 2:
            b = i
    return -1 if b is None else x[b]


def best_pair(x):
    b = None
    for i in range(len(x)):
        if b is None or x[i] < b[1]:
            b = (i, x[i])
    return b


def best_array(x):
    b = None
    for i in range(len(x)):
        c = x * x[i]
        if b is None or c.sum() > b.sum():
            b = c
    return b


def shapes(x):
    t = np.array([x[0]])
    best = math.inf
    for i in range(len(x)):
        c = (x[i] - 2) ** 2
        if c < best:
            best = c
            t = np.zeros((5, 2)) + x[i]
    return (t, best)


def none_while(x):
    b, i = (None, 0)
    while i < len(x) and (b is None or b < 3):
        if x[i] > 1:
            b = x[i]
        i += 1
    return (b, i)


def label(x):
    s = "none"
    n = 0.0
    for i in range(len(x)):
        s = "up" if x[i] > 2 else "down" if x[i] < 1 else s
        if s == "up":
            n += x[i]
        elif s == "down":
            n -= x[i]
    return (n, s)


def label_or_none(x):
    s = None
    n = 0.0
    for v in x:
        if s is None:
            s = "a" if v > 2 else None
        elif s == "a":
            n += v
            s = "b"
        else:
            n += 100
            s = None
    return n


def prev(x):
    p = None
    d = 0.0
    for v in x:
        if p is not None:
            d += abs(v - p)
        p = v
    return d


def prev_if(x):
    p = None
    d = 0.0
    for v in x:
        if p is not None:
            d += abs(v - p)
        if v > 1:
            p = v
    return d


def twice(x):
    b = None
    for v in x:
        if v > 2:
            b = v
    for v in x:
        if b is not None and v < b:
            b = v + 0.5
    return 0.0 if b is None else b


def nested(x):
    b = None
    for v in x:
        for w in x:
            if v * w > 3 and (b is None or v * w < b):
                b = v * w
    return b


def returned(x):
    for i in range(len(x)):
        if x[i] > 4:
            return None
        if x[i] > 2:
            return (i, x[i])
    return "nothing"


def list_or_none(x):
    b = None
    for i in range(len(x)):
        if b is None or x[i] < b[1]:
            b = [i, x[i]]
    return b


def mode(x):
    m = "S"
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[i] if m == "S" else -x[i]
        if x[i] > 2:
            m = "L"
        elif x[i] < 1:
            m = "R"
    return (out, m)


def state_tuple(x):
    s = ("idle", 0)
    for v in x:
        if s[0] == "idle":
            s = ("run", s[1] + 1) if v > 2 else s
        elif v < 1:
            s = ("idle", s[1])
    return s


def other_list(x):
    path = []
    for v in x:
        if v > 1:
            path.append(v)
    best = None
    for p in path:
        if best is None or p < best:
            best = p
    return best


def kinds(x):
    b = None
    for v in x:
        if v > 2:
            b = 1
        elif v > 1:
            b = v
    return 0 if b is None else b * 2


CASES = [
    best_none, best_index, best_pair, best_array, shapes, none_while, label, label_or_none, prev, prev_if, twice,
    nested, returned, list_or_none, mode, state_tuple, other_list, kinds,
]  # fmt: skip


def same(a, b):
    if type(a) in (list, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, rtol=1e-12)
    return type(a) is type(b) and (a == b or isinstance(a, float) and math.isclose(a, b, rel_tol=1e-12))


@pytest.mark.parametrize("length", [3, 60])
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_what_a_loop_carries_is_one_of_several_things(f, length):
    compiled, rng = jit(f), np.random.default_rng(length)
    for most in (3.0, 0.9, 5.0, 2.0, 0.0, 3.0):
        x = rng.uniform(0, most, length)
        assert same(f(x.copy()), compiled(x.copy()))


@pytest.mark.parametrize("f", [prev, prev_if, twice, best_index], ids=lambda f: f.__name__)
def test_derivatives_go_through_it(f):
    x, h = np.random.default_rng(1).uniform(1.5, 3.0, 5), 1e-6
    expected = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(grad(f)(x), expected, atol=1e-5)


def written(x):
    b = None
    for i in range(len(x)):
        c = x * x[i]
        if b is None or c.sum() > b.sum():
            b = c
        else:
            b[0] += 1
    return b


def test_one_that_is_written_is_refused_or_right():
    compiled = jit(written)
    for x in (np.array([1.0, 3.0, 2.0]), np.array([3.0, 1.0, 2.0])):
        assert same(written(x.copy()), compiled(x.copy()))


def known(v, limit):
    if v > limit:
        return None
    return v * 2


def listed(x, limit):
    out = []
    for i in range(50):
        out.append(known(x[i], limit))
    return out


X = np.linspace(0.0, 2.0, 50)


def test_items_are_taken_to_be_there():
    compiled = jit(listed)
    assert compiled(X, 3.0) == listed(X, 3.0)
    with pytest.raises(UnsupportedError, match="None is to be an item of a list"):
        compiled(X, 1.0)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_and_where_they_are_not_plain_python_answers(falling_back):
    compiled = jit(listed)
    for limit in (3.0, 1.0, 3.0, 0.5):
        assert compiled(X, limit) == listed(X, limit)


def of_both(x, limit):
    total = 0.0
    for i in range(len(x)):
        a, b = known(x[i], limit), known(x[i] + 1, limit + 1)
        total += a * b
    return total


def test_what_python_raises_of_none_is_raised():
    compiled = jit(of_both)
    assert math.isclose(compiled(X, 3.0), of_both(X, 3.0), rel_tol=1e-12)
    with pytest.raises(TypeError, match="unsupported operand type"):
        compiled(X, 1.0)


def added(x, b):
    if x[0] > 5:
        b = 1.0
    return x[0] * b


@pytest.mark.parametrize("b", [None, "a"])
def test_a_number_and_what_is_none(b):
    with pytest.raises(TypeError) as pythons:
        added(X, b)
    with pytest.raises(TypeError) as ours:
        jit(added)(X, b)
    assert str(ours.value).split(" (")[0] == str(pythons.value).split(" (")[0]
