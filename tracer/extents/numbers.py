"""Integers of slices and lengths: a Python int where it is known, else an int64 scalar value; arithmetic that proves
what it can.

Every clip that an interval or an affine difference shows to be idle costs no equation, so that two
lengths that are equal are mostly the same value.
"""

import operator

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ...ir.types import Tensor
from ..common.emit import INDEX, cast_to
from ..common.errors import message
from ..common.frames import locate
from ..values import gathering
from ..values.array import Traced, TracedScalar, bring
from ..values.ranges import affine, drift, interval
from ..values.storage import current_trace
from ..values.texts import TracedText

SCALAR = Tensor((), INDEX)
FAR = 2**62


def number(x):
    """An index, a bound or a length as such a number, usable in the present trace."""
    if isinstance(x, Traced):
        known = x.known()
        return int(known) if known is not None else cast_to(x.value, INDEX)
    if isinstance(x, Lit):
        return int(x.value)
    return bring(x) if hasattr(x, "type") else operator.index(x)


def operand(x):
    return Lit(x, SCALAR) if isinstance(x, int) else x


def operand_of(test):
    """A test, as `compare` gives it, as an operand."""
    return Lit(test, TRUTH) if isinstance(test, bool) else test


def traced(x):
    """The number as the Python int that user code holds."""
    return x if isinstance(x, int) else TracedScalar(x, int)


def terms(x):
    return ({}, x) if isinstance(x, int) else affine(x)


def ends(x):
    if isinstance(x, int):
        return x, x
    return interval(x) or (-FAR, FAR)


def between(a, b=0):
    """(least, greatest) that a - b can be."""
    (p, c), (q, d) = terms(a), terms(b)
    low = high = c - d
    for v in {**p, **q}:
        k = p.get(v, 0) - q.get(v, 0)
        if k:
            least, most = interval(v) or (-FAR, FAR)
            low, high = low + min(k * least, k * most), high + max(k * least, k * most)
    (a_low, a_high), (b_low, b_high) = ends(a), ends(b)
    return max(low, a_low - b_high), min(high, a_high - b_low)


def plus(a, b):
    if a == 0 or b == 0:
        return b if a == 0 else a
    return a + b if isinstance(a, int) and isinstance(b, int) else OPS["add"](operand(a), operand(b))


def minus(a, b):
    low, high = between(a, b)
    if low == high:
        return low
    return a if b == 0 else OPS["sub"](operand(a), operand(b))


def greatest(a, b):
    low, high = between(a, b)
    return a if low >= 0 else b if high <= 0 else OPS["maximum"](operand(a), operand(b))


def least(a, b):
    low, high = between(a, b)
    return a if high <= 0 else b if low >= 0 else OPS["minimum"](operand(a), operand(b))


def times(a, k):
    """a times an int."""
    return a * k if isinstance(a, int) else a if k == 1 else OPS["mul"](a, operand(k))


def quotient(a, k):
    """a // k of a >= 0 and an int k > 0."""
    return a // k if isinstance(a, int) else a if k == 1 else OPS["quotient"](a, operand(k))


def compare(name, a, b):
    """a < b, a <= b or a == b ("lt", "le", "eq"): a bool where it is proved, else a value."""
    low, high = between(a, b)
    if name == "eq":
        known = True if low == high == 0 else False if low > 0 or high < 0 else None
    else:
        edge = 0 if name == "le" else -1
        known = True if high <= edge else False if low > edge else None
    return known if known is not None else OPS[name](operand(a), operand(b))


def all_of(*tests):
    """All of these bools and bool values."""
    found = None
    for t in tests:
        if t is False:
            return False
        if t is not True:
            found = t if found is None else OPS["and"](found, t)
    return True if found is None else found


def either(a, b):
    if a is True or b is True:
        return True
    return b if a is False else a if b is False else OPS["or"](a, b)


def negated(a):
    return not a if isinstance(a, bool) else OPS["not"](a)


def choose(test, a, b):
    if isinstance(test, bool):
        return a if test else b
    return OPS["select"](test, operand(a), operand(b))


def require(ok, error, text, value=None, words=None):
    """That a bool or bool value holds, or the call raises."""
    ok = Lit(False, TRUTH) if ok is False else ok
    if ok is not True:
        current_trace().check(ok, error, text, value, words=words)


def require_said(ok, error, form, given, vague):
    """`require`, where NumPy says numbers: `form` with them in place of each `{}`. A program quotes one that it alone
    knows; of more plain Python says them, and the program `vague`."""
    traced = [x for x in given if not isinstance(x, int)]
    if len(traced) < 2:
        text = form.format(*("{}" if x in traced else x for x in given))
        require(ok, error, message(text, locate()), *traced)
        return
    scalars = [TracedScalar(x, int) for x in given]
    require(ok, error, message(vague, locate()), words=lambda: TracedText(form.format, scalars, form))


def out_of_bounds(ok, index, length, axis):
    """That an index lies on an axis of so many elements, or the call raises what NumPy says."""
    form = f"index {{}} is out of bounds for axis {axis} with size {{}}"
    vague = "index out of bounds for an axis whose length the data decides"
    require_said(ok, IndexError, form, [index, length], vague)


def require_fit(mask, length, axis):
    """That a mask of so many bools lies on an axis of as many elements, or the call raises what NumPy says."""
    vague = "boolean index did not match an axis whose length the data decides"
    form = gathering.misfit("{}", "{}", axis)
    require_said(compare("eq", mask, length), IndexError, form, [length, mask], vague)


def part_of(count, length, room):
    """Note that a length is at most another, of which there is room for so many."""
    if not isinstance(count, int) and not isinstance(length, int) and drift(count, length) is None:
        current_trace().root.drifts[count] = length, -room, 0
    return count


def bounded(value, low, high):
    """Note what a value can be, beside what is known of it."""
    if not isinstance(value, int | Lit):
        first, last = ends(value) if not value.type.shape else interval(value) or (-FAR, FAR)
        current_trace().root.bounds[value] = max(low, first), min(high, last)
    return value
