"""What a plan is made of: places in the user's source, steps in the order they run, and buffers."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, NamedTuple

from ...ir.cost import ZERO, EqnCost
from ...ir.source import Source

MARKS = "vjp", "jvp"
DERIVATIVE = re.compile(r"(?:^|/)(vjp|jvp) of ")  # in the scopes of an instruction of XLA


class Place(NamedTuple):
    """A line of the user's; mark: "vjp" or "jvp" where a derivative of it is computed, else "". line 0: no line is
    known."""

    file: str = ""
    line: int = 0
    mark: str = ""

    def json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "mark": self.mark}


def placed_source(source: Source | None) -> Place:
    """The Place of an equation's source."""
    return Place() if source is None else Place(source.file, source.line, source.mark)


def derivative_mark(scope: str) -> str:
    """"vjp" or "jvp" where an instruction is of a derivative, else "". scope: its mark alone, or the scopes around it,
    of which the innermost that tells of a derivative counts."""
    found = [scope] if scope in MARKS else DERIVATIVE.findall(scope)
    return found[-1] if found else ""


@dataclasses.dataclass
class PlanStep:
    """One thing that runs; of a `loop` or `choice`, `steps` are within it, and `cost` is of all trips.

    kind: "kernel", "nest", "library", "numpy", "loop", "choice", "host", "copy", "transfer" or "piece", of which
    docs/plan.md says what they are; does: the operations, in order; places: the lines it is of; runs: how often it runs
    in one call, None where data decide; apart: why its result is not fused with what reads it, where that is known;
    key: what it is in the program, an equation, or else `name`, that of an instruction.
    """

    kind: str
    name: str
    does: str
    places: list[Place]
    cost: EqnCost = ZERO
    runs: int | None = 1
    apart: str = ""
    steps: list[PlanStep] = dataclasses.field(default_factory=list)
    number: int = 0
    measured: float | None = None
    key: Any = None

    def json(self, seconds: Any) -> dict[str, Any]:
        """A plain dict; seconds(step): what it is expected to take, or None."""
        return {
            "number": self.number,
            "kind": self.kind,
            "name": self.name,
            "does": self.does,
            "lines": [p.json() for p in self.places],
            "runs": self.runs,
            **cost_json(self.cost),
            "expected": seconds(self),
            "measured": self.measured,
            "apart": self.apart,
            "steps": [s.json(seconds) for s in self.steps],
        }


def cost_json(cost: EqnCost) -> dict[str, Any]:
    return {"flops": cost.flops, "read": cost.read, "written": cost.written, "known": cost.known}


@dataclasses.dataclass(eq=False)
class Buffer:
    """Memory of one array. kind: "argument", "result", "temporary"; first, last: numbers of the first step that has it
    and of the last; 0 for before all steps, and one more than there are for after them."""

    name: str
    type: str
    bytes: int
    kind: str
    first: int
    last: int
    place: Place = Place()

    def json(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "place": self.place.json()}


class LineCosts(dict[Place, EqnCost]):
    """Place -> the cost of what is computed for it."""

    def note(self, place: Place, cost: EqnCost) -> None:
        if cost.flops or cost.read or cost.written or not cost.known:
            self[place] = self.get(place, ZERO) + cost


def numbered_steps(steps: list[PlanStep], first: int = 1) -> list[PlanStep]:
    """The steps with their numbers, from 1 in the order of the outermost ones."""
    for n, step in enumerate(steps, first):
        step.number = n
        numbered_steps(step.steps)
    return steps


def live_peak(buffers: list[Buffer], last: int, extra: dict[int, int] | None = None) -> tuple[int, int]:
    """(bytes of the temporaries there at once, at most; the number of the step at which). extra: what a step takes
    besides, while it runs."""
    changes = [0] * (last + 3)
    for b in buffers:
        if b.kind == "temporary":
            changes[b.first] += b.bytes
            changes[b.last + 1] -= b.bytes
    most, at, now = 0, 0, 0
    for n in range(last + 2):
        now += changes[n]
        if now + (extra or {}).get(n, 0) > most:
            most, at = now + (extra or {}).get(n, 0), n
    return most, at
