"""Loops and choices within a nest."""

import functools

import numpy as np

from ...ir.core import Builder, Lit, Value
from ...ir.ops.control import COUNTER, cond, groups, loop
from ...ir.ops.drawing import draw
from ...ir.ops.shape import dynamic_update_slice, reshape
from ...ir.sample import SAMPLE, decide
from .code import IndexForm, llvm_type
from .drawing import drawn_state, emit_draw
from .early_exit import status_asked, status_within
from .interrupts import PERIOD, ROW, asks, trips, work
from .interrupts import outermost_loops as loops_in
from .loop_bounds import bound_carried
from .parallel import in_stretches, is_shared, share_range
from .scans import SCANS
from .scatter import SCATTERS
from .strip_mine import Block, blocks, swept
from .values import Memory, NotNative, Number, Register
from .writes import STORE

# cost of an element up to which a loop may compute it again in every trip; measured by benchmarks/tune.py
INVARIANT = 2
FEW = 8  # fact: trips of a loop that goes on as data decide up to which LLVM writes them out


class LoopTrips:
    """What a trip of a loop is: what it is given, whether it comes, and what it leaves. Carried arrays stay in one
    place, which they are put into here.

    few: how many there are at most, where LLVM may write them out; after: what is done behind each, if anything is.
    """

    def __init__(self, region, eqn):
        self.region, self.eqn, nest = region, eqn, region.nest
        limit, self.invariants, self.state = groups(eqn.operands, **eqn.attrs)
        self.body, self.test = nest.fresh(eqn.attrs["body"]), eqn.attrs["test"] and nest.fresh(eqn.attrs["test"])
        self.cells = dwellings(region, eqn, self.state)
        fill_carried_cells(region, eqn, self.state, self.cells)
        self.fixed = [hoisted_operand(region, x) for x in self.invariants]
        self.bound = bound_of(limit, eqn.attrs)
        self.end = None if self.bound is None else region.read(self.bound)
        self.scalars = [k for k, x in enumerate(self.state) if x.type.shape == ()]
        self.types = [llvm_type(self.state[k].type.dtype) for k in self.scalars]
        self.few, self.after = few_trips(region, self.body, self.test, self.invariants, self.state), None

    def start(self):
        """The carried numbers before the first."""
        return [self.region.element(self.region.read(self.state[k]), ()) for k in self.scalars]

    def last_count(self):
        """How many there are."""
        return self.region.element(self.end, ())

    def reps(self, func, t, values):
        of, known = dict(zip(self.scalars, values)), self.region.nest.known
        known.counter(func.params[0], self.bound)
        for p, x in zip(func.params[1:], self.invariants):
            known.same(p, x)
        return [Register(COUNTER, t), *self.fixed, *self.carried(self.state, of)]

    def carried(self, xs, of):
        """The reps of what is carried. of: {position: register} of numbers."""
        return [Register(x.type, of[k]) if k in of else Memory(x.type, self.cells[k]) for k, x in enumerate(xs)]

    def goes(self, t, *values):
        """Whether trip t comes."""
        region, code = self.region, self.region.code
        last = self.few if self.end is None else self.last_count()
        go = None if last is None else code.op(f"icmp slt i64 {t}, {last}")
        if self.test is None:
            return go
        status = status_asked(region, self.eqn, self.test)
        asked = lambda: region.inner(self.test, self.reps(self.test, t, values), {}, status=status).run()[0]
        ask = lambda: region.element(asked(), ())
        return ask() if go is None else code.both(go, ask)

    def step(self, t, *values, block=None):
        """The carried numbers behind trip t."""
        region = self.region
        region.nest.depth += 1
        status = status_within(region, self.eqn, self.body)
        out = region.inner(self.body, self.reps(self.body, t, values), self.cells, block, status).run()
        region.nest.depth -= 1
        found = [region.element(out[k], ()) for k in self.scalars]
        if self.after is not None:
            self.after()
        return found

    def results(self, last):
        """The reps of the loop's results, from the numbers behind the last."""
        for cell in self.cells.values():
            cell.written()
        return self.carried(self.eqn.results, dict(zip(self.scalars, last, strict=True)))


def emit_loop(region, eqn):
    """The reps of a loop's results."""
    made = LoopTrips(region, eqn)
    region.flush()
    return made.results(in_best_order(region, made))


def in_best_order(region, made):
    """Emit LoopTrips in the order that is fastest, of those that leave the same -> the numbers behind the last."""
    code, eqn, body = region.code, made.eqn, made.body
    plan = blocks(body, len(made.state)) if region.strips(eqn.attrs) else None
    start = made.start()
    hearing = region.nest.hearing if decide("whether a signal has come", asks(eqn.attrs)) else None
    cost = max(work(body, region.nest.PARTS), 1)
    if plan is None:
        last = region.spread(eqn, body, made.bound, made.invariants, start, made.step)
        if last is not None:
            return last
        plan = swept(body, eqn.attrs) if region.strips(eqn.attrs) else None
    if plan is not None:
        return by_blocks(region, *plan, eqn, hearing, start, made.goes, made.step)
    if hearing is not None and made.test is None and not any(True for _ in loops_in(body)):
        # it may become vectors: it asks between stretches of trips
        stretch = region.trips_of(hearing.period, cost)
        return by_stretches(code, hearing, cost, stretch, made.types, start, made.last_count(), made.step)
    if hearing is not None:
        made.after = functools.partial(hearing.after, cost)
    return code.loop(made.types, start, made.goes, made.step, written_out=made.few is not None)


def bound_of(limit, attrs):
    """The number of trips of a loop, None where its test alone says."""
    return limit[0] if limit else None if attrs["trips"] is None else Lit(attrs["trips"], COUNTER)


def few_trips(region, body, test, invariants, state):
    """The most trips of a loop whose number follows from what it carries, where LLVM may write them out one by one."""
    if test is None or not region.status:
        return None
    known = region.nest.known
    for p, x in zip(body.params[1:], invariants):
        known.same(p, x)
    most = bound_carried(known, region.facts, body, test, state)
    return most if most is not None and most <= FEW and SAMPLE.get() is None else None


def by_blocks(region, lanes, size, eqn, hearing, start, goes, step):
    """`code.loop` of each block of the lanes, in turn, or by threads where that pays -> the last values of its numbers,
    the same for all blocks."""
    nest, code, attrs = region.nest, region.code, eqn.attrs
    numbers = [r.type for r in eqn.results if not r.type.shape]
    types = [llvm_type(t.dtype) for t in numbers]
    count = -(-(lanes.high - lanes.low) // size)
    total = (trips(attrs) or 1) * work(attrs["body"], ROW) // count * count
    stretches, in_one, in_all = in_stretches(nest, count, total)

    def block(b, *_):
        block = Block(lanes, IndexForm(lanes.low).plus(b, size), size)
        return code.loop(types, start, goes, functools.partial(step, block=block))

    def in_turn(b, *_):
        found = block(b)
        if hearing is not None:
            hearing.after(PERIOD // 8)
        return found

    def at_once(s, *_):
        first, end = IndexForm.of(s).times(in_one), lambda n: code.least(code.value(first.plus(n)), str(count))
        run = lambda low, high: code.count_up(end(low), end(high), block, types, start)
        found = share_range(nest, in_one, in_all, run, numbers)
        if hearing is not None:
            hearing.after(nest.numbers.heard(in_all))
        return found

    if not is_shared(nest, in_one, in_all):
        return code.count_up("0", count, in_turn, types, start)
    return code.count_up("0", stretches, at_once, types, start)


def fill_carried_cells(region, eqn, state, cells):
    """Put every carried array into its cell."""
    there = {k for k, cell in cells.items() if lies_in(region.read(state[k]), cell)}
    only = [x for x in eqn.operands if not any(state[k] is x for k in there) or eqn.operands.count(x) > 1]
    region.before_store(set(cells.values()), only)
    for k in [k for k in cells if k not in there and not is_overwritten(region, eqn, k)]:
        region.copied(state[k])
        region.write(
            cells[k], state[k].type.shape, [IndexForm()] * state[k].type.ndim, region.read(state[k]), whole=True
        )


def is_overwritten(region, eqn, k):
    """Whether the trips of a loop store all of the k-th array it carries, a row a trip, and read nothing of it: what
    is in it before does not matter."""
    attrs = eqn.attrs
    body = attrs["body"]
    first, r = len(body.params) - attrs["carried"], body.results[k]
    stack, store = body.params[first + k], r.eqn if isinstance(r, Value) else None
    if region.status or attrs["test"] is not None or store is None or store.op is not STORE:
        return False
    array, row, start, *rest = store.operands
    uses = [x for e in body.eqns for x in e.operands] + [*body.results]
    return (
        array is stack
        and row.type.shape == (1, *stack.type.shape[1:])
        and start is body.params[0]
        and attrs["trips"] == stack.type.shape[0]
        and all(isinstance(x, Lit) and x.value == 0 for x in rest)
        and sum(x is stack for x in uses) == sum(x is r for x in uses) == 1
    )


def by_stretches(code, hearing, cost, trips, types, start, end, step):
    """`code.loop` of `end` trips, so many at a time, between which it hears signals."""

    def stretch(s, *values):
        first = code.op(f"mul i64 {s}, {trips}")
        last = code.least(code.saturated("add", first, str(trips)), end)
        out = code.loop(types, values, lambda t, *_: code.op(f"icmp slt i64 {t}, {last}"), step, first)
        hearing.after(code.op(f"mul i64 {code.op(f'sub i64 {last}, {first}')}, {cost}"))
        return out

    return code.loop(
        types, start, lambda s, *_: code.op(f"icmp slt i64 {code.op(f'mul i64 {s}, {trips}')}, {end}"), stretch
    )


def dwellings(region, eqn, state):
    """{position of a carried array: the cell where it is kept}"""
    cells = {}
    for k, (x, r) in enumerate(zip(state, eqn.results, strict=True)):
        if x.type.shape == ():
            continue
        cell = region.home.get(r)
        if cell is None and isinstance(x, Value) and region.mine(x):
            cell = region.read(x).cell
        cells[k] = region.scratch(x.type) if cell is None or cell in cells.values() else cell
    return cells


def lies_in(rep, cell):
    """Whether a value is what a cell holds."""
    return isinstance(rep, Memory) and rep.cell is cell and rep.latest


def hoisted_operand(region, x):
    """An operand as the trips of a loop see it: computed once, if that saves anything."""
    rep = region.read(x)
    if isinstance(rep, Memory | Register | Number):
        return rep
    if rep.cost > INVARIANT:
        region.env[x] = rep = region.materialised(rep)
    return rep


def emit_cond(region, eqn):
    """The reps of a choice's results."""
    code, nest = region.code, region.nest
    index, *operands = eqn.operands
    branches = [nest.fresh(branch) for branch in eqn.attrs["branches"]]
    cells = {k: region.home.get(r) or region.scratch(r.type) for k, r in enumerate(eqn.results) if r.type.shape}
    if len(set(cells.values())) < len(cells):
        raise NotNative("a choice gives one array twice")
    region.before_store(set(cells.values()))
    reps = [region.read(x) for x in operands]
    at = region.element(region.read(index), ())
    region.flush()
    labels, after = [code.label() for _ in branches], code.label()
    if index.type.kind == "b":
        code.branch(at, labels[1], labels[0])
    else:
        d = index.type.dtype
        t, last = llvm_type(d), min(len(branches) - 1, np.iinfo(d).max)
        sign = "s" if d.kind == "i" else "u"
        at = code.call(f"llvm.{sign}min.{t}", t, (t, at), (t, str(last)))
        if sign == "s":
            at = code.call(f"llvm.smax.{t}", t, (t, at), (t, "0"))
        cases = " ".join(f"{t} {k}, label %{label}" for k, label in enumerate(labels))
        code.do(f"switch {t} {at}, label %{labels[last]} [ {cases} ]")
    before = {cell: cell.version for cell in cells.values()}
    arrivals = {k: [] for k, r in enumerate(eqn.results) if not r.type.shape}
    for label, branch in zip(labels, branches):
        code.begin(label)
        for cell, version in before.items():
            cell.version = version
        for p, x in zip(branch.params, operands):
            nest.known.same(p, x)
        status, truths = status_within(region, eqn, branch), index.type.kind == "b"
        facts = region.facts.where(index, branch is branches[1]) if truths else region.facts
        out = region.inner(branch, reps, cells, None, status, facts.within(branch.params, operands)).run()
        values = {k: region.element(out[k], ()) for k in arrivals}
        for k, x in values.items():
            arrivals[k].append((x, code.here))
        code.jump(after)
    code.begin(after)
    for cell in cells.values():
        cell.written()
    found = {k: code.phi(llvm_type(eqn.results[k].type.dtype), pairs)[0] for k, pairs in arrivals.items()}
    return [Memory(r.type, cells[k]) if k in cells else Register(r.type, found[k]) for k, r in enumerate(eqn.results)]


def carried_from(x):
    """The operand that a loop's result is made of."""
    eqn = x.eqn
    return eqn.operands[len(eqn.operands) - eqn.attrs["carried"] + eqn.results.index(x)]


def chosen_from(x):
    """The operand that a choice's result is made of in some branch by stores, or None."""
    eqn, k = x.eqn, x.eqn.results.index(x)
    for branch in eqn.attrs["branches"]:
        y = branch.results[k]
        while isinstance(y, Value) and y.eqn is not None:
            op = y.eqn.op
            y = (
                y.eqn.operands[0]
                if op in SCATTERS or op in (dynamic_update_slice, reshape)
                else REGIONS[op][1](y)
                if op in REGIONS
                else None
            )
        if y in branch.params and y.type is x.type:
            return eqn.operands[1 + branch.params.index(y)]
    return None


def copy(func):
    """The same function of fresh values."""
    build = Builder(func.name)
    with build:
        params = [build.param(p.type, p.hint) for p in func.params]
        out = build.inline(func, params)
    return build.finish(out)


# op -> (its code, the operand that a result of it is made of in place, or None)
REGIONS = {
    loop: (emit_loop, carried_from), cond: (emit_cond, chosen_from), draw: (emit_draw, drawn_state),
    **{op: (emit, lambda x: None) for op, emit in SCANS.items()},
}  # fmt: skip
