"""One program taken apart: its steps, lines, buffers and peak, by what runs it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends import gpu, native
from ...backends.target import platform
from ...backends.xla import dispatch
from ...backends.xla.hlo_text import parse_module
from ...backends.xla.inspected import Inspection, inspected
from ...ir.core import Func
from ...ir.cost import ZERO, EqnCost, bytes_in
from ...ir.walk import own_lines
from .devices import laid_of
from .hlo_buffers import hlo_buffers
from .nest_cost import lines_total, nest_lines
from .numpy_steps import NumPySteps, nest_text
from .step import Buffer, LineCosts, PlanStep, live_peak, numbered_steps
from .xla_steps import XlaSteps

ALIGNED = 64  # fact: bytes to which XLA wants arrays on the CPU, or copies them


class Analysis:
    """steps: in order; lines: Place -> its cost; buffers; temporaries: the most bytes of them at once, `at`: during
    which step; xla: what XLA itself says, {} where it was not asked."""

    def __init__(self) -> None:
        self.steps: list[PlanStep] = []
        self.lines = LineCosts()
        self.buffers: list[Buffer] = []
        self.temporaries, self.at = 0, 0
        self.xla: dict[str, Any] = {}

    def total(self) -> EqnCost:
        """Of one call: what data choose among costs its dearest side, as `lines` have all of them."""
        return sum((s.cost.times(1 if s.runs is None else s.runs) for s in self.steps), ZERO)


def analysed_numpy(func: Func, overwritten: set[int]) -> Analysis:
    """Of a program that runs as generated NumPy; func: the equations as they run; overwritten: numbers of parameters
    whose arrays it may change at once."""
    found, made = Analysis(), NumPySteps(func)
    found.steps, found.lines = numbered_steps(made.steps), made.by_line
    found.buffers, found.temporaries, found.at = made.buffers({func.params[k] for k in overwritten})
    return found


def analysed_xla(func: Func, names: list[str], options: dict[str, Any], laid: Any = None) -> Analysis:
    """Of a program that XLA runs, compiled for the plan if need be; names: of what the parameters take; options: as of
    `dispatch.program`; laid: a mesh and how they lie over it: then it is what each device runs."""
    looked, is_native = inspected(func, **options, laid=laid), options["native"]
    module, made = parse_module(looked.hlo()), Analysis()
    steps = XlaSteps(module, nests_by_target(looked.nests(), is_native, options["device"]), own_lines(func))
    made.steps, made.lines = numbered_steps(steps.steps), steps.by_line
    made.buffers, made.temporaries, made.at = hlo_buffers(module, steps)
    name_arguments(made.buffers, module.steps, names)
    made.xla = told_by_xla(looked)
    return made


def told_by_xla(looked: Inspection) -> dict[str, Any]:
    """XLA's own counts, and the bytes it reserves."""
    return {**looked.cost(), "memory": looked.memory()}


def nests_by_target(func: Func, is_native: bool, device: Any = None) -> dict[str, Any]:
    """{the name by which XLA calls a nest, or a kernel: (its cost, that by line, its places, what it is)}."""
    found: dict[str, Any] = {}
    if not is_native:
        return found
    on = platform(device)
    if on == "gpu":
        for eqn, choice, _ in gpu.kernel_forms(func):
            if choice is not None:
                lines = nest_lines(eqn)
                told = f"{nest_text(eqn).partition(':')[0]}: {choice.told()}"
                found[choice.name] = lines_total(lines), lines, list(lines), told
    for eqn, nest in native.listed_nests(func) if on == "cpu" else ():
        lines = nest_lines(eqn)
        found[native.target_name(nest)] = lines_total(lines), lines, list(lines), nest_text(eqn)
    return found


def name_arguments(buffers: list[Buffer], instructions: Any, names: list[str]) -> None:
    """Give buffers of arguments the user's names."""
    number = {i.name: i.parameter for i in instructions if i.opcode == "parameter"}
    for b in buffers:
        if b.kind == "argument" and number.get(b.name, len(names)) < len(names):
            b.name = names[number[b.name]]


def analysed_pieces(chain: Any, options: dict[str, Any]) -> Analysis:
    """Of a program that runs as a chain of executables; chain: an `OutlinedProgram`."""
    made, known = Analysis(), {}
    for func, count in chain.counts.items():
        known[func] = inner = analysed_xla(func, [], {**options, "native": True})
        for place, cost in inner.lines.items():
            made.lines.note(place, cost.times(count))
    for func, _ in chain.called:
        inner = known[func]
        places = list(dict.fromkeys(p for s in inner.steps for p in s.places))
        made.steps.append(
            PlanStep(
                "piece",
                func.name,
                f"{len(inner.steps)} steps",
                places,
                inner.total(),
                apart="a piece",
                steps=inner.steps,
            )
        )
    numbered_steps(made.steps)
    made.buffers, made.temporaries, made.at = piece_buffers(chain, known)
    return made


def piece_buffers(chain: Any, known: dict[Func, Analysis]) -> tuple[list[Buffer], int, int]:
    """The arrays that pass from piece to piece; (buffers, the most bytes of them and of what a piece needs inside, at
    which step)."""
    types, first, last, end = dict(enumerate(chain.types)), {}, {}, len(chain.called) + 1
    for n, (func, (_, takes, gives, _)) in enumerate(zip((f for f, _ in chain.called), chain.steps, strict=True), 1):
        types.update(zip(gives, func.result_types, strict=True))
        first.update(dict.fromkeys(gives, n))
        last.update(dict.fromkeys([*takes, *gives], n))
    results = {r for r in chain.results if isinstance(r, int)}
    buffers = []
    for i, t in types.items():
        kind = "argument" if i < chain.given else "result" if i in results else "temporary"
        over = end if kind == "result" else last.get(i, 0)
        buffers.append(Buffer(f"value {i}", repr(t), bytes_in(t), kind, first.get(i, 0), over))
    inside = {n: known[func].temporaries for n, (func, _) in enumerate(chain.called, 1)}
    return buffers, *live_peak(buffers, end, inside)


def copies_around(subject: Any, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """What is copied before and after the program: {"what", "bytes", "why"}. arguments: name -> array, of the call
    where there is one."""
    version, entry, found = subject.version, subject.entry, []
    if subject.engine not in ("xla", "pieces") or entry is None or not entry.numpy:
        return written_back(subject)
    device = entry.compiled.device
    why = "spread over the devices" if laid_of(subject) is not None else "moved to the device"
    for name, t in zip(entry.names, version.types, strict=False):
        size, x = bytes_in(t), arguments.get(name)
        if device is not None or not dispatch.on_host():
            found.append({"what": name, "bytes": size, "why": why})
        elif t.shape and (x is None or not well_placed(x)):
            sure = "it is not aligned to 64 bytes" if x is not None else "where it is not aligned to 64 bytes"
            found.append({"what": name, "bytes": size, "why": f"copied for XLA, {sure}"})
    for r in version.func.results[: version.captured.values]:
        size = bytes_in(r.type)
        if r.type.shape and size < dispatch.ZERO_COPY:
            found.append({"what": "a result", "bytes": size, "why": "small, so copied, not adopted"})
    return [*found, *written_back(subject)]


def well_placed(x: Any) -> bool:
    """Whether XLA takes an array as it lies."""
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous and x.ctypes.data % ALIGNED == 0


def written_back(subject: Any) -> list[dict[str, Any]]:
    """Arguments that are changed: the program's new values are copied there when nothing can fail any more."""
    version = subject.version
    if version is None or subject.engine == "numpy" and not version.captured.checks:
        return []
    found = []
    for k in version.captured.writes:
        t = version.captured.func.params[k].type
        name = (
            subject.entry.names[k]
            if k < len(subject.entry.names)
            else version.captured.inputs[k - len(subject.entry.names)].name
        )
        found.append({"what": name, "bytes": bytes_in(t), "why": "written when all has been computed"})
    return found
