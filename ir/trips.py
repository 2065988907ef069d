"""What a loop body computes from its counter and its invariants, for all trips at once: values with the trips as one
more axis, in front."""

from .affine import Affine
from .core import Lit
from .ops.control import COUNTER
from .ops.linalg import dot_general
from .ops.shape import broadcast, dynamic_slice, dynamic_update_slice, iota, reshape, reverse, slice_, transpose
from .pattern import made_by

START = Lit(0, COUNTER)


class TripPart:
    """A part of an array that a trip reads or writes: fixed but along one axis, where trip t meets the one element
    first + step * t."""

    def __init__(self, known, counter, trips, shape, starts, sizes):
        """`axis` is None where the part is in one place; `there` says whether it is known where it lies, and that it
        lies inside."""
        self.axis, self.first, self.step, self.starts, self.sizes, self.there = None, 0, 0, [], tuple(sizes), True
        for d, (n, start, k) in enumerate(zip(shape, starts, sizes, strict=True)):
            terms, c = ({}, 0) if k == n else known.form(start)
            self.starts.append(min(max(c, 0), n - k))
            if terms:
                step = terms.get(counter, 0)
                ends = c, c + step * (trips - 1)
                self.there &= (
                    self.axis is None and k == 1 and [*terms] == [counter] and 0 <= min(ends) and max(ends) < n
                )
                self.axis, self.first, self.step = d, c, step
        self.last = self.first + self.step * (trips - 1)
        self.lowest = min(self.first, self.last)
        # the shape of what lies at one place of the axis
        self.rest = tuple(k for d, k in enumerate(self.sizes) if d != self.axis)

    def line(self):
        """Where it moves."""
        return self.axis, self.first, self.step

    def same(self, other):
        return (
            self.there
            and other.there
            and (self.line(), self.starts, self.sizes) == (other.line(), other.starts, other.sizes)
        )


def known_counters(body, trips):
    """The Affine of the counter of a loop body, and of what it computes of that."""
    known = Affine()
    known.counter(body.params[0], Lit(trips, COUNTER))
    for eqn in body.eqns:
        for r in eqn.results:
            if r.type is COUNTER:
                known.form(r)  # now, one equation at a time, so that no chain of them is long
    return known


class Trips:
    """The values of a loop body that are known for all trips: each as (value, whether it has the axis of the trips).

    build: where equations go; env: what the parameters of the body stand for, those left out depend on earlier trips;
    room: elements that a value with the axis may have; own: {state of a carried array: the part that this trip alone
    writes, the same for all states of the array}: what is read there is what was there before the loop, or what this
    trip wrote last.
    """

    def __init__(self, build, body, env, known, trips, room, own):
        self.build, self.counter, self.known, self.trips, self.room = build, body.params[0], known, trips, room
        self.values, self.own, self.before = {p: (x, False) for p, x in env.items() if p not in own}, own, env
        self.numbers = iota(shape=(trips,), axis=0, dtype=COUNTER.dtype)
        self.values[self.counter] = self.numbers, True
        self.products = set()  # of invariants with a part that the counter picks

    def get(self, x):
        """(value, flag), or None where it is not known."""
        return (x, False) if isinstance(x, Lit) else self.values.get(x)

    def whole(self, x):
        """x with the axis of the trips, repeated along it if need be."""
        value, flag = self.get(x)
        return value if flag else self.spread(value)

    def spread(self, x):
        if isinstance(x, Lit):
            return Lit(x.value, x.type.like((self.trips, *x.type.shape)))
        return broadcast(x, shape=(self.trips, *x.type.shape), dims=tuple(range(1, x.type.ndim + 1)))

    def run(self, eqn):
        """Note the results of an equation if they are known."""
        if eqn.op is dynamic_slice and eqn.operands[0] in self.own:
            return self.read(eqn, eqn.operands[0])
        found = [self.get(x) for x in eqn.operands]
        if None in found or eqn.effect or eqn.regions() or eqn.op.multiple:
            return
        z, xs, flags = eqn.results[0], [x for x, _ in found], [f for _, f in found]
        self.build.source = eqn.source
        if not any(flags):
            self.values[z] = self.build.emit(eqn.op, xs, eqn.attrs, None, (z.hint,)), False
        elif z.type.size * self.trips <= self.room:
            new = self.rule(eqn, xs, flags)
            if new is not None:
                self.values[z] = new, True

    def rule(self, eqn, xs, flags):
        """An equation with the axis, or None. Of the ops that move elements and of products, those that stay one such
        op."""
        op, attrs, shape = eqn.op, eqn.attrs, (self.trips, *eqn.results[0].type.shape)
        if "elementwise" in op.traits:
            return op(*[x if f else self.spread(x) for x, f in zip(xs, flags)], **attrs)
        if "reduction" in op.traits:
            return op(xs[0], axes=tuple(a + 1 for a in attrs["axes"]))
        if op is reshape:
            return reshaped(xs[0], shape)
        if op is broadcast:
            return broadcast(xs[0], shape=shape, dims=(0, *(d + 1 for d in attrs["dims"])))
        if op is transpose:
            return transpose(xs[0], perm=(0, *(p + 1 for p in attrs["perm"])))
        if op is reverse:
            return reverse(xs[0], axes=tuple(a + 1 for a in attrs["axes"]))
        if op is slice_:
            return slice_(
                xs[0], start=(0, *attrs["start"]), stop=(self.trips, *attrs["stop"]), stride=(1, *attrs["stride"])
            )
        if op is dynamic_slice and flags[0] and not any(flags[1:]):
            return dynamic_slice(xs[0], START, *xs[1:], sizes=shape)
        if op is dynamic_update_slice and not any(flags[2:]):
            return dynamic_update_slice(*(x if f else self.spread(x) for x, f in zip(xs[:2], flags)), START, *xs[2:])
        if op is dynamic_slice and not flags[0]:
            return self.picked(eqn, xs[0], shape)
        if op is dot_general and sum(flags) == 1:
            self.products.add(eqn.results[0])
            return self.product(eqn, xs, flags)
        return None

    def part(self, eqn):
        return TripPart(
            self.known, self.counter, self.trips, eqn.operands[0].type.shape, eqn.operands[1:], eqn.attrs["sizes"]
        )

    def read(self, eqn, x):
        """Note what a trip reads of a carried array, if it is its own."""
        if not self.part(eqn).same(self.own[x]):
            return
        if x.eqn is not None:
            found = self.get(x.eqn.operands[1])
        else:
            found = self.picked(eqn, self.before[x], (self.trips, *eqn.results[0].type.shape)), True
        if found is not None and found[0] is not None:
            self.values[eqn.results[0]] = found

    def picked(self, eqn, x, shape):
        """The parts that the counter picks, one a trip, as one part of the array."""
        at = self.part(eqn)
        if not at.there or at.axis is None:
            return None
        if isinstance(x, Lit):
            return Lit(x.value, x.type.like(shape))
        start, stop, stride = list(at.starts), [a + k for a, k in zip(at.starts, eqn.attrs["sizes"])], [1] * x.type.ndim
        start[at.axis], stop[at.axis], stride[at.axis] = at.lowest, max(at.first, at.last) + 1, abs(at.step)
        x = reshaped(to_front(slice_(x, start=tuple(start), stop=tuple(stop), stride=tuple(stride)), at.axis), shape)
        return reverse(x, axes=(0,)) if at.step < 0 else x

    def product(self, eqn, xs, flags):
        """The trips are a free axis of the operand that has them."""
        contract, batch = (
            [tuple(a + f for a in axes) for f, axes in zip(flags, eqn.attrs[name])] for name in ("contract", "batch")
        )
        if flags[1] and not batch[0] and xs[1].type.ndim == 1 + len(contract[1]):
            return dot_general(*xs[::-1], contract=tuple(contract[::-1]), batch=((), ()))
        before = len(batch[0]) + (xs[0].type.ndim - len(contract[0]) - len(batch[0]) if flags[1] else 0)
        return to_front(dot_general(*xs, contract=tuple(contract), batch=tuple(batch)), before)


def is_turned(x):
    """Whether the trips of x, its first axis, are those of an array in reverse order."""
    return made_by(x, reverse) is not None and x.eqn.attrs["axes"] == (0,)


def reshaped(x, shape):
    """x in this shape, which may be its own; that trips are in reverse order is done last, to be seen."""
    if isinstance(x, Lit):
        return Lit(x.value, x.type.like(shape))
    if is_turned(x) and shape[:1] == x.type.shape[:1]:
        return reverse(reshaped(*x.eqn.operands, shape), axes=(0,))
    return x if x.type.shape == shape else reshape(x, shape=shape)


def to_front(x, axis):
    """x with one of its axes first."""
    return x if axis == 0 else transpose(x, perm=(axis, *(d for d in range(x.type.ndim) if d != axis)))


def from_front(x, axis):
    """x with its first axis at `axis`."""
    order = [*range(1, x.type.ndim)]
    return x if axis == 0 else transpose(x, perm=(*order[:axis], 0, *order[axis:]))
