"""The steps of a program that runs as generated NumPy: calls of NumPy's, library calls, nests, loops of Python's."""

from __future__ import annotations

from typing import Any

from ...backends import native
from ...backends.numpy import by_python, views
from ...ir.core import Eqn, Func, Lit, Value
from ...ir.cost import ZERO, bytes_in, cost
from ...ir.op import Cost
from ...ir.ops import OPS
from ...ir.ops.control import runs_once
from ...ir.source import hint_name
from .nest_cost import lines_total, nest_lines
from .step import Buffer, LineCosts, Place, PlanStep, live_peak, placed_source

LOOP = OPS["loop"]
LIBRARY = frozenset(
    OPS[name]
    for name in (
        "dot_general", "conv_general", "fft", "sort", "top_k", "solve", "triangular_solve", "tridiagonal_solve",
        "cholesky", "lu", "qr", "eigh", "eigvalsh", "eig", "eigvals", "svd",
    )
)  # fmt: skip
HOST = frozenset(OPS[name] for name in ("host", "external", "pointwise"))


class NumPySteps:
    """func: the equations as they run (`Specialisation.numpy`)."""

    def __init__(self, func: Func) -> None:
        self.func, self.by_line = func, LineCosts()
        self.made: dict[Eqn, int] = {}  # equation -> the number of the step that it is
        self.steps: list[PlanStep] = []
        for eqn in func.eqns:
            self.steps += self.of(eqn, 1)
            self.made[eqn] = len(self.steps)

    def of(self, eqn: Eqn, runs: int) -> list[PlanStep]:
        """The steps of an equation: none of what is a view."""
        if views(eqn) or eqn.op is OPS["constant"]:
            return []
        place = placed_source(eqn.source)
        if eqn.op is LOOP and not by_python(eqn):
            lines = nest_lines(eqn)
            for p, part in lines.items():
                self.by_line.note(p, part.times(runs))
            places, spent = list(lines) or [place], lines_total(lines)
            return [PlanStep("nest", self.name(eqn, "nest"), nest_text(eqn), places, spent, runs, key=eqn)]
        if eqn.op is LOOP:
            return [self.walked(eqn, place, runs)]
        if eqn.regions() and eqn.op not in HOST:
            inner = [s for region in eqn.regions() for e in region.eqns for s in self.of(e, runs)]
            kind = "choice" if eqn.op is OPS["cond"] else "loop"
            name = self.name(eqn, eqn.op.name)
            return [PlanStep(kind, name, eqn.op.name, [place], cost(eqn), runs, steps=inner, key=eqn)]
        found = cost(eqn)
        self.by_line.note(place, found.times(runs))
        name, apart = self.name(eqn, eqn.op.name), why_whole(eqn)
        return [PlanStep(kind_of_op(eqn), name, eqn.op.name, [place], found, runs, apart, key=eqn)]

    def walked(self, eqn: Eqn, place: Place, runs: int) -> PlanStep:
        """The step of a loop whose trips Python makes."""
        trips = eqn.attrs["trips"]
        inner = [s for e in eqn.attrs["body"].eqns for s in self.of(e, runs * trips)]
        each = sum((s.cost.times(s.runs // runs) for s in inner if s.runs), ZERO)
        text = f"{trips} trips, by Python"
        return PlanStep("loop", self.name(eqn, "loop"), text, [place], each, runs, steps=inner, key=eqn)

    def name(self, eqn: Eqn, other: str) -> str:
        """The user's name for the result, or else that of the op."""
        return next((name for r in eqn.results if (name := hint_name(r))), other)

    def buffers(self, overwritable: set[Any]) -> tuple[list[Buffer], int, int]:
        """(the buffers, the most bytes of temporaries at once, the number of the step at which).

        A value that is read once is let go when it has been read, for it has no name in what runs; one that is read
        more often has one until the call ends.
        """
        end, uses = len(self.steps) + 1, self.uses()
        owners: dict[Any, Buffer] = {}
        results = {owner_of(r) for r in self.func.results}
        for p in self.func.params:
            if p.type.shape:
                owners[p] = Buffer(hint_name(p) or "argument", repr(p.type), bytes_in(p.type), "argument", 0, end)
        for eqn in self.func.eqns:
            at, place = self.made[eqn], placed_source(eqn.source)
            for r in eqn.results:
                if not r.type.shape or owner_of(r) is not r:
                    continue
                if (there := self.in_place(eqn, r, owners, uses, overwritable)) is not None:
                    owners[r] = there
                    there.last = end if r in results else max([there.last, *uses.get(r, ())])
                    there.kind = "result" if r in results and there.kind == "temporary" else there.kind
                    continue
                kind, reads = ("result" if r in results else "temporary"), uses.get(r, [])
                last = end if kind == "result" else reads[0] if len(reads) == 1 else end - 1 if reads else at
                owners[r] = Buffer(
                    hint_name(r) or eqn.op.name, repr(r.type), bytes_in(r.type), kind, at, max(last, at), place
                )
        found = [b for b in (*dict.fromkeys(owners.values()), *self.scratch()) if b.bytes]
        extra = {self.made[eqn]: bytes_within(eqn) for eqn in self.func.eqns if is_walked(eqn)}
        return found, *live_peak(found, end, extra)

    def scratch(self) -> list[Buffer]:
        """Memory that nests take for values between, while they run."""
        found = []
        for eqn in self.func.eqns:
            nest = native.callable_nest([x.type for x in eqn.operands], eqn.attrs) if eqn.op is LOOP else None
            at = self.made[eqn]
            for t in nest.extra if nest is not None else ():
                found.append(Buffer("scratch", repr(t), bytes_in(t), "temporary", at, at, placed_source(eqn.source)))
        return found

    def in_place(self, eqn: Eqn, r: Any, owners: Any, uses: Any, overwritable: set[Any]) -> Buffer | None:
        """The memory that a nest changes in place: of an array that it carries and nobody else reads."""
        if eqn.op is not LOOP or by_python(eqn):
            return None
        x = eqn.operands[len(eqn.operands) - eqn.attrs["carried"] + eqn.results.index(r)]
        free = x in overwritable or x not in self.func.params
        return owners.get(x) if free and len(uses.get(x, ())) == 1 and x not in self.func.results else None

    def uses(self) -> dict[Any, list[int]]:
        """value -> the numbers of the steps that read it, or a view of it."""
        found: dict[Any, list[int]] = {}
        for eqn in self.func.eqns:
            if views(eqn):
                continue
            for x in dict.fromkeys(map(owner_of, eqn.operands)):
                found.setdefault(x, []).append(self.made[eqn])
        return found


def is_walked(eqn: Eqn) -> bool:
    """Whether Python runs the regions of an equation, one equation after the other."""
    return by_python(eqn) if eqn.op is LOOP else bool(eqn.regions()) and eqn.op not in HOST


def bytes_within(eqn: Eqn) -> int:
    """The most bytes that a trip, or a side of a choice, takes beside what it is given: its results among it."""
    most = 0
    for region in eqn.regions():
        buffers, temporaries, _ = NumPySteps(region).buffers(set())
        most = max(most, temporaries + sum(b.bytes for b in buffers if b.kind == "result"))
    return most


def owner_of(x: Any) -> Any:
    """The value whose memory a value is a view of."""
    while isinstance(x, Value) and x.eqn is not None and views(x.eqn) and not isinstance(x.eqn.operands[0], Lit):
        x = x.eqn.operands[0]
    return x


def kind_of_op(eqn: Eqn) -> str:
    if eqn.op in LIBRARY:
        return "library"
    if eqn.op in HOST:
        return "host"
    return "copy" if eqn.op.cost is Cost.MOVE else "numpy"


def why_whole(eqn: Eqn) -> str:
    return "a library call" if eqn.op in LIBRARY else "NumPy's calls are not fused"


def nest_text(eqn: Eqn) -> str:
    """What a nest is: its trips, or the equations of a straight line."""
    count = eqn.attrs["body"].count()
    if runs_once(eqn.attrs):
        return f"a straight line of {count} equations"
    sure = eqn.attrs["trips"] is not None and eqn.attrs["test"] is None
    trips = f"{eqn.attrs['trips'] if sure else 'as many'} trips"
    inside = ", ".join(dict.fromkeys(e.op.name for e in eqn.attrs["body"].eqns if e.op.cost is not Cost.MOVE))
    return f"{trips}: {inside[:60]}" if inside else trips
