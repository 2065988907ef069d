"""Carried arrays that are selections by one mask go on sharing it: else every meeting of two of them would move
elements.

It is assumed that they do, and found out after each trip: those whose masks have parted get masks of their own.
"""

from ..extents.bounded import Mask
from ..values.array import Traced
from ..values.ranges import original
from ..values.storage import current_trace


def keys(leaves):
    """For each leaf what it shares with leaves of other places: (mask, 0) for a mask, (mask, 1) for the number behind
    it; else None."""
    found, mask = [], None
    for x in leaves:
        if type(x) is Mask:
            mask = identity(x)
            found.append((mask, 0))
        else:
            found.append(None if mask is None else (mask, 1))
            mask = None
    return found


def identity(x):
    """The value of a leaf, by which equal ones are told."""
    return original(x._value, current_trace().root) if isinstance(x, Traced) else x


def parted(carried, after):
    """Whether leaves that shared a value differ after a trip; they share it no more. after: Slot -> what it holds
    then."""
    groups = {}
    for slot, c in carried.items():
        for x, key in zip(c.leaves(after(slot)), c.shared):
            if key is not None:
                groups.setdefault(key, []).append(identity(x))
    gone = {
        mask
        for (mask, _), values in groups.items()
        if any(v is not values[0] and not equal_ints(v, values[0]) for v in values)
    }
    for c in carried.values():
        c.shared = [None if key is not None and key[0] in gone else key for key in c.shared]
    return bool(gone)


def equal_ints(a, b):
    return type(a) is type(b) is int and a == b
