"""Loops of which many trips are run at once: a thread, or a block, for each."""

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..native.code import llvm_literal, llvm_type
from ..native.independent import FIRST, totals
from ..native.interrupts import trips
from ..native.reduce import REDUCTIONS
from ..native.values import NotNative

STORE = OPS["dynamic_update_slice"]
NEVER = str((1 << 63) - 1)  # fact: no trip has this number


def width(func):
    """The most elements that one equation computes."""
    own = (
        eqn.operands[1].type.size if eqn.op is STORE else max((r.type.size for r in eqn.results), default=1)
        for eqn in func.eqns
        if not eqn.regions()
    )
    inner = (width(region) for eqn in func.eqns for region in eqn.regions())
    return max([1, *own, *inner])


def spread_trips(region, eqn, body, bound, invariants, start, step):
    """The last values of the carried numbers, or None where the trips are run in order."""
    code, nest = region.code, region.nest
    outermost = nest.depth == 0 and nest.form != "block"
    count = trips(eqn.attrs)
    if code.alone and not outermost or count is None:
        return None
    wide = width(body)
    if not outermost and (wide > count or not nest.inner):
        return None
    nest.known.counter(body.params[0], bound)
    for p, x in zip(body.params[1:], invariants):
        nest.known.same(p, x)
    found = {} if body in nest.sure else totals(nest.known, body, eqn.attrs["carried"])
    if found is None and outermost:
        raise NotNative("its trips hang together")
    if found is None:
        return None
    nest.spread_out |= outermost
    end = str(bound.value) if isinstance(bound, Lit) else region.element(region.read(bound), ())
    state = eqn.operands[len(eqn.operands) - eqn.attrs["carried"] :]
    parts = [PartialTotal(code, op, state[k].type.dtype, x) for (k, op), x in zip(found.items(), start)]
    first = [x for part in parts for x in part.first]
    types = [t for part in parts for t in part.types]

    def trip(t, *now):
        """A trip, and what the parts note of it."""
        now = iter(now)
        held = [[next(now) for _ in part.types] for part in parts]
        found = step(t, *(own[0] for own in held))
        return [x for part, own, new in zip(parts, held, found) for x in part.after(t, own, new)]

    if outermost and nest.form == "blocks":
        with code.often(-(-count // nest.blocks) / count):
            last = code.loop(
                types, first, lambda t, *_: code.op(f"icmp slt i64 {t}, {end}"), trip, code.block, step=nest.blocks
            )
    else:
        code.barrier()
        with code.often(1 / count):  # all of them count already
            last = code.share("0", end, count, trip, types, first)
    last = iter(last)
    for part in parts:
        part.last = [next(last) for _ in part.types]
    if outermost:
        nest.leave(dict(zip(found, parts)))
        return start
    out = [part.total(nest) for part in parts]
    code.barrier()
    return out


class PartialTotal:
    """A carried number, as the trips of one thread leave it. last: its registers then; the second of two is the trip
    that was the first to have something."""

    def __init__(self, code, op, dtype, start):
        self.code, self.op, self.dtype, self.start, t = code, op, dtype, start, llvm_type(dtype)
        self.types = [t, "i64"] if op is FIRST else [t]
        self.first = ["0", NEVER] if op is FIRST else [start if op is None else llvm_literal(self.nothing, dtype)]

    @property
    def nothing(self):
        return REDUCTIONS[self.op][1](self.dtype)

    def after(self, t, before, new):
        """Its registers after a trip."""
        if self.op is not FIRST:
            return [new]
        code = self.code
        found = code.op(f"icmp ne {self.types[0]} {new}, {before[0]}")
        return [new, code.op(f"select i1 {found}, i64 {t}, i64 {before[1]}")]

    def total(self, nest):
        """Its register after all trips of all threads."""
        code, d = self.code, self.dtype
        if self.op is None:
            return self.start
        if self.op is not FIRST:
            take = REDUCTIONS[self.op][0]
            return take(code, d, self.start, code.together(d, self.last[0], take, nest.partials(d)))
        t = self.types[0]
        least, either = REDUCTIONS[OPS["reduce_min"]][0], REDUCTIONS[OPS["reduce_or"]][0]
        trip = code.together(COUNTER.dtype, self.last[1], least, nest.partials(COUNTER.dtype))
        mine = code.op(f"icmp eq i64 {trip}, {self.last[1]}")
        mine = code.op(f"select i1 {mine}, {t} {self.last[0]}, {t} 0")
        found = code.together(d, mine, either, nest.partials(d))
        there = code.op(f"icmp ne {t} {self.start}, 0")
        return code.op(f"select i1 {there}, {t} {self.start}, {t} {found}")
