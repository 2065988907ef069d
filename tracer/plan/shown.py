"""A plan as text for a terminal."""

from __future__ import annotations

import collections
import os
from typing import Any

from ...ir.amounts import in_time, in_units
from ...ir.source import line_name
from ..common.terminal import aligned, cut_text, filled_lines, number_ranges, several, text_columns
from .devices import collective_rows, devices_lines, way_rows
from .subject import ENGINES

STEPS, LINES, BUFFERS, WAYS, LOOPS = 40, 40, 6, 6, 12  # bound: rows of each table that a text shows
DEEP = 2  # bound: loops within each other whose steps are shown


def plan_text(data: dict[str, Any]) -> str:
    """The text of a plan's dict."""
    width, traces = text_columns(), data["traces"]
    lines = [f"plan of {data['function']}: {several(len(traces), 'program')}"]
    if not traces:
        lines += filled_lines(
            "  ", "nothing is compiled yet: give arguments as in a call, f.plan(x), or call it first", width
        )
    for trace in traces:
        lines += trace_text(trace, width)
    for line in (*data["background"], *data["refused"]):
        lines += filled_lines("  ", line, width)
    if data["machine"] is not None:
        m = data["machine"]
        rates = f"{in_units(m['bandwidth'], 'B')}/s of memory, {in_units(m['products'], 'flop')}/s in products"
        lines += filled_lines(
            "  expected     ",
            f"by what this machine does: {rates}, {in_units(m['arithmetic'], 'flop')}/s otherwise",
            width,
        )
    return "\n".join(lines)


def trace_text(trace: dict[str, Any], width: int) -> list[str]:
    """The paragraph of one program."""
    lines = filled_lines(f"  program {trace['number']}: ", f"({trace['arguments']})", width, 4)
    say = lambda label, text: lines.extend(filled_lines(f"    {label:<13}", text, width))
    if trace["static"]:
        say("static", cut_text(trace["static"], 3 * width))
    for assumed in trace["assumes"][:6]:
        say("assumes", assumed)
    say("runs", runs_text(trace))
    if trace["totals"] is None:
        return lines
    if trace["engine"] in ("python", "none"):
        say(
            "steps",
            "of the compiled form, which these are, not of plain Python"
            if trace["engine"] == "python"
            else "are those of XLA",
        )
    say("work", cost_text(trace["totals"]))
    say("time", time_text(trace))
    say("memory", memory_text(trace))
    if trace["copies"]:
        say("copies", copies_text(trace["copies"]))
    if trace["reverse"] is not None:
        lines += reverse_text(trace["reverse"], width)
    if apart := apart_text(trace["steps"]):
        say("not fused", apart)
    if (devices := trace["devices"]) is not None:
        for label, text in zip(("devices", "sends"), devices_lines(devices), strict=True):
            say(label, text)
        for one in devices["loops"][:LOOPS]:
            say("loop", f"{one['place']}: {one['form']}")
        rows = way_rows(devices)
        lines += table("ways", rows, len(rows), width)
        rows = collective_rows(devices)
        lines += table("collectives", rows, len(rows), width)
    say("guard", guard_text(trace["guard"]))
    lines += table("steps", step_rows(trace["steps"]), len(trace["steps"]), width)
    lines += table("lines", line_rows(trace["lines"]), len(trace["lines"]), width)
    lines += table("buffers", buffer_rows(trace["buffers"]), len(trace["buffers"]), width)
    return lines


def runs_text(trace: dict[str, Any]) -> str:
    """The engine, and why."""
    return f"{ENGINES[trace['engine']]}: {trace['why'].removeprefix('plain Python answers such calls, uncompiled: ')}"


def cost_text(cost: dict[str, Any]) -> str:
    least = "" if cost["known"] else "at least "
    read, written = in_units(cost["read"], "B"), in_units(cost["written"], "B")
    return f"{least}{in_units(cost['flops'], 'flop')}, {read} read, {written} written"


def time_text(trace: dict[str, Any]) -> str:
    expected = "not known beforehand" if trace["expected"] is None else f"{in_time(trace['expected'])} expected"
    if trace["measured"] is not None:
        return f"{expected}, {in_time(trace['measured'])} measured"
    why = trace.get("unmeasured")
    return f"{expected}; not measured{f': {why}' if why else ''}"


def memory_text(trace: dict[str, Any]) -> str:
    m = trace["memory"]
    parts = [f"{in_units(m[k], 'B')} {k}" for k in ("arguments", "results", "temporaries")]
    at = f" (most during step {m['at']})" if m["temporaries"] else ""
    xla = f"; XLA reserves {in_units(m['xla'], 'B')}" if m["xla"] is not None else ""
    return f"{in_units(m['peak'], 'B')} at the peak: {', '.join(parts)}{at}{xla}"


def copies_text(copies: list[dict[str, Any]]) -> str:
    """What is copied around the program, those for one reason together."""
    by_why: dict[str, list[dict[str, Any]]] = {}
    for c in copies:
        by_why.setdefault(c["why"], []).append(c)
    parts = []
    for why, found in by_why.items():
        names = cut_text(", ".join(dict.fromkeys(c["what"] for c in found)), 40)
        parts.append(f"{names} {in_units(sum(c['bytes'] for c in found), 'B')}: {why}")
    return "; ".join(parts)


def reverse_text(reverse: dict[str, Any], width: int) -> list[str]:
    """What the way back keeps and computes again."""
    kept, lines = reverse["kept"], []
    say = lambda label, text: lines.extend(filled_lines(f"    {label:<13}", text, width))
    by_line: collections.Counter[str] = collections.Counter()
    for r in kept:
        by_line[place_text(r["line"])] += r["bytes"]
    said = ", ".join(f"{in_units(b, 'B')} of {place}" for place, b in by_line.most_common(6))
    total = f"{in_units(reverse['kept_bytes'], 'B')} in {several(len(kept), 'array')}"
    say("way back", f"keeps {total}: {said}" if kept else "keeps nothing but arguments")
    for r in reverse["recomputed"][:6]:
        say("computes", f"again {place_text(r['line'])}: {cut_text(r['what'], 40)}, {in_units(r['flops'], 'flop')}")
    for note in reverse["notes"][:6]:
        say("note", note)
    return lines


def apart_text(steps: list[dict[str, Any]]) -> str:
    """Why results of steps go through memory, the most frequent reasons first."""
    counts = collections.Counter(s["apart"] for s in steps if s["apart"] and s["apart"] != "a result")
    return ", ".join(f"{why} ({n} x)" if n > 1 else why for why, n in counts.most_common(5))


def guard_text(guard: dict[str, Any]) -> str:
    took = f", {in_time(guard['seconds'])} a call" if guard["seconds"] is not None and guard["reads"] else ""
    parts = [f"{several(guard['reads'], 'outside value')} tested{took}"]
    for key, what in (
        ("inputs", "read anew"),
        ("checks", "in the program that may raise"),
        ("assumptions", "of which way the data go"),
        ("draws", "drawn"),
        ("stores", "stored outside"),
    ):
        if guard[key]:
            parts.append(
                f"{guard[key]} {what}"
                if key in ("inputs", "draws", "stores")
                else f"{several(guard[key], 'test')} {what}"
            )
    return "; ".join(parts)


def place_text(line: dict[str, Any]) -> str:
    return line_name(line["file"], line["line"], line["mark"]) or "no line"


def places_text(lines: list[dict[str, Any]]) -> str:
    """Places, those of one file together: "heat.py:8-9, 12 vjp"."""
    by_file: dict[str, dict[str, list[int]]] = {}
    for p in lines:
        if p["line"]:
            by_file.setdefault(os.path.basename(p["file"]), {}).setdefault(p["mark"], []).append(p["line"])
    said = lambda mark, numbers: f"{number_ranges(sorted(set(numbers)))} {mark}".rstrip()
    files = [(file, [said(*item) for item in sorted(marks.items())]) for file, marks in by_file.items()]
    return "; ".join(f"{file}:{', '.join(parts)}" for file, parts in files)


def step_rows(steps: list[dict[str, Any]], depth: int = 0, measured: bool | None = None) -> list[list[str]]:
    """A row a step, those within a loop below it; measured: whether there is a column of what was."""
    rows, measured = [], was_measured(steps) if measured is None else measured
    for s in steps:
        runs = "" if s["runs"] == 1 else "? x" if s["runs"] is None else f"{s['runs']} x"
        number = str(s["number"]) if depth == 0 else ""
        took = in_time(s["measured"]) if s["measured"] is not None else ""
        expected = in_time(s["expected"]) if s["expected"] is not None else "?"
        times = [expected, took] if measured else [expected]
        least = "" if s["known"] else ">"
        amounts = [least + in_units(s["flops"]), least + in_units(s["read"] + s["written"], "B"), *times]
        head = [number, "  " * depth + s["kind"], f"{runs} {s['does']}".strip()]
        rows.append([*head, *amounts, cut_text(places_text(s["lines"]), 26)])
        if s["steps"] and depth < DEEP:
            rows += step_rows(s["steps"], depth + 1, measured)
    return rows


def was_measured(steps: list[dict[str, Any]]) -> bool:
    """Whether a step, or one within it, was measured."""
    return any(s["measured"] is not None or was_measured(s["steps"]) for s in steps)


def line_rows(lines: list[dict[str, Any]]) -> list[list[str]]:
    measured, rows = any(line["measured"] is not None for line in lines), []
    for line in lines:
        took = in_time(line["measured"]) if line["measured"] is not None else ""
        amounts = [in_units(line["flops"]), in_units(line["read"], "B"), in_units(line["written"], "B")]
        rows.append([cut_text(place_text(line), 26), *amounts, *([took] if measured else []), line["text"]])
    return rows


def buffer_rows(buffers: list[dict[str, Any]]) -> list[list[str]]:
    """The largest."""
    found = sorted(buffers, key=lambda b: -b["bytes"])[:BUFFERS]
    return [
        [cut_text(b["name"], 26), b["type"], b["kind"], in_units(b["bytes"], "B"), f"steps {b['first']}-{b['last']}"]
        for b in found
    ]


HEADS = {
    "steps": (["", "step", "does", "flop", "bytes", "expected", "lines"], (0, 3, 4, 5), 2),
    "lines": (["line", "flop", "read", "written", "text"], (1, 2, 3), -1),
    "buffers": (["buffer", "type", "kind", "bytes", "there"], (3,), 0),
    "ways": (["way", "sends", "holds", "arguments"], (0, 1, 2), -1),
    "collectives": (["collective", "runs", "bytes", "sent"], (1, 2, 3), 0),
}

MEASURED = {"steps": 6, "lines": 4}  # where the column of what was measured stands, if anything was


def table(kind: str, rows: list[list[str]], count: int, width: int) -> list[str]:
    """The rows of one of the tables of a plan, under their heads."""
    if not rows:
        return []
    head, right, cut = HEADS[kind]
    if kind in MEASURED and len(rows[0]) > len(head):
        at = MEASURED[kind]
        head, right = [*head[:at], "measured", *head[at:]], (*right, at)
    most = {"steps": STEPS, "lines": LINES, "buffers": BUFFERS, "ways": WAYS, "collectives": STEPS}[kind]
    shown = aligned([head, *rows[:most]], right, width - 4, cut)
    more = max(len(rows), count) - most
    return [*(f"    {line}" for line in shown), *([f"    ... and {more} more"] if more > 0 else [])]
