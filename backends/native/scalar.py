"""One scalar operation of the IR as LLVM instructions: op ->
`(code, operand dtype, result dtype, *registers, **attrs) -> register`.

What each means is the op's NumPy body; the forms here are mended where LLVM leaves a case undefined: division by
zero, shifts past the last place, floats beyond the integers.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...ir.op import Cost
from ...ir.ops import OPS
from ...ir.table import RuleTable
from .code import chosen, compare, intrinsic, llvm_type
from .code import llvm_literal as literal
from .exponential import expm1, tanh
from .library import library

# (code, dtype of the operands, of the result, *names of operands) -> name of the result
NativeRule: TypeAlias = Callable[..., str]

NATIVE: RuleTable[NativeRule] = RuleTable("native form")
# op that calls the C library, which XLA has vector forms of -> {function: of how many numbers}
CALLS: dict[object, dict[str, int]] = {}
SLOW = {op for op in OPS.values() if op.cost is Cost.DIVISION} | {OPS["rem"]}  # a remainder of integers is a division
MULTIPLIED = 16  # fact: whole powers up to this are products


def scalar_rule(*names):
    def add(function):
        for name in names:
            NATIVE[OPS[name]] = function
        return function

    return add


def arithmetic(name, whole, real):
    """An instruction for integers and one for floats."""
    @scalar_rule(name)
    def run(code, d, out, x, y):
        return code.op(f"{real if d.kind == 'f' else whole} {llvm_type(d)} {x}, {y}")

    return run


add, sub, mul = (arithmetic(name, name, f"f{name}") for name in ("add", "sub", "mul"))


@scalar_rule("div")
def div(code, d, out, x, y):
    return code.op(f"fdiv {llvm_type(d)} {x}, {y}")


@scalar_rule("strong_mul")
def strong_mul(code, d, out, x, y):
    return chosen(code, compare(code, "eq", d, x, literal(0, d)), d, x, mul(code, d, d, x, y))


@scalar_rule("neg")
def neg(code, d, out, x):
    return code.op(f"fneg {llvm_type(d)} {x}" if d.kind == "f" else f"sub {llvm_type(d)} 0, {x}")


@scalar_rule("abs")
def absolute(code, d, out, x):
    if d.kind == "f":
        return intrinsic(code, "fabs", d, x)
    return x if d.kind == "u" else chosen(code, compare(code, "lt", d, x, "0"), d, neg(code, d, d, x), x)


@scalar_rule("sign")
def sign(code, d, out, x):
    one, zero = literal(1, d), literal(0, d)
    if d.kind == "u":
        return chosen(code, compare(code, "ne", d, x, zero), d, one, zero)
    out = zero if d.kind == "i" else chosen(code, compare(code, "eq", d, x, zero), d, zero, x)  # NaN stays
    out = chosen(code, compare(code, "lt", d, x, zero), d, literal(-1, d), out)
    return chosen(code, compare(code, "gt", d, x, zero), d, one, out)


def divided(code, d, x, y):
    """(y, or 1 where x / y is undefined; whether y = 0; whether y = -1)"""
    t = llvm_type(d)
    nothing = compare(code, "eq", d, y, "0")
    turned = compare(code, "eq", d, y, "-1") if d.kind == "i" else "false"
    bad = code.op(f"or i1 {nothing}, {turned}")
    return code.op(f"select i1 {bad}, {t} 1, {t} {y}"), nothing, turned


@scalar_rule("quotient")
def quotient(code, d, out, x, y):
    safe, nothing, turned = divided(code, d, x, y)
    z = code.op(f"{d.kind.replace('i', 's')}div {llvm_type(d)} {x}, {safe}")
    return chosen(code, nothing, d, "0", chosen(code, turned, d, neg(code, d, d, x), z))


@scalar_rule("rem")
def rem(code, d, out, x, y):
    if d.kind == "f":
        return library(code, "fmod", d, x, y)
    safe, nothing, turned = divided(code, d, x, y)
    z = code.op(f"{d.kind.replace('i', 's')}rem {llvm_type(d)} {x}, {safe}")
    return chosen(code, code.op(f"or i1 {nothing}, {turned}"), d, "0", z)


@scalar_rule("pow")
def power(code, d, out, x, y):
    return library(code, "pow", d, x, y)


@scalar_rule("integer_pow")
def integer_pow(code, d, out, x, *, n):
    if abs(n) > MULTIPLIED and d.kind == "f":
        return library(code, "pow", d, x, literal(n, d))
    return by_squaring(code, d, x, n, mul, div)


def by_squaring(code, d, x, n, mul, div):
    """x**n as products, and a quotient where n is negative."""
    result, square, k = None, x, abs(n)
    while k:
        if k & 1:
            result = square if result is None else mul(code, d, d, result, square)
        k >>= 1
        square = mul(code, d, d, square, square) if k else square
    result = literal(1, d) if result is None else result
    return div(code, d, d, literal(1, d), result) if n < 0 else result


@scalar_rule("sqrt")
def sqrt(code, d, out, x):
    return intrinsic(code, "sqrt", d, x)


@scalar_rule("rsqrt")
def rsqrt(code, d, out, x):
    return div(code, d, d, literal(1, d), sqrt(code, d, d, x))


def extreme(name, float_name, of_bool):
    @scalar_rule(name)
    def run(code, d, out, x, y):
        if d.kind == "b":
            return code.op(f"{of_bool} i1 {x}, {y}")
        return intrinsic(code, name if d.kind == "f" else f"{d.kind.replace('i', 's')}{float_name}", d, x, y)

    return run


maximum, minimum = extreme("maximum", "max", "or"), extreme("minimum", "min", "and")


@scalar_rule("clamp")
def clamp(code, d, out, low, x, high):
    if d.kind != "f":
        return minimum(code, d, d, maximum(code, d, d, x, low), high)
    for kind, bound in (("ge", low), ("le", high)):
        within = code.op(f"or i1 {compare(code, kind, d, x, bound)}, {compare(code, 'ne', d, x, x)}")
        x = chosen(code, within, d, x, bound)
    return x


@scalar_rule("copysign")
def copysign(code, d, out, x, y):
    return intrinsic(code, "copysign", d, x, y)


for name, spelled in {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint"}.items():
    scalar_rule(name)(lambda code, d, out, x, spelled=spelled: intrinsic(code, spelled, d, x))

scalar_rule("rounded", "stop_gradient")(lambda code, d, out, x: x)  # nothing is contracted


@scalar_rule("is_finite")
def is_finite(code, d, out, x):
    return code.op(f"fcmp olt {llvm_type(d)} {absolute(code, d, d, x)}, {literal(np.inf, d)}")


for kind in ("eq", "ne", "lt", "le", "gt", "ge"):
    scalar_rule(kind)(lambda code, d, out, x, y, kind=kind: compare(code, kind, d, x, y))

for name in ("and", "or", "xor"):
    scalar_rule(name)(lambda code, d, out, x, y, name=name: code.op(f"{name} {llvm_type(d)} {x}, {y}"))


@scalar_rule("not")
def not_(code, d, out, x):
    return code.op(f"xor {llvm_type(d)} {x}, {'true' if d.kind == 'b' else -1}")


def shift_in_range(code, d, y):
    """(whether y is a place of the dtype, y or 0)"""
    there = code.op(f"icmp ult {llvm_type(d)} {y}, {8 * d.itemsize}")
    return there, chosen(code, there, d, y, "0")


@scalar_rule("shift_left")
def shift_left(code, d, out, x, y):
    there, y = shift_in_range(code, d, y)
    return chosen(code, there, d, code.op(f"shl {llvm_type(d)} {x}, {y}"), "0")


@scalar_rule("shift_right")
def shift_right(code, d, out, x, y):
    there, y = shift_in_range(code, d, y)
    t, last = llvm_type(d), 8 * d.itemsize - 1
    if d.kind == "i":
        return code.op(f"ashr {t} {x}, {chosen(code, there, d, y, str(last))}")
    return chosen(code, there, d, code.op(f"lshr {t} {x}, {y}"), "0")


def resized(code, x, a, b):
    """An integer or bool register of dtype a in the width of integer dtype b."""
    s, t = llvm_type(a), llvm_type(b)
    if s == t:
        return x
    wider = int(t[1:]) > int(s[1:])
    return code.op(f"{('sext' if a.kind == 'i' else 'zext') if wider else 'trunc'} {s} {x} to {t}")


@scalar_rule("population_count")
def population_count(code, d, out, x):
    return resized(code, intrinsic(code, "ctpop", d, absolute(code, d, d, x)), np.dtype(f"u{d.itemsize}"), out)


@scalar_rule("clz")
def clz(code, d, out, x):
    t = llvm_type(d)
    return code.call(f"llvm.ctlz.{t}", t, (t, x), ("i1", "false"))


@scalar_rule("select")
def select(code, d, out, c, x, y):
    return chosen(code, c, out, x, y)


@scalar_rule("bitcast")
def bitcast(code, d, out, x, *, dtype):
    s, t = llvm_type(d), llvm_type(out)
    return x if s == t else code.op(f"bitcast {s} {x} to {t}")


@scalar_rule("cast")
def cast(code, d, out, x, *, dtype):
    s, t = llvm_type(d), llvm_type(out)
    if d == out:
        return x
    if out.kind == "b":
        return compare(code, "ne", d, x, literal(0, d))
    if d.kind == "f":
        if out.kind != "f":
            return to_integer(code, x, d, out)
        return code.op(f"{'fpext' if out.itemsize > d.itemsize else 'fptrunc'} {s} {x} to {t}")
    if out.kind == "f":
        return code.op(f"{'sitofp' if d.kind == 'i' else 'uitofp'} {s} {x} to {t}")
    return resized(code, x, d, out)


def to_integer(code, x, d, out):
    """As x86-64 has it, out of range and of NaN too: through int32 or int64, whose smallest number stands for what does
    not fit."""
    wide, s = np.dtype("i8" if out.itemsize == 8 or out == np.uint32 else "i4"), llvm_type(d)
    if out == np.uint64:
        end = literal(2.0**63, d)
        low, signed = code.op(f"fcmp ult {s} {x}, {end}"), np.dtype("i8")
        above = to_integer(code, code.op(f"fsub {s} {x}, {end}"), d, signed)
        above = code.op(f"xor i64 {above}, {-(2**63)}")
        return chosen(code, low, signed, to_integer(code, x, d, signed), above)
    end = 2.0 ** (8 * wide.itemsize - 1)
    fits = code.op(
        f"and i1 {compare(code, 'ge', d, x, literal(-end, d))}, {compare(code, 'lt', d, x, literal(end, d))}"
    )
    whole = chosen(code, fits, wide, code.op(f"fptosi {s} {x} to {llvm_type(wide)}"), str(np.iinfo(wide).min))
    return resized(code, whole, wide, out)


# -- calculus: the C library's ---------------------------------------------------------------------

POLYNOMIALS = {"expm1": expm1, "tanh": tanh}  # op -> its form as arithmetic
LIBRARY = {  # op -> C function of the same meaning
    "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sin": "sin", "cos": "cos",
    "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "atan2": "atan2", "sinh": "sinh", "cosh": "cosh",
    "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "hypot": "hypot", "cbrt": "cbrt", "nextafter": "nextafter",
}  # fmt: skip
for name, function in LIBRARY.items():
    scalar_rule(name)(lambda code, d, out, *xs, function=function: library(code, function, d, *xs))


for name, form in POLYNOMIALS.items():
    scalar_rule(name)(lambda code, d, out, x, form=form: form(code, d, x))


@scalar_rule("logistic")
def logistic(code, d, out, x):
    one = literal(1, d)
    return div(code, d, d, one, add(code, d, d, one, library(code, "exp", d, neg(code, d, d, x))))


@scalar_rule("logaddexp")
def logaddexp(code, d, out, x, y):
    """The greater and log1p(exp(-|x - y|)); infinities that are alike have no difference."""
    gap = chosen(code, compare(code, "eq", d, x, y), d, literal(0, d), sub(code, d, d, x, y))
    tail = library(code, "log1p", d, library(code, "exp", d, neg(code, d, d, absolute(code, d, d, gap))))
    return add(code, d, d, maximum(code, d, d, x, y), tail)


@scalar_rule("softplus")
def softplus(code, d, out, x):
    return logaddexp(code, d, d, x, literal(0, d))


CALLS |= {OPS[name]: {function: len(OPS[name].operands)} for name, function in LIBRARY.items()}
CALLS |= {OPS[name]: {"exp": 1, "log1p": 1} for name in ("logaddexp", "softplus")}
CALLS |= {OPS["logistic"]: {"exp": 1}, OPS["pow"]: {"pow": 2}, OPS["rem"]: {"fmod": 2}}

