"""The programs of the suite, and their gradients, as files and as text of NumPy: each gives what the function gives."""

import os
import subprocess
import sys

import numpy as np
import pytest

from wengert import grad, jit, load, source
from wengert.benchmarks.suite import programs

PROGRAMS = programs()
FEW = ("conjugate_gradient", "heat", "kalman", "above", "line", "softmax")
NAMES = [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in PROGRAMS]


def drawn(name):
    """(the program, a function of no arguments that gives fresh ones)"""
    program = PROGRAMS[name][1]
    return program, lambda: program.arguments(np.random.default_rng(0), program.sizes[0])


def parts(result):
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def check_same(got, want):
    assert type(got) is type(want)
    for x, y in zip(parts(got), parts(want), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_what_the_program_gives(name, tmp_path):
    program, args = drawn(name)
    jit(program.function).export(*args(), path=tmp_path / "f.wgt")
    check_same(load(tmp_path / "f.wgt")(*args()), jit(program.function)(*args()))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_the_gradient(name, tmp_path):
    program, args = drawn(name)
    if not program.over:
        pytest.skip("it has no gradient")
    weights = [np.random.default_rng(1).normal(size=x.shape) for x in parts(jit(program.function)(*args()))]

    def loss(*a):
        out = program.function(*a)
        return sum((np.asarray(x) * w).sum() for x, w in zip(out if isinstance(out, tuple) else (out,), weights))

    slope = grad(loss, argnums=tuple(program.over))
    slope.export(*args(), path=tmp_path / "f.wgt", platforms=("cpu",))
    check_same(load(tmp_path / "f.wgt")(*args()), slope(*args()))


ALONE = """
import sys, numpy as np
sys.modules["wengert"] = sys.modules["jax"] = None
space = {}
exec(open("source.py").read(), space)
given = np.load("given.npz", allow_pickle=False)
args = [given[k] if k.startswith("a") else given[k].item() for k in given.files]
found = space[sys.argv[1]](*args)
np.savez("found.npz", *(found if isinstance(found, tuple) else (found,)))
"""


@pytest.mark.parametrize("name", NAMES)
def test_the_source_runs_without_wengert(name, tmp_path):
    program, args = drawn(name)
    (tmp_path / "source.py").write_text(source(program.function, *args()))
    np.savez(tmp_path / "given.npz", **{f"{'a' if isinstance(x, np.ndarray) else 'n'}{i}": x for i, x in enumerate(args())})
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-c", ALONE, program.function.__name__]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "found.npz") as found:
        for x, y in zip([found[k] for k in found.files], parts(jit(program.function)(*args())), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-10)
