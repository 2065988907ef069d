"""Random programs called at random sizes: values, dtypes, mutation, sharing and exceptions are plain Python's, whoever answers; more by
`benchmarks/correctness/sizes.py`."""

import every_size
import pytest
import random_lengths
from draws import on

from wengert import grad, jit
from wengert.tracer.api.compiled import Compiled
from wengert.tracer.call import families, symbolic
from wengert.tracer.program.numpy_function import MISS

MODES = {"learnt": None, "asked for": True}


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """As users have it, but programs of symbolic sizes are looked for at once, and no shape has a program of its own."""
    monkeypatch.setitem(jit.__kwdefaults__, "whole", False)
    for function in (jit, Compiled.__init__):
        monkeypatch.setitem(function.__kwdefaults__, "dynamic", None)
    monkeypatch.setattr(families, "TIMES", 0.0)
    monkeypatch.setattr(symbolic, "LEAST_COST", 1e9)


class Made:
    """`jit`, or a gradient, that remembers what it has made."""

    def __init__(self, dynamic, of=lambda f: f):
        self.dynamic, self.of, self.all = dynamic, of, []

    def __call__(self, f):
        self.all.append(self.of(jit(f, dynamic=self.dynamic)))
        return self.all[-1]

    def answered(self):
        """How many calls programs of symbolic sizes have answered."""
        sizings = [w.sizing for f in self.all for e in f.compiled.entries.values() for w in e.worlds if w.sizing is not None]
        return sum(calls for s in sizings for made in s.families for calls, _ in made.spent.values())


def differing(run, seeds, made, engine="straight"):
    with on(engine):
        found = {seed: run(seed, engine, made) for seed in seeds}
    return [f"{seed}: {f.why}\n{f.text}" for seed, f in found.items() if f.verdict == "different"]


@pytest.mark.parametrize("engine", ["straight", "nests"])
@pytest.mark.parametrize("mode", MODES)
def test_calls_are_plain_pythons(mode, engine):
    made = Made(MODES[mode])
    assert not differing(random_lengths.run, range(0, 8), made, engine)
    assert made.answered() > 20


def test_gradients_are_those_of_a_program_for_each_shape():
    made = Made(None, grad)
    assert not differing(random_lengths.run_gradients, (0, 3, 4), made)


def test_every_size_that_is_served_is_what_its_trace_is():
    with on("straight"):
        found = [every_size.Checked(seed) for seed in range(0, 6)]
    assert [(c.program.text, c.wrong) for c in found if c.wrong is not None] == []
    assert sum(c.counts["sizes"] for c in found) > 50 and sum(c.counts["calls"] for c in found) > 20


def test_a_wrong_program_of_symbolic_sizes_is_seen(monkeypatch):
    right = symbolic.Symbolic.counted

    def wrong(self, made, entry, here):
        inner = right(self, made, entry, here)
        call = inner.call
        inner.call = lambda *given: found if (found := call(*given)) is MISS else moved(found)
        return inner

    def moved(found):
        return tuple(x + 1 if hasattr(x, "dtype") else x for x in found)

    monkeypatch.setattr(symbolic.Symbolic, "counted", wrong)
    assert differing(random_lengths.run, range(0, 8), Made(None))
