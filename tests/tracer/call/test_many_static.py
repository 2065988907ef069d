"""Static values that are others at each call: calls take as long as before, and leave nothing behind."""

import itertools
import random
import sys
import traceback
import types

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import jit
from wengert.ir.types import SMALL
from wengert.tracer.call.patience import SEEN, is_plain
from wengert.tracer.call.route import ROOM, Route, only_difference


@pytest.fixture(autouse=True)
def as_users_have_it(falling_back):
    pass


def degrees(graph):
    return sum(w * (v % 2) for u in graph for v, w in graph[u])


def graph(seed):
    draw = random.Random(seed)
    return {i: [(draw.randrange(10**6), draw.random()) for _ in range(2)] for i in range(4)}


@pytest.mark.filterwarnings("ignore")
def test_those_without_a_trace_are_let_go():
    f, seen = jit(degrees), []
    for seed in range(3 * ROOM):
        f.compiled.patience.refused = 0  # each call is looked at
        given = graph(seed)
        assert f(given) == degrees(given)
        seen.append(len(f.compiled.entries))
    assert max(seen) <= ROOM + 2 * SEEN and len(f.compiled.patience.met) <= ROOM
    (route,) = f.compiled.routes.values()
    assert len(route.entries) == len(f.compiled.entries)


@pytest.mark.filterwarnings("ignore")
def test_nested_containers_are_left_to_plain_python_unseen():
    f = jit(degrees)
    for seed in range(400):
        given = graph(seed)
        assert f(given) == degrees(given)
    assert f.compiled.patience.refused > 300 and len(f.compiled.entries) < 120


def test_only_one_of_the_values_differs():
    for a, b in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        differing = [n for n in range(3) if a[n] != b[n]]
        assert only_difference(a, b) == (differing[0] if len(differing) == 1 else None)
    route = Route((int, int, str))
    route.entries = {(1, 2, "a"): 0, (5, 2, "a"): 0, (1, 7, "a"): 0, (1, 9, "a"): 0, (5, 7, "a"): 0, (1, 2, "b"): 0}
    assert route.changing((1, 2, "a")) == [(0, 1), (1, 2)] and route.changing((8, 8, "a")) == []


def test_what_is_surely_plain():
    deep = {0: [(1, 2.0), (3, np.ones(2))], "a": ({"b": [np.float64(1.0)]},)}
    assert is_plain(deep) and is_plain([[[[1.0]]]]) and is_plain(np.ones(3))
    holder = types.SimpleNamespace(x=1.0)
    assert is_plain([1.0, [2.0, (3.0,)], None, {"a": [4.0]}]) and is_plain([holder, {"a": holder}, 1.0])
    assert not is_plain([holder, 1.0, jnp.ones(2)]) and not is_plain([1.0, [jnp.ones(2), 1.0]])
    small = next(iter(SMALL))
    assert not is_plain({0: [(1, jnp.ones(2))]}) and not is_plain([[[np.ones(2, small)]]])
    around = []
    around.append(around)
    assert not is_plain(around) and not is_plain([[(n, [n])] for n in range(5000)])


def handled(x):
    """What is being handled where the function runs, in plain Python or not."""
    out = [repr(sys.exc_info()[1]), traceback.format_exc()[:30]]
    kept = None
    try:
        if x[0] < 0:
            raise KeyError("below")
        out.append("above" if x[1] > 2 else "within")
    except KeyError as error:
        kept = repr(error.__context__)
    return out, kept


def raised_again(x):
    if x[0] < 0:
        raise
    return 1.0 if x[1] > 2 else 2.0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", [None, "background"])
@pytest.mark.parametrize("f", [handled, raised_again])
def test_no_exception_of_ours_is_handled_where_the_users_code_runs(f, tier):
    def said(g, x):
        try:
            return g(x)
        except RuntimeError as error:
            return str(error).splitlines()[0], repr(error.__context__)

    g = jit(f, tier=tier) if tier else jit(f)
    for x in ([1.0, 4.0], [1.0, 1.0], [-1.0, 2.0], [3.0, 3.0], [-2.0, 5.0], np.array([1.0, 3.0]), np.array([-1.0, 3.0]), [1.0, 1.0]):
        assert said(g, x) == said(f, x)
