"""`xs.append(x)` under a test, or in a loop that may end early: the loop writes x into the next row, and counts.

The rows and the count are memory of the trace around the outermost loop that appends; branches and loops in between
carry them like any memory. Where the number of the trip alone decides which trips append, the count is known.
"""

import numpy as np

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards.state import regions
from ..rewriter.completion import CONTINUES, FALLS
from ..values.room import assumed_room
from .bounded_lists import ItemForm, refused, started
from .container_changes import GROWS, AppendsTo, before_change
from .rows import of_counter

LARGEST = 2**24  # bytes: the most that is set aside for items that may never come
MOST = 2**34  # bytes: the most that is set aside for as many as have come
UNSETTLED = "unsettled"  # no number: 0 is False, and equals it


def first_exponent(size):
    """The exponent of 2 of how many items there is room for at first, of so many bytes each."""
    return min(10, max(2, 24 - size.bit_length()))



class CountsIn(AppendsTo):
    """A trip appends where data decide. grower: of the loop that is to know the list."""

    def __init__(self, counted, grower):
        CannotRoll.__init__(self, message(f"{counted.name} grows where data decide", locate(), GROWS))
        self.grown, self.grower = counted, grower


class CountedList:
    """A list that a loop appends to where data decide. most: how many items a trip appends at most; exactly: how many
    the loop does, where that is known, and UNSETTLED where it was thought to be and is not."""

    def __init__(self, owner, form, name, most=1, exactly=None):
        self.owner, self.form, self.name, self.most, self.exactly = owner, form, name, most, exactly
        self.key, self.store = id(owner), None

    @property
    def state(self):
        """What an attempt at the loop has known of it."""
        return "counted", self.most, self.exactly

    def begin(self, growing):
        before_change(self.owner, "append")
        self.growing, guess = growing, None
        room, each = growing.room(self), max(sum(t.size * t.dtype.itemsize for t in self.form.types), 1)
        if room is None or room * each > LARGEST:
            place = len([g for g in growing.lists.values() if g is not self])
            guess = assumed_room((growing.number, place), first_exponent(each))
            if guess is None:
                raise refused(self.name, "grows in a loop of which data decide how often it runs")
            room = 2 ** guess[0]
            if room * each > MOST:
                raise refused(self.name, f"may get more than {MOST // each} items")
        self.store = started(self.owner, self.form, room, growing.outer, guess)

    def parts(self):
        """[(a list that holds it, what answers for that list in the loop)]"""
        return [(self.owner, self.store)]

    def refused(self, why):
        return refused(self.name, why)

    def begin_turn(self):
        self.tally, self.masks = 0, []

    def end_turn(self, code, k, roll):
        """Begin the loop again where a trip appends more than was known, or fewer."""
        leaves = code is not None and code.may - {FALLS, CONTINUES}
        exactly = None if roll.turns is None or leaves or self.store.shrinks else self.counted()
        if exactly is None and self.exactly is not None or self.exactly is UNSETTLED:
            exactly = UNSETTLED  # a pass that knew less than those before has found that data decide
        most = self.tally if self.tally is None or self.most is None else max(self.tally, self.most)
        if (most, exactly) != (self.most, self.exactly):
            raise self.again(most, exactly)

    def again(self, most, exactly=None):
        """What begins the capture again with this known."""
        return CountsIn(CountedList(self.owner, self.form, self.name, most, exactly), self.growing)

    def counted(self):
        """How many items the loop appends, if the numbers of the trips decide that."""
        return int(sum(m.sum() for m in self.masks)) if all(m is not None for m in self.masks) else None

    def append(self, value):
        form = ItemForm(value, self.name)
        if not form == self.form:
            raise refused(self.name, "gets items of several forms")
        times, mask = self.weight()
        self.tally = None if times is None or self.tally is None else self.tally + times
        if self.growing.turns is None and None not in (self.tally, self.most) and self.tally > self.most:
            raise self.again(2 * self.tally)  # outside of loops the count may be known, and shows that there is no room
        self.masks.append(mask)
        self.store.put(value)

    def weight(self):
        """(how often at most a trip of the loop comes here, in which trips it does, a bool each; None where data decide
        that)"""
        times, tests = 1, []
        for region in regions():
            grower = region.grower
            if self.growing in (grower, region.keeper):
                break
            if grower is not None:
                times = None if times is None or grower.most is None else times * grower.most
                tests = None
            elif type(region.choice) is tuple:
                tests = tests if tests is None else [*tests, region.choice]
            elif not region.choice:
                times = tests = None
        turns = self.growing.turns
        if tests is None or turns is None:
            return times, None
        mask, known = np.ones(turns, bool), {self.growing.k._value: np.arange(turns)}
        for test, side in tests:
            found = of_counter(test, known, 12)
            if found is None:
                return times, None
            mask &= np.broadcast_to(found, (turns,)) == side
        return times, mask

    def finish(self, growing):
        """Give the list its items, in the trace around the loop."""
        lends = self.store.shared and self.form.has_arrays
        if type(self.exactly) is int and self.store.begun is not None and not lends:
            self.store.fill(self.store.begun + self.exactly)
        else:
            self.store.show()
