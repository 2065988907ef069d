"""Python's own numbers, lists and questions about them: compiled as plain Python has them, the caller's lists changed alike."""

import itertools
import math

import numpy as np
import pytest
from compare import check_same

from wengert import UnsupportedError, grad, jit, vmap


def bubble(xs):
    for i in range(len(xs)):
        for j in range(len(xs) - 1 - i):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
    return xs


def grow(d, m):
    d["n"] = m[0][0] * 2
    m.append([1.0])
    m[0], m[1] = m[1], m[0]
    return m[1], d


def test_lists_and_dicts_of_the_caller_change():
    f, g = jit(bubble), jit(grow)
    for xs in ([3.0, 1.5, 2.5, -1.0], [1.0, 2.0, 0.0, 5.0]):
        want = sorted(xs)
        assert f(xs) is xs and xs == want
    for _ in range(2):
        d, m = {"a": 1.0}, [[1.0, 2.0], [3.0]]
        first = m[0]
        r = g(d, m)
        assert d == {"a": 1.0, "n": 2.0} and m == [[3.0], [1.0, 2.0], [1.0]]
        assert m[1] is first and r[0] is first and r[1] is d


def test_nothing_is_changed_when_the_call_fails():
    @jit
    def f(xs, v):
        xs.append(v[0])
        v[1] = 3.0
        if v[0] < 0:
            raise ValueError("below zero")
        return 1.0

    xs, v = [1.0], np.array([-1.0, 0.0])
    with pytest.raises(ValueError, match="below zero"):
        f(xs, v)
    assert xs == [1.0] and v[1] == 0.0


def test_transforms_refuse_to_change_lists():
    with pytest.raises(UnsupportedError, match="changes a list"):
        grad(lambda xs: xs.append(xs[0]) or xs[0] ** 2)([1.0])


CASES = {
    "round": (lambda x: (round(x, 2), round(x * 10, 1), round(x)), 2.675),
    "equal to no number": (lambda x: (x == "", x != None, x == [2.5], x == (2.5,)), 2.5),  # noqa: E711
    "is_integer": (lambda x: (x.is_integer(), (x + 0.5).is_integer()), 2.5),
    "any": (lambda xs: (any(x > 2 for x in xs), any(x > 5 for x in xs), any([])), [1.0, 3.0]),
    "all": (lambda xs: (all(x > 2 for x in xs), all(x > 0 for x in xs), all([])), [1.0, 3.0]),
    "any of an array": (lambda x: any(x > 2), np.arange(4.0)),
    "sorted": (lambda xs: (sorted(xs), sorted(xs, reverse=True)), [3.0, 1.0, 2.0]),
    "sort": (lambda xs: xs.sort(), [3.0, 1.0, 2.0]),
    "in": (lambda x: (x in (2.5, 1.0), x in [1.0], x not in (2.5,)), 2.5),
    "in an array": (lambda x, v: x in v, 2.0, np.arange(3.0)),
    "count and index": (lambda xs: (xs.count(2.0), xs.index(2.0)), [1.0, 2.0, 2.0]),
    "index of nothing": (lambda xs: xs.index(7.0), [1.0, 2.0, 2.0]),
    "tolist": (lambda x: x.tolist(), np.arange(6.0).reshape(2, 3)),
    "item": (lambda x: (x[1].item(), x.sum().item(), x.item(2)), np.arange(3.0)),
    "items of float32": (lambda x: (x.tolist(), x[0].item() + 1), np.arange(3, dtype=np.float32)),
    "scalar types": (lambda x: (np.float32(x), np.float64(x), np.complex128(x)), 2.5),
    "scalar types of an array": (lambda x: (np.float32(x), np.int64(x)), np.array([1.5, 2.5])),
    "math": (lambda x, y: (math.isclose(x, y), math.hypot(x, y, 2.0), math.dist((x, y), (0.0, 1.0)), math.fsum([x, y])), 2.5, 2.5),
    "bool and numpy bool": (lambda x, y: ((y > 0) | (x > 0), (y > 0) * x), np.ones(3), 2.0),
    "unorderable": (lambda x: x < "a", 2.5),
    "sequence times a float": (lambda x: [1] * x, 2.5),
    "list plus number": (lambda x: [1.0] + x, 2.5),
}


@pytest.mark.parametrize("name", CASES)
def test_as_python(name):
    function, *args = CASES[name]
    check_same(function, *args)


def products(a):
    s, b = 0.0, np.zeros_like(a)
    for i, j in np.ndindex(a.shape):
        b[j % 3, i % 3] += a[i, j] * (i + 2 * j)
    for (i, j), v in np.ndenumerate(a):
        s = s * 0.5 + v * (i - j)
    for i, v in itertools.product(range(0, 9, 3), a[0]):
        s = s * 0.9 + i * v
    for v in reversed(a[1]):
        s = s * 0.7 + v
    for i in reversed(range(a.shape[0])):
        s = s * 0.3 + a[i, 0]
    return s, b, list(reversed([1, 2])), list(itertools.product([1, 2], [3])), list(np.ndindex(2, 1))


def test_loops_over_products_are_one_loop_each():
    a = np.random.default_rng(0).normal(size=(70, 5))
    check_same(products, a)
    assert str(jit(products).ir(a)).count(" = loop ") + str(jit(products).ir(a)).count("loop %") >= 5


def test_how_often_a_list_is_repeated_must_be_known():
    f = jit(lambda x: [1.0] * int(x.sum()))
    assert [f(np.full(2, n)) for n in (1.0, 2.0, 1.0)] == [[1.0] * 2, [1.0] * 4, [1.0] * 2]  # by value
    with pytest.raises(TypeError, match="used as a Python integer"):
        vmap(lambda x: np.array([1.0] * int(x)))(np.ones(2))


def test_rounding_to_decimals_is_pythons():
    r = np.random.default_rng(0)
    for digits in (0, 1, 3):
        f = jit(lambda x, digits=digits: round(x, digits))
        for x in [*(r.normal(size=40) * 10), *((r.integers(-(10**5), 10**5, 80) + 0.5) / 10**digits)]:
            assert f(float(x)) == round(float(x), digits)


def test_compensated_arithmetic_keeps_what_it_compensates():
    """Error-free transformations (Dekker 1971) survive the rewriting, with a literal factor too."""

    def product(a, b):
        p = a * b
        ah, bh = a * 134217729.0 - (a * 134217729.0 - a), b * 134217729.0 - (b * 134217729.0 - b)
        return p, ((ah * bh - p) + ah * (b - bh) + (a - ah) * bh) + (a - ah) * (b - bh)

    check_same(lambda x: product(x, 100.0), np.random.default_rng(0).normal(size=50), rtol=0)


def lists(x, y):
    items = [x, y * 2, 1.0]
    made = np.mean(items), np.sqrt(items), np.take(items, [[0, 1], [2, 0]]), np.dot(items, items), np.add(items, 1), np.maximum(items, [1, 2, y])
    return *made, np.stack([items, items]), np.max(items), np.linalg.norm(items), np.sort(items), np.sum((x, y)), np.zeros_like(items)


def test_numpy_functions_take_lists_of_traced_numbers():
    check_same(lists, 1.0, 4.0)
