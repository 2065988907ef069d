"""Random programs in which data decide which of several things a name holds that no one value can stand for.

    python tests/helpers/random_variants.py 0 1000

Names hold None, numbers of all kinds, short texts, arrays of several shapes and tuples; they are bound in branches and
loops, tested by `is None`, `==`, `isinstance` and their truth, used bare (where plain Python may raise), given to NumPy,
written in place, and returned.
"""

import sys

import numpy as np
import random_holders
from draws import print_seeds, run_of
from random_keys import differences  # noqa: F401, as a family has it

HEAD = "import numpy as np\n\ndef helper(v, t):\n    if v > t:\n        return None\n    return v * 2 if v > 0 else (v, t)\n\n"
NAMES = ("p", "q", "t")
VALUES = (
    "None", "None", "i", "s", "x[0]", "x[i % 4]", "1", "2.5", "True", "'L'", "'R'", "'none'", "TEXTS[i % 3]", "np.zeros(2) + s", "x * s", "x[:2] * i",
    "np.ones((2, 2)) * x[1]", "(i, x[0])", "('L', i)", "('R', s)", "(None, 1.0)", "(s,)", "p", "q", "t", "helper(x[2], s)", "np.float32(1.5)",
)  # fmt: skip
TESTS = (
    "x[2] > 0", "s > 0.5", "i % 2", "x[i % 4] > 0.3", "x[0] * i > 1", "i > 5", "{0} is None", "{0} is not None", "{0} is None or {0} is {1}",
    "{0} == 'L'", "{0} != 'R'", "isinstance({0}, tuple)", "isinstance({0}, (int, float))", "{0} is None and x[1] > 0", "{0} is not None and x[3] < s",
)  # fmt: skip
HEADS = (
    "for i in range(40):", "for i in range(3):", "for i in range(int(x[4])):", "while s > 0.2 and m < 20:", "for v in x[:4]:",
    "for i, v in enumerate(x[:4]):",
)  # fmt: skip
USES = (
    "s = s + np.sum({0})", "s += {0}", "s = s * 0.5 + np.size({0})", "n += len({0})", "s += {0}[0]", "s = s + {0}.sum()", "s += np.max({0}) * 0.1",
    "s -= abs({0})", "s = s * 0.9 + (0.0 if {0} is None else 0.1)", "n += isinstance({0}, str)", "s = min(s, 1.0) if {0} == {1} else s",
)  # fmt: skip
GUARDED = (
    "if {0} is not None and not isinstance({0}, (str, tuple)):", "if isinstance({0}, (int, float)):", "if isinstance({0}, np.ndarray):",
    "if not isinstance({0}, tuple) and {0} != 'L' and {0} is not None:",
)  # fmt: skip
ENDS = (
    "p", "q", "t", "(p, s)", "[q, n]", "p is None", "p is q", "s", "n", "s if p is None else 0.0", "'none' if q is None else 'some'",
    "isinstance(t, tuple)",
)  # fmt: skip


class Draw(random_holders.Draw):
    def test(self):
        return self.r.choice(TESTS).format(*self.r.sample(NAMES, 2))

    def statement(self, depth):
        r, kind = self.r, self.r.randint(0, 15)
        name, other = r.sample(NAMES, 2)
        if kind <= 5:
            return [f"{name} = {r.choice(VALUES)}"]
        if kind <= 8 and depth < 3:
            otherwise = ["else:", *self.block(depth)] if r.random() < 0.4 else []
            return [f"if {self.test()}:", *self.block(depth), *otherwise]
        if kind <= 10 and depth < 2:
            head = r.choice(HEADS)
            last = r.choice([[], [], [f"    if {self.test()}: break"], [f"    if {self.test()}: return {name}, s"]])
            return [head, *self.block(depth), *last, *(["    m += 1", "    s = s * 0.9"] if head.startswith("while") else [])]
        if kind <= 13:
            return [r.choice(GUARDED).format(name), "    " + r.choice(USES).format(name, other)]
        if kind == 14 and r.random() < 0.4:
            return [r.choice(USES).format(name, other)]
        if kind == 15 and r.random() < 0.5:
            return [f"if isinstance({name}, np.ndarray):", f"    {name}[0] = {r.choice(['s', 'i', 'x[1]'])}"]
        return [f"s = s * 0.5 + {r.choice(['x[0]', 'x[i % 4]', '0.3'])}"]


def draw(r):
    d = Draw(r)
    lines = ["s, i, m, n = 0.9, 0, 0, 0", f"p, q, t = {r.choice(['None', '0.5', 'x[0]'])}, {r.choice(VALUES[:22])}, {r.choice(VALUES[:22])}"]
    lines[1] = lines[1].replace("x[i % 4]", "x[1]")
    for _ in range(r.randint(2, 5)):
        lines += d.statement(0)
    end = f"return s, {', '.join(r.sample(ENDS, r.randint(1, 3)))}"
    lines += r.choice([[end], [end], [end], [f"if {d.test()}:", "    " + end]])
    text = HEAD + "TEXTS = ['a', 'b', 'L']\n\ndef f(x):\n" + "\n".join("    " + line for line in lines) + "\n"
    seeds = [r.randint(0, 2**30) for _ in range(4)]
    return random_holders.Case(text, [(np.append(np.random.default_rng(k).normal(size=4), k % 6),) for k in seeds])


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]), HEAD)
