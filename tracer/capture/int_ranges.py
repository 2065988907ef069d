"""Whether 64 bits do for the ints of a program that are numbers of it: Python's have no bounds.

An int that is taken in is known to be small (`world.small`). What is made of such ints and of literals is
followed as an interval; where that leaves 64 bits, or is not known, the ints are to be static instead.
Numbers of arrays wrap in NumPy too, and are not followed.
"""

from ...ir.core import Lit
from ...ir.intervals import ARITHMETIC, magnitude
from ...ir.ops.control import groups
from ..common.emit import INT64
from ..guards.guard import LARGEST

SMALL = -LARGEST, LARGEST
WIDEST = 1 << 63
GROWING = object()  # a sum that a loop adds to, less than `STEP` each time: it would take minutes to leave 64 bits
STEP = 1 << 32


class Wraps(Exception):
    """An int may leave 64 bits."""


def narrows(func):
    """Whether 64 bits may be too many: NumPy refuses, by value, what does not fit a narrow dtype; and powers and shifts
    may need more."""
    for e in func.eqns:
        if (
            e.op.name in ("cast", "pow", "shift_left", "shift_right")
            and e.operands[0].type is INT64
            and e.results[0].type.kind in "iu"
        ):
            return True
    return any(narrows(r) for e in func.eqns for r in e.regions())


def fit(func, ints):
    """Whether all that is made of the parameters `ints` fits 64 bits."""
    try:
        result_intervals(func, dict.fromkeys(ints, SMALL))
    except Wraps:
        return False
    return not narrows(func)


def result_intervals(func, known):
    """The intervals of the results, None for those that are no ints of Python's; `known` maps values to intervals, and
    is filled."""
    for e in func.eqns:
        found = [interval(x, known) for x in e.operands]
        if e.op.name in REGIONS:
            made = REGIONS[e.op.name](e, found)
        elif len(e.results) != 1 or e.results[0].type is not INT64:
            continue
        else:
            made = [scalar_interval(e, found)]
        known.update((r, i) for r, i in zip(e.results, made) if i is not None)
    return [interval(r, known) for r in func.results]


def interval(x, known):
    if isinstance(x, Lit):
        return (int(x.value),) * 2 if x.type is INT64 else None
    return known.get(x)


def scalar_interval(e, found):
    """The interval of a result that is made of ints of Python's alone."""
    name = e.op.name
    if name == "cast":
        return (0, 1) if e.operands[0].type.kind == "b" else found[0]
    if name == "select":
        found = found[1:]
    if not found or None in found:
        return None
    if name not in ARITHMETIC:
        raise Wraps
    if GROWING in found:
        return growing(name, found)
    made = ARITHMETIC[name](*found, **e.attrs)
    if made is None or made[0] < -WIDEST or made[1] >= WIDEST:
        raise Wraps
    return made


def growing(name, found):
    """The same where an operand is a sum that a loop adds to."""
    others = [i for i in found if i is not GROWING]
    if name in ("neg", "abs", "maximum", "minimum", "clamp", "select", "quotient"):
        return GROWING
    if name in ("add", "sub") and all(magnitude(i) < STEP for i in others) and len(others) == 1:
        return GROWING
    if name == "sign":
        return -1, 1
    if name == "rem" and found[1] is not GROWING:
        return -magnitude(found[1]), magnitude(found[1])
    if name == "mul" and others in ([(0, 0)], [(1, 1)], [(-1, -1)]):
        return GROWING
    raise Wraps


def union(*parts):
    if None in parts:
        return None
    return GROWING if GROWING in parts else (min(p[0] for p in parts), max(p[1] for p in parts))


# -- equations with bodies -------------------------------------------------------------------------


def cond(e, found):
    index, *rest = found
    return [union(*parts) for parts in zip(*(result_intervals(b, given(b.params, rest)) for b in e.attrs["branches"]))]


def call(e, found):
    body = e.attrs["body"]
    return result_intervals(body, given(body.params, found))


def loop(e, found):
    attrs = e.attrs
    limit, fixed, state = groups(found, test=attrs["test"], trips=attrs["trips"], carried=attrs["carried"])
    counter = (
        0,
        attrs["trips"]
        if attrs["trips"] is not None
        else magnitude(limit[0])
        if limit and limit[0] not in (None, GROWING)
        else LARGEST,
    )
    while True:
        if attrs["test"] is not None:
            result_intervals(attrs["test"], given(attrs["test"].params, [counter, *fixed, *state]))
        after = result_intervals(attrs["body"], given(attrs["body"].params, [counter, *fixed, *state]))
        wider = [
            None if a is None or b is None else a if interval_within(b, a) else GROWING for a, b in zip(state, after)
        ]
        if wider == list(state):
            return state
        state = wider


def interval_within(inner, outer):
    return outer is GROWING or inner is not GROWING and outer[0] <= inner[0] and inner[1] <= outer[1]


def given(params, found):
    return {p: i for p, i in zip(params, found, strict=True) if i is not None and p.type is INT64}


REGIONS = {"cond": cond, "call": call, "loop": loop}
