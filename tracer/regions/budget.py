"""What a trace may cost: the trips of loops that run while the function is traced, and seconds."""

import contextlib
import threading
import time

from ...backends.xla.processes import is_one_of_several
from ..common.errors import Overran, Overrun, message
from ..common.frames import locate
from ..values.asked import Met, asking
from ..values.speculate import ARGUMENTS, is_insisted_on
from ..values.storage import current_trace

WRITTEN = 30_000  # bound: equations of trips that are written out, some 80 us each
LARGEST = 40_000  # bound: equations of a program, with those in its loops and branches, of which XLA takes 1 ms each
MODEST = 2_000  # bound: equations of many trips, where plain Python can run the loop instead
TRIPS = 50_000  # bound: trips that run while tracing, some 50 us each, where nothing comes of them to be compiled
KNOWN = 1_000  # bound: trips that run while tracing for the values of one call's arguments, a few ms each
INSISTED = 30.0  # bound: of the thread's own time in the traces of one call that plain Python cannot answer
TRIP = Met("trip")
# .until: when the traces of the call made here have to be done, of the thread's own time; .equations: to which they
# may come, None for as many as any program
_thread = threading.local()


@contextlib.contextmanager
def limited(most=None, equations=None):
    """Around the traces of one call. most: seconds that they may take, None where plain Python cannot answer it;
    equations: to which they may come, None for as many as any program."""
    if getattr(_thread, "until", None) is not None or is_one_of_several():  # which have to decide alike
        yield
        return
    _thread.most = INSISTED if most is None else most
    _thread.until, _thread.equations = time.thread_time() + _thread.most, equations
    try:
        yield
    finally:
        _thread.until = _thread.equations = None


def spend_time():
    """Refuse to go on tracing after so many seconds, or equations."""
    until = getattr(_thread, "until", None)
    if until is not None and time.thread_time() > until:
        text = f"tracing it takes more than {_thread.most:.2g} s, most of them for loops and branches that data decide"
        hint = "Compile a function that it calls, or write the loop here over arrays."
        raise Overran(message(text, locate(), hint))
    if until is not None and _thread.equations is not None and (trace := current_trace()) is not None:
        spend_first_answer(len(trace.build.eqns))


def spent_on(items):
    """The items of an iterator, which are gone through while the function is traced."""
    for x in items:
        spend_time()
        yield x


@contextlib.contextmanager
def turning():
    """Around the trips of a loop."""
    root = current_trace() and current_trace().root
    if root is None:
        yield
        return
    root.turning += 1
    try:
        yield
    finally:
        root.turning -= 1


def written_at_most():
    """How many equations the trips of a loop may come to that has many, and is captured no other way."""
    return WRITTEN if is_insisted_on() else MODEST


def spend_equations(count):
    """Refuse a program of so many equations, whatever they are in: compiling it takes a minute."""
    if count > LARGEST:
        text = f"the program has come to {count:,} equations, most of them of trips that are written out one by one"
        hint = "Compile a function that it calls, or hold in arrays what its loops go over."
        raise Overrun(message(text, None, hint))
    spend_first_answer(count)


def spend_first_answer(count):
    """Refuse a program of so many equations where the call would wait too long for its first answer."""
    most = getattr(_thread, "equations", None)
    if most is not None and count > most:
        text = f"the program has come to {count:,} equations, and to make one of them takes seconds"
        hint = "Compile a function that it calls, or hold in arrays what its loops go over."
        error = Overran(message(text, locate(), hint))
        error.count = count
        raise error


def spend_trip():
    """Count a trip that runs while tracing; refuse to go on where thousands have come to no equations."""
    trace = current_trace()
    if trace is None:
        return
    root = trace.root
    root.trips += 1
    tell_trip()
    spend_time()
    spend_known_trip(root)
    if len(trace.build.eqns) > WRITTEN:
        text = f"the trips of this loop, written out one by one, have come to more than {WRITTEN:,} equations"
        raise Overrun(message(text, locate(), "Hold in arrays what it goes over: then it is captured as one loop."))
    if root.trips > TRIPS + 20 * len(trace.build.eqns):
        text = f"{TRIPS:,} trips of loops over Python's own values ran while tracing and left little to compile"
        hint = "Plain Python runs them faster. Compute outside what they give, or hold their numbers in arrays."
        raise Overrun(message(text, locate(), hint))


def tell_trip():
    """How often a loop runs as Python runs it must not hang on sizes."""
    if (asked := asking()) is not None:
        asked.tell(TRIP)


def spend_known_trip(root):
    """Count a trip that runs with the Python numbers among the arguments known; refuse to go on after thousands."""
    tell_trip()
    if root.choices is None or ARGUMENTS not in root.choices.wanted:
        return
    root.known_trips += 1
    if root.known_trips > KNOWN:
        text = f"{KNOWN:,} trips ran while tracing, of loops whose keys of dicts or members of sets hang on arguments"
        hint = "Plain Python runs them faster: leave out whole=True, or hold in arrays what the keys lead to."
        raise Overrun(message(text, locate(), hint))
