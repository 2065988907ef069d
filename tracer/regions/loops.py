"""`for` and `while`: run as Python does where nothing is traced, captured as one `loop` where something is.

A loop that cannot be captured as it stands is tried in other shapes: its first trip written out and the
rest captured; two trips as one (`a, b = b, a`); all trips written out, if they are few. Each step but
the first is told by `explain()`. Only CannotRoll and ConcretizationError lead from one to the next.
"""

import functools
import math

from ..common.errors import CannotRoll, ConcretizationError
from ..common.frames import internal, locate
from ..extents.numbers import operand
from ..guards.state import cells
from ..rewriter.completion import BREAK, BREAKS, CONTINUES, FALLS, LEFT, Completion
from ..rewriter.sites import SITES
from ..values.capturing import captured_or_taken
from ..values.ranges import interval
from ..values.storage import current_trace
from . import fixpoint_memo, series
from .bounded_lists import GivenUp
from .branch import ASKED, checked_completion, decided, either_way, run_rest, watched
from .budget import spend_known_trip, spend_trip, turning, written_at_most
from .fixpoint import FAR
from .growing import ONWARD, Growing, grown_in
from .loop_ends import GONE, ended_after, leaving, left
from .merge import pick
from .open_generators import next_without_effects, refuse_to_close, refuse_to_share
from .rows import RowRoll
from .trial import Trial

FEW = 64  # trips written out at most, whatever they come to
MANY = 1024  # and where they come to few equations
VAST = 2**40  # elements of an array that no trip makes
NESTED = 8  # trips written out at most where data decides, before each, whether it comes
RETRY = (CannotRoll, ConcretizationError)


def each(iterable, body, orelse, rest, number):
    """`for item in iterable: body(item)`, `else: orelse()`, then `rest()`; -> how it ended."""
    site = SITES[number]
    iterable = series.series_of(iterable, site.early) if current_trace() is not None else iterable
    if current_trace() is None or not series.rollable(iterable):
        return trip_by_trip(iter(iterable), body, orelse, rest, number)
    kind = Unending if series.length(iterable) == math.inf else For
    with turning():
        code = kind(iterable, body, site, number, cells(body, orelse, rest)).run()
    return finished(code, orelse, rest, number, site)


def repeat(test, body, orelse, rest, number):
    """`while test(): body()`, likewise."""
    if current_trace() is None:
        return trip_by_trip(iter(lambda: bool(test()), False), lambda _: body(), orelse, rest, number)
    site = SITES[number]
    with turning():
        code = While(test, body, site, number, cells(test, body, orelse, rest)).run()
    return finished(code, orelse, rest, number, site)


def trip_by_trip(items, body, orelse, rest, number):
    """Over anything else: trip by trip."""
    named = cells(body, orelse, rest) if current_trace() is not None else {}  # outside a trace nothing is merged
    loop = LoopCapture(body, SITES[number], number, named)

    def trip(item):
        code = body(item)
        if code is not None and code.may - {FALLS, CONTINUES} and (code.open or code.may == BREAK.may and rest):
            refuse_to_close(items)
        if code is not None and code.open and code.may - {FALLS, CONTINUES}:
            refuse_to_share(items, named)
        return code

    try:
        with turning():
            code = loop.one_by_one(functools.partial(trip, item) for item in items)
    finally:
        items = None  # `trip` holds itself, and a generator with it
    return finished(code, orelse, rest, number, loop.site)


def finished(code, orelse, rest, number, site):
    """What follows a loop that ended with `code`: its `else` unless it was left, then the rest."""
    if orelse is not None:
        code = run_rest(code, orelse, number, site.middle)
    if code is not None and LEFT in code.may:
        may = code.may - {LEFT} | {FALLS}
        code = Completion(pick(code.status == LEFT, FALLS, code.status), may, code.value) if len(may) > 1 else None
    return checked_completion(run_rest(code, rest, number), site)


class LoopCapture:
    """The capture of one loop, trip by trip or as a whole. `run()` -> how it ended."""

    def __init__(self, body, site, number, named):
        self.body, self.site, self.number, self.named = body, site, number, named
        trace = current_trace()
        self.place = visited(number)
        self.memory = trace.root.sites.setdefault(self.place, {}) if trace is not None else {}
        self.slots = [named[n] for n in sorted(site.names) if n in named]
        self.held = watched(named)
        self.growing = ()  # the ids of lists that it changes

    def ended(self, code, onward):
        """(whether all is done, how it ended) after a trip that ended with `code`; where data decides, both ways are
        captured."""
        if code is None or not code.may - {FALLS, CONTINUES}:
            return False, None
        if not code.open:
            return True, GONE if code.may == BREAK.may else code
        return True, self.fork(code, onward, left(code))

    def one_by_one(self, trips):
        """Trips that are written out -> how the loop ended: where data decide that one leaves it, each behind it is a
        branch, which comes where none has left."""
        code = None  # how those so far have ended, where data decide
        trips = iter(trips)
        while True:
            going = code is None or code.status < BREAKS
            known = decided(going)
            if known is False:
                return left(code)
            trip = next(trips, None) if known else next_without_effects(trips)
            if trip is None:
                return None if code is None else ended_after(code)
            if current_trace() is not None:
                spend_trip()
            code = trip() if known else self.unless_left(going, trip, leaving(code))
            if code is not None and not code.may - {FALLS, CONTINUES}:
                code = None
            elif code is not None and not code.open:
                return GONE if code.may == BREAK.may else code

    def fork(self, code, onward, gone):
        """The other trips where one that ended with `code` leads on, else `gone`."""
        if not code.may & {FALLS, CONTINUES}:
            return gone
        goes = code.status < BREAKS
        known = decided(goes)
        if known is not None:
            return onward() if known else gone
        return self.unless_left(goes, onward, gone)

    def unless_left(self, goes, onward, gone):
        """`onward()` where data decide that the loop goes on, else it has ended as `gone` says."""
        after = self.site.middle | self.site.head
        both = lambda: either_way(goes, onward, lambda: gone, self.slots, after, self.named)
        return captured_or_taken(goes, both, lambda known: onward() if known else gone)

    def probe(self, trip):
        """Run one trip aside -> (whether it is to be kept, its code): it is where nothing traced came of it."""
        spend_known_trip(current_trace().root)
        try:
            trial = Trial(trip, self.slots)
        except RETRY as error:  # a trip is captured otherwise, or written out
            if isinstance(error, ONWARD) and not isinstance(error, GivenUp):
                raise
            return False, None
        return trial.kept, trial.code

    def told(self, what, reason):
        text = reason.splitlines()
        where = locate()
        note = f"{where}: {what}, since {text[0]}" + (f" ({text[1].strip()})" if len(text) > 1 else "")
        notes = current_trace().root.notes
        if note not in notes:
            notes.append(note)


def visited(number):
    """What earlier visits to a loop are known by: its number, and the line, for the loops of Python's own functions."""
    where = locate()
    return (number, where.code, where.lasti) if where is not None else number


def no_more_trips():
    """No further trip."""


class For(LoopCapture):
    def __init__(self, iterable, body, site, number, named):
        super().__init__(body, site, number, named)
        self.items = series.begun(iterable, site.early)
        self.count = series.length(self.items)
        self.lists = [(x, len(x)) for x in series.taken_from(self.items) if type(x) is list]
        # a list of numbers, and what stands for a function of Python's own: written out whatever comes of it
        self.lenient = isinstance(self.items, series.Listed) or internal(body.__code__)

    def trip(self, k):
        return self.body(series.item(self.items, k))

    def run(self):
        if self.count is None:
            return self.rolled(0, 1, operand(series.count_of(self.items)))
        return self.onward(0)

    def count_now(self):
        """How many trips there are, which the trips so far may have changed."""
        self.count = series.length_now(self.items, self.lists, self.count)
        return self.count

    def onward(self, k, written=0):
        """The trips from the k-th on."""
        while k < self.count_now():
            if self.count - k > 1 and not self.memory.get("records"):
                kept, code = self.probe(lambda k=k: self.trip(k))
                if kept:
                    over, code = self.ended(code, None)
                    if over:
                        return code
                    k += 1
                    continue
                self.memory["records"] = True
            if self.count - k > 1:
                if fixpoint_memo.hopeless(self):
                    return self.unrolled(k, self.memory["reason"])
                try:
                    return self.rolled(k, 1)
                except ONWARD:
                    raise
                except RETRY as error:
                    reason = str(error)  # without the frames it came through, and the arrays they hold
                count = self.count - k
                if written and count > 3 and count % 2 == 0:
                    try:
                        found = self.rolled(k, 2)
                        self.told("two trips are captured as one", reason)
                        return found
                    except ONWARD:
                        raise
                    except RETRY:
                        fixpoint_memo.failed(self, reason)
                        return self.unrolled(k, reason)
                if written > 1 or count <= 3:
                    fixpoint_memo.failed(self, reason)
                    return self.unrolled(k, reason)
                if not written:
                    self.told("the first trip is written out", reason)
            over, code = self.ended(self.trip(k), functools.partial(self.onward, k + 1, written + 1))
            if over:
                return code
            k, written = k + 1, written + 1
        return None

    def rolled(self, first, stride, limit=None):
        """Trips from `first` on as one loop, `stride` of them in each turn."""
        turns = None if limit is not None else (self.count - first) // stride
        most = turns
        if limit is not None:
            bounds = interval(limit)
            most = bounds[1] if bounds is not None and bounds[1] < FAR else None
        growing = Growing(self.number, turns, most)

        def one(k):
            k = k * stride if stride > 1 else k
            code = self.trip(k + first if first else k)
            if stride == 1 or code is not None and not code.may & {FALLS, CONTINUES}:
                return code
            second = lambda: self.trip(k + (first + 1))
            return (
                second()
                if code is None or not code.may - {FALLS, CONTINUES}
                else self.fork(code, second, leaving(code))
            )

        sources = series.taken_from(self.items)
        return grown_in(
            self, growing, lambda turn: RowRoll(growing.kept, sources, self, turn, turns, limit), one
        )

    def unrolled(self, k, reason):
        if self.lenient:
            return self.trips(k)
        root, text = current_trace().root, f"this loop of {self.count} trips cannot be captured: {reason}"
        outer, root.copies = root.copies, root.copies * (self.count - k)
        try:
            if root.copies > MANY:
                raise CannotRoll(text)
            self.told(f"{self.count - k} trips are written out one by one", reason)
            return self.trips(k, text if root.copies > FEW else None)
        finally:
            root.copies = outer

    def trips(self, k, text=None):
        """The trips from the k-th on, written out; text: says why the loop is refused where these come to much."""
        return self.one_by_one(self.trips_from(k, text))

    def trips_from(self, k, text):
        build, most = current_trace().build, series.LIMIT if text is None else written_at_most()
        most += len(build.eqns)
        while k < self.count_now():
            k += 1
            yield functools.partial(self.trip, k - 1)
            if len(build.eqns) > most or any(r.type.size > VAST for e in build.eqns[-1:] for r in e.results):
                raise CannotRoll(text or "what the trips of this loop make gets larger than any memory")


class While(LoopCapture):
    def __init__(self, test, body, site, number, named):
        super().__init__(body, site, number, named)
        self.test, self.kept = test, 0  # trips that were run as Python does

    def trip(self, k):
        return self.body()

    def run(self, written=0, nested=0, reason=None):
        """nested: trips written out behind a test that data decides; reason: why the loop was not captured as one."""
        while True:
            going = ASKED.cell_contents(self.test())
            known = decided(going)
            if known is False:
                return None
            if known and not self.memory.get("records"):
                kept, code = self.probe(functools.partial(self.trip, written))
                if kept:
                    over, code = self.ended(code, None)
                    if over:
                        return code
                    self.kept += 1
                    continue
                self.memory["records"] = True
                if code is not None and not code.may & {FALLS, CONTINUES}:  # it is the last one, and no loop, but for
                    onward = functools.partial(self.run, written + 1, nested, reason)
                    over, code = self.ended(self.trip(written), onward)
                    if over:  # what an `except` of the trip does when the trial trip has not come to it
                        return code
                    written += 1
                    continue
            seldom = known and fixpoint_memo.hopeless(self) and (written < FEW // 8 or written & written - 1)
            if nested < 3 and not seldom:
                try:
                    return self.rolled(going, written)
                except ONWARD:
                    raise
                except RETRY as error:
                    reason = reason or str(error)
                    fixpoint_memo.failed(self, reason)
                    self.told("trips are written out one by one", reason)
            if nested > NESTED:
                raise self.stuck(reason)
            if written > FEW:
                raise CannotRoll(f"this loop cannot be captured, and has gone on for {FEW} trips: {reason}")
            onward = functools.partial(self.run, written + 1, nested + 1, reason)
            if known is None:
                trip = functools.partial(self.after, onward)
                try:
                    return either_way(
                        going, trip, no_more_trips, self.slots, self.site.middle | self.site.head, self.named
                    )
                except ONWARD:
                    raise
                except RETRY as error:
                    raise self.stuck(reason or str(error)) from None
            over, code = self.ended(self.trip(written), onward)
            written += 1
            if over:
                return code

    def rolled(self, going, first):
        """All trips as one loop, which begins with the answer `going`."""
        growing = Growing(self.number, None)
        made = lambda turn: RowRoll(
            growing.kept, (), self, turn, going=going, test=lambda: growing.answered(self.test)
        )
        return grown_in(self, growing, made, lambda k: self.trip(k + first if first else k))

    def stuck(self, reason):
        said = "this loop, whose test depends on data, cannot be captured: "
        reason = reason or f"data decide after {NESTED} trips whether there are more"
        return CannotRoll(reason if reason.startswith(said) else f"{said}{reason}")

    def after(self, onward):
        """A trip and those behind it."""
        over, code = self.ended(self.body(), onward)
        return code if over else onward()


class Unending(While):
    """A `for` over items that never end."""

    def __init__(self, iterable, body, site, number, named):
        super().__init__(lambda: True, body, site, number, named)
        self.items = series.begun(iterable, True)

    def trip(self, k):
        return self.body(series.item(self.items, k + self.kept if self.kept else k))
