"""Random programs on windows with traced ends and on selections by masks; run as a script it tries many.

`outcome(seed)` is "agree", "refused" (an error of ours where NumPy has none), or a description of a difference.
"""

import collections
import copy
import linecache
import random
import sys
import warnings

import numpy as np
from compare import agree

from wengert import jit
from wengert.tracer.common.errors import WengertError

HEAD = """import numpy as np
def f(A, y, w, C, k, m):
    s, z = y[0] * 0.5, w * 1.0
"""


class Program:
    """Writes one function; `r` decides."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.counters, self.whole = [], False
        body = self.block(1, self.r.randint(2, 4))
        tail = [self.vector() for _ in range(self.r.randint(1, 2))]
        self.text = HEAD + "\n".join(body) + f"\n    return s, {', '.join(tail)}, z, {self.reduction(self.vector())}\n"

    def pick(self, *choices):
        return self.r.choice(choices)

    def index(self):
        return self.r.choice(["k", "m", "k", "2", *self.counters * 3])

    def end(self):
        i = self.index()
        return self.pick(i, i, f"{i} + 1", f"{i} - 1", f"-{i}", f"-{i} - 1", f"{i} - 3", f"{i} + 2", f"k + {i}")

    def window(self):
        i, e = self.index(), self.end()
        return self.pick(
            f":{e}", f"{e}:", f":{e}", f"{e}:", f"{i}:{i} + 3", f"{i}:{self.end()}", f"{e}:{e} + 2", f"{i}:-1", f"{i}::-1", f":{e}:-1",
            f"{e}::2", f":{e}:2", f"{e}:{self.end()}:-2", f"{i} - 2:{i} + 1", f"1:{e}", f"{e}::3",
        )  # fmt: skip

    def base(self):
        i = self.index()
        row = f"A[{i} % 6]" if self.r.random() < 0.8 else f"A[{i}]"
        return self.pick(
            "y", "w", "z", "y", "z", row, row.replace("A[", "A[:, "), "y[::-1]", "np.flip(w)", "C", "A.T[2]", "y" if self.whole else "y[1:]",
        )  # fmt: skip

    def mask(self, of):
        return self.pick(f"{of} > 0", f"{of} < 0.3", f"({of} > -1) & ({of} < 1)", f"{of} > {self.index()} - 2", "w > y", f"{of} > 99")

    def part(self, stored=False):
        """How to cut a part out of a base: text with {}."""
        self.whole = False
        if self.r.random() < 0.3:
            of = self.pick("y", "w", "z")
            self.whole = True
            return f"{{}}[{self.mask(of)}]"
        text = f"{{}}[{self.window()}]"
        chance = self.r.random()
        if chance < 0.15:
            text += f"[{self.window()}]"
        elif chance < 0.25:
            text += "[::-1]"
        elif chance < 0.3 and not stored:
            text = f"np.flip({text})"
        return text

    def vector(self):
        part = self.part()
        a, b = part.format(self.base()), part.format(self.base())
        n = self.pick("0.5", "s", "1.5")
        text = self.pick(
            a, f"{a} * {n} + {b}", f"{a} - {b}", f"np.exp(-{a} * {a})", f"np.where({a} > {n}, {a}, {b})", f"np.sqrt(np.abs({a})) * {n}", f"-{a}",
            f"{a}.copy()", f"np.cumsum({a})", f"np.sort({a})", f"np.maximum({a}, {b})", f"{a} / (2 + {b} * {b})", f"np.clip({a}, -0.5, {n})",
            f"{a} * {self.part().format(self.base())}", f"np.diff({a})", f"{a}[{self.mask(a)}]", f"{a} ** 2", f"np.nonzero({a} > 0)[0]",
            f"np.unique({a})", f"np.concatenate([{a}, {self.part().format(self.base())}])",
        )  # fmt: skip
        return f"({text})"

    def reduction(self, v):
        w = self.r.random()
        if w < 0.2:
            part = self.part()
            return f"{part.format(self.base())} @ {part.format(self.base())}"
        if w < 0.3:
            return f"{v}[{self.end()}]"
        return self.pick(
            f"{v}.sum()", f"np.sum({v})", f"{v}.sum()", f"np.prod({v})", f"len({v})", f"({v}).shape[0] * 1.0", f"np.linalg.norm({v})",
            f"np.dot({v}, {v})", f"np.any({v} > 0)", f"np.all({v} > -1)", f"np.count_nonzero({v})", f"(A[:, :{self.end()}] @ z[:{self.end()}]).sum()",
            f"(y[1] if len({v}) == 0 else np.max({v}))", f"(y[1] if not len({v}) else np.mean({v}))", f"np.max({v}, initial=0.0)",
            f"(k if len({v}) < 1 else np.argmax({v}))", f"A[:{self.end()}].sum(axis=1).max(initial=0.0)",
        )  # fmt: skip

    def statement(self, pad, depth):
        target = self.pick("y", "z", "A[{0} % 6]", "A[:, {0} % 6]", "w").replace("{0}", self.index())
        part = self.part(stored=True)
        kind = self.r.random()
        if depth < 3 and kind < 0.25:
            return self.loop(pad, depth)
        if kind < 0.33:
            return [f"{pad}if {self.pick('s > 0.5', f'{self.index()} > 1', 'len(' + self.vector() + ') > 1')}:", *self.block(depth + 1, 1)]
        a = part.format(target)
        if kind < 0.5:
            return [f"{pad}s = s + 0.1 * {self.reduction(self.vector())}"]
        if kind < 0.6:
            change = self.pick("v += 1.0", "v *= z[0]", "v[...] = 0.25", "v[1:] = 0.5", f"v[{self.end()}] = 2.0")
            return [f"{pad}v = {a}", f"{pad}{change}", f"{pad}s += v.sum()"]
        if kind < 0.66:
            return [f"{pad}for t in {part.format(self.base())}:", f"{pad}    s = s * 0.5 + t"]
        value = self.pick("0.5", "s", part.format(self.base()), f"{part.format(self.base())} * 0.5", self.vector(), "np.ones(3)")
        if a.startswith("A") and value.startswith("(A"):  # a row into a column: where they meet, NumPy at times reads what it has written
            value += ".copy()"
        return [f"{pad}{a} {self.pick('=', '=', '+=', '*=')} {value}"]

    def loop(self, pad, depth):
        i = f"i{depth}"
        inner = [text.format(j) for j in self.counters for text in ("range({})", "range({}, 6)", "range({}, -1, -1)")]
        over = self.pick("range(6)", "range(5)", "range(1, 6)", "range(k)", *inner)
        self.counters.append(i)
        out = [f"{pad}for {i} in {over}:", *self.block(depth + 1, self.r.randint(1, 2))]
        self.counters.pop()
        return out

    def block(self, depth, count):
        return [line for _ in range(count) for line in self.statement("    " * depth, depth)]


def arguments(seed):
    rng = np.random.default_rng(seed)
    junk = rng.random() < 0.2
    A = rng.standard_normal((6, 6))
    if junk:
        A[np.triu_indices(6, 3)] = np.nan
    vectors = [rng.standard_normal(6) for _ in range(3)]
    return [A, *vectors, np.int64(rng.integers(-2, 9)), np.int64(rng.integers(0, 5))]


def outcome(seed):
    text = Program(seed).text
    name = f"<extents {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    f = jit(space["f"])
    refused = False
    for n in range(3):
        args = arguments(10 * seed + n)
        plain, compiled = copy.deepcopy(args), copy.deepcopy(args)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                want = space["f"](*plain)
            except Exception as error:
                want = error
            try:
                got = f(*compiled)
            except Exception as error:
                got = error
        if isinstance(got, WengertError) and not (isinstance(want, Exception) and isinstance(got, type(want))):
            refused = str(got).splitlines()[0]
            if not isinstance(want, Exception):
                agree(compiled, args)
            continue
        if isinstance(want, Exception) or isinstance(got, Exception):
            if not (isinstance(want, Exception) and isinstance(got, Exception)):
                return f"NumPy: {want!r:.300}\ncompiled: {got!r:.600}\n{text}"
            continue
        try:
            agree(got, want, 1e-9)
            agree(compiled, plain, 1e-9)
        except AssertionError as error:
            return f"{error}\n{text}"
    return f"refused: {refused}" if refused else "agree"


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = collections.Counter()
    for seed in range(first, first + count):
        result = outcome(seed)
        kind = result if result == "agree" or result.startswith("refused") else "DIFFERENT"
        found[kind[:70]] += 1
        if kind == "DIFFERENT":
            print(f"seed {seed}: {result}\n", flush=True)
    for kind, n in found.most_common():
        print(n, kind)
