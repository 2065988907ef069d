"""The collectives of an executable: what devices send each other in one run, read from its text."""

import math
import re

from ...ir.spread import sent

OPCODES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "ragged-all-to-all")
# fact: those whose beginning has the shapes of its operands too, by XLA's HloInstruction
WITH_OPERANDS = "all-gather-start", "collective-permute-start"
CONTEXT = "u32", ()
GROUPS = re.compile(r"replica_groups=\{\{([\d,]*)\}")
TILED = re.compile(r"replica_groups=\[(\d+),(\d+)\]<=")
MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}")


class CollectiveStep:
    """kind: the opcode; size: bytes of its results on one device; n: devices that take part; times: runs in one call,
    where that is known; sure: whether it is."""

    def __init__(self, kind, size, n, times, sure, metadata):
        self.kind, self.size, self.n, self.times, self.sure, self.metadata = kind, size, n, times, sure, metadata

    @property
    def sent(self):
        """Bytes that one device sends in a call."""
        once = self.size * (self.n - 1) if self.kind == "reduce-scatter" else sent(self.kind, self.size, self.n)
        return self.times * once


def collectives(module, devices):
    """The CollectiveSteps of a Module, those of loops as often as they are known to run, else once; devices: how many
    there are."""
    found = []

    def walk(name, times, sure):
        for i in module.computations[name]:
            kind = i.opcode.removesuffix("-start")
            if kind in OPCODES and not i.opcode.endswith("-done"):
                n = taking_part(i.attributes, devices)
                found.append(CollectiveStep(kind, size_of(i), n, times, sure, i.metadata))
            for inner in i.called():
                if i.opcode == "while":
                    walk(inner, times * (i.trips or 1), sure and i.trips is not None)
                elif i.opcode in ("call", "conditional", "fusion", "async-start"):
                    walk(inner, times, sure)

    walk(module.entry, 1, True)
    return found


def size_of(instruction):
    """Bytes of the results; what begins a collective, but for an all-reduce, gives its operands in front of them, and
    what begins a permutation numbers of its own behind them."""
    if instruction.opcode not in WITH_OPERANDS:
        return instruction.bytes
    shapes = list(instruction.shapes)
    while len(shapes) > 2 and (shapes[-1].element, shapes[-1].sizes) == CONTEXT:
        shapes.pop()
    return sum(s.bytes for s in shapes[len(shapes) // 2 :])


def taking_part(attributes, devices):
    """How many devices there are in one group."""
    if found := GROUPS.search(attributes):
        return len(found[1].split(",")) if found[1] else devices
    if found := TILED.search(attributes):
        return int(found[2])
    if found := MESH.search(attributes):
        sizes = dict(re.findall(r"'([^']*)'=(\d+)", found[1]))
        return math.prod(int(sizes.get(axis, 1)) for axis in re.findall(r"'([^']*)'", found[2]))
    return devices
