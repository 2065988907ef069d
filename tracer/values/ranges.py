"""What is known of integers while tracing: the interval they lie in, and their form as a sum of multiples of others.

Loop counters have bounds; sums, differences, multiples and choices of bounded integers are bounded too.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.intervals import of_array, of_result, union
from .storage import current_trace

DEEP = 40  # equations looked through


def interval(value, deep=DEEP, seen=None):
    """(lowest, highest) of an integer value, or None. seen: value -> what it was found to be, so that nothing is looked
    at twice."""
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
    if value.eqn is None:
        return None
    if root.known.get(value) is not None:
        return of_array(root.known[value])
    return of_result(value, lambda x: interval(x, deep - 1, seen))


def drift(value, start, deep=DEEP, seen=None):
    """(least, greatest) of value - start, where value is `start` with bounded numbers added; else None. seen: as
    above."""
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
