"""How many passes a captured loop takes to settle."""

import collections

import pytest

from wengert import jit
from wengert.tracer.regions import fixpoint

INF = float("inf")


def paths(w):
    """Floyd's, with the node before each on the way: rows that are chosen by the counter hold ints and None."""
    n = len(w)
    far = [row[:] for row in w]
    before = [[i if w[i][j] < INF else None for j in range(n)] for i in range(n)]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if far[i][k] + far[k][j] < far[i][j]:
                    far[i][j] = far[i][k] + far[k][j]
                    before[i][j] = before[k][j]
    return far, before


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_objects_made_anew_in_each_pass_end_it(falling_back, monkeypatch):
    """What one pass came to carry is left alone by the next, which changes as many others: no pass would be the last."""
    passes, run, learn = collections.Counter(), fixpoint.Roll.passed, fixpoint.Roll.settle

    def settled(roll):
        passes[roll] = 0
        return learn(roll)

    def passed(roll):
        passes[roll] += 1
        return run(roll)

    monkeypatch.setattr(fixpoint.Roll, "settle", settled)
    monkeypatch.setattr(fixpoint.Roll, "passed", passed)
    w = [[0.0, 3.0, INF], [1.0, 0.0, 2.0], [INF, 8.0, 0.0]]
    assert jit(paths)([row[:] for row in w]) == paths(w)
    assert 3 in passes.values() and max(passes.values()) < fixpoint.PASSES // 2
