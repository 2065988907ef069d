"""Programs that XLA could not make faster: new ones that are cheap beside their native loops run as NumPy before XLA has compiled them.

A launch through XLA costs LAUNCH at least, and runs loops as the same machine code. Where what is left beside the loops takes less than
that, or little of the whole, there is nothing to gain, and the time to compile is saved as well.
"""

import time
import types

import numpy as np

from . import engine, straight

LAUNCH = 1e-5  # seconds
LITTLE = 0.1  # share of the time in native loops
CHEAP = 1 << 23  # bytes that the equations outside of loops write, up to which a program is tried
RUNS, ENOUGH = 5, 0.03  # the shortest of so many runs, as long as they took so many seconds


def tried(entry, here, version, everything):
    """The raw results of a new version that is to run as NumPy, whatever XLA does; None where that is not known."""
    if version.engine or version.first_seconds is not None or not engine.eligible(entry, here, version):
        return None
    start = time.perf_counter()
    if engine.asked(entry) is None:
        if engine.traffic(version.func) > CHEAP:
            return None
        run = engine.written(entry, version)
        version.compile_seconds = time.perf_counter() - start
        total, inside, raw = clocked(run, everything)
        if raw is straight.MISS or total - inside > max(LAUNCH, LITTLE * inside):
            version.tried = total
            return None
        version.times, version.inside = (total, None), inside
        engine.take(entry, here, version, run)
        return raw
    engine.take(entry, here, version)
    version.compile_seconds = time.perf_counter() - start
    return here.call(*everything)


def clocked(run, everything):
    """(seconds of the shortest of some runs, seconds of it in nests, results)"""
    spent = []

    def timed(nest):
        def call(*objects):
            start = time.perf_counter()
            out = nest(*objects)
            spent.append(time.perf_counter() - start)
            return out

        return call

    space = {name: timed(x) if type(x) is types.BuiltinFunctionType and x.__name__ == "nest" else x for name, x in run.call.__globals__.items()}
    call, found, begun = types.FunctionType(run.call.__code__, space), [], time.perf_counter()
    with np.errstate(all="ignore"):
        while len(found) < RUNS and time.perf_counter() - begun < ENOUGH:
            spent.clear()
            start = time.perf_counter()
            raw = call(*everything)
            found.append((time.perf_counter() - start, sum(spent)))
    return *min(found), raw
