"""What guards cost at each call, and how often a function is compiled while the world around it changes.

    python benchmarks/latency/guards.py

First table: microseconds a call of one small program that reads nothing, 20 globals, 20 attributes, and
20 items of dicts, and the generated test alone. Second: 1,000 calls each with a changing float argument, a
changing step counter, a counter kept by the object itself, and a global table that is written between
calls: how many compiles, and how many answers differ from plain Python's.
"""

import types

import numpy as np

from wengert import jit
from wengert.benchmarks.timing import interleave, table

COUNT = 20
TABLE = np.arange(4.0)


def globals_of(names):
    """A function that adds `names`, globals of a module of its own."""
    space = {name: float(i) for i, name in enumerate(names)}
    text = f"def f(x):\n    return x + ({' + '.join(names)})\n"
    exec(compile(text, "<globals>", "exec"), space)
    return space["f"]


class Model:
    def __init__(self):
        self.__dict__.update({f"a{i}": float(i) for i in range(COUNT)})
        self.table = {f"k{i}": float(i) for i in range(COUNT)}
        self.step = 0

    def attributes(self, x):
        s = self
        first = s.a0 + s.a1 + s.a2 + s.a3 + s.a4 + s.a5 + s.a6 + s.a7 + s.a8 + s.a9
        return x + (first + s.a10 + s.a11 + s.a12 + s.a13 + s.a14 + s.a15 + s.a16 + s.a17 + s.a18 + s.a19)

    def items(self, x):
        return x + sum(self.table.values())

    def counts(self, x, k):
        self.step += 1
        return x * self.step


def costs():
    """Rows: what is read, its tests, us a call, us of the test alone."""
    model, x = Model(), np.ones(16, np.float32)
    readers = {
        "nothing": lambda x: x + 190.0,
        f"{COUNT} globals": globals_of([f"g{i}" for i in range(COUNT)]),
        f"{COUNT} attributes": model.attributes,
        f"{COUNT} items of a dict": model.items,
    }
    compiled = {name: jit(f) for name, f in readers.items()}
    for f in compiled.values():
        f(x)
    calls = interleave({name: lambda f=f: f(x) for name, f in compiled.items()}, seconds=1.0)
    guards = {name: next(iter(f.compiled.entries.values())).current.guard for name, f in compiled.items()}
    tests = interleave({name: guard.holds for name, guard in guards.items()}, seconds=0.5)
    return [[name, len(guards[name].reads), 1e6 * calls[name], 1e6 * tests[name]] for name in readers]


def compiles():
    """Rows: what changes, calls, compiles, wrong answers."""
    x, state = np.ones(3), types.SimpleNamespace(rate=0.0)

    def float_argument(x, k):
        return x * (k * 0.5)

    def step_counter(x, k):
        return x / (1 + k) + (k if k > 3 else 0)

    def global_table(x, k):
        return x * TABLE[1] + TABLE.sum()

    def attribute(x, k):
        return x * state.rate

    cases = [
        ("a float argument", float_argument, lambda k: k * 0.1),
        ("a step counter", step_counter, lambda k: k),
        ("a global table, written between calls", global_table, lambda k: TABLE.__setitem__(k % 4, k)),
        ("a float attribute, set between calls", attribute, lambda k: setattr(state, "rate", k / 7)),
        ("a counter the object keeps", None, lambda k: None),
    ]
    rows = []
    for name, function, change in cases:
        models = Model(), Model()
        plain, f = (function, jit(function)) if function else (models[0].counts, jit(models[1].counts))
        wrong = 0
        for k in range(1000):
            given = change(k)
            want = plain(x, given)
            wrong += not np.allclose(f(x, given), want, rtol=1e-12, atol=0)
        rows.append([name, 1000, int(f.explain().split("\n")[0].split()[-2]), wrong])
    return rows


def main():
    table(costs(), ["read from outside", "guarded", "us a call", "us of the test"])
    print()
    table(compiles(), ["what changes", "calls", "compiles", "wrong"])


if __name__ == "__main__":
    main()
