"""Python's ints that 64 bits do not hold, known while tracing, beside numbers that the program computes.

Such an int has no operand in a program. What an operator gives of it and an int of 64 bits is decided by the other's
sign, or comes of it by arithmetic modulo 2**64; where the result may leave 64 bits, the program checks that it does
not, as everywhere (`overflow`).
"""

import math

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.errors import IntegerOverflow, message
from ..common.frames import locate
from .overflow import HIGH, HINT, LOW, TEXT, between, not_negative
from .ranges import interval
from .storage import current_trace

ORDER = {
    np.less: lambda a, b: a < b,
    np.less_equal: lambda a, b: a <= b,
    np.greater: lambda a, b: a > b,
    np.greater_equal: lambda a, b: a >= b,
}
ORDER |= {np.equal: lambda a, b: False, np.not_equal: lambda a, b: True}
# of a float below, of it
FLOATED = {np.less: ("le", "lt"), np.less_equal: ("le", "le"), np.greater: ("gt", "gt"), np.greater_equal: ("gt", "ge")}
MIRROR = {np.less: np.greater, np.greater: np.less, np.less_equal: np.greater_equal, np.greater_equal: np.less_equal}


def far(x):
    """Whether it is an int that the program has no operand for."""
    return type(x) is int and not LOW <= x <= HIGH


def against(ufunc, n, big, swapped):
    """`n op big` of Python's ints, or `big op n` where swapped, n an int64 scalar of the program -> operand, or the
    bool that it is anyway."""
    if ufunc in ORDER:
        return ORDER[ufunc](big, 0) if swapped else ORDER[ufunc](0, big)
    rule = (BEHIND if swapped else {}).get(ufunc) or BESIDE.get(ufunc)
    found = rule(n, big) if rule else None
    return never(n) if found is None else found


def compare_float_big(ufunc, x, big, swapped):
    """A comparison of a Python float with `big`, which is exact: with the nearest float below where there is none of
    that value."""
    if swapped:
        ufunc = MIRROR.get(ufunc, ufunc)
    try:
        near = float(big)
    except OverflowError:
        near = math.inf if big > 0 else -math.inf
    exact = math.isfinite(near) and int(near) == big
    if ufunc in (np.equal, np.not_equal):
        return OPS["eq" if ufunc is np.equal else "ne"](x, Lit(near, x.type)) if exact else ufunc is np.not_equal
    if not exact and (near == math.inf or math.isfinite(near) and int(near) > big):
        near = math.nextafter(near, -math.inf)
    return OPS[FLOATED[ufunc][exact]](x, Lit(near, x.type))


# -- the rules: an operand, or None where no number of 64 bits is the result ---------------------------


def literal(k, n):
    """An int modulo 2**64, as int64 has it."""
    return Lit((k + 2**63) % 2**64 - 2**63, n.type)


def require_int64(ok):
    """Have the program check that the result stays within 64 bits."""
    if not isinstance(ok, Lit):
        current_trace().root.unproven += 1
    current_trace().check(ok, IntegerOverflow, message(TEXT, locate(), HINT))


def never(n):
    """No result fits. What stands for it is no literal: what follows would be refused for its sake while tracing."""
    current_trace().fail(IntegerOverflow, message(TEXT, locate(), HINT))
    return n


def require_range(n, low, high):
    """Have the program check that n lies there; whether it may at all."""
    least, most = interval(n) or (LOW, HIGH)
    if max(low, least) > min(high, most):
        return False
    require_int64(between(n, max(low, LOW), min(high, HIGH)))
    return True


def noted(value, least, most):
    """A result, with the interval that is known of it."""
    if not isinstance(value, Lit):
        current_trace().root.bounds.setdefault(value, (least, most))
    return value


def add(n, big):
    low, high = LOW - big, HIGH - big
    return OPS["add"](n, literal(big, n)) if require_range(n, low, high) else None


def subtract_from_big(n, big):
    """big - n."""
    return OPS["sub"](literal(big, n), n) if require_range(n, big - HIGH, big - LOW) else None


def multiply(n, big):
    """0, and -1 * 2**63: of all other products none fits."""
    return OPS["mul"](n, literal(big, n)) if require_range(n, -1 if big == 2**63 else 0, 0) else None


def signed(n, big):
    """Whether n is 0 or has the sign of `big`: a bool where its interval tells."""
    least, most = interval(n) or (LOW, HIGH)
    if least >= 0 if big > 0 else most <= 0:
        return True
    if most < 0 if big > 0 else least > 0:
        return False
    return OPS["ge" if big > 0 else "le"](n, Lit(0, n.type))


def folded_select(test, x, y):
    return (x if test else y) if isinstance(test, bool) else OPS["select"](test, x, y)


def floor_divide(n, big):
    test = signed(n, big)
    return noted(folded_select(test, Lit(0, n.type), Lit(-1, n.type)), -1, 0)


def remainder(n, big):
    """n, or n + big where the signs differ."""
    least, most = interval(n) or (LOW, HIGH)
    test = signed(n, big)
    if test is True:
        return n
    moves = max(least, LOW - big) <= min(-1 if least < 0 and big > 0 else most, HIGH - big)  # whether n + big may fit
    if test is False:
        return add(n, big) if moves else None
    stays = (0, HIGH) if big > 0 else (LOW, 0)
    if not moves:
        require_int64(between(n, *stays))
        return n
    fits = between(n, LOW, HIGH - big) if big > 0 else between(n, LOW - big, HIGH)
    require_int64(fits if isinstance(fits, Lit) else OPS["or"](test, fits))
    return noted(OPS["select"](test, n, OPS["add"](n, literal(big, n))), *stays)


def bit_and(n, big):
    """The bits of `big` beyond 64 are not all alike, so n must have none there."""
    return noted(OPS["and"](n, Lit(big & HIGH, n.type)), 0, big & HIGH) if require_range(n, 0, HIGH) else None


def bit_or(n, big):
    """As above: n must have them all."""
    return OPS["or"](n, literal(big & HIGH | LOW, n)) if require_range(n, LOW, -1) else None


def power(n, big):
    if big < 0 or not require_range(n, -1, 1):
        return None
    return noted(n if big % 2 else OPS["abs"](n), -1, 1)


def raised(n, big):
    return Lit(1, n.type) if require_range(n, 0, 0) else None


def right(n, big):
    if big < 0:
        return no_shift(n)
    return noted(OPS["shift_right"](n, Lit(63, n.type)), -1, 0)


def left(n, big):
    if big < 0:
        return no_shift(n)
    return Lit(0, n.type) if require_range(n, 0, 0) else None


def no_shift(n):
    current_trace().fail(ValueError, message("negative shift count", locate()))
    return n


def shifted_right(n, big):
    """big >> n, which fits once so many bits are gone."""
    not_negative(n)
    gone = max((big if big > 0 else ~big).bit_length() - 63, 0)
    if not require_range(n, gone, HIGH):
        return None
    low = OPS["sub"](n, Lit(gone, n.type))
    return noted(
        OPS["shift_right"](Lit(big >> gone, n.type), OPS["minimum"](low, Lit(63, n.type))),
        *sorted((big >> gone, 0 if big > 0 else -1)),
    )


def shifted_left(n, big):
    not_negative(n)
    return None


BESIDE = {
    np.add: add, np.subtract: lambda n, big: add(n, -big), np.multiply: multiply, np.floor_divide: floor_divide,
    np.remainder: remainder,
    np.bitwise_and: bit_and, np.bitwise_or: bit_or, np.power: power, np.left_shift: left, np.right_shift: right,
}  # fmt: skip
BEHIND = {  # big op n, where that is another function
    np.subtract: subtract_from_big, np.floor_divide: lambda n, big: None, np.remainder: lambda n, big: None,
    np.power: raised,
    np.left_shift: shifted_left, np.right_shift: shifted_right,
}  # fmt: skip
