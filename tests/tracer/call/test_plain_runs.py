"""A function that plain Python runs, and that calls itself."""

import numpy as np
import pytest

from wengert import jit
from wengert.backends.xla import dispatch
from wengert.tracer.call.plain_runs import RUNS, PlainRun, calls_itself

pytestmark = pytest.mark.filterwarnings("ignore::wengert.Fallback")


def solver():
    @jit
    def place(rows, n, k):
        """Whether k more queens have a place, which the rows then hold."""
        if k == 0:
            return True
        c = len(rows)
        for r in range(n):
            if all(r != q and abs(r - q) != c - i for i, q in enumerate(rows)):
                rows.append(r)
                if place(rows, n, k - 1):
                    return True
                rows.pop()
        return False

    return place


def test_calls_within_are_plain_pythons(falling_back):
    """None of them is traced, or told apart from others."""
    place, rows = solver(), [0]
    seen, slow = [], place.compiled.route
    place.compiled.route = lambda *given: seen.append(given) or slow(*given)
    assert place(rows, 7, 6) and rows == [0, 2, 4, 6, 1, 3, 5]
    assert not RUNS.depths and len(seen) <= 2


@jit
def search(board, depth):
    """Data that a trace knows nothing of decide how deep it goes."""
    found = [x for x in board if x > depth]
    if len(found) > 1:
        return search(found[1:], depth + 1) + [depth]
    return found


def test_one_that_is_refused_is_not_tried_within(falling_back):
    board, seen, route = list(map(float, range(30))), [], search.compiled.route
    search.compiled.route = lambda *given: seen.append(given) or route(*given)
    for _ in range(3):
        assert search(list(board), 0) == search.__wrapped__(list(board), 0)
    assert len(seen) <= 4 and not RUNS.depths


def test_what_it_raises_ends_it(falling_back):
    @jit
    def sink(x, n):
        print(end="")
        if n == 0:
            raise LookupError("at the bottom")
        return sink(x, n - 1) if hash(str(x)) else 0

    for _ in range(3):
        with pytest.raises(LookupError, match="at the bottom"):
            sink(1.5, 3)
        assert not RUNS.depths


def test_what_jax_or_debug_asks_for_goes_the_usual_way():
    f = jit(lambda x, y=0: x)
    made, ours = f.compiled, dispatch.on_device(np.arange(3.0))
    assert not calls_itself(made, (1.0,), {})
    with PlainRun(made), PlainRun(made):
        assert calls_itself(made, (1.0, [np.arange(3)]), {"y": {"a": None}})
        for args, kwargs in (((ours,), {}), (([ours],), {}), ((1,), {"y": ours}), ((1,), {"y": {"a": ours}})):
            assert not calls_itself(made, args, kwargs)
    assert not calls_itself(made, (1.0,), {}) and not RUNS.depths
    watched = jit(lambda x: x, debug="nan").compiled
    with PlainRun(watched):
        assert not calls_itself(watched, (1.0,), {})
