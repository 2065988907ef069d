"""A function of which one statement is refused: the others compiled, piece by piece.

What a piece is passed is guarded as the arguments of any call are, which may take longer than the piece itself does in
plain Python. So once its compiled calls have taken as long as plain Python could for one of them, plain Python answers
a few, and the shorter of both has the others. Each call runs once.
"""

import itertools
import math
import time
import types

from ...ir.amounts import in_time
from ..common import events
from ..rewriter.division import divide
from ..rules import rules
from .contest import expected, is_timed, may_be_plain
from .patience import are_all_plain

TRIED = 64  # bound: calls of a piece after which one that has no program is left to plain Python
TRACES = 8  # bound: signatures of a piece that are compiled; what is passed from piece to piece may never be the same
ITEMS = 16  # bound: items of a list that a piece takes, each of which is an argument
CONTAINERS = list, tuple, dict, set, frozenset
CALLS = 8  # bound: compiled calls of a piece that are timed before plain Python is tried
TURNS = 3  # bound: calls of a piece that plain Python answers then
BETTER = 0.8  # bound: share of the compiled time that plain Python may take, to answer from then on
SLOW = 4.0  # bound: times the compiled time, from which on a call of plain Python ends that
AGAIN = 8.0  # bound: times as much as before that compiled calls take until plain Python is tried once more
MOST = 64.0  # bound: times as much as at first, after which they are timed no more


class Parted:
    """A function of which one statement is refused, with the others compiled.

    line: of that statement; function: what runs; calls: the PieceCalls of each piece; seconds: how long they took in
    calls that compiled nothing, before: in those that have ended.
    """

    def __init__(self, plain, line, compiled):
        self.state, self.calls, self.seconds, self.before = state_of(plain), [], 0.0, 0.0
        self.compiled, self.line = compiled, line
        found = divide(plain, line, self.piece) if line else None
        self.function = plain if found is None else found[0]

    @property
    def pieces(self):
        """The Compiled of each piece."""
        return [calls.compiled for calls in self.calls]

    def stands_for(self, plain):
        """Whether the function is as it was."""
        return all(a is b for a, b in zip(self.state, state_of(plain)))

    def traces(self):
        """How many traces there are of its pieces."""
        return sum(map(traces_of, self.pieces))

    def piece(self, piece):
        """A piece as it is called."""
        whole, (first, last) = self.compiled, piece.lines
        made = type(whole)(
            piece.function,
            plain=piece.function,
            name=f"{whole.name.partition(',')[0]}, lines {first} to {last}",
            exact=whole.exact,
            precision=whole.precision,
            promote=whole.promote,
            engine=whole.engine,
            memory=whole.memory,
            native=whole.native,
            dynamic=whole.dynamic,
            cache=False,
        )
        made.device = whole.device
        self.calls.append(PieceCalls(self, made, piece.function))
        return self.calls[-1].call

    def lines(self):
        """What `explain` says of the pieces."""
        for calls in self.calls:
            yield from (f"  {line}" for line in calls.compiled.explain().splitlines())
            if calls.plain:
                yield f"    runs as plain Python: {calls.told()}"


class PieceCalls:
    """The calls of a piece. spent: seconds of compiled calls since the last trace; least: of the shortest compiled one,
    and of the shortest in plain Python; room: seconds that compiled calls take before plain Python is tried; plain:
    whether that answers; may: whether it is to be found out."""

    def __init__(self, parted, compiled, function):
        self.parted, self.compiled, self.function = parted, compiled, function
        self.tried, self.useless = itertools.count(1), False  # whether none of many calls had a program
        self.may, self.factor = may_be_plain(compiled), 1.0
        self.begin(0)

    def begin(self, traces):
        self.traces, self.spent, self.count, self.left, self.plain = traces, 0.0, 0, 0, False
        self.least, self.room = [math.inf, math.inf], None

    def call(self, *args):
        made = self.compiled
        if not self.useless and next(self.tried) == TRIED:
            self.useless = not any(w.versions for e in made.entries.values() for w in e.worlds)
        if self.useless or len(made.entries) > TRACES or any(type(x) in CONTAINERS and len(x) > ITEMS for x in args):
            return self.function(*args)
        plain = (self.plain or self.left) and are_all_plain(args, {}) and not rules.numbers_change()
        start = time.perf_counter()
        try:
            return self.function(*args) if plain else made.front.call(*args)
        finally:
            seconds = time.perf_counter() - start
            if plain:
                self.took_plain(seconds)
            else:
                self.parted.seconds += seconds
                if self.may:
                    self.took(seconds)

    def took(self, seconds):
        """Note what a compiled call took."""
        if (traces := traces_of(self.compiled)) != self.traces:
            self.begin(traces)
            return
        self.spent, self.count = self.spent + seconds, self.count + 1
        self.least[0] = min(self.least[0], seconds)
        if self.count < CALLS:
            return
        if self.room is None:
            self.room = self.factor * at_most(self.compiled)
            self.may = self.room < math.inf and self.factor <= MOST
        if self.spent >= self.room:
            self.left = TURNS

    def took_plain(self, seconds):
        """Note what a call took in plain Python."""
        self.least[1] = min(self.least[1], seconds)
        if not self.plain:
            self.left -= 1
            if not self.left:
                self.decide()
        elif seconds > SLOW * self.least[0]:
            self.put_off()

    def decide(self):
        ours, plain = self.least
        if plain > BETTER * ours:
            self.put_off()
            return
        self.plain = True
        text = lambda: f"runs as plain Python: {self.told()}"
        events.report("compile", "engine", text, of=self.compiled, engine="plain Python")

    def put_off(self):
        """Have compiled calls answer, for longer than before."""
        self.factor *= AGAIN
        self.begin(traces_of(self.compiled))

    def told(self):
        ours, plain = map(in_time, self.least)
        return f"{plain} against {ours} compiled, with its guards"


def traces_of(compiled):
    """How many traces there are."""
    return sum(len(w.versions) for e in compiled.entries.values() for w in (*e.worlds, *e.old))


def at_most(compiled):
    """Seconds that plain Python may take for a call of what has been traced: for what a trace did itself no longer than
    that took, beside what became equations. Infinite where data decide the trips of a loop."""
    seconds = 0.0
    for entry in compiled.entries.values():
        for version in [v for w in entry.worlds for v in w.versions]:
            known = is_timed(version) and version.symbolic is None
            seconds += version.trace_seconds + expected(version.captured.func) if known else math.inf
        seconds += entry.uncompiled_seconds() / max(entry.timed, 1)
        seconds += sum(at_most(piece) for parted in entry.parts.values() for piece in parted.pieces)
    return seconds


def state_of(function):
    """What a function is made of that a program may exchange."""
    if type(function) is not types.FunctionType:
        return (function,)
    return function.__code__, function.__defaults__, function.__kwdefaults__, function.__closure__
