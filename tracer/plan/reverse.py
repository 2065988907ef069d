"""What the reverse mode in a program keeps for the way back, and what it computes once more.

Read from the program itself: equations of the adjoint bear the mark `vjp`. A residual is a value of the primal program
that one of them reads; an equation without the mark inside a region of the adjoint is computed a second time.
"""

from __future__ import annotations

from typing import Any

from ...ir.core import Eqn, Func, Value, has
from ...ir.cost import bytes_in, cost
from ...ir.ops import OPS
from ...ir.source import hint_name
from .step import Place, cost_json, placed_source

LOOP, SEVERAL = OPS["loop"], frozenset((OPS["loop"], OPS["map"]))


def is_adjoint(eqn: Eqn) -> bool:
    return eqn.source is not None and eqn.source.mark == "vjp"


def reverse_mode(func: Func, notes: list[str]) -> dict[str, Any] | None:
    """{"kept", "kept_bytes", "arguments_bytes", "recomputed", "notes"} of a program with an adjoint, None of others.

    kept: {"name", "type", "bytes", "line", "per_trip"} of each residual that is no argument, the largest first;
    arguments_bytes: of arguments that the adjoint reads, which are there anyway; recomputed: {"line", "what", flops,
    read, written, known} by line; notes: what the trace says of loops (checkpoints, an undo log) in words.
    """
    if not has(func, is_adjoint):
        return None
    kept, given = residuals(func)
    again: dict[Place, list[Any]] = {}
    for eqn in func.eqns:
        if eqn.regions() and (is_adjoint(eqn) or eqn.op is OPS["apart"]):
            note_again(eqn, again, 1)
    return {
        "kept": sorted(kept, key=lambda r: -r["bytes"]),
        "kept_bytes": sum(r["bytes"] for r in kept),
        "arguments_bytes": given,
        "recomputed": [
            {"line": p.json(), "what": ", ".join(dict.fromkeys(w)), **cost_json(c)} for p, (w, c) in again.items()
        ],
        "notes": [note for note in notes if "way back" in note],
    }


def residuals(func: Func) -> tuple[list[dict[str, Any]], int]:
    """(residuals of a function, bytes of the parameters that its adjoint reads)."""
    kept = []
    for x, eqn in residual_values(func):
        of_trips = eqn.op is LOOP and bool(x.type.shape) and eqn.attrs["trips"] == x.type.shape[0]
        kept.append({
            "name": hint_name(x) or eqn.op.name,
            "type": repr(x.type),
            "bytes": bytes_in(x.type),
            "line": placed_source(eqn.source).json(),
            "per_trip": of_trips,
        })  # fmt: skip
    return kept, sum(bytes_in(x.type) for x in read_by_adjoint(func) if x.eqn is None)


def read_by_adjoint(func: Func) -> list[Value]:
    """The values that equations of the adjoint read, each once, in order."""
    read = [x for eqn in func.eqns if is_adjoint(eqn) for x in eqn.operands if isinstance(x, Value)]
    return list(dict.fromkeys(read))


def residual_values(func: Func) -> list[tuple[Value, Eqn]]:
    """(value, the equation that makes it) of what the primal program makes and the adjoint reads."""
    return [(x, x.eqn) for x in read_by_adjoint(func) if x.eqn is not None and not is_adjoint(x.eqn)]


def note_again(eqn: Eqn, again: dict[Place, list[Any]], times: int) -> None:
    """Note the equations of the primal program within a region of the adjoint."""
    trips = eqn.attrs["trips"] if eqn.op is LOOP else eqn.attrs["size"] if eqn.op in SEVERAL else 1
    for region in eqn.regions():
        for e in region.eqns:
            if e.regions():
                note_again(e, again, times * (trips or 1))
            elif not is_adjoint(e) and e.source is not None and cost(e).flops:
                names, spent = again.setdefault(placed_source(e.source), [[], cost(e).times(0)])
                names.append(e.op.name)
                more = cost(e).times(times * (trips or 1))
                again[placed_source(e.source)][1] = spent + (more if trips is not None else more.unsure())
