"""Calls that ask the world: made again at every call of the program, before it, and compared with what they gave the
trace.

What such a call gives as an array is an input of the program. All else is relied on: compared part by part where each
call makes it anew (`portrait`), and like any other outside place where it is an object that was there.
"""

import copy
import datetime
import decimal
import fractions
import pathlib
import types
import uuid

import numpy as np

from .guard import MISSING, SCALARS, Read, Same, snapshot

RAISED = (OSError, ValueError, LookupError)  # what asking may end in: that is an answer too
COMPARED = (
    pathlib.PurePath, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, fractions.Fraction,
    decimal.Decimal, uuid.UUID,
)
COMPARED += (np.dtype, range, slice, types.MappingProxyType)
DEEPEST = 8


class Failed:
    """In place of an answer: the exception that there was."""

    def __init__(self, error):
        self.error = error


class Asked(Read):
    """One such call. fresh: whether what it gives is made by the call; again: the call, as the guard makes it."""

    __slots__ = ("function", "args", "kwargs", "fresh", "again", "seen", "error")

    def __init__(self, function, args, kwargs, number, name, source, fresh):
        owner = getattr(function, "__self__", function)
        self.function, self.args, self.kwargs, self.fresh = (
            function,
            copied_arguments(args),
            copied_arguments(kwargs),
            fresh,
        )
        self.again, self.seen, self.error = self.get, None, None
        key = (
            getattr(function, "__name__", ""),
            snapshot(tuple(args)),
            tuple((k, snapshot(v)) for k, v in sorted(kwargs.items())),
            number,
        )
        super().__init__("call", owner, key, name, source)
        if type(self.value) is Failed:
            self.error, self.value = self.value.error, self.value if fresh else MISSING
        elif fresh and not isinstance(self.value, np.ndarray):
            self.seen = portrait(self.value)

    def get(self):
        """What the call gives now. An input is wanted at once: there an exception is the caller's."""
        if self.how == "input":
            return self.function(*copied_arguments(self.args), **copied_arguments(self.kwargs))
        try:
            return self.function(*copied_arguments(self.args), **copied_arguments(self.kwargs))
        except RAISED as error:
            return Failed(error)

    def text(self, named):
        return f"{named(self.again)}()"

    def test(self, named, quick=False):
        if self.how == "input" and isinstance(self.value, np.ndarray):
            return None  # asked where it is taken in
        if self.error is not None or self.seen is not None and self.how == "value":
            was = portrait(Failed(self.error)) if self.error is not None else self.seen
            return f"{named(portrait)}({self.text(named)}) == {named(was)}"
        return super().test(named)

    def describe(self):
        return super().describe() if self.error is None else f"{self.name} raises {type(self.error).__name__}"


def copied_arguments(x):
    """Arguments as they are now: containers are copied."""
    if type(x) is dict:
        return {k: copied_arguments(v) for k, v in x.items()}
    return copy.deepcopy(x) if isinstance(x, list | set) else tuple(map(copied_arguments, x)) if type(x) is tuple else x


class Unlike(Exception):
    """Something can only be told from another by identity, which says nothing of what a call has made."""


def portrait(x, depth=0):
    """What tells one answer from another: parts all the way down."""
    kind = type(x)
    if kind is Failed:
        return Failed, type(x.error), str(x.error)
    if isinstance(x, np.ndarray):
        return (kind, Same(x)) if x.dtype.hasobject else (kind, x.dtype, x.shape, x.tobytes())
    if isinstance(x, (*SCALARS, np.generic)):
        return snapshot(x)
    if isinstance(x, COMPARED):
        return kind, x
    if depth > DEEPEST:
        raise Unlike
    if isinstance(x, dict):
        return kind, tuple((portrait(k, depth + 1), portrait(v, depth + 1)) for k, v in x.items())
    if isinstance(x, list | tuple):
        return kind, tuple(portrait(v, depth + 1) for v in x)
    if isinstance(x, set | frozenset):
        return kind, frozenset(portrait(v, depth + 1) for v in x)
    if isinstance(x, type | types.FunctionType | types.BuiltinFunctionType | types.ModuleType):
        return Same(x)
    if kind.__module__.startswith(("scipy.", "decimal")) and hasattr(x, "__dict__"):
        return kind, portrait(vars(x), depth + 1)
    raise Unlike


def context():
    """What decides the digits of decimal numbers, in words."""
    c = decimal.getcontext()
    return (
        f"{c.prec} {c.rounding} {c.Emin} {c.Emax} {c.capitals} {c.clamp} "
        f"{[k.__name__ for k, on in c.traps.items() if on]}"
    )
