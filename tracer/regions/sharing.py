"""Which memory the arrays of a loop share, from trip to trip and with the code around it.

An array that a trip rebinds has memory of its own in each trip, its elements carried by value. That is
the same thing as Python's sharing unless somebody could tell: `check` refuses those loops.
"""

import sys

import numpy as np

from ..common import pytree
from ..extents.bounded import BoundedArray
from ..guards.state import UNBOUND
from ..values.array import TracedArray
from ..values.storage import Storage, memories
from .aliases import LoopAliases
from .object_phis import is_closed, opened
from .variant_parts import VariantParts


def arrays(value):
    """The array leaves of what a place holds."""
    return (
        []
        if value is UNBOUND or is_closed(value)
        else [x for x in pytree.leaves(opened(value)) if isinstance(x, TracedArray)]
    )


def taken_out(roll, run, slot):
    """What a variable held before a loop, which neither it nor the records of the loop hold until `put_back`: then
    counting references tells who else does. None for other places, and where there was nothing."""
    value = roll.before.pop(slot, None) if slot.kind == "cell" else None
    if value is not None:
        run.before.pop(slot, None)
        slot.set(UNBOUND)
    return value


def put_back(roll, run, slot, value):
    slot.set(value)
    roll.before[slot] = run.before[slot] = value


class Sharing:
    """stands: placeholder's memory -> the memories from before the loop that it may stand for, so far as anybody else
    sees them."""

    def __init__(self, roll, run, leaving):
        self.roll, self.run, self.leaving = roll, run, leaving
        self.carried = [
            (slot, n, m) for slot, c in roll.carried.items() for n, m in enumerate(c.memory) if m is not None
        ]
        lasts = {m: roll.carried[slot].leaves(run.after(slot))[n] for slot, n, m in self.carried}
        self.reach = {m: memories(x.storage) if isinstance(x, TracedArray) else () for m, x in lasts.items()}
        self.aliases = LoopAliases({m: leaving.choices(x) for m, x in lasts.items()}, run.owns)
        self.stands = {m: set(self.visible(slot, n)) for slot, n, m in self.carried}
        while True:
            more = {
                m: found | set().union(*(self.from_outside(b) for b in self.reach[m]))
                for m, found in self.stands.items()
            }
            if more == self.stands:
                break
            self.stands = more

    def from_outside(self, base):
        """The memories from before the loop that one may be."""
        return self.stands[base] if base in self.stands else set() if self.run.owns(base) else {base}

    def visible(self, slot, n):
        """The memories a place had before the loop, if anybody else sees them."""
        if self.alone(slot):
            return []
        c = self.roll.carried[slot]
        x = c.leaves(self.roll.first(slot, self.run))[n]
        if type(c.model) is VariantParts and c.model.form.is_unread(x):
            return []
        if isinstance(x, TracedArray):
            return memories(x.storage)
        return [s for _, s, _ in self.leaving.choices(x)] if isinstance(x, np.ndarray) else []

    def alone(self, slot):
        """Whether nobody but the place itself sees the array it held before the loop."""
        value = taken_out(self.roll, self.run, slot)
        if value is None:
            return False
        array = value.array if type(value) is BoundedArray else value
        if not isinstance(array, TracedArray) or type(array.storage) is not Storage:
            put_back(self.roll, self.run, slot, value)
            return False
        seen = (
            sys.getrefcount(array) > 3
            or sys.getrefcount(array.storage) > 2
            or array is not value
            and sys.getrefcount(value) > 2
        )
        put_back(self.roll, self.run, slot, value)
        return not seen

    def written(self, slot, memory):
        """Whether a trip writes into the array that a place holds when it begins."""
        c = self.roll.carried[slot]
        return memory.value is not c.values[c.memory.index(memory)]

    def check(self):
        """Refuse what memory of its own for each trip cannot show."""
        roll = self.roll
        for slot, _, m in self.carried:
            if any(s in roll.phis for s in self.stands[m]):
                raise roll.refused(f"{slot.name} may be an array that the loop writes")
            if self.written(slot, m) and self.stands[m]:
                raise roll.refused(
                    f"{slot.name} is written in place while other names may hold the same array, then bound to another"
                )
        places = {m: slot for slot, _, m in self.carried}
        for p, q in self.aliases.pairs:
            if self.written(places[p], p):
                names = " and ".join(sorted({places[p].name, places[q].name}))
                raise roll.refused(f"{names} share an array after a trip, and it is written in place")
