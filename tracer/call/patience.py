"""How often a function is traced anew: what is another at each call is plain Python's to answer.

A trace takes thousands of times what a small call takes in Python, and pays where it serves many calls. After the
first few of a function, one is made only for what is met again (types, static values, what was relied on outside), the
more often the more there are, or where plain Python itself takes longer than it takes to trace.
"""

import numpy as np

from ...backends.xla.processes import is_one_of_several
from ...ir.types import type_of
from ..common.errors import Unsettled
from ..common.terminal import several
from ..guards.guard import Read, snapshot

MOST = 8  # bound: traces of a function that are made at first sight
LONG = 3.0  # bound: seconds of tracing, after which that is so too
SEEN = 64  # bound: calls in a row of which it is looked up whether they were met before; later it is one in as many
SPARE = 16  # bound: as this


class Patience:
    """Of one Compiled. made: its traces; seconds: what the last took, spent: what all took; plain: seconds of the calls
    that plain Python answered, the lesser of the last two (one may have had to wait); why: the error that says so, once
    there is one."""

    def __init__(self):
        self.made, self.seconds, self.spent, self.plain, self.why = 0, 0.0, 0.0, 0.0, None
        self.last = 0.0  # seconds of the last such call
        self.overran = False  # whether one took longer than a trace may
        self.refused, self.met = 0, {}  # calls left to plain Python since the last trace; state -> how often it was met

    def ask(self, state, reason):
        """Raise Unsettled where there is to be no trace of a call. state, reason: functions that give what tells it
        apart, and why there must be a new trace."""
        if (self.made >= MOST or self.spent > LONG) and self.plain <= self.seconds:
            key = state()
            times = self.met[key] = self.met.get(key, 0) + 1
            if times <= max(self.made // MOST, 1):
                self.refused += 1
                if len(self.met) > SEEN:
                    del self.met[next(iter(self.met))]
                self.why = self.why or Unsettled(traced_anew(self.made, reason()))
                raise self.why
            del self.met[key]
        self.made, self.refused, self.plain, self.last = self.made + 1, 0, 0.0, 0.0

    def took(self, seconds):
        """Note what a trace took: nothing, where several processes have to decide alike."""
        seconds = 0.0 if is_one_of_several() else seconds
        self.seconds, self.spent = seconds, self.spent + seconds

    def answered(self, seconds):
        """Note what a call that plain Python answered took, likewise."""
        seconds = 0.0 if is_one_of_several() else seconds
        self.plain, self.last = min(self.last, seconds), seconds

    def rests(self):
        """Whether the next call is left to plain Python, whatever its state is."""
        if self.refused < SEEN or self.plain > self.seconds:
            return False
        self.refused += 1
        return self.refused % SPARE != 0


def traced_anew(made, reason):
    """That there is no trace of a call; reason: why one would be needed."""
    text = f"each call would be traced anew: it was {several(made, 'time')}, and is not what it was made for again"
    return f"{text} ({reason})\n  {advice(reason)}"


def advice(reason):
    """What a user can do about it."""
    if reason.startswith("new static value"):
        return (
            "Static values are compiled in: pass numbers as floats or arrays, and a text as an array of its letters, "
            "np.array(list(map(ord, text)))."
        )
    if reason.startswith("new ") and "[" in reason:
        return (
            "There is no one program for all sizes, and f.explain() shows what data choose in each: lists whose "
            "lengths data decide, and results of several kinds (a number here, None there), mostly prevent it."
        )
    return "Pass what changes as an argument, or keep it in an array of one size."


def state_in(entry, types, way):
    """What tells the state that a trace would be made for from others. way: that which data take through it, if it is
    for that."""
    here = entry.current if way is None else None
    if here is None:
        return id(entry), types, way
    taken = [x.get() for x in here.inputs if isinstance(x, Read)]
    kinds = [type_of(x) if isinstance(x, np.ndarray) else type(x) for x in taken]
    return id(entry), types, *kinds, *(snapshot(r.get()) for r in here.guard.reads if r.how == "value")
