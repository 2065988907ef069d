"""A program for arrays that lie over several devices: what is computed for an element is computed where the element is.

Two equations are written otherwise, with the same numbers. A store of nearly all of an array, `u[1:-1] = f(u[:-2],
u[2:])`, is a choice for every element of the array, and slices of its update are the arrays moved by as much: each
device then needs the rows beside its own, and nothing else moves. A gather or scatter one of whose indices counts the
rows, `x[arange(n), labels]`, takes from each row by itself.
"""

import numpy as np

from .core import Builder, Lit
from .ops.control import COUNTER
from .ops.elementwise import and_, ge, lt, select
from .ops.shape import broadcast, concatenate, constant, dynamic_update_slice, iota, pad, reshape, slice_
from .passes.dce import dce

MOST = 256  # bound: equations of an update that are computed for all of the array
POINTWISE = ("gather", "scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")


def aligned(func):
    """`func` with such equations written so; its regions stay as they are."""
    build, env = Builder.again(func), {}
    with build:
        for eqn in func.eqns:
            given = [env.get(x, x) for x in eqn.operands]
            made = None
            if eqn.op is dynamic_update_slice:
                made = chosen(eqn, given, env)
            elif eqn.op.name in POINTWISE:
                made = by_row(eqn, given)
            if made is None:
                build.replay(eqn, env)
            else:
                env[eqn.results[0]] = made
    return dce(build.finish([env.get(r, r) for r in func.results]))


# -- stores ----


def chosen(eqn, given, env):
    """A store at a place that the program knows, of more than a half of an array, as a choice; None of any other."""
    x, u, *starts = given
    if not all(isinstance(s, Lit) for s in starts) or not x.type.size // 2 < u.type.size < x.type.size:
        return None
    shape = x.type.shape
    low = [min(max(int(s.value), 0), n - k) for s, n, k in zip(starts, shape, u.type.shape, strict=True)]
    update = Update(shape, low, eqn.operands[1].type.shape, env).whole(eqn.operands[1])
    inside = None
    for axis, (a, k, n) in enumerate(zip(low, u.type.shape, shape, strict=True)):
        if k != n:
            at = iota(shape=shape, axis=axis, dtype=COUNTER.dtype)
            here = and_(ge(at, Lit(a, at.type)), lt(at, Lit(a + k, at.type)))
            inside = here if inside is None else and_(inside, here)
    return select(inside, update, x)


class Update:
    """What is stored, computed for all of the array: at the place where an element of it goes."""

    def __init__(self, shape, low, part, env):
        self.shape, self.low, self.part, self.env, self.known = shape, low, part, env, {}

    def whole(self, x):
        """x, of the shape of the part, as if it was computed for all of the array; junk outside of the part."""
        if isinstance(x, Lit):
            return Lit(x.value, x.type.like(self.shape))
        if x not in self.known:
            self.known[x] = self.made(x)
        return self.known[x]

    def made(self, x):
        eqn, get = x.eqn, lambda v: self.env.get(v, v)
        if eqn is not None and eqn.op is slice_ and eqn.operands[0].type.shape == self.shape:
            if all(k == 1 for k in eqn.attrs["stride"]):
                by = [a - b for a, b in zip(eqn.attrs["start"], self.low, strict=True)]
                return self.put(get(eqn.operands[0]), [-d for d in by], by)
        if eqn is not None and "elementwise" in eqn.op.traits and not eqn.op.multiple and len(self.known) < MOST:
            if all(v.type.shape == self.part for v in eqn.operands):
                operands = [self.whole(v) for v in eqn.operands]
                return Builder.current().emit(eqn.op, operands, eqn.attrs, eqn.source)
        if eqn is not None and eqn.op is broadcast and not eqn.operands[0].type.shape:
            return broadcast(get(eqn.operands[0]), shape=self.shape, dims=())
        return self.put(get(x), self.low, [n - k - a for n, k, a in zip(self.shape, self.part, self.low, strict=True)])

    def put(self, x, low, high):
        if not any(low) and not any(high):
            return x
        zero = Lit(0, x.type.like(()))
        return pad(x, zero, low=tuple(low), high=tuple(high), interior=(0,) * len(self.shape))


# -- indices ----


def by_row(eqn, given):
    """A gather or scatter at index vectors of which a part counts along an axis of them, as one within each row; None
    of any other."""
    joined, attrs = given[1].eqn if not isinstance(given[1], Lit) else None, eqn.attrs
    if joined is None or joined.op is not concatenate or attrs["operand_batch"]:
        return None
    if joined.attrs["axis"] != given[1].type.ndim - 1 or len(joined.operands) != len(attrs["start_index_map"]):
        return None
    for k, (part, axis) in enumerate(zip(joined.operands, attrs["start_index_map"], strict=True)):
        d = counted_axis(part, given[0].type.shape[axis])
        if d is not None and axis in attrs["collapsed"]:
            rest = [p for j, p in enumerate(joined.operands) if j != k]
            indices = rest[0] if len(rest) == 1 else concatenate(*rest, axis=joined.attrs["axis"])
            changed = {
                "start_index_map": tuple(a for a in attrs["start_index_map"] if a != axis),
                "collapsed": tuple(a for a in attrs["collapsed"] if a != axis),
                "operand_batch": (axis,),
                "indices_batch": (d,),
            }
            return Builder.current().emit(eqn.op, [given[0], indices, *given[2:]], {**attrs, **changed}, eqn.source)
    return None


def counted_axis(x, rows):
    """The axis of index vectors along which numbers count 0, 1, ..., rows - 1, or None."""
    eqn = None if isinstance(x, Lit) else x.eqn
    if eqn is not None and eqn.op is reshape and x.type.ndim == 2 and eqn.operands[0].type.ndim == 1:
        eqn = eqn.operands[0].eqn if not isinstance(eqn.operands[0], Lit) else None
    if eqn is None:
        return None
    if eqn.op is iota and eqn.attrs["shape"][eqn.attrs["axis"]] == rows:
        return eqn.attrs["axis"]
    if eqn.op is constant:
        array = eqn.attrs["value"].array
        for d in range(max(array.ndim - 1, 1)):
            if array.shape[d] == rows:
                shape = [rows if a == d else 1 for a in range(array.ndim)]
                if np.array_equal(array, np.broadcast_to(np.arange(rows).reshape(shape), array.shape)):
                    return d
    return None
