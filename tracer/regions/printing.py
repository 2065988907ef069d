"""`print` and text made from traced values: formatted when the program runs, in order, once for each time Python
would."""

import builtins
import copy
import io
import sys
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards.context_managers import is_own, stream
from ..values.array import Traced, TracedArray
from ..values.storage import current_trace
from ..values.texts import VIEWS, TracedText, dict_behind
from ..values.variant import variants_in
from .builtins import replaces
from .convert import CELL
from .special import looked_up

LIBRARIES = ("builtins", "numpy", "collections", "datetime", "decimal", "fractions", "pathlib")
SPOKEN = ("__str__", "__repr__")
FIELDS = {-1: ("__format__", *SPOKEN), 115: SPOKEN}


def open_(x):
    """Whether something traced is in x."""
    if isinstance(x, Traced | TracedText):
        return True
    leaves = nested_leaves(x)
    for v in leaves:
        if (
            type(v).__module__ not in LIBRARIES
            and not isinstance(v, Traced | TracedText | type)
            and current_trace() is not None
        ):
            refuse_object(v)
    return any(isinstance(v, Traced | TracedText) for v in leaves)


def nested_leaves(x):
    """What is in lists, tuples and dicts, whatever their keys are."""
    if isinstance(x, dict):
        return [leaf for v in x.values() for leaf in nested_leaves(v)]
    if isinstance(x, list | tuple | VIEWS[0] | VIEWS[1]):
        return [leaf for v in x for leaf in nested_leaves(v)]
    return [x]


def refuse_object(x):
    if any(isinstance(v, Traced | TracedText) for v in getattr(x, "__dict__", {}).values()):
        hint = "Print the values themselves, or give the class a __str__ and print str(x)."
        raise UnsupportedError(
            message(f"the text of a {type(x).__name__} that holds traced values is asked for", locate(), hint)
        )


def worded(x, methods):
    """An object of a class of the user's as the text that its own method gives, which has hooks, and an exception that
    is made of traced values as text of those; all others as they are."""
    kind = type(x)
    if isinstance(x, BaseException) and methods and kind.__module__ in LIBRARIES and open_(x.args):
        said = repr if methods[0] == "__repr__" else str
        return TracedText(lambda args: said(kind(*args)), [x.args], "{…}")
    if current_trace() is None or kind.__module__ in LIBRARIES or isinstance(x, Traced | TracedText | type):
        return x
    looked_up(kind, *SPOKEN, "__format__")
    for name in methods:
        found = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), None)
        if isinstance(found, types.FunctionType) and is_user(found.__code__):
            if not found.__code__.co_filename.startswith("<"):
                return CELL.cell_contents.call(found)(x, *[""] * (name == "__format__"))
            current_trace().root.outside.function(found, False)
    refuse_object(x)
    current_trace().root.outside.rely(x)
    return x


def text(*parts):
    """An f-string: strings, and (value, conversion, format) for each field."""
    parts = [
        p if type(p) is str else (worded(p[0], FIELDS.get(p[1], ()) if not p[2] or p[1] != -1 else ()), *p[1:])
        for p in parts
    ]
    if not any(type(p) is tuple and (open_(p[0]) or open_(p[2])) for p in parts):
        return "".join([p if type(p) is str else field(*p) for p in parts])
    template = "".join(p if type(p) is str else "{…}" if open_(p[0]) else field(*p) for p in parts)
    fields = [p for p in parts if type(p) is tuple]
    form = [p if type(p) is str else p[1] for p in parts]  # which keeps no value alive

    def make(*values):
        values = iter(values)
        return "".join([p if type(p) is str else field(next(values), p, next(values)) for p in form])

    return TracedText(make, [v for p in fields for v in (p[0], p[2])], template)


def field(value, conversion, spec):
    value = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}[conversion](value)
    return format(value, spec or "")


def percent(form, values):
    """`form % values`: text, or a remainder."""
    if type(form) is not str or not open_(values):
        return form % values
    return TracedText(lambda v: form % v, [values], form)


@replaces(str)
def str_(*args, **kwargs):
    args = (worded(args[0], SPOKEN), *args[1:]) if len(args) == 1 and not kwargs else args
    return TracedText(str, args, "{…}") if len(args) == 1 and open_(args[0]) else builtins.str(*args, **kwargs)


@replaces(repr)
def repr_(x, /):
    told = worded(x, ("__repr__",))
    if told is not x:
        return told
    return TracedText(repr, [x], "{…}") if open_(x) else builtins.repr(x)


@replaces(ascii)
def ascii_(x, /):
    told = worded(x, ("__repr__",))
    escaped = ascii if told is x else lambda words: words.encode("ascii", "backslashreplace").decode()
    return TracedText(escaped, [told], "{…}") if open_(told) else escaped(told)


@replaces(format)
def format_(x, spec="", /):
    return TracedText(format, [x, spec], "{…}") if open_(x) else builtins.format(x, spec)


SPEAKING = {"__repr__": repr_, "__str__": str_, "__format__": format_}  # methods that are asked for by name


def formatted(form):
    """`form.format`, which may be given traced values."""

    def stand_in(*args, **kwargs):
        if not open_([args, kwargs]):
            return form.format(*args, **kwargs)
        return TracedText(lambda a, k: form.format(*a, **k), [args, kwargs], form)

    return stand_in


def joining(sep):
    """`sep.join`, which may be given text of traced values."""

    def stand_in(parts):
        parts = list(parts)
        for part in variants_in(parts):
            part.fail()
        return (
            TracedText(lambda p: sep.join(p), [parts], sep)
            if any(isinstance(p, TracedText) for p in parts)
            else sep.join(parts)
        )

    return stand_in


class Later:
    """Values some of which are traced: `operands`, and what is made of all when those are known. A leaf is (where,
    kind) or a plain object."""

    def __init__(self, values):
        self.operands = []
        self.plan = self.planned(values)

    def planned(self, x):
        if isinstance(x, TracedText):
            parts, make = [self.planned(v) for v in x.values], x.make
            return lambda given: make(*[p(given) for p in parts])
        if isinstance(x, Traced):
            at, kind = len(self.operands), None if isinstance(x, TracedArray) else x.weak or x.dtype.type
            self.operands.append(x.value)
            return lambda given: np.asarray(given[at]) if kind is None else kind(np.asarray(given[at])[()])
        if isinstance(x, VIEWS):
            held, shown = dict_behind(x)
            parts = self.planned(held)
            return lambda given: shown(parts(given))
        if isinstance(x, dict):
            parts = {k: self.planned(v) for k, v in x.items()}
            return lambda given: {k: p(given) for k, p in parts.items()}
        if type(x) in (list, tuple):
            parts, kind = [self.planned(v) for v in x], type(x)
            return lambda given: kind([p(given) for p in parts])
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            parts, kind = [self.planned(v) for v in x], type(x)
            return lambda given: kind(*[p(given) for p in parts])
        x = copy.copy(x) if isinstance(x, np.ndarray | set) else x
        return lambda given: x


class Print:
    """One `print` of the program."""

    __name__ = "print"

    def __init__(self, plan, sep, end, file, flush):
        self.plan, self.sep, self.end, self.file, self.flush = plan, sep, end, file, flush

    def __call__(self, *given):
        file = getattr(sys, self.file) if isinstance(self.file, str) else self.file
        builtins.print(*self.plan(given), sep=self.sep, end=self.end, file=file, flush=self.flush)
        return ()


# what a `with` changes while the function is traced, that is no more when the program runs -> the calls that this
# matters to
PASSING = {
    "redirect_stdout": ("print", "write", "writelines"),
    "redirect_stderr": ("print", "write", "writelines"),
    "catch_warnings": ("warn",),
}
PASSING |= {"printoptions": ("print", "write")}


def refuse_within(trace, name):
    """Refuse a call that the program makes when the `with` around it has ended."""
    around = next((w for w in trace.root.within if name in PASSING[w]), None)
    if around is not None:
        text = (
            f"{name}() is called by the running program, and the `with {around}(...)` around it holds while it is "
            "traced"
        )
        raise UnsupportedError(message(text, locate(), "Put the `with` around the call of the compiled function."))


def passing(real):
    """What a context manager is among PASSING, or None."""
    name = getattr(getattr(real, "func", None), "__name__", None) or type(real).__name__
    return name if name in PASSING else None


@replaces(print)
def print_(*args, sep=" ", end="\n", file=None, flush=False):
    trace = current_trace()
    if trace is None:
        return builtins.print(*args, sep=sep, end=end, file=file, flush=flush)
    if isinstance(file, io.StringIO) and is_own(file):
        if not open_([*args, sep, end]):
            return builtins.print(*[worded(x, SPOKEN) for x in args], sep=sep, end=end, file=file, flush=flush)
        text = "traced values are printed to a buffer that the function makes, and are known only when the program runs"
        raise UnsupportedError(message(text, locate(), "Print them, or pass the buffer as an argument."))
    refuse_within(trace, "print")
    file = "stdout" if file is None else stream(file) or file
    if type(file) is not str:
        trace.root.outside.acted = "print()"  # which whoever asks the file would see
    args = [worded(x, SPOKEN) for x in args]
    open_(args)
    later = Later(args)
    trace.act(Print(later.plan, sep, end, file, flush), later.operands)
    return None
