"""`for k in itertools.count()`: a loop that data or its own trips end is one loop, as `while True` is."""

# ruff: noqa: B007, C417

import copy
import itertools

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError, WengertError


def left_by_data(x):
    for k in itertools.count():
        x = x * 0.9
        if x < 1e-3:
            return k, x


def stepped(x):
    total = 0
    for k in itertools.count(5, -2):
        total += k
        x = x / 2
        if x < 0.01:
            break
    return total, x, k


def zipped(x):
    out = []
    for k, v in zip(itertools.count(1), x):
        out.append(k * v)
    return np.array(out)


def zipped_twice(x):
    s = 0.0
    for k, (i, v) in zip(itertools.count(), enumerate(x)):
        s += k * i * v
    return s


def known_trips(x):
    for k in itertools.count():
        if k == 7:
            break
        x = np.sin(x) + k
    return x


def kept_trips(x):
    found = []
    for k in itertools.count(2):
        if all(k % p for p in found):
            found.append(k)
        if len(found) == 9:
            break
    for p in itertools.count(found[-1]):
        x = x + p
        if x > 100:
            return x, p


def growing(x):
    seen = []
    for k in itertools.count():
        seen.append(x)
        x = x * 0.5
        if x < 0.1:
            break
    return seen, k


def changes_kind(x):
    y = 0
    for k in itertools.count():
        y = y + x * k
        if y > 50:
            return y, k


def inner(x):
    total = 0.0
    for row in x:
        for k in itertools.count():
            row = row * 0.5
            if row.sum() < 0.1:
                break
        total = total + k
    return total


def advanced_by_hand(x):
    ids = itertools.count(10)
    a = next(ids)
    for k in ids:
        x = x * 0.5
        if x < 0.1:
            break
    return a, k, x


def mapped(x):
    for y in map(lambda k: k * x, itertools.count()):
        if y > 10:
            return y


def enumerated(x):
    for n, k in enumerate(itertools.count(5, -2), 1):
        x = x * 0.9 + k * 0.001
        if x < 0.1:
            return n, k, x


def nested(x):
    total = 0
    for i in itertools.count(1):
        for j in itertools.count(i):
            x = x * 0.9
            if x < 0.5 / i:
                break
            total += j
        if x < 0.01:
            return total, i, j


CASES = [
    (enumerated, (1.0, 0.5)), (nested, (1.0, 3.0)),
    (left_by_data, (1.0, 0.5, 3.0)), (stepped, (1.0, 8.0, 0.0)), (known_trips, (0.3, 1.0)), (kept_trips, (1.0, 50.0)),
    (growing, (1.0, 5.0, 0.01)), (changes_kind, (1.0, 20.0, 3.5)), (mapped, (3.0, 0.5)),
    (zipped, (np.arange(30.0), np.arange(3.0))), (zipped_twice, (np.arange(30.0),)), (inner, (np.ones((20, 3)), np.ones((2, 2)))),
]  # fmt: skip


@pytest.mark.parametrize("f, given", CASES)
def test_as_python_counts(f, given):
    compiled = jit(f)
    for x in given:
        agree(compiled(x), f(x))


@pytest.mark.parametrize("f, given", [c for c in CASES if c[0] in (left_by_data, stepped, changes_kind, zipped)])
def test_it_is_one_loop(f, given):
    compiled = jit(f)
    compiled(given[0])
    assert "written out one by one" not in compiled.explain()
    assert str(compiled.ir(given[0])).count("loop") >= 1


def test_the_gradient_of_one():
    def f(x):
        for _ in itertools.count():
            x = x * 0.8
            if x < 0.1:
                return x

    assert grad(f)(1.0) == pytest.approx(0.8**11)


def test_what_is_counted_further_is_pythons(falling_back):
    """The iterator goes on where the loop has left it."""

    def f(x):
        ids = itertools.count()
        for k in ids:
            x = x * 0.5
            if x < 0.1:
                break
        return k, next(ids), x

    for g in (f, advanced_by_hand):
        for x in (1.0, 5.0):
            agree(jit(g)(x), g(x))
    with pytest.raises(WengertError):
        jit(f, whole=True)(1.0)


@pytest.mark.parametrize("made", [lambda: itertools.count(3), lambda: zip(range(3), range(4)), lambda: map(abs, range(3, 5))])
def test_one_that_is_handed_out_is_pythons(made, falling_back):
    def f(x, place):
        place["made"] = made()
        return x * 2, made()

    place = {}
    found = jit(f)(1.0, place)
    assert found[0] == 2.0 and all(type(m) is type(made()) and next(m) == next(made()) for m in (found[1], place["made"]))
    with pytest.raises(UnsupportedError, match=f"a {type(made()).__name__} that it has made"):
        jit(f, whole=True)(1.0, {})


def returned(x):
    while True:
        x = x * 0.8
        if x < 0.1:
            return x


def returned_or_broken(x):
    while True:
        x = x * 0.8
        if x < 0.1:
            return x
        if x > 7:
            break
    return -x


def returned_in_two_loops(x):
    while True:
        y = x
        while True:
            y = y * 0.7
            if y < 0.5:
                break
            if y > 50:
                return y, 1
        x = x * y
        if x < 0.2:
            return x, 2


@pytest.mark.parametrize("f", [returned, returned_or_broken, returned_in_two_loops])
def test_a_loop_that_only_its_trips_end_gives_what_they_return(f):
    compiled = jit(f)
    for x in (1.0, 0.3, 20.0):
        agree(compiled(x), f(x))
    assert "assumes" not in compiled.explain()
    total = lambda x: np.sum(np.array(f(x)))
    step = 1e-6
    assert grad(total)(1.0) == pytest.approx((total(1 + step) - total(1 - step)) / (2 * step), rel=1e-6)


def counted_behind_zip(x):
    ids, total = itertools.count(2), 0.0
    for k, v in zip(ids, x):
        total = total + k * v
    return total, next(ids)


def twice_in_one_zip(x):
    ids, total = itertools.count(), 0.0
    for v, a, b in zip(x, ids, ids):
        total = total + a * b * v
    pairs = enumerate(x)
    for v, a, b in zip(x, pairs, pairs):
        total = total + a[0] * b[1] * v
    return total


def copies(x):
    ids, pairs = itertools.count(3), enumerate(x)
    other, rest = copy.copy(ids), copy.copy(pairs)
    next(ids), next(pairs)
    return next(ids), next(other), list(rest)


def texts(x):
    views = {"a": x[0]}
    return repr(itertools.count(3)), f"{itertools.count(2, 3)}", repr(zip(x, x))[:12], repr(views.items()), str(views.values())


@pytest.mark.parametrize("f", [counted_behind_zip, twice_in_one_zip, copies, texts])
def test_iterators_as_python_has_them(f, falling_back):
    compiled = jit(f)
    for k in range(3):
        x = np.arange(30.0) + k
        agree(compiled(x), f(x))


@pytest.mark.parametrize("made", [lambda: {itertools.count(3): 1}, lambda: {reversed(range(3))}, lambda: [{np.ndindex(2): 2}]])
def test_keys_are_handed_out_too(made, falling_back):
    found = jit(lambda x: (x, made()))(1.0)[1]
    key = next(iter(found[0] if type(found) is list else found))
    assert type(key).__module__ in ("builtins", "itertools", "numpy")
    with pytest.raises(UnsupportedError):
        jit(lambda x: (x, made()), whole=True)(1.0)
