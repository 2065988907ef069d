"""Errors of NumPy's and Python's own that tracing has caused, in our words."""

import re

from ...ir.source import Source
from ..common.errors import ConcretizationError, DeepRecursion, UnsupportedError, WengertError, message
from ..common.frames import PART, internal, of_library

NAMES = re.compile(r"\b(Traced(Array|Scalar|Text|Range)|Mixed|BoundedArray)\b|<traced ")


def explained(error):
    """NumPy's words for a traced value stored into a plain array, and Python's for endless recursion, in ours; other
    errors as they are."""
    if type(error) is RecursionError:
        return too_deep(error)
    if isinstance(error, TypeError | AttributeError | ValueError) and not isinstance(error, WengertError):
        if type(error) is AttributeError and "no setter" in str(error):  # NumPy and Python refuse it too
            return AttributeError("attributes of a number are not writable").with_traceback(error.__traceback__)
        if NAMES.search(str(error)):
            return met_a_stand_in(error)
    if type(error) is not ValueError or "setting an array element" not in str(error):
        return error
    tb = innermost(error)
    return ConcretizationError(
        message(
            "a traced value was stored into a plain ndarray, one that the function made itself",
            Source(tb.tb_frame.f_code, tb.tb_lasti),
            "Make the array from a traced one, np.zeros_like(x), or pass it as an argument: then it is traced too.",
        )
    ).with_traceback(error.__traceback__)


def innermost(error):
    """The innermost entry of a traceback."""
    tb = error.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    return tb


def met_a_stand_in(error):
    """Code that asks for the class of what it is given, such as Decimal(x), was given a traced value."""
    places, tb = [], error.__traceback__
    while tb is not None:
        places.append(Source(tb.tb_frame.f_code, tb.tb_lasti))
        tb = tb.tb_next
    users = [source for source in places if not internal(source.code)] or places
    source = users[-1]
    caller = next((s for s in reversed(users) if not of_library(s.code)), None) if of_library(source.code) else None
    said = f"what is called here does not take a traced value: {type(error).__name__}: {error}".splitlines()[0]
    hint = "Leave it out of the compiled function, or pass what it gives as an argument."
    return UnsupportedError(message(said, source, hint, caller)).with_traceback(error.__traceback__)


def too_deep(error):
    """Endless recursion: the function that calls itself, the line where it does, and why tracing does not end."""
    calls, last, tb = {}, {}, error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not internal(code):
            name, part, _ = code.co_qualname.partition(PART)  # a part is a body within the function
            key = code.co_filename, name
            if not part and key in last:
                calls.setdefault(key, []).append(last[key])
            last[key] = Source(code, tb.tb_lasti)
        tb = tb.tb_next
    if not calls:  # of ours, which plain Python has no need of
        source = next(reversed(last.values()), None)
        text = "following this while tracing takes a deeper stack than Python has"
        return DeepRecursion(message(text, source, "Leave it out of the compiled function."))
    (_, name), (*_, source) = max(calls.items(), key=lambda found: len(found[1]))
    text = f"{name} calls itself until Python's stack is full: recursion on traced data does not end while tracing"
    hint = "Both sides of a choice are followed, whatever the data. Write a loop, or give the depth as an int argument."
    return DeepRecursion(message(text, source, hint))
