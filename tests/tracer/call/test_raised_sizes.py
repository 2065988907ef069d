"""What a call that raises has written to its arguments: a program nothing, plain Python what came before."""

import numpy as np
import pytest

from wengert import jit


def written_then_raised(x):
    x[0] = 7.0
    if x.sum() > 8:
        raise KeyError(len(x))
    return x * 2


def first_after(f, n):
    x = np.arange(float(n))
    with pytest.raises(KeyError):
        f(x)
    return x[0]


def test_program_writes_nothing():
    f = jit(written_then_raised, dynamic=False)
    assert [first_after(f, n) for n in (5, 6, 5, 6)] == [0.0] * 4


def test_new_shape_keeps_what_python_wrote(learning):
    f = jit(written_then_raised)
    assert [first_after(f, n) for n in (5, 6)] == [0.0, 7.0]
