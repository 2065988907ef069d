"""Random programs in which data choose the kind of a number, or whether an error is raised; run as a script it tries many.

    python tests/helpers/random_merges.py 0 1000 [--engine numpy]

`draw(rng)` gives a case, (text, sets of arguments); `differences(case)` says how plain Python and one compiled function differ on any of
the sets, "" where they agree, and "refused: ..." where the compiled one raised an error of ours.
"""

import argparse
import collections
import copy
import linecache
import random
import warnings
import zlib

import numpy as np
from compare import agree

from wengert import Fallback, jit
from wengert.tracer.common.errors import IntegerOverflow, WengertError

NARROW = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "?")
WEAK = ("n", "t", "flag", "0", "1", "2", "-1", "0.0", "0.5", "2.5", "True", "7", "300")
ERRORS = (
    "k += 0.5", "k[0] = 'x'", "s = v.missing", "s = {'p': 1.0}['q']", "s = [1, 2][5]", "v = v + np.ones(7)", "s = v.sum(axis=4)", "s = int(z)",
    "s = (v > 0) - (v > 1)", "s = x << 1.5", "raise ValueError('no')", "s = 1 + 'a'", "s = float(v)",
    "a, b, c = v", "s = len(t)", "s = math.sqrt(-1)",
    "s = np.ones(2) @ np.ones(3)", "s = undefined", "s = None + 1", "s = int('x')", "for q in None: pass", "s = 1 // 0", "s = np.zeros(3)[9]",
    "assert False", "s = v['p']", "s = math.sin('x')",
)  # fmt: skip


HEAD = "import math", "import numpy as np", "def f(v, w, u, n, t, flag, k, z):"
TESTS = (
    "v[0] > 2", "w[1] > 0", "u.sum() > 3", "v[0] > 2", "t > 0.5", "n > 2", "flag", "v[1] > w[1]", "not u[0] > 1", "v[0] > 1 and w[0] > 1",
)  # fmt: skip
ACTS = "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} + {1}", "{0} / {1}", "{0} // {1}", "{0} % {1}", "{0} < {1}", "{0} == {1}", "{0} >= {1}"
CALLS = "np.maximum({0}, {1})", "np.add({0}, {1})", "max({0}, s)", "-({0})", "abs({0})", "np.sqrt(abs({1}) + {0})", "({0}) / 3", "{0} ** 2"


class Program:
    """Writes one function of arrays v, w, u of three dtypes, a Python int n, float t and bool flag, an int array k and a complex z."""

    def __init__(self, rng):
        self.r = rng
        self.numbers, self.lines = ["s"], []
        self.line(1, f"s = {self.number(0)}")
        for _ in range(rng.randint(1, 3)):
            self.statement(1, 0)
        for _ in range(rng.randint(0, 2)):
            self.line(1, f"s = {self.arithmetic('s')}")
        kept = [self.result() for _ in range(rng.randint(1, 2))]
        self.text = "\n".join([*HEAD, *self.lines, f"    return {', '.join(kept)},", ""])

    def pick(self, *choices):
        return self.r.choice(choices)

    def line(self, level, text):
        self.lines.append("    " * level + text)

    def number(self, depth):
        """A number of some kind."""
        which = self.r.random()
        if which < 0.4:
            return self.pick(*WEAK)
        if which < 0.75 or depth > 1:
            return self.pick("v[0]", "w[1]", "u[2]", "v.sum()", "w.max()", "k[0]", "s" if self.lines else "t")
        return f"({self.number(depth + 1)} if {self.test()} else {self.number(depth + 1)})"

    def test(self):
        return self.pick(*TESTS)

    def arithmetic(self, a):
        b = self.pick(self.number(1), self.number(1), "v", "w", "u", "v[0]", "w[0]", a, "np.uint8(250)", "np.float32(0.1)", "np.int8(100)")
        a, b = self.pick((a, b), (b, a))
        own = [f"float({a})", f"{a} & 3"] if a == "s" else []
        return self.pick(*ACTS, *CALLS, f"np.where({self.test()}, {{0}}, {{1}})", *own).format(a, b)

    def statement(self, level, depth):
        which = self.r.random()
        if which < 0.4:
            self.line(level, f"if {self.test()}:")
            self.body(level + 1, depth + 1)
            if self.r.random() < 0.7:
                self.line(level, "else:")
                self.body(level + 1, depth + 1)
        elif which < 0.6 and depth == 0:
            i = f"i{len(self.lines)}"
            self.line(level, f"for {i} in {self.pick('range(3)', 'range(int(abs(w[0])) % 4)', 'range(len(v))', 'v')}:")
            self.body(level + 1, depth + 1)
        elif which < 0.68 and depth < 2:
            self.line(level, "try:")
            self.body(level + 1, depth + 1)
            self.line(level, self.pick("except TypeError:", "except (ValueError, ZeroDivisionError):", "except Exception:", "except LookupError:"))
            self.line(level + 1, f"s = {self.number(1)}")
        else:
            self.line(level, f"s = {self.arithmetic('s')}")

    def body(self, level, depth):
        which = self.r.random()
        if which < 0.2:
            self.line(level, self.pick(*ERRORS))
        elif which < 0.5:
            self.line(level, f"s = {self.number(1)}")
        elif which < 0.8 or depth > 2:
            self.line(level, f"s = {self.arithmetic('s')}")
        elif which < 0.9:
            stores = f"v[1] = {self.pick('s', 't', 'w[0]')}", f"w {self.pick('+=', '*=')} {self.pick('s', '1', 'v[0]')}"
            self.line(level, self.pick(*stores, f"return {self.result()},"))
        else:
            self.statement(level, depth)

    def result(self):
        return self.pick("s", "s - v[0]", "s * w", "s + u", "s + np.uint8(200)", "s * np.float32(3)", "s + t", "v", "s == w[1]", "s - 1", "w")


def draw(rng):
    """A case: the text of a function f, and sets of arguments that take its sides."""
    dtypes = [rng.choice(NARROW) for _ in range(3)]
    text = Program(rng).text
    return text, [given(rng, dtypes) for _ in range(4)]


def given(rng, dtypes):
    r = np.random.default_rng(rng.getrandbits(32))
    arrays = [made(r, d) for d in dtypes]
    return *arrays, int(r.integers(-3, 6)), float(np.round(r.normal(), 2)), bool(r.integers(2)), r.integers(0, 5, 3), complex(r.normal(), 1.0)


def made(r, dtype):
    low = 0 if dtype[0] in "u?" else -3
    x = r.integers(low, 2 if dtype == "?" else 7, 3)
    return (x + np.round(r.random(3), 2) if dtype[0] == "f" else x).astype(dtype)


def function(text):
    file = f"<merges {zlib.crc32(text.encode())}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def ran(f, args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*args), None
        except Exception as error:
            return None, error


def differences(case, **options):
    text, sets = case
    f = function(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        compiled, refused = jit(f, **options), ""
        for args in sets:
            plain, mine = copy.deepcopy(args), copy.deepcopy(args)
            rtol = 2e-6 if any(getattr(x, "dtype", None) == np.float32 for x in args) else 1e-9  # whatever they are widened to later
            (want, error), (got, raised) = ran(f, plain), ran(compiled, mine)
            if isinstance(raised, WengertError) and not isinstance(error, type(raised)):
                if not (isinstance(error, TypeError | ValueError) and isinstance(raised, type(error)) or isinstance(raised, IntegerOverflow)):
                    refused = refused or "refused: " + str(raised).splitlines()[0]
                continue
            if raised is not None or error is not None:
                if error is None or raised is None:  # of two mistakes it is open which exception comes
                    ours, pythons = (x if e is None else e for x, e in ((got, raised), (want, error)))
                    return f"{args}: gives {ours!r}, where Python gives {pythons!r}"[:600]
                mine = plain
            try:
                agree(got, want, rtol)
                agree(mine, plain, rtol)
            except AssertionError as difference:
                return f"{args}: {difference}"[:600]
    return refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--engine", default="numpy")
    parser.add_argument("-v", action="store_true")
    asked = parser.parse_args()
    tally = collections.Counter()
    for seed in range(asked.first, asked.last):
        case = draw(random.Random(seed))
        try:
            found = differences(case, engine=asked.engine)
        except Exception as error:
            found = f"crashed: {error!r}"
        tally["agree" if not found else "refused" if found.startswith("refused") else "different"] += 1
        if found and (asked.v or not found.startswith("refused")):
            print(seed, case[0] if asked.v else "", found, sep="\n", flush=True)
    print(asked.first, asked.last, dict(tally), flush=True)


if __name__ == "__main__":
    main()
