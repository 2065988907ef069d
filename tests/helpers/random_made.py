"""Random programs that make objects of many classes, return, store and raise them, while the caller changes what it got.

    python tests/helpers/random_made.py [first seed] [how many]
"""

import collections
import contextlib
import functools
import io
import re
import sys
import types

import numpy as np
from draws import print_seeds, reason, run_of, space_of
from productions import Grammar

from wengert import jit
from wengert.tracer.common.errors import WengertError

HEAD = """
import array, collections, functools, types
import numpy as np

class Items(list): pass
class Keyed(dict): pass
class Several(tuple): pass
class Number(float): pass
class Text(str): pass
class Failure(Exception):
    def __init__(self, *args):
        super().__init__(*args)
        self.held = list(args)
class Plain:
    def __init__(self, a, b=None):
        self.a, self.b = a, b
class Slotted:
    __slots__ = ("a", "b")
    def __init__(self, a, b=None):
        self.a, self.b = a, b
Pair = collections.namedtuple("Pair", "a b")

OUT, HELD, THERE, ROW, NAMES = [], types.SimpleNamespace(), Plain(1.5), [1, 2], np.array(["u", "v"])
"""
LEAVES = {
    "e": ["x[0]", "x[1] * 2", "n", "x", "x + 1", "1", "'s'", "None", "2.5", "THERE", "ROW", "NAMES", "<old>"],
    "v": ["x[0]", "n", "1", "'s'", "(2, 'a')", "None"],
}
RULES = {
    "e": [
        "Items([<e>, <e>])", "Keyed(a=<e>, b=<e>)", "Several((<e>, <e>))", "Number(1.5)", "Text('t')", "Failure(<e>, <e>)",
        "ValueError(<e>)", "Plain(<e>, <e>)", "Slotted(<e>)", "Pair(<e>, <e>)", "[<e>, <e>]", "(<e>, <e>)",
        "{'a': <e>, 'b': <e>}", "collections.deque([<e>, <e>], 3)", "collections.OrderedDict(b=<e>, a=<e>)",
        "collections.defaultdict(list, a=<e>)", "collections.Counter('aab')", "{1, 'a'}", "frozenset([1, 'a'])",
        "bytearray(b'ab')", "array.array('d', [1.0])", "np.array(['a', 'bc'])", "np.array(['a', 'b', 'c'])[::-1]",
        "np.array([1, 2], np.longdouble)", "np.array([(1, 2.0)], [('a', int), ('b', float)])",
        "np.array(['2020-01-01'], 'datetime64[D]')", "np.ma.array([1.0, 2.0], mask=[0, 1])",
        "types.SimpleNamespace(a=<e>, b=<e>)", "functools.partial(max, <e>)", "np.zeros(2)", "object()",
    ],
    "old": ["p0", "p1"], "v": ["x[0]", "n", "(x, n)"],
}  # fmt: skip
STATEMENTS = [
    "p0 = <e>", "p1 = <e>", "p1 = <e>", "OUT.append(<e>)", "HELD.q = <e>", "HELD.q = p0", "OUT.append(p1)", "p0 = Plain(<e>)\n    p0.b = <e>",
    "p1 = Items([<e>])\n    p1.append(<e>)", "p1 = Items()\n    p1.more = <e>", "p0 = Number(2.0)\n    p0.more = <e>",
    "if x[0] > 0:\n        p0 = <e>\n    else:\n        p0 = <e>", "if x[0] > 1:\n        raise Failure(<e>, <e>)",
    "if x[0] > 1:\n        raise ValueError(<v>)",
    "if x[1] < 0:\n        raise KeyError(f'{x[0]} of {n}', <v>)", "assert x[1] > -1, <v>", "assert x[1] > -1, f'bad {x}'",
    "try:\n        raise Failure(<e>)\n    except Failure as error:\n        p0 = error.args, error.held",
    "try:\n        if x[0] > 1:\n            raise ValueError(<e>)\n    except ValueError as error:\n        p1 = error.args",
]  # fmt: skip


class Case:
    """A program, whether it may fall back, and how many calls of it there are."""

    def __init__(self, text, whole, numbers):
        self.text, self.whole, self.numbers, self.calls = text, whole, numbers, len(numbers)

    def __str__(self):
        return f"{self.text}\nwhole={self.whole}, {self.numbers}"


def draw(rng):
    write = Grammar(rng, RULES, LEAVES, 2)
    lines = [write(rng.choice(STATEMENTS)) for _ in range(rng.randint(1, 4))]
    result = rng.choice(["p0", "p1", "p0, p1, p0", "[p0, x, p1]", "{'a': p0, 'b': [p1, p0]}", write("<e>")])
    text = "\n    ".join(["def f(x, n):", "p0, p1 = 0, None", *lines, f"return {result}"])
    return Case(text, rng.random() < 0.3, [(rng.choice([-1.5, 0.5, 2.25]), rng.choice([-2.0, -0.5, 3.0]), rng.randint(0, 3)) for _ in range(4)])


VALUES = (int, float, complex, str, bytes, np.generic, type(None), frozenset)


def described(x, met, named):
    """An object as nested tuples of types and texts, of which objects are one, and which of them were there."""
    if isinstance(x, VALUES) and not getattr(x, "__dict__", None):
        return type(x).__name__, str(sorted(map(str, x))) if isinstance(x, frozenset) else repr(x)
    if id(x) in named:
        return "there", named[id(x)]
    inside = lambda values: [described(v, met, named) for v in values]
    if type(x) is tuple:  # which of the equal ones it is, nobody is told
        return "tuple", inside(x)
    if id(x) in met:
        return "again", met[id(x)]
    met[id(x)] = len(met)
    own = getattr(x, "__dict__", {}) if not isinstance(x, np.ndarray) else {}
    held = inside([*own.items()])
    if isinstance(x, np.ndarray):
        return type(x).__name__, str(x.dtype), x.shape, x.strides, repr(x), x.flags.writeable
    if isinstance(x, dict):
        return type(x).__name__, inside(x.items()), held
    if isinstance(x, list | tuple | collections.deque):
        return type(x).__name__, inside(x), held
    if isinstance(x, BaseException):
        return type(x).__name__, inside([x.args]), held
    if isinstance(x, functools.partial):
        return "partial", inside(x.args)
    slots = [getattr(x, name) for name in getattr(type(x), "__slots__", ()) if name in ("a", "b")]
    return type(x).__name__, inside(slots), held or (repr(x) if isinstance(x, set | bytearray) or hasattr(x, "typecode") else "")


def disturb(x, kept):
    """Change an object and what it holds, but what was there before."""
    if isinstance(x, VALUES) and not hasattr(x, "__dict__") or id(x) in kept:
        return
    kept.add(id(x))
    own = getattr(x, "__dict__", {}) if not isinstance(x, np.ndarray | functools.partial) else {}
    held = [*own.values(), *(getattr(x, name, None) for name in getattr(type(x), "__slots__", ()))]
    held += list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, list | tuple | collections.deque) else []
    held += list(x.args) if isinstance(x, BaseException | functools.partial) else []
    for part in held:
        disturb(part, kept)
    if isinstance(x, np.ndarray) and x.flags.writeable:
        np.copyto(np.ma.getdata(x), np.zeros((), x.dtype))
    elif isinstance(x, dict):
        x["disturbed"] = 1
    elif isinstance(x, list | bytearray) or hasattr(x, "typecode"):
        x.append(1)
    elif isinstance(x, set):
        x.add("disturbed")
    if own or isinstance(x, types.SimpleNamespace):
        x.disturbed = 1


def history(f, space, numbers):
    """What calls give, store and raise, one after another, each result being changed before the next."""
    told, seen = [], []
    named = {id(space[name]): name for name in ("THERE", "ROW", "NAMES", "OUT", "HELD")}
    for a, b, n in numbers:
        x, said = np.array([a, b]), io.StringIO()
        before = space["OUT"][:], dict(vars(space["HELD"]))
        try:
            with contextlib.redirect_stdout(said):
                result = f(x, n)
            raised = ""
        except WengertError:
            raise
        except Exception as error:
            # and what it stores stays as it was, see semantics.md
            said = re.sub(r"made compiled|at 0x\w+", "made", str(error)).replace(" made>", ">")
            result, raised = error, f"raises {said}"
            space["OUT"][:] = before[0]
            vars(space["HELD"]).clear()
            vars(space["HELD"]).update(before[1])
        met = {}
        told.append((raised, [described(v, met, named) for v in (result, space["OUT"][:], vars(space["HELD"]), *([] if raised else [x]))]))
        told[-1] += ([result is other for other in seen if type(result) not in (tuple, frozenset)],)
        seen.append(result)
        if not raised:
            disturb(result, {*named, id(x)})
    return told


def differences(case):
    spaces = [space_of(HEAD + case.text, name) for name in ("made", "made compiled")]
    want = history(spaces[0]["f"], spaces[0], case.numbers)
    try:
        got = history(jit(spaces[1]["f"], whole=case.whole), spaces[1], case.numbers)
    except WengertError as error:
        return f"refused: {reason(str(error))}"
    for k, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return f"call {k}: {a}, not {b}"
    return ""


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]), HEAD)
