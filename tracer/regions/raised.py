"""Exceptions met while a body is traced: those that plain Python would raise there too are what the program raises if
it comes there, behind all that the body did before.

One that leaves a body is nothing the function's own handlers may see: it has undone what the body did. A side of a
branch ends where it is raised; a trip of a loop is written out, and raises it again.

What says that tracing cannot go on (`WengertError`) is none of them, and neither is a fault in our own code: an
exception that a frame of ours did not `raise`, and that no operation on the user's own objects led to. Of a TypeError
that is not asked: it comes from the kinds of the values at hand.
"""

import dis
import functools
import re
import sys

from ..common.errors import CannotRoll, ShapeError, UnsupportedError, WengertError, message
from ..common.frames import is_ours, locate
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
    if isinstance(error, WengertError) or is_of_stand_in(error):
        return False
    if isinstance(error, RecursionError) or not isinstance(error, Exception):
        return is_raised(error)
    if isinstance(error, TypeError):
        return True
    code, at = last_place(error)
    return not is_ours(code) or code in TRANSPARENT or code.co_code[at] == RAISE


def is_of_stand_in(error):
    """Whether `raise` has been given what may be what stands for one of several exceptions, as data decide."""
    return type(error) is TypeError and str(error) == "exceptions must derive from BaseException"


def refuse_stand_in(error):
    if is_of_stand_in(error):
        text = "what is raised is one of several exceptions, as data decide, or none"
        raise UnsupportedError(message(text, locate(), "Raise each where it is made.")) from error


def refuse_behind_acts(error):
    """Refuse a function whose own exception comes however the data are, which no program can raise, behind acts."""
    ours = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    if answers(error) and not ours:
        kind = type(error).__name__
        text = f"{kind} is raised however the data are, behind what draws or acts on the world, by no program"
        raise UnsupportedError(message(text, locate(), "Raise it before, or outside of the function.")) from error


def is_raised(error):
    """Whether a statement of the function's has raised an exception that may come from outside it: a full stack, or a
    signal."""
    code, at = last_place(error)
    return not is_ours(code) and code.co_code[at] == RAISE


def last_place(error):
    """(the code where an exception was raised, the place of the instruction)"""
    last = error.__traceback__
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code, last.tb_lasti


class Escaped(CannotRoll):
    """An exception of the function's, `error`, has left a body that is traced aside."""

    def __init__(self, error):
        text = f"a loop or branch that is captured as a whole raises {type(error).__name__}"
        super().__init__(message(text, locate()))
        self.error = error


def is_raised_by_programs(error):
    """Whether a program can raise the same."""
    plain = isinstance(error, ShapeError) or is_builtin(type(error)) and len(error.args) < 2
    return plain and answers(error) and not any(isinstance(x, Traced | TracedText) for x in error.args)


CONSTANT = (str, int, float, bool, type(None))  # of which the parts of an exception may be, for a program to make it
UNKNOWN = "What it holds is known while the program runs, and to Python alone."


def is_told(error):
    """Whether the kind and the arguments of an exception are all there is to it, and are the same at every call."""
    # attributes that a body has stored are put back by now
    changed = any(e is error for e in current_trace().root.outside.changed_errors)
    within = error.__context__ is not sys.exception()  # else it is what the caller handles
    more = changed or error.__dict__ or error.__cause__ or within
    named = any(type(x) is str and "'Traced" in x for x in error.args)  # a class of ours where Python has its own
    plain = is_builtin(type(error)) and not more and not named and all(type(x) in CONSTANT for x in error.args)
    return plain and is_all_arguments(error)


def is_all_arguments(error):
    """Whether an exception of Python's is what its arguments make: those of files hold a name besides."""
    try:
        return str(type(error)(*error.args)) == str(error)
    except TypeError:  # it takes others
        return False


def thrown(error):
    """Have the program raise `error` where it comes here."""
    kind, args = type(error), error.args
    text = args[0] if len(args) == 1 else str(error) if args else ""
    text = text.template if isinstance(text, TracedText) else re.sub(r"<traced [^>]*>", "…", str(text))
    if isinstance(error, ShapeError):
        current_trace().fail(kind, text)
    elif is_told(error):
        current_trace().fail(kind, text, None if len(args) == 1 and type(args[0]) is str else args)
    else:
        if not (is_builtin(kind) and len(args) < 2):
            numpys = kind.__module__.partition(".")[0] == "numpy" or is_builtin(kind)
            text = text if numpys else f"{kind.__name__}: {text or error}"
            kind = said(kind) if numpys else UnsupportedError
        current_trace().fail(kind, f"{text}\n{UNKNOWN}", told=False)
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
