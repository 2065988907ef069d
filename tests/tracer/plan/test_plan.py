"""What `f.plan()` says: who runs a call and why, the steps, what each line costs, memory, what reverse mode keeps, guards."""

import json
import os
import re
import tempfile
import time
import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import grad, jit, value_and_grad
from wengert.tracer.plan.step import Buffer, live_peak
from wengert.tracer.program import backend_choice

SCALE = 2.0


@pytest.fixture
def as_users_have_it(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)


def network(w, v, x):
    h = np.tanh(x @ w)
    return ((h @ v) ** 2).sum()


def heat(u, n):
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def logistic(u):
    for _ in range(50):
        u = u + 0.1 * np.sin(u) * u
    return u.sum()


LAYERS = np.ones((20, 30)), np.ones((30, 5)), np.ones((40, 20))


def told(plan):
    """The one program of a plan; the plan can be written as JSON, as text no wider than a terminal, and as HTML."""
    assert json.loads(json.dumps(plan.json(), allow_nan=False)) == plan.json()
    assert max(map(len, str(plan).splitlines())) <= 120
    assert plan._repr_html_().startswith("<div ")
    (trace,) = plan.json()["traces"]
    return trace


def line_of(function, offset, mark=""):
    return function.__code__.co_firstlineno + offset, mark


def by_line(trace):
    return {(x["line"], x["mark"]): x for x in trace["lines"]}


def test_a_straight_line():
    f = jit(network)
    f(*LAYERS)
    trace = told(f.plan(*LAYERS))
    assert trace["engine"] == "xla" and trace["totals"]["known"] and "as was asked" in trace["why"]
    products = 2 * 40 * 20 * 30 + 2 * 40 * 30 * 5
    assert products < trace["totals"]["flops"] < products + 40 * 30 + 3 * 40 * 5  # a sum may be padded
    lines = by_line(trace)
    assert lines[line_of(network, 1)]["flops"] == pytest.approx(2 * 40 * 20 * 30 + 40 * 30)
    assert lines[line_of(network, 1)]["text"] == "h = np.tanh(x @ w)"
    assert sum(x["flops"] for x in trace["lines"]) == trace["totals"]["flops"] == sum(s["flops"] for s in trace["steps"])
    assert [s["number"] for s in trace["steps"]] == list(range(1, len(trace["steps"]) + 1))
    assert all(s["kind"] in ("kernel", "library", "copy") for s in trace["steps"])


def test_memory_is_that_of_xla():
    f = grad(network)
    f(*LAYERS)
    memory = told(f.plan(*LAYERS))["memory"]
    assert memory["peak"] == memory["arguments"] + memory["results"] + memory["temporaries"]
    assert memory["peak"] == pytest.approx(memory["xla"], rel=0.1)
    assert memory["arguments"] == sum(x.nbytes for x in LAYERS)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_loop_as_machine_code(engine):
    f = jit(heat, engine=engine)
    f(np.ones(1000), 50)
    trace = told(f.plan(np.ones(1000), 50))
    assert trace["engine"] == engine and trace["static"] == "n=50"
    (nest,) = [s for s in trace["steps"] if s["kind"] == "nest"]
    assert trace["totals"]["flops"] == 50 * 5 * 998 == nest["flops"]
    assert nest["read"] == 50 * 3 * 998 * 8 and nest["written"] == 50 * 998 * 8  # three slices, one store; the rest in registers
    assert {(x["line"], x["mark"]) for x in nest["lines"]} == {line_of(heat, 2)}


def test_a_loop_by_xla():
    f = jit(heat, engine="xla", native=False)
    f(np.ones(1000), 50)
    trace = told(f.plan(np.ones(1000), 50))
    (loop,) = [s for s in trace["steps"] if s["kind"] == "loop"]
    assert loop["does"] == "50 trips" and {s["runs"] for s in loop["steps"]} == {50}
    assert trace["totals"]["flops"] == pytest.approx(50 * 5 * 998, rel=0.01)


def test_what_data_decide_is_a_lower_bound():
    @jit
    def settle(x):
        while x.sum() > 1.0:
            x = x * 0.5
        return x

    settle(np.ones(100))
    trace = told(settle.plan(np.ones(100)))
    assert not trace["totals"]["known"] and trace["expected"] is None
    assert "at least" in str(settle.plan(np.ones(100)))


@pytest.mark.parametrize("transform", [grad, value_and_grad])
def test_what_reverse_mode_keeps(transform):
    f = transform(network)
    f(*LAYERS)
    reverse = told(f.plan(*LAYERS))["reverse"]
    kept = {r["line"]["line"]: r["bytes"] for r in reverse["kept"]}
    assert kept == {line_of(network, 1)[0]: 40 * 30 * 8, line_of(network, 2)[0]: 40 * 5 * 8}
    assert reverse["kept_bytes"] == sum(kept.values()) and reverse["recomputed"] == []
    assert told(jit(network).plan(*LAYERS))["reverse"] is None


def test_what_reverse_mode_keeps_of_each_trip_and_computes_again():
    kept = told(grad(logistic).plan(np.ones(100)))["reverse"]
    assert kept["kept_bytes"] == 3 * 50 * 100 * 8 and all(r["per_trip"] for r in kept["kept"])
    f = jit(grad(logistic), memory=4000)
    f(np.ones(100))
    again = told(f.plan(np.ones(100)))["reverse"]
    assert again["kept_bytes"] < kept["kept_bytes"] / 10
    (line,) = {r["line"]["line"] for r in again["recomputed"]}
    assert line == line_of(logistic, 2)[0] and any("runs it once more" in note for note in again["notes"])


def test_guards_and_checks():
    @jit
    def f(x, i):
        if x[i] < 0.0:
            raise ValueError("negative")
        return x * SCALE

    f(np.ones(3), np.int64(1))
    guard = told(f.plan(np.ones(3), np.int64(1)))["guard"]
    assert guard["reads"] >= 1 and 0 < guard["seconds"] < 1e-3 and guard["checks"] >= 1 and guard["assumptions"] == 0


def test_programs_that_data_choose_among():
    @jit
    def f(x):
        if x.sum() > 0.0:
            return [x, x]
        return x

    f(np.ones(3)), f(-np.ones(3))
    for plan in (f.plan(np.ones(3)), f.plan()):
        traces = plan.json()["traces"]
        assert [t["assumes"][0].rpartition(": ")[2] for t in traces] == ["true", "false"]


def test_before_the_first_call():
    trace = told(jit(network).plan(*LAYERS))
    assert trace["engine"] == "none" and "has not been called" in trace["why"] and trace["steps"]
    plan = jit(network).plan()
    assert plan.json()["traces"] == [] and "nothing is compiled yet" in str(plan)


def test_plain_python(as_users_have_it):
    @jit
    def f(x):
        import threading

        threading.Thread(target=list).start()
        return np.tanh(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, after = told(f.plan(np.ones(3))), f(np.ones(3)) is not None and told(f.plan(np.ones(3)))
    for trace in (before, after):
        assert trace["engine"] == "python" and trace["steps"] == [] and "threading.Thread" in trace["why"]


def test_plain_python_that_was_faster(as_users_have_it):
    f = jit(lambda x: x)
    for _ in range(60):
        f(np.ones(3))
    (trace,) = f.plan(np.ones(3)).json()["traces"]
    assert trace["engine"] in ("python", "numpy") and (trace["engine"] == "python") == ("plain Python was faster" in trace["why"])


def test_times_of_engines_are_told(as_users_have_it):
    f = jit(network)
    f(*LAYERS)
    trace = told(f.plan(*LAYERS))
    assert trace["engine"] in ("numpy", "xla") and trace["times"]["numpy"] > 0 and "timed" in trace["why"]


def test_jax_arrays_and_devices():
    f = jit(lambda x: x @ x + 1.0)
    f(jnp.ones((30, 30)))
    trace = told(f.plan(jnp.ones((30, 30))))
    assert trace["engine"] == "xla" and trace["copies"] == []
    assert "jax arrays" in told(f.plan(jnp.ones((30, 30))))["why"] or "as was asked" in trace["why"]


def test_copies_of_what_is_not_aligned():
    f = jit(network)
    room = np.empty(40 * 20 * 8 + 72, np.uint8)
    start = -room.ctypes.data % 64
    for shift, copied in ((0, False), (8, True)):
        x = room[start + shift : start + shift + 40 * 20 * 8].view(float).reshape(40, 20)
        x[...] = 1.0
        f(*LAYERS[:2], x)
        assert ("x" in {c["what"] for c in told(f.plan(*LAYERS[:2], x))["copies"]}) is copied


def test_methods():
    class Filter:
        def __init__(self):
            self.gain = 0.5

        @jit
        def step(self, x):
            return x * self.gain

    one = Filter()
    one.step(np.ones(3))
    assert told(one.step.plan(one, np.ones(3)))["totals"]["flops"] == 3
    assert "step" in str(Filter.step.plan())


def test_in_the_background():
    f = jit(network, tier="background")
    f(*LAYERS)
    plan = f.plan(*LAYERS)
    assert plan.json()["traces"][0]["engine"] != "none" or plan.json()["background"] and "in the background" in str(plan)
    deadline = time.time() + 60
    while time.time() < deadline and not f.plan().json()["traces"]:
        f(*LAYERS)
        time.sleep(0.05)
    assert told(f.plan(*LAYERS))["steps"]


def test_pieces(monkeypatch):
    monkeypatch.setattr("wengert.tracer.program.outlined.ENOUGH", 1)
    ws = [np.ones((4, 4)) * 0.1 for _ in range(80)]

    def deep(x, ws):
        for w in ws:
            x = np.tanh(x @ w) + np.exp(-x) * np.cos(x) + x / (1.0 + x * x)
            x = x - x.mean() + np.sqrt(x * x + 1.0) + np.sin(x) * np.tanh(x)
        return (x**2).sum()

    f = jit(deep)
    f(np.ones((4, 4)), ws)
    (version,) = next(iter(f.compiled.entries.values())).current.versions
    assert version.chain is not None
    trace = told(f.plan(np.ones((4, 4)), ws))
    assert trace["engine"] == "pieces" and {s["kind"] for s in trace["steps"]} == {"piece"}
    assert len(trace["steps"]) == sum(version.chain.counts.values())
    assert trace["totals"]["flops"] == pytest.approx(sum(s["flops"] for s in trace["steps"]))
    assert trace["totals"]["flops"] > 80 * 2 * 4**3


def test_of_a_program_from_disk():
    with tempfile.TemporaryDirectory() as home:
        jit(network, cache=home)(*LAYERS)
        f = jit(network, cache=home)
        f(*LAYERS)
        assert "read from disk" in f.explain()
        trace = told(f.plan(*LAYERS))
        assert trace["totals"]["flops"] > 2 * 40 * 20 * 30
        assert line_of(network, 1)[0] in {x["line"] for x in trace["lines"]}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_measured(engine):
    f = jit(network, engine=engine)
    f(*LAYERS)
    trace = told(f.plan(*LAYERS, measure=True))
    assert trace["measured"] > 0 and any(s["measured"] for s in trace["steps"])
    assert told(f.plan(*LAYERS))["steps"][0]["measured"] is None


def test_names_are_escaped():
    def f(x):
        return np.tanh(x)

    f.__name__ = f.__qualname__ = "<script>"
    g = jit(f)
    g(np.ones(3))
    assert "<script>" not in g.plan(np.ones(3))._repr_html_() and "&lt;script&gt;" in g.plan()._repr_html_()


def test_the_peak_is_where_most_is_there_at_once():
    buffers = [Buffer("a", "", 5, "temporary", 1, 2), Buffer("b", "", 7, "temporary", 2, 3), Buffer("c", "", 100, "argument", 0, 4)]
    assert live_peak(buffers, 4) == (12, 2) and live_peak(buffers, 4, {4: 13}) == (13, 4)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_width(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    f = grad(network)
    f(*LAYERS)
    widest = max(map(len, str(f.plan(*LAYERS)).splitlines()))
    assert widest <= min(max(columns, 80), 120)
    assert re.search(r"way back +keeps", str(f.plan(*LAYERS)))


def test_where_nothing_need_be_given_no_arguments_are_a_call(tmp_path):
    def filled(x=2.0):
        return np.sin(x)

    (trace,) = jit(filled).plan().json()["traces"]
    assert trace["engine"] == "none"
    assert "func filled" in jit(filled).text("ir") and "captured" in jit(filled).text("passes")
    page = jit(lambda: np.arange(3.0) * 2).view(path=tmp_path / "page.html")
    assert os.path.getsize(page.path) > 1000


def test_parameters_may_have_any_name():
    f = jit(lambda x, self, kind: x * self + kind)
    assert f.plan(np.ones(3), self=2.0, kind=1.0).json()["traces"][0]["steps"]
    assert "mul" in f.text("ir", np.ones(3), self=2.0, kind=1.0)
    assert f.ir(np.ones(3), self=2.0, kind=1.0).eqns
