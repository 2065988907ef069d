"""Random methods that store, delete and look at attributes: by their names, by `__dict__` and `vars`.

    python tests/helpers/random_attributes.py 0 1000

Each program is called some times, on instances that have other attributes before, of other types and in another order.
Results, the attributes afterwards in their order, and exceptions are compared with plain Python's.
"""

import linecache
import re
import sys

import numpy as np
from draws import print_seeds, run_of

from wengert import jit
from wengert.tracer.common.errors import WengertError

NAMES = "abcd"
KINDS = {
    "plain": "class T:\n    pass\n",
    "default": "class T:\n    a = 0.5\n    b = None\n",
    "slots": "class T:\n    __slots__ = ('a', 'b', '__dict__')\n",
    "property": "class T:\n    @property\n    def d(self):\n        return vars(self).get('a', 2.0)\n",
    "setter": "class T:\n    def __setattr__(self, name, value):\n        super().__setattr__(name, value)\n",
}
VALUES = ("k", "1.5", "k * 2", "x[0]", "x + k", "None", "7", "'text'", "getattr(self, '{n}', 3.0)", "self.{n}", "[k, 1.0]", "len(vars(self))")
STORES = (
    "self.{m} = {v}", "self.{m} = {v}", "self.{m} = {v}", "setattr(self, '{m}', {v})", "self.__dict__['{m}'] = {v}", "vars(self)['{m}'] = {v}",
    "self.__dict__.update({{'{m}': {v}, '{n}': k}})", "self.__dict__.update({m}={v})", "vars(self).setdefault('{m}', {v})",
)  # fmt: skip
DELETIONS = ("del self.{m}", "delattr(self, '{m}')", "del self.__dict__['{m}']", "out.append(vars(self).pop('{m}', None))", "del vars(self)['{m}']")
LOOKS = (
    "out.append(hasattr(self, '{m}'))", "out.append(list(vars(self)))", "out.append(dict(self.__dict__))", "out.append('{m}' in vars(self))",
    "out.append(getattr(self, '{m}', None))", "out.append(len(self.__dict__))", "out.append(list(vars(self).items()))", "out.append(self.{m})",
    "out.append(self.{m})", "exec('k')", "out.append(eval('k'))", "out.append(sorted(locals())[:2])", "out.append(sys._getframe().f_code.co_name)",
)  # fmt: skip
TESTS = ("hasattr(self, '{m}')", "'{m}' in vars(self)", "not hasattr(self, '{m}')", "getattr(self, '{m}', None) is not None")


class Case:
    calls = 5

    def __init__(self, r):
        self.kind = r.choice([*KINDS])
        while True:
            lines = [line for _ in range(r.randint(2, 6)) for line in statement(r)]
            if self.kind != "slots" or not any(re.search(r"(__dict__|vars\(self\))(\[|\.\w+\().*\b[ab]\b", line) for line in lines):
                break  # a slot and an item of `__dict__` of one name are two things
        body = "".join(f"    {line}\n" for line in ["out = []", *lines, "return out"])
        self.text = f"{KINDS[self.kind]}\ndef f(self, x, k):\n{body}"
        self.before = [[(n, r.choice([7, 2.5, None, "old", "array", "float64"])) for n in r.sample(NAMES, r.randint(0, 3))] for _ in range(3)]
        self.before = [r.choice(self.before) for _ in range(self.calls)]

    def instance(self, kind, before):
        made = kind.__new__(kind)
        for name, value in before:
            if kind.__name__ != "T" or not isinstance(getattr(kind, name, None), property):
                setattr(made, name, {"array": np.array([1.0, 2.0]), "float64": np.float64(0.25)}.get(value, value))
        return made


def statement(r, depth=0):
    fill = lambda text: text.format(m=r.choice(NAMES), n=r.choice(NAMES), v=r.choice(VALUES).format(n=r.choice(NAMES)))
    kind = r.random()
    if kind < 0.4:
        return [fill(r.choice(STORES))]
    if kind < 0.6:
        return [fill(r.choice(DELETIONS))]
    if kind < 0.85 or depth:
        return [fill(r.choice(LOOKS))]
    return [f"if {fill(r.choice(TESTS))}:", *(f"    {line}" for line in statement(r, 1))]


def draw(r):
    return Case(r)


def outcome(f, made, x, k):
    try:
        found = f(made, x, k)
    except WengertError:
        raise
    except Exception as error:
        return [type(error).__name__]  # a call that fails stores nothing
    names = [n for n in NAMES if n not in vars(made) and n in type(made).__dict__.get("__slots__", ()) and hasattr(made, n)]
    return found, [*vars(made).items()], [(n, getattr(made, n)) for n in names], [*vars(type(made))]


def differences(case, compile=jit):
    spaces = {}, {}
    for space in spaces:
        space["sys"] = sys
        exec(compile_text(case.text), space)
    compiled = compile(spaces[0]["f"])
    for n, before in enumerate(case.before):
        x, k = np.arange(2.0) + n, 0.5 + n
        got, want = (
            outcome(f, case.instance(space["T"], before), x.copy(), k) for f, space in ((compiled, spaces[0]), (spaces[1]["f"], spaces[1]))
        )
        if not alike(got, want):
            return f"call {n}, with {before}: {got} for {want}"
    return None


def compile_text(text):
    name = f"<attributes {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    return compile(text, name, "exec")


def alike(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    return a == b or a is not None and a != a and b != b


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]))
