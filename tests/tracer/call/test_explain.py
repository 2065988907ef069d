"""explain() of programs with many arguments, outside values and loops; printed, it is no wider than the terminal; a program that runs says so."""

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.call.explain import LOOPS, READS, Explanation
from wengert.tracer.call.leaf_groups import grouped_leaves
from wengert.tracer.program import backend_choice


def test_leaves_that_differ_in_their_numbers_are_one():
    leaves = [(f"p.layers[{i}].{name}", f"f64[{n}]") for i in range(24) for name, n in (("w", 4), ("b", 2))]
    assert grouped_leaves([*leaves, ("x", "f64[3]")]) == [("p.layers[0..23].w", "f64[4]"), ("p.layers[0..23].b", "f64[2]"), ("x", "f64[3]")]
    gap = [(f"a[{i}][{j}]", "f64[]") for i in (0, 1, 3) for j in range(3)]
    assert grouped_leaves(gap) == [("a[0..1][0..2]", "f64[]"), ("a[3][0..2]", "f64[]")]
    other = [("a[0]", "f64[2]"), ("a[1]", "f64[3]"), ("a[2]", "f64[3]")]
    assert grouped_leaves(other) == [("a[0]", "f64[2]"), ("a[1..2]", "f64[3]")]
    many = grouped_leaves([(f"name{'x' * i}", "f64[]") for i in range(40)])
    assert len(many) == 12 and many[-1] == ("...", "29 more")


def test_many_arguments():
    layers = [{"w": np.ones((3, 3)), "b": np.ones(3)} for _ in range(25)]

    @jit
    def network(layers, x):
        for layer in layers:
            x = np.tanh(x @ layer["w"] + layer["b"])
        return x

    network(layers, np.ones((2, 3)))
    assert "trace 1: (layers[0..24]['b']: f64[3], layers[0..24]['w']: f64[3,3], x: f64[2,3])" in network.explain().splitlines()[1]


def made(lines, names=()):
    space = {"np": np} | dict.fromkeys(names, 0.5)
    exec(compile("def f(x):\n" + "\n".join(f"    {line}" for line in lines) + "\n    return x\n", "<lines>", "exec"), space)
    return jit(space["f"])


def test_many_outside_values():
    f = made([f"x = x * g{i}" for i in range(60)], [f"g{i}" for i in range(60)])
    f(np.ones(3))
    told = [line for line in f.explain().splitlines() if line.startswith("    relied on")]
    assert len(told) == READS + 1 and f"and {60 - READS} more places" in told[-1] and "g59" in told[-1]


@pytest.mark.parametrize("count", [LOOPS, LOOPS + 8])
def test_many_loops(count):
    f = made([line for i in range(count) for line in ("for i in range(200):", f"    x = x * 0.5 + {i}.0", "    x[0] = 1.0")])
    f(np.ones(30))
    told = [line for line in f.explain().splitlines() if line.startswith("    loop")]
    assert len(told) == (count if count == LOOPS else 1)
    if count > LOOPS:
        assert told[0].split(None, 1)[1] == f"{count}: {count} native, 0 through XLA"


def test_reasons_of_many_loops_are_together():
    f = made([line for i in range(LOOPS + 1) for line in ("for i in range(200):", f"    x = np.fmod(x, 7.0) + {i}.0")])
    f(np.ones(300))
    told = [line for line in f.explain().splitlines() if line.startswith("    loop")]
    assert len(told) == 2 and f"{LOOPS + 1} loops through XLA: rem of 300 elements" in told[1]


@pytest.mark.parametrize("columns", [60, 90, 300])
def test_printed_it_is_no_wider_than_the_terminal(monkeypatch, columns, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    f = made(["x = np.tanh(x)"])
    f(np.ones(3))
    text = f.explain()
    print(text)
    printed = capsys.readouterr().out
    width = min(max(columns, 80), 120)
    assert max(map(len, printed.splitlines())) <= width and printed.split() == text.split()
    long = Explanation("f: 1 trace(s)\n    because      " + "word " * 60)
    assert all(line.startswith(" " * 17 + "word") for line in str(long).splitlines()[2:]) and len(str(long).splitlines()) > 3


def test_it_is_text_and_a_page():
    text = Explanation("f: 1 trace(s)\n  <b>")
    assert isinstance(text, str) and text._repr_html_() == "<pre>f: 1 trace(s)\n  &lt;b&gt;</pre>"


@pytest.mark.parametrize("choice", [None, "xla"])
def test_a_program_for_an_int_that_changes_is_run_and_timed_as_others_are(monkeypatch, choice):
    monkeypatch.setattr(backend_choice, "CHOICE", choice)
    f = jit(lambda x, k: x * k)
    for k in range(4):
        assert np.array_equal(f(np.ones(3), k), np.ones(3) * k)
    text = f.explain()
    assert "k keeps changing" in text and "not compiled yet" not in text and "not run yet" not in text
    if choice is None:
        assert text.count("    runs         ") == 2
