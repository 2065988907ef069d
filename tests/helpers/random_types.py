"""Random programs in which numbers of all widths meet: Python's, NumPy's and arrays of them, with types that data choose.

Each is called twice on one kind of data and on data with other dtypes, in either order, and on jax arrays; all that a call leaves is compared:
values, dtypes, Python types, shapes, which objects are one and which share memory, exceptions. Statements are drawn beside plain Python, which runs
the program so far: what it raises for is mostly drawn again, so that programs come to their end.
"""

import copy
import random

import jax
import numpy as np
from draws import Found, Left, apart, attempt, function, same_numbers, shaky
from productions import Grammar

from wengert import jit

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
OFTEN = [*DTYPES[1:12], "i1", "u1", "u8", "i8", "f8", "f4", *DTYPES]
PYTHON = ["int", "float", "bool"]
TWINS = {"i1": "u1", "i2": "u2", "i4": "u4", "i8": "u8", "f4": "f8", "c8": "c16"}
TWINS |= {v: k for k, v in TWINS.items()}
LENGTH = 4
RULES = {
    "arithmetic": ["+", "-", "*", "+", "-", "*", "/", "//", "%"],
    "compare": ["<", "==", ">=", ">", "!="],
    "literal": ["0", "1", "2", "3", "-1", "7", "100", "200", "-128", "255", "300", "70000", "2**31", "-(2**40)", "2**63", "0.5", "1.5", "-2.0",
        "1e10",
                "1e300", "True", "1j"],
    "binary": ["np.add", "np.subtract", "np.multiply", "np.maximum", "np.minimum", "np.floor_divide", "np.remainder", "np.arctan2", "np.hypot",
               "np.fmax", "np.copysign", "np.bitwise_and", "np.gcd", "np.divide", "np.less", "np.equal", "np.logical_or"],
    "unary": ["np.abs", "np.negative", "np.sqrt", "np.square", "np.sign", "np.floor", "np.exp", "np.cumsum", "np.sort", "np.isfinite", "np.rint",
              "np.conj", "np.invert", "np.flip"],
    "fold": ["sum", "max", "min", "mean", "prod", "argmax", "argmin", "any", "all", "std"],
    "scalar": ["int8", "uint8", "int32", "uint64", "float32", "float16", "int64", "float64"],
    "dtype": [*(f"'{d}'" for d in OFTEN), "<name>.dtype", "float", "int"],
    "name": ["a", "b", "c", "x", "y", "x", "y"],
    "target": ["x", "y", "x", "y", "a", "c"],
    "index": ["0", "1", "-1", "k % 4", "<counter>", "<counter>"],
    "counter": ["2"],
    "mask": ["<name> > <number>", "<name> != <name>", "<name> >= <index>", "<name>.astype(bool)"],
    "test": ["<number> > <number>", "<name>[<index>] < 1", "<name>[<index>] > 100", "<name>.any()", "<name>.sum() > <number>", "k > <index>",
             "(<mask>).all()", "not <number>"],
    "other": ["<vector>", "<number>"],
    "vector": [
        "(<vector> <arithmetic> <vector>)", "(<vector> <arithmetic> <number>)", "(<number> <arithmetic> <vector>)", "(<vector> & <other>)",
        "(<vector> ^ <other>)", "(<vector> <compare> <other>)", "<binary>(<vector>, <other>)", "<unary>(<vector>)", "<vector>.astype(<dtype>)",
        "np.where(<mask>, <other>, <other>)", "np.clip(<vector>, <number>, <number>)", "(<vector> ** 2)", "(<vector> ** 3)", "(<vector> ** 0.5)",
        "(<vector> << 3)", "(<vector> >> int(<number>))", "np.full(4, <number>)", "np.array([<number>, <number>, <number>, <number>])",
        "np.concatenate([<vector>[:2], <vector>[2:]])", "<vector>[::-1]", "(<vector> if <test> else <vector>)",
    ],
    "number": [
        "(<number> <arithmetic> <number>)", "(<number> <arithmetic> <number>)", "int(<number>)", "float(<number>)", "bool(<number>)",
        "np.<scalar>(<number>)", "len(<name>[<name> > <number>])", "<name>.<fold>()", "np.sum(<name>, dtype=<dtype>)",
        "(<number> if <test> else <number>)", "max(<number>, <number>)", "min(<number>, <number>)", "abs(<number>)", "-<number>", "round(<number>)",
        "(<number> <compare> <number>)", "<name>[<index>].item()", "(<number> ** 2)", "(<number> ** 0.5)", "<binary>(<number>, <number>)",
        "<name>.dtype.type(<number>)",
    ],
    "statement": [
        "x = <vector>", "y = <vector>", "p = <number>", "q = <number>", "k = int(<number>)", "k = round(<number>)", "k = k + 1", "k = k * 3 - 1",
        "k = len(<name>[<mask>])", "<target>[<index>] = <number>", "<target>[<index>] <update> <number>", "<target>[:] = <other>",
        "<target>[<part>] = <number>", "<target>[<part>] <update> <number>", "<target>[<mask>] = <number>", "<target>[<mask>] <update> <number>",
        "<target> <update> <other>", "<target> <update> <other>", "<target>.fill(<number>)", "np.add(<vector>, <number>, out=<target>)",
        "np.add(<vector>, <number>, out=<target>, casting='unsafe')", "np.copyto(<target>, <other>)",
        "np.copyto(<target>, <other>, casting='unsafe')",
        "np.put(<target>, [0, 2], <number>)", "p, q = q, <number>", "x, y = y, <vector>", "p = <number> if <test> else <number>", "x = <view>",
    ],
    "part": ["1:", ":2", "::2", "::-1"],
    "update": ["+=", "+=", "-=", "*=", "//=", "|=", "**="],
    "view": ["y[::-1]", "a.T", "b[...]", "x.reshape(2, 2).ravel()", "a if <test> else b", "x[<part>]"],
    "tail": ["p = p + e", "q = e", "k += 1", "p = e * p", "k = k + int(e > 1)"],
}  # fmt: skip
LEAVES = {
    "vector": ["<name>"],
    "number": ["s", "t", "p", "q", "k", "<name>[<index>]", "<literal>", "<literal>"],
    "test": ["<name>[0] > 1", "s > t", "p > 0", "k < 2"],
    "mask": ["<name> > 0", "<name> != <name>"],
    "other": ["<name>", "<literal>", "k", "s", "t"],
}


class Program:
    """Writes `f(a, b, c, s, t)`: arrays a, b, c and numbers s, t, of `kinds`; `r` decides."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.kinds = [self.r.choice(OFTEN) for _ in range(3)] + [self.r.choice([*OFTEN, *PYTHON * 4]) for _ in range(2)]
        self.others = [self.other(k) for k in self.kinds]
        self.write = Grammar(self.r, RULES, LEAVES, 2)
        lines, given = ["x, y, p, q, k = a, b.copy(), s, a[1], 0"], numbers(self.kinds, seed)
        for _ in range(self.r.randint(2, 6)):
            for _ in range(6):
                more = self.statement()
                if attempt(function(text_of([*lines, *more], ["x", "y", "p", "q", "k"]), "types drawn"), copy.deepcopy(given)).error is None:
                    lines += more
                    break
            else:
                lines += more if self.r.random() < 0.1 else []
        self.text = text_of(lines, self.r.sample(["x", "y", "p", "q", "k", "a", "b", "c"], self.r.randint(2, 5)))

    def other(self, kind):
        """The kind of an argument in the other calls: of the same width, but signed where it is not."""
        if kind in TWINS and self.r.random() < 0.7:
            return TWINS[kind]
        return self.r.choice(PYTHON if kind in PYTHON else OFTEN)

    def statement(self, depth=0):
        if depth > 1 or self.r.random() > 0.25:
            return [self.write("<statement>")]
        inner = lambda: ["    " + line for _ in range(self.r.randint(1, 2)) for line in self.statement(depth + 1)]
        kind = self.r.random()
        if kind < 0.5:
            return [self.write("if <test>:"), *inner(), *(["else:", *inner()] if self.r.random() < 0.6 else [])]
        if kind < 0.75:
            before, self.write.rules["counter"] = self.write.rules["counter"], [f"i{depth}"]
            body = inner()
            self.write.rules["counter"] = before
            return [f"for i{depth} in range({self.r.choice(['4', '3', 'len(b)'])}):", *body]
        if kind < 0.9:
            return [self.write("for e in <name>.copy():"), *inner(), self.write("    <tail>")]
        return [f"w{depth} = 0", self.write(f"while w{depth} < 3 and <test>:"), f"    w{depth} += 1", *inner()]


def text_of(lines, kept):
    return "import numpy as np\n\ndef f(a, b, c, s, t):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {', '.join(kept)},\n"


def numbers(kinds, seed):
    """Arrays of the first three kinds, numbers of the others; mostly such that arithmetic on them is exact."""
    r = random.Random(f"data {seed}")
    wild = r.random() < 0.3
    return tuple(array(k, r, wild) if n < 3 else number(k, r, wild) for n, k in enumerate(kinds))


def number(kind, r, wild):
    if kind in PYTHON:
        return {"int": r.randint(-3, 9), "float": r.randint(-9, 9) / 4, "bool": r.random() < 0.5}[kind]
    return array(kind, r, wild)[0]


def array(kind, r, wild):
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [r.randint(0 if dtype.kind == "u" else -4, 9) for _ in range(LENGTH)]
        values = [r.choice([info.min, info.max, info.max - 1, info.max // 2]) if wild and r.random() < 0.4 else v for v in values]
    elif dtype.kind == "b":
        values = [r.random() < 0.5 for _ in range(LENGTH)]
    else:
        values = [r.randint(-12, 12) / 4 + (1j * r.randint(-2, 2) if dtype.kind == "c" else 0) for _ in range(LENGTH)]
        values = [r.choice([np.nan, np.inf, -np.inf, -0.0, 0.5, 2.5, 300.0]) if wild and r.random() < 0.3 else v for v in values]
    return np.array(values, dtype)


def plain_numbers(tree):
    """With every array and number as an ndarray: what a program of jax arrays gives are jax arrays."""
    return jax.tree_util.tree_map(np.asarray, tree)


def run(seed, engine="numpy"):
    program = Program(seed)
    text, kinds, others = program.text, program.kinds, program.others
    f, r = function(text, f"types {seed}"), random.Random(f"calls {seed}")
    orders = [[(kinds, seed), (kinds, seed + 1), (others, seed), (kinds, seed)]]
    if r.random() < 0.5:
        orders.append([(others, seed), (others, seed), (kinds, seed)])
    refused, calls = "", 0
    for order in orders:
        compiled = jit(f)
        for n, (of, data) in enumerate(order):
            given, calls = numbers(of, data), calls + 1
            got, want = attempt(compiled, copy.deepcopy(given)), attempt(f, copy.deepcopy(given))
            found = apart(got, want, given)
            if "** 0.5" in text and "float NaN to integer" in found and "where Python raises OverflowError: cannot convert float infinity" in found:
                found = f"explained: minus infinity to the power one half | {found}"
            if found.startswith(("refused", "explained")):
                refused = found
            elif found:
                roundings = shaky(lambda args: attempt(f, args), given, found, got)
                found = f"{found}\n  call {n} of {[k for k, _ in order[: n + 1]]}, on {given!r}"
                return Found("explained" if roundings else "different", "roundings decide | " * roundings + found, text, calls)
    if r.random() < 0.3:
        found, calls = by_jax(f, jit(f), numbers(kinds, seed)), calls + 1
        if found and not found.startswith(("refused", "explained")):
            return Found("different", f"jax arrays of {kinds}: {found}", text, calls)
        refused = refused or found
    return Found.of(refused, text, calls)


def by_jax(f, compiled, given):
    """The same on jax arrays, beside NumPy on arrays that cannot be written either."""
    plain = copy.deepcopy(given)
    for x in plain[:3]:
        x.flags.writeable = False
    with jax.enable_x64(True):
        mine = tuple(jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in given)
    got, want = attempt(compiled, mine), attempt(f, plain)
    error, stored = got.error, type(got.error) is TypeError and str(got.error).startswith("JAX arrays are immutable")
    if stored and want.error is None:
        return "refused: stores into what holds a jax array"
    if stored and type(want.error) is ValueError and "read-only" in str(want.error):  # each as its arrays say it
        error = want.error
    got = Left(plain_numbers(got.result), (), error)
    told = apart(got, Left(plain_numbers(want.result), (), want.error), (), memory=False)
    scalars = lambda tree: jax.tree_util.tree_map(lambda x: x[()], tree)  # of what single numbers differ in is their kind
    wider = told.startswith("differs") and same_numbers(scalars(got.result), scalars(plain_numbers(want.result)))
    return "explained: a wider number" if wider else told
