"""Code in no file of its own: the user's modules and Wengert itself in zip files, without asserts; bytecode without source; frozen modules."""

import json
import marshal
import os
import py_compile
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest
from places import ROOT

from wengert import ConcretizationError, grad, jit

MODULE = """
import os
import numpy as np

def above(x, n):
    s = 0.0
    for i in range(n):
        if x[i] > 0:
            s = s + np.sin(x[i])
    return s

def loss(w):
    return (w * w).sum()

def opened(x):
    with open(os.devnull):
        return x * 2.0
"""
USES = """
import json, sys, warnings
import numpy as np
import wengert
from wengert import grad, jit
import kept_elsewhere as mod

x = np.array([1.0, -2.0, 3.0])
out = {"value": jit(mod.above)(x, 3), "slope": grad(mod.above)(x, 3).tolist(), "ir": str(jit(mod.loss).ir(x))}
f = jit(mod.loss, cache=sys.argv[1])
f(x)
out["cache"] = [line.split("cache ")[1].split()[0] for line in f.explain().splitlines() if "    cache " in line]
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always", wengert.Fallback)
    jit(mod.opened)(x)
out["said"] = [str(w.message) for w in said if w.category is wengert.Fallback]
try:
    jit(lambda x, i: x[i])(x, np.int64(5))
except IndexError as error:
    out["check"] = str(error)
out["files"] = [mod.__file__, wengert.__file__]
out["asserts"] = __debug__
print(json.dumps(out))
"""
x = np.array([1.0, -2.0, 3.0])


def zipped(path, root, prefix, folders):
    with zipfile.ZipFile(path, "w") as file:
        for p in sorted(root.rglob("*")):
            parts = p.relative_to(root).parts
            if p.is_file() and (len(parts) == 1 or parts[0] in folders) and "__pycache__" not in parts and p.suffix != ".md":
                file.write(p, "/".join([*prefix, *parts]))


def test_in_zip_files_and_without_asserts(tmp_path):
    users = tmp_path / "users.zip"
    with zipfile.ZipFile(users, "w") as file:
        file.writestr("kept_elsewhere.py", MODULE)
    ours = tmp_path / "ours.zip"
    zipped(ours, ROOT, ["wengert"], ("tracer", "ir", "autodiff", "backends", "examples", "compat"))
    (tmp_path / "uses.py").write_text(USES)
    others = [p for p in sys.path if p and not os.path.exists(os.path.join(p, "wengert"))]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [ours, users, *others]))}
    found = []
    for _ in range(2):
        command = [sys.executable, "-OO", tmp_path / "uses.py", tmp_path / "kept"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    first, second = found
    assert not first["asserts"] and [".zip" in file for file in first["files"]] == [True, True]
    assert first["value"] == pytest.approx(np.sin(1) + np.sin(3)) and first["slope"] == pytest.approx([np.cos(1), 0, np.cos(3)])
    assert "# kept_elsewhere.py:13" in first["ir"]
    assert "users.zip/kept_elsewhere.py:16" in first["said"][0] and "    with open(os.devnull):" in first["said"][0]
    assert first["check"] == "index 5 is out of bounds for axis 0 with size 3"
    assert (first["cache"], second["cache"]) == (["kept"], ["read"]) and second["value"] == first["value"]


def test_bytecode_without_source(tmp_path, monkeypatch):
    source = tmp_path / "left_behind.py"
    source.write_text(MODULE)
    py_compile.compile(str(source), cfile=str(tmp_path / "left_behind.pyc"))
    source.unlink()
    monkeypatch.syspath_prepend(tmp_path)
    import left_behind

    assert left_behind.__file__.endswith(".pyc")
    assert jit(left_behind.above)(x, 3) == pytest.approx(np.sin(1) + np.sin(3))
    assert jit(left_behind.above)(-x, 3) == pytest.approx(np.sin(2))
    assert np.array_equal(grad(left_behind.loss)(x), 2 * x)


@pytest.fixture
def frozen():
    module = types.ModuleType("of_an_application")
    exec(marshal.loads(marshal.dumps(compile(MODULE, "<frozen of_an_application>", "exec"))), vars(module))
    return module


def test_frozen_modules_are_the_users(frozen):
    f = jit(frozen.above, whole=True)
    assert f(x, 3) == pytest.approx(np.sin(1) + np.sin(3)) and f(-x, 3) == pytest.approx(np.sin(2))
    assert np.array_equal(grad(frozen.loss)(x), 2 * x)


def test_what_needs_the_source_says_so(frozen):
    with pytest.raises(ConcretizationError, match="the source of above is not at hand"):
        grad(frozen.above)(x, 3)
