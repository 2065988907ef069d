"""What earlier visits of a trace to a loop found, so that loops within loops are not settled anew in every pass of
those around them, nor by each attempt at a trace that makes one more choice by value.

A visit that captured the loop leaves what it carried, for the next to begin with; if that visit finds that
any of it is not carried there, it begins again with nothing. A loop that several visits could not
capture in any shape is written out at once by those that follow, and so is one that several attempts at the trace
could not for one and the same reason.
"""

from ..common import pytree
from ..values.array import TracedArray
from ..values.storage import Storage, current_trace
from . import merge

HOPELESS = 4  # bound: visits that captured a loop in no shape
STUCK = 2  # bound: attempts at a trace, one after the other, that captured it in none for the same reason


def key(slot):
    """A variable's name, which the next visit may keep in another cell; a place in an object is the same then."""
    return slot.name if slot.kind == "cell" else slot


def memory_key(roll, storage):
    """What a written memory can be found by at the next visit."""
    return True if storage is current_trace().root.status else roll.hint_of(storage)


def keep(roll):
    """Note what a captured loop carries."""
    carried = {key(slot): (c.tree, c.whole) for slot, c in roll.carried.items()}
    roll.loop.memory["solution"] = carried, [p for p in (memory_key(roll, s) for s in roll.stores) if p is not None]
    roll.loop.memory["failed"] = 0


def begin(roll):
    """Carry from the start what the visit before carried -> whether that was anything."""
    carried, stores = roll.loop.memory.get("solution", ({}, ()))
    for slot in [*roll.slots, *(k for k in carried if not isinstance(k, str))]:
        if key(slot) not in carried:
            continue
        before, (tree, specs) = slot.get(), carried[key(slot)]
        leaves, mine = pytree.flatten(before)
        if mine != tree:
            continue
        joined = [merge.join(merge.spec(x), s, x, None) for x, s in zip(leaves, specs)]
        if all(s is not None and s[0] != "object" for s in joined):
            roll.start(slot, before, tree, joined)
    named = roll.loop.named
    for name in stores:
        found = current_trace().root.status if name is True else named[name].get() if name in named else None
        found = found.storage if isinstance(found, TracedArray) else found
        if type(found) is Storage and not found.readonly:
            roll.stores.append(found)
    return bool(roll.carried or roll.stores)


def needed(roll, run):
    """Whether a trip changes all that is carried."""
    changed = all(is_changed(run, slot, c) for slot, c in roll.carried.items())
    return changed and all(s in run.writes for s in roll.stores)


def is_changed(run, slot, c):
    """Whether a trip changes what a place carries, as far as the pass could tell. c: Carried"""
    return c.values is None or not all(map(stays, c.leaves(run.after(slot)), c.values, c.memory))


def stays(leaf, value, memory):
    """Whether a leaf is after a trip what it was before it: the placeholder."""
    return (
        leaf.storage is memory and not leaf.chain
        if isinstance(leaf, TracedArray)
        else getattr(leaf, "_value", None) is value
    )


def hopeless(loop):
    if loop.memory.get("failed", 0) >= HOPELESS:
        return True
    made = current_trace().root.choices
    reason, attempts = ("", ()) if made is None else made.stuck.get(loop.place, ("", ()))
    if len(attempts) < STUCK:
        return False
    loop.memory["reason"] = reason
    return True


def failed(loop, reason):
    """Note that a loop is written out."""
    loop.memory["failed"] = loop.memory.get("failed", 0) + 1
    loop.memory["reason"] = reason
    made = current_trace().root.choices
    if made is not None:
        before, attempts = made.stuck.get(loop.place, ("", ()))
        made.stuck[loop.place] = reason, {*(attempts if before == reason else ()), made.attempt}
