"""Calls that plain Python answers, watched: NumPy says itself where something is born, by its error state."""

import contextlib

import numpy as np

from ...ir.types import ir_kind
from ..common import pytree
from ..common.errors import NumericalError, message
from ..common.frames import INNERMOST, locate, without_internals
from ..guards.float_errors import RAISED
from .words import CALLED, MADE_BY, REACHING


class PlainCall:
    """The user's function, as it is called where no program answers."""

    def __init__(self, function, debug):
        self.function, self.debug = function, debug
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__wrapped__ = function

    def __call__(self, *args, **kwargs):
        if self.debug.warns:  # as NumPy does by itself
            return self.function(*args, **kwargs)
        told = []

        def hear(kind, flag):
            word, source = CALLED.get(kind), locate()
            told.append((word, source))
            if word in self.debug.born:
                raise born_here(word, source, self.__name__)

        try:
            with np.errstate(divide="call", over="call", invalid="call", call=hear):
                result = self.function(*args, **kwargs)
        except NumericalError as error:
            raise without_internals(error) from None
        for word in self.debug.reaching:
            if any(is_bad(x, word) for x in pytree.leaves(result)) and not any(
                is_bad(x, word) for x in pytree.leaves((args, kwargs))
            ):
                source = next((s for w, s in told if w in MADE_BY[word]), None)
                raise born_here(word, source, self.__name__)
        return result


@contextlib.contextmanager
def hearing(warns):
    """Around a trace: what NumPy tells of while it computes with numbers that are known by then, as a list of (word,
    line). What is captured within an `np.errstate` of the user's says what is not to be heard of there. warns:
    whether warnings are."""
    told, seen = [], set()
    loud = ("call", "warn") if warns else ("call",)
    before, INNERMOST.quiet = INNERMOST.quiet, lambda: quiet_words(loud)

    def hear(kind, flag):
        word, source = CALLED.get(kind), locate()
        key = word, source and (source.code, source.lasti)
        if key not in seen:
            seen.add(key)
            told.append((word, source))

    try:
        with np.errstate(divide="call", over="call", invalid="call", call=hear):
            yield told
    finally:
        INNERMOST.quiet = before


def quiet_words(loud):
    """The words that NumPy's state asks to hear nothing of; loud: how it asks for the others."""
    return tuple([RAISED[found] for found, how in np.geterr().items() if found in RAISED and how not in loud])


def is_bad(x, word):
    if not isinstance(x, float | complex | np.ndarray | np.generic):
        return False
    x = np.asarray(x)
    return ir_kind(x.dtype) in "fc" and bool(REACHING[word](x).any())


PLAINLY = "The call ran as plain Python, uncompiled; what it has written stays written."
KNOWN = "It was computed while the function was traced, of numbers that are no arguments of the program."


def born_here(word, source, name, hint=PLAINLY):
    """The error of what NumPy has told of."""
    error = NumericalError(message(f"{word} in {name}", source, hint))
    error.word = word
    if source is not None:
        error.file, error.line, error.text = source.file, source.line, source.text
    return error
