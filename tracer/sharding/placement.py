"""What `jit(mesh=, shard=)` asks: the devices, and how the arrays among the arguments lie over them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...backends.xla import processes, sharding
from ...ir.core import Func
from ..common.errors import message
from .choice import Choice, arguments_told, spec_text

AUTO = "auto"
DEFAULT = "devices"  # the one axis of a mesh that nobody has named
KEPT = 256  # bound: signatures of which it is kept how their arrays lie; a program among them lives as long


class ShardingError(ValueError):
    """An argument cannot lie over the devices as was asked."""


class Placement:
    """Stands where a device is asked for: arrays are spread over `mesh` as `shard` says, {name of an argument: an entry
    for each of its first axes}, or as is cheapest where it is "auto". Those that it does not name are on all devices,
    whole.

    Of the latest signatures `found` keeps the specs of the leaves, and `chosen` how they were chosen.
    """

    def __init__(self, mesh: Any, shard: Any) -> None:
        self.mesh, self.shard = mesh, shard
        self.sizes = dict(zip(mesh.axis_names, mesh.devices.shape, strict=True))
        self.platform = mesh.devices.flat[0].platform
        self.is_shared = processes.spans_processes(mesh)
        self.found: dict[Any, list[tuple[Any, ...]]] = {}
        self.chosen: dict[Any, Choice] = {}

    def said(self) -> list[Any]:
        """All of it, for a key of programs on disk."""
        devices = [str(d) for d in self.mesh.devices.flat]
        shard = self.shard if self.shard == AUTO else sorted((k, repr(v)) for k, v in self.shard.items())
        return [list(self.sizes.items()), devices, shard]

    def for_numpy(self, raw: Any) -> Any:
        """Results that are to be ndarrays: whole in each process."""
        return processes.made_whole_everywhere(raw) if self.is_shared else raw

    def text(self) -> str:
        """"8 devices (rows 4 x cols 2)"."""
        along = " x ".join(f"{name} {n}" for name, n in self.sizes.items())
        return f"{self.mesh.devices.size} devices ({along})"

    def specs(
        self, func: Func, places: Sequence[int], names: Sequence[str], shapes: Sequence[tuple[int, ...]]
    ) -> list[tuple[Any, ...]]:
        """How the leaves of a call lie. func, places: the program, and which leaves its parameters are, by which "auto"
        chooses; names: of the arguments among the leaves, which come first; shapes: of all."""
        key = tuple(names), func if self.shard == AUTO else None, tuple(shapes)
        specs = self.found.get(key)
        if specs is None:
            if self.shard == AUTO:
                chosen = self.chosen[key] = Choice(func, places, names, shapes, self.sizes)
                specs = chosen.specs
            else:
                specs = self.asked(names, shapes)
            self.found[key] = specs
            for old in list(self.found)[:-KEPT]:
                self.found.pop(old, None)
                self.chosen.pop(old, None)
        return specs

    def told(self, func: Func) -> str:
        """How the arguments of a program lie, in words."""
        if self.shard != AUTO:
            return "; ".join(f"{name} ({spec_text(spec)})" for name, spec in self.shard.items())
        choice = self.choice(func)
        return "by what is sent" if choice is None else arguments_told(choice.said(choice.ways[0]))

    def choice(self, func: Func) -> Choice | None:
        """How those of a program were chosen, where they were."""
        return next((c for c in list(self.chosen.values()) if c.func is func), None)

    def asked(self, names: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> list[tuple[Any, ...]]:
        specs: list[tuple[Any, ...]] = [()] * len(shapes)
        for asked, spec in self.shard.items():
            places = [i for i, name in enumerate(names) if is_part_of(name, asked)]
            if not places:
                hint = f"They are {', '.join(names) or 'none'}; of nested ones the beginning of a name will do."
                raise ShardingError(message(f"shard names {asked!r}, and no array argument is called so", None, hint))
            for i in places:
                if len(spec) <= len(shapes[i]):
                    specs[i] = self.checked(names[i], spec, shapes[i])
                elif len(places) == 1:
                    text = f"shard has {len(spec)} axes for {names[i]}, whose shape is {shapes[i]}"
                    hint = f"Write shard={{{asked!r}: {example(spec[: len(shapes[i])])}}}."
                    raise ShardingError(message(text, None, hint))
        return specs

    def checked(self, name: str, spec: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
        for axis, (entry, size) in enumerate(zip(spec, shape, strict=False)):
            n = math.prod(self.sizes[a] for a in entries(entry))
            if size % n:
                fewer = max(k for k in range(1, n + 1) if size % k == 0)
                text = f"axis {axis} of {name} has length {size}, which {n} devices along {entry!r} do not divide"
                hint = f"Pad it to {size + -size % n}, or take {fewer} device{'s' * (fewer != 1)}."
                raise ShardingError(message(text, None, hint))
        return spec


def entries(entry: Any) -> tuple[str, ...]:
    """The mesh axes over which one axis of an array lies."""
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def is_part_of(name: str, asked: str) -> bool:
    """Whether a leaf's name, such as `params['w1'][0]`, is the one that is asked for, or begins with it."""
    name, asked = (re.sub(r"\[['\"](.*?)['\"]\]", r".\1", x) for x in (name, asked))
    return name == asked or name.startswith((f"{asked}.", f"{asked}["))


def example(spec: tuple[Any, ...]) -> str:
    return repr(spec[0]) if len(spec) == 1 else repr(spec)


def placement(mesh: Any, shard: Any) -> Placement:
    """The Placement of options as `jit` takes them; one of them is given. TypeError and ValueError say what they are to
    be."""
    shard = AUTO if shard is None or isinstance(shard, str) and shard == AUTO else normal_shard(shard)
    named = [] if shard == AUTO else list(dict.fromkeys(a for spec in shard.values() for e in spec for a in entries(e)))
    mesh = normal_mesh(mesh, named)
    for name in named:
        if name not in mesh.axis_names:
            text = f"shard names the mesh axis {name!r}, and the mesh has {', '.join(map(repr, mesh.axis_names))}"
            raise ValueError(message(text, None, "Values of shard are names of mesh axes."))
    return Placement(mesh, shard)


def normal_shard(shard: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(shard, Mapping) or not all(isinstance(k, str) for k in shard):
        hint = "Write shard='auto', or {name of an argument: name of a mesh axis, or a tuple of them}."
        raise TypeError(message(f"shard is {shard!r:.60}", None, hint))
    out = {}
    for name, given in shard.items():
        spec = sharding.spec_entries(given)
        spec = () if spec is None else (spec,) if isinstance(spec, str) else spec
        if not isinstance(spec, tuple) or not all(is_entry(e) for e in spec):
            hint = "Write the name of a mesh axis, or a tuple: of each axis of the array a name, names, or None."
            raise TypeError(message(f"shard has {given!r:.60} for {name!r}", None, hint))
        used = [a for e in spec for a in entries(e)]
        if len({*used}) < len(used):
            hint = "Each axis of the mesh spreads one axis of an array."
            raise ValueError(message(f"shard has a mesh axis twice for {name!r}: {given!r:.60}", None, hint))
        out[name] = spec
    return out


def is_entry(x: Any) -> bool:
    return x is None or isinstance(x, str) or isinstance(x, tuple) and all(isinstance(a, str) for a in x)


def normal_mesh(mesh: Any, named: list[str]) -> Any:
    """A mesh of jax's, whose axes are automatic, of one of the user's, sizes of its axes, or a number of devices.

    named: the axes that are asked for.
    """
    if sharding.is_mesh(mesh):
        sizes = dict(zip(mesh.axis_names, mesh.devices.shape, strict=True))
        return sharding.automatic_mesh(sizes, devices=mesh.devices)
    there = len(sharding.all_devices())
    if mesh is None or isinstance(mesh, int | np.integer) and not isinstance(mesh, bool):
        if len(named) > 1:
            what = "all devices" if mesh is None else f"{mesh} devices"
            hint = f"Write their sizes: mesh={{{', '.join(f'{a!r}: ...' for a in named)}}}."
            text = f"shard names {len(named)} mesh axes, {', '.join(map(repr, named))}, and the mesh is {what}"
            raise ValueError(message(text, None, hint))
        mesh = {named[0] if named else DEFAULT: there if mesh is None else int(mesh)}
    if not isinstance(mesh, Mapping) or not all(isinstance(k, str) for k in mesh) or not mesh:
        hint = "Write a jax.sharding.Mesh, a number of devices, or {name of an axis: devices along it}."
        raise TypeError(message(f"mesh is {mesh!r:.60}", None, hint))
    needed = math.prod(mesh.values())
    if not 1 <= needed <= there:
        text = f"the mesh has {needed} devices, and there {'is' if there == 1 else 'are'} {there}"
        hint = "XLA_FLAGS=--xla_force_host_platform_device_count=8 in the environment makes eight of a CPU."
        raise ValueError(message(text, None, hint))
    return sharding.automatic_mesh({k: int(n) for k, n in mesh.items()})
