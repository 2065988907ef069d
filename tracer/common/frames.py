"""Which of the user's lines is running: the innermost frame that belongs neither to us nor to NumPy."""

import dis
import functools
import os
import sys
import sysconfig
import threading
import types

import numpy as np

from ...ir.bounded import Remembered
from ...ir.source import COMPILED, PART, Source

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
    *(f"<frozen {name}{end}" for name in sys.stdlib_module_names for end in (">", ".")),  # others are of applications
    "<__array_function__",
)
LIBRARIES = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
GENERATED = "<wengert call>"  # the file that functions in front of a Compiled say they are from
ITERATED = {}  # code without source -> what makes an iterator of a traced array there, if it is for a loop to capture
CAPTURE = os.path.join(ROOT, "tracer", "capture", "capture.py")
OUTERMOST = 16  # bound: functions around a line that are noted
RETURN = dis.opmap["RETURN_VALUE"]
CALLERS = 4096  # bound: code of which `called_name` is kept
DEEPEST = 64  # bound: transforms of transforms through which a function's place is looked for
_internal = Remembered()  # code -> bool
_seen_through = []  # code of functions of libraries that count as ours
_called = {}  # id of code -> (the code, its `called_name`)
RAISING = set()  # code of ours that raises for the user


def internal(code):
    """Whether a code object is ours or NumPy's own."""
    found = _internal.get(code)
    if found is None:
        if code.co_filename == GENERATED:  # which goes with its function
            return True
        ours = code.co_filename.startswith(INTERNAL) or code.co_name.endswith(COMPILED) or code in _seen_through
        found = _internal[code] = ours
    return found


def see_through(*functions):
    """Have functions of a library that call us back count as internal."""
    _seen_through.extend(f.__code__ for f in functions)
    _internal.clear()


def is_ours(code):
    """Whether a code object is ours."""
    return code.co_filename.startswith(OURS) or code.co_name.endswith(COMPILED)


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


def locate_equation():
    """`locate`, with the user's functions around the line."""
    frame, known = sys._getframe(2), _internal.get
    while frame is not None:
        code = frame.f_code
        ours = known(code)
        if not (internal(code) if ours is None else ours):
            back = frame.f_back  # it keeps its callers as long as it is there
            call = id(frame), code, id(back), back and back.f_code
            if call != INNERMOST.call:
                INNERMOST.call, INNERMOST.callers = call, callers_of(frame)
            asked = INNERMOST.quiet
            return Source(code, frame.f_lasti, callers=INNERMOST.callers, quiet=() if asked is None else asked())
        frame = frame.f_back
    return None


def where_returned(function, eqns):
    """As `locate_equation`, once the function has returned: what is still computed, such as a view that it returns, is
    not of the line that called it, but of its return, or where it has several, of the line that computed last."""
    code = getattr(function, "__code__", None)

    @functools.cache
    def returns():
        text = b"" if code is None or internal(code) else code.co_code  # which Python puts together each time
        return [n for n in range(0, len(text), 2) if text[n] == RETURN]

    def place():
        ends = returns()
        last = next((e.source for e in reversed(eqns) if e.source is not None), None)
        return Source(code, ends[-1]) if ends and (len(ends) == 1 or last is None) else last or locate_equation()

    return place


class Innermost(threading.local):
    """The call that this thread has located last, and the functions around it. The frame itself is not held: it has the
    user's values. quiet: a function that says what `Source.quiet` is now, while that is asked for."""

    call, callers, quiet = None, (), None


INNERMOST = Innermost()


def callers_of(frame):
    """Qualified names of the user's functions that a frame is called by, from the one that is captured on; functions
    of libraries do not count."""
    names, traced, at = [], 0, frame.f_back
    last = frame.f_code.co_qualname.replace(PART, "")
    while at is not None:
        code = at.f_code
        known = _called.get(id(code))
        name = known[1] if known is not None and known[0] is code else called_name(code)
        if name is CAPTURE:
            traced = len(names)
        elif name is not None and name != last:  # a part of a function, or recursion
            names.append(last := name)
        at = at.f_back
    return tuple(names[:traced][:OUTERMOST][::-1])


def called_name(code):
    """What code counts as among callers: CAPTURE, the name of a function of the user's, or None."""
    name = None
    if code.co_filename == GENERATED:
        return None
    if code.co_filename == CAPTURE:
        name = CAPTURE
    elif not internal(code) and not of_library(code):
        name = code.co_qualname.replace(PART, "")
    if len(_called) >= CALLERS:
        _called.clear()
    _called[id(code)] = code, name
    return name


def function_place(function):
    """(file, line) where the function of the user's begins that a function, method, partial or transform is of; None
    where it has no source."""
    seen = 0
    while seen < DEEPEST:
        kind, seen = type(function), seen + 1
        if kind is types.FunctionType:
            inner = function.__dict__.get("__wrapped__")
            if inner is None:
                code = function.__code__
                return None if code.co_filename.startswith("<wengert") else (code.co_filename, code.co_firstlineno)
            function = inner
        elif kind is types.MethodType:
            function = function.__func__
        elif kind is functools.partial:
            function = function.func
        else:
            function = kind.__dict__.get("__call__")
            if type(function) is not types.FunctionType:
                return None
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


def is_part_of(frame, above, apart):
    """Whether the code that a frame runs is a part of the function that the frame `above` runs, moved into one of its
    own, and that has run it. apart: whether frames of ours lie between them in the traceback."""
    name, at = frame.f_code.co_qualname, frame.f_back
    while at is not None and is_ours(at.f_code) and not at.f_code.co_qualname.endswith(PART):
        at = at.f_back
    if at is None:  # generators that have ended do not say who called them
        return apart and name == above.f_code.co_qualname + PART
    return name.endswith(PART) and at is above


def _strip(error, hidden):
    kept, apart = [], False
    tb = error.__traceback__
    while tb is not None:
        if hidden(tb.tb_frame.f_code):
            apart = apart or is_ours(tb.tb_frame.f_code)
        else:
            if kept and is_part_of(tb.tb_frame, kept[-1].tb_frame, apart):
                kept.pop()  # the function is here, not where it ran this part of itself
            kept.append(tb)
            apart = False
        tb = tb.tb_next
    for tb, following in zip(kept, [*kept[1:], None]):
        tb.tb_next = following
    error.__traceback__ = kept[0] if kept else None
