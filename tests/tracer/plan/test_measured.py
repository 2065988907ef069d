"""What each step of a program took in one call: which steps there are, and of which lines."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from jax import profiler

from wengert import grad, jit
from wengert.backends.xla.hlo_text import parse_module
from wengert.backends.xla.op_lines import fused_lines
from wengert.backends.xla.op_times import op_times
from wengert.tracer.plan.measured import measured_call


@pytest.fixture(autouse=True)
def as_users_have_it(monkeypatch):
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", None)


def lines_of(function):
    """{text of a line: its number}"""
    lines, first = inspect.getsourcelines(function)
    return {text.strip(): first + n for n, text in enumerate(lines)}


def straight(x):
    y = np.tanh(x)
    z = y @ x
    return (z * 2 + np.sin(z)).sum()


def sweep(u, n):
    for k in range(n):
        for i in range(1, u.shape[0] - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1]) + k
    return np.sin(u).sum()


def test_statements_of_generated_numpy():
    pytest.importorskip("llvmlite")
    f, u = jit(sweep, engine="numpy"), np.ones(60)
    f(u, 3)
    before = u.copy()
    found = measured_call(f, u, 3)
    assert np.array_equal(u, before)  # the program is run, and nothing is written
    assert (found.engine, found.why) == ("generated NumPy", None) and found.seconds > 0
    lines = lines_of(sweep)
    at = [(s.name, s.line, s.times) for s in found.steps]
    assert at[0] == ("loop", lines["for k in range(n):"], 1)
    assert {line for _, line, _ in at[1:]} == {lines["return np.sin(u).sum()"]}
    assert all(s.file == __file__ and s.duration_us >= 0 for s in found.steps)
    starts = [s.start_us for s in found.steps]
    assert starts == sorted(starts) and sum(found.by_line().values()) == pytest.approx(1)


def test_bodies_of_loops_that_python_runs_are_told_of_each_trip():
    def repeated(x):
        for _ in range(3):
            x = np.linalg.solve(x, x) + np.eye(40)
        return x

    f, x = jit(repeated, engine="numpy"), np.eye(40) + 0.01
    f(x)
    found = measured_call(f, x)
    assert found.engine == "generated NumPy"
    assert {s.times for s in found.steps if s.name == "solve"} == {3}


def test_instructions_of_xla():
    f, x = jit(straight, engine="xla"), np.random.default_rng(0).uniform(size=(40, 40))
    f(x)
    found = measured_call(f, x)
    assert (found.engine, found.why) == ("XLA", None) and found.seconds > 0
    named = {s.line for s in found.steps} | {line for s in found.steps for _, line in s.fused}
    lines = lines_of(straight)
    assert {lines["y = np.tanh(x)"], lines["z = y @ x"], lines["return (z * 2 + np.sin(z)).sum()"]} <= named
    assert all(s.times == 1 and s.duration_us > 0 for s in found.steps)


def test_derivatives_and_jax_arrays_say_so():
    slope, x = jit(grad(straight), engine="xla"), jnp.asarray(np.random.default_rng(0).uniform(size=(30, 30)), jnp.float32)
    slope(x)
    found = measured_call(slope, x)
    assert found.engine == "XLA" and any("vjp of test_measured.py" in s.scope for s in found.steps)


def test_why_nothing_is_told():
    f = jit(straight)
    assert measured_call(f, np.ones((2, 2))).why == "there is no program for such arguments yet: call it once"
    f(np.ones((2, 2)))
    assert "no program" in measured_call(f, np.ones((3, 3))).why
    drawing = jit(lambda n: np.random.rand(3) * n)
    drawing(2.0)
    assert "random numbers" in measured_call(drawing, 2.0).why
    printing = jit(lambda x: print(x.sum()))
    printing(np.ones(3))
    assert "not run again" in measured_call(printing, np.ones(3)).why


def test_a_profiler_in_use_is_left_alone(tmp_path):
    f, x = jit(straight, engine="xla"), np.ones((5, 5))
    f(x)
    profiler.start_trace(tmp_path)
    try:
        assert "profiler is in use" in measured_call(f, x).why
    finally:
        profiler.stop_trace()
    assert list(tmp_path.rglob("*.xplane.pb"))


TEXT = """HloModule jit_f, is_scheduled=true

%fused (p: f64[3]) -> f64[3] {
  %p = f64[3]{0} parameter(0)
  %a.1 = f64[3]{0} sine(%p), metadata={op_name="jit(f)/f/sin" source_file="user.py" source_line=3}
  ROOT %b.2 = f64[3]{0} cosine(%a.1), metadata={op_name="jit(f)/f/cos" source_file="user.py" source_line=4}
}

ENTRY %main (x: f64[3]) -> f64[3] {
  %x = f64[3]{0} parameter(0)
  ROOT %both = f64[3]{0} fusion(%x), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/f/cos" source_file="user.py" source_line=4}
}
"""


def test_lines_that_are_one_instruction():
    places = {"a.1": ("user.py", 3, "f"), "b.2": ("user.py", 4, "f"), "both": ("user.py", 4, "f")}
    assert fused_lines(parse_module(TEXT), places) == {"both": {("user.py", 3), ("user.py", 4)}}


def test_a_jax_without_a_reader_of_its_files(monkeypatch):
    monkeypatch.delattr(profiler, "ProfileData")
    assert op_times(None, ()).endswith("has no jax.profiler.ProfileData")
