"""A profile as a trace file that ui.perfetto.dev and chrome://tracing open.

Source of the format: "Trace Event Format", JSON object form, the Chromium project: complete events ("X"), instant
events ("i") and metadata ("M"), times in microseconds. Process 1 has the calls of compiled functions and what was made
in them, a track a thread; each further process is one call of a program whose steps were measured, from where it began.
"""

from ...ir.source import line_name
from .summary import PHASES

CALLS = 1  # number of the process that has the calls


def trace_events(recorder, script):
    """The object of a trace file, for `json.dump`."""
    threads = {}
    track = lambda thread: threads.setdefault(thread, len(threads) + 1)
    track(recorder.main)
    events = [*call_events(recorder, track), *making_events(recorder, track)]
    names = [metadata_event("process_name", CALLS, 0, f"calls of {script}")]
    for thread, number in threads.items():
        name = "main thread" if thread == recorder.main else f"thread {number}"
        names.append(metadata_event("thread_name", CALLS, number, name))
    measured = [c for c in recorder.calls.values() if c.lines.steps]
    for pid, calls in enumerate(measured, CALLS + 1):
        title = f"steps of {calls.name}({calls.signature}), one call, {calls.lines.engine}"
        names.append(metadata_event("process_name", pid, 0, title))
        events += step_events(calls.lines.steps, pid)
    return {"traceEvents": names + sorted(events, key=lambda e: e["ts"]), "displayTimeUnit": "ms"}


def metadata_event(kind, pid, tid, name):
    return {"name": kind, "ph": "M", "ts": 0, "pid": pid, "tid": tid, "args": {"name": name}}


def complete_event(name, category, pid, tid, start, length, args):
    """An event with a duration; start, length: microseconds."""
    head = {"name": name, "cat": category, "ph": "X", "pid": pid, "tid": tid}
    return head | {"ts": max(start, 0.0), "dur": max(length, 0.0), "args": args}


def call_events(recorder, track):
    for calls, start, seconds, thread in recorder.timeline:
        args = {"signature": calls.signature, "line": line_name(*(calls.place or (None, None)))}
        start = 1e6 * (start - recorder.begun)
        yield complete_event(calls.name, "call", CALLS, track(thread), start, 1e6 * seconds, args)


def making_events(recorder, track):
    """What is made in calls or beside them; what takes no time is an instant."""
    for event, thread in recorder.events:
        start, tid = 1e6 * (event.begun - recorder.begun), track(thread)
        args = {"function": event.name, "line": line_name(event.file, event.line), "what": event.text}
        if event.seconds is not None:
            name = f"{PHASES.get(event.kind, event.kind)}: {event.name}"
            yield complete_event(name, event.area, CALLS, tid, start, 1e6 * event.seconds, args)
        elif event.kind != "begun":
            name = f"{event.kind}: {event.name}"
            head = {"name": name, "cat": event.area, "ph": "i", "s": "t", "pid": CALLS, "tid": tid}
            yield head | {"ts": max(start, 0.0), "args": args}


def step_events(steps, pid):
    """The steps of one measured call; what ran several times is drawn as one, from its first run on."""
    tracks = []  # when each is free again: steps may overlap
    for step in sorted(steps, key=lambda s: s.start_us):
        tid = next((k for k, free in enumerate(tracks) if free <= step.start_us), len(tracks))
        tracks[tid:tid + 1] = [step.start_us + step.duration_us]
        args = {"step": step.name, "scope": step.scope, "times": step.times}
        args["fused with"] = [line_name(*other) for other in step.fused]
        name = line_name(step.file, step.line) or step.name
        yield complete_event(name, "step", pid, tid + 1, step.start_us, step.duration_us, args)
