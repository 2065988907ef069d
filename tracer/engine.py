"""What a program on ndarrays runs as: XLA, or the same equations as generated NumPy where that is faster.

XLA copies large ndarrays that are not aligned to 64 bytes, as NumPy's own are not, and a launch costs some
microseconds. So when a program is new that has no loops, or loops whose machine code NumPy's arrays can be given
to, both forms are timed on the arguments of its first call, and it keeps the faster: results of one function on
one machine are the same from call to call. Where XLA has nothing to win it is not even asked: `trial.py`.
"""

import contextlib
import time

import numpy as np

from ..backends import native
from ..backends.numpy import machine_code, plain, with_loops
from ..backends.xla import dispatch
from ..ir.exactness import exactly
from ..ir.op import OPS
from . import straight
from .tree import Trees

LOOP = OPS["loop"]
CHOICE = None  # "xla" or "numpy" for every function that asks for neither
LONGEST = 256  # equations
BETTER = 0.8  # NumPy is taken where it needs at most this share of XLA's time
ROOM = 1 << 26  # bytes of intermediate results that are no matter; beyond, four times those of arguments and results
ENOUGH = 0.1  # seconds after which no further run is timed; the first few of large programs wait for memory
BANDWIDTH = 2e9  # bytes a second that NumPy moves at least


class Engines:
    """Stands for the program of a world in which some signatures run as NumPy."""

    def __init__(self, program, found=()):
        self.program, self.found = program, tuple(found)

    def __call__(self, *leaves):
        for run in self.found:
            out = run(*leaves)
            if out is not straight.MISS:
                return out
        with dispatch.wide():
            return self.program(*leaves)


def asked(entry):
    """The engine that the user asks for, or None."""
    return entry.compiled.engine or CHOICE


def eligible(entry, here, version):
    """Whether a new version may run as NumPy."""
    if version.equations is not None or asked(entry) == "xla" or not entry.numpy or entry.compiled.device is not None or not dispatch.on_host():
        return False
    return not isinstance(here.call, Trees) and may_be_numpy(version, entry.compiled.native)


def settle(entry, here, version, everything):
    """Time both forms of a new version, where it may run as either -> whether it runs as NumPy now."""
    if version.engine or not eligible(entry, here, version):
        return False
    run = written(entry, version)
    program = here.call.program if isinstance(here.call, Engines) else here.call

    def xla():
        with dispatch.wide():
            raw = program(*everything)
        return [np.asarray(r) for r in (raw if isinstance(raw, tuple) else (raw,))]

    if asked(entry) is None:
        first = seconds(xla, 1)
        if traffic(version.func) / BANDWIDTH > 2 * first + 1e-3:
            return False
        lost = version.tried > max(ENOUGH, 2 * first)  # a first run waits for memory, but not as long as that
        ours = version.tried if lost else seconds(lambda: run(*everything), 9)
        version.times = ours, first if first > ENOUGH else min(first, seconds(xla, 9))
        if version.times[0] > BETTER * version.times[1]:
            return False
    take(entry, here, version, run)
    return True


def take(entry, here, version, run=None):
    """Run a version as NumPy from now on, unless it is from disk and its loops cannot run so here."""
    if not all(machine_code(e) for e in equations(version.func) if with_loops(e)):
        version.engine = version.times = None
        return
    version.engine, version.straight = "NumPy", written(entry, version, straight.finished)
    here.straight += [version.straight] if version.straight is not None else []
    known = isinstance(here.call, Engines)
    found = [*(here.call.found if known else ()), run or written(entry, version)]
    here.call = Engines(here.call.program if known else here.call, found)


def written(entry, version, form=straight.raw):
    """A version as NumPy, in one form or the other, with machine code where the user leaves it be."""
    with exactly(entry.compiled.exact), contextlib.nullcontext() if entry.compiled.native else native.asked(None):
        return form(version, [entry.types[i] for i in entry.dynamic])


def seconds(f, times):
    """The shortest of at most so many runs."""
    best, begun = float("inf"), time.perf_counter()
    for _ in range(times):
        start = time.perf_counter()
        f()
        done = time.perf_counter()
        best = min(best, done - start)
        if done - begun > ENOUGH:
            break
    return best


def may_be_numpy(version, loops):
    """Whether a program has no loops but nests, acts on nothing, and needs little more memory as NumPy, which fuses nothing."""
    func = version.func
    eqns = list(equations(func))
    if version.tree is not None or version.effects or version.captured.outside.draws or len(eqns) > LONGEST:
        return False
    if not plain(func, lambda eqn: loops and machine_code(eqn)):
        return False
    ends = sum(map(nbytes, (*func.params, *func.results)))
    return all(nbytes(r) <= max(ROOM, 4 * ends) for e in eqns for r in e.results)


def equations(func):
    """Those of a program and of its branches."""
    for e in func.eqns:
        yield e
        for region in e.regions() if e.op is not LOOP else ():
            yield from equations(region)


def nbytes(x):
    return x.type.size * x.type.dtype.itemsize


def traffic(func):
    """Bytes that the equations write, one by one, loops left out."""
    return sum(nbytes(r) for e in equations(func) if e.op is not LOOP for r in e.results)
