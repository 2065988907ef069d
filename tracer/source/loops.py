"""`for` and `while`: run as Python does where nothing is traced, captured as one `loop` where something is.

A loop that cannot be captured as it stands is tried in other shapes: its first trip written out and the
rest captured; two trips as one (`a, b = b, a`); all trips written out, if they are few. Each step but
the first is told by `explain()`. Only CannotRoll and ConcretizationError lead from one to the next.
"""

from ..array import TracedScalar
from ..errors import CannotRoll, ConcretizationError, message
from ..extents.numbers import operand
from ..frames import locate
from ..storage import current_trace
from . import series
from .branch import decided, follow, refuse_globals, settled, watched
from .codes import BREAK, CONTINUE, FALLS, LEFT, Code
from .merge import pick
from .rewrite import SITES
from .roll import Roll
from .run import Run
from .state import cells, regions, restore

FEW = 64  # trips written out at most
RETRY = (CannotRoll, ConcretizationError)


def each(iterable, body, orelse, rest, number):
    """`for item in iterable: body(item)`, `else: orelse()`, then `rest()`; -> how it ended."""
    if current_trace() is None or not series.rollable(iterable):
        return plain(iter(iterable), body, orelse, rest, number)
    site = SITES[number]
    code = For(iterable, body, site, number, cells(body, orelse, rest)).run()
    return finished(code, orelse, rest, number, site)


def repeat(test, body, orelse, rest, number):
    """`while test(): body()`, likewise."""
    if current_trace() is None:
        return plain(iter(lambda: bool(test()), False), lambda _: body(), orelse, rest, number)
    site = SITES[number]
    code = While(test, body, site, number, cells(test, body, orelse, rest)).run()
    return finished(code, orelse, rest, number, site)


def plain(items, body, orelse, rest, number):
    for item in items:
        code = body(item)
        if code is not None and code.open:
            stuck()
        over, code = ended(code)
        if over:
            return follow(None, rest, number) if code is GONE else code
    return follow(orelse() if orelse is not None else None, rest, number)


def stuck():
    raise CannotRoll(
        message(
            "data decides whether this loop goes on, but its trips are run one by one",
            locate(),
            "Loop over an array or a range, or set a flag instead of leaving the loop.",
        )
    )


def finished(code, orelse, rest, number, site):
    """What follows a loop that ended with `code`: its `else` unless it was left, then the rest."""
    if orelse is not None:
        code = follow(code, orelse, number, site.middle)
    if code is not None and LEFT in code.may:
        may = code.may - {LEFT} | {FALLS}
        code = Code(pick(code.status == LEFT, FALLS, code.status), may, code.value) if len(may) > 1 else None
    return settled(follow(code, rest, number), site)


class Loop:
    """The capture of one loop, trip by trip or as a whole. `run()` -> how it ended."""

    def __init__(self, body, site, number, named):
        self.body, self.site, self.number, self.named = body, site, number, named
        self.memory = current_trace().root.sites.setdefault(number, {})
        self.slots = [named[n] for n in sorted(site.names) if n in named]
        self.held = watched(named)

    def probe(self, trip):
        """Run one trip aside -> (whether it is to be kept, its code): it is where nothing traced came of it."""
        trial = Trial(trip, self.slots)
        return trial.kept, trial.code

    def told(self, what, reason):
        text = str(reason).splitlines()
        where = locate()
        note = f"{where}: {what}, since {text[0]}" + (f" ({text[1].strip()})" if len(text) > 1 else "")
        notes = current_trace().root.notes
        if note not in notes:
            notes.append(note)


class Trial(Run):
    """A trial trip: kept, with all it did to names and objects, if it recorded nothing traced."""

    def __init__(self, trip, slots):
        super().__init__("trial", trip, slots, trial=True)
        region = self.trace.region
        self.kept = not self.recorded
        if self.kept:
            for slot, value in (*self.heap.items(), *self.values.items()):
                slot.set(value)
            for outer in regions():
                outer.owned.update(region.owned)
                break
        else:
            for container, had in region.saved.values():
                restore(container, had)


GONE = Code(LEFT, {LEFT})


def ended(code):
    """(whether the loop is over, how it ended) after a trip that ended with a known code."""
    if code is None or code.may == CONTINUE.may:
        return False, None
    return True, GONE if code.may == BREAK.may else code


class For(Loop):
    def __init__(self, iterable, body, site, number, named):
        super().__init__(body, site, number, named)
        self.items, self.count = iterable, series.length(iterable)

    def trip(self, k):
        return self.body(series.item(self.items, k))

    def run(self):
        if self.count is None:
            refuse_globals(self.site)
            return self.rolled(0, 1, operand(series.count_of(self.items)))
        k, reason = 0, None
        written = 0
        while k < self.count:
            if self.count - k > 1 and not self.memory.get("records"):
                kept, code = self.probe(lambda k=k: self.trip(k))
                if kept:
                    over, code = ended(code)
                    if over:
                        return code
                    k += 1
                    continue
                self.memory["records"] = True
            if self.count - k > 1:
                try:
                    return self.rolled(k, 1)
                except RETRY as error:
                    reason = error
                left = self.count - k
                if written and left > 3 and left % 2 == 0:
                    try:
                        found = self.rolled(k, 2)
                        self.told("two trips are captured as one", reason)
                        return found
                    except RETRY:
                        return self.unrolled(k, reason)
                if written > 1 or left <= 3:
                    return self.unrolled(k, reason)
                if not written:
                    self.told("the first trip is written out", reason)
            code = self.trip(k)
            if code is not None and code.open:
                stuck()
            over, code = ended(code)
            if over:
                return code
            k, written = k + 1, written + 1
        return None

    def rolled(self, first, stride, limit=None):
        """Trips from `first` on as one loop, `stride` of them in each turn."""
        refuse_globals(self.site)
        turns = None if limit is not None else (self.count - first) // stride

        def turn(counter):
            k = TracedScalar(counter, int)
            k = k * stride if stride > 1 else k
            code = self.trip(k + first if first else k)
            if stride == 1:
                return code
            if code is not None and code.may != CONTINUE.may:
                stuck()
            return self.trip(k + (first + 1))

        return Roll(self, turn, turns=turns, limit=limit).emit()

    def unrolled(self, k, reason):
        if self.count - k > FEW:
            raise CannotRoll(f"this loop of {self.count} trips cannot be captured: {reason}")
        self.told(f"{self.count - k} trips are written out one by one", reason)
        for j in range(k, self.count):
            code = self.trip(j)
            if code is not None and code.open:
                stuck()
            over, code = ended(code)
            if over:
                return code
        return None


class While(Loop):
    def __init__(self, test, body, site, number, named):
        super().__init__(body, site, number, named)
        self.test = test

    def run(self):
        written, reason = 0, None
        while True:
            going = self.test()
            known = decided(going)
            if known is False:
                return None
            if known and not self.memory.get("records"):
                kept, code = self.probe(self.body)
                if kept:
                    over, code = ended(code)
                    if over:
                        return code
                    continue
                self.memory["records"] = True
            refuse_globals(self.site)
            try:
                return Roll(self, lambda counter: self.body(), going=going, test=self.test).emit()
            except RETRY as error:
                reason = error
            if known is None:
                raise CannotRoll(f"this loop, whose test depends on data, cannot be captured: {reason}")
            if written > FEW:
                raise CannotRoll(f"this loop cannot be captured, and has gone on for {FEW} trips: {reason}")
            self.told("trips are written out one by one while the test is known", reason)
            written += 1
            code = self.body()
            if code is not None and code.open:
                stuck()
            over, code = ended(code)
            if over:
                return code
