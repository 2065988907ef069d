"""Lanes of a loop: indices along one axis of which a trip needs, of what the trips before left, no other than it leaves
itself.

Such a loop may run block by block, all its trips on a few lanes before the next ones. Where trips go along the columns
of arrays, or each goes through arrays that are larger than the cache, a block stays in the cache while they do; and
threads may share the blocks.

The lane of an element is its index along an axis, plus a shift: x[1:] begins on lane 1 of x.
"""

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from .code import IndexForm
from .interrupts import LONG, ROW, trips, work

SLICE, PART, STORE = OPS["slice"], OPS["dynamic_slice"], OPS["dynamic_update_slice"]
RESHAPE, TRANSPOSE, BROADCAST, IOTA = OPS["reshape"], OPS["transpose"], OPS["broadcast"], OPS["iota"]
MOVES = {SLICE, PART, RESHAPE, TRANSPOSE, BROADCAST}
LINE = 64  # fact: bytes that come into the cache together
# bytes that are sure to stay near the processor from one trip to the next; measured by benchmarks/tune.py
NEAR = 1 << 13
# bytes that a trip leaves from which they are not there any more when the next one reads them; measured by
# benchmarks/tune.py
FAR = 1 << 17
ROOM = 1 << 15  # bytes that a trip of a block leaves then; measured by benchmarks/tune.py
LEAST = 64  # bound: lanes that a block has at least along rows, which are computed in vectors
WIDE = 4  # bound: times ROOM that a block leaves at most
FEW = 4  # bound: trips up to which blocks save little


class Strip:
    """of: {value: (axis, shift)}; still: values whose elements are read where they lie; what is computed lies on the
    lanes [low, high).

    even: whether everything that is computed lies on all of them.
    """

    def __init__(self, of, still, ends):
        self.of, self.still = of, still
        self.low, self.high = min(low for low, _ in ends), max(high for _, high in ends)
        self.even = len(set(ends)) == 1

    def stored(self, eqn):
        """The lane of what a store puts into an array."""
        x, u, *starts = eqn.operands
        return part_lane_maps(x, u, starts)[0](self.of[eqn.results[0]])


class Block:
    """The lanes of a loop from `first` on, an index, of which there are `size`."""

    def __init__(self, lanes, first, size):
        self.lanes, self.first, self.size = lanes, first, size

    def computed(self, x):
        """The lane of a value that is computed, or None where all of it is."""
        return None if x in self.lanes.still else self.lanes.of.get(x)

    def part(self, code, shift, n):
        """(lowest, highest + 1, what is added to them) of the indices of n elements along an axis that lie on these
        lanes."""
        first = self.first.plus(-shift)
        if self.lanes.even and (self.lanes.high - self.lanes.low) % self.size == 0:
            return "0", str(self.size), first
        low = code.value(first)
        return code.most("0", low), code.least(str(n), code.value(first.plus(self.size))), IndexForm()


class StripConflict(Exception):
    """A value would lie on two lanes at once, or needs others than its own."""


def lanes(body, carried, axes=slice(-1)):
    """The lanes of a loop body, along one of `axes` of the largest array that it carries, or None. Numbers that it
    carries hang on no array: each block comes to the same."""
    state = body.params[len(body.params) - carried :]
    arrays = [r for p, r in zip(state, body.results, strict=True) if p.type.shape]
    if not arrays or not all(isinstance(r, Value) for r in arrays):
        return None
    if any(eqn.regions() or eqn.op.effect for eqn in body.eqns):
        return None
    largest = max(state, key=lambda p: (p.type.ndim, p.type.size))
    for axis in range(largest.type.ndim)[axes]:
        if largest.type.shape[axis] > 1:
            try:
                return found(body, state, largest, axis)
            except StripConflict:
                pass
    return None


def found(body, state, largest, axis):
    """The lanes where those of the array `largest` lie along an axis, or Conflict."""
    still = invariant_reads(body, state)
    carried = [(p, r) for p, r in zip(state, body.results, strict=True) if p.type.shape]
    of, todo = {}, []

    def put(x, lane):
        if lane is None or of.setdefault(x, lane) != lane:
            raise StripConflict
        if x not in seen:
            seen.add(x)
            todo.append(x)

    seen, links = set(), {}
    for eqn in body.eqns:
        for x, there, back in linked(eqn, still):
            links.setdefault(x, []).append((eqn.results[0], there))
            links.setdefault(eqn.results[0], []).append((x, back))
    for p, r in carried:
        links.setdefault(p, []).append((r, same_lane))
        links.setdefault(r, []).append((p, same_lane))
    put(largest, (axis, 0))
    while todo:
        x = todo.pop()
        for y, way in links.get(x, ()):
            lane = way(of[x])
            if lane is not None:
                put(y, lane)
            elif x not in still and y not in still:
                raise StripConflict
    made = [eqn.results[0] for eqn in body.eqns if eqn.results[0].type.shape]
    if any(x not in of and x not in still for x in (*made, *(p for p, _ in carried))):
        raise StripConflict
    computed = [x for x in (*made, *body.results) if x in of and x not in still]
    ends = ends_of(body, carried, computed, of)
    return Strip(of, still, ends) if ends else None


def ends_of(body, carried, computed, of):
    """The lanes of what is computed, of what is stored, and of whole arrays that are left in another's place."""
    ends = [end(x, of[x]) for x in computed if not is_stored(x)]
    ends += [stored_end(eqn, of) for eqn in body.eqns if eqn.op is STORE]
    return ends + [end(r, of[r]) for p, r in carried if before_stores(r) is not p]


def before_stores(x):
    """What an array is before stores into it."""
    while isinstance(x, Value) and is_stored(x):
        x = x.eqn.operands[0]
    return x


def is_stored(x):
    return x.eqn is not None and x.eqn.op is STORE


def end(x, lane):
    """The lanes on which a value lies: (lowest, highest + 1)."""
    axis, shift = lane
    return shift, shift + x.type.shape[axis]


def stored_end(eqn, of):
    """The lanes of what a store puts into an array."""
    x, u, *starts = eqn.operands
    lane = part_lane_maps(x, u, starts)[0](of[x])
    if lane is None:
        raise StripConflict
    return end(u, lane)


def same_lane(lane):
    return lane


def invariant_reads(body, state):
    """The values that are elements of arrays that the loop does not change, or counts: they are read where they lie."""
    still = {p for p in body.params if p not in state}
    for eqn in body.eqns:
        if eqn.op in (IOTA, OPS["constant"]) or (
            eqn.op in MOVES and all(isinstance(x, Lit) or x in still or not x.type.shape for x in eqn.operands)
        ):
            still.update(eqn.results)
    return still


def linked(eqn, still):
    """[(operand, lane of the operand -> lane of the result, and back)]: what an equation takes from the lanes of its
    result."""
    r, op = eqn.results[0], eqn.op
    arrays = [x for x in eqn.operands if isinstance(x, Value) and x.type.shape]
    if "elementwise" in op.traits:
        return [(x, same_lane, same_lane) for x in arrays]
    if op in MOVES:
        x = eqn.operands[0]
        if not arrays or x in still:
            return []
        return [(x, *MOVED[op](eqn, x, r))]
    if op is STORE:
        x, u, *starts = eqn.operands
        return (
            [(x, same_lane, same_lane), (u, *part_lane_maps(x, u, starts)[::-1])]
            if isinstance(u, Value)
            else [(x, same_lane, same_lane)]
        )
    if arrays or r.type.shape and r not in still:
        raise StripConflict
    return []


def part_lane_maps(x, part, starts):
    """The ways from an array to a part of it, and back."""

    def by(sign):
        def way(lane):
            axis, shift = lane
            start = 0 if part.type.shape[axis] == x.type.shape[axis] else starts[axis]
            if isinstance(start, Lit):
                start = min(max(int(start.value), 0), x.type.shape[axis] - part.type.shape[axis])
            return (axis, shift + sign * start) if isinstance(start, int) else None

        return way

    return by(1), by(-1)


def of_slice(eqn, x, r):
    start, stride = eqn.attrs["start"], eqn.attrs["stride"]
    way = lambda sign: lambda lane: (lane[0], lane[1] + sign * start[lane[0]]) if stride[lane[0]] == 1 else None
    return way(1), way(-1)


def of_axes(there):
    """The ways along {axis of the operand: axis of the result}."""
    back = {e: d for d, e in there.items()}
    way = lambda axes: lambda lane: (axes[lane[0]], lane[1]) if lane[0] in axes else None
    return way(there), way(back)


def of_reshape(eqn, x, r):
    old, new = ([d for d, n in enumerate(t.shape) if n != 1] for t in (x.type, r.type))
    alike = [x.type.shape[d] for d in old] == [r.type.shape[e] for e in new]
    return of_axes(dict(zip(old, new)) if alike else {})


def of_broadcast(eqn, x, r):
    dims = eqn.attrs["dims"]
    return of_axes({d: e for d, e in enumerate(dims) if x.type.shape[d] == r.type.shape[e]})


MOVED = {
    SLICE: of_slice,
    PART: lambda eqn, x, r: part_lane_maps(x, r, eqn.operands[1:]),
    RESHAPE: of_reshape,
    TRANSPOSE: lambda eqn, x, r: of_axes({d: e for e, d in enumerate(eqn.attrs["perm"])}),
    BROADCAST: of_broadcast,
}


def columns(body):
    """The bytes that a trip brings into the cache where it goes along the columns of arrays; the trips after it need
    them again."""
    found = {}
    for eqn in body.eqns:
        if eqn.op in (PART, STORE):
            x, part, starts = (
                (eqn.operands[0], eqn.results[0], eqn.operands[1:])
                if eqn.op is PART
                else (*eqn.operands[:2], eqn.operands[2:])
            )
            x = before_stores(x)
            if (
                x.type.ndim > 1
                and x.type.shape[-1] > 1
                and part.type.shape[-1] == 1
                and not isinstance(starts[-1], Lit)
            ):
                found[x] = max(found.get(x, 0), part.type.size * LINE)
    return sum(found.values())


def blocks(body, carried):
    """(lanes, how many make a block) of a loop body that is worth running block by block, or None."""
    total = columns(body)
    if total <= NEAR:
        return None
    plan = lanes(body, carried)
    if plan is None:
        return None
    count = plan.high - plan.low
    most = max(1, NEAR * count // total)
    return None if most >= count else (plan, even_size(count, most))


def even_size(count, most):
    """How many of `count` lanes make a block, of `most` that may."""
    sizes = [n for n in range(most, most // 2, -1) if count % n == 0]
    sizes.sort(key=lambda n: (n % 8 != 0, n % 4 != 0))  # vectors are of 4 or 8
    return sizes[0] if sizes else most


def swept(body, attrs):
    """(lanes, how many make a block) of a loop each of whose trips goes through large arrays, or None."""
    carried, count = attrs["carried"], trips(attrs)
    total = left_by_trip(body, carried)
    if total <= FAR or count is None or count <= FEW:
        return None
    last = max((p.type.ndim for p in body.params[len(body.params) - carried :]), default=0) - 1
    for axis in range(last + 1):
        plan = lanes(body, carried, slice(axis, axis + 1))
        if plan is None:
            continue
        high, least = plan.high - plan.low, LEAST if axis == last else 1
        size = even_size(high, max(least, ROOM * high // total))
        if size * total <= WIDE * ROOM * high and size < high and count * work(body, ROW) * size <= LONG * ROW * high:
            return plan, size
    return None


def left_by_trip(body, carried):
    """The bytes that a trip leaves in arrays that are carried."""
    found = {}
    for k, r in enumerate(body.results):
        while isinstance(r, Value) and is_stored(r):
            found[r.eqn.operands[1], k] = r.eqn.operands[1]
            r = r.eqn.operands[0]
        if isinstance(r, Value) and r.eqn is not None:
            found[r] = r
    return sum(x.type.size * x.type.dtype.itemsize for x in found.values())
