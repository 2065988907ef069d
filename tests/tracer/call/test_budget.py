"""What is not worth its compilation is left to plain Python after a while, aloud."""

import math

import numpy as np
import pytest

from wengert import Fallback, UnsupportedError, jit
from wengert.tracer.call import patience
from wengert.tracer.regions import budget


class Grid:
    def __init__(self, n):
        self.n, self.rows = n, [[float(i + j + 1) for j in range(n)] for i in range(n)]


def table(n):
    found = [[0.0] * 10 for _ in range(n)]
    for i in list(range(n)):
        for j in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9):
            if math.hypot(i, j) < 5.0:
                found[i][j] = i * 2.0
    return found


def normalised(grid):
    total = sum([sum(row) for row in grid.rows])
    for i in range(grid.n):
        for j in range(grid.n):
            grid.rows[i][j] /= total


def test_loops_of_nothing_to_compile(falling_back, monkeypatch):
    monkeypatch.setattr(patience, "FIRST", 600.0)  # however slow the machine, it is the trips that come to their bound
    monkeypatch.setattr(patience, "LONGEST", 600.0)
    monkeypatch.setattr(patience, "LONG", 600.0)  # nor does the first call end the function's patience
    compiled = jit(table)
    assert compiled(300) == table(300)
    with pytest.warns(Fallback, match=r"50,000 trips.*\n.*test_budget.py") as told:
        assert compiled(7000) == table(7000)
    assert len(told) == 1
    with pytest.raises(UnsupportedError, match="Compute outside what they give"):
        jit(table, whole=True)(7000)


def test_loops_that_give_equations_go_on():
    def f(x):
        for k in range(30_000):
            for m in (0, 1):
                if (k + m) % 20 == 0:
                    x = x + k * (k % 200 == 0)
        return x

    assert jit(lambda x: x + 1)(1.0) == 2.0
    np.testing.assert_allclose(jit(f, whole=False)(np.ones(2)), f(np.ones(2)))


def test_numbers_in_lists_of_an_object(falling_back):
    for n in (5, 60):
        mine, plain, compiled = Grid(n), Grid(n), jit(normalised)
        for _ in range(2):
            normalised(plain)
            if n == 5:
                compiled(mine)
            elif _ == 0:
                with pytest.warns(Fallback, match="2,000 places outside are read"):
                    compiled(mine)
            else:
                compiled(mine)
            assert mine.rows == plain.rows


def test_a_program_of_many_equations_in_its_branches(falling_back, monkeypatch):
    monkeypatch.setattr(budget, "LARGEST", 60)

    def f(x):
        if x[0] > 0:
            for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10):
                x = np.sin(x * k) + np.cos(x + k) * k - x / (k + 1)
        return x

    with pytest.warns(Fallback, match=r"has come to \d+ equations"):
        assert jit(f)(np.ones(2)).tolist() == f(np.ones(2)).tolist()
    with pytest.raises(UnsupportedError, match="has come to"):
        jit(f, whole=True)(np.ones(2))


def search(x, rows):
    for i in range(rows):
        if x[i % len(x)] > i:
            x = x + 1.0
    return x.sum()


def test_a_long_trace_is_given_up_and_made_again(falling_back, monkeypatch):
    """For longer, once calls have taken plain Python as long."""
    monkeypatch.setattr(patience, "FIRST", 1e-9)
    monkeypatch.setattr(patience, "LONGER", 1e12)
    compiled, x = jit(search), np.arange(3.0)
    with pytest.warns(Fallback, match=r"given up after 1e-09 s.*\n.*once calls have taken plain Python as long"):
        assert compiled(x, 7) == search(x, 7)
    now = compiled.compiled.patience
    assert now.is_tired() and "given up" in compiled.explain()
    now.seconds, calls = 2e-3, 1
    while now.made < 2 and calls < 5000:
        assert compiled(x, 7) == search(x, 7)
        calls += 1
    assert 3 < calls < 5000 and "given up" not in compiled.explain() and "1 trace" in compiled.explain()


def test_one_that_takes_too_long_in_the_end_is_not_made_again(falling_back, monkeypatch):
    monkeypatch.setattr(patience, "FIRST", 1e-9)
    monkeypatch.setattr(patience, "LONGEST", 1e-9)
    compiled, x = jit(search), np.arange(3.0)
    with pytest.warns(Fallback, match="tracing it takes more than"):
        assert compiled(x, 7) == search(x, 7)
    for _ in range(20):
        assert compiled(x, 7) == search(x, 7)
    assert compiled.compiled.patience.made == 1


def pairs_of(points):
    return sum((a - b) ** 2 for i, a in enumerate(points) for b in points[:i])


def distances(points):
    return [(a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for i, a in enumerate(points) for b in points[:i]]


def shortened(x):
    for k in range(20):
        x = x[1:] * 0.5 + np.sin(x[:-1] * k)
    return x


POINTS = [float(k) ** 0.5 for k in range(12)]


@pytest.mark.parametrize(
    "function, given", [(pairs_of, POINTS), (distances, [[x, 1 - x] for x in POINTS]), (shortened, np.linspace(0, 1, 50))]
)
def test_a_program_that_takes_long_to_make_is_given_up_and_made_later(function, given, falling_back, monkeypatch):
    """Once calls have taken plain Python as long, and at once where plain Python cannot answer, or is not asked to."""
    monkeypatch.setattr(patience, "MAKING", 0.05)
    monkeypatch.setattr(patience, "LONGER", 1e12)
    want, compiled = function(given), jit(function)
    with pytest.warns(Fallback, match=r"come to \d+ equations, whose program takes some [\d.]+ s to make.*\n.*as long"):
        np.testing.assert_allclose(compiled(given), want, rtol=1e-12)
    now = compiled.compiled.patience
    assert now.seconds > 1.5 and "when it had come to" in compiled.explain()
    compiled(given)
    assert now.made == 1
    now.seconds = 1e-9
    for _ in range(3):
        np.testing.assert_allclose(compiled(given), want, rtol=1e-12)
    assert now.made == 2 and "come to" not in compiled.explain() and "1 trace" in compiled.explain()
    for asked in (jit(function), jit(function, whole=True)):
        assert asked.ir(given).count() > 10
    np.testing.assert_allclose(jit(function, whole=True)(given), want, rtol=1e-12)


def test_a_program_is_made_however_long_it_takes_once_a_trace_may_take_longest(falling_back, monkeypatch):
    monkeypatch.setattr(patience, "MAKING", 1e3)
    monkeypatch.setattr(patience, "FIRST", patience.LONGEST)
    compiled = jit(pairs_of)
    assert compiled(POINTS) == pytest.approx(pairs_of(POINTS)) and "1 trace" in compiled.explain()
