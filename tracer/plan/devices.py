"""What a plan tells of a program that runs on several devices: how its arguments lie, what the devices send each other,
and what the model said of that."""

from __future__ import annotations

import collections
from typing import Any

from ...backends.xla.collectives import collectives
from ...backends.xla.hlo_text import parse_module
from ...backends.xla.inspected import inspected
from ...ir.amounts import in_units
from ...ir.core import Func
from ...ir.for_devices import for_devices
from ...ir.split import in_parts_within, way_of
from ...ir.spread import Spread
from ..sharding.choice import Choice, arguments_told, spec_text
from ..sharding.placement import Placement
from .subject import Subject

WAYS = 64  # bound: ways to spread the arguments that are told, the cheapest first


def laid_of(subject: Subject) -> tuple[Any, list[tuple[Any, ...]]] | None:
    """(the mesh, the specs of the parameters) of a program that `jit(mesh=)` runs; None on one device."""
    device, func, version = subject.compiled.device, subject.func, subject.version
    if not isinstance(device, Placement) or func is None:
        return None
    places = range(len(func.params)) if version is None else version.places
    arguments = func.param_types[: len(subject.names)] if version is None else version.types
    shapes = {k: t.shape for k, t in enumerate(arguments)} | {k: t.shape for k, t in zip(places, func.param_types)}
    specs = device.specs(func, places, subject.names, [shapes[k] for k in sorted(shapes)])
    return device.mesh, [specs[k] for k in places]


def devices_json(subject: Subject, names: list[str]) -> dict[str, Any] | None:
    """{"mesh": [[axis, devices]], "arguments": {name: how it lies}, "collectives": a dict for each kind, "sent": bytes
    that each device sends in a call, "sure": whether it is known how often loops run, "expected": the same by the
    model, "loops": {"place", "form"} of each, "ways": those compared, None where the user has said how arrays lie}.
    names: of the parameters."""
    laid = laid_of(subject)
    if laid is None:
        return None
    device, func = subject.compiled.device, subject.func
    module = parse_module(inspected(func, subject.compiled.native, subject.compiled.exact, laid).hlo())
    found = collectives(module, device.mesh.devices.size)
    by_kind: dict[str, list[Any]] = collections.defaultdict(list)
    for c in found:
        by_kind[c.kind].append(c)
    choice = device.choice(func)
    return {
        "mesh": [list(item) for item in device.sizes.items()],
        "arguments": {n: spec_text(s) for n, s in zip(names, laid[1], strict=False)},
        "collectives": [
            {"kind": kind, "runs": sum(c.times for c in steps), "bytes": sum(c.size * c.times for c in steps),
             "sent": sum(c.sent for c in steps)}
            for kind, steps in by_kind.items()
        ],
        "sent": sum(c.sent for c in found),
        "sure": all(c.sure for c in found),
        "expected": Spread(func, laid[1], device.sizes).bytes,
        "loops": loops_json(func, device.sizes, subject.compiled.exact),
        "ways": None if choice is None else ways_json(choice),
    }  # fmt: skip


def loops_json(func: Func, sizes: dict[str, int], exact: bool) -> list[dict[str, str]]:
    """{"place": the user's line, "form": in words} of the loops over arrays; of those within one that is shared out
    there is nothing to say."""
    found = []
    for eqn in for_devices(func).eqns:
        if eqn.op.name != "loop" or not any(x.type.shape for x in eqn.operands):
            continue
        split, axis, why = way_of(eqn.attrs, sizes, exact)
        place = str(eqn.source or "no line")
        if split is not None:
            low, high = (max(h) for h in zip(*split.halo.values(), strict=True))
            beside = f", with {low} rows before and {high} behind from its neighbours" if low or high else ""
            found.append({"place": place, "form": f"each device along {axis} takes the trips of its rows{beside}"})
        elif in_parts_within(eqn.attrs, sizes, exact):
            found.append({"place": place, "form": "XLA takes apart what is in it"})
            found += loops_json(eqn.attrs["body"], sizes, exact)
        else:
            found.append({"place": place, "form": f"whole on every device: {why}"})
    return found


def ways_json(choice: Choice) -> list[dict[str, Any]]:
    """{"arguments", "sent", "held"} of the ways compared, the one taken first."""
    return [
        {
            "arguments": choice.said(way),
            "sent": way.sent,
            "held": way.held,
        }
        for way in choice.ways[:WAYS]
    ]


def devices_lines(devices: dict[str, Any]) -> list[str]:
    """What is said of the devices, a line each."""
    along = " x ".join(f"{name} {n}" for name, n in devices["mesh"])
    least = "" if devices["sure"] else "at least "
    sends = f"each device sends {least}{in_units(devices['sent'], 'B')} a call"
    return [
        f"{along}; {arguments_told(devices['arguments'])}",
        f"{sends}; the model expects {in_units(devices['expected'], 'B')}",
    ]


def collective_rows(devices: dict[str, Any]) -> list[list[str]]:
    """A row a kind."""
    return [
        [c["kind"], str(c["runs"]), in_units(c["bytes"], "B"), in_units(c["sent"], "B")] for c in devices["collectives"]
    ]


def way_rows(devices: dict[str, Any]) -> list[list[str]]:
    """A row a way that was compared, the one that was taken first."""
    return [
        [str(n), in_units(w["sent"], "B"), in_units(w["held"], "B"), arguments_told(w["arguments"])]
        for n, w in enumerate(devices["ways"] or [], 1)
    ]
