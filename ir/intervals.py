"""What one equation tells of the integers it computes: the interval they lie in, if it follows from those of its operands."""

import math

import numpy as np

from .affine import OUTCOMES
from .core import Lit, Value

MOVED = ("reshape", "broadcast", "slice", "dynamic_slice", "transpose", "reverse", "stop_gradient")  # ops whose elements are the operand's
BOUNDED = ("argmax", "argmin")  # ops whose results index the axis they came from


def decided(eqn, get):
    """The outcome of a comparison of integers, everywhere the same, or None."""
    if eqn.op.name not in OUTCOMES or eqn.operands[0].type.kind not in "iu":
        return None
    parts = [get(x) for x in eqn.operands]
    if None in parts:
        return None
    (a, b), (c, d) = parts
    return OUTCOMES[eqn.op.name](a - d, b - c)


def of_cast(value, eqn, xs, get):
    kind = xs[0].type.kind
    if kind == "f":
        low, high, unless, odd = rounded(value, get) or (None,) * 4
        return None if low is None else (low, high) if unless is None else (min(low, odd), max(high, odd))
    if kind not in "biu":
        return None
    whole = np.iinfo(xs[0].type.dtype) if kind != "b" else None
    return held(get(xs[0]) or ((whole.min, whole.max) if whole else (0, 1)), value)


RULES = {  # op that computes nothing with its operands -> (a result, its equation, the operands, what tells of an operand) -> interval
    "constant": lambda value, eqn, xs, get: of_array(np.asarray(eqn.attrs["value"])),
    **dict.fromkeys(MOVED, lambda value, eqn, xs, get: get(xs[0])),
    "cast": of_cast,
    "sort": lambda value, eqn, xs, get: get(xs[eqn.results.index(value)]),
    "gather": lambda value, eqn, xs, get: get(xs[0]) if eqn.attrs["mode"] != "fill" else None,
    "concatenate": lambda value, eqn, xs, get: union([get(x) for x in xs]),
    "iota": lambda value, eqn, xs, get: (0, max(eqn.attrs["shape"][eqn.attrs["axis"]] - 1, 0)),
    **dict.fromkeys(BOUNDED, lambda value, eqn, xs, get: (0, max(xs[0].type.shape[eqn.attrs["axis"]] - 1, 0))),
}


def of_result(value, get, inner=None):
    """(lowest, highest) of the elements of an integer value by its equation, or None. `get(x)` tells of an operand, `inner` of a branch's results."""
    eqn = value.eqn
    name, xs = eqn.op.name, eqn.operands
    if name == "cond":
        return union([(inner or get)(f.results[eqn.results.index(value)]) for f in eqn.attrs["branches"]])
    if name in RULES:
        return RULES[name](value, eqn, xs, get)
    if name == "select":
        name, xs = chosen(*xs), xs[1:]
    if name not in ARITHMETIC:
        return None
    parts = [get(x) for x in xs]
    if None in parts and name in ("maximum", "minimum", "clamp"):  # one side is known
        info = np.iinfo(value.type.dtype)
        parts = [p or (info.min, info.max) for p in parts]
    found = None if None in parts else ARITHMETIC[name](*parts)
    return held(found, value)


WHOLE = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}  # ops that leave whole numbers


def of_float(x, get):
    """(lowest, highest, y) of a float value that is NaN where y is, of the same shape, and lies between elsewhere; y is None if it never is."""
    if isinstance(x, Lit):
        return (float(x.value),) * 2 + (None,) if np.isfinite(x.value) else None
    if x.eqn is None:
        return None
    name, xs = x.eqn.op.name, x.eqn.operands
    if name == "cast" and xs[0].type.kind in "iu":
        found = get(xs[0])
        return found and (float(found[0]), float(found[1]), None)
    if name == "clamp" and all(isinstance(xs[k], Lit) and np.isfinite(xs[k].value) for k in (0, 2)):
        low, high = float(xs[0].value), float(xs[2].value)
        return min(low, high), high, nan_with(xs[1])
    if name in WHOLE and (found := of_float(xs[0], get)):
        return float(WHOLE[name](found[0])), float(WHOLE[name](found[1])), found[2]
    return None


def nan_with(x):
    """The first of the values that are NaN where x is, and nowhere else, among those it was computed from: what is added to them is finite."""
    while isinstance(x, Value) and x.eqn is not None and x.eqn.op.name in ("add", "sub"):
        one, other = x.eqn.operands
        if not finite(one) and not finite(other):
            return x
        x = other if finite(one) else one
    return x


def finite(x):
    """Whether all elements of a float value are known to be finite."""
    if isinstance(x, Lit) or x.eqn is None:
        return isinstance(x, Lit) and bool(np.isfinite(x.value))
    name, operand = x.eqn.op.name, x.eqn.operands[0] if x.eqn.operands else None
    if name == "cast":
        return operand.type.kind in "biu" and x.type.dtype in (np.float32, np.float64)
    if name in MOVED:
        return finite(operand)
    return name == "constant" and bool(np.isfinite(x.eqn.attrs["value"]).all())


def rounded(x, get):
    """(lowest, highest, y, odd) of an integer value that comes of floats: it is `odd` where y is NaN, and lies between elsewhere. Or None."""
    if isinstance(x, Lit) or x.eqn is None or x.type.dtype not in (np.int32, np.int64):
        return None
    name, xs, info = x.eqn.op.name, x.eqn.operands, np.iinfo(x.type.dtype)
    if name == "cast" and xs[0].type.kind == "f" and (found := of_float(xs[0], get)):
        low, high = math.trunc(found[0]), math.trunc(found[1])
        return (low, high, found[2], int(info.min)) if info.min < low and high < info.max else None
    for one, other in (xs, xs[::-1]) if name == "add" else ():
        if isinstance(other, Lit) and (found := rounded(one, get)):
            low, high, y, odd = found
            shift = int(other.value)
            return (low + shift, high + shift, y, odd + shift) if info.min <= odd + shift and high + shift <= info.max and shift >= 0 else None
    return None


def told_by_nan(eqn, get):
    """(y, outcome, moves) of a comparison that is `outcome` where a float is NaN, and not elsewhere; None if it is not known to be that.

    That float is what `moves`, equations from the first to the last, make of y.
    """
    if eqn.op.name not in OUTCOMES or eqn.operands[0].type.kind not in "iu":
        return None
    (x, bound), moves = eqn.operands, []
    if not isinstance(bound, Lit):
        return None
    while isinstance(x, Value) and x.eqn is not None and x.eqn.op.name in MOVED:
        moves.insert(0, x.eqn)
        x = x.eqn.operands[0]
    found = rounded(x, get)
    if found is None or found[2] is None:
        return None
    low, high, y, odd = (v if v is found[2] else v - int(bound.value) for v in found)
    here, there = OUTCOMES[eqn.op.name](low, high), OUTCOMES[eqn.op.name](odd, odd)
    return (y, there, moves) if None not in (here, there) and here != there else None


def _product(p, q):
    corners = [a * b for a in p for b in q]
    return min(corners), max(corners)


ARITHMETIC = {
    "add": lambda p, q: (p[0] + q[0], p[1] + q[1]),
    "sub": lambda p, q: (p[0] - q[1], p[1] - q[0]),
    "mul": _product,
    "neg": lambda p: (-p[1], -p[0]),
    "maximum": lambda p, q: (max(p[0], q[0]), max(p[1], q[1])),
    "minimum": lambda p, q: (min(p[0], q[0]), min(p[1], q[1])),
    "clamp": lambda *parts: tuple(min(max(x, low), high) for low, x, high in zip(*parts)),
    "select": lambda p, q: union([p, q]),
    "quotient": lambda p, q: (p[0] // q[1], p[1] // q[0]) if p[0] >= 0 and q[0] > 0 else None,
    "rem": lambda p, q: (0, min(p[1], q[1] - 1)) if p[0] >= 0 and q[0] > 0 else None,
}


def of_array(array):
    """(least, greatest) of an array of integers, None where it has no elements."""
    return (int(array.min()), int(array.max())) if array.size and array.dtype.kind in "iu" else None


def chosen(test, x, y):
    """What a choice is, the greater or the less of two, as Python's `max` and `min` write them, or "select"."""
    if isinstance(test, Lit) or test.eqn is None or test.eqn.op.name not in ("lt", "le", "gt", "ge"):
        return "select"
    less = test.eqn.op.name in ("lt", "le")
    if test.eqn.operands == (x, y):
        return "minimum" if less else "maximum"
    return ("maximum" if less else "minimum") if test.eqn.operands == (y, x) else "select"


def union(parts):
    """The interval of what may be any of several; None where one of them is not known."""
    return None if None in parts else (min(p[0] for p in parts), max(p[1] for p in parts))


def held(found, value):
    """The interval, if the type can hold it: beyond, integers wrap."""
    if found is None:
        return None
    info = np.iinfo(value.type.dtype)
    return found if info.min <= found[0] and found[1] <= info.max else None
