"""Random programs in which data decide which list or dict a name holds: in branches, loops, and other lists.

    python tests/helpers/random_holders.py 0 1000

Names are bound to each other's lists, to new ones, and to those among the arguments; lists are changed, compared by
`is`, appended to lists and returned. Results and arguments are compared with plain Python's, and which of the lists
among them are one.
"""

import sys

import numpy as np
from draws import print_seeds, run_of
from random_keys import differences  # noqa: F401, as a family has it

HEAD = "import numpy as np\n\n"
NAMES = ("p", "q", "t")
NUMBERS = ("x[0]", "x[1] * 2", "s", "p[0]", "q[1]", "t[0] + s", "float(i)", "1.5")
TESTS = ("x[2] > 0", "s > 0.5", "p[0] > q[1]", "i % 2", "x[0] * i > 1", "t[1] < x[3]", "i > 5")
HEADS = ("for i in range(40):", "for i in range(3):", "for i in range(int(x[4])):", "while s > 0.5 and m < 20:", "for i in range(len(p)):")
ENDS = ("p is q", "p is a", "q is t", "p == q", "len(p)", "p[0]", "t[-1]", "p", "q", "[p, q]", "(t, L)", "a")


class Case:
    whole = True

    def __init__(self, text, arguments):
        self.text, self.arguments, self.calls = text, arguments, len(arguments)


class Draw:
    def __init__(self, r):
        self.r = r

    def new(self):
        r = self.r
        name = r.choice(NAMES)
        return r.choice([
            f"[{r.choice(NUMBERS)}, {r.choice(NUMBERS)}]", f"[{r.choice(NUMBERS)}, {r.choice(NUMBERS)}]",
            f"[{name}[1], {name}[0] * 0.5]", r.choice(NAMES), r.choice(NAMES), "a", f"list({name})", f"{name}[:]",
        ])  # fmt: skip

    def statement(self, depth):
        r, kind, name = self.r, self.r.randint(0, 14), self.r.choice(NAMES)
        if kind <= 4:
            return [f"{name} = {self.new()}"]
        if kind <= 7 and depth < 3:
            other = ["else:", *self.block(depth)] if r.random() < 0.4 else []
            return [f"if {r.choice(TESTS)}:", *self.block(depth), *other]
        if kind <= 9 and depth < 2:
            head = r.choice(HEADS)
            end = ["    m += 1"] if head.startswith("while") else []
            return [head, *self.block(depth), *end]
        if kind == 10:
            first, second = r.sample(NAMES, 2)
            return [f"{first}, {second} = {second}, {r.choice([first, self.new()])}"]
        if kind == 11:
            return [r.choice([f"{name}[0] = {r.choice(NUMBERS)}", f"{name}[1] += 0.5", f"{name}.append({r.choice(NUMBERS)})"])]
        if kind == 12:
            return [r.choice([f"L.append({name})", f"{name} = L[-1] if L else {name}", f"L = [{name}, *L[:2]]"])]
        return [f"s = s * 0.5 + {r.choice(NUMBERS)}"]

    def block(self, depth):
        return ["    " + line for _ in range(self.r.randint(1, 3)) for line in self.statement(depth + 1)]


def draw(r):
    d = Draw(r)
    lines = ["s, i, m, L = 0.9, 0, 0, []", f"p, q, t = [x[0], 0.5], {r.choice(['p0', '[x[1], x[2]]', 'a'])}, [2.0, x[3]]"]
    lines[1] = lines[1].replace("p0", "a")
    for _ in range(r.randint(2, 5)):
        lines += d.statement(0)
    lines += [r.choice(["p[0] = 9.0", "q[1] = 8.0", "t.append(7.0)", "s += 1"])] if r.random() < 0.6 else []
    lines += [f"return s, {', '.join(r.sample(ENDS, r.randint(1, 3)))}"]
    text = HEAD + "def f(x, a):\n" + "\n".join("    " + line for line in lines) + "\n"
    seeds = [r.randint(0, 2**30) for _ in range(4)]
    arguments = [(np.append(np.random.default_rng(k).normal(size=4), k % 4), [0.25, float(k % 3)]) for k in seeds]
    return Case(text, arguments)


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]), HEAD)
