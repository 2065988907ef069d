"""Names that keep, after a captured loop, one memory that an earlier trip made: stores through one reach the others, as in plain Python."""

import random

import numpy as np
import pytest
from random_identity import Box, Keeper, differences, draw, pattern

from wengert import grad, jit
from wengert.tracer.common.errors import WengertError
from wengert.tracer.regions import alias_selectors


def best_and_previous(a, n):
    x, best, prev = a * 1.0, a * 0.0, a * 0.5
    for k in range(8):
        x = x * 1.5 + 1
        if k < n:
            best = prev = x
    best[0] = 99.0
    return best, prev, x


def in_a_while(a, n):
    x, best, prev, k = a * 1.0, a * 0.0, a * 0.5, 0
    while k < n + 3:
        if k < n:
            best = prev
        if k < n - 1:
            prev = x
        x = x * 1.5 + 1
        k += 1
    best[0] = 99.0
    return best, prev, best is prev


def rows_of_a_list(a, n):
    x, rows = a * 1.0, [a * 0.0, a * 0.5]
    for k in range(8):
        x = x * 1.5 + 1
        if k == n:
            rows[0] = x
            rows[1] = x
    rows[0][1] = 7.0
    return rows


def attributes(a, n):
    o, x = Box(), a * 1.0
    o.p, o.q = a * 0.0, a * 1.0
    for k in range(8):
        x = x + 1
        if k < n:
            o.p = x
            o.q = x
    o.p[0] = 99.0
    return o.p, o.q


def swapped_with_history(a, n):
    x, p, q = a * 1.0, a * 0.0, a * 0.5
    for k in range(8):
        x = x + 1
        if k == n:
            p = x
            q = x
        p, q = q, p
    q += 1
    return p, q, p is q, np.shares_memory(p, x)


def by_conditions(a, n):
    x, best, worst = a * 1.0, a, a
    for k in range(8):
        x = x * 0.5 + k - 3
        if x[0] > n - 2:
            best = x
        if x[0] < n:
            worst = x
    best[1] = 5.0
    return best, worst, x, best is worst


def whole_and_window(a, n):
    x, best, tail = a * 1.0, a * 0.0, a[1:] * 0.5
    for k in range(8):
        x = x * 1.5 + 1
        if k < n:
            best = x
            tail = x[1:]
    tail[0] = 99.0
    return best, tail


def held_before_the_loop(a, n):
    x, best, prev, k = a * 1.0, a * 0.0, a * 0.5, 0
    while k < n:
        if k < 1:
            best = prev = x
        x = x + 1
        k += 1
    best[0] = 99.0
    return best, prev, x


def perhaps_no_trip(a, n):
    x, best, y, k = a * 1.0, a, a * 2, 0
    while k < n:
        x = x + 1
        y = best = x
        k += 1
    y[0] = 5.0
    return best, y, x


def nested(a, n):
    x, p, q = a * 1.0, a * 0.0, a * 0.5
    for j in range(4):
        for k in range(5):
            x = x + 1
            if j + k < n:
                p = q = x
    p[0] = 99.0
    return p, q, x


def returned_inside(a, n):
    x, p, q = a * 1.0, a * 0.0, a * 0.5
    for k in range(8):
        x = x + 1
        if k < n:
            p = q = x
        if x[0] > 6:
            return p, q
    return q, x


def two_windows(a, n):
    x, head, tail = a * 1.0, a[1:] * 0.2, a[1:] * 0.5
    for k in range(8):
        x = x * 1.5 + 1
        if k < n:
            head = x[:-1]
            tail = x[1:]
    tail[0] = 99.0
    return head, tail


def written_in_a_later_trip(a, n):
    x, p, q, d = a * 1.0, a * 0.0, a * 0.5, a * 0.25
    for k in range(8):
        x = x + 1
        d[0] = d[0] + 1
        d = q
        if k < n:
            p = q = x
        else:
            q = x * 2
    return p, q, d


def exclusive(a, n):
    x, low, high = a * 1.0, a * 1.5, a * 2
    for k in range(8):
        x = x * 0.5 + k - 3
        if x[0] > n:
            high = x
        else:
            low = x
    low[1] = 5.0
    return low, high


def only_read(a, n):
    x, p, q = a * 1.0, a * 0.0, a * 0.5
    for k in range(8):
        x = x + 1
        if k < n:
            p = q = x
    return p + q


def of_fixed_trips(a, n):
    x, p, q, k = a * 1.0, a * 0.0, a * 0.5, 0
    while k < n:
        x, p, q, k = x + 1, x, p, k + 1
    p[0] = 9.0
    return x, p, q


TOLD = [best_and_previous, in_a_while, rows_of_a_list, attributes, swapped_with_history, by_conditions, whole_and_window]
TOLD += [held_before_the_loop, perhaps_no_trip, nested, returned_inside]
REFUSED = [two_windows, written_in_a_later_trip]


def outcome(f, n):
    a = np.arange(4.0) + 1
    result = f(a, np.int64(n))
    return list(pattern([a], result)), [x for x in result if isinstance(x, bool)] if isinstance(result, tuple) else []


@pytest.mark.parametrize("f", [*TOLD, exclusive, only_read, of_fixed_trips])
def test_one_memory_stays_one(f):
    compiled = jit(f, engine="numpy")
    for n in (3, 0, 1, 8, 5):
        assert outcome(compiled, n) == outcome(f, n)


@pytest.mark.parametrize("options", [{"engine": "xla"}, {"exact": True}, {"check": True, "engine": "numpy"}], ids=str)
def test_under_every_engine(options):
    for f in (best_and_previous, in_a_while, whole_and_window):
        compiled = jit(f, **options)
        for n in (3, 0):
            assert outcome(compiled, n) == outcome(f, n)


@pytest.mark.parametrize("f", REFUSED)
def test_what_no_number_tells_is_refused(f):
    with pytest.raises(WengertError, match="one of several arrays"):
        outcome(jit(f, engine="numpy"), 3)


@pytest.mark.parametrize("f", [exclusive, only_read, of_fixed_trips])
def test_loops_that_need_no_births_carry_none(f):
    carried = lambda f: "mul %k, 32" in str(jit(f).ir(np.arange(4.0), np.int64(3)))
    assert carried(best_and_previous) and not carried(f)


def test_windows_beyond_those_with_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(alias_selectors, "WINDOWS", 1)
    for f in (whole_and_window, perhaps_no_trip):
        for n in (0, 3):
            try:
                found = outcome(jit(f, engine="numpy"), n)
            except WengertError:
                continue
            assert found == outcome(f, n)


def test_derivatives():
    def f(a):
        best, prev, x = best_and_previous(a, 3)
        return (best * prev).sum() + x.sum()

    a, h = np.arange(4.0) + 1, 1e-6
    steps = [(f(a + h * e) - f(a - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(grad(f)(a), steps, rtol=1e-6)


def test_random_programs_that_keep_arrays():
    found = [differences(draw(random.Random(seed), Keeper), engine="numpy") for seed in [*range(30), 184, 193, 194, 216, 254, 340]]
    assert not [x for x in found if x and not x.startswith("refused")]
    assert len([x for x in found if x]) < 4
