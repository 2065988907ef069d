"""Whether a compiled call or plain Python's is faster, where a call does little: some of the first calls are answered
by one, some by the other, and the faster has the rest.

Each call runs once, by one of the two, so what it does is done once; and plain Python is right whatever it is asked:
the contest is about time alone. It is held for each combination of types, behind the guard and tests of shapes. What
may take much longer in plain Python than it takes compiled is not tried in it: many equations, derivatives.

Where data decide the trips of loops, plain Python is tried where a compiled call takes so little that it could not take
longer than the trace did. Where it wins, its calls are timed on, and one that takes longer than a compiled one has the
contest begin again.
"""

import collections
import math
import threading
import time

import numpy as np

from ...backends import native
from ...backends.xla import dispatch
from ...ir.amounts import in_time
from ..common import events
from ..common.frames import raises_for_user
from ..guards.running_draws import DRAWN
from ..program import backend_choice
from .deferred import is_deferred
from .receipt import loop_trip_counts

TURNS = 7  # bound: calls that each is given
WARM = 2  # bound: compiled calls that are not counted: caches fill in the first
BETTER = 0.95  # bound: share of the compiled time that plain Python may take: what is alike stays compiled
HOPELESS = 2.0  # bound: times the compiled time, from which plain Python is tried no more
STEP = 2e-6  # bound: seconds that plain Python needs for what became an equation
OF_NUMBERS = 2e-7  # bound: likewise where that takes and gives numbers alone
MOST = 8.0  # bound: times the compiled time that plain Python may be expected to take, so that it is tried at all
ONCE = 5e-3  # bound: seconds that it may be expected to take likewise: a trace takes longer
SHORT = 1e-4  # bound: seconds that do not matter a few times
SLOWER = 30.0  # bound: times as long as through XLA that plain Python may take for a loop
IN_CODE = 300.0  # bound: times as long as machine code that it may take likewise
SHARE = 0.5  # bound: of what a trace took, with its compilation, that a call in plain Python may take for such a loop


class Contest:
    """Calls of one combination of types. plain: None while it is open, then whether plain Python answers; watched:
    whether calls of that one are timed on, as data decide how long they take."""

    def __init__(self, entry, here, version):
        self.entry, self.here, self.expected = entry, here, expected(version.captured.func)
        self.watched, self.late, self.patience = not knows_trips(version), 0, 1
        self.version = version
        self.arrays = array_shapes(here, version)
        self.plain, self.forms, self.lock, self.warm = None, None, threading.Lock(), WARM
        self.lines = ()  # of the forms
        self.spent = [], []  # seconds of compiled calls, and of plain ones

    @raises_for_user
    def __call__(self, callee, /, *args, **kwargs):
        """A call of the function of a Callee, answered by the one whose turn it is."""
        if self.plain:
            return self.timed_on(callee, args, kwargs)
        if not self.lock.acquire(blocking=False):  # another thread's, or a call within a call
            return self.form(callee, 0)(*args, **kwargs)
        try:
            turn = self.turn()
            form = self.form(callee, turn)
            start = time.perf_counter()
            out = form(*args, **kwargs)
            spent = time.perf_counter() - start
            if self.warm:
                self.warm -= 1
            else:
                self.spent[turn].append(spent)
                callee(self.settle)
            return out
        finally:
            self.lock.release()

    def timed_on(self, callee, args, kwargs):
        """A call that plain Python answers, since it won."""
        start = time.perf_counter()
        out = callee.given(*args, **kwargs)
        if time.perf_counter() - start > HOPELESS * min(self.spent[0], default=math.inf):
            self.late += 1
            if self.late >= self.patience and self.plain:
                callee(self.open_again)
        return out

    def form(self, callee, turn):
        """What answers for a Callee in a turn."""
        return self.entry.compiled.front.bound((self.forms or callee(self.made))[turn], callee)

    def made(self):
        """The code of the two."""
        with self.entry.compiled.lock:
            front = self.entry.compiled.front
            made = front.form(self.entry, self.here, False), front.form(self.entry, self.here, True)
            forms, lines = zip(*made)
            self.forms, self.lines = forms, lines
        return forms  # another thread may have dropped them by now

    def drop_forms(self):
        """Those are of the traces, the guard and the inputs that were."""
        self.forms, gone, self.lines = None, self.lines, ()
        for lines in gone:
            self.entry.compiled.front.names.bury(lines)

    def turn(self):
        """0 for compiled, 1 for plain."""
        ours, plain = map(len, self.spent)
        return int(ours >= 2 and plain < ours)

    def settle(self):
        """End the contest, if it can be told who wins."""
        ours, plain = self.spent
        if not plain and len(ours) == 2 and not self.is_worth_trying(min(ours)):
            self.close(False)
        elif plain and self.usual(plain) > max(HOPELESS * self.usual(ours), SHORT):
            self.close(False)
        elif len(plain) == TURNS:
            self.close(self.usual(plain) < BETTER * self.usual(ours))

    def usual(self, spent):
        """Seconds of the calls of one: the least, as others had to wait; the mean where data decide."""
        return sum(spent) / len(spent) if self.watched else min(spent)

    def is_worth_trying(self, ours):
        """Whether plain Python is tried, where a compiled call takes so many seconds."""
        if not self.watched:
            return is_worth_trying(self.expected, ours)
        version, slower = self.version, SLOWER if runs_loops_in_xla(self.version) else IN_CODE
        made = version.trace_seconds + version.pass_seconds + (version.compile_seconds or 0.0)
        return slower * ours <= SHARE * made

    def open_again(self):
        """Calls take plain Python longer than they took it; each time more of them are borne."""
        self.late, self.patience, self.plain, self.spent = 0, 2 * self.patience, None, ([], [])
        self.install()

    def close(self, plain):
        self.plain = plain
        self.drop_forms()
        if plain:
            said = {"of": self.entry.compiled, "engine": "plain Python"}
            events.report("compile", "engine", lambda: f"runs {self.told()}", **said)
        self.install()

    def install(self):
        """Have calls know who answers them."""
        with self.entry.compiled.lock:
            if self.entry.current is self.here:
                self.entry.compiled.front.install(self.entry)

    def told(self):
        """As `explain` says it."""
        ours, plain = (in_time(self.usual(t)) for t in self.spent)
        return f"as plain Python: {plain} against {ours} compiled, when they were timed"


def taken_types(version):
    """The types of what a version takes."""
    return tuple(p.type for p in version.captured.func.params)


def is_worth_trying(plain, ours):
    """Whether plain Python is tried, from the seconds that it is expected to take and those of compiled calls."""
    return plain <= max(MOST * ours, ONCE)


def array_shapes(here, version):
    """[(place among the leaves and inputs, shape, dtype)] of the arrays that a version takes, but for those drawn."""
    given = len(version.types)
    drawn = {given + n for n, x in enumerate(here.inputs) if isinstance(x, DRAWN)}
    taken = zip(version.places, taken_types(version))
    return [(n, t.shape, np.dtype(t.dtype.name)) for n, t in taken if t.shape and n not in drawn]


def may_answer(entry):
    """Whether plain Python may answer the calls of an entry."""
    return entry.numpy and may_be_plain(entry.compiled)


def may_be_plain(compiled):
    """Whether plain Python may answer calls of ndarrays."""
    return (
        compiled.has_plain
        and not compiled.whole
        and compiled.promote == "numpy"
        and compiled.debug is None
        and not compiled.is_of_compiled
        and compiled.device is None
        and backend_choice.asked(compiled) is None
        and dispatch.on_host()
    )


def contests(entry, here):
    """{types: a Contest} of those versions that plain Python may be faster than."""
    if not may_answer(entry):
        return {}
    for version in here.versions:
        types = taken_types(version)
        if types not in here.contests and may_be_tried(version):
            here.contests[types] = Contest(entry, here, version) if is_alike(version) else None
    return {types: c for types, c in here.contests.items() if c is not None}


def may_be_tried(version):
    """Whether a version runs as what it will be, and for one combination of types."""
    return version.background is None and version.symbolic is None and not is_deferred(version)


def is_alike(version):
    """Whether a version does in plain Python what it does compiled, as far as is known."""
    if version.equations is not None or version.captured.outside.derives:  # of those from disk it is not known
        return False
    return not version.differs_from_plain


def is_timed(version):
    """Whether it also takes as long there as its equations say: no loop goes on as the data ask."""
    return is_alike(version) and knows_trips(version)


def knows_trips(version):
    """Whether each loop of a program has as many trips as is known."""
    return all(times is not None and sure for times, sure in loop_trip_counts(version.captured.func))


def expected_in_plain(version):
    """-> (seconds that plain Python may need for a version's program or None, whether its trips are known). Where data
    decide these, the first run tells: through XLA such a loop hardly runs faster than in plain Python. As machine code
    it may be a thousand times as fast, which tells nothing."""
    if knows_trips(version):
        return expected(version.captured.func), True
    spent = (version.first_seconds or 0.0) - (version.compile_seconds or 0.0)
    return (SLOWER * spent if spent > 0.0 and runs_loops_in_xla(version) else None), False


def runs_loops_in_xla(version):
    """Whether no loop of a version runs as machine code."""
    return not version.engine and all(why is not None for _, why in native.forms(version.func, native.LEAST))


def expected(func, times=1):
    """Seconds that plain Python may need for a program. Many equations may be one call of a library's: of those of one
    instruction of the user's count the op of which it has most, which is once for each time it was unrolled."""
    spent, inside = collections.Counter(), 0.0
    for eqn in func.eqns:
        trips = {"loop": "trips", "map": "size"}.get(eqn.op.name)
        inner = times * (eqn.attrs[trips] or 1) if trips else times
        moved = sum(map(backend_choice.nbytes, eqn.results)) / backend_choice.BANDWIDTH
        step = STEP if any(x.type.shape for x in (*eqn.operands, *eqn.results)) else OF_NUMBERS
        spent[instruction(eqn), eqn.op] += times * (step + moved)
        inside += sum(expected(region, inner) for region in eqn.regions())
    most = {}
    for (place, _), seconds in spent.items():
        most[place] = max(seconds, most.get(place, 0.0))
    return inside + sum(most.values())


def instruction(eqn):
    """What tells the instruction of the user's that an equation came from."""
    source = eqn.source
    if source is None:
        return id(eqn)
    code = getattr(source, "code", None)  # a program from disk has none
    return (*source.kept, source.callers) if code is None else (id(code), source.lasti, source.callers)
