"""What holds for a while, around the code that asks for it: locks, streams, exceptions that NumPy is to raise. A trace
is over when the program runs.

A lock that a trace takes is free again when the program runs, and a program raises nothing where NumPy's flags ask for
it: both are refused. What is written to a stream from outside is written by the running program; a stream or lock that
the function makes itself is its own affair.
"""

import copy
import io
import sys
import warnings

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.storage import current_trace
from .purity import place_of

STREAMS = ("stdout", "stderr")
WRITING = {"write", "writelines", "flush"}
# of a buffer in memory: what it holds, and where
TELLING = {"getvalue", "tell", "getbuffer", "readable", "writable", "seekable"}
LOCKING = ("threading", "_thread", "multiprocessing.synchronize", "_multiprocessing")
LOCKS = {
    "lock", "LockType", "RLock", "_RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "Event", "SemLock",
    "Lock",
}
MAKING = {
    "allocate_lock", "Lock", "lock", "RLock", "_RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier",
    "Event",
}
RAISING = {"raise", "call", "print", "log", "error"}  # what NumPy or `warnings` is to do that a program does not do
TEST = "Test for it: `if (x == 0).any(): ...`, or leave that part outside of the compiled function."


def read_stream(name):
    """Note that the function reads sys.stdout or sys.stderr: the object found there stands for what is there at the
    call."""
    current_trace().root.streams[id(getattr(sys, name))] = name


def stream(x):
    """As which of Python's streams the function has read x, "stdout" or "stderr", or None."""
    name = current_trace().root.streams.get(id(x)) if current_trace() is not None else None
    return name if name is not None and getattr(sys, name) is x else None


def stream_of(f):
    """Which of Python's streams the method `f` writes to, or None."""
    owner = getattr(f, "__self__", None)
    return None if owner is None or getattr(f, "__name__", None) not in WRITING else stream(owner)


def keep(f, /, *args, **kwargs):
    """A lock or buffer that the function makes: nobody else has it."""
    made = f(*args, **kwargs)
    current_trace().root.made.append(made)
    return made


def is_own(x):
    return any(x is made for made in current_trace().root.made)


def makes(f):
    """Whether calling `f` makes a lock or a buffer."""
    if f is io.StringIO or f is io.BytesIO:
        return True
    module, name = place_of(f)
    return module in LOCKING and name in MAKING


def is_lock(f):
    """Whether `f` is a method of a lock, or of what is made of locks, that takes it, gives it back, or asks about
    it."""
    module, name = place_of(f)
    kind, dot, method = name.partition(".")
    return module in LOCKING and bool(dot) and kind in LOCKS and not (kind == "Event" and method in ("is_set", "isSet"))


def of_lock(f, /, *args, **kwargs):
    """A method of a lock, called."""
    owner = getattr(f, "__self__", args[0] if args else None)
    if is_own(owner):
        return f(*args, **kwargs)
    name = place_of(f)[1]
    kind, _, method = name.partition(".")
    what = "`with` a" if method in ("__enter__", "__exit__") else f"{method}() of a"
    text = (
        f"{what} {kind}: that would be done while the function is traced, and once; the running program does not hold "
        "it"
    )
    raise UnsupportedError(
        message(text, locate(), "Put the `with`, or the call, around the call of the compiled function.")
    )


def raising(f, /, *args, **kwargs):
    """np.seterr, and filters of warnings, which may ask for exceptions."""
    found = next((x for x in (*args, *kwargs.values()) if isinstance(x, str) and x in RAISING), None)
    if found is not None:
        refuse_raising(f"{f.__name__}({found!r})")
    return f(*args, **kwargs)


def refuse_raising(what):
    text = (
        f"{what} asks for what a compiled program does not do: it raises, calls and prints nothing where NumPy's "
        "flags or warnings say so"
    )
    raise UnsupportedError(message(text, locate(), TEST))


def refuse_manager(real):
    """Refuse np.errstate, or warnings.catch_warnings, where an exception is asked for."""
    if isinstance(real, np.errstate):
        with np.errstate(all="ignore"), copy.copy(real):
            found = next(((k, v) for k, v in np.geterr().items() if v in RAISING), None)
        if found is not None:
            refuse_raising(f"np.errstate({found[0]}={found[1]!r})")


def refuse_filters(real, before):
    """Likewise, when `catch_warnings` has been entered: what it puts in front of the filters."""
    if warnings.filters[:1] != before and warnings.filters[:1] and warnings.filters[0][0] == "error":
        real.__exit__(None, None, None)
        refuse_raising("warnings.catch_warnings(action='error')")


ASKING = {np.seterr, warnings.simplefilter, warnings.filterwarnings}  # functions that may ask for exceptions
