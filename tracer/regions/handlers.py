"""Handlers of exceptions in code that is traced: what an `except` catches, and what a `try` around a check means."""

import sys

from ...ir.types import IRTypeError
from ..common.errors import ConcretizationError, DerivativeError, IntegerOverflow, LeakError, UnsupportedError, message
from ..common.frames import locate
from ..values.asked import refuse_all_sizes
from ..values.storage import current_trace

# about the tracing, not about the program
REFUSALS = (ConcretizationError, DerivativeError, IntegerOverflow, LeakError, UnsupportedError)


def handled(types=BaseException):
    """What an `except` catches: as it says, but never what says that tracing cannot go on, nor what tells of our
    classes where Python would tell of its own."""
    error = sys.exception()
    if isinstance(error, REFUSALS):
        return ()
    refuse_all_sizes("an exception is caught, which may come of a size")
    if isinstance(error, IRTypeError) or any(type(x) is str and "'Traced" in x for x in error.args):
        raise UnsupportedError(message(f"what Python says of this is not known while tracing: {error}", locate()))
    return types


class trying:
    """A `try` whose handlers, `types()`, end what they catch: an exception that only the running program meets does not
    come to them."""

    __slots__ = ("types", "root")

    def __init__(self, types):
        self.types, self.root = types, None

    def __enter__(self):
        trace = current_trace()
        if trace is not None:
            self.root = trace.root
            self.root.trying.append(self.catches)

    def __exit__(self, *error):
        if self.root is not None:
            self.root.trying.pop()

    def catches(self, error, text):
        """What the program says in place of `error`, where a handler would have caught that."""
        try:
            types = flat_types(self.types())
        except (AttributeError, NameError, LookupError, TypeError) as other:  # which plain Python would raise here
            return type(other), str(other)
        if not issubclass(error, types):
            return error, text
        said = f"{error.__name__}: {text}".splitlines()[0]
        said += "\n  Python would go on in the `except` around it; a compiled program cannot."
        return UnsupportedError, message(said, locate(), "Test for it beforehand: y = a / b if b != 0 else 0.0.")


def flat_types(types):
    return tuple(t for part in types for t in (flat_types(part) if isinstance(part, tuple) else (part,)))
