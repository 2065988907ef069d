"""What a loop costs that runs as machine code of ours: its rows stay in registers, so memory is touched by what reads
arrays and what stores into them alone."""

from __future__ import annotations

from typing import Any

from ...ir.core import Eqn, Func, Lit, Value
from ...ir.cost import ZERO, EqnCost, bytes_in, cost
from ...ir.ops import OPS
from .step import LineCosts, placed_source

PARTS = frozenset(
    OPS[name] for name in ("slice", "dynamic_slice", "gather")
)  # read of their first operand what they give
LOOP = OPS["loop"]


def nest_lines(eqn: Eqn) -> LineCosts:
    """The cost of a loop by user line, all trips."""
    found = LineCosts()
    note_region(eqn, found, 1, True)
    return found


def lines_total(lines: LineCosts) -> EqnCost:
    return sum(lines.values(), ZERO)


def note_region(eqn: Eqn, found: LineCosts, times: int, known: bool) -> None:
    """Add what the trips of a loop cost, or the sides of a choice."""
    trips = times
    if eqn.op is LOOP:
        sure = eqn.attrs["trips"] is not None and eqn.attrs["test"] is None
        trips, known = times * (eqn.attrs["trips"] if sure else 1), known and sure
    elif eqn.op is OPS["map"]:
        trips = times * eqn.attrs["size"]
    for region in eqn.regions():
        note_body(region, found, trips, known)
    if not known:
        found.note(placed_source(eqn.source), ZERO.unsure())


def note_body(body: Func, found: LineCosts, times: int, known: bool) -> None:
    """Add what a body costs that runs so often."""
    arrays = {p for p in body.params if p.type.shape}
    given = {r for r in body.results if isinstance(r, Value) and r not in arrays and r.type.shape}
    read: set[Any] = set()
    for e in body.eqns:
        if e.regions():
            note_region(e, found, times, known)
            arrays.update(r for r in e.results if r.type.shape)
            continue
        if e.op is OPS["dynamic_update_slice"] or e.op.name.startswith("scatter"):
            arrays.update(e.results)
            given -= set(e.results)
        found.note(placed_source(e.source), touched_memory(e, arrays, given, read).times(times))


def touched_memory(e: Eqn, arrays: set[Any], given: set[Any], read: set[Any]) -> EqnCost:
    """The cost of an equation whose operands are in registers but for `arrays`, each of which is read once a trip."""
    whole = cost(e)
    if e.op is OPS["dynamic_update_slice"] or e.op.name.startswith("scatter"):
        return EqnCost(whole.flops, whole.written if whole.flops else 0, whole.written)
    if e.op in PARTS and e.operands[0] in arrays:
        return EqnCost(whole.flops, whole.written, 0)
    new = [x for x in dict.fromkeys(e.operands) if not isinstance(x, Lit) and x in arrays and x not in read]
    if e.op is not OPS["reshape"]:
        read.update(new)
    else:
        arrays.update(e.results)
        new = []
    written = sum(bytes_in(r.type) for r in e.results if r in given)
    return EqnCost(whole.flops, sum(bytes_in(x.type) for x in new), written)
