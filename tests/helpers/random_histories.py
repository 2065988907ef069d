"""Random histories: a function is called again and again while what it reads changes between the calls.

What changes are globals, enclosing variables, tables (arrays, lists, dicts, attributes) in place and rebound, defaults of helpers, static ints,
and the dtypes, shapes and aliases of arguments; some calls raise. Two copies of one module go through the same history, one of them compiled:
after each call the answers, the arguments, the tables and which of them share memory must be the same. After a call that raises, the plain copy is
put back.
"""

import copy
import random
import re

import numpy as np
from draws import Found, Left, alike, apart, attempt, shaky, space_of
from productions import Grammar

from wengert import jit

HEAD = """import collections, heapq, operator
import numpy as np

class Box:
    def __init__(self):
        self.scale, self.n, self.field, self.inner = 1.5, 2, np.ones(3), [0.5, 2.0]
    def scaled(self, x):
        return x * self.scale
    @property
    def twice(self):
        return self.scale * 2

G, TABLE, ROWS, CONFIG, BOX = 2.0, np.arange(4.0), [1.0, 2.0], {"rate": 0.5, "steps": 2, "mode": "add"}, Box()
NESTED = {"rows": [np.ones(3), np.zeros(2)], "pair": (1, 2.5)}
SHAPE, NAMES, MIX = np.array([2, 3]), np.array(["a", "b"]), np.array([1.5, "x"], object)
QUEUE = collections.deque([1.0, 2.0, 3.0])
exec("def unseen(x): return x * ROWS[0] + TABLE[0] + BOX.scale + QUEUE[0] + CONFIG['rate']")  # without source

def helper(x, k=2.0, *, m=1):
    return x * k + m

def make():
    offset, counts = 0.25, [0, 0]
    def change(value):
        nonlocal offset
        offset = value
    def f(a, b, n, s):
        nonlocal offset
        global G
        x = a * 1.0
"""
RULES = {
    "state": ["G", "TABLE[1]", "TABLE.sum()", "ROWS[0]", "ROWS[-1]", "len(ROWS)", "sum(ROWS)", "CONFIG['rate']", "CONFIG['steps']", "BOX.scale",
        "BOX.n",
              "BOX.field[0]", "BOX.field.sum()", "BOX.inner[1]", "offset", "counts[0]", "NESTED['rows'][0][0]", "NESTED['pair'][1]", "BOX.twice",
              "n", "s",
              "len(TABLE)", "len(CONFIG)", "CONFIG.get('extra', 3.0)", "getattr(BOX, 'more', 0.5)", "max(ROWS)", "np.mean(ROWS)", "len(BOX.inner)",
              "SHAPE[1]", "QUEUE[0]", "QUEUE[-1]", "np.zeros(SHAPE[0]).size", "np.ones(SHAPE).sum()", "(NAMES == 'a').sum()", "MIX[0]",
              "helper(<state>)", "helper(1.0, m=<state>)", "BOX.scaled(<state>)", "b[0]", "x[-1]"],
    "test": ["<state> > <state>", "<state> > 1", "CONFIG['mode'] == 'add'", "'extra' in CONFIG", "n > 2", "isinstance(s, float)", "len(ROWS) > 2",
        "a.dtype == b.dtype",
             "x.sum() > <state>", "hasattr(BOX, 'more')", "a is b", "not ROWS", "x.ndim == 1", "n", "NAMES[0] == 'a'"],
    "statement": [
        "x = x + <state>", "x = x * <state>", "x = helper(x)", "x = helper(x, <state>)", "x = BOX.scaled(x)", "x = x + TABLE[:1]",
        "x = x - BOX.field[:1]",
        "x = x * (<state> if <test> else <state>)", "for row in ROWS: x = x + row", "for i in range(n): x = x + i * <state>",
        "for i in range(CONFIG['steps']): x = x * 0.5 + <state>", "for k, v in enumerate(ROWS): x = x + k * v", "x = x + [r * 2 for r in ROWS][0]",
        "x = x + sum(v for v in BOX.inner)", "for row in NESTED['rows']: x = x + row.sum()", "if <test>: x = x * 2", "if <test>: return x, G",
        "BOX.n += 1", "BOX.scale = BOX.scale * 0.5", "BOX.scale = x.sum()", "TABLE[0] += 1", "TABLE[1:3] = <state>", "BOX.field *= 0.5",
        "BOX.field = x[:1] * 2",
        "ROWS.append(<state>)", "ROWS[0] = ROWS[0] + 1.0", "CONFIG['rate'] = <state>", "CONFIG['extra'] = x.mean()", "counts[0] += 1",
        "offset = offset * 0.5",
        "BOX.inner[0] = <state>", "BOX.more = 2.0", "G = G + 1", "a[0] = <state>", "b[1:] = a[:-1]", "a += 1", "b[0] = x[0]",
        "NESTED['rows'][0][1] = <state>",
        "if x.sum() > 40: raise ValueError('large')", "assert <state> != 7", "x = x + TABLE[n]", "if len(ROWS) > 3: ROWS.pop()",
        "x = x.astype(a.dtype)",
        "x = unseen(x)", "x = x + unseen(<state>)", "QUEUE.rotate(1)", "if <test>: QUEUE.rotate(1)", "QUEUE[0] = <state>",
        "if <test>: ROWS[1:] = [0.5]",
        "for i in range(n): heapq.heappush(ROWS, <state>)", "if <test>: operator.iadd(ROWS, [2.5])", "list.append(ROWS, <state>)",
        "if <test>: ROWS.append(<state>)", "if <test>: CONFIG.update(rate=<state>)", "for i in range(n): ROWS.append(0.25)",
        "if <test>: BOX.inner.reverse()",
        "SHAPE[0] = 3", "SHAPE[1] = SHAPE[1] % 3 + 1", "SHAPE[:1] += 1 if SHAPE[0] < 4 else -2", "NAMES[0] = NAMES[-1]", "NAMES[1:] = 'b'",
        "MIX[0] = 0.5", "MIX[0] += 1", "np.copyto(NAMES[:1], NAMES[1])",
        "BOX.last = x", "y = a if <test> else b; x = x + y[0]", "CONFIG['mode'] = 'sub' if <test> else 'add'", "s = s + 1",
    ],
    "kept": ["x", "a", "b", "BOX.scale", "TABLE", "counts", "x.sum()", "TABLE[1:]", "ROWS[0]", "BOX.field", "(a, n)", "{'x': x, 's': s}", "offset",
        "x.shape", "NAMES", "SHAPE", "np.zeros(SHAPE)", "MIX"],
    "value": ["3.0", "2", "np.float64(0.5)", "np.float32(1.5)", "7", "-1.0", "True", "0", "1.25", "np.int64(4)"],
    "array": ["np.arange(4.0)", "np.arange(4)", "np.ones(5)", "np.full(4, 0.5, 'f4')", "np.arange(4, dtype='u1')", "np.zeros((4, 1))"],
    "change": [
        "G = <value>", "TABLE[1] = <value>", "TABLE[:] = 0.5", "TABLE = <array>", "ROWS.append(0.5)", "ROWS[0] = <value>", "ROWS = [3.0]",
        "ROWS.clear(); ROWS.extend([2, 0.5])",
        "CONFIG['rate'] = <value>", "CONFIG['steps'] = 3", "CONFIG['steps'] = 1", "CONFIG['mode'] = 'sub'", "CONFIG['extra'] = <value>",
        "CONFIG.pop('extra', 0)",
        "BOX.scale = <value>", "BOX.n = 0", "BOX.field[0] = <value>", "BOX.field = <array>", "BOX = Box()", "BOX.more = <value>",
        "BOX.inner.append(1.0)",
        "change(<value>)", "counts[0] = 5", "helper.__defaults__ = (<value>,)", "helper.__kwdefaults__ = {'m': <value>}",
        "helper = lambda x, k=3.0, m=2: x - k * m", "Box.scaled = lambda self, x: x + self.scale", "NESTED['rows'][0][0] = <value>",
        "NESTED['rows'].append(np.ones(1))", "NESTED['pair'] = (3, <value>)", "BOX.scaled = lambda x: x * 3", "f.__code__ = f.__code__",
        "TABLE.shape = (4,)", "SHAPE[0] = 1", "SHAPE = np.array([2, 3])", "NAMES[0] = 'c'", "NAMES = np.array(['a', 'b', 'a'])", "MIX[0] = <value>",
        "MIX = np.array([1.0, 2])", "SHAPE = SHAPE.copy()", "QUEUE.rotate(1)", "QUEUE[0] = <value>", "NAMES = NAMES.copy()",
    ],
}  # fmt: skip
LEAVES = {"state": ["G", "BOX.scale", "offset", "ROWS[0]", "TABLE[0]", "0.5", "n"], "test": ["<state> > 1", "n > 2"]}
GLOBALS = ("G", "TABLE", "ROWS", "CONFIG", "NESTED", "SHAPE", "NAMES", "MIX", "QUEUE")
KINDS = ["f8", "f8", "f4", "i8", "i4", "u1", "f8"]


class History:
    """The module, and what is done with it: text to run in it, or arguments to call with."""

    def __init__(self, seed):
        self.r = r = random.Random(seed)
        write = Grammar(r, RULES, LEAVES, 2)
        lines = [write("<statement>") for _ in range(r.randint(2, 6))]
        lines.append("return " + ", ".join(write("<kept>") for _ in range(r.randint(1, 3))) + ",")
        body = "\n".join(lines).replace("offset", "offset change(").replace("BOX", "BOX Box")
        matter = [c for c in RULES["change"] if re.match(r"\w+", c)[0] in body]
        self.text = HEAD + "".join(f"        {line}\n" for line in lines) + "    return f, change, counts\n\nf, change, counts = make()\n"
        self.steps, given = [], None
        for _ in range(r.randint(5, 8)):
            self.steps += [write(r.choice(matter) if matter and r.random() < 0.85 else "<change>") for _ in range(r.choice([0, 1, 1, 1, 2]))]
            given = self.arguments() if given is None or r.random() < 0.4 else given
            self.steps.append(given)

    def arguments(self):
        r = self.r
        n = r.choice([3, 4, 4])
        numbers = [[r.randint(0, 9) for _ in range(n)] for _ in range(2)]
        alias = r.choice(["new", "new", "new", "new", "same", "view"])
        s = r.choice([0.5, 2, np.float64(1.5), np.float32(0.25), True, 3, np.int64(2)])
        return numbers, r.choice(KINDS), r.choice(KINDS), alias, r.choice([1, 2, 3, 2, 5]), s

    def __str__(self):
        return self.text + "".join(f"# {step}\n" for step in self.steps)


def arrays(numbers, kind, other, alias, n, s):
    a = np.array(numbers[0], kind)
    return a, {"new": np.array(numbers[1], other), "same": a, "view": a[::-1]}[alias], n, s


class Side:
    """One of the two copies of the module."""

    def __init__(self, text, name, wrap):
        self.space = space_of(text, name)
        self.f = wrap(self.space["f"])

    def change(self, text):
        exec(text, self.space)

    def state(self):
        return {**{k: self.space[k] for k in GLOBALS}, "box": vars(self.space["BOX"]), "counts": self.space["counts"]}

    def saved(self):
        box = {k: v for k, v in vars(self.space["BOX"]).items() if not callable(v)}
        return copy.deepcopy(({k: self.space[k] for k in GLOBALS}, box, self.space["counts"][:])), self.offset()

    def offset(self):
        return dict(zip(self.space["change"].__code__.co_freevars, self.space["change"].__closure__))["offset"].cell_contents

    def restore(self, saved):
        (values, box, counts), offset = copy.deepcopy(saved[0]), saved[1]
        self.space.update(values)
        hidden = {k: v for k, v in vars(self.space["BOX"]).items() if callable(v)}
        vars(self.space["BOX"]).clear()
        vars(self.space["BOX"]).update(box, **hidden)
        self.space["counts"][:] = counts
        self.space["change"](offset)

    def call(self, given):
        left = attempt(self.f, given)
        return Left(left.result, (left.arguments, shown(self.state())), left.error)


def shown(state):
    return {**state, "box": {k: v for k, v in state["box"].items() if not callable(v)}}


def run(seed, engine="numpy"):
    history = History(seed)
    plain, mine = Side(history.text, f"history {seed}", lambda f: f), Side(history.text, f"history {seed} compiled", jit)
    verdict, why, calls = "agree", "", 0
    for k, step in enumerate(history.steps):
        if isinstance(step, str):
            errors = [attempt(side.change, (step,)).error for side in (plain, mine)]
            if type(errors[0]) is not type(errors[1]):
                return Found("different", f"step {k}, {step}: {errors[1]!r} for {errors[0]!r}", str(history), calls)
            continue
        saved, given = plain.saved(), arrays(*step)
        before = copy.deepcopy((given, shown(plain.state())))
        want, got = plain.call(given), mine.call(arrays(*step))
        calls += 1
        if want.error is not None and (got.error is None or alike(got.arguments, before)):
            plain.restore(saved)  # where both raised, a program leaves what was there, plain Python what it got to
        found = apart(got, want, before)
        if found.startswith(("refused", "explained")):
            verdict, _, why = found.partition(": ")
            if want.error is None and verdict == "refused":  # it goes on from where plain Python is
                plain.restore(saved)
        elif found:
            plain.restore(saved)
            roundings = shaky(plain.call, arrays(*step), found, got)
            return Found("explained" if roundings else "different", f"step {k}, {step}: {found}", str(history), calls)
    return Found(verdict, why, str(history), calls)
