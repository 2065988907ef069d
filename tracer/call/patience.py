"""How often a function is traced anew: what is another at each call is plain Python's to answer.

A trace takes thousands of times what a small call takes in Python, and pays where it serves many calls. After the
first few of a function, one is made only for what is met again (types, static values, what was relied on outside), the
more often the more there are and the longer a trace takes, or where plain Python itself takes longer than it takes to
trace. A trace that takes long is given up, or that has come to so much that its program would; it is made again, for
longer, once calls have taken plain Python as long.
"""

from itertools import chain

import numpy as np

from ...backends.xla import dispatch
from ...backends.xla.processes import is_one_of_several
from ...ir.types import SMALL, type_of
from ..common import pytree
from ..common.errors import Overran, Unsettled
from ..common.terminal import several
from ..guards.guard import Read, snapshot
from ..rules import rules

MOST = 8  # bound: traces of a function that are made at first sight
FIRST = 1.5  # bound: seconds that the first trace may take of a function which plain Python can answer
LONGER, LONGEST = 4.0, 10.0  # bound: times as long that the next one may, and seconds that any may
MAKING = 4e-4  # seconds an equation, from a trace to its first answer; measured by benchmarks/sizes/compiling.py
LONG = 3.0  # bound: seconds of tracing, after which that is so too
COMPILED = 6.0  # bound: seconds of compiling likewise, where plain Python takes little
LITTLE = 1e-2  # bound: share of what a trace takes with its compilation that is little
KEPT = 0.9  # bound: share of what plain Python took that is believed after another trace
PAYS = 1.0  # bound: share of what a trace takes that plain Python has taken for a state before it has one
SEEN = 16  # bound: calls in a row left to plain Python that are all looked at
SPARE = 16  # bound: then one in so many is, and after so many times SEEN one in the square of it
LOOKED_AT = 4096  # bound: items of an argument that are looked at, but for those of the innermost containers
NUMBERS = frozenset((bool, int, float, complex, str, bytes, type(None), np.float64, np.int64))


class Patience:
    """Of one Compiled. made: its traces; seconds: what the last took with its program; spent: what all took without,
    compiling: what their programs took; plain: seconds of the calls that plain Python answered, the lesser of the last
    two (one may have had to wait); why: the error that says so, once there is one."""

    def __init__(self):
        self.made, self.seconds, self.spent, self.plain, self.why = 0, 0.0, 0.0, 0.0, None
        self.last = self.compiling = 0.0  # last: seconds of the last such call
        # whether one took longer than a trace may, or has come to too much; seconds that the next may take
        self.overran, self.budget = False, FIRST
        self.making = 0.0  # seconds that it would have taken to make the program of the trace that was given up last
        # calls in a row of which nothing could be compiled, those of them that were not looked at, and why
        self.left, self.unseen, self.refusal = 0, 0, None
        self.looks = False  # whether a call has been chosen to be looked at
        # calls left to plain Python since the last trace; state -> (how often it was met, of how many such calls)
        self.refused, self.met = 0, {}

    def ask(self, state, reason):
        """Raise Unsettled where there is to be no trace of a call, but not where plain Python gives other numbers.
        state, reason: functions that give what tells it apart, and why there must be a new trace."""
        tired = self.is_tired() and self.plain <= self.seconds and not rules.numbers_change()
        key = state() if tired else None
        if key is not None and not any(t.small for t in key[1]):
            times, calls = self.met.get(key, (0, 0))
            times, calls = self.met[key] = times + 1, calls + one_in(self.refused)
            if times <= max(self.made // MOST, 1) or calls * self.plain < PAYS * self.seconds:
                self.refused += 1
                if len(self.met) > SEEN:
                    del self.met[next(iter(self.met))]
                self.why = self.why or Unsettled(traced_anew(self.made, reason()))
                raise self.why
            del self.met[key]
        if self.budget > FIRST:  # it says that the last one was given up
            self.why = None
        self.made, self.refused, self.left = self.made + 1, 0, 0
        self.plain, self.last = KEPT * self.plain, KEPT * self.last  # measured anew some time

    def forget(self, entry):
        """Another may have its number from now on."""
        for state in [state for state in self.met if state[0] == id(entry)]:
            del self.met[state]

    def is_tired(self):
        """Whether traces are no longer made at first sight: after many, or long ones; and after some whose compilation
        was long, where plain Python is known to take next to nothing beside it."""
        if self.budget > FIRST:
            return True
        little = 0.0 < self.plain < LITTLE * self.seconds
        return self.made >= MOST or self.spent > LONG or little and self.compiling > COMPILED

    def allowed(self):
        """Seconds that a trace may take, as long as plain Python does if that takes long, and the equations of which a
        program is made in as long, None for any."""
        seconds = FIRST if self.overran else min(max(self.budget, self.plain), LONGEST)
        return seconds, None if seconds >= LONGEST else seconds / MAKING

    def cut(self, error):
        """Why a trace is to be made again, for longer, which ended with an error; None where it is not."""
        seconds, _ = self.allowed()
        if type(error) is not Overran or self.overran or seconds >= LONGEST:
            return None
        self.budget, self.making, self.why = LONGER * seconds, MAKING * error.count, Unsettled(given_up(seconds, error))
        return self.why

    def took(self, seconds):
        """Note what a trace took: nothing, where several processes have to decide alike."""
        seconds = 0.0 if is_one_of_several() else seconds
        self.seconds, self.spent, self.making = seconds + self.making, self.spent + seconds, 0.0

    def compiled(self, version):
        """Note what it took to compile what was traced last, likewise."""
        seconds = 0.0 if is_one_of_several() else version.pass_seconds + version.compile_seconds
        self.seconds, self.compiling = self.seconds + seconds, self.compiling + seconds

    def answered(self, seconds):
        """Note what a call that plain Python answered took, likewise."""
        seconds = 0.0 if is_one_of_several() else seconds
        self.plain, self.last = min(self.last, seconds), seconds

    def was_left(self, refusal, pieces):
        """Note a call that is not captured; pieces: what of it is compiled all the same."""
        self.left = 0 if pieces else self.left + 1
        if self.left == SEEN:
            self.refusal = str(refusal)  # which, as an exception, may hold what the call was given

    def leaves(self):
        """Whether the next call is left to plain Python without a look at its arguments: none before was captured."""
        if self.left < SEEN:
            return False
        self.left += 1
        rests = not is_looked_at(self.left)
        self.unseen += rests
        return rests

    def rests(self, leaves=()):
        """Whether the next call is left to plain Python, whatever its state is; leaves: dynamic ones, if they were not
        looked at."""
        if self.refused < SEEN or self.plain > self.seconds or rules.numbers_change() or any(map(is_small, leaves)):
            return False
        if self.looks:  # it is the same call, on its way
            self.looks = False
            return False
        self.refused += 1
        self.looks = is_looked_at(self.refused)
        return not self.looks


def one_in(count):
    """Of how many calls one is looked at, after so many in a row that had no program."""
    return 1 if count < SEEN else SPARE if count < SPARE * SEEN else SPARE**2


def is_looked_at(count):
    """Whether the last of so many calls in a row is."""
    return count % one_in(count) == 0


def is_small(x):
    """Whether a leaf is an array of small floats, which NumPy rounds in another way."""
    return getattr(x, "dtype", None) in SMALL


def is_plain(x):
    """Whether there is surely neither an array of jax's in an argument, nor one of small floats: not where it has more
    items than are looked at."""
    kind = type(x)
    if kind in NUMBERS:
        return True
    level, kinds, seen = (x,), {kind}, 0
    while kinds:
        seen += len(level)
        if seen > LOOKED_AT:
            return False
        inner = ()
        for kind in kinds:
            items = [y for y in level if type(y) is kind]
            if kind is np.ndarray:
                if any(map(is_small, items)):
                    return False
            elif issubclass(kind, list | tuple | dict):
                parts = [y.values() for y in items] if issubclass(kind, dict) else items
                inner = parts[0] if len(parts) == 1 and not inner else [*inner, *chain.from_iterable(parts)]
            elif dispatch.is_device_type(kind) or not pytree.is_leaf(pytree.structure(items[0])):
                return False  # what lies in containers of other classes is not looked at
        level, kinds = inner, set(map(type, inner)) - NUMBERS
    return True


def are_all_plain(args, kwargs):
    """Whether that holds of all arguments of a call."""
    return all(map(is_plain, (*args, *kwargs.values())))


def given_up(seconds, error):
    """That a trace was given up, which was to take so many seconds, with an Overran."""
    text = f"its trace was given up after {seconds:.2g} s, so that no call waits for it longer"
    if error.count:
        come = f"{error.count:,} equations, whose program takes some {MAKING * error.count:.2g} s to make"
        text = f"its trace was given up when it had come to {come}, so that no call waits for that"
    return f"{text}\n  It is traced again, for longer, once calls have taken plain Python as long."


def traced_anew(made, reason):
    """That there is no trace of a call; reason: why one would be needed."""
    text = f"it was traced {several(made, 'time')}, and this call is unlike all that its traces were made for"
    kept = "Calls that have a trace run compiled, and what comes again is traced."
    return f"{text} ({reason})\n  {kept} {advice(reason)}"


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
