"""Where Python's ints have no end, and the machine's do: results beyond 64 bits.

NumPy's integers wrap, and so do the machine's. A result of Python ints that no interval shows to fit is
checked when the program runs; `check_overflow` notes what is known of each, so that sums of bounded numbers cost
nothing.
"""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ..common.emit import cast_to
from ..common.errors import IntegerOverflow, message
from ..common.frames import locate
from .ranges import interval
from .storage import current_trace

LOW, HIGH = -(2**63), 2**63 - 1
WIDE = np.dtype(np.float64)
TEXT = "a Python int of the compiled program exceeded 64 bits"
HINT = "Python's ints have no end: take the remainder as you go, or use floats, or np.int64, which wraps."


def check_overflow(ufunc, values, result):
    """Note the interval of `result`, Python's `ufunc` of int operands, or have the program check that it is that."""
    rule = RANGES.get(ufunc)
    if rule is None or result.type.kind != "i":
        return
    known = [interval(x) for x in values]
    found = rule(*[k or (LOW, HIGH) for k in known])
    root = current_trace().root
    fits = found is not None and LOW <= found[0] and found[1] <= HIGH
    if not isinstance(result, Lit) and result not in root.bounds:
        root.bounds[result] = found if fits and found != (LOW, HIGH) else None
    if ufunc is np.right_shift:
        not_negative(values[1])
    if fits or ufunc not in TESTS:
        return
    if all(isinstance(x, Lit) for x in values):
        raise IntegerOverflow(message(TEXT, locate(), HINT))
    root.unproven += 1
    ok = TESTS[ufunc](*values, result)
    current_trace().check(ok, IntegerOverflow, message(TEXT, locate(), HINT))


def noted(ufunc, values, result):
    """Note the interval of `result`, NumPy's `ufunc` of integers, where it cannot wrap and its equations do not
    tell."""
    if ufunc in UNTOLD and result.type.kind in "iu" and isinstance(result, Value):
        least, most = dtype_limits(result.type)
        found = RANGES[ufunc](*[interval(x) or dtype_limits(x.type) for x in values])
        if found != (least, most) and least <= found[0] and found[1] <= most:
            current_trace().root.bounds.setdefault(result, found)


def dtype_limits(type):
    info = np.iinfo(type.dtype)
    return info.min, info.max


def from_float(x):
    """Check that a float has a whole part, within 64 bits, before it becomes an int."""
    x = cast_to(x, np.dtype(np.float32)) if x.type.small else x
    edge = np.inf if x.type.dtype == np.float16 else 2.0**63  # float16 has nothing there but infinity
    above = "gt" if edge == np.inf else "ge"
    ok = OPS["and"](OPS["lt"](x, Lit(edge, x.type)), OPS[above](x, Lit(-edge, x.type)))
    unless = [
        (OPS["ne"](x, x), ValueError, message("cannot convert float NaN to integer", locate())),
        (infinite(x), OverflowError, message("cannot convert float infinity to integer", locate())),
    ]
    current_trace().check(ok, IntegerOverflow, message(TEXT, locate(), "Keep it a float."), unless=unless)


def from_unsigned(x):
    """Check that an unsigned number of 64 bits is one of 63."""
    current_trace().check(
        OPS["le"](x, Lit(HIGH, x.type)), IntegerOverflow, message(TEXT, locate(), "Keep it an np.uint64.")
    )


def infinite(x):
    return OPS["eq"](OPS["abs"](x), Lit(np.inf, x.type))


# -- intervals of results, as Python has them --------------------------------------------------------


def corners(f):
    def rule(x, y):
        found = [f(a, b) for a in x for b in y]
        return min(found), max(found)

    return rule


def _power(x, y):
    if y[0] < 0 or y[1] > 64:
        return None
    found = (
        [a**b for a in (*x, 0) for b in range(y[0], y[1] + 1)]
        if x[0] <= 0 <= x[1]
        else [a**b for a in x for b in range(y[0], y[1] + 1)]
    )
    return min(found), max(found)


def _left(x, y):
    return corners(lambda a, b: a << b)(x, y) if 0 <= y[0] and y[1] <= 64 else None


def _right(x, y):
    return corners(lambda a, b: a >> min(b, 64))(x, y) if y[0] >= 0 else (min(x[0], -1), max(x[1], 0))


def _floor_divide(x, y):
    if y[0] <= 0 <= y[1]:
        most = max(map(abs, x))
        return -most, most
    return corners(lambda a, b: a // b)(x, y)


def _remainder(x, y):
    if y[0] > 0:
        return 0, min(y[1] - 1, x[1]) if x[0] >= 0 else y[1] - 1
    return (y[0] + 1, 0) if y[1] < 0 else (min(y[0] + 1, 0), max(y[1] - 1, 0))


def _and(x, y):
    tops = [k[1] for k in (x, y) if k[0] >= 0]
    return (0, min(tops)) if tops else (LOW, HIGH)


def _or(x, y):
    return (0, (1 << max(x[1], y[1]).bit_length()) - 1) if x[0] >= 0 and y[0] >= 0 else (LOW, HIGH)


RANGES = {
    np.add: lambda x, y: (x[0] + y[0], x[1] + y[1]), np.subtract: lambda x, y: (x[0] - y[1], x[1] - y[0]),
    np.multiply: corners(lambda a, b: a * b), np.power: _power, np.left_shift: _left, np.right_shift: _right,
    np.floor_divide: _floor_divide, np.remainder: _remainder, np.bitwise_and: _and, np.bitwise_or: _or,
    np.bitwise_xor: _or,
    np.negative: lambda x: (-x[1], -x[0]), np.invert: lambda x: (~x[1], ~x[0]), np.positive: lambda x: x,
    np.absolute: lambda x: (0 if x[0] <= 0 <= x[1] else min(map(abs, x)), max(map(abs, x))),
}  # fmt: skip

UNTOLD = {np.floor_divide, np.remainder, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.right_shift, np.absolute}


# -- tests of results --------------------------------------------------------------------------------


def between(x, low, high):
    """Whether low <= x <= high, by the comparisons that are not known to hold."""
    least, most = interval(x) or (LOW, HIGH)
    tests = [
        OPS[name](x, Lit(edge, x.type))
        for name, edge, idle in (("ge", low, least >= low), ("le", high, most <= high))
        if not idle
    ]
    return Lit(True, x.type.like(dtype=bool)) if not tests else tests[0] if len(tests) == 1 else OPS["and"](*tests)


def _add(x, y, z):
    for a, b in ((x, y), (y, x)):
        if isinstance(b, Lit):
            c = int(b.value)
            return between(a, max(LOW - c, LOW), min(HIGH - c, HIGH))
    return nonnegative(OPS["and"](OPS["xor"](x, z), OPS["xor"](y, z)))


def _sub(x, y, z):
    if isinstance(y, Lit):
        c = int(y.value)
        return between(x, max(LOW + c, LOW), min(HIGH + c, HIGH))
    return nonnegative(OPS["and"](OPS["xor"](x, y), OPS["xor"](x, z)))


def nonnegative(signs):
    return OPS["ge"](signs, Lit(0, signs.type))


def _mul(x, y, z):
    for a, b in ((x, y), (y, x)):
        if isinstance(b, Lit) and b.value:
            c = int(b.value)
            low, high = (-(-LOW // c), HIGH // c) if c > 0 else (-(HIGH // -c), min(-LOW // -c, HIGH))
            return between(a, low, high)
    return near(OPS["mul"](cast_to(x, WIDE), cast_to(y, WIDE)), z)


def near(exact, z):
    """Whether a wrapped result is what floats say it is: if it has wrapped, it is off by 2**64 or more."""
    return OPS["lt"](OPS["abs"](OPS["sub"](exact, cast_to(z, WIDE))), Lit(2.0**63, exact.type))


def _pow(x, y, z):
    if isinstance(y, Lit) and y.value > 1:
        n = int(y.value)
        high, low = integer_root(HIGH, n), integer_root(-LOW, n)
        return between(x, -(low if n % 2 else high), high)
    return near(OPS["pow"](cast_to(x, WIDE), cast_to(y, WIDE)), z)


def integer_root(top, n):
    """The greatest whole number whose n-th power is at most `top`."""
    low, high = 0, 1 << (64 // n + 1)
    while high - low > 1:
        mid = (low + high) // 2
        low, high = (mid, high) if mid**n <= top else (low, mid)
    return low


def _shift(x, y, z):
    not_negative(y)
    return OPS["eq"](OPS["shift_right"](z, y), x)


def not_negative(y):
    current_trace().check(between(y, 0, HIGH), ValueError, message("negative shift count", locate()))


TESTS = {
    np.add: _add, np.subtract: _sub, np.multiply: _mul, np.power: _pow, np.left_shift: _shift,
    np.negative: lambda x, z: between(x, LOW + 1, HIGH), np.absolute: lambda x, z: between(x, LOW + 1, HIGH),
    np.floor_divide: lambda x, y, z: OPS["or"](OPS["ne"](x, Lit(LOW, x.type)), OPS["ne"](y, Lit(-1, y.type))),
}  # fmt: skip
