"""Functions of `math` on traced numbers, with the exceptions that Python raises."""

import builtins
import functools
import math
import operator

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, fresh
from ..values.promote import UFUNCS, operand_as
from .builtins import REPLACED, check, float_, int_, is_one, replaces, scalar_operand

MATH = {
    "sqrt": np.sqrt, "exp": np.exp, "expm1": np.expm1, "exp2": np.exp2, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2,
    "fabs": np.fabs,
    "copysign": np.copysign, "degrees": np.degrees, "radians": np.radians, "fmod": np.fmod, "cbrt": np.cbrt,
    "pow": np.float_power,
    "nextafter": np.nextafter,
}  # fmt: skip


TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}


EXACT = 2  # fact: numbers of which a sum is rounded once


WHOLE = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}


OVERFLOW = {"exp", "expm1", "exp2", "sinh", "cosh", "pow", "gamma"}


def remainder_value(x, y):
    """x less the multiple of y nearest to it, ties to even, exactly.  [CPython's m_remainder]"""
    size, step = OPS["abs"](x), OPS["abs"](y)
    m = OPS["rem"](size, step)
    c = step - m
    tie = m - OPS["rem"]((size - m) * 0.5, step) * 2.0
    near = OPS["select"](OPS["lt"](m, c), m, OPS["select"](OPS["gt"](m, c), -c, tie))
    near = OPS["copysign"](Lit(1.0, x.type), x) * near
    return OPS["select"](OPS["and"](OPS["is_finite"](x), OPS["eq"](step, Lit(np.inf, x.type))), x, near)


RULES = {**{name: (1, OPS[name]) for name in ("erf", "erfc", "gamma", "lgamma")}, "remainder": (2, remainder_value)}


def floats(args):
    return [operand_as(scalar_operand(x) if isinstance(x, Traced) else x, WEAK_DTYPES[float], ()) for x in args]


def _math(real, ufunc):
    return _checked(real, ufunc.nin, lambda *operands: UFUNCS[ufunc](*operands))


def judge(name, operands, out):
    """What CPython raises: a domain error for NaN out of numbers, and for infinity out of finite ones unless that is
    the range's fault."""
    known, finite = Lit(True, TRUTH), Lit(True, TRUTH)
    for x in operands:
        known, finite = OPS["and"](known, OPS["eq"](x, x)), OPS["and"](finite, OPS["is_finite"](x))
    check(OPS["or"](OPS["eq"](out, out), OPS["not"](known)), ValueError, "math domain error")
    within = OPS["or"](OPS["ne"](OPS["abs"](out), Lit(np.inf, out.type)), OPS["not"](finite))
    if name in ("gamma", "pow"):  # at their poles
        check(OPS["or"](within, OPS["ne"](operands[0], Lit(0, out.type))), ValueError, "math domain error")
    check(within, *((OverflowError, "math range error") if name in OVERFLOW else (ValueError, "math domain error")))


def _checked(real, count, rule):
    name = real.__name__

    def stand_in(*args):
        if not builtins.any(is_one(x) for x in args):
            return real(*args)
        if name == "log" and len(args) == 2:
            return stand_in(args[0]) / stand_in(args[1]) if is_one(args[1]) else stand_in(args[0]) / real(args[1])
        if len(args) != count:
            return real(*args)
        operands = floats(args)
        out = rule(*operands)
        judge(name, operands, out)
        return TracedScalar(out, float)

    return stand_in


@replaces(math.isclose)
def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    """|a - b| <= max(rel_tol max(|a|, |b|), abs_tol), infinities close to themselves alone (PEP 485)."""
    if not any([is_one(a), is_one(b)]):
        return math.isclose(a, b, rel_tol=rel_tol, abs_tol=abs_tol)
    near = np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    return TracedScalar(((a == b) | (np.isfinite(a) & np.isfinite(b) & near)).value, bool)


@replaces(math.hypot)
def hypot(*xs):
    return (
        math.hypot(*xs)
        if not builtins.any(map(is_one, xs))
        else float_(functools.reduce(np.hypot, fresh_floats(xs), 0.0))
    )


@replaces(math.dist)
def dist(p, q):
    return (
        math.dist(p, q)
        if not builtins.any(map(is_one, (*p, *q)))
        else hypot(*[a - b for a, b in builtins.zip(p, q, strict=True)])
    )


@replaces(math.fsum)
def fsum(xs):
    """Of traced numbers no program adds exactly: of two at most, whose sum is rounded once, as it is."""
    xs = list(xs)
    if not builtins.any(map(is_one, xs)):
        return math.fsum(xs)
    if len(xs) <= EXACT:
        return float_(functools.reduce(operator.add, fresh_floats(xs), 0.0))
    text = f"math.fsum rounds once what the sum of {len(xs)} numbers is exactly, which no program computes"
    raise UnsupportedError(message(text, locate(), "Write np.sum(x), or sum(x), where the last digits are no matter."))


def fresh_floats(xs):
    return [fresh(x) for x in floats(xs)]


def _math_test(real, ufunc):
    return lambda x: TracedScalar(UFUNCS[ufunc](*floats([x])), bool) if is_one(x) else real(x)


def _math_whole(real, ufunc):
    name = f"__{real.__name__}__"
    lacks = lambda x: (
        real is math.trunc and (isinstance(x, TracedArray) or not x.weak and not hasattr(x.dtype.type, name))
    )

    def stand_in(x):
        if isinstance(x, Traced) and lacks(x):
            kind = "ndarray" if isinstance(x, TracedArray) else x.dtype.type.__name__
            raise with_note(TypeError, message(f"type numpy.{kind} doesn't define {name} method", locate()))
        return whole(x)

    whole = lambda x: int_(TracedScalar(UFUNCS[ufunc](*floats([x])), float)) if is_one(x) else real(x)
    return stand_in


for _names, _make in ((MATH, _math), (TESTS, _math_test), (WHOLE, _math_whole)):
    for _name, _ufunc in _names.items():
        if hasattr(math, _name):
            REPLACED[getattr(math, _name)] = _make(getattr(math, _name), _ufunc)
for _name, (_count, _rule) in RULES.items():
    REPLACED[getattr(math, _name)] = _checked(getattr(math, _name), _count, _rule)


@replaces(math.modf)
def modf(x):
    """Both parts carry the sign of x."""
    if not is_one(x):
        return math.modf(x)
    (value,) = floats([x])
    return tuple(TracedScalar(v, float) for v in UFUNCS[np.modf](value))


def _whole_numbers(real, ufunc):
    def stand_in(*args):
        if not builtins.any(is_one(x) for x in args) or len(args) != 2:
            return real(*args)
        if not builtins.all(isinstance(x, int | np.integer) or is_one(x) and x.type.kind in "biu" for x in args):
            raise with_note(TypeError, message(f"math.{real.__name__} takes integers", locate()))
        return int_(ufunc(*[int_(x) for x in args]))

    return stand_in


for _real, _ufunc in ((math.gcd, np.gcd), (math.lcm, np.lcm)):
    REPLACED[_real] = _whole_numbers(_real, _ufunc)
