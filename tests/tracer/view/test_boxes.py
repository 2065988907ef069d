"""Boxes: every equation in one of them, few in each, edges downwards in layers, by the library and without it."""

import itertools

import numpy as np
import pytest

from wengert import grad, jit
from wengert.ir.core import Builder
from wengert.ir.types import parse_type
from wengert.tracer.view import layers
from wengert.tracer.view.boxes import MOST, Boxes, leaf_tokens

VECTOR = parse_type("f64[4]")


def scaled(x, w):
    return x / np.sqrt((x * x).sum() + 1.0) * w + np.tanh(x)


def stacked(ws, x):
    for w in ws:
        x = scaled(x, w)
    return (x * x).sum()


def straight(count):
    """A function of equations without any likeness."""
    build, rng = Builder("straight"), np.random.default_rng(1)
    with build:
        values = [build.param(VECTOR, "x")]
        for k in range(count):
            a, b = (values[rng.integers(max(0, len(values) - 9), len(values))] for _ in range(2))
            values.append(a * b + float(k))
    return build.finish(values[-2:])


def boxes_in(box):
    yield box
    for child in box.get("copies", box["c"]):
        if isinstance(child, dict):
            yield from boxes_in(child)


@pytest.fixture(params=["library", "plain"])
def layout(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(layers, "library", lambda: None)
    elif layers.library() is None:
        pytest.skip("fast-sugiyama is not installed")


def functions():
    rng = np.random.default_rng(0)
    ws = [rng.standard_normal(4) for _ in range(6)]
    yield straight(700)
    yield straight(5)
    yield grad(stacked).ir(ws, np.ones(4))
    yield jit(lambda x, flag: np.where(flag, np.sin(x), x).sum()).ir(np.ones(3), True)


@pytest.mark.parametrize("number", range(4))
def test_each_equation_is_in_one_box(layout, number):
    func = next(itertools.islice(functions(), number, None))
    tree = Boxes(func).tree()
    found = [n for n in leaf_tokens(tree) if 0 <= n < len(func.eqns)]
    assert sorted(found) == list(range(len(func.eqns)))
    assert all(len(box["c"]) <= MOST + len(func.params) + 1 for box in boxes_in(tree))


@pytest.mark.parametrize("number", range(4))
def test_edges_lead_down_and_have_room_on_the_way(layout, number):
    func = next(itertools.islice(functions(), number, None))
    for box in boxes_in(Boxes(func).tree()):
        if box["l"] is None:
            assert box["k"] in ("alike", "sides")
            continue
        row = {item: k for k, layer in enumerate(box["l"]) for item in layer if item >= 0}
        assert sorted(row) == list(range(len(box["c"])))
        for e, (a, b) in enumerate(box["e"]):
            between = [k for k, layer in enumerate(box["l"]) if -1 - e in layer]
            assert row[a] < row[b]
            assert between == (list(range(row[a] + 1, row[b])) if row[b] - row[a] <= layers.LONGEST else [])


def test_edges_are_of_the_boxes_that_read_each_other():
    build = Builder("f")
    with build:
        x = build.param(VECTOR, "x")
        y = x * 2.0
        z = y + x
    tree = Boxes(build.finish((z,))).tree()
    assert tree["c"] == [-1, 0, 1, 2]  # the parameter, two equations, what is returned
    assert sorted(map(tuple, tree["e"])) == [(0, 1), (0, 2), (1, 2), (2, 3)]


def test_few_edges_cross(layout):
    """A ladder, given in an order in which all its rungs cross: none need to."""
    edges = [(k, 10 + (9 - k)) for k in range(10)] + [(10 + k, 20 + (7 * k) % 10) for k in range(10)]
    found = layers.layered(30, edges)
    place = {box: x for layer in found for x, box in enumerate(layer)}
    crossing = sum(
        (place[a] - place[c]) * (place[b] - place[d]) < 0 for rows in (edges[:10], edges[10:]) for (a, b), (c, d) in itertools.combinations(rows, 2)
    )
    assert crossing == 0


def test_the_adjoint_is_beside_what_it_is_of():
    tree = Boxes(grad(stacked).ir([np.ones(4)] * 2, np.ones(4))).tree()
    assert tree["k"] == "sides" and [b["k"] for b in tree["c"] if isinstance(b, dict)] == ["forward", "adjoint"]


def test_alike_stretches_are_one_box():
    tree = Boxes(jit(stacked).ir([np.ones(4)] * 9, np.ones(4))).tree()
    (alike,) = (b for b in boxes_in(tree) if b["k"] == "alike")
    assert len(alike["copies"]) in (8, 9) and alike["t"] == "scaled"
    assert len({len(leaf_tokens(copy)) for copy in alike["copies"]}) == 1


def test_functions_are_named_as_the_user_did():
    def one(x):
        return [np.sin(x * k) for k in range(9)]

    def other(x):
        return sum((lambda y: np.exp(y) / (1 + y * y))(x + k) for k in range(9))

    tree = Boxes(jit(lambda x: (sum(one(x)) + other(x)).sum()).ir(np.ones(4), passes=False)).tree()
    titles = {b["t"] for b in boxes_in(tree) if b["k"] in ("call", "alike")}
    assert any("one" in t for t in titles) and any("other" in t for t in titles)
    assert not any("<" in t or "@" in t for t in titles - {"<lambda>"})
