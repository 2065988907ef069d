"""Random programs that make objects of a class, and let data decide which of them names hold: in branches, loops, lists and attributes.

    python tests/helpers/random_choices.py 0 1000

Objects have numbers, an array, a list, and another object; they are changed, compared by `is`, copied and returned. Results are compared with
plain Python's, and which of the objects among them are one.
"""

import random

import numpy as np
from draws import Found, print_seeds, reason, space_of

from wengert import jit
from wengert.tracer.common.errors import WengertError

HEAD = """import copy, dataclasses
import numpy as np

@dataclasses.dataclass(eq=False)
class P:
    x: float
    y: float
    w: object = None
    kind: str = "p"
    def size(self):
        return abs(self.x) + self.y * 0.5
    @property
    def total(self):
        return self.x - self.y
    def scaled(self, k):
        return P(self.x * k, self.y + k, self.w)
    def move(self, k):
        self.x = self.x + k
        return self

"""
NUMBERS = ("v[0]", "v[1]", "a", "s", "1.5", "{o}.x", "{o}.y", "{o}.size()", "{o}.total", "{o}.x * a", "float(k)")
TESTS = ("a > 0.2", "{o}.x > {o}.y", "{o}.x > a", "v[2] > 0", "k % 2", "{o}.size() > 1.0", "s > 0.5", "{o} is {o}", "{o}.x > 0 and a < 1")


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.arrays = self.r.random() < 0.3
        self.lists = self.r.random() < 0.5
        lines = [f"p, q, r = {self.made()}, {self.made()}, {self.made()}"]
        for _ in range(self.r.randint(2, 6)):
            lines += self.statement(0)
        last = ["s", "p.x", "q.y", "r.size()", "k", *self.r.sample(["p", "q", "[p, q]", "p is q", "L", "(r, p)"], self.r.randint(0, 2))]
        body = ["s, k, a, L = 0.25, 0, v[3], []", *lines, f"return {', '.join(last)}"]
        self.text = HEAD + "def f(v):\n" + "\n".join("    " + line for line in body) + "\n"

    def object(self):
        return self.r.choice("pqr")

    def fill(self, text):
        while "{o}" in text:
            text = text.replace("{o}", self.object(), 1)
        return text

    def number(self):
        return self.fill(self.r.choice(NUMBERS))

    def made(self):
        first = lambda: self.r.choice(["v[0]", "v[1]", "a", "1.5", "s"])
        more = self.r.choice(["", ", np.array([a, 1.0])", ", [a]", ", P(a, s)"]) if self.arrays else ""
        return f"P({first()}, {first()}{more})"

    def new(self):
        r = self.r
        return self.fill(r.choice([
            f"P({self.number()}, {self.number()})", f"P({self.number()}, {self.number()}, {self.object()}.w)", f"{{o}}.scaled({self.number()})",
            "{o}", "{o}", "copy.copy({o})", f"dataclasses.replace({{o}}, x={self.number()})", "{o}.move(0.5)",
        ]))  # fmt: skip

    def statement(self, depth):
        r, kind, o = self.r, self.r.randint(0, 15), self.object()
        if kind <= 2:
            return [f"{o} = {self.new()}"]
        if kind <= 5 and depth < 3:
            other = ["else:", *self.block(depth)] if r.random() < 0.6 else []
            return [f"if {self.fill(r.choice(TESTS))}:", *self.block(depth), *other]
        if kind <= 8 and depth < 2:
            return [r.choice(["for a in v:", "for k, a in enumerate(v):", "for a in v[:2]:"]), *self.block(depth)]
        if kind == 9:
            return [f"{o} = {self.new()} if {self.fill(r.choice(TESTS))} else {self.new()}"]
        if kind == 10:
            return [self.fill(r.choice([f"{o}.x = {self.number()}", f"{o}.y += {self.number()}", f"{o}.kind = 'q'"]))]
        if kind == 11 and self.lists:
            return [r.choice([f"L.append({o})", f"L = [*L, {o}]", f"{o} = L[-1] if L else {o}"])]
        if kind == 12 and self.arrays:
            body = r.choice([f"    {o}.w[0] = {self.number()}", f"    {o}.w = {o}.w * 2", f"    s += {o}.w.sum()"])
            return [f"if isinstance({o}.w, np.ndarray):", body]
        if kind == 13 and self.arrays:
            return [f"if isinstance({o}.w, P):", f"    {o}.w.x = {self.number()}", f"    s += {o}.w.size()"]
        return [f"s = s * 0.5 + {self.number()}", "k += 1"][: r.randint(1, 2)]

    def block(self, depth):
        lines = [line for _ in range(self.r.randint(1, 3)) for line in self.statement(depth + 1)]
        return ["    " + line for line in lines]


def pattern(result, kind):
    """Numbers and the order in which objects are met, of nested results."""
    numbers, met = [], []

    def walk(x):
        if isinstance(x, list | tuple):
            met.append((type(x).__name__, len(x)))
            for y in x:
                walk(y)
        elif isinstance(x, np.ndarray):
            numbers.extend(x.tolist())
        elif type(x).__name__ == "P":
            first = next((n for n, (y, _) in enumerate(met) if y is x), None)
            met.append((x, first))
            if first is None:
                for y in vars(x).values():
                    walk(y)
        elif isinstance(x, str | type(None)):
            met.append((x, None))
        else:
            met.append((type(x), None))
            numbers.append(float(x))

    walk(result)
    return numbers, [(t if not hasattr(t, "scaled") else "P", n) for t, n in met]


def run(seed, engine="numpy"):
    program = Program(seed)
    plain = space_of(program.text, f"choices {seed}")["f"]
    mine = jit(space_of(program.text, f"choices {seed} compiled")["f"], whole=True)
    for k in range(4):
        v = np.random.default_rng([seed, k]).normal(size=4)
        outcomes = []
        for f in (plain, mine):
            try:
                outcomes.append(pattern(f(v.copy()), f))
            except Exception as error:
                outcomes.append(error)
        want, got = outcomes
        if isinstance(got, WengertError):
            return Found("refused", reason(str(got)), program.text, k + 1)
        if isinstance(want, Exception) or isinstance(got, Exception):
            if type(want) is not type(got):
                return Found("different", f"call {k}: {got!r}, not {want!r}", program.text, k + 1)
        elif want[1] != got[1] or not np.allclose(want[0], got[0], rtol=1e-9, atol=1e-12):
            return Found("different", f"call {k}: {got}, not {want}", program.text, k + 1)
    return Found("agree", "", program.text, 4)


if __name__ == "__main__":
    print_seeds(run, HEAD)
