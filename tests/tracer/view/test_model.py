"""What a page tells, without a browser: states, changes, costs by line, residuals, source, traces, times."""

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit
from wengert.ir import pipeline
from wengert.ir.core import Builder
from wengert.ir.cost import func_cost
from wengert.ir.types import parse_type
from wengert.tracer.view.kept import residuals_of
from wengert.tracer.view.model import PageModel
from wengert.tracer.view.states import differences
from wengert.tracer.view.tables import region_trips
from wengert.tracer.view.user_source import shown_file, token_kinds

VECTOR = parse_type("f64[4]")


def rolled(x, gain):
    for _ in range(10):
        x = np.tanh(x * gain)
    return (x * x).sum()


def data_of(f, *args, **kwargs):
    model = PageModel("page")
    assert model.add(f.callee, args, kwargs)
    return model.data()


def made(function, name="f"):
    build = Builder(name)
    with build:
        results = function(build.param(VECTOR, "x"), build.param(VECTOR, "y"))
    return build.finish(results)


def ops(eqns):
    return [e.op.name for e in eqns]


def test_states_are_those_of_the_passes():
    f = jit(rolled)
    args = np.ones(4), 0.5
    data = data_of(f, *args)
    (program,) = data["programs"]
    heard = []
    captured = f.ir(*args, passes=False)
    pipeline.run(captured, watch=lambda name, func: heard.append((name, func.count())))
    assert [(s["pass"], s["count"]) for s in program["states"]] == [("captured", captured.count()), *heard]
    assert all(not s["changed"] or "func" in s for s in program["states"])


def test_a_removed_equation_changes_its_readers_alone():
    before = made(lambda x, y: (x * y + 1.0,))
    after = pipeline.run(made(lambda x, y: (x * y + 1.0,)))
    assert differences(before, after) == ([], [], [])
    longer = made(lambda x, y: ((x * y) * 1.0 + 1.0,))
    shorter = pipeline.run(longer)
    added, changed, removed = differences(longer, shorter)
    assert (added, ops(changed), ops(removed)) == ([], ["add"], ["mul"])
    added, changed, removed = differences(shorter, longer)
    assert (ops(added), ops(changed), removed) == (["mul"], ["add"], [])


def test_of_many_that_are_alike_the_one_that_is_gone_is_told():
    many = lambda x, y: (x * 1.0, x * 2.0, x * 3.0, x * 4.0)
    few = made(lambda x, y: (x * 2.0, x * 3.0, x * 4.0))
    added, changed, removed = differences(made(many), few)
    assert (added, changed) == ([], []) and [e.operands[1].value for e in removed] == [1.0]


def test_lines_cost_what_the_program_does():
    args = np.ones(4), 0.5
    data = data_of(jit(rolled), *args)
    total = np.zeros(3)

    def visit(func, times):
        for e in data["funcs"][func]["eqns"]:
            *_, regions, cost = data["eqns"][e]
            total[:] += times * np.array(cost[:3])
            for _, inner, trips in regions:
                visit(inner, times * trips)

    visit(data["programs"][0]["states"][-1]["func"], 1)
    expected = func_cost(jit(rolled).ir(*args))
    assert tuple(total) == (expected.flops, expected.read, expected.written) and total.all()


def test_what_is_kept_is_of_the_line_in_the_loop():
    func = grad(rolled).ir(np.ones(4), 0.5)
    found = residuals_of(func)
    assert found and all(size == x.type.size * 8 for x, _, size in found)
    stacked = [inner.eqn.source for x, inner, _ in found if len(x.type.shape) == 2]
    assert stacked and {s.text for s in stacked} == {"x = np.tanh(x * gain)"}
    assert residuals_of(jit(rolled).ir(np.ones(4), 0.5)) == []


def test_source_is_of_the_functions_that_are_in_the_program():
    data = data_of(jit(lambda x: rolled(x, 0.5) + 1.0), np.ones(4))
    (file,) = data["files"]
    text = {number: line for number, line, _ in file["lines"]}
    first = rolled.__code__.co_firstlineno
    assert text[first] == "def rolled(x, gain):" and text[first + 3].strip() == "return (x * x).sum()"
    assert not any("def data_of" in line for line in text.values())
    assert file["name"] == "test_model.py"


def test_tokens():
    kinds = token_kinds(['def f(x):  # "no"\n', '    """a\n', '    b"""\n', "    return 1.5\n"])
    assert kinds[1] == [(0, 3, "k"), (4, 5, "d"), (11, 17, "c")]
    assert kinds[2][0][2] == kinds[3][0][2] == "s" and kinds[4] == [(4, 10, "k"), (11, 14, "n")]
    assert token_kinds(["def ((\n"]) == {}


def test_lines_that_are_long_or_of_other_characters(tmp_path):
    path = tmp_path / "long.py"
    path.write_text(f"x = 1  # {'a' * 900}\ny = '\U0001f600' + z  # c\n\tt = 2\nu = 3\n", encoding="utf-8")
    lines = shown_file(str(path), [(1, 4)])["lines"]
    assert len(lines[0][1]) == 403 and lines[0][2][-1] == [7, 400, "c"]
    assert lines[1][2] == lines[2][2] == [] and lines[2][1] == "        t = 2" and lines[3][2] == [[4, 5, "n"]]


def test_a_program_from_disk_has_its_lines(tmp_path):
    args = np.ones(4), 0.5
    jit(rolled, cache=tmp_path)(*args)
    data = data_of(jit(rolled, cache=tmp_path), *args)
    (program,) = data["programs"]
    assert [s["pass"] for s in program["states"]] == ["read from disk"]
    first = rolled.__code__.co_firstlineno
    assert {line for _, line, *_ in data["places"]} == {first + 1, first + 2, first + 3}
    (file,) = data["files"]
    assert [number for number, *_ in file["lines"]] == [first, first + 1, first + 2, first + 3]


def test_source_that_is_not_there_is_blank():
    assert shown_file("<nowhere>", [(3, 4)])["lines"] == [[3, "", []], [4, "", []]]


def test_traces_tell_why_and_on_what():
    scale = 2.0

    def f(x):
        return x * scale

    g = jit(f)
    g(np.ones(3))
    scale = 3.0
    g(np.ones(3))
    g(np.ones(4))
    model = PageModel("f")
    assert model.add(g.callee)
    (top,) = model.traces
    assert top["n"] == "3 traces" and [c["t"] for c in top["c"]] == ["trace 1", "trace 2", "trace 3"]
    facts = [{c["t"]: c for c in trace["c"]} for trace in top["c"]]
    assert facts[0]["because"]["n"] == "first call" and "scale" in facts[1]["because"]["n"] and "x: f64[4]" in facts[2]["because"]["n"]
    (read,) = (c for c in facts[1]["relied on"]["c"] if c["t"] == "scale")
    assert read["n"].startswith("3.0") and read["l"] == f.__code__.co_firstlineno + 1
    assert [p["name"] for p in model.programs] == ["f 1", "f 2", "f 3"] and [t["p"] for t in top["c"]] == [0, 1, 2]


def test_what_a_guard_lies_in_is_above_it():
    class Model:
        def __init__(self):
            self.sizes = {"gain": 2.0}

    model = Model()
    g = jit(lambda x: x * model.sizes["gain"])
    data = data_of(g, np.ones(3))
    (relied,) = (c for c in data["traces"][0]["c"][0]["c"] if c["t"] == "relied on")
    deepest = [relied]
    while "c" in deepest[-1]:
        deepest.append(deepest[-1]["c"][-1])
    assert deepest[-1]["t"] == "model.sizes['gain']" and len(deepest) > 2


def test_a_measured_call_has_steps_and_lines():
    x = np.ones(64)
    data = data_of(jit(rolled, engine="numpy"), x, 0.5)
    (track,) = (t for t in data["timeline"] if "steps" in t)
    assert track["engine"] == "generated NumPy" and all(step[4] > 0 for step in track["steps"])
    assert {step[1] for step in track["steps"]} <= {f"test_model.py:{n}" for n in range(1, 40)}
    assert all(seconds > 0 for *_, seconds in data["programs"][0]["times"])
    assert (x == 1).all()


def test_steps_of_derivatives_are_told_apart_where_xla_has_them_in_scopes():
    slope = grad(lambda x: (np.tanh(x @ x) * x).sum())
    data = data_of(slope, jnp.asarray(np.random.default_rng(0).uniform(size=(30, 30)), jnp.float32))
    (track,) = (t for t in data["timeline"] if "steps" in t)
    assert track["engine"] == "XLA" and "vjp" in {mark for *_, mark in track["steps"]}


def test_a_loop_that_may_end_early_has_no_known_trips():
    def early(x):
        for _ in range(10):
            x = np.sin(x) * 2.0
            if x[0] > 1.0:
                break
        return x

    f = jit(early)
    trips = {eqn.attrs["trips"]: region_trips(eqn) for eqn in f.ir(np.ones(3)).eqns if eqn.op.name == "loop"}
    assert trips == {10: None}


def test_arguments_are_not_changed_by_being_shown():
    def fill(u):
        u[:] = 1.0
        return u.sum()

    u = np.zeros(3)
    data_of(jit(fill), u)
    assert (u == 0).all()


def test_a_function_that_acts_is_called_once(capsys):
    seen = []

    def loud(x):
        print("loud")
        return x * 2

    def counting(x):
        seen.append(1)
        return x * 2

    told = [data_of(jit(f), np.ones(3))["timeline"][-1]["c"][0][0] for f in (loud, counting)]
    assert capsys.readouterr().out == "loud\n" and seen == [1]
    assert all(text.startswith("the first call") for text in told)


def test_the_users_error_is_told():
    def strict(x):
        if x.sum() > 0:
            raise ValueError("too large")
        return x

    model = PageModel("strict")
    model.add(jit(strict).callee, (np.ones(3),), {})
    (track,) = (t for t in model.timeline if t["t"] == "strict, a call")
    assert track["c"][0][0] == "raised ValueError: too large"


def test_a_function_without_a_program_says_what_to_do(falling_back, tmp_path):
    g = jit(lambda x: x + 1)
    with pytest.raises(UnsupportedError, match=r"has no program yet\n  Call it first"):
        g.view(path=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
