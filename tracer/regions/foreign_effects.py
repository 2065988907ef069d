"""Calls without hooks that act on the world: ordered calls of the program, with the words and lines of Python."""

import functools
import io
import logging
import sys
import types
import warnings

import numpy as np

from ...ir.types import Tensor
from ..common.errors import UnsupportedError, message
from ..common.frames import PART, internal, locate
from ..common.origin import is_user
from ..guards import isolation
from ..guards.context_managers import is_own, stream_of
from ..guards.purity import COUNTS, place_of
from ..values.array import WEAK_DTYPES, Traced, TracedScalar
from ..values.storage import current_trace
from ..values.texts import TracedText
from .printing import Later, open_, refuse_within, worded

QUIET = ("logging", "warnings", "_warnings", "time", "gc")  # ACTS that change nothing that is asked


def name_of(f):
    """What is called, as a user would write it."""
    module, name = place_of(f)
    shown = getattr(f, "__module__", None) or module
    if isinstance(getattr(f, "__self__", None), types.ModuleType):
        shown = f.__self__.__name__
    shown = {"posix": "os", "posixpath": "os.path", "genericpath": "os.path", "numpy": "np"}.get(
        shown.removeprefix("_"), shown.removeprefix("_")
    )
    return name if shown in ("builtins", "") else f"{shown}.{name}"


def is_users(x):
    f = x.__func__ if type(x) is types.MethodType else x
    return type(f) is types.FunctionType and is_user(f.__code__)


class Act:
    """One call of the running program."""

    def __init__(self, f, plan, kind, name):
        self.f, self.plan, self.kind, self.__name__ = f, plan, kind, name

    def __call__(self, *given):
        args, kwargs = self.plan(given)
        out = self.f(*args, **kwargs)
        return () if self.kind is None else (np.asarray(0 if out is None else out, WEAK_DTYPES[self.kind]),)


def note_functions(args, kwargs):
    """Rely on what functions of the user's read that an object of C's is made of, which will call them."""
    for x in (*args, *kwargs.values()):
        if is_users(x):
            current_trace().root.outside.stray.begin()
            current_trace().root.outside.function(x.__func__ if type(x) is types.MethodType else x, False)


def act(f, /, *args, **kwargs):
    """A call that acts on the world: the program makes it, in order with all others."""
    trace, place = current_trace(), place_of(f)
    refuse_within(trace, place[1].rpartition(".")[2] or place[1])
    isolation.refuse(f"it calls {name_of(f)}()")
    for x in (*args, *kwargs.values()):
        if isinstance(x, io.StringIO | io.BytesIO) and is_own(x):
            text = f"{name_of(f)}(), which the running program calls, is given a buffer that the function makes"
            raise UnsupportedError(message(text, locate(), "Pass the buffer as an argument."))
        trace.root.outside.pin(x)
    if place[0] not in QUIET:
        trace.root.outside.acted = f"{name_of(f)}()"
    spoken = name_of(f)
    if place in PREPARED:
        f, args, kwargs = PREPARED[place](f, args, kwargs)
    args = [worded(x, ("__str__", "__repr__")) if is_spoken(x) else x for x in args]
    open_([*args, *kwargs.values()])
    stream = stream_of(f)
    counts = place[1].rpartition(".")[2] in COUNTS and (stream is None or isinstance(f.__self__, io.TextIOBase))
    later, kind = Later((list(args), kwargs)), int if counts else None
    results = () if kind is None else (Tensor((), WEAK_DTYPES[kind]),)
    out = trace.act(
        Act(f if stream is None else writer(stream, f.__name__), later.plan, kind, spoken), later.operands, results
    )
    return None if kind is None else TracedScalar(out[0], kind)


def writer(stream, name):
    """A method of what sys.stdout or sys.stderr is when it is called."""
    return lambda *args, **kwargs: getattr(getattr(sys, stream), name)(*args, **kwargs)


def is_spoken(x):
    """Whether the text of an argument is the user's affair, whose class says it."""
    return not isinstance(x, Traced | TracedText | BaseException) and type(x).__module__ not in (
        "builtins",
        "numpy",
        "pathlib",
        "logging",
    )


def caller(level):
    """-> (file, line, globals) of the user's function that is running, or of one that called it."""
    frame = sys._getframe(1)
    found, part = None, False
    while frame is not None:
        if not internal(frame.f_code):
            if not part:
                if found is not None and level <= 0:
                    break
                found, level = frame, level - 1
            part = frame.f_code.co_qualname.endswith(PART)  # a part of a function: the rest of it comes next
            if level <= 0 and not part:
                break
        frame = frame.f_back
    return found.f_code.co_filename, found.f_lineno, found.f_globals


def warning(f, args, kwargs):
    """`warnings.warn`, of the line where it stands; what was shown there is kept where Python keeps it."""

    def bound(message, category=None, stacklevel=1, source=None, **more):
        return message, category, stacklevel

    text, category, level = bound(*args, **kwargs)
    file, line, space = caller(level)
    if isinstance(text, Warning):
        category = type(text)
    return functools.partial(warn, category or UserWarning, file, line, space), (text,), {}


def warn(category, file, line, space, text):
    registry = space.setdefault("__warningregistry__", {})
    warnings.warn_explicit(text, category, file, line, space.get("__name__") or "<string>", registry)


def explicit(f, args, kwargs):
    """`warnings.warn_explicit`, whose registry and globals are the caller's objects."""
    names = "message category filename lineno module registry module_globals source".split()
    given = dict(zip(names, args)) | kwargs
    whole = {k: given.pop(k) for k in ("registry", "module_globals", "source") if k in given}
    return functools.partial(f, **whole), (), given


def record(f, args, kwargs):
    """A message to a logger, of the line where it stands."""
    owner = getattr(f, "__self__", None)
    logger, level = owner if isinstance(owner, logging.Logger) else None, level_of(f, args)
    args = list(args[1:] if f.__name__ == "log" else args)
    if kwargs.get("exc_info") or kwargs.get("stack_info"):
        raise UnsupportedError(
            message("a traced function logs the state of the interpreter", locate(), "Log the values alone.")
        )
    file, line, space = caller(kwargs.get("stacklevel", 1))
    text, *values = args
    return functools.partial(log, logger, level, file, line), (text, tuple(values)), {"extra": kwargs.get("extra")}


def level_of(f, args):
    """The level of a message to a logger."""
    name = f.__name__
    level = args[0] if name == "log" else {"warn": "WARNING", "fatal": "CRITICAL"}.get(name, name.upper())
    return level if isinstance(level, int) else getattr(logging, level)


def is_unheard(f, args):
    """Whether a message is to a logger of the user's that does not take it now. The functions of the module itself set
    up handlers too."""
    owner = getattr(f, "__self__", None)
    if type(owner) is not logging.Logger or f.__name__ not in LEVELS or f.__name__ == "log" and not args:
        return False
    return not owner.isEnabledFor(level_of(f, args))


def log(logger, level, file, line, text, values, extra):
    if logger is None:
        logger = logging.getLogger()
        if not logger.handlers:
            logging.basicConfig()
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, file, line, text, tuple(values), None, None, extra))


LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "fatal", "log")


PREPARED = {(m, "warn"): warning for m in ("warnings", "_warnings")}
PREPARED |= {(m, "warn_explicit"): explicit for m in ("warnings", "_warnings")}
PREPARED |= {("logging", n): record for level in LEVELS for n in (level, f"Logger.{level}")}
