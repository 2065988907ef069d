"""Handlers of exceptions in code that is traced: what an `except` catches, and what a `try` around a check means."""

import sys

from ...ir.types import IRTypeError
from ..common.errors import ConcretizationError, DerivativeError, IntegerOverflow, LeakError, UnsupportedError, message
from ..common.frames import locate
from ..values.asked import refuse_all_sizes
from ..values.speculate import ByValue, RaisedBefore
from ..values.storage import current_trace

# about the tracing, not about the program
REFUSALS = (ConcretizationError, DerivativeError, IntegerOverflow, LeakError, UnsupportedError)
SIGNALS = (*REFUSALS, ByValue, RaisedBefore)


def unwinding(raised=False):
    """Whether a `finally` is run because tracing cannot go on, or begins again; `raised`: what the `except` around it
    catches, which is all that it raises then itself, with nobody to hear of it."""
    error = sys.exception()
    if not raised:
        return isinstance(error, SIGNALS)
    if isinstance(error, SIGNALS):
        return ()
    while error is not None and not isinstance(error, SIGNALS):
        error = error.__context__
    return () if error is None else (Exception,)


def handled(types=BaseException):
    """What an `except` catches: as it says, but never what says that tracing cannot go on, nor what tells of our
    classes where Python would tell of its own."""
    error = sys.exception()
    if error is None:  # asked what it would catch
        return types
    if isinstance(error, SIGNALS):
        return ()
    refuse_all_sizes("an exception is caught, which may come of a size")
    if isinstance(error, IRTypeError) or any(type(x) is str and "'Traced" in x for x in error.args):
        raise UnsupportedError(message(f"what Python says of this is not known while tracing: {error}", locate()))
    return types


class trying:
    """A `try` whose handlers, `types()`, end what they catch: an exception that only the running program meets does not
    come to them."""

    __slots__ = ("types", "root")
    handles, keyword = True, "except"

    def __init__(self, types):
        self.types, self.root = types, None

    def __enter__(self):
        trace = current_trace()
        if trace is not None:
            self.root = trace.root
            self.root.trying.append(self)

    def __exit__(self, *error):
        if self.root is not None:
            self.root.trying.pop()

    def __call__(self, error, text):
        """What the program says in place of `error`, where a handler would have caught that."""
        try:
            types = flat_types(self.types())
        except (AttributeError, NameError, LookupError, TypeError) as other:  # which plain Python would raise here
            return type(other), str(other)
        if not issubclass(error, types) or issubclass(error, REFUSALS):
            return error, text
        said = f"{error.__name__}: {text}".splitlines()[0].replace("{}", "…")
        said += f"\n  Python would go on in the `{self.keyword}` around it; a compiled program cannot."
        return UnsupportedError, message(said, locate(), "Test for it beforehand: y = a / b if b != 0 else 0.0.")


class finishing(trying):
    """A `try` whose `finally` does more than to leave values in names."""

    __slots__ = ()
    handles, keyword = False, "finally"

    def __init__(self):
        super().__init__(lambda: (BaseException,))


def flat_types(types):
    return tuple(t for part in types for t in (flat_types(part) if isinstance(part, tuple) else (part,)))
