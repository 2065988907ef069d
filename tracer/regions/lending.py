"""Arrays that a list holds, of which only data say which of its items they are.

`xs.append(x)` under a test copies x into a row. That is the same thing as Python's sharing as long as nobody writes
into x, and nobody asks whether x is an item of the list. So the memory of x is marked as lent, and so is what the
variables hold after the loop that may be such an array: a write to it refuses the capture.
"""

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..values.storage import Storage, memories
from .sharing import arrays

HINT = "Append a copy: xs.append(x.copy())."


def lend(x, owner):
    """Mark an array as one that a list holds too."""
    storage = x.storage
    mine = type(storage) is Storage and storage.origin is None and not x.chain and not storage.lies
    if not mine or not x.writeable or not x.shadow.flags.c_contiguous:
        text = f"an array that may be a view of another is appended to {owner.name} where data decide"
        raise CannotRoll(message(text, locate(), HINT))
    storage.lent = owner


def borrowed(x, owner):
    """An item of the list, as an array that may not be told from it."""
    x.storage.lent, owner.shared = owner, True
    return x


def lent(value):
    """The list that holds an array among those of a value, or None."""
    return next((m.lent for x in arrays(value) for m in memories(x.storage) if m.lent is not None), None)


class Lent:
    """The places of a loop that hold, after it or before it, arrays that a trip has lent."""

    def __init__(self, roll, run):
        every = list(dict.fromkeys((*roll.slots, *run.heap)))
        after = {slot: owner for slot in every if (owner := lent(run.after(slot))) is not None}
        stands = {m: slot for slot, c in roll.carried.items() for m in c.memory or () if m is not None}
        self.before = {stands[m]: m.lent for m in stands if m.lent is not None}
        self.after = {**after, **self.before}
        # (place, the place whose array of the trip before it holds)
        kept = [(slot, stands[x.storage]) for slot in every for x in arrays(run.after(slot)) if x.storage in stands]
        for _ in kept:
            self.follow(kept)
        for slot in {**self.after, **self.before}:
            c = roll.carried.get(slot)
            if c is not None and any(m is not None and m.value is not v for m, v in zip(c.memory, c.values)):
                raise roll.refused(f"{slot.name} is written in place, and a list holds it too, as data decide")
        self.firsts = [(roll.first(slot, run), owner) for slot, owner in self.before.items()]

    def follow(self, kept):
        """What goes from place to place in a trip is lent in both."""
        for slot, other in kept:
            if other in self.after:
                self.after.setdefault(slot, self.after[other])
            if slot in self.before:
                self.before.setdefault(other, self.before[slot])

    def mark(self):
        """The loop is over: mark what the places hold now, and what they held before it."""
        found = [*self.firsts, *((slot.get(), owner) for slot, owner in self.after.items())]
        for value, owner in found:
            for x in arrays(value):
                owner.shared = True
                for m in memories(x.storage):
                    m.lent = owner
                x.storage.lent = owner


def pass_on(slot, x, y):
    """After a branch, whose sides left x and y in a place: what it holds now is lent where one of these was."""
    owner = lent(x) or lent(y)
    if owner is not None:
        for z in arrays(slot.get()):
            z.storage.lent = owner
