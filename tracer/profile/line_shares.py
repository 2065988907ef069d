"""Which share of a function's time each user line has: its program is run a second time at some of its calls, on the
arguments of the call, and told of step by step (`plan/measured.py`).

That is done before the call, when nothing has been written yet, at the second call of a signature and at few of those
after it. Where there is one call only, its arrays are copied in front of it, and the program is run on them when the
profile ends.
"""

import time

import numpy as np

from ..common import events, pytree
from ..plan.measured import Measured, measured_of
from ..plan.step import derivative_mark

TURNS = (1, 4, 16, 64)  # how many calls come before those that are measured
SMALL = 1 << 26  # bound: bytes of arrays that are copied before a first call
SLOW = 20.0  # bound: seconds of a measurement after which there is no other


class LineShares:
    """shares: {(file, line, what it is derived by, form, the lines that are one with it): seconds in measured runs};
    whole: all of them; engine, why: as `Measured` has them; steps: of the last."""

    def __init__(self):
        self.shares, self.whole, self.engine, self.why, self.steps = {}, 0.0, None, None, None
        self.kept, self.next, self.took = None, 0, 0.0
        self.runs = []  # seconds of those runs, told of nothing
        self.unplaced = set()  # names of steps that are of no line

    def due(self, calls):
        """Whether there is something to do before a call, after so many."""
        return calls >= self.next and self.took < SLOW

    def measure(self, callee, args, kwargs, calls):
        """Before a call, after so many."""
        start = time.perf_counter()
        found = run_again(callee, args, kwargs)
        self.kept = copied_call(callee, args, kwargs) if calls == 0 and found.engine is None else None
        if found.engine is None:  # there is no program yet
            self.next = 2 * calls or 1
        else:
            self.next = next((n for n in TURNS if n > calls), float("inf"))
        self.add(found)
        self.took += time.perf_counter() - start

    @property
    def seconds(self):
        """What a run takes, 0.0 where that is not known."""
        return sum(self.runs) / max(len(self.runs), 1)

    def finish(self):
        """When the profile ends: what was called once."""
        if self.kept is not None and not self.shares:
            self.add(run_again(*self.kept))
        self.kept = None

    def add(self, found):
        self.engine, self.why = found.engine or self.engine, found.why
        self.runs += [found.seconds] if found.seconds else []
        self.steps = found.steps or self.steps
        for step in found.steps:
            key = step.file, step.line, derivative_mark(step.scope or ""), step.form, tuple(step.fused)
            self.shares[key] = self.shares.get(key, 0.0) + 1e-6 * step.duration_us
            self.whole += 1e-6 * step.duration_us
            if step.file is None:
                self.unplaced.add(step.name.partition(".")[0])


def run_again(callee, args, kwargs):
    """What is measured of the program of a call; whatever goes wrong is no matter of the program that is profiled."""
    try:
        return callee(measured_of, callee.compiled, args, kwargs)
    except Exception as error:
        return Measured(None, why=f"its program could not be run again: {events.first_line(error)}")


def copied_call(callee, args, kwargs):
    """The arguments of a call with its arrays copied, None where those are many bytes."""
    try:
        leaves, tree = pytree.flatten((args, kwargs))
        order = pytree.key_order((args, kwargs))
    except Exception:  # keys without an order, or containers that contain themselves
        return None
    if sum(x.nbytes for x in leaves if type(x) is np.ndarray) > SMALL:
        return None
    args, kwargs = pytree.unflatten(tree, [x.copy() if type(x) is np.ndarray else x for x in leaves], order)
    return callee, args, kwargs
