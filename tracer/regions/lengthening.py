"""`x = np.append(x, v)` in a captured loop: an array that trips make longer, or leave with another length.

While the loop runs the place holds an array with room for all that comes (`extents/rooms.py`), of which so much is
meant as its length says; what joins to it writes behind that (`numpy_api/extents/making.py`). A place is tried as one
that every trip makes longer by as much, which the number of the trip tells; as one that holds arrays of several
lengths; as one that a trip makes longer by so much at most. Where nothing bounds that, the room is a power of two that
is taken by value.
"""

import math

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..extents import numbers
from ..extents.bounded import BoundedArray
from ..extents.rooms import array_of, as_traced, differ, extents_of, has_lengths, in_room, lengths, of_lengths
from ..guards.state import note
from ..values.array import TracedArray
from ..values.ranges import drift
from ..values.room import assumed_room, require_room
from ..values.storage import current_trace
from .container_changes import AppendsTo

LARGEST = 2**28  # bytes: the most that is set aside
LITTLE = 2**24  # bytes: the most that is set aside for what may never come
GUESS = 6  # the exponent of 2 of the room that there is at first where nothing bounds it
EVENLY, HOLDS, AT_MOST, UNBOUNDED = "evenly", "holds", "at most", "unbounded"


class Lengthens(AppendsTo):
    """A trip leaves an array in a place that is longer than it was."""

    def __init__(self, lengthened):
        CannotRoll.__init__(self, message(f"{lengthened.slot.name} grows in each trip", locate()))
        self.grown = lengthened

    def outward(self):
        return self.grown.refused("by more each time")


class Lengthened:
    """A place whose array trips make longer.

    way: how, of the four above. moving: of each axis, whether its length changes. steps: by how much a trip makes it
    longer, at most. floor: lengths for which there is room in any case.
    """

    def __init__(self, slot, way, moving, steps, floor):
        self.slot, self.way, self.moving, self.steps, self.floor = slot, way, moving, steps, floor
        self.key, self.how = slot, (way, moving, steps, floor)
        self.state = way, *moving, *steps, *floor

    def begin(self, growing):
        self.before = self.slot.get()
        x = as_traced(self.before)
        self.dtype, self.shape, self.began = x.dtype, array_of(x).shape, [None] * x.ndim
        self.kinds = ["front" if moves else None for moves in self.moving]
        self.first = [min(numbers.ends(n)[1], room) for n, room in zip(lengths(x), self.shape)]
        self.most = None if growing.most is None else max(growing.most, 1)
        self.guesses = [None] * x.ndim
        self.room = self.known_room() or self.guessed_room(growing)
        self.put(in_room(x, self.room, self.kinds))

    def known_room(self):
        """How much room there is along each axis; None where nothing bounds that, or it would be much."""
        if self.way is UNBOUNDED or self.most is None and any(self.steps):
            return None
        self.first = list(map(max, self.first, self.floor))
        most = self.most or 0
        found = list(map(lambda n, step, have: max(n + step * most, have), self.first, self.steps, self.shape))
        size = math.prod(found) * self.dtype.itemsize
        if self.way is EVENLY and size > LARGEST:
            raise self.refused("it would be too large")
        return tuple(found) if size <= LITTLE or self.way is EVENLY else None

    def guessed_room(self, growing):
        found, self.way = [], UNBOUNDED
        place = len([g for g in growing.lists.values() if g is not self])
        for axis, (first, step, have) in enumerate(zip(self.first, self.steps, self.shape)):
            if step:
                guess = self.guesses[axis] = assumed_room((growing.number, "axis", place, axis), GUESS)
                if guess is None:
                    raise self.refused("data decide how often it does")
                first = max(2 ** guess[0], first + step)
            found.append(max(first, have))
        if math.prod(found) * self.dtype.itemsize > LARGEST:
            raise self.refused("it would be too large")
        return tuple(found)

    def put(self, x):
        if self.slot.kind != "cell":
            note(self.slot)
        self.slot.set(x)

    def undo(self):
        """The place as it was before the loop."""
        self.put(self.before)

    def parts(self):
        return []

    def begin_turn(self):
        """See `opened`, which knows the number of the turn."""

    def opened(self, k):
        """A turn begins: how long the array is now, or at most, its number says."""
        x = self.slot.get()
        if type(x) is not BoundedArray:
            return
        self.began = [n if moves else None for n, moves in zip(lengths(x), self.moving)]
        for axis, step in enumerate(self.steps):
            if not self.moving[axis]:
                continue
            n, highest, guess = self.began[axis], self.room[axis], self.guesses[axis]
            if guess is not None:
                enough = numbers.compare("le", n, highest - step)
                require_room(numbers.operand_of(enough), guess[1], guess[0] + 2)
                n = numbers.bounded(numbers.least(n, highest - step), 0, highest - step)
            elif self.way is EVENLY:
                n = self.length(k, axis)
            else:
                n = numbers.bounded(n, 0, self.first[axis] + step * ((self.most or 1) - 1))
            self.began[axis] = n
        self.put(of_lengths(x, self.began))

    def length(self, k, axis):
        """How long it is when the k-th turn begins, where all make it longer by as much."""
        first, step = self.first[axis], self.steps[axis]
        found = numbers.plus(numbers.times(numbers.number(k), step), first)
        return numbers.bounded(found, first, first + step * (self.most - 1))

    def end_turn(self, code, k, roll):
        """Begin the loop again where a trip leaves another length than was thought."""
        x = self.slot.get()
        self.require_growth(x)
        grew = list(map(lambda n, room: max(n - room, 0), array_of(x).shape, self.room))
        moving = tuple(map(lambda moves, e: moves or e is not None, self.moving, extents_of(x)))
        evenly = self.way is not EVENLY or all(map(self.is_even, range(x.ndim), lengths(x), [k] * x.ndim))
        if any(grew) or moving != self.moving or not evenly:
            raise Lengthens(self.next(x, moving, grew))
        self.left = lengths(x)
        self.put(in_room(as_traced(x), self.room, self.kinds))

    def require_growth(self, x):
        """Refuse what is no array that has grown."""
        if not has_lengths(x) or x.dtype != self.dtype or x.ndim != len(self.room):
            raise self.refused("its trips leave others than were thought")
        carried = any(n is not None and not isinstance(n, int) for n in self.began)
        if type(x) is not BoundedArray and self.way is not HOLDS and carried:
            raise self.refused("its trips leave one of another length")

    def is_even(self, axis, n, k):
        """Whether a length, which is n after a trip, is what the next begins with."""
        wanted = numbers.plus(self.length(k, axis), self.steps[axis])
        return not self.moving[axis] or numbers.compare("eq", n, wanted) is True

    def prove(self, known):
        """Begin the loop again where the trips may make it longer than was thought."""
        for axis, n in enumerate(self.left) if self.way is AT_MOST else ():
            if self.moving[axis] and not self.is_shown(axis, n, known):
                none = (0,) * len(self.steps)
                raise Lengthens(Lengthened(self.slot, UNBOUNDED, self.moving, self.steps, none))

    def is_shown(self, axis, n, known):
        """Whether a length that a trip leaves is at most what the next may begin with. known: (length that a trip
        begins with, first, step), which is at most `first` in the first trip, and by `step` more in each."""
        first, step = self.first[axis], self.steps[axis]
        if numbers.ends(n)[1] <= first:
            return True
        for began, other, each in known if not isinstance(n, int) else ():
            added = None if began is None or isinstance(began, int) else drift(n, began)
            if added is not None and each <= step and other + added[1] <= first + step:
                return True
        return False

    def next(self, x, moving, grew):
        """What the place is tried as then."""
        none = (0,) * x.ndim
        steps = tuple([step + n for step, n in zip(self.steps, grew)])
        if self.way is EVENLY:
            return Lengthened(self.slot, AT_MOST, moving, steps, none)
        if moving != self.moving or self.way in (AT_MOST, UNBOUNDED):
            floor = tuple(map(max, self.floor, array_of(x).shape)) if self.way is HOLDS else self.floor
            return Lengthened(self.slot, self.way, moving, self.steps if self.way is HOLDS else steps, floor)
        return Lengthened(self.slot, AT_MOST, moving, steps, none)

    def finish(self, growing):
        """The array as it is after the loop."""
        x = self.slot.get()
        if type(x) is BoundedArray and self.way is EVENLY and not growing.left:
            self.slot.set(x.array)
        if self.way is not EVENLY or growing.left or not isinstance(growing.turns, int):
            rebound = current_trace().root.rebound  # it may be what it was
            x = self.slot.get()
            rebound[id(x)] = x, self.before
        if type(x) is not BoundedArray or self.way is EVENLY and not growing.left:
            return
        for n, room in zip(lengths(x), self.room):
            numbers.bounded(n, 0, room)

    def refused(self, why):
        return CannotRoll(message(f"{self.slot.name} grows in each trip of a captured loop, and {why}", locate()))


def lengthened(slot, before, after, turns):
    """The Lengthened that a place is in which one trip leaves `after`, or None."""
    if not differ(before, after):
        return None
    shapes, none = (array_of(before).shape, array_of(after).shape), (0,) * before.ndim
    if BoundedArray not in (type(before), type(after)):
        steps = tuple([m - n for n, m in zip(*shapes)])
        moving = tuple([step != 0 for step in steps])
        even = turns is not None and type(after) is TracedArray and sum(moving) == 1
        return Lengthened(slot, EVENLY if even else AT_MOST, moving, steps, none) if min(steps) >= 0 else None
    open_ = [e is not None for x in (before, after) for e in extents_of(x)]
    moving = tuple([n != m or open_[d] or open_[d + before.ndim] for d, (n, m) in enumerate(zip(*shapes))])
    return Lengthened(slot, HOLDS, moving, none, tuple(map(max, *shapes)))


# -- all of a loop ---------------------------------------------------------------------------------


def grown_places(growing):
    return [g for g in growing.lists.values() if type(g) is Lengthened]


def begin_as_before(growing, loop):
    """Take arrays to grow as they did when the trace came to this loop before."""
    for name, (way, moving, *more) in loop.memory.get("lengthened", {}).items():
        slot = next((s for s in loop.slots if s.name == name), None)
        x = slot and slot.get()
        if has_lengths(x) and x.ndim == len(moving) and (way is not EVENLY or type(x) is not BoundedArray):
            growing.know(Lengthened(slot, way, moving, *more))


def remember_growth(growing, loop):
    """Note how they did."""
    found = {g.slot.name: g.how for g in grown_places(growing) if g.slot in loop.slots}
    if found:
        loop.memory["lengthened"] = found


def prove(growing):
    """Begin the loop again where arrays may get longer than was thought."""
    claims = [(g.began, g.first, g.steps) for g in grown_places(growing) if g.way is AT_MOST]
    for g in grown_places(growing):
        g.prove([found for claim in claims for found in zip(*claim)])


def undo(growing):
    """The loop is not captured: the arrays that it makes longer are as they were -> whether there are any."""
    found = grown_places(growing)
    for g in found:
        g.undo()
    return bool(found)
