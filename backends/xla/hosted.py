"""Python that XLA calls: what it raises, a KeyboardInterrupt among it, comes out of the program as itself.

XLA knows errors by their text alone, so the text says which exception it was.
"""

import itertools
import logging
import re

from ...ir.core import has
from ...ir.ops import OPS
from .. import native

KEPT = 16  # bound: exceptions that nobody has asked for yet
RAISED, NUMBERS = {}, itertools.count()
CALLS = {OPS[name] for name in ("host", "pointwise")}


class HostError(Exception):
    """Stands for an exception of Python's within XLA."""


class Quiet(logging.Filter):
    """Leaves out what jax logs of an exception that comes out of the program as itself."""

    def filter(self, record):
        return not (record.exc_info and isinstance(record.exc_info[1], HostError))


logging.getLogger("jax._src.callback").addFilter(Quiet())


def recording_errors(function):
    """`function`, for XLA to call."""

    def run(*operands):
        try:
            return function(*operands)
        except BaseException as error:
            number = next(NUMBERS)
            RAISED[number] = error
            while len(RAISED) > KEPT:
                RAISED.pop(min(RAISED), None)
            raise HostError(f"<exception {number} of Python's>") from error

    return run


def original(failure):
    """The exception of Python's that a failure of XLA's stands for, or the failure."""
    found = re.search(r"<exception (\d+) of Python's>", text := str(failure))
    # it came in JAX's own part of the call
    if found is None and re.search(r"callback.*^KeyboardInterrupt\b", text, re.DOTALL | re.MULTILINE):
        return KeyboardInterrupt()
    return RAISED.pop(int(found[1]), failure) if found else failure


def is_host_call(eqn):
    """Whether an equation runs Python."""
    return eqn.op in CALLS or bool(getattr(eqn.attrs.get("function"), "on_host", False))


def calls_python(func):
    """Whether a program runs Python."""
    return has(func, is_host_call)


def endures(func):
    """Whether a program may run for long, so that it is waited for with signals heard."""
    return native.endures(func) or calls_python(func)
