"""Choices that are captured both ways, and turn out to be choices by value: a side is refused, the two cannot be
merged, or what cannot be merged is used.

The trace then begins again. Where it has begun again before, it goes on first, the side taken that this call's data
ask for, and finds the other choices of the kind: so many choices cost a few traces, not one each.
"""

import contextlib

from ..common.errors import LeakError, WengertError
from ..common.frames import locate
from .speculate import BEGUN, ByValue, choices, predicate
from .storage import current_trace


@contextlib.contextmanager
def capturing(test):
    """A choice being captured both ways: an error of ours in there means that it is to be made by value."""
    made = choices()
    if made is None:
        yield
        return
    number = made.numbers.setdefault(predicate(test), len(made.numbers))
    before, made.open = made.open, number
    try:
        yield
    except LeakError:
        raise
    except WengertError as error:
        if number in made.wanted:
            raise
        raise made.signal(number, error) from None
    finally:
        made.open = before


def may_be_by_value():
    """Whether the present choice, or one around it, can be: none can within what is captured to be derived or
    batched."""
    trace = current_trace()
    while trace.parent is not None and trace.region is not None:
        trace = trace.parent
    return trace.parent is None and trace.choices is not None


def captured_or_taken(test, both, one):
    """`both()`, in which a choice is captured. Once others have turned out to be choices by value, so does this one in
    the place, if it is one, and `one(truth)` is taken: a trace that begins again anyway finds them all. Where the same
    line has turned out to be one time and again, it is taken at once."""
    made = choices()
    if made is None:
        return both()
    value = predicate(test)
    number = made.numbered(value, locate())
    if made.begun < BEGUN:
        with capturing(test):
            return both()
    if made.is_often(number):
        made.wanted.add(number)
        return one(made.truth(value))
    taken = len(made.taken)
    try:
        with capturing(test):
            return both()
    except ByValue as signal:
        if signal.choice != number:
            raise
    if len(made.taken) == taken:  # choices within have no numbers in a trace that makes this one at once
        made.numbers = {v: n for v, n in made.numbers.items() if n <= number}
        made.wanted -= {n for n in made.wanted if type(n) is int and n > number}
    return one(made.truth(value))


def look_ahead(choice=None):
    """Something cannot be merged, of this choice or the one that is captured: where a trace looks for choices by
    value, that is one."""
    made = choices()
    if made is not None and made.begun >= BEGUN and made.open is not None and choice in (None, made.open):
        if made.open not in made.wanted:
            raise made.signal(made.open)


def open_choice():
    """The number of the choice being captured, for what cannot be merged to name; None where it could not be made by
    value."""
    trace = current_trace()
    made = trace.root.choices if trace is not None else None
    return made.open if made is not None else None


def unmerged(choice, error):
    """A value that is not one thing is used: choose by value what it is, or raise `error`."""
    trace = current_trace()
    made = trace.root.choices if trace is not None else None
    if choice is None or made is None or choice in made.wanted:
        raise error
    raise made.signal(choice, error)
