"""Traces made beside the running program, on another thread than it is called on, and what they must leave alone.

Meanwhile the program goes on: it rebinds globals, stores attributes, writes arrays. So such a trace

- sees the globals and enclosing variables of each function as they were at one moment, through copies; what it notes of
  them (`outside.Read`) is compared with the copy, so the guard tells exactly what the program was made of;
- changes nothing outside itself, not even to put it back at its end: where any other trace would, `Shared` ends this
  one;
- runs no code that it cannot see into: a profiler watches, as it does for programs kept on disk, and ends it before
  such a call.

What `Shared` has ended is traced by a caller on its own thread, as without all this.
"""

import contextlib
import threading
import time
import types

from ..common.frames import locate
from .guard import MISSING

# .beside: the trace made here; .answering: how many calls here are being answered without the compiler
_thread = threading.local()
_busy = set()  # threads in which calls are being answered
# seconds that the trace takes from calls being answered at a time, and leaves to them in between
BITE, REST = 1e-3, 2e-3
AGAIN, HERE, DATA = "again", "here", "data"  # what helps: another try, the thread of a caller, the arguments of a call


class Conflict(BaseException):
    """The trace met what it must not touch beside the program. No error, and none of the user's `except` is to see
    it."""

    def __init__(self, text, remedy=HERE):
        super().__init__(text)
        self.text, self.remedy = text, remedy


class Isolation:
    """The state of one such trace."""

    def __init__(self):
        self.spaces, self.cells = {}, {}  # id -> (the original, its copy)
        self.shared = None  # the first that was raised: an `except:` of the user's does not stop it
        self.until = time.perf_counter() + BITE

    def space(self, original):
        return self.spaces.setdefault(id(original), (original, dict(original)))[1]

    def cell(self, original):
        try:
            return self.cells.setdefault(id(original), (original, types.CellType(original.cell_contents)))[1]
        except ValueError:  # empty
            return self.cells.setdefault(id(original), (original, types.CellType()))[1]


@contextlib.contextmanager
def beside():
    """Within, this thread traces beside the program."""
    _thread.beside = made = Isolation()
    try:
        yield made
    finally:
        _thread.beside = None
        if made.shared is not None:
            raise made.shared


def now():
    """The Beside of this thread, or None."""
    return getattr(_thread, "beside", None)


def refuse(text, remedy=HERE):
    """End the trace if it is one made beside the program."""
    made = now()
    if made is not None:
        made.shared = made.shared or Conflict(text, remedy)
        raise made.shared


def seen_by(function):
    """-> (globals, closure) of a function for its twin in the present trace."""
    made = now()
    if made is None:
        return function.__globals__, function.__closure__
    return made.space(function.__globals__), function.__closure__ and tuple(
        [made.cell(c) for c in function.__closure__]
    )


def agree(kind, owner, key, value):
    """End the trace if the program has exchanged what a name holds since the trace took its copy. value: as found now,
    or MISSING."""
    made = now()
    if made is None:
        return
    if kind == "global":
        copied = made.space(owner).get(key, MISSING)
    else:
        try:
            copied = made.cell(owner).cell_contents
        except ValueError:
            copied = MISSING
    if copied is not value:
        refuse(f"{key or 'a variable'} was changed while it was traced", AGAIN)


def require_unchanged(before, after, name):
    """End the trace if a container has been changed while it was copied."""
    if now() is not None and before != after:
        refuse(f"{name} was changed while it was traced", AGAIN)


class Withheld:
    """In place of the arguments: a trace made beside the program is told their types alone."""

    def __iter__(self):
        refuse(f"a decision on data is made by value, at {locate() or 'a line that is not known'}", DATA)
        raise AssertionError("only traces made beside the program have no arguments")


# -- answering ---------------------------------------------------------------------------------


@contextlib.contextmanager
def answering():
    """Within, a call is answered without the compiler, and so are those that it makes."""
    depth = getattr(_thread, "answering", 0)
    _thread.answering = depth + 1
    me = threading.get_ident()
    _busy.add(me)
    try:
        yield
    finally:
        _thread.answering = depth
        if not depth:
            _busy.discard(me)


@contextlib.contextmanager
def calling():
    """Within, a call runs that a thread which compiles is to leave room for."""
    me = threading.get_ident()
    known = me in _busy
    _busy.add(me)
    try:
        yield
    finally:
        if not known:
            _busy.discard(me)


def is_answering():
    """Whether this thread is within such a call."""
    return getattr(_thread, "answering", 0) > 0


def pace(until):
    """When the thread may next be made to wait, having let calls go first if `until` is over: Python runs one thread at
    a time."""
    now = time.perf_counter()
    if now < until:
        return until
    if not _busy:
        return now + BITE
    time.sleep(REST)
    rested = time.perf_counter()
    # where Python was long in coming back, calls have had that much more
    return rested + max(BITE, (rested - now) * BITE / REST)


@contextlib.contextmanager
def waiting():
    """Within a call being answered: wait for the compiler all the same."""
    depth, _thread.answering = getattr(_thread, "answering", 0), 0
    try:
        yield
    finally:
        _thread.answering = depth


def waits():
    """Note that the call being answered has to wait."""
    _thread.waited = True


def waited():
    """Whether one has since this was asked last."""
    found, _thread.waited = getattr(_thread, "waited", False), False
    return found
