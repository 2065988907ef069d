"""Waiting for results by asking for them again and again, while they may come sooner than the system wakes a thread.

XLA runs what it takes for cheap before the call returns, and all else on threads of its own. A caller that sleeps until
such a program ends is woken 40 to 90 microseconds after it (`benchmarks/latency/waiting.py`), longer than many programs
take. A caller that asks loses at most as much again, and a core: so programs that took longer are asked seldom.
"""

import os
from time import perf_counter

import numpy as np

LONGEST = 1e-4  # bound: seconds that a result is asked for; about what it costs to be woken
OFTEN = 8  # bound: doublings of the calls that are not asked for, from one that was in vain to the next
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Spin:
    """How the results of one program are waited for. Safe to call from several threads.

    skip: calls that are not asked for; vain: times in a row that asking was in vain.
    """

    __slots__ = ("skip", "vain")

    def __init__(self):
        self.skip, self.vain = 0 if CORES > 1 else float("inf"), 0

    def __call__(self, result):
        """Return when a result is there, or when it should be waited for otherwise."""
        if result.is_ready():
            return
        if self.skip > 0:
            self.skip -= 1
            return
        end = perf_counter() + LONGEST
        while perf_counter() < end:
            if result.is_ready():
                self.vain = 0
                return
        self.vain = min(self.vain + 1, OFTEN)
        self.skip = 2**self.vain


def ndarrays(raw, program):
    """The results that a program gave, one or a tuple, as a list of ndarrays, waited for as its calls are."""
    results = raw if isinstance(raw, tuple) else (raw,)
    spun(results, program)
    return [np.asarray(x) for x in results]


def spun(results, program):
    """Wait for results that are soon there, if this is a program of XLA's."""
    spin = getattr(program, "spin", None)
    if spin is not None and results and hasattr(results[-1], "is_ready"):
        spin(results[-1])
