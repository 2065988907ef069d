"""Lists and dicts of which data decide which object they are: after a choice, after a loop, and in between."""


import numpy as np
import pytest

from wengert import UnsupportedError, jit

POINTS = [np.array(x) for x in ([1.0, 5.0, 3.0, 2.0], [4.0, 1.0, 0.5, 9.0], [0.0, 1.0, 0.5, 9.0])]


def best_of_pairs(x):
    best, pair = np.inf, [0.0, 0.0]
    for v in np.arange(0, 3, 0.1):
        for y in np.arange(-1, 1, 0.1):
            cost = (v - x[0]) ** 2 + (y - x[1]) ** 2
            if best >= cost:
                best, pair = cost, [v, y]
    return pair, best


def best_dict(x):
    best = {"cost": np.inf, "at": [0.0, -1]}
    for i in range(100):
        cost = (x[0] - i * 0.1) ** 2
        if cost < best["cost"]:
            best = {"cost": cost, "at": [x[1] * i, i]}
    return best["cost"], best["at"][0], best["at"][1]


def changed_afterwards(x):
    pair = [x[0], 0.0]
    for i in range(100):
        pair = [pair[0] + x[1], pair[1] - i]
    pair[0] = 7.0
    pair.append(x[2])
    return pair


def shifted(x):
    a, b = [x[0], 1.0], [x[1], 2.0]
    for _ in range(100):
        a, b = b, [b[0] * x[0], a[1]]
    a[0] = 5.0
    return a, b


def outer_list(x):
    a = [x[0], 1.0]
    ys = np.zeros(100)
    for i in range(100):
        b = a
        ys[i] = b[0] * i * x[1]
    b[0] = 5.0
    return a, b is a, ys


def until(x):
    pair = [x[0], 1.0]
    while pair[0] > 3:
        pair = [pair[0] - 1, pair[1]]
    pair[1] = 9.0
    return pair


def in_objects(x):
    class Best:
        pass

    found = Best()
    found.at, found.cost = [0.0, 0.0], np.inf
    for i in range(60):
        cost = (x[0] - i * 0.1) ** 2
        if cost < found.cost:
            found.at, found.cost = [i * x[1], i], cost
    return found.at[0], found.at[1], found.cost


def changed_in_other_trips(x):
    """What p holds is what t is given later."""
    p, t = [x[0], 0.5], [2.0, x[1]]
    for i in range(3):
        if x[0] * i > 1:
            t[1] += 0.5
        else:
            p = t
    return p


def changed_before_in_other_trips(x):
    p, t = [x[0], 0.5], [2.0, x[1]]
    for i in range(30):
        if x[0] * i > 5:
            t[1] += 0.5
        elif x[0] * i > 1:
            p = t
    t = [1.0, 2.0]
    return p, t


CAPTURED = [best_of_pairs, best_dict, changed_afterwards, shifted, outer_list, until, in_objects]


def unlike(got, want):
    return repr(got) != repr(want)


@pytest.mark.parametrize("f", CAPTURED, ids=lambda f: f.__name__)
def test_captured(f):
    g = jit(f)
    for x in POINTS:
        got, want = g(x.copy()), f(x.copy())
        np.testing.assert_equal(got, want)


# Where it can be told which list a name holds: right by value, or refused.


def kept_beside(x):
    a = [x[0], 1.0]
    b = a
    while a[0] > 3:
        a = [a[0] - 1, a[1]]
    a[1] = 9.0
    return a, b


def bound_twice(x):
    k, a, b = 0, [0.0, 0.0], None
    while k < 50:
        a = [x[0] * k, 1.0]
        b = a
        k += 1
    a[1] = 9.0
    return a, b


def asked(x):
    a = [x[0], 1.0]
    b = a
    for i in range(100):
        if x[1] > i:
            b = [x[2], i]
    return a is b


def appended(x):
    path, last = [], [0.0, 0.0]
    for i in range(100):
        p = [x[0] * i, x[1]]
        path.append(p)
        if x[2] > i:
            last = p
    last[0] = 5.0
    return path, last


def handed_beside(x):
    a = [x[0], 1.0]
    b = a
    for i in range(100):
        if x[1] > i:
            b = [x[2], i]
    return a, b


def changed_source(x):
    a = [x[0], 1.0]
    b = a
    for i in range(100):
        if x[1] > i + 1:
            b = [x[2], i]
    a[0] = 100.0
    return b[0]


def returned_in_loop(x):
    a = [x[0], 1.0]
    for i in range(100):
        if x[1] < i:
            a[1] = 3.0
            return a, a
    return [0.0], a


def given(x, xs):
    best = xs
    for i in range(60):
        if x[1] > i:
            best = [i, x[0]]
    return best


TOLD = [kept_beside, bound_twice, asked, appended, handed_beside, changed_source, returned_in_loop]
TOLD += [changed_in_other_trips, changed_before_in_other_trips]


def same_sharing(got, want):
    """Whether lists are one and the same at the same places."""
    flat = lambda r: [id(v) for v in r] if isinstance(r, tuple) else []
    a, b = flat(got), flat(want)
    return [a.index(v) for v in a] == [b.index(v) for v in b]


@pytest.mark.parametrize("f", TOLD, ids=lambda f: f.__name__)
def test_told_apart(f):
    for x in POINTS:
        want = f(x.copy())
        try:
            got = jit(f)(x.copy())
        except UnsupportedError:
            continue
        np.testing.assert_equal(got, want)
        assert same_sharing(got, want)


def test_told_apart_by_default(falling_back):
    for f in (*TOLD, *CAPTURED):
        g = jit(f)
        for x in POINTS:
            got, want = g(x.copy()), f(x.copy())
            np.testing.assert_equal(got, want)
            assert same_sharing(got, want)


def test_argument(falling_back):
    g = jit(given)
    for x in (np.array([1.0, -5.0]), np.array([1.0, 5.0])):
        xs, ys = [0, 0.5], [0, 0.5]
        got, want = g(x, xs), given(x, ys)
        assert (got is xs) == (want is ys)
        assert got == want


def test_refusal_says_what_to_write():
    with pytest.raises(UnsupportedError, match=r"a, one of several lists as data decide, is changed(.|\n)*list\(ys\)"):
        jit(bound_twice)(POINTS[0])
