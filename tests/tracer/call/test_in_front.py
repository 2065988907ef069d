"""A shape that waits for a program and comes again and again is plain Python's without a way to it."""

import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.tracer.call import dynamic, families, in_front

SCALE = 2.0


@pytest.fixture(autouse=True)
def waiting(learning, monkeypatch):
    """No program is made for a shape, unless it is said to be due."""
    monkeypatch.setattr(dynamic.ShapeTally, "is_due", lambda shape, cost, compiled: shape.due)
    monkeypatch.setattr(families.Sizing, "is_time", lambda *_: False)


@pytest.fixture
def answered(monkeypatch):
    """A list that gets the arguments of each call that is answered so."""
    calls, call = [], in_front.InFront.__call__

    def counted(front, callee, /, *args, **kwargs):
        calls.append(args)
        return call(front, callee, *args, **kwargs)

    monkeypatch.setattr(in_front.InFront, "__call__", counted)
    return calls


def scaled(x, y):
    x[0] += 1.0
    return (x * SCALE + y).sum(), x[1:] - y


def given(n):
    return np.arange(n) * 0.5, 3.0


def met(f, sizes, times=1):
    for _ in range(times):
        for n in sizes:
            mine, theirs = given(n), given(n)
            agree(f(*mine), scaled(*theirs))
            agree(mine, theirs)
    (here,) = [w for e in f.compiled.entries.values() for w in e.worlds]
    return here


def test_calls_of_a_shape_are_answered_after_a_few(answered):
    f = jit(scaled)
    met(f, [5, 5])
    here = met(f, [9], dynamic.OFTEN)
    assert not answered
    met(f, [9, 5, 9, 7, 9])
    assert [len(x) for x, _ in answered] == [9, 9, 9]
    (shape,) = [s for s in here.shapes.values() if s.front is not None]
    assert shape.by == {in_front.PLAIN: dynamic.OFTEN + 3}
    assert f"answered     {dynamic.OFTEN + 4} calls of 2 shapes by plain Python" in str(f.explain())


def test_one_of_some_goes_the_long_way(answered):
    f = jit(scaled)
    met(f, [5, 5])
    met(f, [9], dynamic.OFTEN + 2 * (in_front.ONE_IN + 1))
    assert len(answered) == 2 * in_front.ONE_IN


def test_a_program_takes_the_shape_over(answered, monkeypatch):
    f = jit(scaled)
    met(f, [5, 5])
    here = met(f, [9], dynamic.OFTEN + 2)
    (shape,) = here.shapes.values()
    shape.due = True
    met(f, [9], 4)
    assert len(answered) == 2 and not here.shapes and len(here.versions) == 2


def test_few_shapes_are_asked_for(answered):
    f = jit(scaled)
    met(f, [5, 5])
    here = met(f, range(9, 9 + 2 * in_front.MOST), dynamic.OFTEN + 1)
    assert sum(s.front is not None for s in here.shapes.values()) == in_front.MOST and len(answered) == in_front.MOST


def test_what_the_program_relied_on_is_asked_before(answered, monkeypatch):
    f = jit(scaled)
    met(f, [5, 5])
    met(f, [9], dynamic.OFTEN + 2)
    monkeypatch.setitem(globals(), "SCALE", 7.0)
    mine, theirs = given(9), given(9)
    agree(f(*mine), scaled(*theirs))
    assert len(answered) == 2


def test_exceptions_are_pythons_and_are_counted(answered):
    def picked(x, k):
        return x[k[0]] * x.sum()

    f, k = jit(picked), np.array([3])
    for n in (4, 4, *[9] * (dynamic.OFTEN + 1)):
        assert f(np.arange(float(n)), k) == picked(np.arange(float(n)), k)
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 9"):
        f(np.arange(9.0), np.array([20]))
    assert len(answered) == 2
    (shape,) = [s for e in f.compiled.entries.values() for w in e.worlds for s in w.shapes.values()]
    assert shape.by[in_front.PLAIN] == dynamic.OFTEN + 2


def test_other_dtypes_and_jax_arrays_are_others(answered):
    f = jit(scaled)
    met(f, [5, 5])
    met(f, [9], dynamic.OFTEN)
    x = np.arange(9, dtype=np.float32)
    agree(f(x.copy(), 3.0), scaled(x.copy(), 3.0))
    assert not answered


def test_calls_of_shapes_that_are_forgotten_are_told(monkeypatch):
    monkeypatch.setattr(dynamic, "KEPT", 3)
    f = jit(scaled)
    met(f, [5, *range(10, 20)], 2)
    text = str(f.explain())
    told = [int(line.split()[1]) for line in text.splitlines() if line.strip().startswith("answered")]
    assert sum(told) == 20 and "calls of shapes before these" in text
