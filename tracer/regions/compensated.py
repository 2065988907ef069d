"""What Python's `sum` does for floats: since 3.12 it adds, at the end, what its additions rounded away.

Source: Neumaier (1974), "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", as in CPython's
`Python/bltinmodule.c`. NumPy's numbers, ints and (before 3.14) complex numbers are added as they stand.
"""

import functools
import math
import sys

from ...ir.core import Lit
from ...ir.ops import OPS
from ..numpy_api.handles import value_of
from ..values.array import TracedScalar, bring
from ..values.mixed import Mixed, kind_tag, widest_number
from .merge import pick

SINCE = sys.version_info >= (3, 12)
add, sub, size, select, less = OPS["add"], OPS["sub"], OPS["abs"], OPS["select"], OPS["lt"]


def may_be_float(x):
    """Whether x is a Python float, or one of which data decide whether it is."""
    if type(x) is Mixed:
        return FLOAT in x.kinds
    return type(x) is float or isinstance(x, TracedScalar) and x.weak is float


FLOAT = ("weak", float)
GOES_ON = [("weak", kind) for kind in (bool, int, float)]  # kinds of items with which a sum of floats goes on as such


def ends(x):
    """Whether a sum of floats ends at x, and goes on as plain additions: a bool, or an operand where data decide."""
    if type(x) is not Mixed:
        kind = x.weak if isinstance(x, TracedScalar) else type(x)
        return not (isinstance(kind, type) and issubclass(kind, int) or kind is float)
    others = [OPS["eq"](bring(x.tag), kind_tag(kind)) for kind in x.kinds if kind not in GOES_ON]
    if len(others) == len(x.kinds):
        return True
    return functools.reduce(OPS["or"], others) if others else False


def before_adding(total, x, lost):
    """The sum so far, with what it has lost where x ends the sum of floats."""
    over = ends(x) if SINCE else False
    if isinstance(over, bool):
        return with_lost(total, lost) if over else total
    return pick(TracedScalar(over, bool), with_lost(total, lost), total)


def with_rounding(lost, total, x, after):
    """`lost` and what `after`, the rounded total + x, lacks; a derivative knows nothing of it."""
    over = ends(x) if SINCE else False
    if over is True:
        return 0.0
    if not SINCE or not (may_be_float(total) and may_be_float(x)):
        return lost
    if type(total) is type(x) is type(lost) is float:
        return lost + ((total - after) + x if abs(total) >= abs(x) else (x - after) + total)
    tags = [bring(v.tag) for v in (total, x) if type(v) is Mixed]
    total, x, after = (OPS["stop_gradient"](value_of(widest_number(v))) for v in (total, x, after))
    larger = OPS["ge"](size(total), size(x))
    part = select(larger, add(sub(total, after), x), add(sub(x, after), total))
    nothing = Lit(0.0, part.type)
    for tag in tags:
        part = select(OPS["eq"](tag, kind_tag(FLOAT)), part, nothing)
    found = add(value_of(lost), part)
    return TracedScalar(found if over is False else select(over, nothing, found), float)


def with_lost(total, lost):
    """The sum, with what was lost on the way; where that is nothing, or no number, as it is."""
    if type(lost) is float and not lost or not may_be_float(total):
        return total
    if type(total) is type(lost) is float:
        return total + lost if math.isfinite(lost) else total
    value = value_of(lost)
    counts = OPS["and"](OPS["ne"](value, Lit(0.0, value.type)), less(size(value), Lit(math.inf, value.type)))
    return pick(TracedScalar(counts, bool), TracedScalar(add(value_of(widest_number(total)), value), float), total)


def sum_of_few(items, start):
    """As `sum(items, start)`, of items that are at hand."""
    total, lost = start, 0.0
    for x in items:
        total = before_adding(total, x, lost)
        after = total + x
        total, lost = after, with_rounding(lost, total, x, after)
    return with_lost(total, lost)
