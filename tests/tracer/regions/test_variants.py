"""Names that hold one of two things that no one value can stand for, in loops too: kept apart until their test is known."""

import numpy as np
import pytest

from wengert import grad, jit

POINTS = [np.array(x) for x in ([1.0, 5.0, 3.0, 2.0], [4.0, -1.0, 0.5, 9.0], [0.0, 1.0, -0.5, 9.0])]


def path_of(a, b):
    t = a - b
    if t > 0:
        return True, [t, t * 2], ["L", "S"]
    return False, [], []


def lengths(x):
    total, n = 0.0, 0
    for i in range(100):
        found, parts, names = path_of(x[0] * i, x[1] + 10)
        if found:
            for p, name in zip(parts, names):
                total += p if name == "S" else p * 0.5
            n += len(parts)
    return total, n


def nearest(v, limit):
    k = np.argmin(np.abs(v - limit))
    return None if np.abs(v[k] - limit) > 1 else v[k:k + 1] * 2 if k < 1 else v[k]


def found_or_none(v, limit):
    if limit > 2:
        return None
    return v * limit


def none_or_array(x):
    total = 0.0
    for i in range(50):
        y = found_or_none(x, i * 0.1)
        if y is None:
            continue
        total += y.sum()
    return total


def none_and_more(x):
    total = 0.0
    for i in range(50):
        y = None if x[0] > i else x[1] * i
        if y is not None and y > 3:
            total += y
        if y is None:
            total += 3
        else:
            total -= 1
    return total


def set_on_one_side(x):
    total = 0.0
    for i in range(50):
        many = x[0] * 10 > i
        if many:
            w = np.ones(3) * i
        total += 1
        if many:
            total += w.sum() * x[1]
    return total


def truth_of_lists(x):
    total = 0.0
    for i in range(50):
        parts = [x[0], i * 1.0] if x[1] > i * 0.2 else []
        if parts:
            total += parts[0] + parts[1]
    return total


def kinds(x):
    total = 0.0
    for i in range(50):
        y = (x[0], i) if x[1] > i * 0.2 else x * i
        if isinstance(y, tuple):
            total += y[0]
        else:
            total += y[2]
    return total


def negated(x):
    total = 0.0
    for i in range(50):
        ok = not x[1] > i * 0.2
        y = "a" if ok else np.array([i, x[0]])
        if not ok:
            total += y[1]
    return total


class Holder:
    def __init__(self, x):
        self.y = None
        self.x = x

    def step(self, k):
        self.y = self.x * k if self.x[0] > k else None


def in_attributes(x):
    total = 0.0
    h = Holder(x)
    h.step(0.5)
    if h.y is not None:
        total += h.y.sum()
    h.step(2)
    return total if h.y is None else total + h.y[1]


CAPTURED = [in_attributes, lengths, none_or_array, none_and_more, set_on_one_side, truth_of_lists, kinds, negated]


@pytest.mark.parametrize("f", CAPTURED, ids=lambda f: f.__name__)
def test_captured(f):
    g = jit(f)
    for x in POINTS:
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
    assert len(g.explain().splitlines()) < 40


def test_gradient():
    for f in (none_or_array, set_on_one_side, kinds):
        x = POINTS[0] + 0.05
        e = 1e-6 * np.eye(4)
        want = [(f(x + d) - f(x - d)) / 2e-6 for d in e]
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-5, atol=1e-6)


def changed_in_its_branch(x):
    n = 0
    y = [x[0]] if x[1] > 0 else None
    if x[1] > 0:
        n += 1
    if y is not None:
        y.append(x[2])
        n += len(y)
    return y, n


def rebound_in_its_branch(x):
    y = [x[0]] if x[1] > 0 else None
    if y is None:
        y = x * 2
    else:
        y = np.array(y) + 1
    return y


def returned(x):
    if x[1] > 0:
        return None
    return {"a": x}


def used_where_it_is_not(x):
    y = None
    if x[1] > 0:
        y = x * 2
    return y.sum()


@pytest.mark.parametrize("f", [changed_in_its_branch, rebound_in_its_branch, returned, lambda x: nearest(x, 1.0)])
def test_by_value(f):
    g = jit(f)
    for x in POINTS:
        np.testing.assert_equal(g(x), f(x))


def test_what_python_raises(falling_back):
    g = jit(used_where_it_is_not)
    for x in POINTS:
        try:
            want = used_where_it_is_not(x)
        except AttributeError as error:
            with pytest.raises(AttributeError) as raised:
                g(x)
            assert str(raised.value) == str(error)
        else:
            assert g(x) == want


def test_a_use_raises_what_python_does():
    def f(x):
        total = 0.0
        for i in range(50):
            y = x * i if x[1] > i * 0.2 else None
            total += y[0]
        return total

    with pytest.raises(TypeError, match="'NoneType' object is not subscriptable"):
        jit(f)(POINTS[0])


def names(x):
    total, path = 0.0, ""
    for i in range(50):
        name = "L" if x[1] > i * 0.2 else "R"
        total += 1 if name == "L" else 10
        mode = "up" if x[0] * i > 3 else None
        if mode != "up":
            total += i
    name = "L" if x[2] > 0 else "R"
    return total, name + path


def test_names():
    g = jit(names)
    for x in POINTS:
        assert g(x) == names(x)
