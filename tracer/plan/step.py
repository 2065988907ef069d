"""What a plan is made of: places in the user's source, steps in the order they run, and buffers."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, NamedTuple

from ...ir.cost import ZERO, EqnCost

KINDS = {  # kind of a step -> what it is, as the text of a plan says it
    "kernel": "operations fused into one pass over memory",
    "nest": "a loop, or a straight line, as machine code of ours",
    "library": "a call of a library: products, transforms, factorisations, sorting",
    "numpy": "one call of NumPy's",
    "loop": "a loop, of which the steps below are one trip",
    "choice": "a branch, of which one side runs",
    "host": "a call of Python",
    "copy": "memory copied as it is",
    "transfer": "memory copied to or from a device",
    "piece": "an executable of its own, of a program run in pieces",
}


class Place(NamedTuple):
    """A line of the user's; mark: "vjp" or "jvp" where a derivative of it is computed, else "". line 0: no line is
    known."""

    file: str = ""
    line: int = 0
    mark: str = ""

    def __str__(self) -> str:
        text = f"{os.path.basename(self.file)}:{self.line}" if self.line else "no line"
        return f"{text} {self.mark}".rstrip()

    def json(self) -> dict[str, Any]:
        return {"file": self.file, "line": self.line, "mark": self.mark}


def placed_source(source: Any) -> Place:
    """The Place of an equation's source."""
    if source is None or not hasattr(source, "line"):
        return placed_text(str(source or ""))
    return Place(source.file, source.line, source.mark.split()[0] if source.mark else "")


def placed_text(text: str) -> Place:
    """The Place that "file.py:12 vjp" names, which is all that a program from disk knows."""
    file, _, rest = text.rpartition(":")
    line, _, mark = rest.partition(" ")
    return Place(file, int(line), mark.split()[0] if mark else "") if file and line.isdigit() else Place()


@dataclasses.dataclass
class PlanStep:
    """One thing that runs; of a `loop` or `choice`, `steps` are within it, and `cost` is of all trips.

    does: the operations, in order; places: the lines it is of; runs: how often it runs in one call, None where data
    decide; apart: why its result is not fused with what reads it, where that is known; key: what it is in the program,
    an equation, or else `name`, that of an instruction.
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
