"""`[f(x) for x in xs]` over many items, captured as one loop that stores into an array: its items are rows of that.

The loop is made like that of a `for`: one trip is traced, and what comes of it says what the array is to
hold. Items that are not of one type, arrays that others see too, and a trip that runs without anything
traced are left to Python, item by item.
"""

import itertools

from ..extents import numbers
from ..guards.state import cells, own
from ..rewriter.sites import SITES
from ..values.array import Traced, TracedScalar
from ..values.elements import MANY
from ..values.storage import current_trace
from . import fixpoint_memo, series
from .budget import spend_trip, spent_on
from .builtins import REPLACED
from .convert import convert
from .growing import ONWARD, gone_through, shown_whole
from .loops import RETRY, LoopCapture
from .rows import RowMemory, RowRoll
from .run import Run
from .sized_calls import tell_items
from .stand_ins import Selected
from .variants import that_is_there


def collect(items, body, number, flat=False, test=None):
    """The list of `body(item)`; flat: of the items of the lists that it gives; of those items of which test holds."""
    if current_trace() is None:
        found = [body(x) for x in items if test is None or test(x)]
        return list(itertools.chain.from_iterable(found)) if flat else found
    items = series.series_of(gone_through(items))
    count = series.length(items) if series.rollable(items) else 0
    if count is None or count and test is not None and decided_by_data(items, test):
        trips = numbers.traced(series.count_of(items)) if count is None else count
        found = convert(kept_loop)(series.begun(items), body, test, trips)
        return own(in_one_list(shown_whole(found)) if flat else found)
    kept = decided_places(items, test) if test is not None and captured(items) else None
    if captured(items) and (test is None or kept is not None):
        items = Selected(items, kept) if kept is not None else items
        found = Collect(items, body, number).run()
        tell_items(found)
    else:
        found = [body(x) for x in spent_on(items) if test is None or test(x)]
    return own(in_one_list(found) if flat else found)


def decided_by_data(items, test):
    """Whether data decide if the first item passes a test: it is asked aside."""
    answers = []
    Run("test", lambda: answers.append(asked_of(test, series.item(items, 0))), (), choice=True).close()
    return answers[0]


def asked_of(test, x):
    answer = test(x)
    return isinstance(answer, Traced) and answer.known() is None


def in_one_list(lists):
    """The items of lists in one."""
    return list(itertools.chain.from_iterable(map(shown_whole, lists)))


def kept_loop(items, body, test, count):
    found = []
    for k in range(count):
        x = item_of_series(items, k)
        if passes(test, x):
            found.append(item_made(body, x))
    return found


def item_of_series(items, k):
    return series.item(items, k)


def passes(test, x):
    return test is None or test(x)


def item_made(body, x):
    return body(x)


REPLACED |= {f: f for f in (item_of_series, passes, item_made)}


def decided_places(items, test):
    """The numbers of the items of which a test holds; None where data decide that."""
    kept = []
    for k in range(series.length(items)):
        answer = test(series.item(items, k))
        if isinstance(answer, Traced) and answer.known() is None:
            return None
        if answer:
            kept.append(k)
    return kept


def captured(items):
    """Whether a comprehension over these is tried as a loop."""
    if current_trace() is None or not series.rollable(items):
        return False
    count = series.length(items)
    return count is not None and count > MANY


class Collect(LoopCapture):
    """A list comprehension, as a loop; `run()` -> the list."""

    def __init__(self, items, body, number):
        super().__init__(body, SITES[number], number, cells(body))
        self.items = series.begun(items)
        self.count = series.length(self.items)

    def trip(self, k):
        return self.body(series.item(self.items, k))

    def run(self):
        found, trace = [], current_trace()
        if not self.count:
            return found
        if not self.memory.get("records"):
            kept, value = self.probe(lambda: self.trip(0))
            if kept:
                found.append(value)
            else:
                self.memory["records"] = True
        failed = 0
        while (k := len(found)) < self.left():
            self.count = self.left()
            if self.memory.get("records") and self.count - k > MANY and not fixpoint_memo.hopeless(self):
                try:
                    return found + self.rolled(k)
                except ONWARD:
                    raise
                except RETRY as error:
                    reason = str(error)
                failed += 1
                if failed == 1:
                    found.append(self.trip(k))
                    continue
                fixpoint_memo.failed(self, reason)
                self.told(f"{self.count - k} items are written out one by one", reason)
                while len(found) < self.left():
                    found.append(self.trip(len(found)))
                return found
            before = len(trace.build.eqns)
            spend_trip()
            found.append(self.trip(k))
            if len(trace.build.eqns) > before:
                self.memory["records"] = True
        return found

    def left(self):
        """How many items there are now: a list may grow while it is gone through."""
        return len(self.items.items) if type(self.items) is series.Listed else self.count

    def rolled(self, first):
        turns = self.count - first
        rows = RowMemory(turns, current_trace(), "the items")

        def turn(counter):
            k = TracedScalar(counter, int)
            rows.store(that_is_there(self.trip(k + first if first else k), ("there", self.number)), k, roll)

        roll = RowRoll(lambda: [rows], series.taken_from(self.items), self, turn, turns=turns)
        roll.emit()
        return rows.items()
