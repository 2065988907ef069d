"""How many attempts a trace takes that makes many choices by value: what one line of the user's asks for again and again is seen ahead."""

import dataclasses

import numpy as np
import pytest
from compare import check_same

from wengert import jit
from wengert.tracer.call import patience
from wengert.tracer.regions import fixpoint
from wengert.tracer.values.speculate import Speculation


@pytest.fixture
def attempts(monkeypatch):
    """The number of each attempt at a trace that is begun again for a choice."""
    found, before = [], Speculation.signal
    for bound in ("FIRST", "LONGEST"):  # however slow the machine, no trace is given up
        monkeypatch.setattr(patience, bound, 600.0)
    monkeypatch.setattr(Speculation, "signal", lambda made, *args: (found.append(made.attempt), before(made, *args))[1])
    return found


def sorted_by_degree(a):
    """Kahn's algorithm: the length of the queue is asked for in each trip."""
    degree = a.sum(axis=0)
    queue, order = list(np.flatnonzero(degree == 0)), []
    while queue:
        u = queue.pop(0)
        order.append(int(u))
        for v in range(len(a)):
            if a[u, v]:
                degree[v] -= 1
                if degree[v] == 0:
                    queue.append(v)
    return order


def test_lengths_asked_for_in_each_trip(attempts, falling_back):
    a = np.triu(np.random.default_rng(0).random((14, 14)) < 0.3, 1).astype(int)
    assert jit(sorted_by_degree)(a) == sorted_by_degree(a)
    assert 0 < len(attempts) <= 6


def dampened(x, log):
    for k in range(12):
        x = x * 0.9
        if x.sum() > 1.0:
            log[f"{k}: {int(x.sum() > 2.0)}"] = k  # a key that data decide: Python has to know
        else:
            x = np.concatenate([x, x[:1]])
    return x


def test_choices_of_one_line_in_each_trip(attempts, falling_back):
    check_same(dampened, (np.linspace(0.1, 1.0, 6), {}))
    assert len(attempts) <= 8


@dataclasses.dataclass
class Cloud:
    x: np.ndarray
    v: np.ndarray
    lost: float = 0.0
    history: list = dataclasses.field(default_factory=list)


def simulate(c, steps):
    for k in range(steps):
        c.v += 0.1 * np.cos(c.x)
        c.x += 0.1 * c.v
        alive = np.abs(c.x) < 1.2
        if not alive.all():
            c.lost += c.v[~alive].sum()
            c.x, c.v = c.x[alive], c.v[alive]
            print("step", k, "left", len(c.x))
        c.history.append(len(c.v))
        if len(c.x) == 0:
            break
    return (c.v * c.v).sum(), c.history


def test_a_loop_that_cannot_be_captured_is_not_tried_in_each_attempt(attempts, falling_back, monkeypatch, capsys):
    tries, before = [], fixpoint.Roll.emit
    monkeypatch.setattr(fixpoint.Roll, "emit", lambda roll: (tries.append(1), before(roll))[1])
    cloud = lambda: Cloud(np.linspace(-1.0, 1.0, 9), np.linspace(0.5, -0.4, 9))
    got = jit(simulate)(cloud(), 16)
    said = capsys.readouterr().out
    want = simulate(cloud(), 16)
    assert got[0] == pytest.approx(want[0]) and got[1] == want[1] and said == capsys.readouterr().out
    assert len(attempts) <= 12 and len(tries) <= 60
