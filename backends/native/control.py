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


def emit_loop(region, eqn):
    """The reps of a loop's results; carried arrays stay in one place."""
    code, attrs = region.code, eqn.attrs
    limit, invariants, state = groups(eqn.operands, **attrs)
    body, test = region.nest.fresh(attrs["body"]), attrs["test"] and region.nest.fresh(attrs["test"])
    cells = dwellings(region, eqn, state)
    fill_carried_cells(region, eqn, state, cells)
    fixed = [hoisted_operand(region, x) for x in invariants]
    bound = bound_of(limit, attrs)
    end = None if bound is None else region.read(bound)
    scalars = [k for k, x in enumerate(state) if x.type.shape == ()]
    types = [llvm_type(state[k].type.dtype) for k in scalars]

    def reps(func, t, values):
        of = dict(zip(scalars, values))
        known = region.nest.known
        known.counter(func.params[0], bound)
        for p, x in zip(func.params[1:], invariants):
            known.same(p, x)
        carried = [Register(x.type, of[k]) if k in of else Memory(x.type, cells[k]) for k, x in enumerate(state)]
        return [Register(COUNTER, t), *fixed, *carried]

    def goes(t, *values):
        last = few if end is None else region.element(end, ())
        go = None if last is None else code.op(f"icmp slt i64 {t}, {last}")
        if test is None:
            return go
        status = status_asked(region, eqn, test)
        ask = lambda: region.element(region.inner(test, reps(test, t, values), {}, status=status).run()[0], ())
        return ask() if go is None else code.both(go, ask)

    def step(t, *values, block=None):
        region.nest.depth += 1
        out = region.inner(body, reps(body, t, values), cells, block, status_within(region, eqn, body)).run()
        region.nest.depth -= 1
        found = [region.element(out[k], ()) for k in scalars]
        if each:
            hearing.after(cost)
        return found

    few = few_trips(region, body, test, invariants, state)
    region.flush()
    plan = blocks(body, len(state)) if region.strips(attrs) else None
    start = [region.element(region.read(state[k]), ()) for k in scalars]
    hearing = region.nest.hearing if decide("whether a signal has come", asks(attrs)) else None
    cost = max(work(body, region.nest.PARTS), 1)
    # it may become vectors: it asks between stretches of trips
    inner = test is None and not any(True for _ in loops_in(body))
    each = False  # trips that threads share do not ask
    at_once = region.spread(eqn, body, bound, invariants, start, step) if plan is None else None
    if plan is None and at_once is None and region.strips(attrs):
        plan = swept(body, attrs)
    each = hearing is not None and plan is None and not inner
    if at_once is not None:
        last = at_once
    elif plan is not None:
        last = by_blocks(region, *plan, eqn, hearing, start, goes, step)
    elif hearing is not None and inner:
        stretch = region.trips_of(hearing.period, cost)
        last = by_stretches(code, hearing, cost, stretch, types, start, region.element(end, ()), step)
    else:
        last = code.loop(types, start, goes, step, written_out=few is not None)
    for cell in cells.values():
        cell.written()
    of = dict(zip(scalars, last, strict=True))
    return [Register(r.type, of[k]) if k in of else Memory(r.type, cells[k]) for k, r in enumerate(eqn.results)]


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
