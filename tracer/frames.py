"""Which of the user's lines is running: the innermost frame that belongs neither to us nor to NumPy."""

import os
import sys

import numpy as np

from ..ir.source import Source

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INTERNAL = (
    *(os.path.join(ROOT, room) + os.sep for room in ("ir", "autodiff", "backends", "tracer")),
    os.path.join(ROOT, "__main__.py"),
    os.path.dirname(np.__file__) + os.sep,
    os.path.dirname(os.__file__) + os.sep + "functools.py",
    "<wengert",
    "<frozen ",
    "<__array_function__",
)
_internal = {}  # code -> bool


def internal(code):
    """Whether a code object is ours or NumPy's own."""
    found = _internal.get(code)
    if found is None:
        found = _internal[code] = code.co_filename.startswith(INTERNAL)
    return found


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


def name_of(thing):
    """The variable that holds an object in the user's function now running, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if not internal(frame.f_code):
            for name, value in frame.f_locals.items():
                if value is thing and name.isidentifier():
                    return name
        frame = frame.f_back
    return None


def without_internals(error):
    """`error` with our own frames taken out of its traceback; the user's stay."""
    kept = []
    tb = error.__traceback__
    while tb is not None:
        if not internal(tb.tb_frame.f_code):
            kept.append(tb)
        tb = tb.tb_next
    for tb, following in zip(kept, [*kept[1:], None]):
        tb.tb_next = following
    return error.with_traceback(kept[0] if kept else None)
