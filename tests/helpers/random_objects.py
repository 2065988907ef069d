"""Random worlds outside a function: objects with special methods, containers of every kind, functions and classes, changed between calls.

    python tests/helpers/random_objects.py 0 1000

`draw(rng)` gives a `Case`: the text of a module with a function `f(x)`, and of the changes made between its calls. `differences(case)` runs
it twice, plain and compiled, each in a world of its own: "agree", "refused" (the compiled function raised an error of ours, at some call; what
it says before and afterwards still agrees), or a description of the difference.
"""

import argparse
import collections
import linecache
import random
import warnings
from typing import NamedTuple
from unittest import mock

import numpy as np
from compare import agree

from wengert import jit
from wengert.tracer.call import contest
from wengert.tracer.common.errors import WengertError
from wengert.tracer.program import backend_choice

HEAD = """import array, collections, contextvars, dataclasses, functools, math, operator, threading, types, weakref
import numpy as np
G, H = 2.0, [1.0, 2.0]
W = np.arange(3.0)
VAR = contextvars.ContextVar("VAR", default=1.5)
LOCAL = threading.local()
LOCAL.v = 2.5
def helper(x, k=2.0, *, m=1.0):
    return x * k + m
def other(x, k=2.0, *, m=1.0):
    return x - k - m
def deep(x):
    return helper(x) + G
class Base:
    c = 1.5
    def __init__(self, v, n=2):
        self.v, self.w, self.items, self.n = v, np.full(3, v), [v, v + 1.0], n
    def m(self, x):
        return x * self.v
    @property
    def p(self):
        return self.v + self.c
    @classmethod
    def cm(cls, x):
        return x * cls.c
    @staticmethod
    def sm(x):
        return x + G
"""
SOURCES = ["self.v", "self.items[0]", "sum(self.items)", "self.c", "G", "H[0]", "float(self.n)", "self.p", "float(len(self.items))",
    "float(self.w[0])"]
WHOLE = ["self.n", "len(self.items)", "int(self.v)", "int(G)", "self.n + len(H)"]
SPECIAL = {
    "__len__": "return abs({i}) % 4 + 1", "__bool__": "return {s} > 1.5", "__iter__": "return iter([{s}, {s}])", "__float__": "return float({s})",
    "__int__": "return int({i})", "__index__": "return abs({i}) % 3", "__abs__": "return abs({s})", "__hash__": "return hash({i})",
    "__round__": "return {i}", "__reversed__": "return iter([{s}])", "__contains__": "return k > {s}", "__getitem__": "return {s} * k",
    "__add__": "return {s} + k", "__radd__": "return k - {s}", "__mul__": "return {s} * k", "__neg__": "return -{s}", "__eq__": "return {s} == k",
    "__lt__": "return {s} < k", "__call__": "return k * {s}", "__str__": "return f'{{{s}:.2f}}'", "__format__": "return f'{{{s}:.2f}}'",
    "__enter__": "return {s}", "__array__": "return self.w", "__getattr__": "return float(len(k))",
}  # fmt: skip
TAKES = {"__contains__", "__getitem__", "__add__", "__radd__", "__mul__", "__eq__", "__lt__", "__call__", "__format__", "__getattr__"}
ASKS = {
    "__len__": ["len({o})", "(1.0 if {o} else 2.0)"], "__bool__": ["(3.0 if {o} else 2.0)", "float(not {o})", "float(bool({o} and True))"],
    "__iter__": ["sum({o})", "list({o})[0]", "[*{o}][-1]", "max({o})", "sorted({o})[0]", "[v * 2 for v in {o}][0]", "tuple(map(float, {o}))[1]",
                 "sum(v for v in {o} if v > 1)", "next(iter({o}))", "max(*{o})", "len(set({o}))", "functools.reduce(operator.add, {o})"],
    "__float__": ["float({o})", "math.sqrt(abs(float({o})))", "np.float64({o})"], "__int__": ["int({o})"],
    "__index__": ["H[{o} % 2]", "len(range({o}))", "operator.index({o})", "W[{o}]"], "__abs__": ["abs({o})"], "__hash__": ["hash({o}) % 7"],
    "__round__": ["round({o})"], "__reversed__": ["list(reversed({o}))[0]"], "__contains__": ["float(2.0 in {o})", "float(2.0 not in {o})"],
    "__getitem__": ["{o}[2]", "operator.itemgetter(3)({o})"], "__add__": ["({o} + 1)", "operator.add({o}, 2)"], "__radd__": ["(1 + {o})"],
    "__mul__": ["({o} * 2)"], "__neg__": ["-{o}", "operator.neg({o})"], "__eq__": ["float({o} == 2.0)", "[1.0, 2.0].count({o})"],
    "__lt__": ["float({o} < 2.0)"], "__call__": ["{o}(x)", "{o}(2.0)", "list(map({o}, [1.0]))[0]"], "__str__": ["len(str({o}))", "float(str({o}))"],
    "__format__": ["float(f'{{{o}}}')", "float(format({o}))"], "__array__": ["np.sum(np.asarray({o}))", "np.tanh({o})[0]"],
    "__getattr__": ["{o}.unset"],
}  # fmt: skip
USES = ["{o}.v", "{o}.p", "{o}.c", "{o}.m(x)", "{o}.cm(x)", "{o}.sm(x)", "vars({o})['v']", "getattr({o}, 'v')", "{o}.items[0]", "len({o}.items)",
    "{o}.w.sum()",
        "operator.attrgetter('v')({o})", "{o}.__dict__['n']", "float(isinstance({o}, Base))", "float(type({o}).__name__ == 'A')", "sum({o}.items)",
        "{o}.items[-1] * {o}.w[0]", "weakref.ref({o})().v", "float(hasattr({o}, 'extra'))"]  # fmt: skip
PLAIN = ["G", "H[0]", "sum(H)", "W.sum()", "helper(x)", "helper(x, m=2.0)", "deep(x)", "globals()['G']", "VAR.get()", "LOCAL.v", "PART(x)",
    "METHOD(2.0)", "sum(map(deep, [1.0]))"]
CONTAINERS = {
    "dict": ("{{'a': {n}, 'b': 2.0}}", "map"), "od": ("collections.OrderedDict(a={n})", "map"),
    "dd": ("collections.defaultdict(float, a={n})", "map"),
    "counter": ("collections.Counter(a={n})", "map"), "ud": ("collections.UserDict(a={n})", "map"),
    "cm": ("collections.ChainMap(dict(a={n}), dict(b=1.0))", "map"),
    "list": ("[{n}, 2.0]", "seq"), "ul": ("collections.UserList([{n}, 2.0])", "seq"), "deque": ("collections.deque([{n}, 2.0])", "seq"),
    "arr": ("array.array('d', [{n}, 2.0])", "seq"), "ba": ("bytearray([int({n}), 2])", "bytes"),
    "mv": ("memoryview(bytearray([int({n}), 2]))", "fixed"),
    "obj": ("np.array([{n}, 2.0], object)", "fixed"), "nd": ("np.array([{n}, 2.0])", "fixed"), "set": ("{{{n}, 2.0}}", "set"),
    "ns": ("types.SimpleNamespace(a={n}, b=[1.0])", "ns"), "proxy": ("types.MappingProxyType(BACK)", "proxy"), "view": ("BACK.values()", "view"),
    "nt": ("collections.namedtuple('NT', 'a b')({n}, [1.0])", "nt"), "sub": ("type('Sub', (dict,), {{}})(a={n})", "map"),
}  # fmt: skip
READS = {
    "map": ["{c}['a']", "{c}.get('a', 0.0)", "sum({c}.values())", "len({c})", "float('z' in {c})", "[v for k, v in {c}.items()][0]",
        "len([k for k in {c}])", "dict({c})['a']",
            "{{**{c}}}['a']", "float(bool({c}))", "sorted({c})[0] + 'x' == 'ax'"],
    "seq": ["{c}[0]", "sum({c})", "len({c})", "float(5.0 in {c})", "list({c})[-1]", "[*{c}][0]", "max({c})", "{c}.count(2.0)",
        "float(np.sum(np.array(list({c}))))"],
    "bytes": ["{c}[0]", "sum({c})", "len({c})", "{c}.find(5)", "list({c})[0]", "int.from_bytes({c}, 'little')"],
    "fixed": ["{c}[0]", "sum({c})", "list({c})[0]", "float(5.0 in {c})"], "set": ["len({c})", "sum({c})", "float(5.0 in {c})", "max({c})"],
    "ns": ["{c}.a", "{c}.b[0]", "vars({c})['a']", "float(hasattr({c}, 'z'))"], "proxy": ["{c}['a']", "{c}.get('a')", "len({c})", "sum({c}.values())"],
    "view": ["sum({c})", "len({c})", "max({c})", "[*{c}][0]"], "nt": ["{c}.a", "{c}.b[0]", "{c}[1][0]", "[*{c}][1][0]", "len({c}.b)"],
}  # fmt: skip
WRITES = {
    "map": ["{c}['a'] = {n}", "{c}['z'] = {n}", "{c}.pop('z', None)"], "seq": ["{c}[0] = {n}", "{c}.append({n})"],
    "bytes": ["{c}[0] = int({n})", "{c}.append(5)"],
    "fixed": ["{c}[0] = int({n})"], "set": ["{c}.add({n})", "{c}.discard(2.0)"], "ns": ["{c}.a = {n}", "{c}.b[0] = {n}", "{c}.z = 1.0"],
    "proxy": ["BACK['a'] = {n}", "BACK['z'] = {n}"], "view": ["BACK['a'] = {n}", "BACK['z'] = {n}"], "nt": ["{c}.b[0] = {n}", "{c}.b.append({n})"],
}  # fmt: skip
CHANGES = ["G = {n}", "H[0] = {n}", "H.append({n})", "W[0] = {n}", "W = np.full(3, {n})", "helper.__defaults__ = ({n},)",
    "helper.__kwdefaults__ = dict(m={n})",
           "helper.__kwdefaults__['m'] = {n}", "helper.__code__ = other.__code__", "deep.__code__ = (lambda x: x * G).__code__", "Base.c = {n}",
           "A.c = {n}",
           "Base.m = lambda self, x: x - self.v", "VAR.set({n})", "LOCAL.v = {n}", "PART.keywords['k'] = {n}",
           "Base.p = property(lambda self: self.v * {n})"]  # fmt: skip
TOUCHES = ["{o}.v = {n}", "{o}.w[:] = {n}", "{o}.w = np.full(3, {n})", "{o}.items[0] = {n}", "{o}.items.append({n})", "{o}.items = [{n}]",
    "{o}.n += 1",
           "{o}.m = lambda x: x * {n}", "{o}.c = {n}", "{o}.__class__ = B", "{o}.extra = {n}", "vars({o})['v'] = {n}"]  # fmt: skip
STORES = [
    "{o}.v = {n}", "{o}.v = {o}.v + x", "{o}.v += 1.0", "{o}.n += 1", "{o}.w = {o}.w * x.sum()", "{o}.w *= 2.0", "{o}.w[0] = {o}.v",
    "{o}.extra = {o}.w", "{o}.items[0] = {o}.v", "{o}.items.append({n})", "{o}.v, {o}.c = {o}.c, {o}.v", "{o}.extra = y",
    "{o}.extra = {o}.items", "{o}.extra = b", "{o}.w, {o}.extra = {o}.w + 1.0, {o}.w", "globals()['G'] = {o}.v", "H[1] = {o}.v",
    "setattr({o}, 'v', {n})", "{o}.c = {o}.w[1]",
]  # fmt: skip
STATE = ("v", "w", "n", "items", "c", "extra")


class Case(NamedTuple):
    """text: the module; changes: statements run in it, some between any two calls; argument: how `f` meets the object."""

    text: str
    changes: tuple
    argument: bool
    seed: int


def draw(rng):
    """A Case; rng: random.Random."""
    pick, number = rng.choice, lambda: f"{rng.randint(1, 5)}.0"
    fill = lambda text: text.format(s=pick(SOURCES), i=pick(WHOLE), n=number(), o=pick(("a", "a", "b", "POOL[0]")), c="c")
    special = rng.sample(sorted(SPECIAL), rng.randint(1, 5))
    lines = ["class A(Base):", *(method(n, fill) for n in special), "class B(A):", f"    c = {number()}"]
    kind = pick(sorted(CONTAINERS))
    made, family = CONTAINERS[kind]
    lines += [f"BACK = dict(a={number()}, b=1.0)", f"a, b = A({number()}), A({number()}, 1)", "POOL = [b, a]", f"c = {made.format(n=number())}"]
    lines += [f"PART = functools.partial(helper, k={number()})", "METHOD = a.m"]
    lines += ["def f(x, a=a):" if (given := rng.random() < 0.3) else "def f(x):", "    y = x"]
    asks = [t for n in special for t in ASKS.get(n, USES)]
    for _ in range(rng.randint(1, 4)):
        found = fill(pick(pick((asks, asks, USES, PLAIN, READS[family]))))
        lines.append("    " + pick((f"y = y + {found}", f"y = y * 0.5 - {found}", f"if {found} > 2: y = y + 1.0",
            f"for _ in range(2): y = y + {found}")))
    if "__iter__" in special and rng.random() < 0.5:
        lines.append("    " + pick(("for v in a: y = y + v", "p, q = a; y = y + p - q", "p, *q = b; y = y + len(q) + p")))
    if "__bool__" in special or "__len__" in special:
        lines.append("    " + pick(("if a: y = y + 1", "assert a or True", "while not a and y < 3: y = y + 1",
            "y = [y for k in range(2) if b or k][0]")))
    if "__enter__" in special:
        lines.append("    with a as k: y = y + k")
    if rng.random() < 0.5:
        lines += ["    x = np.asarray(x)", *("    " + fill(pick(STORES)) for _ in range(rng.randint(1, 4)))]
    changes = [fill(pick(pick((TOUCHES, TOUCHES, CHANGES, WRITES[family])))) for _ in range(rng.randint(1, 5))]
    return Case(HEAD + "\n".join([*lines, "    return y"]), tuple(changes), given, rng.getrandbits(48))


def method(name, fill):
    extra = ", k=None" if name in TAKES else ""
    text = f"    def {name}(self{extra}):\n        {fill(SPECIAL[name])}"
    text = text.replace("(self)", "(self, dtype=None, copy=None)") if name == "__array__" else text
    if name == "__getattr__":
        text = text.replace("        return",
            "        if k.startswith('__') or k in ('v', 'w', 'n', 'items', 'extra'): raise AttributeError(k)\n        return")
    return text + ("\n    def __exit__(self, *error):\n        return None" if name == "__enter__" else "")


def world(case, which):
    file = f"<objects {case.seed} {which}>"
    linecache.cache[file] = (len(case.text), None, case.text.splitlines(True), file)
    space = {"__name__": "__main__"}
    exec(compile(case.text, file, "exec"), space)
    return space


def answer(f, given):
    try:
        return f(*given)
    except Exception as error:  # whatever the drawn program raises is its answer
        return error


def state(space):
    """What the objects of a world hold: values in one order, and which of them are one object."""
    held = [(n, vars(space[o]).get(n)) for o in ("a", "b") for n in STATE]
    whole = [v for _, v in held if isinstance(v, np.ndarray | list) or v is space["b"]]
    same = [[u is v for u in whole] for v in whole]
    return [v for _, v in held if isinstance(v, np.ndarray | list | float | int | None)], same, space["G"], space["H"]


def differences(case, **options):
    """What the calls of one case come to; options: of `jit`."""
    spaces = world(case, "plain"), world(case, "jit")
    compiled, found = jit(spaces[1]["f"], **options), "agree"
    rng = random.Random(case.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(6):
            x = float(rng.randint(1, 3)) if k != 2 else np.full(2, 1.5)
            want, got = (answer(f, (x, s["a"]) if case.argument else (x,)) for f, s in zip((spaces[0]["f"], compiled), spaces))
            if isinstance(got, WengertError):
                found = "refused"
            elif isinstance(got, Exception) or isinstance(want, Exception):
                if type(got) is not type(want):
                    return f"call {k}: {type(got).__name__} {got!s:.200} for {type(want).__name__} {want!s:.200}"
                if "    x = np.asarray(x)" in case.text:
                    return found  # plain Python has stored what comes before the exception
            else:
                try:
                    agree(got, want, 1e-9)
                    agree(state(spaces[1]), state(spaces[0]), 1e-9)
                except AssertionError as difference:
                    return f"call {k}: {difference!s:.300}"
            for change in rng.sample(case.changes, rng.randint(0, len(case.changes))):
                results = [answer(lambda s: exec(change, s), (s,)) for s in spaces]  # noqa: B023
                if any(isinstance(r, Exception) for r in results):
                    break
    return found


def taking_turns(case):
    """The same where calls are compiled and plain in turns, as those are that are timed."""
    turns = mock.patch.object(contest.Contest, "turn", lambda one: len(one.spent[1]) < len(one.spent[0]))
    with mock.patch.multiple(contest, WARM=0, TURNS=1000), mock.patch.object(backend_choice, "CHOICE", None), turns:
        return differences(case, whole=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--turns", action="store_true", help="compiled calls and plain ones take turns, from the first")
    options = parser.parse_args()
    count = collections.Counter()
    for seed in range(options.first, options.last):
        case = draw(random.Random(seed))
        found = taking_turns(case) if options.turns else differences(case, engine="numpy")
        count[found if found in ("agree", "refused") else "different"] += 1
        if found not in ("agree", "refused"):
            print(f"{seed}: {found}\n{case.text[len(HEAD) :]}\nchanges: {case.changes}\n")
    print(dict(count))


if __name__ == "__main__":
    main()
