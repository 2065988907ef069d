"""Two processes on one machine, joined by jax.distributed over gloo: they give plain NumPy's numbers and take the same ways, and where they
do not do the same they say so and go on."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import two_processes
from places import ROOT
from two_processes import ROWS, STEPS, by_value, checked, heat, in_place, loss, problem, repeated, train

from wengert import grad

SCRIPT = ROOT / "tests" / "helpers" / "two_processes.py"
DIFFERS = "What is not spread over the processes has to be the same in all of them"


def launched(script, *arguments, **more):
    """stdout and stderr of two processes."""
    command = [sys.executable, "-m", "wengert", "launch", "-n", "2", "--grace", "1", str(script), *map(str, arguments)]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "WENGERT_"))}
    env |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env | more, cwd=script.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """(what each of the two has found, their stdout, their stderr)."""
    directory = tmp_path_factory.mktemp("processes")
    out, err = launched(SCRIPT, directory)
    return [json.loads((directory / f"{rank}.json").read_text()) for rank in (0, 1)], out, err


W, X, Y = problem()
x = X[:, 0]
TRAINED = train(W, 0 * W, X, Y, STEPS)


def stored():
    u = x.copy()
    in_place(u)
    return u


SAME = {
    "gradient": (loss(W, X, Y), -2 / ROWS * X.T @ Y),
    "training": TRAINED[0],
    "stencil": heat(x, 3),
    "by value": [by_value(abs(x)), by_value(-abs(x)), by_value(abs(x))],
    "an int": repeated(np.arange(ROWS) % 3 * 1.0),
    "masked": x[x > 0],
    "masked rows": X[x > 0],
    "after it": checked(x, 3),
    "enclosed": x * x,
    "compared": by_value(x),
    "background": np.full(3, 3.0),
    "mesh": TRAINED[0],
    "mesh, auto": TRAINED[0],
    "mesh, in place": [None, stored()],
    "mesh, by value": by_value(x),
    "mesh, masked": x[x > 0],
    "it does not any more": 2.0 * x,
    "and then all": (x - 1.0).sum(),
    "late": x + 0.5,
}


def flat(tree):
    """The numbers of nested lists, one behind the other; None is 0."""
    if isinstance(tree, list | tuple | np.ndarray) and np.ndim(tree) if isinstance(tree, np.ndarray) else isinstance(tree, list | tuple):
        return [v for part in tree for v in flat(part)]
    return [0.0 if tree is None else float(tree)]


@pytest.mark.parametrize("name", SAME)
def test_both_have_the_numbers_of_numpy(first, name):
    (one, other), *_ = first
    assert one[name] == other[name]
    np.testing.assert_allclose(flat(one[name]), flat(SAME[name]), rtol=1e-12, atol=1e-14)


SAID = {
    "stays spread": True,
    "ways": 2,
    "a failed check": f"IndexError: index {ROWS + 7} is out of bounds for axis 0 with size {ROWS}",
    "plan in one process": True,
    "device": "ValueError: device= asks for one device, and an argument is spread over several processes\n  Leave device= out.",
}


@pytest.mark.parametrize("name", SAID)
def test_both_say_the_same(first, name):
    (one, other), *_ = first
    assert one[name] == other[name] == SAID[name]


REFUSED = {
    "an argument differs": "CheckError: <lambda>: argument a is not the same in processes 0 and 1",
    "it differs again": "CheckError: <lambda>: argument a is not the same in processes 0 and 1",
    "a static argument differs": "CheckError: <lambda>: argument n is not the same in processes 0 and 1",
    "an outside number differs": "CheckError: <lambda>: factor is not the same in processes 0 and 1",
    "mesh, an argument differs later": "CheckError: <lambda>: argument a is not the same in processes 0 and 1",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_differs_is_an_error_in_both(first, name):
    (one, other), *_ = first
    assert one[name] == other[name] and one[name].startswith(REFUSED[name]) and DIFFERS in one[name]


def test_another_function_is_an_error_that_names_both(first):
    (one, other), *_ = first
    words = one["another function"]
    assert words == other["another function"] and words.startswith("CheckError: process 0 calls <lambda> (x: f64[16], a: ")
    assert "while process 1 calls <lambda> (x: f64[16])" in words and "in the same order" in words


def test_who_waits_says_for_what(first):
    _, _, said = first
    assert "[0] wengert: waiting for 0 s for other processes to call <lambda> (x: f64[16]), two_processes.py:" in said
    assert "[1] wengert: waiting" not in said


def test_what_plain_python_answers_is_read_on_both(first):
    (one, other), *_ = first
    assert one["plain Python"] == other["plain Python"]
    numbers, said = one["plain Python"]
    assert np.array_equal(numbers, X * 3) and said == ["Fallback"]


def test_a_nan_is_told_by_both(first):
    (one, other), *_ = first
    assert one["a NaN"] == other["a NaN"] and one["a NaN"].startswith("NumericalError: NaN is born in <lambda>: np.log(x) is nan")


def test_engines_are_not_timed(first):
    (one, other), *_ = first
    assert one["small"] == other["small"] == [[3.0] * 3, "several processes run it, and no choice among them is timed"]


def test_the_training_of_the_guide_is_saved_and_resumed_by_other_processes(tmp_path):
    """As shown on the page, with programs on disk that the two share: the second time they are read, by each."""
    page = (ROOT / "docs" / "guide" / "processes.md").read_text()
    script = tmp_path / "train.py"
    script.write_text(re.search(r"```python\n(# train\.py\n.*?)```", page, re.DOTALL)[1])
    shown = re.findall(r"^    (\[[01]\] process .*)$", page, re.MULTILINE)
    kept = {"WENGERT_CACHE": str(tmp_path / "programs"), "WENGERT_LOG": "cache"}
    for n, said in enumerate((shown[:2], shown[2:])):
        out, err = launched(script, **kept)
        assert sorted(line for line in out.splitlines() if " process " in line) == said
        read = sorted(line[:3] for line in err.splitlines() if "read the program of" in line)
        assert read == ([] if n == 0 else ["[0]", "[1]"])


def test_output_has_the_number_of_its_process(first):
    _, out, _ = first
    assert sorted(line for line in out.splitlines() if "has done" in line) == [f"[{k}] process {k} has done" for k in (0, 1)]


def test_the_checks_mean_something():
    """The regression has a slope, of which its closed form is the gradient, and the mask leaves some."""
    np.testing.assert_allclose(grad(loss)(W, X, Y), SAME["gradient"][1], rtol=1e-12)
    assert 0 < len(x[x > 0]) < ROWS and two_processes.STEPS > 1
