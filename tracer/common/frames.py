"""Which of the user's lines is running: the innermost frame that belongs neither to us nor to NumPy."""

import os
import sys
import sysconfig

import numpy as np

from ...ir.source import Source

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OURS = (
    *(os.path.join(ROOT, room) + os.sep for room in ("ir", "autodiff", "backends", "tracer")),
    os.path.join(ROOT, "__main__.py"),
    "<wengert",
)
INTERNAL = (
    *OURS,
    os.path.dirname(np.__file__) + os.sep,
    *(os.path.dirname(os.__file__) + os.sep + name for name in ("functools.py", "threading.py")),
    "<frozen ",
    "<__array_function__",
)
LIBRARIES = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
GENERATED = "<wengert call>"  # the file that functions in front of a Compiled say they are from
PART = ".@"  # ends the qualified name of code that is a part of a function of the user's, moved into one of its own
ITERATED = {}  # code without source -> what makes an iterator of a traced array there, if it is for a loop to capture
_internal = {}  # code -> bool
RAISING = set()  # code of ours that raises for the user


def internal(code):
    """Whether a code object is ours or NumPy's own."""
    found = _internal.get(code)
    if found is None:
        found = _internal[code] = code.co_filename.startswith(INTERNAL)
    return found


def see_through(*functions):
    """Have functions of a library that call us back count as internal."""
    _internal.update((f.__code__, True) for f in functions)


def is_ours(code):
    """Whether a code object is ours."""
    return code.co_filename.startswith(OURS)


def of_library(code):
    """Whether a code object belongs to Python's own modules or to an installed package."""
    return code.co_filename.startswith(LIBRARIES)


def caller_of(source):
    """The innermost line on the stack that the user wrote, where `source` lies in a library; None where it does not,
    or nobody's line is there."""
    if not of_library(source.code):
        return None
    frame = sys._getframe(1)
    while frame is not None and (internal(frame.f_code) or of_library(frame.f_code)):
        frame = frame.f_back
    return frame and Source(frame.f_code, frame.f_lasti)


def locate():
    """The user's instruction now running, as a Source; None when there is none on the stack."""
    frame, known = sys._getframe(2), _internal.get
    while frame is not None:
        code = frame.f_code
        ours = known(code)
        if not (internal(code) if ours is None else ours):
            return Source(code, frame.f_lasti)
        frame = frame.f_back
    return None


def user_level():
    """How many frames from the caller's up to the user's line."""
    frame, n = sys._getframe(1), 1
    while frame is not None and internal(frame.f_code):
        frame, n = frame.f_back, n + 1
    return n


def variable_name(thing):
    """The variable that holds an object in the user's function now running, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if not internal(frame.f_code):
            for name, value in frame.f_locals.items():
                if value is thing and name.isidentifier():
                    return name
        frame = frame.f_back
    return None


def raises_for_user(function):
    """Decorates a function of ours that raises what the user is to see, as if the user's line had raised it."""
    RAISING.add(function.__code__)
    return function


def is_meant(tb):
    """Whether a traceback ends in the user's code, or a library's that it has called, or where we raise for the
    user."""
    if tb is None:
        return False
    while tb.tb_next is not None:
        tb = tb.tb_next
    code = tb.tb_frame.f_code
    return code in RAISING or not is_ours(code)


def without_internals(error, hidden=internal):
    """`error`, and those it came from, with our own frames taken out of the tracebacks; the user's stay. hidden:
    whether the frame of a code object is one to be taken out."""
    todo, seen = [error], set()
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        todo += [e.__cause__, e.__context__]
        _strip(e, hidden)
    return error


def _strip(error, hidden):
    kept = []
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not hidden(code):
            if kept and code.co_qualname.endswith(PART):  # the function is here, not where it ran this part of itself
                kept.pop()
            kept.append(tb)
        tb = tb.tb_next
    for tb, following in zip(kept, [*kept[1:], None]):
        tb.tb_next = following
    error.__traceback__ = kept[0] if kept else None
