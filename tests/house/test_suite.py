"""The programs of `benchmarks/suite.py` at tiny sizes, with their gradients and ports; and that its check fails what is wrong."""

import dataclasses
import importlib
import xml.etree.ElementTree

import jax
import pytest

from wengert import jit

suite = importlib.import_module("wengert.benchmarks.suite")
PROGRAMS = suite.programs()
QUICK = ("elimination", "heat", "recurrence", "springs", "attention", "above", "softmax")


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in PROGRAMS])
def test_program(name):
    for row in suite.checked(*PROGRAMS[name]):
        assert row["correct"] == "yes", row
        assert "jax: other numbers" not in row["notes"]


def test_wrong_numbers_are_found(monkeypatch):
    wrong = lambda f: jit(lambda *args: jax.tree_util.tree_map(lambda x: x * 1.001, f(*args)))
    monkeypatch.setattr(suite, "jit", wrong)
    assert [row["correct"] for row in suite.checked(*PROGRAMS["softmax"])] == ["NO", "NO"]


def test_a_port_that_computes_something_else_is_left_out():
    family, program = PROGRAMS["softmax"]
    for row in suite.checked(family, dataclasses.replace(program, port=lambda x: x / x.sum())):
        assert row["correct"] == "yes" and "jax: other numbers" in row["notes"]


def test_losses_are_named_and_drawn():
    row = {"family": "tiny", "program": "softmax", "size": 4, "large": False, "what": "forward", "correct": "yes", "notes": ""}
    row["times"] = {"numpy": 1.0, "numpy again": 1.0, "ours": 2.0, "device": 3.0, "jax": 6.0}
    (lost,) = suite.losses([row])
    assert lost[:5] == ["softmax", "4", "forward", "numpy", 0.5]
    assert [m[:2] + m[3:5] for m in suite.means([row])] == [["tiny", "forward", 0.5, 2.0], ["all", "forward", 0.5, 2.0]]
    drawn = xml.etree.ElementTree.fromstring(suite.figure([row | {"ratios": {p: suite.ratio(row, p) for p in suite.PEERS}}]))
    places = {dot[0].text.split(", ")[2].split(":")[0]: float(dot.get("cx")) for dot in drawn.findall("{*}circle") if len(dot)}
    one = min(float(line.get("x1")) for line in drawn.findall("{*}line") if line.get("stroke-width"))
    assert places["NumPy"] < one < places["jax.jit"]
