"""`devices`: where programs may run, and how much memory there is."""

from __future__ import annotations

from ...backends.xla.device_list import Device, listed_devices
from ...ir.amounts import in_units
from ..common.terminal import aligned

HEAD = ["device", "kind", "memory", "in use", ""]


class Devices(tuple[Device, ...]):
    """Some `Device`s, shown as a table."""

    def __repr__(self) -> str:
        size = lambda n: "" if n is None else in_units(n, "B")
        rows = [[d.name, d.kind, size(d.memory), size(d.in_use), "default" if d.default else ""] for d in self]
        return "\n".join(line.rstrip() for line in aligned([HEAD, *rows], (2, 3), 120, 1))


def devices() -> Devices:
    """The devices of this process, the one first on which programs run unless told otherwise.

    Each has .name, as `jit(device=)` takes it, .kind, .memory and .in_use, in bytes or None where that is not told,
    .default, and .device, jax's own object for it.

    >>> from wengert import devices
    >>> devices()[-1].name
    'cpu:0'
    """
    return Devices(listed_devices())
