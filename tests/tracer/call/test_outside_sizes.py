"""Arrays outside the function, whose lengths change between calls as those of the arguments do."""

import numpy as np
import pytest
from compare import agree

from wengert import from_ir, grad, jit
from wengert.tracer.call import dynamic, families

LENGTHS = [7, 9, 12, 3, 0, 1, 2, 5, 33, 7, 40] * 2
pytestmark = pytest.mark.usefixtures("learning")


def of_length(n):
    return np.linspace(-1.0, 2.0, n)


@pytest.mark.parametrize("how", [None, True])
@pytest.mark.parametrize("kept", [False, True])
def test_an_array_that_is_read_has_other_lengths(how, kept, monkeypatch, tmp_path):
    """A program that is made of those of other sizes is for the lengths that they had outside."""
    monkeypatch.setattr(families, "TIMES", 0.0)
    table = of_length(2)

    def f(x):
        return (x[:, None] * table).sum(axis=1), table[:3], table.shape

    for _ in range(1 + kept):
        g = jit(f, dynamic=how, cache=tmp_path if kept else False)
        for k, n in enumerate(LENGTHS):
            table = of_length(1 + k % 5)
            agree(g(of_length(n)), f(of_length(n)))


def test_the_trace_that_is_kept_for_later_is_one_for_the_lengths_of_now(monkeypatch):
    monkeypatch.setattr(families, "TRIES", 0)
    monkeypatch.setattr(dynamic, "OFTEN", 3)
    monkeypatch.setattr(dynamic, "SHORT", 1e9)
    monkeypatch.setattr(dynamic, "SHARE", 0.0)
    table = of_length(4)
    g = grad(lambda x: (x[:, None] * table).sum())
    agree(g(of_length(7)), np.full(7, table.sum()))
    for n in (3, 2, 2, 2, 2, 2, 3, 3, 3, 2):
        table = of_length(n)
        agree(g(of_length(9)), np.full(9, table.sum()))
    text = str(g.explain())
    assert "by generated NumPy: x: f64[9], table: f64[2" in text and "not symbolic arrays outside have changed" in text


def test_the_text_of_symbolic_sizes_is_read_back_with_its_heading():
    f = jit(lambda x: np.sort(x)[::-1] * len(x), dynamic=True)
    f(of_length(6))
    read = from_ir(f.text("symbolic"))
    for n in (6, 7, 40):
        agree(read(of_length(n)), f(of_length(n)))
