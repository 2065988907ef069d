"""Lists of numbers among the results: of several shapes each, as generated NumPy and through XLA, new at every call."""

import numpy as np
import pytest

from wengert import jit


def squares(a):
    return [v * v for v in a]


def halves(a):
    xs = [0.0] * len(a)
    for i in range(1, len(a)):
        xs[i] = xs[i - 1] * 0.5 + float(a[i])
    return xs, {"first": xs[0], "all": [x + 1.0 for x in xs]}


def parts(a):
    return a * 2.0, float(a[0]), [a[1], a[0]], tuple([v + 1.0 for v in a])


@pytest.mark.parametrize("engine", [None, "xla", "numpy"])
@pytest.mark.parametrize("f", [squares, halves, parts])
def test_results_are_pythons_whatever_shapes_came_before(f, engine):
    compiled = jit(f, engine=engine) if engine else jit(f)
    for n in (5, 9, 5, 30, 9, 5):
        a = np.random.default_rng(n).normal(size=n)
        got, want = compiled(a), f(a)
        assert repr(got) == repr(want)
        if isinstance(got, list):
            got.append(None)
            assert len(compiled(a)) == n
