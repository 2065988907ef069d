"""Generators that are left before they end: Python closes one where its last reference goes, which runs what its `try`
and `with` statements have to do.

A trace holds on to more than the function does, so it does not know where that is: a loop is not captured that leaves a
generator in which there is something to be done.
"""

import contextlib
import dis
import types

from ..common.errors import UnsupportedError, message
from ..common.frames import locate, variable_name
from ..guards.object_contents import shown_kind
from ..values.storage import current_trace

PASSING_ON = {"CALL_INTRINSIC_1", "CLEANUP_THROW"}  # what begins the handlers that Python itself puts around a `yield`


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


def next_without_effects(trips):
    """The next trip of a loop that data may have left, None where there is none; refused where making its item draws or
    acts on the world."""
    trace = current_trace()
    eqns, draws = trace.build.eqns, trace.root.outside and trace.root.outside.draws
    before, drawn = len(eqns), draws and len(draws.list)
    trip = next(trips, None)
    if any(e.effect or e.op.name == "draw" for e in eqns[before:]) or draws and len(draws.list) > drawn:
        text = "data decide whether a loop is left before an item is made that draws, or acts on the world"
        raise UnsupportedError(message(text, locate(), "Make the items in the body of the loop."))
    return trip


def waits_within(generator):
    """Whether closing a generator runs more than its end: it waits in a `try` or a `with`."""
    frame, inner = generator.gi_frame, generator.gi_yieldfrom
    if frame is None or generator.gi_running or frame.f_lasti < 0:
        return False
    if type(inner) is types.GeneratorType and waits_within(inner):
        return True
    names = {i.offset: i.opname for i in dis.get_instructions(frame.f_code)}
    return any(
        start <= frame.f_lasti < end and names.get(target) not in PASSING_ON
        for start, end, target in protected(frame.f_code)
    )


def protected(code):
    """(first offset, end, offset of the handler) of each stretch of a code under a handler."""
    numbers = varints(code.co_exceptiontable)
    for start, length, target, _ in zip(numbers, numbers, numbers, numbers):
        yield 2 * start, 2 * (start + length), 2 * target


def varints(table):
    """The numbers of an exception table, six bits a byte."""
    number = 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            yield number
            number = 0
