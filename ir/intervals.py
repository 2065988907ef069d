"""What one equation tells of the integers it computes: the interval they lie in, if it follows from those of its
operands."""

import math
import operator

import numpy as np

from .affine import OUTCOMES
from .core import Lit, Value
from .ops import OPS

FAR = 2.0**50  # of floats, what is near enough that whole numbers have halves between them
# ops whose elements are the operand's
MOVED = {op.name for op in OPS.values() if "moves" in op.traits} | {"stop_gradient"}


def comparison_outcome(eqn, get):
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
    return within_type(get(xs[0]) or ((whole.min, whole.max) if whole else (0, 1)), value)


def of_sum(value, eqn, xs, get):
    count, found = xs[0].type.size // max(value.type.size, 1), get(xs[0])
    return found and within_type((count * found[0], count * found[1]), value)


def of_running_sum(value, eqn, xs, get):
    count, found = max(xs[0].type.shape[eqn.attrs["axis"]], 1), get(xs[0])
    return found and within_type(hull(n * a for a in found for n in (1, count)), value)


def of_counted_bits(value, eqn, xs, get):
    return 0, xs[0].type.dtype.itemsize * 8


def of_first(value, eqn, xs, get):
    return get(xs[0])


def of_all(value, eqn, xs, get):
    return union([get(x) for x in xs])


def of_update(value, eqn, xs, get):
    return union([get(xs[0]), get(xs[2 if "updates" in eqn.op.operands else 1])])


def of_place(value, eqn, xs, get):
    return within_type((0, max(xs[0].type.shape[eqn.attrs["axis"]] - 1, 0)), value)


def of_draw(value, eqn, xs, get):
    """Numbers that are not drawn are 0."""
    if value is eqn.results[0]:
        return 0, np.iinfo(value.type.dtype).max
    if eqn.attrs["kind"] == "permutation":
        return 0, max(value.type.size - 1, 0)
    ends = [get(x) for x in xs[2:]] if eqn.attrs["kind"] == "integers" else [None]
    return None if None in ends else (min(ends[0][0], 0), max(ends[1][1] - 1, 0))


RULES = {  # op -> (a result, its equation, the operands, what tells of an operand) -> interval
    **dict.fromkeys(MOVED, of_first),
    **{op.name: of_all for op in OPS.values() if "joins" in op.traits},
    "constant": lambda value, eqn, xs, get: of_array(np.asarray(eqn.attrs["value"])),
    "cast": of_cast,
    "iota": lambda value, eqn, xs, get: (0, max(eqn.attrs["shape"][eqn.attrs["axis"]] - 1, 0)),
    "sort": lambda value, eqn, xs, get: get(xs[eqn.results.index(value)]),
    "gather": lambda value, eqn, xs, get: get(xs[0]) if eqn.attrs["mode"] != "fill" else None,
    **dict.fromkeys(("dynamic_update_slice", "scatter", "scatter_min", "scatter_max"), of_update),
    **dict.fromkeys(("argmax", "argmin"), of_place),
    **dict.fromkeys(("reduce_max", "reduce_min", "cummax", "cummin"), of_first),
    "draw": of_draw,
    "reduce_sum": of_sum,
    "cumsum": of_running_sum,
    **dict.fromkeys(("population_count", "clz"), of_counted_bits),
}


def of_result(value, get, inner=None):
    """(lowest, highest) of the elements of an integer value by its equation, or None. `get(x)` tells of an operand,
    `inner` of a branch's results."""
    eqn = value.eqn
    name, xs = eqn.op.name, eqn.operands
    if name == "cond":
        return union([(inner or get)(f.results[eqn.results.index(value)]) for f in eqn.attrs["branches"]])
    if name in RULES:
        return RULES[name](value, eqn, xs, get)
    if name == "select":
        name, xs = select_as_extreme(*xs), xs[1:]
    if name not in ARITHMETIC:
        return None
    parts = [get(x) for x in xs]
    if None in parts and name in ("maximum", "minimum", "clamp"):  # one side is known
        info = np.iinfo(value.type.dtype)
        parts = [p or (info.min, info.max) for p in parts]
    found = None if None in parts else ARITHMETIC[name](*parts, **eqn.attrs)
    return within_type(found, value)


WHOLE = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": round}  # ops that leave whole numbers


def of_float(x, get):
    """(lowest, highest, y) of a float value that is NaN where y is, of the same shape, and lies between elsewhere; y is
    None if it never is."""
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
    return of_arithmetic(name, xs, get)


BY_NUMBER = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
ROUNDING = 2.0**-40  # of a result, more than it is rounded by however it is computed


def of_arithmetic(name, xs, get):
    """The same of a sum, difference, product or quotient of a float that is never NaN and a number."""
    if name not in BY_NUMBER:
        return None
    x, number = xs[::-1] if isinstance(xs[0], Lit) and name in ("add", "mul") else xs
    if not isinstance(number, Lit) or x.type.dtype != np.float64 or not np.isfinite(number.value):
        return None
    found, number = of_float(x, get), float(number.value)
    if found is None or found[2] is not None or name == "div" and not number:
        return None
    return around(name, found, number)


def around(name, found, number):
    """The interval of the results, unless they are too large to be told apart from their neighbours."""
    ends = [BY_NUMBER[name](end, number) for end in found[:2]]
    low, high = min(ends), max(ends)
    if name not in ("mul", "div") or math.frexp(number)[0] not in (0.5, -0.5):
        low, high = low - ROUNDING * abs(low), high + ROUNDING * abs(high)
    return (low, high, None) if max(map(abs, (low, high, *found[:2]))) < FAR else None


def nan_with(x):
    """The first of the values that are NaN where x is, and nowhere else, among those it was computed from: what is
    added to them is finite."""
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
    """(lowest, highest, y, odd) of an integer value that comes of floats: it is `odd` where y is NaN, and lies between
    elsewhere. Or None."""
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
            return (
                (low + shift, high + shift, y, odd + shift)
                if info.min <= odd + shift and high + shift <= info.max and shift >= 0
                else None
            )
    return None


def told_by_nan(eqn, get):
    """(y, outcome, moves) of a comparison that is `outcome` where a float is NaN, and not elsewhere; None if it is not
    known to be that.

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


# -- whole numbers without bounds ------------------------------------------------------------------


def magnitude(p):
    """The greatest absolute value."""
    return max(abs(p[0]), abs(p[1]))


def hull(numbers):
    numbers = tuple(numbers)
    return min(numbers), max(numbers)


def _truncated(a, b):
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _quotient(p, q):
    return hull(_truncated(a, b) for a in p for b in (*q, *(b for b in (-1, 0, 1) if q[0] <= b <= q[1])))


def _rem(p, q):
    most = max(magnitude(q) - 1, 0)
    return max(min(p[0], 0), -most), min(max(p[1], 0), most)


def _power(p, *, n):
    return hull((*(a**n for a in p), *([0] if n and p[0] < 0 < p[1] else []))) if n >= 0 else None


def _bits(*parts):
    """What has no more bits than the operands."""
    most = 1 << max(max(~a if a < 0 else a for a in p).bit_length() for p in parts)
    return 0 if all(p[0] >= 0 for p in parts) else -most, most - 1


def _and(p, q):
    tops = [r[1] for r in (p, q) if r[0] >= 0]
    return (0, min(tops)) if tops else _bits(p, q)


def _shift(p, q, move):
    return hull(move(a, b) for a in p for b in q) if q[0] >= 0 and q[1] < 64 else None


# op -> (interval of each operand, attributes) -> interval of the result, or None: of integers without bounds
ARITHMETIC = {
    "add": lambda p, q: (p[0] + q[0], p[1] + q[1]),
    "sub": lambda p, q: (p[0] - q[1], p[1] - q[0]),
    "mul": lambda p, q: hull(a * b for a in p for b in q),
    "neg": lambda p: (-p[1], -p[0]),
    "abs": lambda p: (max(p[0], -p[1], 0), magnitude(p)),
    "sign": lambda p: tuple((a > 0) - (a < 0) for a in p),
    "integer_pow": _power,
    "quotient": _quotient,
    "rem": _rem,
    "maximum": lambda p, q: (max(p[0], q[0]), max(p[1], q[1])),
    "minimum": lambda p, q: (min(p[0], q[0]), min(p[1], q[1])),
    "clamp": lambda *parts: tuple(min(max(x, low), high) for low, x, high in zip(*parts)),
    "select": lambda p, q: union([p, q]),
    "and": _and,
    "or": _bits,
    "xor": _bits,
    "not": lambda p: (~p[1], ~p[0]),
    "shift_left": lambda p, q: _shift(p, q, int.__lshift__),
    "shift_right": lambda p, q: _shift(p, q, int.__rshift__),
}


def of_array(array):
    """(least, greatest) of an array of integers, None where it has no elements."""
    return (int(array.min()), int(array.max())) if array.size and array.dtype.kind in "iu" else None


def select_as_extreme(test, x, y):
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


def within_type(found, value):
    """The interval, if the type can hold it: beyond, integers wrap."""
    if found is None:
        return None
    info = np.iinfo(value.type.dtype)
    return found if info.min <= found[0] and found[1] <= info.max else None
