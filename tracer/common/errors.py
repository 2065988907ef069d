"""What users see when something cannot be done: the situation, their line, and what to write instead."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.source import Source
from .frames import caller_of, is_meant, is_ours, user_level, without_internals

SPELLED = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    np.ndarray,
    np.generic,
    np.dtype,
    range,
    slice,
    type(Ellipsis),
)
BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}
SHAPE = re.compile(r"(?<=\w)\[[\d<=, x]*\]")
HOME = __name__.partition(".")[0]


def shown(x: object, most: int = 40) -> str:
    """An object in a message: as Python writes it if that calls no method of the user's, else by its class."""
    text = _shown(x, most)
    return text if len(text) <= most else text[: most - 3] + "..."


def _shown(x: Any, most: int) -> str:
    kind = type(x)
    if hasattr(kind, "__told__"):  # what may be shown in messages alone
        return str(kind.__told__(x))
    if kind in SPELLED or issubclass(kind, np.generic) or kind.__module__.partition(".")[0] == HOME:
        return repr(x)
    if kind in (list, tuple, set, dict) and len(x) <= most:
        inside = (
            [f"{shown(k, most)}: {shown(v, most)}" for k, v in x.items()]
            if kind is dict
            else [shown(v, most) for v in x]
        )
        first, last = BRACKETS[kind]
        return f"{first}{', '.join(inside)}{',' if kind is tuple and len(x) == 1 else ''}{last}"
    if isinstance(x, type):
        return f"the class {x.__qualname__}"
    if isinstance(x, types.FunctionType | types.BuiltinFunctionType):
        return f"the function {x.__qualname__}"
    return f"a {kind.__name__}"


class WengertError(Exception):
    """Base of the errors raised about a traced program.

    divides: whether a function that cannot be captured runs in pieces then, of which some are compiled: not where these
    would be refused too, or would make anew what plain Python asks for behind them."""

    divides = True


class ConcretizationError(WengertError, TypeError):
    """Python asked for the number behind a value that is only known at run time."""


class LeakError(WengertError, RuntimeError):
    """A traced value was used after its trace had ended, or in a trace that does not contain it."""


class UnsupportedError(WengertError, TypeError):
    """A NumPy function, a dtype or an argument that cannot be captured."""


class CannotRoll(UnsupportedError):
    """A loop or branch on data whose body does what one traced body cannot stand for."""


class Overrun(UnsupportedError):
    """A program of a size that is not worth its compilation: of Python's own values one by one, in loops or lists."""

    divides = False


class Overran(Overrun):
    """A program that takes too long to trace; or, where it has come to `count` equations, to its first answer."""

    count = 0


class Debugged(UnsupportedError):
    """A function starts a debugger, which is to stop in its own frame."""

    divides = False


class Unsettled(UnsupportedError):
    """A function that is to be traced anew at each call; those that its traces were made for are still compiled."""


class Untold(UnsupportedError):
    """Python raises an exception of which only Python can make the parts, such as numbers that data decide.

    error: the same as far as a program can tell it, None where it is to be this one.
    """

    error: BaseException | None = None

    @classmethod
    def of(cls, error: BaseException) -> Untold:
        made = cls(f"{type(error).__name__} is raised with a number in it that only the running program knows")
        made.error = error
        return made

    @classmethod
    def unless(cls, told: bool, error: BaseException) -> BaseException:
        """The exception itself, if it is told in full."""
        return error if told else cls.of(error)


class DeepRecursion(UnsupportedError, RecursionError):
    """A function calls itself while it is traced until Python's stack is full."""


class IntegerOverflow(WengertError, OverflowError):
    """A Python int of the compiled program went beyond 64 bits, where Python's goes on."""


class NoTrip(WengertError, UnboundLocalError):
    """A name that only a loop binds is read where the loop may have run no trip; it is checked where the loop ends."""


class ShapeError(WengertError, ValueError):
    """Shapes that do not fit, where NumPy raises ValueError. Its words are the first line of a `message`, the rest a
    note."""

    def __init__(self, text: str = "") -> None:
        words, _, more = text.partition("\n")
        super().__init__(words)
        if more:
            self.add_note(more)


class DerivativeError(WengertError, TypeError):
    """A derivative was asked of something that has none."""


class RuleError(DerivativeError, NotImplementedError):
    """A derivative was asked of a value of which a rule given by hand says nothing."""


class CheckError(WengertError, AssertionError):
    """Two things that are to be one differ: compiled and plain Python under `jit(check=True)`, sides of a `rule`, or
    what several processes are about to run together. The message says where."""


class ExportError(WengertError, ValueError):
    """A file that is to be loaded is none that `f.export` wrote, or is not as it was written; or what it holds cannot
    run here, or is called with other arguments than it was exported for."""


class NumericalError(WengertError, FloatingPointError):
    """A number was born that `jit(f, debug=)`, or NumPy's error state around a derivative, asks to hear of.

    word: what it was, of those asked for; file, line, text: the user's line; expression: the part of it that was
    computed; variable, index: the variable that holds the number, and where in it; trips: (((file, line) of the loop,
    the iteration, from 0), ...), outermost first; lane: of a `vmap`; adjoint: whether it is part of a derivative of the
    line; operands: {how they are spelled: their values, as text}; result: where it arrives; cause_line: the line in
    which the infinity was born that a NaN was made of.
    """

    word: str | None = None
    file: str | None = None
    line: int | None = None
    text: str | None = None
    expression: str | None = None
    variable: str | None = None
    index: tuple[int, ...] = ()
    trips: tuple[Any, ...] = ()
    lane: int | tuple[int, ...] | None = None
    adjoint: bool = False
    operands: dict[str, str] = {}
    result: str | None = None
    cause_line: int | None = None


# what is said of a program, not of the function it was made of: plain Python has an answer where these are raised
REFUSALS = ConcretizationError, LeakError, UnsupportedError, IntegerOverflow


class Fallback(UserWarning):
    """A call ran as plain Python, uncompiled; the message says why."""


def message(
    situation: str, source: Source | None = None, instead: str | None = None, caller: Source | None = None
) -> str:
    """One screen: the situation, the user's file, line and text, and the spelling that works.

    caller: the user's line that called the library in which `source` is; None: the innermost that runs now.
    """
    lines = [situation]
    if source is not None:
        lines += _place("at", source)
        caller = caller or caller_of(source)
        lines += _place("called from", caller) if caller else []
    if instead:
        lines += [f"  {line}" for line in instead.splitlines()]
    return "\n".join(lines)


OUT_OF_RANGE = (34, "Numerical result out of range")  # what Python's OverflowError of a power is made of


def with_note(kind: type[BaseException], text: str) -> BaseException:
    """The exception for a `message`: of Python's own kinds, its words alone are the exception's, for programs print
    them and ask for them; what `message` adds is a note, which tracebacks show."""
    words, _, more = (text, "", "") if issubclass(kind, WengertError) else text.partition("\n")
    error = kind(*OUT_OF_RANGE) if words == str(OUT_OF_RANGE) else kind(words) if words else kind()
    if more:
        error.add_note(more)
    return error


def with_args(kind: type[BaseException], args: tuple[Any, ...], text: str) -> BaseException:
    """An exception made of these arguments, as Python makes it; what else there is to say is a note."""
    error = kind(*args)
    if text != str(error):
        error.add_note(text)
    return error


def called_outside(function: Any, args: Any, kwargs: Any) -> Any:
    """A call whose exceptions do not tell of what was being handled here: that is none of the user's."""
    handled = passed = sys.exception()
    while passed is not None and is_own(passed):
        passed = passed.__context__
    try:
        return function(*args, **kwargs)
    except BaseException as error:
        at: BaseException | None = error
        while at is not None and handled is not passed:
            if at.__context__ is handled:
                at.__context__ = passed
                break
            at = at.__context__
        raise


def as_seen(error: BaseException) -> None:
    """Take our frames out of the traceback of an exception that leaves a compiled function. One that nobody meant to
    raise, for it comes from the midst of our code, keeps them."""
    if isinstance(error, WengertError) or is_meant(error.__traceback__):
        without_internals(error, is_ours)
        without_signals(error)


def without_signals(error: BaseException) -> None:
    """Have an exception not tell that it was raised while a call looked for its program: that is none of the user's."""
    within = error.__context__
    if within is None or isinstance(within, WengertError) or type(within).__module__.partition(".")[0] != HOME:
        return
    while within is not None and is_own(within):
        within = within.__context__
    error.__context__ = within


def is_own(error: BaseException) -> bool:
    """Whether an exception is our way of going on."""
    return type(error).__module__.partition(".")[0] in (HOME, "jax", "jaxlib")


def numpy_words(function: Callable[..., Any], *args: Any) -> str:
    """What NumPy says of arguments for which it raises ValueError."""
    try:
        function(*args)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{function} takes these")


def of_shape(shape: tuple[int, ...]) -> np.ndarray:
    """An array of that shape without memory for its elements."""
    return np.broadcast_to(np.zeros(()), shape)


def _place(word: str, source: Source) -> list[str]:
    """The lines of a message that name a line of code and show it."""
    file = _shown_file(source.file, os.getcwd())
    text = linecache.getline(source.file, source.line).strip()
    return [f"  {word} {file}:{source.line}", *([f"    {text}"] if text else [])]


@functools.lru_cache(1024)
def _shown_file(file: str, here: str) -> str:
    """A file as it is called from the folder `here`: by a relative path if it is below that. A message may be made for
    each check of a program, and most are never shown."""
    if not os.path.isabs(file):
        return file
    found = os.path.relpath(file, here)
    return file if found.startswith(os.pardir) else found


def without_sizes(text: str) -> str:
    """A text in which shapes are all alike: what is said of `f64[<=340]` is said of `f64[<=254]` too."""
    return SHAPE.sub("[]", text)


def warn_fallback(reason: str) -> None:
    """Warn at the user's line that made the call."""
    warnings.warn(Fallback(reason), stacklevel=user_level())
