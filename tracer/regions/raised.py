"""Exceptions met while a body is traced: those that plain Python would raise there too are what the program raises if
it comes there.

What says that tracing cannot go on (`WengertError`) is none of them, and neither is a fault in our own code: an
exception that a frame of ours did not `raise`, and that no operation on the user's own objects led to.
"""

import dis
import functools

from ..common.errors import UNWORDED, ShapeError, UnsupportedError, WengertError
from ..common.frames import internal
from ..common.origin import is_builtin
from ..guards.state import TRANSPARENT
from ..rewriter import completion
from ..values.array import Traced
from ..values.storage import current_trace
from ..values.texts import TracedText

# what Python and NumPy say to numbers and shapes, whoever finds it out
ANSWERS = (ShapeError, IndexError, ValueError, ArithmeticError)
RAISE = dis.opmap["RAISE_VARARGS"]


def answers(error):
    """Whether plain Python would raise this at the same place."""
    if isinstance(error, ANSWERS):
        return True
    if isinstance(error, WengertError | RecursionError):
        return False
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code
    return not internal(code) or code in TRANSPARENT or code.co_code[last.tb_lasti] == RAISE


def is_raised_by_programs(error):
    """Whether a program can raise the same."""
    plain = isinstance(error, ShapeError) or is_builtin(type(error)) and len(error.args) < 2
    return plain and answers(error) and not any(isinstance(x, Traced | TracedText) for x in error.args)


def thrown(error):
    """Have the program raise `error` where it comes here."""
    text = error.args[0] if len(error.args) == 1 else str(error) if error.args else ""
    text = text.template if isinstance(text, TracedText) else str(text)
    kind = type(error)
    if not (isinstance(error, ShapeError) or is_builtin(kind) and len(error.args) < 2):
        kind = said(kind) if kind.__module__.partition(".")[0] == "numpy" or is_builtin(kind) else UnsupportedError
    if any(isinstance(x, Traced | TracedText) for x in error.args):
        kind = UNWORDED.get(kind, kind)  # plain Python says what it is made of
    current_trace().fail(kind, text if kind is not UnsupportedError else f"{type(error).__name__}: {text or error}")
    return completion.THROWN


@functools.cache
def said(kind):
    """An exception class as one that is made of its text alone."""

    class Said(kind):
        def __init__(self, text):
            Exception.__init__(self, text)

        def __str__(self):
            return self.args[0]

    Said.__name__, Said.__qualname__, Said.__module__ = kind.__name__, kind.__qualname__, kind.__module__
    return Said
