"""Random programs whose numbers are keys of dicts, members of sets and parts of texts: Python's numbers among the arguments and those of arrays,
in branches and loops.

    python tests/helpers/random_keys.py 0 1000

`draw(rng)` gives a case; `differences(case)` says how plain Python and the compiled function differ over several calls: in results, in the
types and texts of keys, in what is printed, in the dict among the arguments, and in exceptions.
"""

import contextlib
import copy
import io
import sys

import numpy as np
from draws import print_seeds, reason, run_of, space_of

from wengert import jit
from wengert.tracer.common.errors import WengertError

HEAD = """import copy
import numpy as np

class P:
    def __init__(self, x, name):
        self.x, self.name, self.seen = x, name, {}

"""
KEYS = (
    "n", "n + 1", "round(t)", "int(t * 2)", "t", "k[0]", "k[1] % 3", "int(v[0])", "(n, round(t))", "(k[1], 2)", "f'{n}'", "f'{t:.1f}'",
    "str(k[0])", "(n, (t, 1))", "n > 2", "float(n)", "-t", "np.int64(n)", "1", "'a'", "t > 0.5", "q", "len(T)",
)  # fmt: skip
NUMBERS = ("v[0]", "v[1] * 2", "t", "n", "s", "1.5", "len(D)", "len(S)", "D.get(<k>, 0.25)", "k[2]", "float(<k> in S)", "p.x")
TEXTS = (
    "f'{s:.2f}'", "f'{n}'", "f'{t!r}'", "'%d|%.1f' % (n, t)", "'{:>6.1f}'.format(v[0])", "str(k[0])", "str(v[:2].round(2))", "'a'", "T.upper()",
    "p.name", "', '.join([f'{x:.1f}' for x in v])",
)  # fmt: skip
TESTS = ("<k> in S", "<k> not in D", "v[0] > 0", "t > 0.5", "n % 2", "len(S) > 2", "<text> == 'a'", "k[0] in S", "q in S", "s > 1")
TRIPS = ("for q in k:", "for q in range(3):", "for q in k[:2].tolist():", "for q in range(n):")
STATEMENTS = (
    "D[<k>] = <x>", "D[<k>] = <text>", "S.add(<k>)", "S.discard(<k>)", "s = s * 0.5 + <x>", "s = s + D.get(<k>, 1.0) * 2", "d[<k>] = <x>",
    "S = {*S, <k>, <k>}", "D = {**D, <k>: <x>}", "L.append(<text>)", "L.append(<x>)", "T = T + <text>", "T += <text>", "D.setdefault(<k>, [])",
    "D.pop(<k>, None)", "print(<text>, <x>)", "S = S | {<k>}", "S.update([<k>, 7])", "D = {x: s for x in k}", "S = {x % 2 for x in k}",
    "S = set(k)", "p = P(<x>, <text>)", "p.seen[<k>] = <text>", "p = P(s, 'q') if <k> in S else P(t, T)", "s = s + len(<text>)",
    "S = frozenset([<k>, q])", "q = q + 1", "T = 'a' if v[1] > 0 else <text>", "s = s + d[<k>]", "T = <text>.strip() + T", "del D[<k>]",
)  # fmt: skip


class Program:
    def __init__(self, rng):
        self.r = rng
        lines = [line for _ in range(rng.randint(2, 6)) for line in self.statement(0)]
        last = rng.sample(["D", "S", "L", "T", "[*D]", "p", "len(S)", "p.name", "p.seen"], rng.randint(2, 4))
        body = ["D, S, L, T, s, q, p = {}, {1, 2}, [], 'text', 0.5, 1, P(t, 'p')", *lines, f"return s, {', '.join(last)}"]
        self.text = HEAD + "def f(v, k, n, t, d):\n" + "\n".join("    " + line for line in body) + "\n"

    def filled(self, text):
        for _ in range(8):
            for mark, choices in (("<text>", TEXTS), ("<x>", NUMBERS), ("<k>", KEYS)):
                text = text.replace(mark, self.r.choice(choices), 1)
        return text

    def statement(self, depth):
        r, kind = self.r, self.r.randint(0, 17)
        if kind <= 2 and depth < 2:
            other = ["else:", *self.block(depth)] if r.random() < 0.5 else []
            return [self.filled(f"if {r.choice(TESTS)}:"), *self.block(depth), *other]
        if kind <= 4 and depth < 2:
            return [r.choice(TRIPS), *self.block(depth)]
        return [self.filled(r.choice(STATEMENTS))]

    def block(self, depth):
        lines = [line for _ in range(self.r.randint(1, 2)) for line in self.statement(depth + 1)]
        return ["    " + line for line in lines]


class Case:
    """A program, and the arguments of its calls."""

    def __init__(self, text, calls, whole):
        self.text, self.arguments, self.whole, self.calls = text, calls, whole, len(calls)

    def __str__(self):
        return "\n".join([self.text, f"whole={self.whole}", *map(repr, self.arguments)])


def draw(rng):
    text = Program(rng).text
    calls = []
    for _ in range(4):
        v = np.array([rng.choice([-1.5, 0.5, 2.25, -0.0, 3.0]) for _ in range(4)])
        k = np.array([rng.randint(0, 4) for _ in range(3)])
        calls.append((v, k, rng.randint(0, 3), rng.choice([0.0, 0.3, 1.0, 2.6, -0.0]), {1: 0.5, 2: 1.5}))
    return Case(text, calls, rng.random() < 0.6)


def described(x, met):
    """A result as nested tuples of types and texts, and of which objects are one; numbers are rounded."""
    instance = hasattr(x, "__dict__") and not isinstance(x, np.ndarray | dict)
    if isinstance(x, dict | list | tuple | set | frozenset) or instance:
        if not isinstance(x, tuple | frozenset):
            if id(x) in met:
                return "again", met[id(x)]
            met[id(x)] = len(met)
        if isinstance(x, set | frozenset):
            return type(x).__name__, sorted(str(described(y, met)) for y in x)
        if isinstance(x, dict):
            return "dict", [(described(k, met), described(y, met)) for k, y in x.items()]
        return type(x).__name__, [described(y, met) for y in (vars(x).values() if instance else x)]
    if isinstance(x, np.ndarray):
        return "array", x.dtype.name, x.shape, [described(y, met) for y in x.ravel()]
    if isinstance(x, float):
        return type(x).__name__, repr(float(f"{x:.9g}"))
    return type(x).__name__, repr(x)


def outcome(f, given):
    """What a call gives, prints and changes, or the exception it raises."""
    given, said = copy.deepcopy(given), io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            result = f(*given)
    except WengertError:
        raise
    except Exception as error:
        return type(error).__name__, said.getvalue()  # and what it changes stays as it was, see semantics.md
    return described((result, given), {}), said.getvalue()


def differences(case):
    """Of a case with a text, arguments, and whether it is to be compiled as a whole."""
    plain = space_of(case.text, "plain")["f"]
    mine = jit(space_of(case.text, "compiled")["f"], whole=case.whole)
    for k, given in enumerate(case.arguments):
        want = outcome(plain, given)
        try:
            got = outcome(mine, given)
        except WengertError as error:
            return f"refused: {reason(str(error))}"
        if want != got:
            return f"call {k}: {got}, not {want}"
    return ""


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]), HEAD)
