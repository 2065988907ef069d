"""The collectives of an executable: what devices send each other in one run, read from its text."""

import re

from ...ir.spread import sent

OPCODES = ("all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter", "ragged-all-to-all")
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
    """Bytes of the results; what begins a collective gives its operands too."""
    if not instruction.opcode.endswith("-start"):
        return instruction.bytes
    shapes = instruction.shapes
    return sum(s.bytes for s in shapes[len(shapes) // 2 :]) if len(shapes) > 1 else instruction.bytes


def taking_part(attributes, devices):
    """How many devices there are in one group."""
    if found := GROUPS.search(attributes):
        return len(found[1].split(",")) if found[1] else devices
    if found := TILED.search(attributes):
        return int(found[2])
    if found := MESH.search(attributes):
        sizes = dict(re.findall(r"'([^']*)'=(\d+)", found[1]))
        n = 1
        for axis in re.findall(r"'([^']*)'", found[2]):
            n *= int(sizes.get(axis, 1))
        return n
    return devices
