"""What is told while programs are made: to listeners and to the loggers, and nothing where nobody listens."""

import logging
import os
import subprocess
import sys
import textwrap
import time
import types

import numpy as np
import pytest
from cached import SIMPLE, X
from places import ROOT

from wengert import grad, jit
from wengert.ir.amounts import in_time
from wengert.tracer.common import events, log_setting
from wengert.tracer.common.errors import Fallback

SCALE = types.SimpleNamespace(value=2.0)


@pytest.fixture
def told():
    """The events of a test, but of those that only say how a step went."""
    found = []
    events.LISTENERS.append(found.append)
    yield found
    events.LISTENERS.remove(found.append)


def kinds(found, *areas):
    return [e.kind for e in found if not areas or e.area in areas]


def scaled(x):
    return np.tanh(x) * SCALE.value


def test_a_first_call_tells_of_its_trace_and_a_second_of_nothing(told):
    f = jit(scaled)
    f(np.ones(3))
    assert kinds(told, "trace") == ["begun", "traced", "passes"] and "xla compile" in kinds(told)
    traced = next(e for e in told if e.kind == "traced")
    assert (traced.name, os.path.basename(traced.file)) == ("scaled", "test_events.py")
    assert traced.line == scaled.__code__.co_firstlineno
    assert traced.facts["reason"] == "first call" and traced.facts["equations"] == 2 and traced.seconds > 0
    passes = next(e for e in told if e.kind == "passes").facts["passes"]
    assert {"simplify", "cse", "dce"} <= set(passes) and all(s >= 0 for s in passes.values())
    told.clear()
    f(np.ones(3))
    assert told == []


def test_a_retrace_tells_why(told):
    f = jit(scaled)
    f(np.ones(3))
    told.clear()
    f(np.ones(4))
    assert kinds(told, "guards") == ["signature"]
    assert next(e for e in told if e.kind == "traced").facts["reason"] == "new x: f64[4] (was f64[3])"
    told.clear()
    SCALE.value = 3.0
    f(np.ones(4))
    SCALE.value = 2.0
    (missed,) = (e for e in told if e.area == "guards")
    assert missed.kind == "guard" and "was 2.0, is 3.0" in missed.text


def test_data_that_take_another_way(told):
    def choose(x):
        if x > 0:
            return np.zeros(3)
        return np.zeros(4)

    f = jit(choose)
    f(1.0)
    assert "side exit" not in kinds(told)
    f(-1.0)
    (exit,) = (e for e in told if e.kind == "side exit")
    assert "if x > 0:" in exit.text and exit.text.endswith("is false")


def test_fallbacks_are_told_of_each_time_with_the_line(told, falling_back):
    def refused(x):
        exec("y = 3")
        return x + 1

    f = jit(refused)
    with pytest.warns(Fallback):
        f(np.ones(3))
    f(np.ones(3))
    found = [e for e in told if e.kind == "fallback"]
    assert len(found) == 2 and {e.line for e in found} == {refused.__code__.co_firstlineno + 1}
    assert "exec()" in found[0].facts["why"] and found[0].seconds > 0


def test_a_gradient_is_at_its_function(told):
    grad(lambda x: (np.sin(x) ** 2).sum())(np.ones(3))
    line = sys._getframe().f_lineno - 1
    assert {(e.name, os.path.basename(e.file), e.line) for e in told} == {("grad_lambda", "test_events.py", line)}


def test_machine_code_and_engines(told, monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)

    def smoothed(u):
        for i in range(1, u.shape[0] - 1):
            u[i] = 0.25 * (u[i - 1] + u[i + 1]) + 0.51234
        return u

    jit(smoothed)(np.ones(40))
    assert "nest" in kinds(told, "compile")
    (engine,) = (e for e in told if e.kind == "engine")
    assert engine.facts["engine"] in ("XLA", "generated NumPy") and engine.facts["times"][0] > 0


def test_programs_on_disk(told, process):
    process.run(SIMPLE, X)
    assert kinds(told, "cache") == ["miss", "kept"]
    told.clear()
    process.run(SIMPLE, X)
    assert kinds(told, "cache") == ["hit"] and "traced" not in kinds(told)
    told.clear()
    process.run("import numpy as np\nkept = [lambda: 0]\ndef f(x):\n    return np.sin(x) * len(kept)\n", X)
    assert kinds(told, "cache")[0] == "miss"


def test_the_background_tier_tells_what_it_was_asked_for(told):
    f = jit(lambda x: np.sqrt(x).cumsum(), tier="background")
    x = np.array([1.0, 4.0])
    f(x)
    assert kinds(told)[:2] == ["fallback", "asked"] and "not ready yet" in told[0].text
    until = time.monotonic() + 60
    while not {"ready", "failed"} & set(kinds(told)) and time.monotonic() < until:
        time.sleep(0.01)
    assert "ready" in kinds(told) and "traced" in kinds(told)
    assert {e.name for e in told} == {"<lambda>"}


def test_loggers_have_the_event(caplog):
    with caplog.at_level(logging.INFO, "wengert"):
        jit(scaled)(np.ones(5))
    traced = [r for r in caplog.records if r.name == "wengert.trace"]
    assert [r.event.kind for r in traced] == ["traced"] and traced[0].levelno == logging.INFO
    assert traced[0].getMessage().startswith("scaled (test_events.py:")
    caplog.clear()
    jit(scaled)(np.ones(6))
    assert caplog.records == []


def test_nothing_is_said_of_what_nobody_hears(monkeypatch):
    monkeypatch.setattr(events, "Event", None)
    assert np.array_equal(jit(scaled)(np.zeros(7)), np.zeros(7))


@pytest.mark.parametrize(
    "text, levels, unknown",
    [
        ("", {}, []),
        ("off", {}, []),
        ("info", dict.fromkeys(events.AREAS, logging.INFO), []),
        ("DEBUG", dict.fromkeys(events.AREAS, logging.DEBUG), []),
        ("all:debug", dict.fromkeys(events.AREAS, logging.DEBUG), []),
        ("trace, cache,", {"trace": logging.INFO, "cache": logging.INFO}, []),
        ("trace:debug,guards", {"trace": logging.DEBUG, "guards": logging.INFO}, []),
        ("trace:debug,trace", {"trace": logging.DEBUG}, []),
        ("trase,guards:loud,cache", {"cache": logging.INFO}, ["trase", "guards:loud"]),
        ("info:debug,:debug", {}, ["info:debug", ":debug"]),
    ],
)
def test_what_the_variable_asks_for(text, levels, unknown):
    assert log_setting.parsed_setting(text) == (levels, unknown)


@pytest.mark.parametrize(
    "seconds, text", [(0.0, "0 ns"), (2.5e-7, "250 ns"), (1.5e-6, "1.5 us"), (9.996e-4, "1 ms"), (0.0123, "12.3 ms"), (1234.5, "1234 s")]
)
def test_times_as_they_are_read(seconds, text):
    assert in_time(seconds) == text


PROGRAM = """
    import sys
    import numpy as np
    from wengert import jit
    f = jit(lambda x: np.sin(x) + 1)
    f(np.ones(3))
    print("before", file=sys.stderr)
    f(np.ones(4))
    g = jit(f.__wrapped__, dynamic=False)
    for n in (3, 4):
        g(np.ones(n))
"""


def run(tmp_path, setting):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    env = {k: v for k, v in os.environ.items() if not k.startswith("WENGERT")} | ({"WENGERT_LOG": setting} if setting else {})
    (tmp_path / "wengert").symlink_to(ROOT, target_is_directory=True)
    done = subprocess.run([sys.executable, str(script)], env=env | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_silent_unless_asked(tmp_path):
    assert run(tmp_path, None) == ["before"]


def test_lines_on_stderr(tmp_path):
    first, *lines = run(tmp_path, "trace,guards,trase")
    assert first.startswith("wengert: WENGERT_LOG has 'trase'; write some of trace, guards, compile, cache")
    words = [line.split() for line in lines if line != "before"]
    assert [w[1:4] for w in words] == [
        ["s", "wengert.trace", "<lambda>"],
        ["s", "wengert.trace", "<lambda>"],  # plain Python, which answers another shape
        ["s", "wengert.trace", "<lambda>"],
        ["s", "wengert.guards", "<lambda>"],
        ["s", "wengert.trace", "<lambda>"],
    ]
    assert [w[4] for w in words] == ["(program.py:5):"] * 5 and lines.index("before") == 1
    assert "ran as plain Python: there is no program for its shapes as yet" in lines[2]
