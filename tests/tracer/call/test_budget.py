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
