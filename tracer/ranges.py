"""What is known of integers while tracing: the interval they lie in, and their form as a sum of multiples of others.

Loop counters have bounds; sums, differences, multiples and choices of bounded integers are bounded too.
"""

import numpy as np

from ..ir.core import Lit
from .storage import current_trace

DEEP = 40  # equations looked through
BOUNDED = ("argmax", "argmin")  # ops whose results index the axis they came from


def interval(value, deep=DEEP, seen=None):
    """(lowest, highest) of an integer value, or None. seen: value -> what it was found to be, so that nothing is looked at twice."""
    seen = {} if seen is None else seen
    if isinstance(value, Lit):
        return (int(value.value),) * 2 if value.type.kind in "iu" else None
    if value not in seen:
        seen[value] = _interval(value, deep, seen)
    return seen[value]


def _interval(value, deep, seen):
    if value.type.kind not in "iu" or not deep:
        return None
    root = current_trace().root
    value = original(value, root)
    if isinstance(value, Lit):
        return interval(value)
    if value in root.bounds:
        return root.bounds[value]
    if value.eqn is None and root.known.get(value) is not None and value.type.size:
        return int(root.known[value].min()), int(root.known[value].max())
    eqn = value.eqn
    if eqn is None:
        return None
    name, xs = eqn.op.name, eqn.operands
    if name == "constant" or root.known.get(value) is not None:
        array = np.asarray(eqn.attrs["value"]) if name == "constant" else root.known[value]
        return (int(array.min()), int(array.max())) if array.size else None
    if name in ("reshape", "broadcast", "slice", "dynamic_slice", "transpose", "reverse"):
        return interval(xs[0], deep - 1, seen)
    if name == "cast" and xs[0].type.kind in "biu":
        whole = np.iinfo(xs[0].type.dtype) if xs[0].type.kind != "b" else None
        return held(interval(xs[0], deep - 1, seen) or ((whole.min, whole.max) if whole else (0, 1)), value)
    if name == "cond":
        at = next(n for n, r in enumerate(eqn.results) if r is value)
        return union([interval(f.results[at], deep - 1, seen) for f in eqn.attrs["branches"]])
    if name == "sort":
        return interval(xs[next(n for n, r in enumerate(eqn.results) if r is value)], deep - 1, seen)
    if name == "gather" and eqn.attrs["mode"] != "fill":
        return interval(xs[0], deep - 1, seen)
    if name == "concatenate":
        return union([interval(x, deep - 1, seen) for x in xs])
    if name == "iota":
        return 0, max(eqn.attrs["shape"][eqn.attrs["axis"]] - 1, 0)
    if name in BOUNDED:
        return 0, max(xs[0].type.shape[eqn.attrs["axis"]] - 1, 0)
    if name == "select":
        name, xs = chosen(*xs), xs[1:]
    parts = [interval(x, deep - 1, seen) for x in xs]
    if None in parts and name in ("maximum", "minimum", "clamp"):  # one side is known
        info = np.iinfo(value.type.dtype)
        parts = [p or (info.min, info.max) for p in parts]
    if None in parts:
        return None
    if name == "clamp":
        return tuple(min(max(x, low), high) for low, x, high in zip(*parts))
    (a, b), (c, d) = (parts * 2)[:2]
    if name == "add":
        found = a + c, b + d
    elif name == "sub":
        found = a - d, b - c
    elif name == "mul":
        corners = [a * c, a * d, b * c, b * d]
        found = min(corners), max(corners)
    elif name == "neg":
        found = -b, -a
    elif name == "maximum":
        found = max(a, c), max(b, d)
    elif name == "minimum":
        found = min(a, c), min(b, d)
    elif name == "select":
        found = min(a, c), max(b, d)
    elif name == "quotient" and a >= 0 and c > 0:
        found = a // d, b // c
    elif name == "rem" and a >= 0 and c > 0:
        found = 0, min(b, d - 1)
    else:
        return None
    return held(found, value)


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


def drift(value, start, deep=DEEP, seen=None):
    """(least, greatest) of value - start, where value is `start` with bounded numbers added; else None. seen: as above."""
    seen = {} if seen is None else seen
    if isinstance(value, Lit):
        return None
    if value not in seen:
        seen[value] = _drift(value, start, deep, seen)
    return seen[value]


def _drift(value, start, deep, seen):
    root = current_trace().root
    value = original(value, root)
    if value is start:
        return 0, 0
    if isinstance(value, Lit) or not deep:
        return None
    if value in root.drifts:
        first, low, high = root.drifts[value]
        found = drift(first, start, deep - 1, seen)
        return found and (found[0] + low, found[1] + high)
    name, xs = (value.eqn.op.name, value.eqn.operands) if value.eqn is not None else (None, ())
    if name in ("add", "sub"):
        for x, y in (xs, xs[::-1]) if name == "add" else (xs,):
            by, found = interval(y), drift(x, start, deep - 1, seen)
            if by is not None and found is not None:
                return (found[0] + by[0], found[1] + by[1]) if name == "add" else (found[0] - by[1], found[1] - by[0])
    if name == "select":
        return union([drift(x, start, deep - 1, seen) for x in xs[1:]])
    if name == "cond":
        at = next(n for n, r in enumerate(value.eqn.results) if r is value)
        return union([drift(f.results[at], start, deep - 1, seen) for f in value.eqn.attrs["branches"]])
    return None


def held(found, value):
    """The interval, if the type can hold it: beyond, integers wrap."""
    if found is None:
        return None
    info = np.iinfo(value.type.dtype)
    return found if info.min <= found[0] and found[1] <= info.max else None


def original(value, root):
    """The value of the outermost trace that a parameter of an inner one stands for."""
    while value in root.lifts:
        value = root.lifts[value]
    return value


def affine(value, deep=DEEP, seen=None):
    """({value: coefficient}, constant) of an integer value: what it is a sum of. seen: as for `interval`."""
    if isinstance(value, Lit):
        return {}, int(value.value)
    seen = {} if seen is None else seen
    value = original(value, current_trace().root)
    if isinstance(value, Lit):
        return {}, int(value.value)
    if value not in seen:
        seen[value] = _affine(value, deep, seen)
    return seen[value]


def _affine(value, deep, seen):
    eqn = value.eqn
    if eqn is not None and deep and value.type.kind in "iu":
        name, xs = eqn.op.name, eqn.operands
        if name in ("add", "sub"):
            (p, c), (q, d) = affine(xs[0], deep - 1, seen), affine(xs[1], deep - 1, seen)
            sign = 1 if name == "add" else -1
            return {k: n for k in {**p, **q} if (n := p.get(k, 0) + sign * q.get(k, 0))}, c + sign * d
        if name == "neg":
            p, c = affine(xs[0], deep - 1, seen)
            return {k: -n for k, n in p.items()}, -c
        if name == "mul":
            for x, y in (xs, xs[::-1]):
                if isinstance(y, Lit):
                    p, c = affine(x, deep - 1, seen)
                    n = int(y.value)
                    return {k: n * m for k, m in p.items() if n}, n * c
        if name == "cast" and xs[0].type.kind in "iu" and np.can_cast(xs[0].type.dtype, value.type.dtype):
            return affine(xs[0], deep - 1, seen)
    return {value: 1}, 0


def distance(stop, start):
    """stop - start, if it is the same number whatever the values are; else None."""
    (p, c), (q, d) = affine(stop), affine(start)
    return c - d if p == q else None
