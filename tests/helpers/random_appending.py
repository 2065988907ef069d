"""Random programs of lists that grow under tests of data, outside of loops and within.

`jit` and `vmap` of each are compared with its rows in plain Python, and `grad`, which makes no choice by value, with differences.
"""

import linecache
import random

import numpy as np

from wengert import grad, jit, vmap
from wengert.tracer.common.errors import WengertError

TESTS = ("x[{i}] > {c}", "x[{i}] * x[{j}] > {c}", "x[{i}] > {c} and x[{j}] < 1.0", "s > {c}", "len({l}) > 1", "not {l}")
VALUES = ("x[{i}]", "x[{i}] * x[{j}]", "s * x[{i}]", "x[{i}] + 2.0", "({l}[-1] * x[{j}] if {l} else x[{j}])")
SIMPLE = ("{l}.append({v})", "{l}.append({v})", "{l} += [{v}, {w}]", "{l}.extend([{v}])", "s = s + {v}", "s = s + sum({l})", "s = s * 0.5 + len({l})")
ENDS = ("return s + sum({l})", "if {l}: {l}.pop()")
LAST = (
    "s + sum(p) + sum(q)", "s + sum(v * v for v in p) + len(q)", "s + np.array(p).sum() * len(p) + sum(q)",
    "s + (p[0] * q[-1] if p and q else len(p) + len(q))",
)  # fmt: skip


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        starts = [self.r.choice(("[]", "[x[0]]", "[1.5, x[1]]", "[]")) for _ in range(2)]
        lines = ["s = x[0] * 0.5", *(f"{name} = {start}" for name, start in zip("pq", starts))]
        lines += self.block(0, self.r.randint(2, 4)) + [f"return {self.r.choice(LAST)}"]
        self.text = "def f(x):\n" + "\n".join("    " + line for line in lines) + "\n"

    def filled(self, template):
        value = lambda depth: self.r.choice(VALUES[: 4 if depth else 5])
        for name, depth in (("{v}", 0), ("{w}", 1)):
            template = template.replace(name, value(depth))
        i, j = self.r.randrange(3), self.r.randrange(3)
        found = template.replace("{i}", str(i)).replace("{j}", str(j)).replace("{l}", self.r.choice("pq"))
        return found.replace("{c}", self.r.choice(("0.0", "0.7", "-0.9")))

    def block(self, depth, n):
        lines = []
        for _ in range(n):
            kind = self.r.random()
            if kind < 0.4 or depth == 3:
                lines.append(self.filled(self.r.choice(SIMPLE)))
            elif kind < 0.48:
                lines.append(self.filled(self.r.choice(ENDS[0 if depth else 1 :])))
            elif kind < 0.6:
                trips = self.r.choice(("for k in range(1):", "for k in range(3):"))
                lines += [trips, *("    " + line for line in self.block(depth + 1, 1))]
            else:
                lines += [f"if {self.filled(self.r.choice(TESTS))}:", *("    " + x for x in self.block(depth + 1, self.r.randint(1, 2)))]
                if self.r.random() < 0.5:
                    lines += ["else:", *("    " + x for x in self.block(depth + 1, 1))]
        return lines

    def function(self):
        name = f"<appending {id(self)}>"
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        space = {"np": np}
        exec(compile(self.text, name, "exec"), space)
        return space["f"]


def differences(f, x, h=1e-6):
    """Derivatives of f, an array of shape (n,), and how far those to the left and the right are apart."""
    ends = [(f(x + h * e), f(x), f(x - h * e)) for e in np.eye(len(x))]
    both = np.array([[(a - b) / h, (b - c) / h] for a, b, c in ends])
    return both.mean(1), np.abs(both[:, 0] - both[:, 1]).max()


def run(seed, report=None):
    """None where a program does as Python, else what is amiss; ("refused", error) where ours refuses."""
    made = Program(seed)
    f, xs = made.function(), np.random.default_rng(seed).normal(size=(6, 3)) * 1.5
    try:
        rows = np.array([f(x) for x in xs])
    except Exception:
        return None
    compiled = jit(f, whole=False)
    for x, row in zip(xs, rows):
        if not np.isclose(got := compiled(x), row, rtol=1e-9):
            return f"jit at {x}: {got} for {row}\n{made.text}"
    try:
        batch = vmap(f)(xs)
        if not np.allclose(batch, rows, rtol=1e-9):
            return f"vmap: {batch} for {rows}\n{made.text}"
        for x in xs:
            wanted, apart = differences(f, x)
            if apart < 1e-3 and not np.allclose(got := grad(f)(x), wanted, rtol=1e-3, atol=1e-3):
                return f"grad at {x}: {got} for {wanted}\n{made.text}"
    except WengertError as error:
        return "refused", error, made.text
    return None


if __name__ == "__main__":
    import sys

    first, last = map(int, sys.argv[1:3])
    refused = 0
    for seed in range(first, last):
        try:
            found = run(seed)
        except Exception as error:
            found = f"{type(error).__name__}: {error}\n{Program(seed).text}"
        if isinstance(found, tuple):
            refused += 1
            print(seed, "refused:", str(found[1])[:200])
        elif found:
            print(seed, found)
    print(f"{last - first} programs, {refused} refused")
