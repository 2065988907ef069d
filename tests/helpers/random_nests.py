"""Random nests of loops over arrays, as a kernel of a GPU meets them: trips that hang together and trips that do not,
steps up and down, offsets, stores that read what they overwrite, indices out of an array, sums, choices, no trips.

    python tests/helpers/random_nests.py 0 500

Each is run as kernels of every form by threads of the CPU (`blocks.py`), and compared with Python and NumPy on the same
arguments. Run as a script, it prints the programs that differ, and how often there were kernels of which form.
"""

import argparse
import collections
import random
import warnings

import numpy as np
from blocks import with_kernels

from wengert import jit
from wengert.backends.gpu.waves import in_waves
from wengert.ir.ops.control import loop
from wengert.tracer.common.errors import WengertError

FORMS = {
    "block": {"threads": 4},
    "one thread": {"threads": 1},
    "threads": {"threads": 2, "form": "threads", "blocks": 3},
    "blocks": {"threads": 2, "form": "blocks", "blocks": 3},
    "waves": {"threads": 4},
}
HEAD = "def f(a, b, x, y, k, p):\n    a, b, x, y, s, m, q = a.copy(), b.copy(), x.copy(), y.copy(), p, k[0] * 0, p == p\n"
TAIL = "    return a, b, x, y, s, m, q\n"
DTYPES = "f8", "f8", "f4", "i8", "i4"


class NestProgram:
    """text: of a function of two matrices, two vectors, integers that are indices of the vectors, and a number.

    sizes: (rows, columns), if not random ones.
    """

    def __init__(self, seed, sizes=None):
        r = self.r = random.Random(seed)
        drawn, self.whole = (r.randint(1, 12), r.randint(1, 12)), False
        self.n, self.m = sizes or drawn
        self.dtype = r.choice(DTYPES)
        self.whole = self.dtype[0] == "i"
        kinds = [self.plane, self.plane, self.plane, self.line, self.line, self.steps, self.near_cells, self.near_cells]
        lines = r.choice(kinds)(1)
        self.text = HEAD + "\n".join(lines) + "\n" + TAIL

    def arguments(self, seed):
        g, d = np.random.default_rng(seed), np.dtype(self.dtype)
        draw = (lambda *s: g.integers(-9, 10, s).astype(d)) if self.whole else (lambda *s: g.normal(size=s).astype(d))
        n, m = self.n, self.m
        return draw(n, m), draw(n, m), draw(n), draw(m), g.integers(-n, n, n), draw()[()]

    def counter(self, name, size):
        """(head of a loop, lowest, highest of its counter)"""
        low, high = self.r.choice([(0, size), (0, size), (1, size), (0, size - 1), (1, size - 1), (2, 2)])
        if self.r.random() < 0.3:
            return f"for {name} in range({high} - 1, {low} - 1, -1):", low, high
        return f"for {name} in range({low}, {high}):", low, high

    def near(self, name, low, high, size):
        """An index beside a counter, within the array as a rule."""
        d = self.r.choice([0, 0, 0, -1, 1, 1, -1, 2])
        if not (low + d >= -size and high - 1 + d < size):
            d = 0
        return f"{name} + {d}" if d > 0 else f"{name} - {-d}" if d else name

    def damped(self, text):
        return f"({text}) // 3" if self.whole else f"({text}) * 0.4"

    def value(self, cells):
        r = self.r
        one, two = r.choice(cells), r.choice(cells)
        return r.choice([
            self.damped(f"{one} + {two}"), self.damped(f"{one} - {two}"), f"max({one}, {two})", f"-{one}", one,
            f"{one} if {two} > 0 else {self.damped(one)}", "p",
        ])  # fmt: skip

    def plane(self, level):
        pad, r = "    " * level, self.r
        outer, low, high = self.counter("i", self.n)
        inner, left, right = self.counter("j", self.m)
        i = lambda: self.near("i", low, high, self.n)
        j = lambda: self.near("j", left, right, self.m)
        alone = r.random() < 0.5  # one array is stored into, cell by cell
        cells = [f"a[{i()}, {j()}]" for _ in range(3)] + [f"b[{i()}, {j()}]", f"x[{i()}]", f"y[{j()}]", "x[k[i]]"][: 3 if alone else 4]
        out = [pad + outer]
        if r.random() < 0.3:
            first, last = r.choice([(0, self.m), (1, self.m), (0, max(self.m - 1, 0))])
            row = r.choice([f"a[i, {first}:{last}]", f"a[{i()}, {first}:{last}]"])
            other = f"a[{i()}, {r.choice([first, 0])}:{last}]" if r.random() < 0.7 else f"b[i, {first}:{last}]"
            if other.count(f"{first}:{last}"):
                out.append(f"{pad}    {row} = {self.damped(f'{row} + {other}')}")
        if r.random() < 0.2:
            inner = r.choice([f"for j in range(min(i, {self.m})):", f"for j in range(i % {self.m}, {self.m}):"])
        if r.random() < 0.2:
            before, used = r.choice([(f"c = a[{i()}, 0]", "c"), ("c = b[i, 0] * 2", "c"), ("c = b[i] + a[i]", "c[j]"),
                                     ("c = b[i] * 2", "c[j]"), ("c = a[i].max()", "c")])  # fmt: skip
            out.append(f"{pad}    {before}")
            cells.append(used)
        out.append(f"{pad}    {inner}")
        for _ in range(r.randint(1, 3)):
            target = "a[i, j]" if alone else r.choice(["a[i, j]", "a[i, j]", f"a[{i()}, {j()}]", "b[i, j]", "x[i]", "y[j]", "s", "m"])
            out.append(f"{pad}        {self.statement(target, cells)}")
        if r.random() < 0.2:
            out.append(f"{pad}        for l in range({r.choice(['2', 'j', '0'])}):")
            out.append(f"{pad}            {self.statement('a[i, j]', [*cells, 'y[l]'])}")
        return out

    def near_cells(self, level):
        """Cells that need neighbours, on either side: many are waves."""
        pad, r, n, m = "    " * level, self.r, self.n, self.m
        up, left = r.choice([(-1, -1), (-1, -1), (1, -1), (-1, 1), (1, 1)])
        rows = f"range(1, {n - 1})" if up < 0 else f"range({n - 2}, 0, -1)"
        columns = r.choice([f"range(1, {m - 1})"] * 2 + [f"range(i + 1, {m - 1})", f"range(1, min(i + 1, {m - 1}))"])
        columns = columns if left < 0 else f"range({m - 2}, 0, -1)"
        place = lambda name, d: name if d == 0 else f"{name} + {d}" if d > 0 else f"{name} - {-d}"
        steps = [(up, 0), (0, left), (up, left), (-up, 0), (0, -left), (up, -left), (-up, -left), (0, 0)]
        weights = [4, 4, 4, 1, 1, 2, 1, 1]
        draw = lambda: r.choices(steps, weights)[0]
        cell = lambda array: "{}[{}, {}]".format(array, *map(place, "ij", draw()))
        out = [f"{pad}for i in {rows}:"]
        if r.random() < 0.4:
            d, e = r.choice(steps), r.choice([-1, 0, 1])
            part = f"{1 + e}:{m - 1 + e}" if m > 2 else "0:0"
            row, other = f"a[i, 1:{m - 1}]", f"{r.choice('ab')}[{place('i', d[0])}, {part}]"
            out.append(f"{pad}    {row} = {self.damped(f'{row} + {other}')}")
            columns = f"range(1, {m - 1})"
        out.append(f"{pad}    for j in {columns}:")
        for _ in range(r.randint(1, 2)):
            terms = [cell("a"), cell(r.choice("aab")), r.choice(["x[i]", "y[j]", cell("a"), "p"])]
            out.append(f"{pad}        a[i, j] = {self.damped(' + '.join(terms))}")
        if r.random() < 0.3:
            inner = r.choice([f"range({m - 1})", "range(1, j)", f"range(j + 1, {m - 1})"])
            other = r.choice([f"a[{place('i', up)}, l]", "a[i, l]", "y[l]", f"a[{place('i', up)}, l + 1]"])
            out += [f"{pad}        for l in {inner}:", f"{pad}            a[i, j] = {self.damped(f'a[i, j] + {other}')}"]
        if level == 1 and r.random() < 0.3:
            return [f"{pad}for t in range(3):", *("    " + line for line in out)]
        return out

    def statement(self, target, cells):
        r = self.r
        if target == "m":
            return f"m += {r.choice(['k[i]', 'i * 3', '1'])}"
        if target == "s":
            return r.choice([f"s = s + {r.choice(cells)}", f"s = max(s, {r.choice(cells)})", f"q = q and {cells[0]} < 9"])
        if r.random() < 0.15:
            return f"if {r.choice(cells)} > 0: {target} = {self.value([*cells, target])}"
        return f"{target} = {self.value([*cells, target])}"

    def line(self, level):
        pad, r = "    " * level, self.r
        outer, low, high = self.counter("i", self.n)
        i = lambda: self.near("i", low, high, self.n)
        cells = [f"x[{i()}]", f"x[{i()}]", "x[k[i]]", "a[i].sum()", "b[i, 0]", "y.max()", f"a[{i()}, -1]", "x[x.argmax()]"]
        out = [pad + outer]
        for _ in range(r.randint(1, 3)):
            target = r.choice(["x[i]", "x[i]", "a[i]", "b[i, 0]", "x[k[i]]", "s", "m", "y[:]", "x[1:]"])
            if target == "y[:]":
                out.append(f"{pad}    y[:] = {self.damped('y[::-1] + a[i]')}")
            elif target == "x[1:]":
                out.append(f"{pad}    x[1:] = {self.damped('x[:-1] + x[1:]')}")
            elif target == "a[i]":
                out.append(f"{pad}    a[i] = {r.choice(['b[i] + y', 'np.where(y > 0, a[i], b[i])', 'a[i - 1] - y'])}")
            else:
                out.append(f"{pad}    {self.statement(target, cells)}")
        if r.random() < 0.25:
            out += self.given_away(pad + "    ", cells)
        return out

    def given_away(self, pad, cells):
        """Statements that change a carried number on one way, and give it to something else on the other."""
        r = self.r
        text, number = r.choice([(f"s = s + {r.choice(cells)}", "s"), ("m = 5", "m"), ("m += 1", "m"), (f"s = max(s, {r.choice(cells)})", "s")])
        ways = [text, f"x[i] = {number}" if number == "s" else f"y[0] = {number}"]
        r.shuffle(ways)
        return [f"{pad}if {r.choice(cells)} > 0:", f"{pad}    {ways[0]}", f"{pad}else:", f"{pad}    {ways[1]}"]

    def steps(self, level):
        pad = "    " * level
        return [f"{pad}for t in range({self.r.choice([0, 1, 3])}):", *self.r.choice([self.plane, self.line])(level + 1)]


def function(text):
    space = {"np": np}
    exec(compile(text, "<nest>", "exec"), space)
    return space["f"]


def alike(got, want):
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    close = 1e-4 if want.dtype == np.float32 else 1e-9
    return np.allclose(got, want, close, close * 1e-3, equal_nan=True)


def in_waves_too(func):
    """The function with its outermost loops in waves, or None where there are none."""
    eqns = [eqn for eqn in func.eqns if eqn.op is loop]
    found = {eqn: in_waves(tuple(x.type for x in eqn.operands), eqn.attrs) for eqn in eqns}
    return {eqn: waves for eqn, waves in found.items() if waves is not None}


def outcome(seed):
    """-> ("agree", Counter of kernels by form and of reasons), or ("refused: ...", {}), or a difference in words."""
    program = NestProgram(seed)
    f, given = function(program.text), program.arguments(seed)
    with np.errstate(all="ignore"):
        try:
            want = f(*given)
        except (IndexError, ValueError) as error:
            return f"raises {type(error).__name__}", {}
        try:
            func = jit(f).ir(*given)
        except WengertError as error:
            return f"refused: {str(error).splitlines()[0]}", {}
    leaves = [np.asarray(x) for x in given]
    if len(func.params) != len(leaves):
        return "refused: other parameters", {}
    found = collections.Counter()
    for name, form in FORMS.items():
        waves = in_waves_too(func) if name == "waves" else {}
        if name == "waves" and not waves:
            continue
        got, ran = with_kernels(func, leaves, waves=waves, **form)
        found.update({f"{name}: {what}": n for what, n in ran.items()})
        for part, g, w in zip("abxysmq", got, want):
            if not alike(g, w):
                return f"{name} differs in {part}: {g!r}, not {w!r}\n{program.text}", found
    return "agree", found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("first", type=int)
    p.add_argument("last", type=int)
    args = p.parse_args()
    warnings.simplefilter("ignore")
    outcomes, kernels = collections.Counter(), collections.Counter()
    for seed in range(args.first, args.last):
        what, found = outcome(seed)
        outcomes[what.split(":")[0].split(" differs")[0]] += 1
        kernels.update(found)
        if "differs" in what:
            print(f"seed {seed}: {what}", flush=True)
    print(outcomes)
    for name, n in sorted(kernels.items(), key=lambda item: -item[1]):
        print(f"{n:6d}  {name}")


if __name__ == "__main__":
    main()
