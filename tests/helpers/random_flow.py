"""Random programs with nested loops, branches, stores, views, aliases and early exits; run as a script it tries many.

    python tests/helpers/random_flow.py 0 1000 [--wide] [--numpy] [--native] [--straight [nests]] [--seconds 20]

--numpy runs the optimised programs as generated NumPy, not through XLA: what is tested then is capture, memory and passes, ten times
as fast. --native runs every loop natively that can be, however short; --straight calls them so from generated NumPy, where all can be,
--straight nests also straight lines.
`outcome(seed)` is "agree", "refused: why" (the compiled function raised an error of ours), or a description of a difference.
"""

import argparse
import collections
import copy
import linecache
import random
import signal
import warnings
from unittest import mock

import numpy as np
from compare import agree

from wengert import Fallback, jit
from wengert.backends import native
from wengert.backends.numpy import callable_of
from wengert.backends.xla import dispatch
from wengert.ir.types import Tensor
from wengert.tracer.common.errors import WengertError
from wengert.tracer.program import backend_choice

HEAD = """import numpy as np
class Box:
    pass
def f(a, v, w, p, q):
    x, y, k, d, o = v * 1.0, w, 0, {'p': 0.0, 'x': v}, Box()
    o.h = w * 0.5
"""


WIDE = """import numpy as np
class Box:
    n = 0
    def __init__(self, h):
        self.h, self.t, self.half = h, 0.0, 0.25
    def push(self, t):
        if t > 0.2:
            self.t = self.t + t
        else:
            self.n += 1
        return self.t * 0.5
    @property
    def half(self):
        return self.inner
    @half.setter
    def half(self, value):
        self.inner = value * 0.5
def clipped(t, top):
    if t > top:
        return top
    if t < -top:
        return -top
    return t
def first(u, t):
    for n in range(len(u)):
        if u[n] > t:
            return n
    return -1
def f(a, v, w, m, b, g, p, q):
    x, y, k, d, o = v * 1.0, w, 0, {'p': 0.0, 'x': v}, Box(w * 0.5)
    c, l, empty = 0.0, [v * 0.5, w * 2.0], np.zeros(0)
    def bump(t):
        nonlocal c
        if t > 0:
            c = c + t * 0.5
        else:
            c -= 0.125
        return c
"""


SINGLE = 1e-5  # how far single precision may carry a difference of its last place


class Program:
    """Writes one function; `r` decides. wide: of more kinds of statements."""

    def __init__(self, seed, wide=False):
        self.r, self.wide = random.Random(seed), wide
        self.names, self.loops, self.size = 0, [], 0
        body = self.block(1, 0, self.r.randint(3, 7))
        names = ["x", "y", "p", "q", "k", "d", "o.h", "v", "a", *(["c", "l", "m", "b", "g", "o.t", "o.n", "o.half"] if wide else [])]
        kept = self.r.sample(names, self.r.randint(2, 5))
        self.text = (WIDE if wide else HEAD) + "\n".join(body) + f"\n    return {', '.join(kept)},\n"

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
        if self.wide and self.r.random() < 0.5:
            return [pad + line for line in self.more()]
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

    def integer(self):
        counters = [i for i, kind in self.loops if kind == "index"]
        return self.pick("k", "m[0]", "m[-2]", f"m[{self.index()}]", "int(p * 2)", "3", "len(l)", "first(v, p)", *counters)

    def more(self):
        """Statements of the wide kind."""
        n, v, i = self.number, self.vec(), self.index()
        return self.pick(
            [f"k = {self.integer()}"],
            [f"m[{i}] = {self.integer()}"],
            [f"m[{i}] += {self.integer()}"],
            [f"m {self.pick('+=', '-=', '*=')} {self.pick('1', '2', '-1')}"],
            [f"p = {v}[{self.integer()} % 6]"],
            [f"{v}[{self.integer()} % 5 + 1] = {n()}"],
            [f"{v}[{self.integer()}] = {n()}"],
            [f"k = {self.integer()} // {self.pick('2', '3', 'm[1]', 'm[0] + 2')}"],
            [f"k = ({self.integer()} * 3 - {self.integer()}) % 7"],
            [f"b[{i}] = {n()} > {n()}"],
            [f"b = b {self.pick('&', '|', '^')} ({v} > {n()})"],
            [f"if b[{i}]:", f"    q = {n()} * 0.5"],
            [f"if b.any() and not b[{i}]:", f"    {v}[b] = {n()}"],
            [f"g[{i}] = {n()}"],
            [f"g {self.pick('+=', '*=')} {self.pick('0.5', 'p', 'g')}"],
            [f"q = float(g[{i}]) + 0.5"],
            [f"x = x + g[{i}]"],
            [f"q = bump({n()})"],
            [f"bump({n()})"],
            [f"p = o.push({n()})"],
            [f"o.half = {n()}"],
            ["q = o.half + o.n"],
            ["o.n += 1"],
            [f"o.t -= {n()} * 0.5"],
            [f"l[0] = {self.expression()}"],
            [f"l[1][{i}] = {n()}"],
            [f"l[1] {self.pick('+=', '*=')} 0.5"],
            ["l[0], l[1] = l[1], l[0]"],
            ["l = [t * 0.5 for t in l]"],
            ["l = [l[1], l[0] * 0.5]"],
            [f"p = sum({v}[j] * 0.5 for j in range(3))"],
            [f"p = sum(t[{i}] for t in l)"],
            [f"q = clipped({n()}, {self.pick('0.5', 'p', '1.0')})"],
            [f"x = {v}[::2].repeat(2)"],
            [f"u = {v}[::2]", f"u[{self.pick('0', '-1', 'k % 3')}] = {n()}"],
            [f"u = a.T[{self.small()}]", f"u[{self.small()}] {self.pick('=', '+=')} {n()}"],
            [f"u = a[:, {self.small()}]", "u *= 0.5"],
            [f"a[{self.small()}, 1:] = a[{self.small()}, :-1] * 0.5"],
            [f"a[{self.small()}] = a[{self.small()}]"],
            [f"assert {n()} > {self.pick('-9', '-3')}"],
            ["try:", f"    assert {n()} > -0.5", f"    p = {n()}", "except AssertionError:", f"    q = {n()}"],
            [f"if {n()} > 2.5:", "    raise ValueError('large')"],
            [f"p = p if {n()} > 0 else empty.sum()"],
            ["for e in empty:", "    p = p + e"],
            [f"fun = lambda t: t * {n()} + p", "p = fun(0.25)"],
            [f"x, (y, p) = {self.expression()}, (y * 0.5, {n()})"],
            [f"if {n()} > 0.4:", f"    s{len(self.loops)} = {n()}", "else:", f"    s{len(self.loops)} = 0.5", f"p = s{len(self.loops)} * 0.5"],
            ["while p > 0.1 and k < 5:", "    p = p * 0.5", "    k += 1"],
        )  # fmt: skip

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
            kind, head = "index", f"while {i} < {self.pick('5', '3')}{self.pick('', ' and p < 3', f' and ({self.test()})')}:"
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


def arguments(seed, wide=False):
    r = np.random.default_rng(seed)
    fields = r.normal(size=(4, 5)), r.normal(size=6), r.normal(size=6)
    more = (r.integers(-2, 5, size=6), r.normal(size=6) > 0, r.normal(size=6).astype(np.float32)) if wide else ()
    return *fields, *more, float(r.normal()), float(r.normal())


def function(text, seed):
    file = f"<flow {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def numbers(got, want):
    """`got` as Python has it, where data chose between a Python number and a NumPy scalar, or int and float: the program has the wider of the two."""
    if isinstance(got, tuple | list) and isinstance(want, tuple | list) and len(got) == len(want):
        parts = [numbers(g, w) for g, w in zip(got, want)]
        return type(got)(*parts) if hasattr(got, "_fields") else type(got)(parts)
    if isinstance(got, dict) and isinstance(want, dict):
        return {k: numbers(v, want.get(k)) for k, v in got.items()}
    got = got.item() if isinstance(got, np.generic) and not isinstance(want, np.generic) else got
    return int(got) if type(want) is int and type(got) is float and got.is_integer() else got


def outcome(seed, wide=False, sets=3):
    """One compiled function on several sets of arguments, which take other ways through it."""
    f = function(Program(seed, wide).text, seed)
    compiled = jit(f)
    found = [call(f, compiled, arguments(seed + 1_000_003 * k, wide)) for k in range(sets)]
    return max(found, key=lambda x: 0 if x == "agree" else 1 if x.startswith("refused") else 2)


def call(f, compiled, given):
    plain, mine = copy.deepcopy(given), copy.deepcopy(given)
    error = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            want = f(*plain)
    except Exception as raised:
        error = raised
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Fallback)
            warnings.simplefilter("ignore", RuntimeWarning)
            got = compiled(*mine)
    except Exception as raised:
        try:
            agree(mine, given, 0)
        except AssertionError:
            return f"half-written after {raised!r}"
        if error is not None and type(error) is type(raised):
            return "agree"
        return f"refused: {raised}" if isinstance(raised, WengertError) else f"{type(raised).__name__}: {raised}, where Python gives {error!r}"
    if error is not None:
        return f"no {error!r}"
    difference = differs(got, want, mine, plain, 1e-9)
    wide = tuple(x.astype(np.float64) if getattr(x, "dtype", None) == np.float32 else x for x in given)
    if difference and not differs(got, want, mine, plain, SINGLE) and any(x is not y for x, y in zip(wide, given)):
        return call(f, compiled, wide)  # a number that data made a NumPy scalar's rounds a float32 elsewhere; in float64 all is the same
    return difference or "agree"


def differs(got, want, mine, plain, rtol):
    """How results and changed arguments differ, or ""."""
    try:
        agree(got, want, rtol)
        agree(mine, plain, rtol)
    except AssertionError as difference:
        return f"differs: {difference}"
    return ""


def program(find, name, native=True, exact=False, precision="highest", device=None):
    """`dispatch.program` with generated NumPy in the place of XLA."""
    made = {}

    def run(*leaves):
        leaves = [np.array(x) for x in leaves]
        types = tuple([Tensor(x.shape, x.dtype) for x in leaves])
        func, places = find(types)
        if id(func) not in made:
            made[id(func)] = func, callable_of(func)
        with np.errstate(all="ignore"):
            out = [np.array(x) for x in made[id(func)][1](*[leaves[i] for i in places])]
        return out[0] if len(out) == 1 else tuple(out)

    run.__name__ = run.__qualname__ = name
    return run


class Slow(BaseException):
    """Not for any `except Exception` on the way."""


def limited(seed, wide, seconds):
    """`outcome`, or "slow" after so many seconds of the processor; 0: no limit."""

    def stop(*_):
        raise Slow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return outcome(seed, wide)
    except Slow:
        return "slow"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--numpy", action="store_true")
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--straight", nargs="?", choices=("numpy", "nests"), const="numpy", default="xla")
    parser.add_argument("--seconds", type=int, default=0)
    given = parser.parse_args()
    tally = collections.Counter()
    instead = mock.patch.object(dispatch, "program", program) if given.numpy else native.asked(0 if given.native else native.LEAST)
    with instead, mock.patch.object(backend_choice, "CHOICE", given.straight):
        for seed in range(given.first, given.last):
            found = limited(seed, given.wide, given.seconds)
            kind = found.partition(":")[0]
            tally[kind if kind in ("agree", "refused", "slow") else "different"] += 1
            if kind not in ("agree", "refused"):
                print(seed, " ".join(found.split())[:180], flush=True)
            if (seed + 1) % 100 == 0:
                print(seed + 1, "wide" if given.wide else "plain", dict(tally), flush=True)
    print(given.first, given.last, "wide" if given.wide else "plain", dict(tally), flush=True)


if __name__ == "__main__":
    main()
