"""Little functions that ask sizes, drawn at random: branches on a length, remainders, comparisons of two lengths, loops,
helper functions, lengths in containers, objects and closures. Where a program of symbolic sizes serves a size, it gives
what plain Python gives.

python tests/helpers/random_asking.py FIRST LAST: the seeds from FIRST to LAST - 1.
"""

import linecache
import random
import sys

from sized import Sized, outcome, random_arguments

HEAD = """import numpy as np


class Held:
    def __init__(self, n):
        self.n = n

    @property
    def half(self):
        return self.n // 2


def larger(a, b):
    return a if a > b else b


def f(x):
"""
SIZES = range(2, 71)
SEEN = (17, 23, 30)  # sizes of the calls that are seen first


class Drawn:
    """A function as text: `text`."""

    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        self.sizes, self.arrays = ["len(x)", "x.shape[0]", "x.size"], ["x"]
        self.add("t = x.sum()")
        for _ in range(self.random.randint(2, 5)):
            self.statement(1)
        self.add(f"return {self.result()}")
        self.text = HEAD + "\n".join(self.lines) + "\n"

    def add(self, line, depth=1):
        self.lines.append("    " * depth + line)

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def pick(self, *options):
        return self.random.choice(options)

    def number(self):
        return self.random.choice([1, 2, 3, 4, 5, 7, 8, 10, 16, 30, 50])

    def size(self, depth=2):
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice(self.sizes)
        a, k = self.size(depth - 1), self.number()
        return self.pick(
            f"({a} + {k})", f"({a} - {k})", f"({a} * {self.pick(2, 3)})", f"({a} // {self.pick(2, 3, 4, 8)})",
            f"({a} % {self.pick(2, 3, 4, 5)})", f"min({a}, {k})", f"max({a}, {k})", f"larger({a}, {self.size(0)})",
            f"Held({a}).half", f"abs({a} - {k})", f"[{a}, {k}][0]", f"{{'n': {a}}}['n']", f"(lambda: {a})()",
            f"({a} if {self.test(0)} else {self.size(0)})", f"sorted([{a}, {k}])[{self.pick(0, 1)}]",
            f"sum([{a}, {k}])", f"(-{a})", f"({a} >> 1)", f"len(range({a}))", f"np.zeros({a}).shape[0]",
            f"np.shape({self.array(0)})[0]", f"len({self.array(1)})", f"divmod({a}, 4)[{self.pick(0, 1)}]",
            f"({k} % {a})", f"({k} // {a})", f"({a} % {self.size(0)})", f"np.searchsorted(np.sort(x), {self.pick(0.5, 0.9)})",
            f"len([0 for _ in range({a})])", f"len(str({a}))", f"{{50: 1}}.get({a}, 2)", f"int({a})", f"({a} & 1)",
        )  # fmt: skip

    def test(self, depth=1):
        a, b, k = self.size(depth), self.size(depth), self.number()
        sign = self.pick("<", "<=", ">", ">=", "==", "!=")
        return self.pick(
            f"{a} {sign} {k}", f"{a} {sign} {k}", f"{a} {sign} {b}", f"{a} % {self.pick(2, 3, 4)} == {self.pick(0, 1)}",
            f"{a} in ({k}, {self.number()})", f"{k} < {a} < 60", f"bool({a})", f"not {a}", f"{a} {sign} 12.5",
            f"({a} > {k} and {b} != 20)", f"x.shape {self.pick('==', '!=')} ({self.pick(20, 50)},)", f"{a} / 2 > {k}",
        )  # fmt: skip

    def array(self, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.random.choice(self.arrays)
        a, s = self.array(depth - 1), self.size(1)
        return self.pick(
            f"{a}[: {s}]", f"{a}[{s} :]", f"{a}[:: {self.pick(2, 3)}]", f"np.concatenate([{a}, {self.array(0)}])",
            f"({a} * {s})", f"({a} / (abs({s}) + 1))", f"np.zeros(abs({s}))", f"(np.arange(abs({s})) * 1.0)",
            f"(np.ones(abs({s})) * 2.0)", f"np.cumsum({a})", f"{a}[::-1]", f"np.full(abs({s}), 0.5)",
            f"({a} + {self.random.randint(1, 9)})", f"np.outer({a}, x).sum(axis=0)", f"np.sort({a})",
            f"np.interp({a}, np.arange({self.size(0)}), x)", f"np.abs(np.fft.rfft({a}))", f"np.digitize({a}, np.sort(x))",
            f"np.array([u * 2 for u in {a}])", f"(np.eye(3)[0] * {s})", f"np.pad({a}, (0, {self.pick(1, 2)}))",
        )  # fmt: skip

    def scalar(self):
        a, s = self.array(), self.size()
        return self.pick(
            f"{a}.sum()", f"{a}.sum() * {s}", f"{a}.sum() / (abs({s}) + 1)", f"{s} * 0.5", f"np.sqrt(abs({s}))",
            f"x[abs({s}) % 2]", f"x[{s} - {self.number()}]", f"1.0 / (1 + abs({s}))", f"{a}.mean()",
            f"np.quantile({a}, {self.pick(0.1, 0.75, 1.0)})", f"np.median({a})", f"np.percentile({a}, [5, 50]).sum()",
            f"(2.0 if {self.test()} else 3.0)", f"sum(x[: {self.pick(3, 5)}])", f"float({s})",
        )  # fmt: skip

    def statement(self, depth):
        kind = self.random.randint(0, 9) if depth < 3 else 0
        if kind < 3:
            self.add(f"t = t {self.pick('+', '-')} {self.scalar()}", depth)
        elif kind == 3:
            name = self.name()
            self.add(f"{name} = {self.size()}", depth)
            if depth == 1:
                self.sizes.append(name)
        elif kind == 4:
            name = self.name()
            self.add(f"{name} = {self.array()}", depth)
            if depth == 1:
                self.arrays.append(name)
        elif kind == 5:
            self.add(f"if {self.test()}:", depth)
            self.statement(depth + 1)
            self.add("else:", depth)
            self.statement(depth + 1)
        elif kind == 6:
            i = self.name()
            self.add(f"for {i} in range({self.size()}):", depth)
            self.add(f"t = t * 0.5 + x[{i} % 2] * {self.pick(i, 'len(x)', '1.5')}", depth + 1)
            if self.random.random() < 0.3:
                self.add(f"if {i} == {self.size(1)}:", depth + 1)
                self.add("t = t + 1.0", depth + 2)
        elif kind == 7:
            i, u = self.name(), self.name()
            self.add(f"for {i}, {u} in enumerate({self.array(1)}):", depth)
            self.add(f"t = t + {u} * {self.pick(i, self.size(1))}", depth + 1)
        elif kind == 9:
            y = self.name()
            self.add(f"{y} = {self.array(1)} * 1.0", depth)
            self.add(f"{y}[{self.pick('::2', '1::3', '::-2', f'{self.size(0)} // 2 ::2')}] = {self.scalar()}", depth)
            self.add(f"t = t + ({y} * {y}).sum()", depth)
        else:
            count = self.name()
            self.add(f"{count} = {self.size(1)}", depth)
            self.add(f"while {count} > {self.number()}:", depth)
            self.add(f"{count} = {count} // 2", depth + 1)
            self.add(f"t = t + {self.pick('1.0', count, 'x[0]')}", depth + 1)

    def result(self):
        return self.pick("t", f"t, {self.size()}", f"{{'t': t, 'a': {self.array()}}}", f"[t, {self.test()}]")


def function_of(text, name):
    """The function `f` of a text, whose lines can be read."""
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space = {"__name__": "drawn"}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def drawn(seed):
    """-> (the Sized of a seed, None where the function raises at the first size seen; its text)."""
    text = Drawn(seed).text
    function = function_of(text, f"/tmp/drawn/sizes_{seed}.py")
    if any(outcome(lambda n=n: function(*random_arguments(n)))[0] == "raised" for n in SEEN):
        return None, text
    return Sized(function, random_arguments, SEEN), text


def main(first, last):
    tally = {"family": 0, "none": 0, "raises": 0, "wrong": 0, "served": 0}
    for seed in range(first, last):
        found, text = drawn(seed)
        if found is None or found.family is None:
            tally["raises" if found is None else "none"] += 1
            continue
        tally["family"] += 1
        wrong, served = found.wrong(SIZES)
        found.extended(3), found.extended(60)
        wrong += found.wrong((*range(2, 17), *range(40, 80, 3)))[0]
        tally["served"] += served
        if wrong:
            tally["wrong"] += 1
            print(seed, wrong[:2], found.family.texts(), text.partition("def f")[2], sep="\n", flush=True)
    print(first, last, tally, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
