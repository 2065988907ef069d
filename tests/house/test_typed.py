"""The types of the public functions: what mypy makes of programs that use them, and of the code behind; all that is public is annotated."""

import importlib.util
import inspect
import os
import subprocess
import sys

import pytest
from places import ROOT

import wengert

PROGRAMS = ROOT / "tests" / "typed" / "programs.py"
CHECKED = """
wengert wengert.__main__ wengert.tracer.common.errors wengert.tracer.rules.rules
wengert.tracer.api.custom wengert.tracer.api.flow wengert.tracer.api.foreign wengert.tracer.api.implicit wengert.tracer.api.jacobians
wengert.tracer.api.jit wengert.tracer.api.readable wengert.tracer.api.solving wengert.tracer.api.transforms wengert.tracer.api.typed
wengert.tracer.api.vmap wengert.tracer.api.ragged wengert.tracer.common.events wengert.tracer.profile.command wengert.tracer.profile.profile
wengert.ir.types wengert.ir.source wengert.ir.core wengert.ir.op wengert.ir.table wengert.ir.rewrite wengert.ir.text wengert.ir.pipeline
wengert.ir.dims wengert.ir.forms wengert.ir.generic wengert.ir.instances wengert.ir.sample_text wengert.ir.unify wengert.ir.passes.settle
wengert.ir.passes.bounds wengert.ir.passes.cse wengert.ir.passes.dce wengert.ir.passes.fold wengert.ir.passes.inline wengert.ir.passes.loops
wengert.ir.passes.fission wengert.ir.passes.masks wengert.ir.passes.memory wengert.ir.passes.products wengert.ir.passes.simplify
wengert.ir.passes.user_rules wengert.autodiff.forms wengert.autodiff.batch wengert.autodiff.vjp wengert.autodiff.jvp wengert.autodiff.split
wengert.autodiff.transpose wengert.backends.xla.table wengert.backends.native.scalar wengert.backends.native.complex
wengert.backends.native.shapes
""".split()


@pytest.fixture(scope="module")
def programs():
    spec = importlib.util.spec_from_file_location("programs", PROGRAMS)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_mypy(folder, *args):
    """mypy, of a checkout under any name as the package `wengert`."""
    (folder / "wengert").symlink_to(ROOT, target_is_directory=True)
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", os.devnull, *args]
    return subprocess.run(command, cwd=folder, env=os.environ | {"MYPYPATH": str(folder)}, capture_output=True, text=True)


def test_checkers_know_the_face(tmp_path):
    pytest.importorskip("mypy", reason="mypy is of the extra `test`")
    (tmp_path / "programs.py").write_text(PROGRAMS.read_text())
    done = run_mypy(tmp_path, *[word for name in [*CHECKED, "programs"] for word in ("-m", name)])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_programs_run(programs):
    assert len(programs.PROGRAMS) == 10
    for program in programs.PROGRAMS:
        program()


def unannotated(function):
    signature = inspect.signature(function)
    if "__wrapped__" in vars(function):
        return []
    missing = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
    return missing + ["return"] * (signature.return_annotation is signature.empty)


@pytest.mark.parametrize("name", sorted(set(wengert.__all__) - {"numpy_api", "scipy_api"}))
def test_what_is_public_is_annotated(name):
    public = getattr(wengert, name)
    if isinstance(public, type):
        assert not [n for n, f in vars(public).items() if inspect.isfunction(f) and unannotated(f)]
        return
    assert unannotated(public) == []
