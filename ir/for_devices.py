"""A program for arrays that lie over several devices: what is computed for an element is computed where the element is.

Equations are written otherwise, with the same numbers. A store into a part of an array, `u[1:-1] = f(u[:-2],
u[2:])`, is a choice for every element of the array, and slices of its update are the arrays moved by as much: each
device then needs the rows beside its own, and nothing else moves. A gather or scatter one of whose indices counts the
rows, `x[arange(n), labels]`, takes from each row by itself. And loops do not carry numbers that nobody reads.
"""

import numpy as np

from .core import Builder, Lit
from .ops.control import COUNTER, cond, loop
from .ops.elementwise import and_, ge, lt, select
from .ops.shape import broadcast, concatenate, constant, dynamic_update_slice, iota, pad, reshape, slice_
from .passes.dce import dce

SHARE = 16  # bound: how many times a part may stand in the array into which it is stored by a choice
MOST = 256  # bound: equations of an update that are computed for all of the array
POINTWISE = ("gather", "scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")


def for_devices(func):
    """`func` with such equations written so; its regions stay as they are."""
    build, env = Builder.again(func), {}
    read = {x for eqn in func.eqns for x in eqn.operands} | {*func.results}
    with build:
        for eqn in func.eqns:
            given = [env.get(x, x) for x in eqn.operands]
            made = None
            if eqn.op is loop and (idle := idle_numbers(eqn, read)):
                without_numbers(eqn, given, idle, env)
                continue
            if eqn.op is dynamic_update_slice:
                made = store_as_choice(eqn, given, env)
            elif eqn.op.name in POINTWISE:
                made = by_row(eqn, given)
            elif eqn.op is reshape:
                made = shape_before(given[0], eqn.attrs["shape"])
            elif "elementwise" in eqn.op.traits and not eqn.op.multiple:
                made = in_shape_before(eqn, given)
            if made is None:
                build.replay(eqn, env)
            else:
                env[eqn.results[0]] = made
    return dce(build.finish([env.get(r, r) for r in func.results]))


# -- stores ----


def store_as_choice(eqn, given, env):
    """A store of what is computed into a part of an array that the program knows and that is not small, as a choice;
    None of any other."""
    x, u, *starts = given
    if isinstance(u, Lit) or not all(isinstance(s, Lit) for s in starts):
        return None
    if not x.type.size < SHARE * u.type.size < SHARE * x.type.size:
        return None
    shape = x.type.shape
    low = [min(max(int(s.value), 0), n - k) for s, n, k in zip(starts, shape, u.type.shape, strict=True)]
    update = RowUpdate(shape, low, eqn.operands[1].type.shape, env).whole(eqn.operands[1])
    inside = None
    for axis, (a, k, n) in enumerate(zip(low, u.type.shape, shape, strict=True)):
        if k != n:
            at = iota(shape=shape, axis=axis, dtype=COUNTER.dtype)
            here = and_(ge(at, Lit(a, at.type)), lt(at, Lit(a + k, at.type)))
            inside = here if inside is None else and_(inside, here)
    return select(inside, update, x)


class RowUpdate:
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


# -- shapes ----


def shape_before(x, shape):
    """What a value was before it had another shape, if it had this one."""
    source = None if isinstance(x, Lit) or x.eqn is None or x.eqn.op is not reshape else x.eqn.operands[0]
    return source if source is not None and source.type.shape == shape else None


def in_shape_before(eqn, given):
    """Elementwise work on arrays that were given another shape, such as a flat one, in the one that they had: an axis
    that is spread is one there. None where that differs or there is none."""
    shapes = {None if v.eqn is None or v.eqn.op is not reshape else v.eqn.operands[0].type.shape
              for v in given if not isinstance(v, Lit)}  # fmt: skip
    if len(shapes) != 1 or not all(shapes):
        return None
    (shape,) = shapes
    sources = [Lit(v.value, v.type.like(shape)) if isinstance(v, Lit) else v.eqn.operands[0] for v in given]
    return reshape(Builder.current().emit(eqn.op, sources, eqn.attrs, eqn.source), shape=eqn.results[0].type.shape)


# -- numbers that a loop carries for nothing ----


def idle_numbers(eqn, read):
    """Places of the carried numbers of a loop that nobody reads behind it, and that decide nothing within; read: the
    values that are."""
    body, carried, test = eqn.attrs["body"], eqn.attrs["carried"], eqn.attrs["test"]
    first = len(body.params) - carried
    live = {n for n, r in enumerate(eqn.results) if r in read or r.type.shape}
    if len(live) == carried:
        return ()
    tested = set() if test is None else deciding(test, {0})
    while True:
        found = live | {k - first for k in deciding(body, live) | tested if k >= first}
        if found == live:
            return tuple(n for n in range(carried) if n not in live)
        live = found


def deciding(func, wanted):
    """Places of the parameters on which some results depend."""
    values = {func.results[n] for n in wanted}
    for eqn in reversed(func.eqns):
        gives = {n for n, r in enumerate(eqn.results) if r in values}
        if eqn.op is cond and gives:
            inner = set().union(*(deciding(branch, gives) for branch in eqn.attrs["branches"]))
            values |= {eqn.operands[0], *(eqn.operands[1 + k] for k in inner)}
        elif gives or eqn.effect:
            values.update(eqn.operands)
    return {k for k, p in enumerate(func.params) if p in values}


def without_numbers(eqn, given, idle, env):
    """The same loop, which does not carry them."""
    attrs = eqn.attrs
    first = len(given) - attrs["carried"]
    kept = [n for n in range(attrs["carried"]) if n not in idle]

    def lessened(func):
        if func is None:
            return None
        made = Builder(func.name)
        start = len(func.params) - attrs["carried"]
        with made:
            params = [None if k - start in idle else made.param(p.type, p.hint) for k, p in enumerate(func.params)]
            values = [Lit(0, p.type) if x is None else x for x, p in zip(params, func.params, strict=True)]
            results = made.inline(func, values)
        results = [results[n] for n in kept] if func is attrs["body"] else results
        return dce(made.finish(results))

    changed = {**attrs, "body": lessened(attrs["body"]), "test": lessened(attrs["test"]), "carried": len(kept)}
    operands = [x for k, x in enumerate(given) if k - first not in idle]
    out = Builder.current().emit(loop, operands, changed, eqn.source, [eqn.results[n].hint for n in kept])
    env.update((eqn.results[n], r) for n, r in zip(kept, out, strict=True))


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
