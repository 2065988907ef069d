"""What a profile tells of calls, user lines, traces, fallbacks and programs on disk: by counts and names, not by times."""

import doctest
import importlib
import inspect
import json
import threading
import types
from html.parser import HTMLParser

import numpy as np
import pytest
from cached import SIMPLE, X
from places import ROOT

import wengert
from wengert import grad, jit
from wengert.tracer.call.inline_cache import CACHES, WATCHERS
from wengert.tracer.common import events
from wengert.tracer.common.errors import Fallback
from wengert.tracer.profile import summary
from wengert.tracer.profile.signatures import item_text


def waves(x):
    y = np.tanh(x) @ x
    for _ in range(3):
        y = np.sin(y) + 1
    return y


def loss(x):
    return (np.cos(x) ** 2).sum()


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if text in line)


@pytest.fixture
def as_users_have_it(monkeypatch, falling_back):
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)


def rows(profile, table, **same):
    return [r for r in profile.json()[table] if all(r[k] == v for k, v in same.items())]


def test_calls_by_function_and_signature():
    f, slope = jit(waves), grad(loss)
    f(np.ones((3, 3)))
    with wengert.profile() as p:
        for n in (3, 3, 4):
            f(np.ones((n, n)))
        slope(np.ones(2))
        f(x=np.ones((4, 4)))
    found = {(r["name"], r["signature"]): (r["calls"], r["making"] > 0) for r in p.json()["calls"]}
    assert found == {
        ("waves", "x: f64[3,3]"): (2, False),
        ("waves", "x: f64[4,4]"): (2, True),
        ("grad_loss", "x: f64[2]"): (1, True),
    }
    assert [r["reason"] for r in rows(p, "traces", name="waves")] == ["new x: f64[4,4] (was f64[3,3])"]
    assert [r["kind"] for r in p.json()["misses"]] == ["signature"]


def test_answers_are_the_same_and_functions_are_put_back():
    f, x = jit(waves), np.linspace(0, 1, 9).reshape(3, 3)
    expected = f(x)
    code, identity = f.__code__, id(f)
    with wengert.profile():
        assert f.__code__ is not code and np.array_equal(f(x), expected)
    assert f.__code__ is code and id(f) == identity and f.callee.behind is None
    assert WATCHERS == [] and events.LISTENERS == []
    with wengert.profile():
        f(np.ones((5, 5)))  # the inline cache gives it other code meanwhile
    assert f.__code__ is f.compiled.front.code(f.callee.hot) and len(f.callee.hot) == 1
    assert np.array_equal(f(x), expected)


def test_functions_made_meanwhile_are_counted_and_put_back():
    with wengert.profile() as p:
        f = jit(lambda x: np.sin(x) * 2)
        f(np.ones(2))
        f(np.ones(2))
    assert rows(p, "calls")[0]["calls"] == 2
    assert all(callee.behind is None for cache in list(CACHES) for callee in list(cache.callees))


def test_methods_keywords_variadic_functions_and_closures():
    class Filter:
        gain = 2.0

        @jit
        def step(self, z, *, shift=0.0):
            return np.sin(z) * self.gain + shift

    def made(scale):
        return jit(lambda *xs: sum(xs) * scale)

    first, second = made(2.0), made(3.0)
    with wengert.profile() as p:
        assert Filter().step(np.ones(2), shift=1.0)[0] == np.sin(1) * 2 + 1
        assert first(1.0, 2.0) == 6.0 and second(1.0, 2.0, 3.0) == 18.0
    found = {r["signature"]: r["calls"] for r in p.json()["calls"]}
    assert found == {"self: Filter, z: f64[2], shift: f64[]": 1, "f64[], f64[]": 1, "f64[], f64[], f64[]": 1}
    with wengert.profile(), pytest.raises(TypeError, match=r"loss\(\) .*argument"):
        jit(loss)(np.ones(2), wrong=1)


def test_a_call_within_a_trace_is_none():
    inner = jit(loss)
    outer = jit(lambda x: inner(x) + 1)
    with wengert.profile() as p:
        outer(np.ones(3))
        outer(np.ones(3))
    assert [(r["name"], r["calls"]) for r in p.json()["calls"]] == [("<lambda>", 2)]


def test_an_exception_of_the_users_is_one_call():
    def refusing(x):
        if x.shape[0] > 2:
            raise ValueError("too long")
        return x + 1

    f = jit(refusing)
    with wengert.profile() as p, pytest.raises(ValueError, match="too long"):
        f(np.ones(3))
    assert rows(p, "calls")[0]["calls"] == 1 and f.callee.behind is None


def test_lines_of_a_loop_and_of_a_gradient(as_users_have_it):
    f, slope = jit(waves, engine="xla"), grad(loss)
    x = np.random.default_rng(0).uniform(size=(60, 60))
    with wengert.profile() as p:
        for _ in range(3):
            f(x)
            slope(x)
    of_loop = {r["line"] for r in p.json()["lines"] if "waves" in r["of"]}
    everything = {line_of(waves, text) for text in ("tanh", "for _", "np.sin")} | {None}  # what XLA adds is of none
    assert of_loop and of_loop <= everything and line_of(waves, "tanh") in of_loop
    of_gradient = rows(p, "lines", line=line_of(loss, "np.cos"))
    assert {r["derived"] for r in of_gradient} & {"", "vjp"} and all(r["of"] == ["grad_loss"] for r in of_gradient)
    assert of_gradient[0]["text"] == "return (np.cos(x) ** 2).sum()"
    assert sum(r["share"] for r in p.json()["lines"]) == pytest.approx(1)


def test_lines_of_what_is_called_once(as_users_have_it):
    def scaled(u):
        u *= 2
        return np.sin(u).sum()

    u = np.ones(50)
    p = wengert.profile(jit(scaled), u, calls=1)
    assert np.array_equal(u, np.full(50, 2.0)) and p.result == np.sin(2.0) * 50 or p.result == pytest.approx(np.sin(2.0) * 50)
    assert {r["line"] for r in p.json()["lines"]} <= {line_of(scaled, "u *= 2"), line_of(scaled, "np.sin")}
    assert {r["runs as"] for r in p.json()["lines"]} <= {"NumPy", "machine code"}


def test_keys_of_dicts_keep_their_order_where_arguments_are_copied(as_users_have_it):
    p = wengert.profile(jit(lambda d: np.sin(d["b"]) + d["a"]), {"b": np.ones(3), "a": np.ones(3)}, calls=1)
    assert p.json()["calls"][0]["runs as"] == "generated NumPy" and p.json()["lines"]


def test_measuring_leaves_arguments_and_the_world_alone(as_users_have_it):
    class Counter:
        seen = 0

    counter = Counter()

    @jit
    def count(u):
        counter.seen += 1
        u += 1
        return u.sum()

    u = np.zeros(3)
    p = wengert.profile(count, u, calls=9)
    assert counter.seen == 9 and np.array_equal(u, np.full(3, 9.0)) and p.result == 27.0


def test_fallbacks_with_their_reasons(as_users_have_it):
    def refused(x):
        exec("y = 3")
        return np.sin(x)

    f = jit(refused)
    with pytest.warns(Fallback), wengert.profile() as p:
        for _ in range(3):
            f(np.ones(3))
    (row,) = p.json()["fallbacks"]
    assert (row["name"], row["line"], row["calls"]) == ("refused", line_of(refused, "exec"), 3) and "exec()" in row["why"]
    (call,) = rows(p, "calls", name="refused")
    assert (call["fallbacks"], call["runs as"]) == (3, "plain Python")
    assert rows(p, "lines", line=line_of(refused, "exec"))[0]["runs as"] == "plain Python"
    assert "tracing what is not captured" in {r["phase"] for r in p.json()["phases"]}


def test_a_side_exit_and_an_outside_value():
    outside = types.SimpleNamespace(scale=1.0)

    def choose(x):
        if x > 0:
            return np.zeros(3) * outside.scale
        return np.zeros(4)

    f = jit(choose)
    with wengert.profile() as p:
        f(1.0)
        f(-1.0)
        outside.scale = 2.0
        f(1.0)
    assert [r["reason"].split(":")[0] for r in p.json()["traces"]][:2] == ["first call", "data took another way"]
    assert {r["kind"] for r in p.json()["misses"]} == {"side exit", "guard"}
    text = " ".join(str(p).split())  # lines are broken at the width of the terminal
    assert "is false" in text and "was 1.0, is 2.0" in text


def test_programs_on_disk_are_told_of(process):
    with wengert.profile() as p:
        process.run(SIMPLE, X)
        process.run(SIMPLE, X)
    cache = p.json()["cache"]
    assert {kind: len(found) for kind, found in cache.items()} == {"hit": 1, "miss": 1, "kept": 1, "not kept": 0}
    assert [r["reason"] for r in p.json()["traces"]] == ["first call", "read from disk"]
    assert "programs on disk: 1 read, 1 not there, 1 kept" in str(p)


def test_calls_on_other_threads_are_counted():
    f = jit(loss)
    f(np.ones(2))
    with wengert.profile() as p:
        threads = [threading.Thread(target=f, args=(np.ones(2),)) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert rows(p, "calls")[0]["calls"] == 3
    assert any("other threads" in note for note in p.json()["notes"])


def test_random_draws_are_not_made_twice():
    generator = np.random.default_rng(3)
    f = jit(lambda n: generator.random(4).sum() + n)
    expected = np.random.default_rng(3)
    with wengert.profile() as p:
        assert [f(0.0) for _ in range(6)] == [expected.random(4).sum() for _ in range(6)]
    assert any("random numbers" in (r["why"] or "") for r in p.json()["lines"])


def test_shares_are_of_the_whole():
    p = wengert.profile(jit(loss), np.ones(5), calls=4)
    data = p.json()
    assert sum(data["shares"].values()) == pytest.approx(data["seconds"], rel=0.05)
    assert {r["phase"] for r in data["phases"]} >= {"tracing", "passes of the IR", "compiling by XLA", "first runs"}
    assert all(r["seconds"] >= 0 for r in data["phases"])


def test_intervals_within_others_count_once():
    found = summary.exclusive([(0, 10, "outer"), (1, 4, "inner"), (2, 3, "innermost"), (5, 6, "inner"), (9.9, 12, "next")])
    expected = {"outer": [1, 6], "inner": [2, 3], "innermost": [1, 1], "next": [1, 2]}
    assert {k: [n, pytest.approx(s)] for k, (n, s) in found.items()} == expected


def test_a_function_is_called_as_often_as_is_said():
    seen = []
    p = wengert.profile(lambda x: seen.append(x) or len(seen), 1, calls=7)
    assert seen == [1] * 7 and p.result == 7 and p.json()["calls"] == []
    assert len(seen) and "no compiled function was called" in str(p)
    wengert.profile(seen.append, 2, seconds=1e-6)
    assert set(seen[7:]) == {2}
    wengert.profile(seen.append, 3)
    assert seen.count(3) == 10


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: wengert.profile(np.ones(3)), TypeError, r"takes a function .*got ndarray"),
        (lambda: wengert.profile(loss, np.ones(3), calls=0), ValueError, "calls=1 times or more often, not 0"),
        (lambda: wengert.profile(loss, np.ones(3), seconds=0), ValueError, "more than 0, not 0"),
        (lambda: wengert.profile(calls=3), TypeError, "without a function takes no arguments"),
        (lambda: str(wengert.profile()), RuntimeError, "nothing has been profiled yet"),
        (lambda: wengert.profile().save("x"), RuntimeError, "nothing has been profiled yet"),
        (lambda: wengert.profile().json(), RuntimeError, "nothing has been profiled yet"),
    ],
)
def test_what_is_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_profiles_within_profiles():
    f = jit(loss)
    f(np.ones(3))
    code = f.__code__
    with wengert.profile() as outer:
        f(np.ones(3))
        inner = wengert.profile(f, np.ones(3), calls=4)
        assert repr(outer) == "<Profile of a block, being made>"
    assert [rows(p, "calls")[0]["calls"] for p in (inner, outer)] == [4, 5] and f.__code__ is code
    assert "timing engines" not in {r["phase"] for r in outer.json()["phases"]} and repr(inner) == str(inner)
    with pytest.raises(RuntimeError, match="made once"), outer:
        pass


class Texts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_html_is_escaped():
    f = jit(lambda x, how: np.sin(x))
    f.compiled.name = "<script>alert(1)</script>"
    p = wengert.profile(f, np.ones(2), "<b>bold</b>", calls=2)
    parser = Texts()
    parser.feed(p._repr_html_())
    assert not {"script", "b"} & set(parser.tags) and {"table", "tr", "td"} <= set(parser.tags)
    assert any("<script>alert(1)</script>(x: f64[2], how: '<b>bold</b>')" in text for text in parser.texts)
    assert wengert.profile()._repr_html_() is None


def test_a_trace_file_is_one(tmp_path, as_users_have_it):
    """Of "Trace Event Format": each kind of event has the fields that it must have, and calls lie within the profile."""
    f = jit(waves)
    x = np.ones((20, 20))
    with wengert.profile() as p:
        for n in (20, 20, 20, 10):
            f(x[:n, :n])
    p.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert set(trace) == {"traceEvents", "displayTimeUnit"} and trace["displayTimeUnit"] in ("ms", "ns")
    fields = {"X": {"dur", "ts"}, "i": {"s", "ts"}, "M": {"args"}}
    for e in trace["traceEvents"]:
        assert {"name", "ph", "pid", "tid", *fields[e["ph"]]} <= set(e), e
        assert isinstance(e["pid"], int) and isinstance(e["tid"], int) and type(e["name"]) is str
        assert e["ph"] != "X" or e["ts"] >= 0 and e["dur"] >= 0
    calls = [e for e in trace["traceEvents"] if e.get("cat") == "call"]
    assert [e["name"] for e in calls] == ["waves"] * 4 and len({e["tid"] for e in calls}) == 1
    assert max(e["ts"] + e["dur"] for e in calls) <= 1e6 * p.json()["seconds"]
    steps = [e for e in trace["traceEvents"] if e.get("cat") == "step"]
    assert {e["name"] for e in steps} <= {f"test_profile.py:{line_of(waves, t)}" for t in ("tanh", "for _", "np.sin")} and steps
    for tid in {e["tid"] for e in steps}:  # what is in one track does not overlap
        track = sorted((e["ts"], e["dur"]) for e in steps if e["tid"] == tid and e["pid"] == steps[0]["pid"])
        assert all(a[0] + a[1] <= b[0] + 1e-6 for a, b in zip(track, track[1:]))
    json.dumps(p.json())


@pytest.mark.parametrize(
    "x, text",
    [
        (np.ones((2, 3), np.float32), "f32[2,3]"),
        (np.float32(1), "f32[]"),
        (1.5, "f64[]"),
        (2j, "c128[]"),
        (3, "3"),
        ("name", "'name'"),
        ([np.ones(2), {"a": 1}], "[f64[2], {'a': 1}]"),
        (tuple(range(20)), "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, and 4 more)"),
        (object(), "object"),
    ],
)
def test_arguments_as_text(x, text):
    assert item_text(x, True, 3) == text


def test_many_values_of_an_int_are_one_signature():
    f = jit(lambda x, n: x * n)
    with wengert.profile() as p:
        for n in range(80):
            f(1.0, n)
    found = rows(p, "calls")
    assert len(found) == 65 and rows(p, "calls", signature="x: f64[], n: int")[0]["calls"] == 16


def test_the_page_about_it(as_users_have_it):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(ROOT / "docs" / "profile.md"), module_relative=False, optionflags=flags)
    assert tried >= 15 and failed == 0


def test_the_docstring(as_users_have_it):
    failed, tried = doctest.testmod(importlib.import_module("wengert.tracer.profile.profile"))
    assert tried and not failed


def test_long_rows_are_broken_and_cut(monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    f = jit(lambda *xs, how: sum(xs))
    with wengert.profile() as p:
        f(*[np.ones(n) for n in [7] * 40], how="it" * 50)
    lines = str(p).splitlines()
    assert max(map(len, lines)) <= 90 and any(line.endswith(" ...") for line in lines)
    assert p.json()["calls"][0]["signature"].count("f64[7]") == 40
