"""`x = np.append(x, v)` in a captured loop: an array that each trip makes longer by as much as every other.

While the loop runs the place holds an array with room for all that comes, of which so much is meant as the number of
the trip says; what joins to it writes behind that (`numpy_api/extents/making.py`). How long it is in the end is known
where the loop ends as its count says, else data decide it.
"""

import numpy as np

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..extents import numbers
from ..extents.bounded import BoundedArray, SpanExtent
from ..guards.state import note
from ..values.array import TracedArray
from .container_changes import AppendsTo

LARGEST = 2**28  # bytes: the most that is set aside


class Lengthens(AppendsTo):
    """A trip leaves an array in a place that is longer than it was."""

    def __init__(self, lengthened):
        CannotRoll.__init__(self, message(f"{lengthened.slot.name} grows in each trip", locate()))
        self.grown = lengthened


class Lengthened:
    """A place whose array grows by `step` along an axis in each trip."""

    def __init__(self, slot, axis, step):
        self.slot, self.axis, self.step = slot, axis, step
        self.key, self.state = slot, (axis, step)

    def begin(self, growing):
        x = self.slot.get()
        most, self.turns = growing.most, growing.turns
        if self.turns is None or type(x) is not TracedArray:
            raise self.refused("data decide how often it does")
        self.first = x.shape[self.axis]
        self.room = self.first + self.step * most
        shape = tuple([self.room - self.first if d == self.axis else n for d, n in enumerate(x.shape)])
        if self.room * x.type.dtype.itemsize * max(x.size // max(self.first, 1), 1) > LARGEST:
            raise self.refused("it would be too large")
        whole = np.concatenate([x, np.zeros(shape, x.dtype)], self.axis)
        if self.slot.kind != "cell":
            note(self.slot)
        self.slot.set(self.of_length(whole, self.first))

    def of_length(self, whole, length):
        extents = [None] * whole.ndim
        extents[self.axis] = SpanExtent(0, numbers.traced(numbers.number(length)))
        return BoundedArray(whole, extents)

    def parts(self):
        return []

    def begin_turn(self):
        """See `opened`, which knows the number of the turn."""

    def opened(self, k):
        """A turn begins: how long the array is now, its number says."""
        x = self.slot.get()
        if type(x) is BoundedArray:
            if self.slot.kind != "cell":
                note(self.slot)
            self.slot.set(self.of_length(x.array, self.length(k)))

    def length(self, k):
        return numbers.bounded(
            numbers.plus(numbers.times(numbers.number(k), self.step), self.first), self.first, self.room - self.step
        )

    def end_turn(self, code, k, roll):
        """Refuse what grows by another length, or not at its end."""
        x = self.slot.get()
        if type(x) is not BoundedArray or x.array.shape[self.axis] != self.room or any(
            e is not None for d, e in enumerate(x.extents) if d != self.axis
        ):
            raise self.refused("its trips leave others than were thought")
        extent = x.extents[self.axis]
        wanted = numbers.plus(self.length(k), self.step)
        same = numbers.compare("eq", numbers.number(extent.length), wanted)
        if not isinstance(extent, SpanExtent) or extent.start != 0 or same is not True:
            raise self.refused("it does so by another length in each")

    def finish(self, growing):
        """The array as it is after the loop."""
        x = self.slot.get()
        if type(x) is BoundedArray and not growing.left:
            self.slot.set(x.array)

    def refused(self, why):
        return CannotRoll(message(f"{self.slot.name} grows in each trip of a captured loop, and {why}", locate()))


def lengthened(slot, before, after):
    """The Lengthened that a place is in which one trip leaves `after`, or None."""
    if not isinstance(before, TracedArray | np.ndarray) or type(after) is not TracedArray:
        return None
    if before.dtype != after.dtype or before.ndim != after.ndim:
        return None
    steps = [n - m for m, n in zip(before.shape, after.shape)]
    axes = [d for d, step in enumerate(steps) if step]
    return Lengthened(slot, axes[0], steps[axes[0]]) if len(axes) == 1 and steps[axes[0]] > 0 else None
