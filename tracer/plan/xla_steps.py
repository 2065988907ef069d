"""The steps of a program that XLA runs, read from its executable: kernels and what is fused in each, library calls,
nests, loops, copies; and by user line what they cost."""

from __future__ import annotations

import collections
from typing import Any

from ...backends.native.build import NEST
from ...backends.xla.hlo_cost import FREE, MOVES, Costs, flops
from ...backends.xla.hlo_text import Instruction, Module
from ...backends.xla.op_lines import module_lines
from ...ir.cost import EqnCost
from .step import LineCosts, Place, PlanStep, derivative_mark

LIBRARY = frozenset(("dot", "convolution", "fft", "sort", "cholesky", "triangular-solve", "topk"))
WHOLE = {  # kind of a step -> why it is one by itself
    "loop": "a loop",
    "choice": "a branch",
    "nest": "machine code of ours",
    "host": "a host call",
    "library": "a library call",
}
SHOWN = 5  # operations of a step that are named


class XlaSteps:
    """module: of the executable; nests: {target: (cost, lines' costs, place, what it is)} of the nests in it; own: the
    (file, line) of the program's lines, where they are known."""

    def __init__(self, module: Module, nests: dict[str, Any], own: Any = ()) -> None:
        self.module, self.nests, self.by_line = module, nests, LineCosts()
        self.marks = {name: hlo_place(found) for name, found in module_lines(module, own).items()}
        self.costs = Costs(module, lambda i: nests[i.target][0] if i.target in nests else None)
        self.numbers: dict[str, int] = {}  # instruction of the entry -> the number of its step
        self.steps = self.of(module.entry, 1)

    def of(self, computation: str, runs: int | None, within: bool = False) -> list[PlanStep]:
        """The steps of a computation that runs so often; within: whether a step has it, whose cost is of all of it."""
        found: list[PlanStep] = []
        instructions = self.module.computations[computation]
        named, readers = {i.name: i for i in instructions}, readers_of(instructions)
        for i in instructions:
            if i.opcode == "call":
                (inner,) = i.called("to_apply")
                found += self.of(inner, runs, within)
            elif i.opcode not in FREE and not scalar_copy(i):
                found.append(self.step(i, named, readers, runs))
            elif within and i.opcode not in FREE:
                self.note(i, self.costs.of(i, named), 1 if runs is None else runs)
            if computation == self.module.entry:
                self.numbers[i.name] = len(found)
        return found

    def step(self, i: Instruction, named: dict[str, Instruction], readers: Any, runs: int | None) -> PlanStep:
        cost = self.costs.of(i, named)
        made = PlanStep(step_kind(i, self.module), i.name, does(i, self.module), self.places(i), cost, runs)
        if i.opcode == "while":
            inside = None if i.trips is None or runs is None else runs * i.trips
            made.steps = [s for body in i.called("body") for s in self.of(body, inside, True)]
            made.does = "a loop" if i.trips is None else f"{i.trips} trips"
            self.by_line.note(self.marks.get(i.name, Place()), self.costs.tests(i).times(1 if runs is None else runs))
        elif i.opcode == "conditional":
            sides = i.called("branch", "true_computation", "false_computation")
            made.steps = [s for side in sides for s in self.of(side, runs, True)]
            made.does = f"one of {len(sides)} branches"
        else:
            self.note(i, cost, 1 if runs is None else runs)
        if i.target in self.nests:
            made.does, made.places = self.nests[i.target][3], self.nests[i.target][2] or made.places
        made.apart = why_apart(i, named, readers, made.kind)
        return made

    def places(self, i: Instruction) -> list[Place]:
        """The lines of an instruction, and of what is fused in it."""
        inside = [x for c in i.called("calls") for x in self.module.computations[c] if x.opcode not in FREE]
        found = dict.fromkeys(self.marks[x.name] for x in (*inside, i) if x.name in self.marks)
        return list(found)

    def note(self, i: Instruction, once: EqnCost, times: int) -> None:
        """Add what an instruction that runs so often costs to its lines: operations where they are written, what is
        read to the line that reads it first, what is written to that of the result."""
        cost = once.times(times)
        own = self.marks.get(i.name, Place())
        if i.target in self.nests:
            for place, part in self.nests[i.target][1].items():
                self.by_line.note(place, part.times(times))
            return
        if i.opcode != "fusion":
            self.by_line.note(own, cost)
            return
        (called,) = i.called("calls")
        inside = self.module.computations[called]
        within = {x.name: x for x in inside}
        for x in inside:
            if x.opcode not in FREE and (count := flops(x, within, self.module)):
                self.by_line.note(self.marks.get(x.name, own), EqnCost(float(count)).times(times))
        first = next((self.marks[x.name] for x in inside if x.opcode not in FREE and x.name in self.marks), own)
        self.by_line.note(first, EqnCost(0.0, cost.read))
        self.by_line.note(own if own.line else first, EqnCost(0.0, 0, cost.written, cost.known))


def hlo_place(found: tuple[str, int, str]) -> Place:
    """What `op_lines` says of an instruction, as a Place."""
    file, line, scope = found
    return Place(file, line, derivative_mark(scope))


def readers_of(instructions: tuple[Instruction, ...]) -> dict[str, list[Instruction]]:
    """name -> the instructions that read it, those between that only name it again left out."""
    found = collections.defaultdict(list)
    for i in instructions:
        for x in dict.fromkeys(i.operands):
            found[x].append(i)
    return found


def scalar_copy(i: Instruction) -> bool:
    """Whether an instruction does no more than keep a number: the counter of a loop, or its test."""
    return i.opcode in ("copy", "fusion") and i.count <= 1 and not i.operands or i.opcode == "copy" and i.count <= 1


def step_kind(i: Instruction, module: Module) -> str:
    """The kind of the step that an instruction is."""
    if i.opcode == "while":
        return "loop"
    if i.opcode == "conditional":
        return "choice"
    if i.opcode == "custom-call":
        return "nest" if i.target.startswith(NEST) else "host" if "callback" in i.target else "library"
    if i.opcode.startswith(("copy", "all-", "send", "recv", "infeed", "outfeed")):
        return "copy" if i.opcode.startswith("copy") else "transfer"
    inside = {x.opcode for c in i.called("calls") for x in module.computations[c]}
    if i.opcode in LIBRARY or inside & LIBRARY:
        return "library"
    return "copy" if inside and inside <= FREE | {"copy"} else "kernel"


def does(i: Instruction, module: Module) -> str:
    """The operations of an instruction, in order, each named once."""
    if i.opcode == "custom-call":
        return i.target
    called = i.called("calls")
    inside = [x.opcode for c in called for x in module.computations[c] if x.opcode not in FREE]
    counts = collections.Counter(inside)
    computing = [op for op in counts if op not in MOVES] or list(counts)
    if not computing:
        return i.opcode
    text = ", ".join(f"{counts[op]} x {op}" if counts[op] > 1 else op for op in computing[:SHOWN])
    return text + (f" and {len(computing) - SHOWN} more" if len(computing) > SHOWN else "")


def why_apart(i: Instruction, named: dict[str, Instruction], readers: Any, kind: str) -> str:
    """Why the result of a step is in memory, and not handed on within one kernel."""
    if kind in WHOLE:
        return WHOLE[kind]
    read_by = real_readers(i, readers)
    if not read_by or any(r is None for r in read_by):
        return "a result"
    if len(read_by) > 1:
        return f"read by {len(read_by)} steps"
    (one,) = read_by
    if one.opcode == "custom-call":
        other = "machine code of ours" if one.target.startswith(NEST) else "a library call"
        return f"read by {'a host call' if 'callback' in one.target else other}"
    if one.opcode in LIBRARY or "kind=kCustom" in one.attributes:
        return "read by a library call"
    if one.opcode == "while":
        return "carried by a loop"
    most = max([named[x].count for x in i.operands if x in named], default=0)
    return "a reduction ends a kernel" if i.count < most else ""


def real_readers(i: Instruction, readers: Any) -> list[Instruction | None]:
    """Who reads a result, through what only names it again; None stands for the caller."""
    found: list[Instruction | None] = []
    if i.root:
        return [None]
    for r in readers.get(i.name, ()):
        found += real_readers(r, readers) if r.opcode in ("bitcast", "tuple", "get-tuple-element") else [r]
    return list(dict.fromkeys(found))
