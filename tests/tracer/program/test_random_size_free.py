"""Random programs of changing sizes as one generated function; `random_size_free.py` tries many."""

import ast

import pytest
import random_size_free

from wengert.ir.dims import Dim


# 100: a factor 1 / n / n; 116: a result that is given twice
@pytest.mark.parametrize("seed", [*range(8), 100, 116])
def test_one_function_does_what_plain_python_does(seed):
    assert random_size_free.outcome(seed) == "agree"


@pytest.mark.parametrize("seed", [0, 3])
def test_with_straight_lines_as_nests(seed):
    assert random_size_free.outcome(seed, nests=True) == "agree"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_do(seed):
    found = random_size_free.outcome(seed)
    assert found == "agree" or found.startswith("none")


def test_a_wrong_expression_is_found(monkeypatch):
    """The comparison can fail: a function that reads one size for another gives other numbers."""
    made = random_size_free.SizeFree.call

    def wrong(self, tests=()):
        for node in (n for line in self.tree.body[1:] for n in ast.walk(line)):
            if isinstance(node, ast.Constant) and isinstance(node.value, Dim):
                node.value = node.value - 1
        return made(self, tests)

    monkeypatch.setattr(random_size_free.SizeFree, "call", wrong)
    assert any(wrongly(seed) for seed in range(6))


def wrongly(seed):
    try:
        return not random_size_free.outcome(seed).startswith(("agree", "none"))
    except ValueError:  # shapes that do not fit
        return True
