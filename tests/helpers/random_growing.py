"""Random programs with arrays that grow, shrink or are replaced by ones of another length where data decide, and what is done with them then.

Each program is called four times, on arrays of one shape and other numbers. Arrays are joined along either axis, cut, parted, written in place and
through other names, gone through, and returned.
"""

import random

from draws import apart, pattern
from random_lists import run_calls

from wengert import jit

SIZES = (3, 5, 8, 19)
TESTS = ("v > 0.3", "v * v < s * s", "i % 2 == 0", "i % 3 == 0 and v > -0.5", "len({x}) < 4", "v > 9.0", "v < 9.0", "{x}.shape[{d}] < i")
LINE = {  # of an array of one axis, {e} another or a number
    "begin": ("np.zeros(0)", "np.array([])", "np.ones(2)", "a[:2]", "a[1:3] * 2.0", "np.array([s, 1.0])", "a", "np.zeros(1)"),
    "grow": (
        "np.append({x}, {e})", "np.concatenate(({x}, [{e}, v]))", "np.hstack(({x}, {e}))", "np.append({x}, a[:2])", "np.concatenate(([{e}], {x}))",
        "np.insert({x}, 0, {e})", "np.concatenate(({x}, {x}[:1]))", "np.append({x}, [])",
    ),
    "change": (
        "{x}[1:]", "{x}[:3]", "{x}[{x} > v]", "np.array([v, {e}])", "np.zeros(0)", "{x} * 0.5", "np.full(3, v)",
        "np.delete({x}, 0) if len({x}) else {x}",
        "{x}[:-1]", "{x}[::-1]", "{x}.copy()", "np.sort({x})", "a[:2]", "{x}",
    ),
    "join": ("np.hstack(({x}, {y}))", "np.concatenate([{x}, {y}, a])", "np.append({y}, {x})", "np.concatenate(({x}[:2], {y}[1:]))"),
    "write": ("if len({x}): {x}[0] = {e}", "{x} *= 0.5", "{x}[:] = {e}", "if len({x}): {x}[-1] += 1.0", "{x}[{x} > 0] = {e}", "{x}[:2] = {e}"),
    "number": (
        "{x}.sum()", "len({x})", "{x}.shape[0]", "{x}.size", "np.sum({x} * {x})", "{x} @ {x}",
        "({x}.max() if len({x}) else 0.5)", "({x}[-1] if len({x}) else s)",
        "np.cumsum({x}).sum()", "{x}.reshape(-1, 1).sum()", "np.array_split({x}, 2)[1].sum()", "np.vstack(({x}, {x})).sum()", "float({x}.any())",
    ),
    "each": ("s = s * 0.5 + {x}[k]", "s = s + {x}[k] * {x}[-1]", "{x}[k] = {x}[k] * 0.5 + k", "s = s + {x}[k:].sum() * 0.1"),
}  # fmt: skip
ROWS = {  # of two axes, two columns
    "begin": ("np.zeros((0, 2))", "np.ones((1, 2))", "np.array([[s, 2.0]])", "np.array([a[:2]])", "np.zeros((2, 2))", "np.stack((a[:2], a[1:3]))"),
    "grow": (
        "np.vstack(({x}, [{e}, v]))", "np.vstack(({x}, np.array([[{e}, 1.0]])))",
        "np.concatenate(({x}, [[v, {e}]]), axis=0)", "np.append({x}, [[v, {e}]], axis=0)",
        "np.vstack(([[{e}, 0.5]], {x}))", "np.vstack(({x}, {x}[:1]))", "np.concatenate(({x}, np.zeros((2, 2))))",
    ),
    "change": (
        "{x}[1:]", "np.zeros((0, 2))", "np.array([[v, {e}]])", "{x} * 0.5", "np.full((3, 2), v)", "{x}[:2]",
        "{x}[{x}[:, 0] > v]", "{x}.copy()", "{x}",
    ),
    "join": ("np.vstack(({x}, {y}))", "np.concatenate([{y}, {x}])", "np.vstack(({x}[:, ::-1], {y}))"),
    "write": ("if len({x}): {x}[0, 1] = {e}", "{x} *= 0.5", "{x}[:, 0] = {e}", "if len({x}): {x}[-1] = {e}", "{x}[:, 1] += s"),
    "number": (
        "{x}.sum()", "len({x})", "{x}.shape[0]", "len({x}[:, 0])", "({x}.T @ {x}).sum()", "{x}[:, 1].sum()",
        "({x}[-1, 0] if len({x}) else s)", "{x}.ravel().sum()",
        "np.hstack(({x}, {x})).sum()", "{x}.sum(axis=0)[1]", "np.append({x}, s).sum()", "{x}.size", "np.linalg.norm({x})", "{x}.shape[1]",
    ),
    "each": ("s = s * 0.5 + {x}[k, 1]", "s = s + {x}[k, :].sum()", "{x}[k] = {x}[k] * 0.5 + k", "s = s + {x}[k] @ {x}[-1] * 0.1"),
}  # fmt: skip
COLUMNS = {  # of two axes, two rows, or square
    "begin": ("np.zeros((2, 0))", "np.ones((2, 1))", "np.array([[s], [2.0]])", "np.zeros((2, 2))"),
    "grow": ("np.hstack(({x}, [[v], [{e}]]))", "np.concatenate(({x}, np.ones((2, 1)) * v), axis=1)", "np.append({x}, [[v], [{e}]], axis=1)"),
    "change": ("{x}[:, 1:]", "np.zeros((2, 0))", "np.array([[v], [{e}]])", "{x} * 0.5", "{x}[:, :2]", "{x}[::-1]", "{x}"),
    "join": ("np.hstack(({x}, {y}))", "np.concatenate([{y}, {x}], axis=1)"),
    "write": ("{x} *= 0.5", "{x}[0] = {e}", "if {x}.shape[1]: {x}[:, -1] = {e}", "{x}[1, :] += s"),
    "number": ("{x}.sum()", "{x}.shape[1]", "len({x}[0])", "({x} @ {x}.T).sum()", "{x}[1].sum()", "np.vstack(({x}, {x})).sum()", "{x}.shape[0]"),
    "each": ("s = s + {x}[:, k].sum()", "s = s * 0.5 + {x}[1, k]", "{x}[:, k] = {x}[:, k] * 0.5 + k"),
}  # fmt: skip
KINDS = (LINE, LINE, ROWS, ROWS, COLUMNS)


class Program:
    """One function `f(a)`, and the size of its array."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.size, self.arrays, self.lines = self.r.choice(SIZES), {}, []
        self.begin()
        for _ in range(self.r.randint(1, 4)):
            self.lines += self.statement()
        kept = ", ".join([*self.arrays, "s"])
        body = ["s = a[0] * 0.75", *self.lines, f"return {kept}, a"]
        self.text = "import numpy as np\n\ndef f(a):\n" + "\n".join("    " + line for line in body) + "\n"

    def fill(self, kind, what, x, e=None):
        text = self.r.choice(kind[what])
        e = self.r.choice(["s", "v", "v * 2", "1.0"]) if e is None else e
        return text.replace("{x}", x).replace("{e}", e)

    def begin(self):
        """A new array."""
        kind, x = self.r.choice(KINDS), f"x{len(self.arrays)}"
        self.lines.append(f"{x} = {self.fill(kind, 'begin', x, 's')}")
        self.arrays[x] = kind
        return x

    def test(self, x):
        return self.r.choice(TESTS).format(x=x, d=int(self.arrays[x] is COLUMNS))

    def step(self, x):
        """Lines of the body of a loop that give x another length."""
        r, kind = self.r, self.arrays[x]
        grown = f"{x} = {self.fill(kind, 'grow', x)}"
        lines = [f"if {self.test(x)}:", f"    {grown}"] if r.random() < 0.8 else [grown]
        if r.random() < 0.35 and len(lines) > 1:
            lines += [f"elif {self.test(x)}:", f"    {x} = {self.fill(kind, 'change', x)}"]
        if r.random() < 0.2:
            lines += [f"if {self.test(x)}:", f"    {r.choice([x + ' = ' + self.fill(kind, 'grow', x), 'break', 'continue', 's = s * 0.5'])}"]
        if r.random() < 0.25:
            lines.append(self.fill(kind, "write", x))
        if r.random() < 0.25:
            lines.append(f"s = s * 0.5 + {self.fill(kind, 'number', x)} * 0.1")
        return lines

    def statement(self):
        r, x = self.r, self.r.choice(list(self.arrays))
        kind, n = self.arrays[x], r.randint(0, 11)
        if n <= 4:
            return self.loop(x)
        if n == 5:
            self.begin()
            return []
        if n == 6:
            return [self.fill(kind, "write", x, "s")]
        if n == 7:
            return [f"s = s * 0.5 + {self.fill(kind, 'number', x)} * 0.1"]
        if n == 8:
            length = f"{x}.shape[1]" if kind is COLUMNS else r.choice([f"len({x})", f"{x}.shape[0]"])
            return [f"for k in range({length}):", f"    {self.fill(kind, 'each', x)}"]
        if n == 9:
            others = [y for y, k in self.arrays.items() if k is kind]
            return [f"{x} = {self.fill(kind, 'join', x).replace('{y}', r.choice(others))}"]
        y = f"x{len(self.arrays)}"
        self.arrays[y] = kind
        if n == 10:
            return [f"{y} = {x}"]
        return ["v, i = s, 1", f"{y} = {self.fill(kind, 'change', x)}"]

    def loop(self, x):
        r, k = self.r, len(self.lines)
        body = self.step(x)
        if r.random() < 0.3:
            body += self.step(r.choice(list(self.arrays)))
        if r.random() < 0.2:
            body = ["for j in range(3):", *("    " + line for line in body if line.strip() not in ("break", "continue"))]
            body = [line for n, line in enumerate(body) if not (line.endswith(":") and (n + 1 == len(body) or not indented(body[n + 1], line)))]
        if r.random() < 0.2:
            head = [f"t{k}, i = 0.0, 0", f"while t{k} < 2.0 + a[0] and i < 40:", f"    t{k}, v, i = t{k} + 0.4, a[i % len(a)], i + 1"]
            return [*head, *("    " + line for line in body)]
        return [r.choice(["for i, v in enumerate(a):", "for i in range(len(a)):\n        v = a[i]"]), *("    " + line for line in body)]


def indented(line, head):
    """Whether a line belongs to a statement's body."""
    return len(line) - len(line.lstrip()) > len(head) - len(head.lstrip())


def shared_otherwise(got, want):
    """How results and arguments share memory otherwise than in Python. An array of which data decide how long it is is a window of one with room
    for more: which of two is the other's `base` is left out."""
    if got.error is not None:
        return ""
    mine, theirs = ({line for line in pattern(left) if " is the base of " not in line} for left in (got, want))
    return "" if mine == theirs else f"memory: {', '.join(sorted(mine ^ theirs))[:200]}; Python has {', '.join(sorted(theirs))[:200]}"


def run(seed, engine="numpy"):
    differ = lambda got, want, given: apart(got, want, given, memory=False) or shared_otherwise(got, want)
    return run_calls(Program(seed), f"growing {seed}", seed, 4, differ, jit)
