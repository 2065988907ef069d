"""Pieces of a function that is not captured as a whole: plain Python answers their calls where it takes less time."""

import math

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.call import parted

pytestmark = [pytest.mark.usefixtures("falling_back"), pytest.mark.filterwarnings("ignore::wengert.Fallback")]


SEEN = []


def log(x):
    """What no trace can see into."""
    exec("SEEN.append(float(x))", {"SEEN": SEEN, "x": x})


def smoothed(u, n):
    for _ in range(n):
        u = 0.5 * u + 0.25 * np.roll(u, 1) + 0.25 * np.roll(u, -1)
    log(u[0])
    out = np.zeros_like(u)
    for i in range(len(u)):
        out[i] = u[i] * i + n
    return out


@pytest.fixture
def soon(monkeypatch):
    """Plain Python is tried after two compiled calls, for one."""
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)
    monkeypatch.setattr(parted, "CALLS", 2)
    monkeypatch.setattr(parted, "TURNS", 1)
    monkeypatch.setattr(parted, "at_most", lambda compiled: 0.0)
    return lambda name, value: monkeypatch.setattr(parted, name, value)


def called(f, times):
    """Calls of f, each compared with plain Python's -> the pieces of it."""
    for k in range(times):
        SEEN.clear()
        u = np.linspace(0.0, 1.0, 7) * (k + 1)
        np.testing.assert_allclose(f(u, 3), smoothed(u, 3), rtol=1e-12)
        assert len(SEEN) == 2 and SEEN[0] == pytest.approx(SEEN[1])
    made = [p for e in f.compiled.entries.values() for p in e.parts.values()]
    return [calls for p in made for calls in p.calls]


def test_plain_python_answers_where_it_is_the_shorter(soon):
    soon("BETTER", math.inf)
    soon("SLOW", math.inf)
    f = jit(smoothed)
    pieces = called(f, 12)
    assert pieces and all(calls.plain for calls in pieces)
    assert f.explain().count("runs as plain Python") == len(pieces)


def test_compiled_calls_go_on_where_they_are(soon):
    soon("BETTER", 0.0)
    pieces = called(jit(smoothed), 12)
    assert pieces and not any(calls.plain for calls in pieces)
    assert all(calls.factor > 1.0 for calls in pieces)


def test_a_slow_call_in_plain_python_ends_that(soon):
    soon("BETTER", math.inf)
    soon("SLOW", 0.0)
    pieces = called(jit(smoothed), 5)
    assert pieces and not any(calls.plain for calls in pieces)


def test_what_plain_python_may_take_is_known_or_infinite():
    def searched(u):
        k = 0
        while u[k] < 0.5:
            k += 1
        log(u[0])
        return u * k

    f = jit(searched)
    for _ in range(3):
        f(np.linspace(0.0, 1.0, 9))
    made = [p for e in f.compiled.entries.values() for q in e.parts.values() for p in q.pieces]
    assert made and math.inf in map(parted.at_most, made)
    g = jit(smoothed)
    called(g, 3)
    known = [parted.at_most(p) for e in g.compiled.entries.values() for q in e.parts.values() for p in q.pieces]
    assert known and all(0.0 < seconds < math.inf for seconds in known)
