"""`bisect` of what is traced: the search that Python's documentation states, captured as a loop."""

import bisect
import functools

from ..numpy_api.handles import is_traced
from ..values.array import Traced
from ..values.storage import current_trace
from .bounded_lists import bounded_list
from .builtins import REPLACED
from .convert import convert
from .foreign import foreign
from .growing import list_behind
from .sequences import holds_traced


def bisect_left(a, x, lo, hi, key):
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a, x, lo, hi, key):
    hi = len(a) if hi is None else hi
    while lo < hi:
        middle = (lo + hi) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def searching(real, search):
    @functools.wraps(real)
    def stand_in(a, x, lo=0, hi=None, *, key=None):
        held = list_behind(a)
        known = not isinstance(held, Traced) and bounded_list(held) is None and not holds_traced(held)
        if current_trace() is None or known and not is_traced([x, lo, hi]):
            return foreign(real)(a, x, lo, hi, **({} if key is None else {"key": key}))
        if not isinstance(lo, Traced) and lo < 0:
            raise ValueError("lo must be non-negative")
        return convert(search)(a, x, lo, hi, key)

    return stand_in


REPLACED[bisect.bisect_left] = searching(bisect.bisect_left, bisect_left)
REPLACED[bisect.bisect_right] = searching(bisect.bisect_right, bisect_right)
