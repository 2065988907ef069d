"""What a Recorder has seen, as plain data: the tables of a profile."""

import linecache
import os

from ..common.events import AREAS

PHASES = {  # kind of event -> what a profile calls it; of some within others each moment is counted once
    "traced": "tracing",
    "refused": "tracing what is not captured",
    "passes": "passes of the IR",
    "xla trace": "lowering to XLA",
    "xla lower": "lowering to XLA",
    "xla compile": "compiling by XLA",
    "nest": "loops to machine code, by LLVM",
    "numpy": "writing NumPy statements",
    "timing": "timing engines",
    "first run": "first runs",
    "hit": "programs on disk",
    "miss": "programs on disk",
    "kept": "programs on disk",
    "not kept": "programs on disk",
}


def summary(recorder):
    """The tables of a profile, of dicts, lists, strings and numbers alone. Seconds are of wall time."""
    found = sorted(recorder.calls.values(), key=lambda c: -c.seconds)
    phases, background = phase_table(recorder)
    return {
        "seconds": recorder.ended - recorder.begun,
        "shares": share_table(recorder, found),
        "calls": [call_row(c) for c in found if c.calls],
        "lines": line_table(found),
        "phases": phases,
        "background": background,
        "traces": trace_table(recorder),
        "misses": event_counts(e for e, _ in recorder.events if e.area == "guards"),
        "fallbacks": fallback_table(found),
        "engines": event_counts(e for e, _ in recorder.events if e.kind == "engine"),
        "cache": {kind: counted_cache(recorder, kind) for kind in ("hit", "miss", "kept", "not kept")},
        "notes": reading_notes(recorder, found),
    }


def share_table(recorder, found):
    """Where the wall time of the thread that began the profile went; the rest is Python around the calls."""
    seconds = recorder.ended - recorder.begun
    of = lambda get: sum(map(get, found))
    ran, made, python = of(lambda c: c.ran), of(lambda c: c.made - c.first_runs), of(lambda c: c.python)
    around = seconds - recorder.own - (ran + made + python - recorder.elsewhere)
    return {
        "compiled functions": ran,
        "making programs": made,
        "plain Python for what is not captured": python,
        "Python around the calls": max(around, 0.0),
        "this profiler": recorder.own,
    }


def call_row(c):
    file, line = c.place or (None, None)
    plain = c.calls - c.fallbacks
    return {
        "name": c.name,
        "file": file,
        "line": line,
        "signature": c.signature,
        "calls": c.calls,
        "seconds": c.seconds,
        "mean": c.running / c.count if c.count else c.seconds / c.calls,
        "worst": c.worst if c.count else c.seconds,
        "making": c.made - c.first_runs,
        "python": c.python,
        "fallbacks": c.fallbacks,
        "runs as": "plain Python" if not plain else c.lines.engine or "",
    }


def line_table(found):
    """A row a user line and derivative: seconds, by the share that the line has where its programs were measured."""
    rows = {}

    def add(c, file, line, derived, seconds, form, fused=(), why=None):
        empty = {"seconds": 0.0, "fused": set(), "of": set(), "steps": set(), "why": None}
        row = rows.setdefault((file, line, derived, form), empty)
        row["seconds"] += seconds
        row["fused"] |= {l for f, l in fused if f is not None and os.path.basename(f) == os.path.basename(file or "")}
        row["of"].add(c.name)
        row["why"] = row["why"] or why
        if file is None:
            row["steps"] |= c.lines.unplaced

    for c in found:
        ran = c.ran
        if c.lines.whole:
            for (file, line, derived, form, fused), seconds in c.lines.shares.items():
                add(c, file, line, derived, ran * seconds / c.lines.whole, form, fused)
        elif ran:
            file, line = c.place or (None, None)
            add(c, file, line, "", ran, c.lines.engine or "", (), c.lines.why or "its program has no steps")
        for (file, line, why), (_, seconds) in c.causes.items():
            add(c, file, line, "", seconds, "plain Python", (), why)
    total = sum(row["seconds"] for row in rows.values()) or 1.0
    table = [
        {
            "file": file,
            "line": line,
            "derived": derived,
            "runs as": form,
            "seconds": row["seconds"],
            "share": row["seconds"] / total,
            "text": linecache.getline(file, line).strip() if file else f"of no line: {', '.join(sorted(row['steps']))}",
            "fused": sorted(row["fused"] - {line}),
            "of": sorted(row["of"]),
            "why": row["why"],
        }
        for (file, line, derived, form), row in rows.items()
    ]
    return sorted(table, key=lambda row: -row["seconds"])


def exclusive(intervals):
    """Of (begin, end, kind) of one thread, {kind: [how many, seconds that no interval within has]}."""
    out, stack = {}, []
    for begin, end, kind in sorted(intervals, key=lambda i: (i[0], -i[1])):
        while stack and stack[-1][1] < end:  # it follows; that it begins before the end is the time that telling takes
            begin = max(begin, stack.pop()[1])
        cell = out.setdefault(kind, [0, 0.0])
        cell[0] += 1
        cell[1] += end - begin
        if stack:
            out[stack[-1][2]][1] -= end - begin
        stack.append((begin, end, kind))
    return out


def phase_table(recorder):
    """[a row a phase of compilation that a call has waited for], [the same, on other threads behind calls]."""
    threads = {}
    for event, thread in recorder.events:
        if event.kind in PHASES and event.seconds is not None:
            interval = event.begun, event.begun + event.seconds, PHASES[event.kind]
            threads.setdefault(thread, []).append(interval)
    callers = {thread for *_, thread in recorder.timeline}
    tables = {}, {}
    for thread, intervals in threads.items():
        table = tables[thread not in callers]
        for phase, (times, seconds) in exclusive(intervals).items():
            cell = table.setdefault(phase, [0, 0.0])
            cell[0] += times
            cell[1] += seconds
    rows = lambda table: [{"phase": p, "times": n, "seconds": max(s, 0.0)} for p, (n, s) in table.items()]
    return tuple(sorted(rows(table), key=lambda row: -row["seconds"]) for table in tables)


def trace_table(recorder):
    """A row for each trace and each program from disk, in order."""
    return [
        {
            "name": e.name,
            "file": e.file,
            "line": e.line,
            "arguments": ", ".join(f"{n}: {t}" for n, t in zip(e.facts["names"], e.facts["types"])),
            "reason": e.facts.get("reason", "read from disk"),
            "equations": e.facts["equations"],
            "seconds": e.seconds,
            "at": e.begun - recorder.begun,
        }
        for e, _ in recorder.events
        if e.kind in ("traced", "hit")
    ]


def fallback_table(found):
    rows = {}
    for c in found:
        for (file, line, why), (calls, seconds) in c.causes.items():
            cell = rows.setdefault((c.name, file, line, why), [0, 0.0])
            cell[0] += calls
            cell[1] += seconds
    table = [
        {"name": name, "file": file, "line": line, "why": why, "calls": calls, "seconds": seconds}
        for (name, file, line, why), (calls, seconds) in rows.items()
    ]
    return sorted(table, key=lambda row: -row["seconds"])


def event_counts(events):
    """A row for each text of a function's events, and how often it came."""
    rows = {}
    for e in events:
        key = e.name, e.file, e.line, e.area, e.kind, e.text
        rows[key] = rows.get(key, 0) + 1
    names = "name", "file", "line", "area", "kind", "text"
    return [dict(zip(names, key)) | {"times": times} for key, times in rows.items()]


def counted_cache(recorder, kind):
    return event_counts(e for e, _ in recorder.events if e.area == AREAS[3] and e.kind == kind)


def reading_notes(recorder, found):
    """What a reader of the numbers should know."""
    out = []
    if any(c.lines.whole for c in found):
        out.append(
            "Time by line: programs were run once more at some calls, step by step; the shares are of all calls."
        )
    if any(fused for c in found for *_, fused in c.lines.shares):
        out.append("Of lines that run as one instruction or one loop of machine code, one has the time of all.")
    if recorder.waited:
        out.append("Calls that return jax arrays were waited for, so that each has its own time.")
    if recorder.elsewhere:
        out.append("Calls on other threads are in the tables, but not in the shares of the whole.")
    if recorder.lost:
        out.append(f"{recorder.lost} calls and events are counted but not in the timeline.")
    return out
