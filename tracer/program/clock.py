"""How long a form of a program takes."""

import statistics
import threading
import time
import types

import numpy as np

from ...ir.forks import RENEWED

ENOUGH = 0.1  # bound: seconds after which no further run is timed; the first few of large programs wait for memory
RUNS, SHORT = 5, 0.03  # bound: the shortest of so many runs, as long as they took so many seconds
LONG = 0.5  # bound: seconds of a first run after which there is no second: threads of libraries are made in the first
PAUSE = 0.05  # bound: seconds that a call waits for what is timed on another thread
WOKEN = 400  # bound: runs in a row after which threads of XLA are awake
BRIEF, FULL = 2e-3, 1.5e-2  # bound: seconds of such runs, within a call and beside calls


class Timing:
    """One thread that times at a time. Who is in Python's loop meanwhile has the interpreter for some milliseconds each
    time that a timed run lets go of it, so calls of what is being timed wait until it has been."""

    def __init__(self):
        self.lock = threading.RLock()
        RENEWED.add(self)

    def pause(self):
        """Wait for what another thread times, but not for long."""
        if self.lock.acquire(timeout=PAUSE):
            self.lock.release()


TIMING = Timing()


def turns(forms, times, ready=0):
    """Seconds of each of some functions that take turns so often: of the runs in the middle, for threads of XLA's are
    not always awake. ready: runs of one in its turn, before the one that is timed."""
    with TIMING.lock:
        found, begun = [[] for _ in forms], time.perf_counter()
        for _ in range(times):
            for f, spent in zip(forms, found, strict=True):
                for _ in range(ready):
                    f()
                start = time.perf_counter()
                f()
                spent.append(time.perf_counter() - start)
            if time.perf_counter() - begun > ENOUGH:
                break
        return tuple(map(statistics.median, found))


def woken(run, seconds=FULL):
    """Seconds of a run through XLA where one follows the other: its threads, which sleep after some 20 us without work,
    stay awake after a hundred or so. Where each run wakes them it takes several times as long."""
    spent = []
    with TIMING.lock:
        while len(spent) < WOKEN and sum(spent) < seconds:
            start = time.perf_counter()
            run()
            spent.append(time.perf_counter() - start)
    return in_a_row(spent)


def in_a_row(spent):
    """Seconds of a run among some that followed one another: as the shorter of the later ones, for the others had to
    wait, or to wake threads."""
    later = sorted(spent[len(spent) // 2 :])
    return later[len(later) // 10]


def is_nest(x):
    """Whether an object is machine code of ours: its name goes on with the user's line, `nest relax solver.py:12`."""
    return type(x) is types.BuiltinFunctionType and x.__name__.partition(" ")[0] == "nest"


def clocked(run, everything):
    """(seconds of the shortest of some runs, seconds of it in nests and in functions on the host, results) of a version
    as NumPy."""
    spent = []

    def timed(nest):
        def call(*objects):
            start = time.perf_counter()
            out = nest(*objects)
            spent.append(time.perf_counter() - start)
            return out

        return call

    space = {
        name: timed(x) if is_nest(x) or getattr(x, "on_host", False) is True else x
        for name, x in run.call.__globals__.items()
    }
    call, found = types.FunctionType(run.call.__code__, space), []
    with TIMING.lock, np.errstate(all="ignore"):
        begun = time.perf_counter()
        while len(found) < RUNS and time.perf_counter() - begun < (LONG if len(found) < 2 else SHORT):
            spent.clear()
            start = time.perf_counter()
            raw = call(*everything)
            found.append((time.perf_counter() - start, sum(spent)))
    return *min(found), raw
