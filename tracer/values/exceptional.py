"""What operators of Python's numbers raise where NumPy's make inf and nan: divisions by zero, and powers."""

import functools
import operator

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ..common.errors import OUT_OF_RANGE, UnsupportedError, message
from ..common.frames import locate
from .overflow import between
from .ranges import interval
from .storage import current_trace

DIVISIONS = {np.true_divide: operator.truediv, np.floor_divide: operator.floordiv, np.remainder: operator.mod}
COMPLEX = "a negative Python float to a fractional power is complex in Python; write it with complex numbers"
FLOATING = "a Python int to a negative power is a float, and data decide here whether it is one"
LARGE = str(OUT_OF_RANGE)


def check(ok, error, text, hint=""):
    current_trace().check(ok, error, message(text, locate(), hint))


def before(ufunc, values, kinds=()):
    """Have the program check the operands. kinds: those of Python's numbers, where they are not those of the dtype in
    which they are computed."""
    if ufunc in DIVISIONS:
        known = {"i": int, "f": float, "c": complex}
        not_zero(DIVISIONS[ufunc], values[1], *(kinds or [known.get(v.type.kind, int) for v in values]))
    if ufunc is np.power:
        kind = values[0].type.kind
        if kind == "f":
            floats(*values)
        elif kind == "c":
            zero_base(*values, "0.0 to a negative or complex power", complex_exponent)


def not_zero(division, divisor, *kinds):
    """Have the program check the divisor of numbers of these kinds."""
    check(test("ne", divisor, 0), ZeroDivisionError, divided(division, *kinds))


@functools.cache
def divided(division, *kinds):
    """What Python says of a division by zero of numbers of these kinds: its releases differ."""
    left, right = kinds
    try:
        division(left(1), right(0))
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError(f"{division} by zero")


def after(ufunc, values, result):
    """Have the program check the result."""
    kind = values[0].type.kind
    if ufunc is np.power and kind == "f":
        base, exponent = values
        if not (isinstance(exponent, Lit) and 0 <= exponent.value <= 1):
            check(any_holds(bounded(result, exponent), infinite(base), infinite(exponent)), OverflowError, LARGE)
    elif ufunc is np.power and kind == "c":
        parts = [folded_not(infinite(OPS[name](result))) for name in ("real", "imag")]
        check(folded_and(*parts), OverflowError, "complex exponentiation")
    elif ufunc is np.absolute and kind == "c":
        parts = [infinite(OPS[name](values[0])) for name in ("real", "imag")]
        check(any_holds(test("ne", result, np.inf), *parts), OverflowError, "absolute value too large")


def floats(base, exponent):
    """0.0 has no negative powers, and negative floats no fractional ones that are floats."""
    zero_base(base, exponent, "0.0 cannot be raised to a negative power", lambda y: test("lt", y, 0), finite=True)
    if isinstance(exponent, Lit):
        whole = Lit(not np.isfinite(exponent.value) or float(exponent.value).is_integer(), bool_type(exponent))
    else:
        whole = OPS["eq"](OPS["floor"](exponent), exponent)
    if not true(whole) and not (isinstance(base, Lit) and not base.value < 0):
        real = any_holds(
            folded_not(test("lt", base, 0)),
            whole,
            *([] if isinstance(exponent, Lit) else [test("ne", exponent, exponent)]),
        )
        check(real, UnsupportedError, COMPLEX)


def zero_base(base, exponent, text, negative, finite=False):
    """ZeroDivisionError for 0 to a power that is `negative`; floats have one at minus infinity."""
    low = negative(exponent)
    if finite and isinstance(low, Value):
        low = OPS["and"](low, test("gt", exponent, -np.inf))
    elif finite and true(low) and exponent.value == -np.inf:
        return
    check(any_holds(test("ne", base, 0), folded_not(low)), ZeroDivisionError, text)


def complex_exponent(y):
    if isinstance(y, Lit):
        return Lit(bool(y.value.real < 0 or y.value.imag != 0), bool_type(y))
    return any_holds(test("lt", OPS["real"](y), 0), test("ne", OPS["imag"](y), 0))


def exponent_of(y):
    """Whether an int to the power of the int y is a float; None where that cannot be told: then the program checks that
    it is none."""
    least, most = interval(y) or (-1, 0)
    if least >= 0 or most < 0:
        return most < 0
    check(between(y, 0, most), UnsupportedError, FLOATING, "Write float(n) ** k.")
    return None


# -- tests that may be of literals -----------------------------------------------------------------


def bool_type(x):
    return x.type.like(dtype=bool)


def test(name, x, y):
    """A comparison with a number, or of operands; a literal where both are."""
    y = y if isinstance(y, Value | Lit) else Lit(y, x.type)
    if isinstance(x, Lit) and isinstance(y, Lit):
        return Lit(bool(OPS[name].body(x.value, y.value)), bool_type(x))
    return OPS[name](x, y)


def infinite(x):
    return any_holds(test("eq", x, np.inf), test("eq", x, -np.inf))


def bounded(power, exponent):
    """Whether a power is not infinite; one that is even is not negative."""
    below = test("ne", power, np.inf)
    return (
        below
        if isinstance(exponent, Lit) and exponent.value % 2 == 0
        else folded_and(below, test("ne", power, -np.inf))
    )


def true(x):
    return isinstance(x, Lit) and bool(x.value)


def folded_not(x):
    return Lit(not x.value, x.type) if isinstance(x, Lit) else OPS["not"](x)


def any_holds(*tests):
    """Whether any holds."""
    if any(map(true, tests)):
        return next(t for t in tests if true(t))
    left = [t for t in tests if isinstance(t, Value)]
    found = left[0] if left else tests[0]
    for t in left[1:]:
        found = OPS["or"](found, t)
    return found


def folded_and(x, y):
    return OPS["and"](x, y) if isinstance(x, Value) and isinstance(y, Value) else y if true(x) else x
