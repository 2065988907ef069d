"""Arrays of a length that data decide are one object where Python has one, and share memory where NumPy's do."""

import numpy as np
import pytest

from wengert import jit


class Holder:
    pass


def sized(x, n):
    a = np.full(n + 1, 1.0 / (n + 1))
    return a, a


def views(x, n):
    a = np.zeros(n)
    b = a[1:]
    b[0] = 3.0
    return a, b, a


def chosen(x, n):
    a = x[x > 0]
    return a, [a], x[x > 0]


def stored(x, n):
    held = Holder()
    held.weights = np.full(n, 0.5)
    held.same = held.weights
    return held.weights, held.same, held.weights + 0


def changed_by_another_name(x, n):
    a = x[:n]
    b = a
    b[0] = 7.0
    return {"a": a, "b": b}


def window_of_chosen(x, n):
    a = x[x > 0]
    b = a[1:]
    b[:1] = 5.0
    return a, b


def flat(result):
    return [y for x in (result.values() if isinstance(result, dict) else result) for y in (x if type(x) is list else [x])]


@pytest.mark.parametrize("f", [sized, views, chosen, stored, changed_by_another_name, window_of_chosen])
def test_one_object_is_one(f):
    g, rng = jit(f), np.random.default_rng(0)
    for n in (3, 4, 5, 6, 7):
        x = rng.normal(size=9)
        expected, found = flat(f(x.copy(), n)), flat(g(x.copy(), n))
        assert [a is b for a in found for b in found] == [a is b for a in expected for b in expected]
        shares = lambda xs: [np.shares_memory(a, b) for a in xs for b in xs]
        assert shares(found) == shares(expected)
        assert all(map(np.array_equal, found, expected))


def test_attributes_of_an_argument():
    class Points:
        def __init__(self, n):
            self.n = n

        def weigh(self):
            self.mean = np.full(self.n + 1, 1.0 / (self.n + 1))
            self.covariance = self.mean

    weigh = jit(Points.weigh)
    for n in (3, 4, 5, 6):
        points = Points(n)
        weigh(points)
        assert points.mean is points.covariance and len(points.mean) == n + 1


class Poses:
    def __init__(self, data):
        self.data = data

    def __pow__(self, n):
        return [np.linalg.matrix_power(x, n) for x in self.data]


def test_an_int_that_changes_is_known_where_it_must_be():
    """`matrix_power` takes an int; traced, it would raise TypeError."""
    power = jit(Poses.__pow__)
    poses = Poses([np.array([[1.0, 1.0], [0.0, 1.0]]), np.eye(2) * 2])
    for n in (1, 2, 3, -2, 5):
        assert np.allclose(power(poses, n), poses**n)
    with pytest.raises(TypeError, match="exponent must be an integer"):
        power(poses, 1.5)


def shrunk_and_written(a, x):
    for v in x:
        if v > 2:
            a = a[1:]
    a[0] = 7.0
    return a.sum()


def shrunk(a, x):
    for v in x:
        if v > 2:
            a = a[1:]
    return a


def grown_or_shrunk(a, x):
    for v in x:
        if v > 2:
            a = np.append(a, v)
        else:
            a = a[1:]
    return a


@pytest.mark.parametrize("f", [shrunk_and_written, shrunk, grown_or_shrunk])
def test_what_may_be_a_view_of_an_argument_is_one(f, falling_back):
    g = jit(f)
    for x in ([3.0, 1.0], [1.0, 1.0], [3.0, 3.0], [1.0, 3.0]):
        a, b, x = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0]), np.array(x)
        expected, found = f(a, x), g(b, x)
        assert np.array_equal(found, expected) and np.array_equal(a, b)
        assert np.shares_memory(found, b) == np.shares_memory(expected, a)
        if isinstance(found, np.ndarray):
            found[:1], expected[:1] = 5.0, 5.0
            assert np.array_equal(a, b)
