"""Waiting for programs that may run for long with Python's signals heard: Ctrl-C raises KeyboardInterrupt where the
program was called.

XLA runs what it takes for cheap before the call returns, and loops count as one trip to it, so nothing could be heard
meanwhile: programs with loops that nothing bounds are made to look dear, but for those whose loops hear signals
themselves. What is interrupted goes on in XLA's threads, which cannot be stopped.
"""

import atexit
import signal
import sys
import threading
import time

import numpy as np
from jax import lax

from .. import native
from ..target import platform
from .hosted import calls_python, original
from .spinning import spun

CHEAP = 1024  # fact: operations from which XLA runs a program on threads of its own
AT_ONCE = 2e-4  # bound: seconds for which it is asked without a break whether a program has ended
SHARE, LONGEST = 0.05, 0.01  # bound: of the time that has passed, and seconds, between two questions later


def dear(func, leaves, out):
    """The results of a program, one of them behind so much work that XLA does not run it before the call returns."""
    known = next((x for x in leaves if x.size), None)
    sizes = {k: r.type.size for k, r in enumerate(func.results) if r not in func.params}
    if (
        known is None
        or not sizes
        or platform() != "cpu"
        or not native.endures(func)
        or calls_python(func)
        or native.listens(func)
    ):
        return out
    k = min(sizes, key=sizes.get)
    first = lax.stop_gradient(lax.reshape(known, (known.size,))[0])
    number = lax.convert_element_type(first == 0, np.int32)
    many = lax.iota(np.int32, CHEAP) * number + number
    total = lax.reduce(many * many, np.int32(0), lax.add, (0,))
    always = (total * total) & 3 != 2  # no square is
    return [*out[:k], lax.select(always, out[k], lax.full_like(out[k], 0)), *out[k + 1 :]]


def heard(raw, name="a compiled function", program=None):
    """Results of a program when they are there; signals are heard meanwhile."""
    results = [x for x in (raw if isinstance(raw, tuple) else (raw,)) if hasattr(x, "is_ready")]
    try:
        spun(results, program)
        waits = not all(x.is_ready() for x in results) and threading.current_thread() is threading.main_thread()
        begun = time.perf_counter() if waits else 0.0
        while waits and not all(x.is_ready() for x in results):
            passed = time.perf_counter() - begun
            time.sleep(0 if passed < AT_ONCE else min(SHARE * passed, LONGEST))
    except BaseException as error:  # whatever the handler of a signal raises
        error.add_note(
            f"wengert: {name} was interrupted; XLA, which cannot be stopped, still runs it, and its results are dropped"
        )
        atexit.register(leave, results, name)
        raise
    try:
        for x in results:
            x.block_until_ready()
    except RuntimeError as failure:
        raise original(failure) from None
    return raw


def leave(results, name):
    """At the end of Python, which waits for XLA: let the next Ctrl-C end the process."""
    if not all(x.is_ready() for x in results):
        print(
            f"wengert: XLA still runs {name}, and the process ends after it; Ctrl-C ends it now",
            file=sys.stderr,
            flush=True,
        )
        signal.signal(signal.SIGINT, signal.SIG_DFL)
