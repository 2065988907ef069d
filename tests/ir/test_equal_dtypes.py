"""Dtypes that are equal are one type, whichever object they are: those of arrays that were pickled are not NumPy's own."""

import copy
import pickle

import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends.native import direct
from wengert.tracer.program.numpy_function import MISS


def pickled(x):
    return pickle.loads(pickle.dumps(x))


def field(x):
    made = np.zeros(x.shape, pickled(np.dtype([("v", x.dtype)])))
    made["v"] = x
    return made["v"].copy()


def retyped(x):
    return np.array(x, dtype=pickle.loads(pickle.dumps(x)).dtype)


FORMS = pickled, field, retyped, copy.deepcopy


def recurrence(x):
    s = x[0]
    for i in range(1, len(x)):
        s = s * x[1] + x[i]
    return s


def written(x):
    x[0] = x[1] + x[1]
    return x


def changed(x):
    return x * x + x[0]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "c16", "u1"])
@pytest.mark.parametrize("function", [recurrence, written, changed, lambda x: x])
def test_no_second_trace_and_no_slow_way(function, dtype):
    """One trace, and the one generated function that answers for NumPy's own dtypes answers for these."""
    x = np.arange(1, 6).astype(dtype)
    f = jit(function, engine="numpy")
    f(x.copy())
    (entry,) = f.compiled.entries.values()
    (straight,) = entry.current.straight
    assert pickled(x).dtype is not x.dtype
    for form in FORMS:
        y, z = form(x), form(x)
        found, want = f(y), function(z)
        assert type(found) is type(want) and found.dtype == want.dtype and np.array_equal(found, want) and np.array_equal(y, z)
        assert straight(form(x)) is not MISS
        assert (found is y) == (want is z)
    assert straight(x.astype(x.dtype.newbyteorder())) is MISS or dtype == "u1"
    assert f.explain().splitlines()[0].endswith("1 trace(s)")


def test_xla_is_not_asked_again():
    f, x = jit(lambda x: x @ x + 1, engine="xla"), np.ones((3, 3), np.float32)
    f(x), f(x)  # first with 64-bit types on, then without
    (entry,) = f.compiled.entries.values()
    size = lambda: [program._cache_size() for program in entry.current.base.known.values()]
    before = size()
    for form in FORMS:
        assert np.array_equal(f(form(x)), x @ x + 1)
    assert size() == before and f.explain().splitlines()[0].endswith("1 trace(s)")


@pytest.mark.skipif(direct.refusal() is not None, reason="no nest is called from Python here")
def test_machine_code_takes_them_itself(monkeypatch):
    monkeypatch.setattr(direct, "in_order", None)
    f = jit(recurrence, engine="numpy")
    for form in (lambda x: x, *FORMS):
        assert f(form(np.ones(300))) == 300.0


def test_gradients():
    f, x = grad(lambda p: (p["w"] ** 2).sum()), np.arange(3.0)
    for form in (lambda x: x, *FORMS):
        assert np.array_equal(f({"w": form(x)})["w"], 2 * x)
    assert f.explain().splitlines()[0].endswith("1 trace(s)")
