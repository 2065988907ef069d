"""Comparisons of Python's ints with Python's floats, which are exact: an int beyond 2**53 is not rounded to a float
first.

An int is less than a float where it is less than the float's floor, or equal to that and the float is no whole number;
beyond 64 bits, at infinities and NaN the float's sign decides.  [CPython's float_richcompare]
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.emit import cast_to
from .ranges import interval
from .weak import EXACT

EDGE = 2.0**63
COUNTED = 2**57  # what a loop takes its counters to stay within; none gets to 2**53 in a lifetime
MIRROR = {np.less: np.greater, np.greater: np.less, np.less_equal: np.greater_equal, np.greater_equal: np.less_equal}


def compared(ufunc, kinds, values):
    """A comparison of an int with a float, as a truth; None where floats hold the int, or there are none. values:
    operands of their own dtypes."""
    if {*kinds} != {int, float}:
        return None
    if kinds[0] is float:
        ufunc, values = MIRROR.get(ufunc, ufunc), values[::-1]
    n, x = values
    least, most = interval(n) or (-EDGE, EDGE)
    far = EXACT if isinstance(n, Lit) else COUNTED
    if -far <= least and most <= far:
        return None
    number = lambda value: Lit(value, x.type)
    within = OPS["and"](OPS["ge"](x, number(-EDGE)), OPS["lt"](x, number(EDGE)))
    floor = OPS["floor"](OPS["select"](within, x, number(0.0)))
    down, whole = cast_to(floor, n.type.dtype), OPS["eq"](floor, x)
    if ufunc in (np.equal, np.not_equal):
        same = OPS["and"](OPS["and"](within, whole), OPS["eq"](n, down))
        return same if ufunc is np.equal else OPS["not"](same)
    if ufunc is np.less:
        inside = OPS["or"](OPS["lt"](n, down), OPS["and"](OPS["eq"](n, down), OPS["not"](whole)))
    elif ufunc is np.greater_equal:
        inside = OPS["or"](OPS["gt"](n, down), OPS["and"](OPS["eq"](n, down), whole))
    else:
        inside = OPS["le" if ufunc is np.less_equal else "gt"](n, down)
    beyond = OPS["gt" if ufunc in (np.less, np.less_equal) else "lt"](x, number(0.0))
    return OPS["select"](within, inside, beyond)
