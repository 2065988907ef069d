"""Random programs with nested loops, branches, stores, views, aliases and early exits; run as a script it tries many.

`outcome(seed)` is "agree", "refused" (the compiled function raised an error of ours), or a description of a difference.
"""

import collections
import copy
import linecache
import random
import sys
import warnings

import numpy as np
from compare import agree

from wengert import Fallback, jit
from wengert.tracer.errors import WengertError

HEAD = """import numpy as np
class Box:
    pass
def f(a, v, w, p, q):
    x, y, k, d, o = v * 1.0, w, 0, {'p': 0.0, 'x': v}, Box()
    o.h = w * 0.5
"""


class Program:
    """Writes one function; `r` decides."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names, self.loops, self.size = 0, [], 0
        body = self.block(1, 0, self.r.randint(3, 7))
        kept = self.r.sample(["x", "y", "p", "q", "k", "d", "o.h", "v", "a"], self.r.randint(2, 5))
        self.text = HEAD + "\n".join(body) + f"\n    return {', '.join(kept)},\n"

    def pick(self, *choices):
        return self.r.choice(choices)

    def vec(self):
        return self.pick("v", "w", "x", "y", "x", "d['x']", "o.h")

    def index(self):
        options = ["0", "3", "-1", "k", "k - 6"]
        options += [i for i, kind in self.loops if kind == "index"] * 3 + [f"-{i} - 1" for i, kind in self.loops if kind == "index"]
        return self.r.choice(options)

    def number(self):
        options = ["p", "q", f"{self.vec()}[{self.index()}]", "0.5", "1.25", f"a[{self.small()}, {self.small()}]", "d['p']"]
        options += [i for i, _ in self.loops] + [f"{self.vec()}[{i}]" for i, kind in self.loops if kind == "index"]
        return self.r.choice(options)

    def small(self):
        return self.r.choice(["0", "1", "k % 4", "-1"] + [f"{i} % 4" for i, kind in self.loops if kind == "index"])

    def test(self):
        n = self.number
        return self.pick(
            f"{n()} > {n()}",
            f"{n()} > 0.3",
            "k < 3",
            f"{n()} < 0.2 or {n()} > {n()}",
            f"not {n()} > 0 and k % 2 == 0",
            "k == 2",
            f"-1 < {n()} < {n()}",
            f"{self.vec()}.sum() > {n()}",
            f"k == {self.index()}",
            f"({n()} if {n()} > 0 else {n()}) > 0.1",
        )

    def expression(self):
        v, u = self.vec(), self.vec()
        return self.pick(
            f"{v} * 0.5 + {u} * 0.25",
            f"np.tanh({v})",
            f"{v} - {self.number()} * 0.1",
            f"{v}.copy()",
            f"np.where({v} > 0, {v}, {u} * 0.5)",
            f"np.roll({v}, 1)",
            v,
            f"{v}[::-1]",
            f"{v}[:]",
            f"np.sin({v} + {u})",
            f"{v} if {self.test()} else {u}",
            "np.zeros(6)",
        )

    def statement(self, pad, depth):
        self.size += 1
        kind = self.r.random()
        if depth < 3 and self.size < 30:
            if kind < 0.22:
                return self.branch(pad, depth)
            if kind < 0.42:
                return self.loop(pad, depth)
            if kind < 0.45:
                return [f"{pad}try:", *self.block(len(pad) // 4 + 1, depth + 1, 2), f"{pad}finally:", f"{pad}    p = p * 0.5"]
        if self.loops and kind > 0.93:
            return [f"{pad}if {self.test()}:", f"{pad}    {self.pick('break', 'continue', 'return p, x,' if depth < 3 else 'break')}"]
        if kind > 0.98:
            return [f"{pad}if {self.test()}:", f"{pad}    return x, p"]
        name, v = self.pick("x", "y", "x", "w"), self.vec()
        return [
            pad
            + self.pick(
                f"{name} = {self.expression()}",
                f"{name} = {self.expression()}",
                f"{v}[{self.index()}] = {self.number()}",
                f"{v}[{self.index()}] += {self.number()} * 0.5",
                f"{v}[1:] = {v}[:-1] * 0.9",
                f"{v} {self.pick('+=', '*=', '-=')} {self.pick('0.5', 'p', '0.9')}",
                f"p = p * 0.5 + {self.number()} * 0.25",
                f"q = {self.number()}",
                "p = float(x.sum()) * 0.1",
                "k = (k + 1) % 6",
                "k = (k * 2 + 1) % 6",
                "x, y = y, x",
                "v, w = w, v",
                f"p, q = q * 0.5, {self.number()}",
                f"a[{self.small()}, {self.small()}] += {self.number()} * 0.1",
                f"row = a[{self.small()}]; row[{self.pick('0', 'k % 5', '1:3')}] = {self.number()}",
                f"d['p'] = {self.number()} * 0.5",
                f"d['x'] = {self.expression()}",
                f"o.h = {self.expression()}",
                f"p = np.tanh({self.number()})",
                f"q = max({self.number()}, {self.number()})",
                "pair = (p, x); q, y = pair",
                f"np.add({v}, 0.25, out={v})",
                f"{v}[{v} > 0.5] = {self.number()}",
                f"x = {v}[{self.pick('::-1', ':', '...')}]",
                f"y = a[{self.small()}].sum() + {v}",
            )
        ]

    def block(self, level, depth, count):
        pad = "    " * level
        return [line for _ in range(count) for line in self.statement(pad, depth)]

    def branch(self, pad, depth):
        level = len(pad) // 4 + 1
        out = [f"{pad}if {self.test()}:", *self.block(level, depth + 1, self.r.randint(1, 3))]
        if self.r.random() < 0.2:
            out += [f"{pad}elif {self.test()}:", *self.block(level, depth + 1, self.r.randint(1, 2))]
        if self.r.random() < 0.5:
            out += [f"{pad}else:", *self.block(level, depth + 1, self.r.randint(1, 2))]
        return out

    def loop(self, pad, depth):
        self.names += 1
        i, level = f"i{self.names}", len(pad) // 4 + 1
        which = self.r.random()
        lead = []
        if which < 0.6:
            kind, head = (
                "index",
                f"for {i} in {self.pick('range(6)', 'range(4)', 'range(1, 6)', 'range(5, -1, -1)', 'range(0, 6, 2)', 'range(3)', 'range(2)')}:",
            )
        elif which < 0.75:
            kind, head = "number", f"for {i} in {self.pick('v', 'x', 'a[0]', 'w[1:4]')}:"
        elif which < 0.85:
            kind, head = "index", f"for {i}, e{i} in {self.pick('enumerate(x)', 'enumerate(a[:, 0])', 'zip(range(5), v)')}:"
        else:
            kind, head = "index", f"while {i} < {self.pick('5', '3')}{self.pick('', ' and p < 3', ' and ' + self.test())}:"
            lead = [f"{pad}{i} = 0"]
        self.loops.append((i, kind))
        body = self.block(level, depth + 1, self.r.randint(1, 4))
        if lead:
            body = ["    " * level + f"{i} += 1" if "continue" not in "".join(body) else "    " * level + f"{i} += 1", *body]
            body = [line.replace("continue", "k = 1") for line in body]
        self.loops.pop()
        out = [*lead, pad + head, *body]
        if self.r.random() < 0.1:
            out += [f"{pad}else:", f"{pad}    q = q + 1"]
        return out


def arguments(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(4, 5)), r.normal(size=6), r.normal(size=6), float(r.normal()), float(r.normal())


def function(text, seed):
    file = f"<flow {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def numbers(x):
    """NumPy's scalars as Python's: where data chooses between the two, the program has NumPy's."""
    if isinstance(x, tuple | list):
        return type(x)(map(numbers, x))
    return {k: numbers(v) for k, v in x.items()} if isinstance(x, dict) else x.item() if isinstance(x, np.generic) else x


def outcome(seed):
    f = function(Program(seed).text, seed)
    plain, compiled = copy.deepcopy(arguments(seed)), copy.deepcopy(arguments(seed))
    error = None
    try:
        with np.errstate(all="ignore"):
            want = f(*plain)
    except Exception as raised:
        error = raised
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Fallback)
            got = jit(f)(*compiled)
    except Exception as raised:
        if error is not None and type(error) is type(raised):
            return "agree"
        return "refused" if isinstance(raised, WengertError) else f"{type(raised).__name__}: {raised}, where Python gives {error!r}"
    if error is not None:
        return f"no {error!r}"
    try:
        agree(numbers(got), numbers(want), 1e-9)
        agree(compiled, plain, 1e-9)
    except AssertionError as difference:
        return f"differs: {difference}"
    return "agree"


if __name__ == "__main__":
    first, last = map(int, sys.argv[1:3])
    tally = collections.Counter()
    for seed in range(first, last):
        found = outcome(seed)
        tally[found if found in ("agree", "refused") else "different"] += 1
        if found not in ("agree", "refused"):
            print(seed, found.strip().splitlines()[0][:150], flush=True)
    print(dict(tally))
