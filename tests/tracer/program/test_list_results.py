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


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.int8, bool, np.uint64, complex])
@pytest.mark.parametrize("shape", [(6, 3), (300, 2), (20,), (3, 0), (2, 2, 9)])
def test_tolist(dtype, shape):
    """Numbers of one array, which is one result of the program however many they are."""
    x = (np.arange(np.prod(shape)).reshape(shape) % 5).astype(dtype)
    for function in (lambda x: x.tolist(), lambda x: (x.T.tolist(), x.tolist()[1:]), lambda x: np.array(x.tolist(), dtype) * 2):
        found, expected = jit(function)(x), function(x)
        assert repr(found) == repr(expected) and type(found) is type(expected)
    f = jit(lambda x: (x * 1).tolist())
    f(x)
    (entry,) = f.compiled.entries.values()
    assert len(entry.current.versions[0].func.results) <= 2  # a status may be one
