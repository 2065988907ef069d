"""How long each array of an executable is in memory, by the order in which its instructions run.

XLA hands out memory by such lifetimes; it says the sum alone (`memory_analysis`), with which plans compare this one. An
elementwise kernel may write where an operand lay that nobody reads later, and a loop changes what it carries in place.
"""

from __future__ import annotations

from typing import Any

from ...backends.xla.hlo_text import Instruction, Module, Shape
from .step import Buffer, Place, live_peak

SAME = frozenset(("bitcast", "opt-barrier", "copy-done", "domain"))  # whose result is their operand
NAMES = SAME | {"tuple", "get-tuple-element"}  # which read nothing
MOVED = frozenset("""
dot convolution fft reduce reduce-window sort slice dynamic-slice gather scatter transpose reverse concatenate pad
broadcast copy
""".split())  # whose elements are of other places of an operand


class Held:
    """A piece of memory while lifetimes are worked out: `first` and `last` are positions among the instructions."""

    def __init__(self, name: str, shape: Shape, kind: str, at: int) -> None:
        self.name, self.shape, self.bytes, self.kind, self.first, self.last = name, shape, shape.bytes, kind, at, at


class Lifetimes:
    """Of one computation. inner: whether it is called by another, whose parameters and results are there anyway."""

    def __init__(self, module: Module, computation: str, inner: bool = False) -> None:
        self.module, self.instructions = module, module.computations[computation]
        self.held: list[Held] = []
        self.extra: dict[int, int] = {}  # position -> bytes that are needed within a call, while it runs
        self.values: dict[str, list[Held]] = {}
        self.uses = last_uses(self.instructions)
        for at, i in enumerate(self.instructions):
            self.values[i.name] = self.made(i, at, inner)
            read = self.values[i.name] if i.opcode in NAMES else [h for x in i.operands for h in self.values.get(x, ())]
            for h in read:
                h.last = max(h.last, at)
        self.end = len(self.instructions)
        for i in self.instructions:
            if i.root:
                for h in self.values[i.name]:
                    h.last = self.end
                    h.kind = "result" if h.kind == "temporary" else h.kind
                    h.bytes = 0 if inner else h.bytes

    def new(self, i: Instruction, shape: Shape, at: int, kind: str = "temporary") -> Held:
        self.held.append(Held(i.name, shape, kind, at))
        return self.held[-1]

    def made(self, i: Instruction, at: int, inner: bool) -> list[Held]:
        """The memory of the results of an instruction."""
        given = [h for x in i.operands for h in self.values.get(x, ())]
        if i.opcode == "parameter":
            found = [self.new(i, s, at, "argument") for s in i.shapes]
            for h in found:
                h.bytes = 0 if inner else h.bytes
            return found
        if i.opcode == "constant":
            return [self.new(i, s, at, "constant") for s in i.shapes]
        if i.opcode == "tuple" or i.opcode in SAME and len(given) == len(i.shapes):
            return given
        if i.opcode == "get-tuple-element":
            return self.picked(i, given, at)
        if i.opcode == "while" and len(given) == len(i.shapes):
            self.extra[at] = self.within(i)
            return given
        if i.opcode == "call":
            return self.inlined(i, at)
        if i.opcode == "conditional":
            self.extra[at] = self.within(i)
        if i.opcode == "custom-call":
            return [
                given[i.aliases[n]] if i.aliases.get(n, len(given)) < len(given) else self.new(i, s, at)
                for n, s in enumerate(i.shapes)
            ]
        return [self.in_place(i, s, at) or self.new(i, s, at) for s in i.shapes]

    def inlined(self, call: Instruction, at: int) -> list[Held]:
        """The results of a call, as if what it calls stood there."""
        inner = self.module.computations[call.called("to_apply")[0]]
        found: list[Held] = []
        for i in inner:
            self.uses.update(dict.fromkeys(i.operands, at))
        for i in inner:
            given = self.values.get(call.operands[i.parameter]) if i.opcode == "parameter" else None
            self.values[i.name] = self.made(i, at, False) if given is None else given
            found = self.values[i.name] if i.root else found
        return found

    def picked(self, i: Instruction, given: list[Held], at: int) -> list[Held]:
        index = int(i.attributes.partition("index=")[2].partition(",")[0] or 0)
        if index < len(given) and len(i.shapes) == 1:
            return [given[index]]
        return [self.new(i, s, at) for s in i.shapes]

    def in_place(self, i: Instruction, shape: Shape, at: int) -> Held | None:
        """The memory of an operand that is read for the last time, where the result may be written."""
        if i.opcode not in ("fusion", "dynamic-update-slice"):
            return None
        for n, x in enumerate(i.operands):
            for h in self.values.get(x, ()) if i.opcode != "fusion" or self.place_by_place(i, n) else ():
                free = h.kind == "temporary" and self.last_of(h) == at
                if free and h.shape.bytes == shape.bytes and h.shape.sizes == shape.sizes:
                    return h
        return None

    def place_by_place(self, fusion: Instruction, n: int) -> bool:
        """Whether each element of a fusion is computed from that element of an operand, of no other of it."""
        inside = [i for c in fusion.called("calls") for i in self.module.computations[c]]
        met = {i.name for i in inside if i.parameter == n}
        for i in inside:
            if met.intersection(i.operands):
                if i.opcode in MOVED or i.opcode == "dynamic-update-slice" and i.operands[0] not in met:
                    return False
                met.add(i.name)
        return True

    def last_of(self, h: Held) -> int:
        """The position of the last instruction that reads a piece of memory under any of its names."""
        return max(self.uses.get(name, -1) for name, held in self.values.items() if h in held)

    def within(self, i: Instruction) -> int:
        """The most that the computations an instruction calls have in memory themselves."""
        return max((temporaries(self.module, c)[0] for c in i.called() if c in self.module.computations), default=0)


def last_uses(instructions: tuple[Instruction, ...]) -> dict[str, int]:
    """name -> the position of the last instruction that reads it."""
    found: dict[str, int] = {}
    for at, i in enumerate(instructions):
        found.update(dict.fromkeys(i.operands, at))
        if i.root:
            found[i.name] = len(instructions)
    return found


def hosted(held: list[Held]) -> set[Held]:
    """Temporaries that lie where a result of their size is written later: XLA gives them its memory."""
    found: set[Held] = set()
    for r in (h for h in held if h.kind == "result"):
        free = -1
        for t in held:
            if t.kind == "temporary" and t.bytes == r.bytes and t not in found and free < t.first and t.last < r.first:
                found.add(t)
                free = t.last
    return found


def temporaries(module: Module, computation: str, inner: bool = True) -> tuple[int, int]:
    """(the most bytes of temporaries at once, at which position)."""
    return peak_of(Lifetimes(module, computation, inner))


def peak_of(lives: Lifetimes) -> tuple[int, int]:
    apart = hosted(lives.held)
    return live_peak([as_buffer(h, {}, {}) for h in lives.held if h not in apart], lives.end, lives.extra)


def as_buffer(h: Held, numbers: dict[int, int], marks: dict[str, Place]) -> Buffer:
    first, last = numbers.get(h.first, h.first), numbers.get(h.last, h.last)
    return Buffer(h.name, str(h.shape), h.bytes, h.kind, first, last, marks.get(h.name, Place()))


def hlo_buffers(module: Module, steps: Any) -> tuple[list[Buffer], int, int]:
    """(the buffers of an executable by steps, the most bytes of temporaries at once, the number of the step at which).

    steps: an `XlaSteps`.
    """
    lives = Lifetimes(module, module.entry)
    numbers = {at: steps.numbers[i.name] for at, i in enumerate(lives.instructions)} | {lives.end: len(steps.steps) + 1}
    most, at = peak_of(lives)
    buffers = [as_buffer(h, numbers, steps.marks) for h in lives.held if h.bytes and h.kind != "constant"]
    for b in buffers:
        b.first = 0 if b.kind == "argument" else b.first
    return buffers, most, numbers.get(at, at)
