"""Straight lines of programs of symbolic sizes become machine code beside the calls, and give what plain Python gives."""

import importlib.util
import time

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit
from wengert.tracer.call import families, family_nests, symbolic

SIZES = [40, 57, 44, 90, 63, 41, 55]
pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


@pytest.fixture(autouse=True)
def at_once(learning, monkeypatch):
    """Families are found at once, and the first call that one answers asks for nests, which count as faster."""
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)
    monkeypatch.setattr(families, "TIMES", 0.0)
    monkeypatch.setattr(families, "CALM", 0.0)
    monkeypatch.setattr(family_nests, "SHARE", 0.0)
    monkeypatch.setattr(family_nests.FamilyNests, "is_faster", lambda nests: True)


def ways(f):
    sizings = [here.sizing for e in f.compiled.entries.values() for here in e.worlds if here.sizing is not None]
    return [s for sizing in sizings for s in sizing.families if s.nests is not None]


def settled(f, calls):
    """f once nests answer; `calls` gives arguments for sizes."""
    for n in (*SIZES, *SIZES):
        f(*calls(n))
    end = time.monotonic() + 60
    while any(s.nests.state == family_nests.ASKED for s in ways(f)) and time.monotonic() < end:
        time.sleep(0.02)
    f(*calls(SIZES[0] + 1))  # finds them ready
    return f


def vectors(n):
    return np.linspace(-1.0, 1.0, n), np.arange(n) * 0.25


def smooth(x, y):
    return np.exp(-x * x) * y + np.where(x > 0.0, x, 0.5 * y), (x * y).sum(), x[1:] - x[:-1]


def scaled(x, y):
    x *= 2.0
    y[1:] = x[:-1] + y[1:]
    return x.max()


def rows(x, y):
    table = x[:, None] * y - y[:, None]
    return np.sqrt((table * table).sum(axis=1)), table.mean()


@pytest.mark.parametrize("function", [smooth, scaled, rows])
def test_values_and_stores_are_those_of_plain_python(function):
    f = settled(jit(function), vectors)
    (one,) = ways(f)
    assert one.free.in_nests and one.nests.state is family_nests.DONE and one.nests.why is None
    for n in range(38, 95):
        mine, theirs = vectors(n), vectors(n)
        agree(f(*mine), function(*theirs))
        agree(mine, theirs)
    assert "nests        straight lines as machine code: " in str(f.explain())


def test_gradients_have_them_too():
    total = lambda x, y: np.sum(np.tanh(x * y) * x)
    f = settled(jit(grad(total, argnums=(0, 1))), vectors)
    assert [s.free.in_nests for s in ways(f)] == [True]
    for n in (39, 50, 91):
        agree(f(*vectors(n)), jit(grad(total, argnums=(0, 1)), dynamic=False, whole=True)(*vectors(n)))


def test_a_range_that_is_widened_has_them_still():
    f = settled(jit(smooth), vectors)
    for n in (300, 301, 5000, 5001, 300, 2000):
        for _ in range(3):
            agree(f(*vectors(n)), smooth(*vectors(n)))
    assert [s.free.in_nests for s in ways(f)] == [True]


def test_sizes_by_which_the_range_is_widened_meanwhile_are_asked_for(monkeypatch):
    """The function that was made for the sizes before takes over only if it is the one for those too."""
    waiting = []
    monkeypatch.setattr(family_nests.WORKER, "ask", lambda job: waiting.append(job) or True)
    f = jit(smooth)
    for n in (*SIZES, *SIZES):
        f(*vectors(n))
    (job,) = waiting
    job.run()
    assert job.state is family_nests.READY
    (one,) = ways(f)
    one.family.verified.append({"n": 700})
    for n in (45, 46, 700):
        agree(f(*vectors(n)), smooth(*vectors(n)))
    assert one.free.in_nests and {"n": 700} in one.free.samples


def test_what_is_no_faster_is_left_to_numpy(monkeypatch):
    monkeypatch.setattr(family_nests.FamilyNests, "is_faster", lambda nests: False)
    f = settled(jit(smooth), vectors)
    (one,) = ways(f)
    assert one.nests.state is family_nests.DONE and not one.free.in_nests
    agree(f(*vectors(61)), smooth(*vectors(61)))


@pytest.mark.parametrize("option", [{"native": False}, {"exact": True}, {"engine": "numpy"}])
def test_who_asks_for_no_machine_code_has_none(option):
    """Results of an exact program do not change from one call to another."""
    f = jit(smooth, **option)
    for n in (*SIZES, *SIZES):
        agree(f(*vectors(n)), smooth(*vectors(n)))
    assert not ways(f) and "nests   " not in str(f.explain())
