"""Generators that are left before they end: Python closes one where its last reference goes, which runs what its `try`
and `with` statements have to do.

A trace holds on to more than the function does, so it does not know where that is: a loop is not captured that leaves a
generator in which there is something to be done.
"""

import collections.abc
import contextlib
import gc
import types

from ..common.errors import UnsupportedError, message
from ..common.exception_tables import is_under_handler
from ..common.frames import locate, variable_name
from ..guards import state
from ..guards.object_contents import shown_kind
from ..values.storage import current_trace
from .raised import answers

OF_ITEMS = {type(iter([])), type(iter(()))}  # behind which nothing is made, and there may be very much
MOST = 64  # bound: iterators behind one another that are looked into


def refuse_to_close(items):
    """Refuse a loop that leaves, or may leave, a generator in which there is something to be done."""
    if type(items) is types.GeneratorType and current_trace() is not None and waits_within(items):
        name = items.__qualname__.replace("<locals>.", "")
        text = f"{name} is left before its end, and closed by Python: what its `try` does then is not captured"
        with contextlib.suppress(Exception):
            items.close()  # while what it holds can still be used; what it does now is given up with the trace
        hint = "Go through it to its end, or put the statements of its `finally` behind the loop."
        raise UnsupportedError(message(text, locate(), hint))


def refuse_to_share(items, named):
    """Refuse a loop of which data decide in which trip it is left, over an iterator that a variable holds: all trips
    are traced, and nothing is left for who asks next. named: variables that the loop and what follows use."""
    frame = getattr(items, "gi_frame", None)
    items = items if frame is None else frame.f_locals.get("iterator", items)  # of the user's class: `objects.steps`
    if current_trace() is None or variable_name(items) is None and all(s.get() is not items for s in named.values()):
        return
    text = f"data decide where a loop leaves {shown_kind(items)}, an iterator that may be asked for more afterwards"
    raise UnsupportedError(message(text, locate(), "Go through a list or an array, and keep the number of the trip."))


def next_without_effects(trips, nothing=None):
    """The next trip of a loop that data may have left, `nothing` where there is none; refused where making its item
    draws, acts on the world, changes what others see, raises, or checks what may."""
    trace = current_trace()
    root, eqns, draws = trace.root, trace.build.eqns, trace.root.outside and trace.root.outside.draws
    before, drawn, status, altered = len(eqns), draws and len(draws.list), root.status.value, root.altered
    held, error = [(x, state.items(x)) for x in reached(trips) if isinstance(x, state.CONTAINERS)], None
    try:
        trip = next(trips, nothing)
    except Exception as raised:
        if not answers(raised):
            raise
        error = raised
    what = None
    if error is not None:
        what = "raises"
    elif any(e.effect or e.op.name == "draw" for e in eqns[before:]) or draws and len(draws.list) > drawn:
        what = "draws, or acts on the world"
    elif altered != root.altered or any(state.differs(x, had) for x, had in held):
        what = "changes something"
    elif status is not root.status.value:
        what = "may raise"
    if what is not None:
        text = f"data decide whether a loop is left before an item is made that {what}"
        raise UnsupportedError(message(text, locate(), "Make the items in the body of the loop."))
    return trip


def reached(trips):
    """What the generators of the user's hold that trips come of, by themselves or through iterators of Python's."""
    found, met, pending = [], set(), [trips]
    while pending and len(met) < MOST:
        x = pending.pop()
        if id(x) in met or type(x) in OF_ITEMS or not isinstance(x, collections.abc.Iterator | tuple):
            continue  # `zip` and `map` have a tuple of those behind them
        met.add(id(x))
        frame = x.gi_frame if type(x) is types.GeneratorType else None
        held = [*frame.f_locals.values()] if frame is not None else gc.get_referents(x)
        found += held if frame is not None else []
        pending += held
    return found


def waits_within(generator):
    """Whether closing a generator runs more than its end: it waits in a `try` or a `with`."""
    frame, inner = generator.gi_frame, generator.gi_yieldfrom
    if frame is None or generator.gi_running or frame.f_lasti < 0:
        return False
    return type(inner) is types.GeneratorType and waits_within(inner) or is_under_handler(frame)
