"""Random programs that store items of lists and dicts from outside, each under several spellings (`L[-1]`, `L[2]`, `o.h[k]`), in branches and
loops that also give these containers more items or other ones.

    python tests/helpers/random_items.py 0 1000

The containers are a global, a variable around the function, an attribute of an argument, which may be one of these, and an argument. They are
changed between calls. What they hold after each call is compared with plain Python's, with what the call returns.
"""

import copy
import sys

import numpy as np
from draws import apart, attempt, print_seeds, run_of, space_of

from wengert import jit

HEAD = """import numpy as np

class Held:
    def __init__(self, h):
        self.h, self.n = h, 0

G, D = [1.0, 2.0, 3.0], {"k": 1.0, 2: 0.5}

def make(W):
"""
LISTS = ("G", "W", "o.h", "p")
PLACES = ("0", "-1", "1", "len({0}) - 1", "-2", "k % 2", "-len({0})", "k - 1", "True", "n % 3")
NUMBERS = ("x[0]", "x[1] * 2", "1.5", "3", "float(k)", "n", "G[-1]", "W[0]", "o.h[1]", "p[-1]", "D['k']")
TESTS = ("x[0] > 0", "n > 1", "G[0] > 1", "x[1] > k", "W[-1] < 2", "k % 2", "o.h[-1] > G[1]", "p[0] != p[-1]")
GROWS = (
    "{0}.append({1})", "{0}.append({1})", "{0}.append('s')", "{0}.pop()", "{0}.insert(1, {1})", "{0}.reverse()", "{0}.extend([{1}, 2])",
    "{0}[:] = [{1}, *{0}[:2]]", "del {0}[0]", "D[k] = {1}", "D.pop(2, None)", "D.clear(); D['k'] = {1}", "{0} += [{1}]",
)  # fmt: skip
CHANGES = (
    "G.append(2.5)", "G[0] = 9.0", "W[:] = [4, 5.0, 6]", "o.h = G", "o.h = W", "o.h = [1.0, 2, 3.5]", "D['k'] = 3.0", "G.pop()", "del W[0]",
    "G[:] = [1, 2, 3]", "D[7] = 1", "",
)  # fmt: skip


class Case:
    calls = 5

    def __init__(self, text, seed, changes):
        self.text, self.seed, self.changes = text, seed, changes

    def __str__(self):
        return f"{self.text}# seed {self.seed}, between calls: {self.changes}"

    def arguments(self, call):
        r = np.random.default_rng([self.seed, call])
        return np.round(r.normal(size=2) * 3, 2), int(r.integers(0, 4))


class Draw:
    def __init__(self, r):
        self.r = r

    def place(self):
        name = self.r.choice(LISTS)
        return f"{name}[{self.r.choice(PLACES).format(name)}]"

    def number(self):
        return self.r.choice(NUMBERS) if self.r.random() < 0.6 else self.place()

    def statement(self, depth):
        r, kind = self.r, self.r.randint(0, 12)
        if kind <= 5:
            target = self.place() if r.random() < 0.8 else r.choice(("D['k']", "D[2]", "o.n"))
            return [f"{target} {r.choice(('=', '+=', '*=', '-=', '='))} {self.number()}"]
        if kind == 6:
            return [f"{self.place()}, {self.place()} = {self.number()}, {self.number()}"]
        if kind <= 8 and depth < 3:
            other = ["else:", *self.block(depth)] if r.random() < 0.4 else []
            return [f"if {r.choice(TESTS)}:", *self.block(depth), *other]
        if kind <= 10 and depth < 2:
            return [r.choice(("for k in range(2):", "for k in range(3):", "for k in range(n):")), *self.block(depth)]
        if kind == 11:
            return r.choice(GROWS).format(r.choice(LISTS), self.number()).split("; ")
        return [f"v = {self.number()}"]

    def block(self, depth):
        return ["    " + line for _ in range(self.r.randint(1, 3)) for line in self.statement(depth + 1)]


def draw(r):
    d, lines = Draw(r), ["global G", "nonlocal W", "k, v = 1, 0.0"]
    for _ in range(r.randint(2, 5)):
        lines += d.statement(0)
    lines.append(f"return {r.choice(('v', 'len(G)', 'None'))}, {d.place()}, {d.place()}")
    text = HEAD + "    def f(x, n, o, p):\n" + "".join(f"        {line}\n" for line in lines) + "    return f\n"
    return Case(text, r.randrange(1 << 30), [r.choice(CHANGES) for _ in range(Case.calls)])


class Side:
    """The program in a space of its own."""

    def __init__(self, case, wrap):
        self.space = space_of(case.text, f"items {case.seed}")
        self.space["W"] = [0.5, 2, 3.0]
        self.f, self.space["o"] = wrap(self.space["make"](self.space["W"])), self.space["Held"]([1.0, 2.0, 0.5])
        self.case = case

    def state(self):
        names = "G", "D", "W"
        state = {**{n: self.space[n] for n in names}, "h": self.space["o"].h, "n": self.space["o"].n}
        return state | {"D": {repr(k): x for k, x in state["D"].items()}}

    def call(self, k):
        attempt(exec, (self.case.changes[k], self.space))
        x, n = self.case.arguments(k)
        p = [3.0, 1, 2.5]
        before = copy.deepcopy((p, self.state()))
        left = attempt(self.f, (x, n, self.space["o"], p))
        left.arguments = p, self.state()
        return left, before

    def restore(self, before):
        state = copy.deepcopy(before[1])
        self.space["G"][:], self.space["W"][:], self.space["o"].n = state["G"], state["W"], state["n"]
        if self.space["o"].h not in (self.space["G"], self.space["W"]):
            self.space["o"].h[:] = state["h"]
        self.space["D"].clear()
        self.space["D"].update({eval(k): x for k, x in state["D"].items()})


def differences(case):
    plain, mine, refused = Side(case, lambda f: f), Side(case, jit), ""
    for k in range(case.calls):
        (want, before), (got, _) = plain.call(k), mine.call(k)
        found = apart(got, want, before, memory=False)
        if found.startswith("explained"):
            return ""
        if found.startswith("refused") or got.error is not None or want.error is not None:
            refused = refused or (found if found.startswith("refused") else "")
            if found and not found.startswith("refused"):
                return f"call {k}: {found}"
            plain.restore(before), mine.restore(before)
        elif found:
            return f"call {k}: {found}"
    return refused


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]), HEAD)
