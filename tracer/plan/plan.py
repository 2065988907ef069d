"""`f.plan(*args)`: what a call with these arguments will do, step by step and line by line, and what it costs."""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from typing import Any

from ...backends import forked
from ...backends.target import platform
from ...backends.xla.device_list import where_run
from ...ir.cost import ZERO
from ..capture.capture import Captured
from ..common import pytree
from ..values.speculate import Assumption
from .analysis import Analysis, analysed_numpy, analysed_pieces, analysed_xla, copies_around
from .devices import devices_json, laid_of
from .machine import this_machine
from .measured import measured_of
from .page import plan_page
from .reverse import reverse_mode
from .shown import plan_text
from .step import Place, cost_json, derivative_mark
from .subject import Subject, existing, for_arguments, means_call

SCHEMA = 1  # fact: of the dict that `Plan.json` gives, as docs/plan.md describes it
ASKED = 64  # bound: times that a guard is asked, to time it


class Plan:
    """What the arguments of a call lead to. `str` of it is a text for a terminal, `json()` a plain dict."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def json(self) -> dict[str, Any]:
        """All of it, as dicts, lists, strings and numbers that `json.dumps` takes; docs/plan.md lists the fields."""
        return self.data

    def __str__(self) -> str:
        return plan_text(self.data)

    def __repr__(self) -> str:
        return f"<plan of {self.data['function']}: {len(self.data['traces'])} trace(s)>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return plan_page(self.data)


def plan_of(compiled: Any, args: Any, kwargs: Any, measure: bool = False) -> Plan:
    """The Plan of a compiled function, in a call of its Callee; without arguments, of all programs that there are."""
    asked = means_call(compiled, args, kwargs)
    subjects = for_arguments(compiled, args, kwargs) if asked else existing(compiled)
    given = named_leaves(compiled, args, kwargs) if asked else {}
    measured = measured_of(compiled, args, kwargs) if asked and measure else None
    traces = [trace_json(n, s, given, measured if len(subjects) == 1 else None) for n, s in enumerate(subjects, 1)]
    waiting = [line.strip() for e in compiled.entries.values() for job in e.jobs.values() for line in job.lines()]
    refused = [line.strip() for e in compiled.entries.values() for line in e.lines()] if not asked else []
    return Plan({
        "schema": SCHEMA,
        "function": str(compiled.name),
        "machine": this_machine().json() if is_here(compiled) and any(t["steps"] for t in traces) else None,
        "traces": traces,
        "background": waiting,
        "refused": refused,
    })  # fmt: skip


def is_here(compiled: Any) -> bool:
    """Whether programs run on the CPU, whose rates are known."""
    return platform(compiled.device) == "cpu"


def named_leaves(compiled: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """name -> value of each argument of a call."""
    return dict(zip(compiled.leaf_names(args, kwargs), pytree.leaves((args, kwargs)), strict=False))


def analysed(subject: Subject) -> Analysis:
    """A program taken apart by what runs it; what plain Python runs, as what would run else."""
    compiled, version = subject.compiled, subject.version
    names = [n for n, _ in parameter_names(subject)]
    if version is not None and version.chain is not None:
        return analysed_pieces(version.chain, compiled.lowering())
    if subject.engine == "numpy" or version is not None and version.engine or forked.Process.forked:
        return analysed_numpy(version.numpy if version is not None else subject.func, overwritten(version))
    return analysed_xla(subject.func, names, compiled.lowering(), laid_of(subject))


def overwritten(version: Any) -> set[int]:
    """Numbers of parameters whose arrays a program run as NumPy changes in place, since nothing can fail."""
    return set(version.captured.writes) if version is not None and not version.captured.checks else set()


def parameter_names(subject: Subject) -> list[tuple[str, Any]]:
    """(name, type) of what the program takes: arguments, and what it reads outside."""
    captured: Captured = subject.captured
    func = subject.func
    if func is None:
        return []
    outside = [str(getattr(x, "name", "outside")) for x in captured.inputs]
    return list(zip([*subject.names, *outside], func.param_types, strict=False))


def trace_json(number: int, subject: Subject, given: dict[str, Any], measured: Any) -> dict[str, Any]:
    """One program of a plan."""
    head = {
        "number": number,
        "arguments": subject.arguments,
        "static": subject.static,
        "assumes": [f"{a}: {str(a.truth).lower()}" for a in getattr(subject.version, "assumed", ())],
        "engine": subject.engine,
        "device": where_run(subject.compiled.device, given.values()),
        "precision": subject.compiled.precision,
        "promote": subject.compiled.promote,
        "why": subject.why,
        "times": subject.times,
    }
    compiled = subject.compiled
    if subject.func is None:
        return {**head, "steps": [], "lines": [], "buffers": [], "totals": None, "memory": None, "expected": None,
                "measured": None, "copies": [], "reverse": None, "guard": None, "xla": None,
                "devices": None}  # fmt: skip
    found, rate = analysed(subject), this_machine().seconds if is_here(compiled) else lambda step: None
    if measured is not None:
        note_measured(found, measured)
    times = [rate(s) for s in found.steps]
    return {
        **head,
        "totals": cost_json(found.total()),
        "expected": None if None in times else sum(t for t in times if t is not None),
        "measured": measured.seconds
        if measured is not None and measured.seconds
        else subject.times.get(subject.engine),
        "unmeasured": measured.why if measured is not None else None,
        "steps": [s.json(rate) for s in found.steps],
        "lines": lines_json(found, measured),
        "buffers": [b.json() for b in found.buffers],
        "memory": memory_json(found),
        "xla": found.xla or None,
        "copies": copies_around(subject, given),
        "reverse": reverse_mode(subject.func, subject.captured.notes),
        "guard": guard_json(subject),
        "devices": devices_json(subject, [n for n, _ in parameter_names(subject)]),
    }


def note_measured(found: Analysis, measured: Any) -> None:
    """Put what equations and instructions took into the steps that are of them, those within loops too."""
    spent: dict[Any, float] = {}
    for s in measured.steps:
        spent[s.key] = spent.get(s.key, 0.0) + 1e-6 * s.duration_us
    waiting = list(found.steps)
    while waiting:
        step = waiting.pop()
        step.measured = spent.get(step.name if step.key is None else step.key)
        waiting += step.steps


def lines_json(found: Analysis, measured: Any) -> list[dict[str, Any]]:
    """What is computed for each line of the user's, in the order of the source; derivatives of a line by themselves."""
    spent: dict[tuple[Any, ...], float] = {}
    for s in measured.steps if measured is not None else ():
        key = s.file, s.line, derivative_mark(s.scope or "")
        spent[key] = spent.get(key, 0.0) + 1e-6 * s.duration_us
    at: dict[Place, list[int]] = {}
    for step in found.steps:
        for place in dict.fromkeys([*step.places, *(p for s in step.steps for p in s.places)]):
            at.setdefault(place, []).append(step.number)
    costs = {**{Place(*key): ZERO for key in spent if key[0] is not None}, **found.lines}
    order = sorted(costs, key=lambda p: (p.file, p.line, p.mark))
    return [
        {
            **place.json(),
            "text": linecache.getline(place.file, place.line).strip() if place.line else "",
            **cost_json(costs[place]),
            "steps": at.get(place, []),
            "measured": spent.get(tuple(place)),
        }
        for place in order
    ]


def memory_json(found: Analysis) -> dict[str, Any]:
    """{"arguments", "results", "temporaries", "peak", "at", "xla"} in bytes; at: the step of the peak; xla: the same
    sum as XLA reserves it, None where it was not asked."""
    sums = {kind: sum(b.bytes for b in found.buffers if b.kind == kind) for kind in ("argument", "result")}
    told = (found.xla or {}).get("memory")
    return {
        "arguments": sums["argument"],
        "results": sums["result"],
        "temporaries": found.temporaries,
        "peak": sums["argument"] + sums["result"] + found.temporaries,
        "at": found.at,
        "xla": None if told is None else told["argument"] + told["output"] + told["temp"] - told["alias"],
    }


def guard_json(subject: Subject) -> dict[str, Any]:
    """What a call asks before it runs: {"reads": outside values that are tested, "inputs": those that are read anew,
    "seconds": of those tests, "checks": tests in the program that may raise, "assumptions": those that choose the
    program, "draws", "stores"}."""
    captured, here = subject.captured, subject.here
    kinds = [c.error is Assumption for c in captured.checks]
    return {
        "reads": len(here.guard.reads) if here is not None else len(captured.outside.reads),
        "inputs": len(captured.inputs),
        "seconds": None if here is None else seconds_of(here.guard.holds),
        "checks": kinds.count(False),
        "assumptions": kinds.count(True),
        "draws": len(captured.outside.draws.list),
        "stores": len(captured.stores),
    }


def seconds_of(test: Callable[[], object]) -> float:
    """What one call of a test takes."""
    test()
    start = time.perf_counter()
    for _ in range(ASKED):
        test()
    return (time.perf_counter() - start) / ASKED
