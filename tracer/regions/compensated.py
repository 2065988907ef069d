"""What Python's `sum` does for floats: since 3.12 it adds, at the end, what its additions rounded away.

Source: Neumaier (1974), "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", as in CPython's
`Python/bltinmodule.c`. NumPy's numbers, ints and (before 3.14) complex numbers are added as they stand.
"""

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
    if type(x) is Mixed and ("weak", float) in x.kinds and x.weak is not float:
        x.fail()  # sums go on in another way behind the first of NumPy's
    return type(x) is float or isinstance(x, TracedScalar) and x.weak is float


def goes_on(x):
    """Whether a sum of floats goes on as such with x."""
    return may_be_float(x) or isinstance(x, int) or isinstance(x, TracedScalar) and x.weak in (int, bool)


def before_adding(total, x, lost):
    """The sum so far, with what it has lost where x ends the sum of floats."""
    return total if not SINCE or goes_on(x) else with_lost(total, lost)


def with_rounding(lost, total, x, after):
    """`lost` and what `after`, the rounded total + x, lacks; a derivative knows nothing of it."""
    if not SINCE or not goes_on(x):
        return 0.0
    if not (may_be_float(total) and may_be_float(x)):
        return lost
    if type(total) is type(x) is type(lost) is float:
        return lost + ((total - after) + x if abs(total) >= abs(x) else (x - after) + total)
    given = [v for v in (total, x) if type(v) is Mixed]
    total, x, after = (OPS["stop_gradient"](value_of(widest_number(v))) for v in (total, x, after))
    larger = OPS["ge"](size(total), size(x))
    part = select(larger, add(sub(total, after), x), add(sub(x, after), total))
    for v in given:
        part = select(OPS["eq"](bring(v.tag), kind_tag(("weak", float))), part, Lit(0.0, part.type))
    return TracedScalar(add(value_of(lost), part), float)


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
