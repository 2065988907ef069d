"""Random programs as people write Python: comprehensions, records, helpers with defaults, closures, early returns, exceptions, sorting by keys,
strings of numbers, recursion, unpacking; far from the grammars of the other testers. Each is called three times, on data that take other ways.
"""

import copy
import random

import numpy as np
from draws import Found, apart, attempt, function, shaky
from productions import Grammar

from wengert import jit

HEAD = '''import functools, itertools, math, operator
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import NamedTuple
import numpy as np

Point = namedtuple("Point", "x y")

class Limits(NamedTuple):
    low: float = -1.0
    high: float = 1.5

@dataclass
class Body:
    mass: float
    at: np.ndarray
    log: list = field(default_factory=list)
    def move(self, d, scale=1.0):
        self.at = self.at + scale * d
        self.log.append(self.mass)
        return self
    @property
    def heavy(self):
        return self.mass > 1.0

class Stack:
    def __init__(self, *items):
        self.items = list(items)
    def __len__(self):
        return len(self.items)
    def __getitem__(self, k):
        return self.items[k]
    def __iter__(self):
        return iter(self.items)
    def __call__(self, t):
        return sum(t * i for i in self.items)
    def __add__(self, other):
        return Stack(*self.items, other)

def clamp(t, low=-1.0, high=1.0):
    if t < low:
        return low
    if t > high:
        return high
    return t

def power(t, n=2, *rest, scale=1.0, **more):
    out = scale
    for _ in range(n):
        out = out * t
    return out + sum(rest) + more.get("shift", 0.0)

def safe(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return 0.0

def find(u, t):
    for k, e in enumerate(u):
        if e > t:
            return k
    return None

def compose(*fs):
    def all_of(t):
        for g in fs:
            t = g(t)
        return t
    return all_of

def counter(start=0):
    count = start
    def step(by=1):
        nonlocal count
        count += by
        return count
    return step

def pairs(u):
    for k in range(len(u) - 1):
        yield u[k], u[k + 1]

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def scaled(f):
    @functools.wraps(f)
    def g(*args, **kw):
        return f(*args, **kw) * 0.5
    return g

@scaled
def half(t, plus=0.0):
    return t + plus

@functools.singledispatch
def kind(t):
    return 1.0
@kind.register
def _(t: int):
    return 2.0
@kind.register
def _(t: float):
    return 3.0

def f(x, A, t, n, cfg, pts):
    p, q, y, k, rows, d = t, 0.5, x * 2.0, 1, [], {"a": 1.0, "b": x}
'''
RULES = {
    "e": [
        "x[<i>]", "y[<i>]", "A[<i>, <i>]", "p", "q", "t", "cfg['rate']", "pts[<i>][0]", "pts[0][1]", "(<e> + <e>)", "(<e> - <e>)", "<e> * <e>",
        "<e> / 2", "x.sum()", "A.mean()",
        "clamp(<e>)", "clamp(<e>, high=<e>)", "power(<e>)", "power(<e>, 3, scale=0.1)", "power(0.5, 1, <e>, shift=<e>)", "safe(<e>, <e>)",
        "half(<e>)", "half(<e>, plus=1)",
        "sum(v * v for v in x)", "sum([v for v in x if v > 0])", "max(<e>, <e>)", "min(x)", "max(y, key=lambda v: -v)",
        "sum(a * b for a, b in zip(x, y))", "len(rows)", "len(x[x > <e>])",
        "float(<e>)", "int(<e>)", "abs(<e>)", "round(<e>, 1)", "math.sqrt(abs(<e>))", "math.exp(-abs(<e>))", "math.hypot(<e>, <e>)",
        "np.sqrt(abs(<e>))", "(<e> if <t> else <e>)",
        "functools.reduce(lambda a, b: a * 0.5 + b, x)", "functools.reduce(operator.add, x)", "Stack(<e>, 2.0)(<e>)", "compose(np.abs, clamp)(<e>)",
        "(lambda u, w=2.0: u * w)(<e>)",
        "sorted([<e>, <e>, 1.0])[1]", "sorted(x)[0]", "sum(a - b for a, b in pairs(x))", "np.mean([<e>, <e>])", "d['a']", "d.get('c', <e>)",
        "sum(map(abs, x))", "(<e> or 2.0)", "(<e> and <e>)",
        "next((v for v in x if v > <e>), 0.0)", "Point(<e>, <e>).x", "Limits(high=<e>).high", "np.dot(x[:3], A[<i>, :3])", "fib(n)", "n * <e>",
        "(<e>) ** 2", "<e> % 3", "<e> // 2", "divmod(<e>, 2)[0]",
        "sum(row.max() for row in A)", "sum(1 for v in x if v > 0)", "all(v > -3 for v in x) * 1.0", "any(v > <e> for v in x) + 0.0",
        "itertools.accumulate([<e>, <e>]).__next__()", "kind(<e>)", "bool(<e>) + 1.0",
        'float(f"{cfg[\'rate\']:.2f}")', "len(str(n))", "math.floor(<e>)", "np.interp(<e>, [0.0, 1.0], [2.0, 3.0])", "np.linalg.norm(x)",
            "np.clip(<e>, 0, 1)", "x.argmax()", "int(np.argmin(y))",
        "np.float64(<e>).item()", "x.tolist()[<i>]", "math.fsum([<e>, 1])", "math.copysign(1.0, <e>)", "complex(<e>, 1).real",
        "np.sum([v ** 2 for v in x])", "(x @ x)", "math.isfinite(<e>) * 2.0",
    ],
    "t": ["<e> > <e>", "<e> > 0", "<e> < 0.3", "0 < <e> < 2", "x[0] > 0 and <e> < 1", "not <e> > 0", "n > 2", "cfg['mode'] == 'fast'",
        "'rate' in cfg", "len(rows) > 1", "(x > <e>).any()", "k % 2 == 0",
          "isinstance(p, float)", "find(x, <e>) is None", "math.isclose(<e>, <e>)", "np.all(x > -2)", "k in (1, 3)", "x is y", "rows", "y.ndim == 1",
          "<t> or <e> > 1", "np.isnan(<e>)", "p == q"],
    "i": ["0", "1", "-1", "2"],
    "v": ["x", "y", "x * <e>", "A[<i>]", "np.array([v * 2 for v in x])", "x[::-1]", "y + 1", "np.where(x > <e>, x, 0.0)", "A[:, <i>]",
        "np.array([<e>, <e>])", "np.abs(x)", "d['b']", "x[x > 0]", "A.T[1]", "x.copy()",
          "np.array(sorted(x))", "np.array([row.sum() for row in A])", "np.stack([x[:2], y[:2]]).ravel()", "np.cumsum(x)",
          "np.array(list(map(clamp, x)))", "np.zeros_like(x)", "np.array([a * b for a in x[:2] for b in y[:2]])"],
    "statement": [
        "p = <e>", "q = <e>", "y = y + <e>", "k += 1", "y = x * <e>", "p, q = q, <e>", "rows.append(<e>)", "d['a'] = <e>", "d['b'] = <v>",
        "y[<i>] = <e>", "y[1:3] *= <e>", "y[y > <e>] = 0.0", "x[<i>] += <e>", "A[<i>] = A[<i>] * 0.5",
        "row = A[<i>]; row[<i>] = <e>", "a, *b = x; p = p + a + len(b)", "(p, q), k = (<e>, <e>), 2", "y = <v>", "p += <e>; q *= 0.5",
        "rows = [v * 2 for v in x if v > 0]", "rows = [<e> for _ in range(3)]", "p = sum(rows)",
        "if <t>: return x, p", "if <t>: p = <e>", "p = q = <e>", "d = {k: v * 0.5 for k, v in d.items()}", "d.update(c=<e>)",
        "d.setdefault('z', <e>)", "rows.extend([<e>, <e>])", "rows.insert(0, <e>)", "z = rows.pop() if rows else <e>; p = z",
        "assert <e> < 1e6, 'large'", "y = np.array([clamp(v) for v in y])", "b = Body(<e>, x).move(y[:1]); p = b.mass + b.at[0]",
        "b = Body(<e>, <v>); q = 2.0 if b.heavy else b.mass", "s = Stack(<e>) + <e>; q = len(s) + s[0]",
        "s = Stack(<e>, <e>); p = sum(s)", "g = lambda u: u + p; q = g(<e>)", "c = counter(2); c(); k = c(3)",
        "pt = Point(<e>, y=<e>); p = pt.x + pt._replace(x=2.0).x", "lo, hi = Limits(); p = min(max(p, lo), hi)", "A = A - A.mean(axis=0)",
        "pts = [(a + 1, b) for a, b in pts]", "pts = sorted(pts, key=lambda r: r[1]); p = pts[0][0]", "u, w = zip(*pts); q = max(u)",
        "m = {True: <e>, False: 2.0}[bool(n > 2)]; p = m", "y -= y.mean()", "np.add(y, <e>, out=y)",
        "cfg = {**cfg, 'rate': <e>}", "cfg['rate'] = cfg['rate'] * 0.5", "total = defaultdict(float); total['u'] += <e>; p = total['u']",
        "best, where = max((v, j) for j, v in enumerate(x)); p = best", "text = f'{n}-{len(x)}'; k = len(text)",
        "h = functools.partial(power, n=2); p = h(<e>)", "del d['a']; d['a'] = <e>", "x, y = y, x", "x = x if <t> else y", "p = [<e>, <e>][<t>]",
        "import math as mm; p = mm.sin(<e>)", "label = 'big' if n > 2 else 'small'; q = len(label)",
        "rows = list(map(lambda r: r[0] * 2, pts))", "y = functools.reduce(np.add, [x, y[:len(x)]])", "rows = [a for a, b in zip(x, y) if a > b]",
        "M = [[a * b for b in x[:2]] for a in x[:2]]; p = M[0][1]", "p = math.prod(x)",
    ],
    "block": [
        ["for v in x:", "    <s>"], ["for i, v in enumerate(x):", "    if <t>:", "        break", "    p = p + i * v"], ["for a, b in zip(x, y):",
        "    q = q + a * b"], ["for i in range(n):", "    <s>"],
        ["for row in A:", "    for v in row:", "        if v < <e>:", "            continue", "        p = p + v"], ["while p > 0.1 and k < 6:",
        "    p = p * 0.5", "    k += 1"], ["if <t>:", "    <s>", "else:", "    <s>"],
        ["if <t>:", "    <s>", "elif <t>:", "    <s>"], ["try:", "    p = <e> / <e>", "except ZeroDivisionError:", "    p = 0.0"], ["try:",
        "    if <t>:", "        raise ValueError('no')", "    q = <e>", "except (ValueError, KeyError) as error:",
        "    q = len(str(error)) * 1.0"], ["for key in sorted(d):", "    p = p + np.sum(d[key])"], ["for key, value in cfg.items():",
        "    k += len(key)"], ["def inner(u, w=<e>):", "    if u > w:", "        return u - w", "    return w * p",
        "q = inner(<e>)"], ["def walk(u, depth=0):", "    if depth == n:", "        return u", "    return walk(u * 0.5 + 1, depth + 1)",
        "p = walk(<e>)"], ["with np.errstate(all='ignore'):", "    y = np.log(np.abs(x) + 1)"],
        ["for j in range(len(x) - 1, 0, -1):", "    y[j] = y[j - 1] + x[j]"], ["match n:", "    case 2:", "        p = <e>", "    case _:",
        "        q = <e>"], ["for i in range(3):", "    for j in range(i):", "        A[i, j] = <e>"],
        ["i = 0", "while True:", "    i += 1", "    if i > 4 or <t>:", "        break", "    p = p + x[i % 3]"], ["for a, b in pairs(x):",
        "    p = max(p, b - a)"], ["for r, (a, b) in enumerate(pts):", "    q = q + a * r - b"],
        ["for i in range(4):", "    rows.append(p * i)"], ["best = None", "for v in x:", "    if best is None or v > best:", "        best = v",
        "p = best"], ["try:", "    p = x[n + 3]", "except IndexError:", "    p = -1.0"],
        ["for v in x:", "    d['a'] = d['a'] + v"], ["seen = set()", "for v in (1, 2, 2, n):", "    seen.add(v)", "k = len(seen)"],
        ["for i in range(len(x)):", "    x[i] = clamp(x[i], <e>)"], ["found = False", "for v in x:",
        "    if v > <e>:", "        found = True", "        break", "else:", "    q = <e>", "p = p if found else q"], ["prev = x[0]",
        "for v in x[1:]:", "    prev, p = v, p + abs(v - prev)"], ["state = (p, q)", "for _ in range(3):",
        "    state = (state[1], state[0] * 0.5)", "p, q = state"], ["acc = []", "for v in x:", "    acc.append(v * <e>)", "y = np.array(acc)"],
        ["out = np.empty(len(x))", "for i, v in enumerate(x):", "    out[i] = v if v > <e> else <e>", "y = out"],
        ["j = find(x, <e>)", "if j is not None:", "    p = x[j]"], ["s = 0", "for v in x:", "    s += v > 0", "k = s"], ["b = Body(1.0, x)",
        "for v in x[:3]:", "    b.move(v)", "    b.mass += <e>", "p = b.mass"], ["win = x[:3]", "win += <e>"],
    ],
    "s": ["p = <e>", "q = q + <e>", "y[0] = <e>", "y = y * 0.5", "k += 1", "p, q = q, p", "x[1] = <e>", "d['a'] = <e>", "y = x", "p = clamp(<e>)",
        "A[0, 0] += <e>"],
    "kept": ["x", "y", "p", "q", "k", "rows", "d", "(p, q)", "{'p': p, 'y': y}", "A", "Point(p, y)", "x is y", "float(p)", "cfg", "[p, k]",
        "y.shape", "len(rows)"],
}  # fmt: skip
LEAVES = {"e": ["x[<i>]", "p", "q", "t", "0.5", "2.0", "1", "y[0]", "A[0, 1]"], "t": ["p > q", "x[0] > 0", "n > 2", "k == 1"], "v": ["x", "y"]}


class Program:
    def __init__(self, seed):
        self.r = r = random.Random(seed)
        self.write = Grammar(r, RULES, LEAVES, 2)
        lines, given = [], arguments(seed)
        for _ in range(r.randint(2, 6)):
            for _ in range(5):
                more = self.statement()
                if attempt(function(self.whole([*lines, *more], ["p"]), "strangers drawn"), copy.deepcopy(given)).error is None:
                    lines += more
                    break
        self.text = self.whole(lines, [self.write("<kept>") for _ in range(r.randint(2, 4))])

    def statement(self):
        kind = self.r.random()
        if kind < 0.55:
            return [self.write("<statement>")]
        block = [self.write(line) for line in self.r.choice(RULES["block"])]
        if kind > 0.9 and block[0].startswith(("for", "if")):
            return [*block, *["    " + line for line in self.statement()]]
        return block

    @staticmethod
    def whole(lines, kept):
        return HEAD + "".join(f"    {line}\n" for line in lines) + f"    return {', '.join(kept)},\n"


def arguments(seed):
    r = random.Random(f"data {seed}")
    number = lambda: r.choice([r.randint(-8, 8) / 4, r.uniform(-2, 2), float(r.randint(-2, 2))])
    dtype = r.choice(["f8", "f8", "f8", "f4", "i8"]) if seed % 7 == 0 else "f8"
    x, A = np.array([number() for _ in range(4)], dtype), np.array([[number() for _ in range(4)] for _ in range(3)])
    t = number()
    t = np.float64(t) if seed % 3 == 0 else t
    return x, A, t, 2 + seed // 5 % 3, {"rate": number(), "mode": "fast"}, [(number(), number()) for _ in range(3)]


def run(seed, engine="numpy"):
    text = Program(seed).text
    f = function(text, f"strangers {seed}")
    compiled, refused = jit(f), ""
    shown = "def f" + text.rpartition("def f(x")[2].join(["(x", ""])
    for k in range(3):
        given = arguments(seed + k * 10_007 * 105)  # the same kinds
        want, got = attempt(f, copy.deepcopy(given)), attempt(compiled, copy.deepcopy(given))
        found = apart(got, want, given)
        if found.startswith(("refused", "explained")):
            refused = found
        elif found:
            roundings = shaky(lambda args: attempt(f, args), given, found, got)
            return Found("explained" if roundings else "different", f"call {k}: {found}\n  on {given!r}", shown, k + 1)
    return Found.of(refused, shown, 3)
