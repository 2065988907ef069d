"""How long each instruction of a compiled program took in one run, as jax's profiler tells.

The profiler writes what ran, by the names of HLO instructions; `op_lines` says of which user line each is. Where jax
has no reader of that file (`jax.profiler.ProfileData`), or a trace of the user's is being written, nothing is known.
"""

import contextlib
import pathlib
import tempfile
import threading
import time
import warnings

import jax

from .dispatch import wait, wide
from .hlo_text import parse_module
from .op_lines import fused_lines, module_lines

LONG = 0.3  # bound: seconds after which no other run begins
LOCK = threading.Lock()  # jax writes one trace at a time
NEEDED = "ProfileData", "ProfileOptions"
OUTER = "while", "conditional", "call", "async-start"  # ops that run others, whose times are those of what they run


class OpTime:
    """One instruction in one run. name: as HLO has it; file, line, scope: of the user's, None where XLA does not say;
    start, duration: in microseconds from where the run began; times: how often it ran; fused: [(file, line)] of other
    lines of which XLA has made the one instruction."""

    __slots__ = ("name", "file", "line", "scope", "start", "duration", "times", "fused")

    def __init__(self, name, place, start, fused):
        self.name, self.start, self.duration, self.times, self.fused = name, start, 0.0, 0, fused
        self.file, self.line, self.scope = place


def op_times(program, leaves, runs=3, own=()):
    """[an OpTime] of the quickest of some runs of a `dispatch.Program` that has been compiled for such leaves, in the
    order they began; in words, why there is none. own: as of `op_lines`."""
    if not all(hasattr(jax.profiler, name) for name in NEEDED):
        return f"jax {jax.__version__} has no jax.profiler.ProfileData"
    with wide():
        module = parse_module(program.lower(*leaves).compile().as_text())
        once = any(i.opcode == "while" for i in module.instructions)  # of a loop each trip is told of
        found = recorded(lambda: wait(program(*leaves)), 1 if once else runs, {i.name for i in module.instructions})
    if isinstance(found, str):
        return found
    places, outer = module_lines(module, own), {i.name for i in module.instructions if i.opcode in OUTER}
    fused, best = fused_lines(module, places), None
    for events in found.values():
        mine = [e for e in events if e[0] == module.name and e[1] not in outer]
        span = max((start + length for *_, start, length in mine), default=0.0) - min((e[2] for e in mine), default=0.0)
        if mine and (best is None or span < best[0]):
            best = span, mine
    return summed_up(best[1], places, fused) if best else "jax's profiler tells of no instruction of it"


def summed_up(events, places, fused):
    """Events of one run, those of one instruction as one."""
    begun, found = min(start for _, _, start, _ in events), {}
    for _, name, start, length in sorted(events, key=lambda e: e[2]):
        if name not in found:
            place = places.get(name, (None, None, ""))
            others = sorted(fused.get(name, set()) - {place[:2]})
            found[name] = OpTime(name, place, (start - begun) / 1e3, others)
        found[name].duration += length / 1e3
        found[name].times += 1
    return list(found.values())


def recorded(run, runs, names):
    """{run: [(module, instruction, begin, length in nanoseconds)]} of what jax's profiler saw of `run()`, so often, of
    instructions of these names; in words, why it saw nothing."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with LOCK, tempfile.TemporaryDirectory(prefix="wengert-", ignore_cleanup_errors=True) as home:
        try:
            jax.profiler.start_trace(home, profiler_options=options)
        except RuntimeError as error:
            return f"jax's profiler is in use: {error}"
        try:
            until = time.perf_counter() + LONG
            for n in range(runs):
                if not n or time.perf_counter() < until:
                    run()
        finally:
            with contextlib.suppress(RuntimeError):
                jax.profiler.stop_trace()
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of jax's reader itself, in some versions
            for path in pathlib.Path(home).rglob("*.xplane.pb"):
                for event in events_of(path, names):
                    found.setdefault(event[0], []).append(event[1:])
        return found


def events_of(path, names):
    """(run, module, instruction, begin, length) of each instruction of these names in a file of the profiler's."""
    for plane in jax.profiler.ProfileData.from_file(str(path)).planes:
        for line in plane.lines:
            for event in line.events:
                if event.name not in names:
                    continue
                told = dict(event.stats)
                if "hlo_op" in told:
                    run = told.get("run_id")
                    yield run, told.get("hlo_module"), told["hlo_op"], event.start_ns, event.duration_ns
