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
    monkeypatch.setattr(budget, "SECONDS", 600.0)  # however slow the machine, it is the trips that come to their bound
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
