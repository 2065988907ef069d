"""What the Python ints that a loop carries can be: guessed before a pass, shown by it to hold, so that they need no
check.

A guess holds if a trip that starts within it ends within it. What a trip adds, times the trips there can
be, is such a bound; so is what the trip gives whatever it starts from, like a remainder.
"""

from ..values.array import Traced, TracedScalar
from ..values.ranges import drift, interval
from ..values.storage import current_trace

REACH = 2**56  # what a loop is first taken to add at most
TRIPS = 2**53  # no program lives to make more
ROUNDS = 3  # then what has not held is given up

INT = ("weak", int)


def guess(first):
    """What an int that a loop carries is first taken to be, by what it was before; None where nothing is known."""
    before = before_loop(first)
    return before and (before[0] - REACH, before[1] + REACH)


def before_loop(x):
    if isinstance(x, Traced):
        return interval(traced_value(x)) if isinstance(x, TracedScalar) else None
    return (x, x) if type(x) is int else None


def assume(carried, bounds):
    """Note what the placeholders of a pass are taken to be."""
    for s, value, guess in zip(carried.specs, carried.values, carried.guesses):
        if s == INT and guess is not None:
            bounds[value] = guess


def ints_settled(roll, run):
    """Whether a pass has shown what it took the ints to be, and taking them for less would save no check."""
    roll.rounds += 1
    trips = min(roll.last() + 1, TRIPS)
    good = True
    for slot, c in roll.carried.items():
        firsts, lasts = c.leaves(roll.first(slot, run)), c.leaves(run.after(slot))
        for n, (s, guess) in enumerate(zip(c.specs, c.guesses)):
            if s != INT:
                continue
            c.shown[n] = found, _ = reached(firsts[n], lasts[n], c.values[n], trips)
            if guess is None:
                continue
            if found is None or not (guess[0] <= found[0] and found[1] <= guess[1]) or roll.rounds > ROUNDS:
                c.guesses[n] = None
                good = False
            elif found != guess and roll.unproven:
                c.guesses[n] = found
                good = False
    status = current_trace().root.status
    if not good and status in roll.stores:
        roll.stores.remove(status)  # perhaps nothing writes it now
    return good


def reached(first, last, value, trips):
    """(what a carried int can be, (least, greatest) that the loop adds to it); None for what is not known."""
    before, after = before_loop(first), before_loop(last)
    step = drift(traced_value(last), value) if isinstance(last, Traced) else None
    added = step and (min(step[0], 0) * trips, max(step[1], 0) * trips)
    if before is None:
        return None, added
    found = [(before[0] + added[0], before[1] + added[1])] if added else []
    if after is not None:
        found.append((min(before[0], after[0]), max(before[1], after[1])))
    return (max(f[0] for f in found), min(f[1] for f in found)) if found else None, added


def traced_value(x):
    return x._value


def note_exit_value(shown, first, value, root):
    """Note what a loop leaves of an int it carried."""
    found, added = shown
    if found is not None:
        root.bounds[value] = found
    if added is not None and isinstance(first, Traced):
        root.drifts[value] = first._value, *added
