"""Random programs that draw random numbers: in loops, branches and functions, from several generators, with errors on the way.

Generators are globals, arguments, attributes of an argument, or made of a seed; calls after the first may be given others, of other bit
generators too, and two that share one.

    python tests/helpers/random_draws.py 0 300 [--engine native] [--seconds 60]

Compared are results, errors, and where every generator is left, over several calls.
"""

import argparse
import dataclasses
import random
import time
import types

import numpy as np
from compare import agree
from draws import ENGINES, function, on, run_of

from wengert import jit
from wengert.ir.ops.drawing import WORDS, words_of

FLOATS = {
    "Generator": [
        "random()", "uniform(-1, 2)", "uniform({x}, {x} + {n})", "normal()", "normal({x}, 0.5)", "normal(0.5, {p})", "standard_normal()",
        "exponential(2.0)", "exponential({p})", "standard_exponential()", "gamma(2.0)", "laplace()", "normal(size=3).sum()",
        "random((2, 2))[1, 0]", "standard_t(3)", "triangular(0, 1, 3)", "beta(2, {n})",
    ],
    "RandomState": [
        "rand()", "random_sample()", "uniform(-1, 2)", "uniform({x}, {x} + {n})", "randn()", "normal({x}, 0.5)", "normal(0.5, {p})",
        "standard_normal()", "exponential({p})", "standard_exponential()", "randn(3).sum()", "rand(2, 2)[1, 0]", "gamma(2.0)",
    ],
    "Random": ["random()", "uniform(-1, 2)", "uniform({x}, 3)", "gauss(0, 1)"],
}  # fmt: skip
WHOLE = {
    "Generator": ["integers(6)", "integers(-2, {n})", "integers({k}, {k} + {n})", "integers(0, 2**40) % 5", "choice(5)", "poisson(2.0)",
                  "permutation(4)[1]", "integers(3, size=2)[0]", "choice(4, 2)[0]"],
    "RandomState": ["randint(6)", "randint(-2, {n})", "randint({k}, {k} + {n})", "randint(0, 2**40) % 5", "choice(5)", "permutation(4)[1]",
                    "randint(3, size=2)[0]"],
    "Random": ["randrange(6)", "randint(1, 6)", "randrange({n})", "randrange(-3, 2**40) % 5"],
}  # fmt: skip


HOW = "outside", "outside", "given", "given", "held", "made"  # where the generators of a program come from


@dataclasses.dataclass
class Drawn:
    """A program, for each call the generators that it draws from (None: those of the call before), and the arguments of its calls. how:
    one of HOW."""

    text: str
    how: str
    generators: list
    arguments: list

    @property
    def calls(self):
        return len(self.arguments)


class Writer:
    """Writes one program: `a` is a float, `k` an int, `v` and `w` arrays, `g0`... generators."""

    def __init__(self, rng):
        self.rng, self.lines, self.loops = rng, [], 0
        kinds = [rng.choice(["Generator", "Generator", "RandomState", "RandomState", "Random"]) for _ in range(rng.randint(1, 2))]
        self.generators = [(kind, rng.choice(list(WORDS)) if rng.random() < 0.5 else "MT19937", rng.randrange(99)) for kind in kinds]

        self.how = rng.choice(HOW)

    def names(self):
        return [f"g{n}" for n in range(len(self.generators))]

    def number(self):
        return self.rng.choice(["a * 0.25", "v[k % 4]", "0.5", "p"])

    def draw(self, table):
        n = self.rng.randrange(len(self.generators))
        form = self.rng.choice(table[self.generators[n][0]])
        count = self.rng.choice(["2", "7", "n", "n", "k % 5 + 1", "k % 9"] if self.rng.random() < 0.3 else ["2", "7", "k % 5 + 1"])
        filled = form.format(x=self.number(), n=count, k=self.rng.choice(["k % 7", "-1", "0"]), p=self.rng.choice(["1.5", "abs(a) + 0.1", "p"]))
        return f"g{n}.{filled}"

    def put(self, depth, line):
        self.lines.append("    " * depth + line)

    def test(self):
        return self.rng.choice([f"{self.draw(FLOATS)} < 0.4", f"{self.draw(WHOLE)} > 2", "a > 0", "k % 3 == 0", "v[1] < a"])

    def block(self, depth, count):
        for _ in range(count):
            self.statement(depth)

    def statement(self, depth):
        kind = self.rng.random()
        if kind < 0.3:
            self.put(depth, f"a = a * 0.5 + {self.draw(FLOATS)}")
        elif kind < 0.5:
            self.put(depth, f"k = k % 1000 + {self.draw(WHOLE)}")
        elif kind < 0.6:
            self.put(depth, f"v[{self.rng.choice(['k % 4', '1', '-1'])}] = {self.draw(FLOATS)}")
        elif kind < 0.64:
            self.put(depth, f"a += w[{self.rng.choice(['k % 6', 'k % 4'])}] * {self.draw(FLOATS)}")
        elif kind < 0.78:
            self.put(depth, f"if {self.test()}:")
            self.block(depth + 1, self.rng.randint(1, 2))
            if self.rng.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, 1)
        elif self.loops < 3 and depth < 4:
            self.loop(depth)
        else:
            self.put(depth, f"a = {self.draw(FLOATS)} if {self.test()} else a - {self.draw(FLOATS)}")

    def loop(self, depth):
        self.loops += 1
        name = f"i{self.loops}"
        kind = self.rng.random()
        if kind > 0.85:  # drawn by the iterator, between the draws of the body
            drawn = f"{self.draw(FLOATS)} for _ in range(4)"
            self.put(depth, f"def drawn{self.loops}():")
            self.put(depth + 1, f"for u in ({drawn}): yield u")
            items = self.rng.choice([f"({drawn})", f"drawn{self.loops}()", f"map(lambda _: {self.draw(FLOATS)}, range(4))"])
            self.put(depth, f"for {name} in {self.rng.choice(['range(4)', 'itertools.count()'])}:" if kind > 0.95 else f"for u in {items}:")
            self.put(depth + 1, f"a = a * 0.5 + {'v[1]' if kind > 0.95 else 'u'}")
            self.put(depth + 1, f"if {self.test()}: break")
            if kind > 0.95:
                self.put(depth + 1, f"if {name} > 3: break")
            self.block(depth + 1, 1)
            return
        if kind < 0.3:
            self.put(depth, f"{name} = 0")
            self.put(depth, f"while {name} < n + 2 and {self.draw(FLOATS)} < 2.5:")
            self.put(depth + 1, f"{name} += 1")
        else:
            self.put(depth, f"for {name} in range({self.rng.choice(['n', 'n + 3', '5'])}):")
        self.put(depth + 1, f"k += {name}")
        self.block(depth + 1, self.rng.randint(1, 3))
        if self.rng.random() < 0.3:
            self.put(depth + 1, f"if {self.test()}:")
            self.put(depth + 2, self.rng.choice(["break", "continue"]))

    def program(self):
        more = {"given": self.names(), "held": ["s"]}.get(self.how, [])
        self.put(0, f"def f({', '.join(['v', 'n', 'p', *more])}):")
        for n, (kind, _, seed) in enumerate(self.generators) if self.how == "made" else ():
            maker = {"Random": "random.Random", "RandomState": "np.random.RandomState"}.get(kind, "np.random.default_rng")
            self.put(1, f"g{n} = {maker}({self.rng.choice(['n', f'n + {seed}', f'{seed} * n + 1', 'n - 2'])})")
        self.put(1, "a, k, w = p, n, v * 2")
        self.block(1, self.rng.randint(1, 3))
        self.loop(1)
        self.block(1, self.rng.randint(0, 2))
        end = "return a, k, v"
        if self.rng.random() < 0.4:  # by value: the sides do not meet
            self.put(1, f"if {self.test()}:")
            self.put(2, self.rng.choice(["return None", f"return [a, {self.draw(FLOATS)}]", "w = None", f"return {self.draw(FLOATS)}, {{'k': k}}"]))
            end = self.rng.choice([end, f"return a, k, v, w, {self.draw(FLOATS)}", f"return ['x', 'y', 'z'][int({self.draw(WHOLE)}) % 3], v"])
        self.put(1, end)
        text = "\n".join(["import itertools, random", "import numpy as np", *self.lines, ""])
        for name in self.names() if self.how == "held" else ():
            text = text.replace(f"{name}.", f"s.{name}.")
        return text

    def others(self):
        """The generators of a later call; None for those of the call before."""
        if self.how not in ("given", "held") or self.rng.random() < 0.3:
            return None
        bits = [self.rng.choice(list(WORDS)) if self.rng.random() < 0.3 else b for _, b, _ in self.generators]
        found = [(kind, b, self.rng.randrange(99)) for (kind, _, _), b in zip(self.generators, bits)]
        return [found[0], *(None if g[0] == found[0][0] and self.rng.random() < 0.4 else g for g in found[1:])]


def draw(rng):
    writer = Writer(rng)
    text = writer.program()
    count = 3 if writer.how == "outside" else 5
    arguments = [(np.array([rng.uniform(-1, 1) for _ in range(4)]), rng.randint(0, 6), rng.uniform(-0.2, 1)) for _ in range(count)]
    return Drawn(text, writer.how, [writer.generators, *[writer.others() for _ in arguments[1:]]], arguments)


def made(kind, bits, seed):
    return random.Random(seed) if kind == "Random" else getattr(np.random, kind)(getattr(np.random, bits)(seed))


def generators_of(asked):
    """Generators as asked for; None: one of the bit generator of the first, or the first itself."""
    found = []
    for one in asked:
        first = found[0] if found else None
        if one is not None:
            found.append(made(*one))
        elif isinstance(first, np.random.Generator):
            found.append(np.random.Generator(first.bit_generator))
        else:
            found.append(first)
    return found


def runs(case, compiled):
    """[(result, error, states)] of the calls, plain or compiled."""
    f = function(case.text, f"draws {hash(case.text)}")
    given = jit(f) if compiled else f
    generators = ()
    for (v, n, p), asked in zip(case.arguments, case.generators):
        generators = generators if asked is None else generators_of(asked)
        named = {f"g{k}": g for k, g in enumerate(generators)}
        f.__globals__.update(named if case.how == "outside" else {})
        more = generators if case.how == "given" else [types.SimpleNamespace(**named)] if case.how == "held" else ()
        result = error = None
        try:
            result = given(v.copy(), n, p, *more)
        except (ValueError, IndexError, OverflowError) as raised:
            error = type(raised), str(raised).partition("\n")[0]
        yield result, error, [words_of(g).copy() for g in generators]


def differences(case):
    for n, (want, got) in enumerate(zip(runs(case, False), runs(case, True), strict=True)):
        if want[1] != got[1]:
            return f"call {n} raises {got[1]}, not {want[1]}"
        try:
            agree(got[0], want[0])
        except AssertionError as error:
            return f"call {n}: {error}"
        for k, (w, g) in enumerate(zip(want[2], got[2], strict=True)):
            if not np.array_equal(w, g):
                return f"call {n} leaves g{k}, a {case.generators[0][k][0]}, in another state"
    return None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int)
    parser.add_argument("--engine", choices=ENGINES, default="default")
    parser.add_argument("--seconds", type=float, default=1e9)
    asked = parser.parse_args()
    run, end, verdicts = run_of(__import__(__name__)), time.monotonic() + asked.seconds, {}
    for seed in range(asked.first, asked.end):
        if time.monotonic() > end:
            break
        with on(asked.engine):
            found = run(seed, asked.engine)
        verdicts[found.verdict] = verdicts.get(found.verdict, 0) + 1
        if found.verdict == "different":
            print(f"seed {seed}: {found.why}\n{found.text}", flush=True)
        elif found.verdict == "refused":
            print(f"seed {seed}: refused: {found.why}", flush=True)
    print(verdicts)
