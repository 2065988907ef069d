"""Programs on disk, from process to process."""

import importlib.util
import os
import subprocess
import sys

import pytest
from cached import X, plainly

from wengert.backends.native import build, direct, legal
from wengert.backends.xla import dispatch, executables
from wengert.tracer.cache import store
from wengert.tracer.cache.store import Store
from wengert.tracer.program import autotune, backend_choice

SCRIPT = """
import os, sys
import numpy as np
import jax.monitoring
from wengert import grad
import cached_script

events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
f = cached_script.f
print(f(np.linspace(0.1, 1.0, 5)).tolist())
print("compiled" if any("cache_misses" in e for e in events) else "not compiled")
print("asked" if any("compile_requests" in e for e in events) else "not asked")
print([line.split()[1] for line in f.explain().splitlines() if "  cache  " in line])
"""


@pytest.mark.parametrize("edited", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_another_process_finds_it_and_one_that_was_edited_does_not(tmp_path, edited):
    def run(text):
        (tmp_path / "cached_script.py").write_text(text)
        paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        env = {**os.environ, "WENGERT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": paths}
        env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "random"}
        made = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert not made.stderr
        return made.stdout.split("\n")[:-1]

    text = "import numpy as np\nfrom wengert import jit\n@jit(engine='xla')\ndef f(x):\n    return np.sin(x) * 2\n"
    first = run(text)
    assert first[1:] == ["compiled", "asked", "['kept']"]
    if edited:
        other = run(text.replace("* 2", "* 3"))
        assert other[1:] == ["compiled", "asked", "['kept']"] and other[0] != first[0]
    assert run(text) == [first[0], "not compiled", "asked", "['read']"]


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
def test_straight_lines_that_run_as_nests_are_kept(process, monkeypatch):
    text = "import numpy as np\ndef f(x, s):\n    y = np.abs(x * s - 1) + x\n    return np.sort(np.where(y > 1, y * y, y / 3))\n"
    monkeypatch.setattr(dispatch, "lower", None)  # XLA compiles nothing
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    for name, value in (("LAUNCH", 1.0), ("TINY", 0.0), ("BETTER", 1e9), ("estimated", lambda func: 1e9 * len(func.eqns))):
        monkeypatch.setattr(backend_choice, name, value)
    want = pytest.approx(plainly(text, X.copy(), 0.37))
    assert process.run(text, X.copy(), 0.37) == ("kept", want)
    monkeypatch.setattr(backend_choice, "fused", None)  # it is read as it was put together
    assert process.run(text, X.copy(), 0.37) == ("read", want)
    assert "as NumPy, straight lines and loops as 1 function of machine code" in process.function.explain()


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
def test_a_loop_that_runs_as_numpy_is_kept_as_machine_code_alone(process, monkeypatch):
    text = "def f(x, s):\n    for i in range(1, len(x)):\n        x[i] += x[i - 1] * s\n    return x.sum()\n"
    lower = dispatch.lower
    monkeypatch.setattr(dispatch, "lower", None)  # XLA compiles nothing
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "LAUNCH", 1.0)
    assert process.run(text, X.copy(), 0.37) == ("kept", plainly(text, X.copy(), 0.37))
    objects = {}
    for module, name in ((build, "ENGINES"), (build, "OBJECTS"), (executables, "OBJECTS"), (direct, "MADE")):
        monkeypatch.setattr(module, name, objects if name == "OBJECTS" else {})
    monkeypatch.setattr(build.machine()[0], "create_pass_builder", None)  # nor does LLVM
    assert process.run(text, X.copy(), 0.37) == ("read", plainly(text, X.copy(), 0.37))
    assert "runs         as NumPy, straight lines and loops as 1 function of machine code" in process.function.explain() and len(build.OBJECTS) == 1
    monkeypatch.setattr(direct, "refusal", lambda: "not here")
    monkeypatch.setattr(legal, "refusal", lambda: "nor here")
    monkeypatch.setattr(dispatch, "lower", lower)
    assert process.run(text, X.copy(), 0.37) == ("read", pytest.approx(plainly(text, X.copy(), 0.37)))
    assert "as NumPy" not in process.function.explain()


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
def test_machine_code_made_while_both_forms_are_timed_is_kept(process, monkeypatch):
    text = "def f(x, s):\n    for i in range(1, len(x)):\n        x[i] += x[i - 1] * s\n    return x.sum()\n"
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(autotune, "CHEAP", -1)  # nothing is tried before XLA has compiled it
    monkeypatch.setattr(backend_choice, "BETTER", 1e9)
    objects = {}
    for module, name in ((build, "ENGINES"), (build, "OBJECTS"), (executables, "OBJECTS"), (direct, "MADE")):
        monkeypatch.setattr(module, name, objects if name == "OBJECTS" else {})
    assert process.run(text, X.copy(), 0.41) == ("kept", plainly(text, X.copy(), 0.41))
    assert "runs         as NumPy, straight lines and loops as 1 function of machine code" in process.function.explain() and len(objects) == 1
    objects.clear()
    for module, name in ((build, "ENGINES"), (direct, "MADE")):
        monkeypatch.setattr(module, name, {})
    with monkeypatch.context() as patch:
        patch.setattr(build.machine()[0], "create_pass_builder", None)  # LLVM optimises nothing
        assert process.run(text, X.copy(), 0.41) == ("read", plainly(text, X.copy(), 0.41))
    ((path, _),) = Store(process.cache).all()
    told, parts = store.unpacked(path.read_bytes())
    assert any(n.startswith(build.NEST) for n in parts)
    path.write_bytes(store.packed(told, {n: b"\x80foreign" if n.startswith(build.NEST) else x for n, x in parts.items()}))
    objects.clear()
    for module, name in ((build, "ENGINES"), (direct, "MADE")):
        monkeypatch.setattr(module, name, {})
    assert process.run(text, X.copy(), 0.41) == ("read", plainly(text, X.copy(), 0.41))  # LLVM has not seen it
