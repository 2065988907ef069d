"""Random programs that assign, swap, view, store, branch and loop over a few arrays, and return several: who is whose memory afterwards.

    python tests/helpers/random_identity.py 0 1000 [--engine xla] [--exact] [--kept]

Results and arguments are compared with plain Python's: values, which of them are one object, which share memory, whose view each is,
what may be written.
"""

import argparse
import collections
import linecache
import random
import warnings

import numpy as np

from wengert import Fallback, jit
from wengert.tracer.common.errors import WengertError

FULL, PART = ("a", "b", "c", "p", "q"), ("v", "w")  # names of arrays of 4 rows, and of 3


class Case:
    """text: of the program; sets: seeds of the arguments it is called with."""

    calls = 4

    def __init__(self, text, shape, sets):
        self.text, self.shape, self.sets = text, shape, sets

    def __str__(self):
        return f"{self.text}# arguments of shape {self.shape}, seeds {self.sets}"

    def arguments(self, seed):
        r = np.random.default_rng(seed)
        arrays = [r.integers(-4, 5, size=self.shape).astype(float) for _ in range(3)]
        return *arrays, float(r.integers(-2, 3)), np.int64(r.integers(0, 2))

    def function(self):
        file = f"<identity {hash(self.text)}>"
        linecache.cache[file] = len(self.text), None, self.text.splitlines(True), file
        space = {"np": np, "Box": Box}
        exec(compile(self.text, file, "exec"), space)
        return space["f"]


PLAIN = []  # why calls ran as plain Python


class Box:
    """An object whose attributes hold arrays."""


class Writer:
    def __init__(self, rng):
        self.r, self.loops = rng, 0

    def full(self):
        return self.r.choice(FULL)

    def part(self):
        return self.r.choice(PART)

    def any(self):
        return self.r.choice((*FULL, *FULL, *PART))

    def test(self):
        n = self.r.choice((-2.5, -0.5, 0.5, 1.5))
        x, y = self.any(), self.any()
        asked = f"{self.full()} is {self.full()}", f"{self.part()}.base is {self.full()}", f"np.shares_memory({x}, {y})"
        return self.r.choice((f"t > {n}", f"{x}.sum() > {n}", f"{self.full()}.sum() > {self.full()}.sum()", f"{x}.max() > {n + 2}", *asked))

    def made(self):
        """Text of an array of 4 rows."""
        x = self.full()
        new = f"{x}.copy()", f"{x} * 0.5", f"np.maximum({x}, 0.0)", f"{x} + {self.full()}"
        seen = f"{x}[::-1]", f"{x}[:]", f"np.asarray({x})", f"{x}.reshape({x}.shape)"
        return self.r.choice((x, x, x, *new, *seen, f"({x} if {self.test()} else {self.full()})", 'd["k"]', "o.x", "l[0]"))

    def window(self):
        """Text of an array of 3 rows."""
        x = self.full()
        return self.r.choice((f"{x}[1:]", f"{x}[:-1]", f"{x}[i:i + 3]", self.part(), f"{self.part()}[::-1]", f"{x}[1:] * 2.0",
                              f"({x}[1:] if {self.test()} else {self.full()}[:-1])"))  # fmt: skip

    def statement(self, pad, depth):
        r = self.r.random()
        if depth < 2 and r < 0.25:
            out = [f"{pad}if {self.test()}:", *self.block(pad, depth)]
            return [*out, f"{pad}else:", *self.block(pad, depth)] if self.r.random() < 0.4 else out
        if depth < 2 and r < 0.33:
            self.loops += 1
            k = f"k{self.loops}"
            if self.r.random() < 0.6:
                return [f"{pad}for {k} in range({self.r.choice((2, 3, 4))}):", *self.block(pad, depth)]
            return [f"{pad}{k} = 0", f"{pad}while {k} < {self.r.choice(('3', 'i * 2', 'i'))}:", f"{pad}    {k} += 1", *self.block(pad, depth)]
        x, y, n = self.full(), self.full(), self.r.choice((-1.0, 2.0, 3.0))
        return [pad + self.r.choice((
            f"{x} = {self.made()}", f"{x} = {self.made()}", f"{x}, {y} = {y}, {x}", f"{self.part()} = {self.window()}", f"{self.any()}[0] = {n}",
            f"{self.any()}[1] += {n}", f"{x}[1:] = {self.part()}", f"{self.any()} += 1.0", f'd["k"] = {x}', f"o.x = {x}", f"l[0] = {x}",
            f"{x}[i] = {n}", "v, w = w, v", f"{x} = {x}[{self.r.choice(('::-1', ':'))}]", "v = v[::-1]",
        ))]  # fmt: skip

    def block(self, pad, depth):
        return [line for _ in range(self.r.randint(1, 3)) for line in self.statement(pad + "    ", depth + 1)]

    def text(self):
        lines = ["def f(a, b, c, t, i):", "    p, q, v, w = a, b * 2.0, a[1:], c[:-1]", '    d, l, o = {"k": a}, [b, c], Box()', "    o.x = c"]
        for _ in range(self.r.randint(2, 6)):
            lines += self.statement("    ", 0)
        if self.r.random() < 0.2:
            lines += [f"    if {self.test()}:", f"        return {self.result()}"]
        return "\n".join([*lines, f"    return {self.result()}", ""])

    def result(self):
        x, y, z = self.full(), self.full(), self.any()
        held = f"{z}, d, o.x", f"[{x}, {y}], {z}, l", f"{x}, {y}, d['k']"
        return self.r.choice((f"{x}, {y}, {z}", f"{x}, {z}, {x}", f"{x}, {self.part()}[1:], p", *held))


class Keeper(Writer):
    """Programs of longer loops that make arrays, and keep under several names what trips chosen by data made."""

    def kept(self):
        """Text that binds names, of arrays of 4 rows or of windows of those, to what others hold."""
        x, y, z = self.full(), self.full(), self.full()
        grown = f"{x} = {x}[::-1]", f"{x} = {x}[:]", f"{x} = {y}[::-1]", "v = v[::-1]"
        whole = f"{x} = {y}", f"{x} = {y}; {z} = {y}", f"{x}, {y} = {y}, {x}", f"l[0] = {x}; l[1] = {y}", f"{x} = l[0]", f"o.x = {x}", f"{x} = o.x"
        return self.r.choice((*whole, *whole, f"v = {x}[1:]", f"w = {x}[1:]", "v = w", f"v = {x}[1:]; {y} = {x}", *grown))

    def trip(self, pad, k):
        for _ in range(self.r.randint(2, 5)):
            r = self.r.random()
            if r < 0.3:
                yield f"{pad}{self.full()} = {self.full()} * 0.5 + {k}"
            elif r < 0.36:
                yield f"{pad}{self.any()}[1] += 1.0"
            elif r < 0.5:
                yield pad + self.kept()
            else:
                n = self.r.choice((-1.0, 0.0, 1.0, 2.5))
                yield f"{pad}if {self.r.choice((f'{self.full()}.sum() > {n}', f't > {n} + {k} - 3', f'{k} == i + 2', f'{k} < i * 3'))}:"
                yield f"{pad}    {self.kept()}"
                if self.r.random() < 0.3:
                    yield f"{pad}else:"
                    yield f"{pad}    {self.kept()}"
        if self.r.random() < 0.1:
            yield f"{pad}if {self.full()}[0].sum() > {k} + 2:"
            yield f"{pad}    {self.r.choice(('break', f'return {self.result()}'))}"

    def text(self):
        lines = ["def f(a, b, c, t, i):", "    p, q, v, w = a * 1.5, b * 2.0, a[1:], c[:-1] * 1.0"]
        lines.append("    d, l, o, k = {'k': a}, [b, c * 3.0], Box(), 0")
        lines += ["    o.x = c * 1.5", *self.r.sample(("    a = a * 1.0", "    b = b * 1.0", "    c = c * 1.0"), self.r.randint(1, 3))]
        trip = list(self.trip("        ", "k"))
        lines += ["    for k in range(7):", *trip] if self.r.random() < 0.5 else ["    while k < i * 2 + 4:", *trip, "        k += 1"]
        for _ in range(self.r.randint(1, 3)):
            stores = f"{self.any()}[0] = 9.0", f"{self.full()} += 1.0", f"l[{self.r.randrange(2)}][2] = 5.0", "o.x[1] = 3.0"
            lines.append("    " + self.r.choice(stores))
        return "\n".join([*lines, f"    return {self.result()}, {self.full()} is {self.full()}", ""])


def draw(rng, writer=Writer):
    """A program and what it is called with; rng: a random.Random."""
    text = writer(rng).text()
    return Case(text, rng.choice(((4,), (4, 2))), [rng.randrange(10**6) for _ in range(3)])


def leaves(x):
    """The arrays in nested containers."""
    if isinstance(x, np.ndarray):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return [y for part in parts for y in leaves(part)]


def pattern(arguments, result):
    """What can be told of the arrays of a call: (what, of which, the answer)."""
    given = [x for x in arguments if isinstance(x, np.ndarray)]
    every = [*given, *leaves(result)]
    for i, x in enumerate(every):
        yield "value", i, x.tolist()
        yield "object", i, [x is y for y in every].index(True)
        yield "memory", i, [j for j, y in enumerate(every) if np.shares_memory(x, y)]
        yield "writeable", i, x.flags.writeable
        if any(np.shares_memory(x, y) for y in given):
            yield "base", i, next((j for j, y in enumerate(every) if x.base is y), None)
            yield "strides", i, x.strides


def differences(case, **options):
    """How a program's results differ from plain Python's, "refused: why" where they are not to be had, else None."""
    f = case.function()
    compiled = jit(f, **options)
    for seed in (*case.sets, case.sets[0]):
        plain, mine = case.arguments(seed), case.arguments(seed)
        error = got = None
        try:
            want = f(*plain)
        except Exception as raised:
            error = raised
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", Fallback)
                got = compiled(*mine)
            PLAIN.extend(str(x.message) for x in said if x.category is Fallback)
        except WengertError as raised:
            return None if error is not None and isinstance(raised, type(error)) else f"refused: {raised}"
        except Exception as raised:
            return None if error is not None and type(raised) is type(error) else f"{raised!r}, where Python gives {error!r}"
        if error is not None:
            return f"no {error!r}"
        told = [[x for x in r if isinstance(x, bool)] if isinstance(r, tuple) else [] for r in (got, want)]
        if told[0] != told[1]:
            return f"{told[0]} is answered, where Python answers {told[1]}, with arguments {seed}"
        for (what, i, x), (_, _, y) in zip(pattern(mine, got), pattern(plain, want), strict=True):
            if x != y:
                return f"{what} of array {i} is {x}, where Python gives {y}, with arguments {seed}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--engine", default="numpy")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--kept", action="store_true", help="programs of longer loops that keep what earlier trips made")
    given = parser.parse_args()
    tally = collections.Counter()
    for seed in range(given.first, given.last):
        found = differences(draw(random.Random(seed), Keeper if given.kept else Writer), engine=given.engine, exact=given.exact)
        kind = "agree" if found is None else "refused" if found.startswith("refused") else "different"
        tally[kind] += 1
        if kind == "different" or kind == "refused" and given.refused:
            print(seed, " ".join(found.split())[:300], flush=True)
    print(given.first, given.last, dict(tally), *collections.Counter(x[3:60] for x in PLAIN).items(), flush=True)


if __name__ == "__main__":
    main()
