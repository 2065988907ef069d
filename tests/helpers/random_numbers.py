"""Random expressions, stores and calls that mix Python's numbers with NumPy's of all widths; run as a script it tries many.

    python tests/helpers/random_numbers.py 0 1000 [--xla] [--seconds 20]

Python's ints and floats are literals or made from data: int(x), len(x[x > 0]), counters of loops, round, //. Value, dtype, Python type,
class of the exception and what is left in the arrays are compared with plain Python's, of two calls. Programs run as generated NumPy;
--xla: by XLA. "other error": both raise, but something else, as where one call has several mistakes.
`draw(rng)` is a case, `differences(case)` what differs or None; `outcome(seed)` is "agree", "refused" (an error of ours), "other error", or
a description of a difference.
"""

import argparse
import cmath
import collections
import copy
import linecache
import random
import time
import warnings
from typing import NamedTuple

import numpy as np
from compare import agree

from wengert import jit
from wengert.tracer.common.errors import WengertError

DTYPES = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
WHOLE = [d for d in DTYPES if d[0] in "iu"]
EDGES = sorted({s * (2**b) + k for b in (0, 3, 7, 8, 15, 16, 31, 32) for s in (1, -1) for k in (-1, 0, 1)})
FAR = [2**53 + 1, -(2**53) - 1, 2**62 + 3, -(2**62), 2**63 - 1, -(2**63)]
BEYOND = [2**63, -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 2**63 + 5, 2**70, -(2**70) + 1, 2**100 - 1]
FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, -1.0, 2.0, 3.7, -7.25, 100.5, 1e5, 7e4, 1e10, -1e10, 1e160, 1e300, float("inf"), float("-inf"), float("nan")]
REFUSED = (WengertError,)
UNSAID = "is complex in Python", "Cannot cast", "not supported for the input types"  # of another type, or of a branch that is not taken
ARITHMETIC = "+ - * / // % **".split()
BITS = "& | ^ << >>".split()
TWO = "pow fmod atan2 hypot log copysign remainder".split()  # of math
ORDER = "< <= > >= == !=".split()
UFUNCS = """add subtract multiply true_divide floor_divide remainder power maximum minimum fmax fmin gcd lcm hypot arctan2 copysign logaddexp
    bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal less less_equal greater greater_equal logical_and logical_or
    fmod divmod heaviside float_power nextafter""".split()
CALLS = """np.where({t}, {a}, {n}) | np.where({t}, {n}, {a}) | np.select([{t}], [{a}], {n}) | np.clip({a}, {n}, {m}) | {a}.clip({n}, {m})
    {a}.clip({n}) | np.clip({a}, None, {n}) | np.full(3, {n}, '{d}') | np.full_like({a}, {n}) | np.full(3, {n}) | np.array([{n}, {m}], '{d}')
    np.array([{n}, {m}]) | np.asarray([{n}, {a}[0]]) | np.array({n}, '{d}') | np.array([[{n}], [{m}]], dtype='{d}') | np.append({a}, {n})
    np.insert({a}, 0, {n}) | np.concatenate([{a}, [{n}]]) | np.hstack([{a}, {n}]) | np.stack([{a}[0], {n}]) | np.sum({a}, initial={n})
    np.max({a}, initial={n}) | np.minimum.reduce({a}, initial={n}) | np.pad({a}, 1, constant_values={n}) | np.isin({a}, {n})
    np.isin({a}, [{n}, {m}]) | np.searchsorted(np.sort({a}), {n}) | np.dot({a}, {n}) | np.outer({a}, {n}) | np.multiply.outer({a}, {n})
    np.add.outer({a}, [{n}, {m}]) | np.kron({a}, {n}) | np.diff({a}, prepend={n}) | np.polyval([{n}, {m}], {a}) | np.isclose({a}, {n})
    np.allclose({a}, {n}) | np.array_equal({a}, [{n}] * 3) | np.choose([0, 1, 0], [{a}, {n}]) | np.linspace({n}, {m}, 3)
    np.interp({n}, [0, 1, 2], [3., 4., 5.]) | np.{d_}({n}) | np.result_type({a}, {n}) | np.array([{n}]).astype('{d}') | np.float32({n})
    np.trapezoid({a}, dx={n}) | np.ediff1d({a}, to_begin={n}) | np.nan_to_num({a}, nan={n}) | np.digitize({a}, [{n}]) | np.roll({a}, {n})
    np.count_nonzero({a} == {n}) | np.abs({n}) | np.sign({n}) | np.sqrt({n}) | np.negative({n}) | np.square({n}) | np.mean([{n}, {m}])
    np.cumsum([{n}, {m}]) | np.zeros(3, '{d}') + {n} | np.ones((2, 3), '{d}') * [{n}, {m}, 1] | sum([{n}, {m}]) | max({n}, {m})
    min({n}, {a}[0]) | np.prod([{n}, {m}]) | np.add({a}, {n}, dtype='{d}') | np.copysign({n}, {a}) | np.floor_divide({n}, {a})
    np.power({a}, {n}) | np.subtract({n}, {a}) | np.round({n}, 1)"""
STORES = """{a}[0] = {n} | {a}[:] = {n} | {a}[...] = {n} | {a}[1:] = {n} | {a}[{t}] = {n} | {a}[[0, 2]] = {n} | {a}[[0, 1]] = [{n}, {m}]
    {a}[:] = [{n}, {m}, 1] | {a}.fill({n}) | {a} += {n} | {a} -= {n} | {a} *= {n} | {a} //= {n} | {a} **= {n} | {a} |= {n} | {a} <<= {n}
    {a} /= {n} | {a}[1:] += {n} | {a}[0] += {n} | np.put({a}, [0, 1], {n}) | np.put({a}, [0, 1], [{n}, {m}]) | {a}.put([0], {n})
    np.place({a}, {t}, {n}) | np.place({a}, {t}, [{n}, {m}]) | np.putmask({a}, {t}, {n}) | np.putmask({a}, {t}, [{n}, {m}])
    np.copyto({a}, {n}) | np.copyto({a}, {n}, casting='unsafe') | np.copyto({a}, {n}, where={t})
    np.copyto({a}, [{n}, {m}, 0], casting='unsafe') | np.add({a}, {n}, out={a}) | np.multiply({a}, {n}, out={a}, casting='unsafe')
    np.maximum({a}, {n}, {a}) | np.add.at({a}, [0, 0], {n}) | {a}.flat[1] = {n} | {a}.flat = {n} | {a}.flat[:] = [{n}, {m}]
    np.clip({a}, {n}, {m}, out={a}) | np.add({a}, {n}, out={a}, where={t}) | np.fill_diagonal({a}.reshape(1, 3), {n})
    np.less({a}, {n}, out={a}, casting='unsafe') | {a}[:, None][1] = {n} | {a}.reshape(3, 1)[:] = {n} | {a}[2:0:-1] = {n}"""
CALLS, STORES = ([c.strip() for line in text.splitlines() for c in line.split(" | ")] for text in (CALLS, STORES))
NAMES = dict(zip(DTYPES, "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()))


class Case(NamedTuple):
    source: str
    arguments: tuple  # a, b: arrays; x: float64 array; s: a number
    state: tuple = ()  # errors for which np.errstate around a third call asks for an exception


class Draw:
    """The text of one case."""

    def __init__(self, rng):
        self.rng, self.lines, self.names = rng, [], []

    def one(self, *options):
        return self.rng.choice(options)

    def literal(self):
        r = self.rng.random()
        return str(self.rng.choice(EDGES) if r < 0.75 else self.rng.choice(FAR) if r < 0.8 else self.rng.randint(-4, 9))

    def whole(self, deep=2):
        """A Python int: literal, or made from data."""
        i, r = self.rng.randrange(3), self.rng.random()
        if r < 0.15:
            return self.literal()
        if r < 0.45 or not deep:
            last = f"b[{i}].real.item()" if self.kind != "f" else f"int(b[{i}])"
            return self.one(f"int(x[{i}])", f"int(x[{i}])", f"int(a[{i}].real)", "int(s)", last)
        if r < 0.6:
            return self.one("len(x[x > 0])", "len(a[a != 0])", f"round(float(x[{i}]))", f"bool(x[{i}] > 1)", f"math.floor(x[{i}])")
        if r < 0.7:
            return self.counter()
        n, m = self.whole(deep - 1), self.whole(deep - 1)
        if r < 0.75:
            big = self.rng.choice(BEYOND)
            others = f"min({n}, {big})", f"max({n}, {big})", f"({n} < {big})", f"divmod({n}, {big})[0]"
            return self.one(*(f"({n} {op} {big})" for op in "% // & |".split()), *others)
        return self.one(
            f"({n} + {m})", f"({n} - {m})", f"({n} * {m})", f"({n} // {m})", f"({n} % {m})", f"(-{n})", f"abs({n})", f"min({n}, 100)", f"max({n}, 0)",
            f"({n} & 255)", f"divmod({n}, {m})[{self.rng.randrange(2)}]", f"({n} if x[{i}] > 0.7 else {m})", f"({n} >> 2)", f"(~{n})",
            f"sum([{n}, {m}])",
        )  # fmt: skip

    def counter(self):
        """A Python int that a loop carries."""
        k, step = f"k{len(self.lines)}", self.rng.choice([1, 2, 50, 100, -1, -70])
        self.lines += self.one(
            [f"{k} = 0", "for v in x:", "    if v > 0.4:", f"        {k} += {step}"],
            [f"{k} = {self.rng.randint(-2, 5)}", f"for i in range({self.rng.randint(1, 9)}):", f"    {k} = {k} + i * {step}"],
            [f"{k} = 1", f"while {k} < {self.rng.choice([9, 127, 130, 300])} and x[0] > 0:", f"    {k} = {k} * 2"],
            [f"{k} = 7", "if x[1] > 1:", f"    {k} = {self.literal()}"],
        )
        return k

    def real(self):
        """A Python float."""
        i = self.rng.randrange(3)
        if self.rng.random() < 0.3:
            return self.one("2.0", "0.0", "-1.0", "0.5", "1e300", "400.0", "-2.0", "3.0", "1e-3")
        return self.one(f"float(x[{i}])", f"float(x[{i}])", "s", "s", f"({self.whole(1)} / 4)", f"({self.whole(1)} + 0.5)", f"(s * float(x[{i}]))")

    def power(self, n):
        """An exponent of ints, which Python takes as they are."""
        return self.one("0", "1", "2", "3", "-1", "-2", "0.5", f"({n} % 7)" if n.startswith(("int", "len", "round", "(int")) else "4")

    def number(self):
        """A Python number, or now and then a NumPy scalar."""
        r, i = self.rng.random(), self.rng.randrange(3)
        if r < 0.65:
            return self.whole()
        if r < 0.85:
            return self.real()
        return self.one(f"a[{i}]", f"b[{i}]", f"np.{NAMES[self.one(*DTYPES)]}(1)", f"x[{i}]", "x.sum()", "complex(x[0], 1)")

    def array(self):
        return self.one("a", "a", "b", "a[::-1]", "x", "np.sort(b)", f"np.arange(3, dtype='{self.one(*WHOLE)}')", "(a + a)")

    def parts(self):
        d = self.one(*DTYPES)
        return {
            "a": self.array(), "n": self.number(), "m": self.number(), "d": d, "d_": NAMES[d],
            "t": self.one("x > 0.6", "a != 0", "[True, False, True]", "np.array([True, True, False])"),
        }  # fmt: skip

    def result(self):
        r, p, one = self.rng.random(), self.parts(), self.one
        if r < 0.1:
            op = one(*ARITHMETIC * 2, *ORDER, *BITS)
            left, right = one(self.number(), self.real(), self.whole()), one(self.number(), self.whole())
            return f"{left} {op} {self.power(right) if op in ('**', '<<') else right}"
        if r < 0.3:
            x, y = one(p["a"], f"{p['a']}[1]"), p["n"]
            x, y = (x, y) if self.rng.random() < 0.6 else (y, x)
            return f"{x} {one(*ARITHMETIC, *ORDER, *ORDER, *BITS)} {y}"
        if r < 0.45:
            x, y = (p["a"], p["n"]) if self.rng.random() < 0.6 else (p["n"], p["a"])
            return f"np.{one(*UFUNCS)}({x}, {y})"
        return self.python() if r < 0.55 else one(*CALLS).format(**p)

    def python(self):
        """What Python and its math make of numbers."""
        x, y, n, one = self.real(), self.real(), self.whole(), self.one
        name, two = one(*"sqrt exp log sin tan acos sinh log1p expm1 floor ceil trunc gamma lgamma atanh cosh log2".split()), one(*TWO)
        if self.rng.random() < 0.2:
            x, big = one(x, n, n), self.rng.choice(BEYOND)
            x, y = (x, big) if self.rng.random() < 0.7 else (big, x)
            return f"{x} {one(*ARITHMETIC[:-1], *ORDER, *BITS[:3], '>>')} {y}"
        return one(
            f"math.{name}({x})", f"math.{two}({x}, {y})", f"int({x})", f"round({x})", f"round({x}, {one('1', '-1', '0')})", f"divmod({x}, {y})",
            f"float({n})", f"complex({x}, 1) {one('/', '**', '*')} complex({y}, {x})", f"abs(complex({x}, {y}))", f"{x} ** {y}", f"{x} ** {n}",
            f"{n} ** {self.power(self.whole(0))}", f"{n} / {self.whole()}",
        )  # fmt: skip

    def store(self):
        return self.one(*STORES).format(**{**self.parts(), "a": self.one("a", "a", "b")})

    def case(self):
        first, second = (self.one(*DTYPES) if self.rng.random() < 0.3 else self.one(*WHOLE) for _ in range(2))
        self.kind = second[0]
        number = self.rng.choice(FLOATS[:14] if self.rng.random() < 0.8 else FLOATS)
        arguments = array(self.rng, first), array(self.rng, second), numbers(self.rng), number
        ends = []
        if self.rng.random() < 0.4:
            statement, where = self.store(), self.rng.random()
            if where < 0.2:
                ends = ["for i in range(3):", "    " + statement]
            elif where < 0.4:
                ends = ["if x[2] > 0.7:", "    " + statement]
            else:
                ends = [statement]
            ends += ["return a" if self.rng.random() < 0.5 else f"return {self.result()}"]
        else:
            ends = [f"return {self.result()}"]
        body = "".join(f"    {line}\n" for line in (*self.lines, *ends))
        errors = self.rng.sample(["divide", "over", "under", "invalid"], self.rng.randint(1, 4)) if self.rng.random() < 0.06 else []
        return Case(f"import math\nimport numpy as np\ndef f(a, b, x, s):\n{body}", arguments, tuple(errors))


def array(rng, dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([rng.random() < 0.5 for _ in range(3)])
    if kind in "iu":
        info = np.iinfo(dtype)
        near = [0, 1, 2, 3, 5, 100, info.max, info.max - 1, info.min, info.min + 1]
        return np.array([rng.choice(near[: rng.choice([6, 10])]) for _ in range(3)], dtype)
    found = np.array([rng.choice([0.0, 0.5, 1.0, -1.5, 3.0, 100.0, 6e4, 2.0]) for _ in range(3)])
    return (found + (found[::-1] * 1j if kind == "c" else 0)).astype(dtype)


def numbers(rng):
    usual = rng.random() < 0.85
    return np.array([rng.choice(FLOATS[:10] if rng.random() < 0.5 else [float(e) for e in EDGES]) if usual else rng.choice(FLOATS) for _ in range(3)])


def draw(rng):
    """A case of `random.Random` rng."""
    return Draw(rng).case()


def function(case):
    file = f"<numbers {hash(case.source)}>"
    linecache.cache[file] = (len(case.source), None, case.source.splitlines(True), file)
    space = {}
    exec(compile(case.source, file, "exec"), space)
    return space["f"]


def attempt(f, arguments):
    """(result, arguments afterwards, exception)."""
    given = copy.deepcopy(arguments)
    try:
        return f(*given), given, None
    except Exception as error:
        return None, given, error


def judged(case, **options):
    """("agree", "refused" or "different", a text)."""
    f = function(case)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want, left, raised = attempt(f, case.arguments)
        if isinstance(raised, NameError | SyntaxError | AttributeError):
            return "agree", "no program"
        compiled = jit(f, **options)
        for call in ("first", "second"):
            got, mine, error = attempt(compiled, case.arguments)
            if error is not None and isinstance(error, REFUSED) and not (raised is not None and isinstance(error, type(raised))):
                return "refused", f"{type(error).__name__}: {str(error).splitlines()[0]}"
            if error is not None and raised is None and any(words in str(error) for words in UNSAID):
                return "refused", str(error).splitlines()[0]
            if isinstance(raised, ArithmeticError | ValueError | TypeError) and isinstance(error, ArithmeticError | ValueError | TypeError):
                if not isinstance(error, type(raised)):
                    return "other error", told(None, error)  # what of several mistakes comes first
            shown = f"{call} call: {told(got, error)} for {told(want, raised)}"
            if type(got) is complex and "** complex(" in case.source and lost(got, want, raised):
                return "other error", shown  # a power of complex numbers that is beyond the range on the way
            if (error is None) != (raised is None):
                return "different", shown
            try:
                if raised is None:
                    agree(got, want)
                    agree(mine, left)
                else:
                    agree(mine, case.arguments)
            except AssertionError as difference:
                return "different", f"{shown}; {' '.join(str(difference).split())[:200]}; {mine} for {left}"
        if case.state and raised is None:
            with np.errstate(**dict.fromkeys(case.state, "raise")):
                _, left, raised = attempt(f, case.arguments)
                _, mine, error = attempt(compiled, case.arguments)
            if type(error) is not type(raised):
                return "different", f"where {case.state} raise: {told(None, error)} for {told(None, raised)}"
            agree(mine, left)
    return "agree", ""


def lost(got, want, raised):
    """Whether Python has no finite complex power, and the program has none or nothing is left of it."""
    none = isinstance(raised, ArithmeticError) or type(want) is complex and not cmath.isfinite(want)
    return none and (not cmath.isfinite(got) or got == 0)


def told(result, error):
    return f"{type(error).__name__}({str(error).splitlines()[0]})" if error is not None else f"{result!r}"


def differences(case, **options):
    """What differs between a case compiled and plain, as a text; None where nothing does, or the program is refused."""
    verdict, text = judged(case, **options)
    return f"{case.source}{case.arguments}\n{text}" if verdict == "different" else None


def outcome(seed, **options):
    case = draw(random.Random(seed))
    verdict, text = judged(case, **options)
    return verdict if verdict != "different" else f"{case.source}{case.arguments}\n{text}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--refused", action="store_true", help="tell what is refused, and why")
    asked = parser.parse_args()
    tally, reasons, end = collections.Counter(), collections.Counter(), time.monotonic() + asked.seconds
    for seed in range(asked.first, asked.last):
        if time.monotonic() > end:
            break
        case = draw(random.Random(seed))
        verdict, text = judged(case, engine="xla" if asked.xla else "numpy")
        tally[verdict] += 1
        if verdict == "refused":
            reasons[text] += 1
        if verdict == "different":
            print(f"--- seed {seed}\n{case.source}{case.arguments}\n{text}", flush=True)
    print(dict(tally))
    if asked.refused:
        for reason, count in reasons.most_common(40):
            print(count, reason)


if __name__ == "__main__":
    main()
