"""Calls of what has no hooks: functions of libraries and of C. What is known to be pure runs as it is, and nothing else
does.

`purity` says what is known. What reads the world is asked at every call (`asked`), what acts on it acts at every call,
in order, as `print` does; clocks are read where they stand (`draws`); the rest is refused, with the line.
"""

import contextlib
import functools
import io
import sys
import traceback
import types

import numpy as np

from ...ir.bounded import Limited
from ..common.errors import ConcretizationError, UnsupportedError, WengertError, message
from ..common.frames import GENERATED, locate
from ..common.origin import is_user
from ..guards import isolation
from ..guards.context_managers import (
    ASKING,
    TELLING,
    WRITING,
    is_lock,
    is_own,
    keep,
    makes,
    of_lock,
    raising,
    stream_of,
)
from ..guards.draws import GENERATORS, refuse_state
from ..guards.purity import ACTS, PURE, READS, REFUSED, UNKNOWN, place_of, verdict
from ..guards.reliance import of_user
from ..guards.repeated_calls import Asked, Unlike
from ..guards.state import TRANSPARENT, inside
from ..numpy_api.handles import is_traced
from ..rewriter.converted import belongs
from ..values.array import Traced
from ..values.storage import current_trace
from ..values.texts import TracedText
from ..values.variant import variants_in
from .convert import CELL, convert
from .debuggers import is_debugger, is_off, refuse_debugger
from .foreign_effects import act, is_unheard, is_users, level_of, name_of
from .host_calls import host_call, may_be_called, or_hosted
from .jax_calls import of_jax
from .jax_functions import is_jax

TEXTS = (io.StringIO, io.BytesIO)  # files that a function makes, and nobody else sees
ADVICE = "Call it outside, and pass what it gives as an argument."
# give an object that was there
THERE = {"ContextVar.get", "getcontext", "ReferenceType.__call__", "current_thread", "main_thread"}
# how many arguments make a clock's function one of them alone
TIMELESS = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
DECORATED = contextlib.ContextDecorator().__call__(len).__code__  # its closure: the function, the manager
CALLING = (
    "builtins", "itertools", "functools", "_functools", "heapq", "_heapq", "bisect", "_bisect", "re", "statistics",
    "contextlib",
)
CALLING += ("numpy", "scipy")
NUMBERS = ("scipy", "re", "bisect", "_bisect")  # of those, they that call with plain numbers or text from C
OWNED = ("scipy.sparse", "scipy.interpolate")  # libraries whose objects change in place
# what of these is asked, no ACTS change
APART = ("contextvars", "_contextvars", "threading", "_thread", "sys", "scipy", "weakref")
BUFFERS = (io.StringIO, io.BytesIO)
CAPTURING = set()  # code of our functions that have no other function of the user's called than with hooks
_verdicts = Limited()  # code, or a builtin function -> the verdict on it


def judged(f):
    """The verdict on what is called, and whether to hand it hooked functions; one look-up for all that is of a
    module."""
    kind = type(f)
    if kind is types.FunctionType:
        key = f.__code__
    elif kind is types.BuiltinFunctionType and type(f.__self__) is types.ModuleType:
        key = f
    else:
        return verdict(f)
    known = _verdicts.get(key)
    if known is None:
        known = _verdicts[key] = verdict(f)
    return known


def foreign(f):
    """What to call, while tracing, in place of a function, method or class that has no hooks."""
    if stream_of(f) is not None:
        return functools.partial(act, f)
    if is_jax(f):
        return functools.partial(of_jax, otherwise(f), f)
    return otherwise(f)


def otherwise(f):
    """The same of what is not JAX's, or is not called with traced values."""
    if getattr(f, "__code__", None) is DECORATED:
        given = (f.__self__,) if type(f) is types.MethodType else ()
        return functools.partial(convert(decorated_by), *(cell.cell_contents for cell in f.__closure__), *given)
    found = judged(f)
    if found in (PURE, UNKNOWN) or isinstance(getattr(f, "__self__", None), BUFFERS):
        held = holding(f)
        if held is not None:
            return functools.partial(of_one_thing, held, f)
    if found == PURE:
        note_wrapped(f)
        return functools.partial(dumped, of_owner(f)) if place_of(f)[1] == "dumps" else of_owner(f)
    if found == READS:
        return functools.partial(ask, f)
    if found == ACTS:
        return functools.partial(act if place_of(f)[0] != "logging" else logged, f)
    return functools.partial(refuse_call, f, found)


def decorated_by(function, manager, /, *args, **kwargs):
    """A function that a context manager decorates [contextlib.ContextDecorator]."""
    with manager._recreate_cm():
        return function(*args, **kwargs)


def logged(f, /, *args, **kwargs):
    """A message to a logger: none of the program's while nobody hears it, which is asked at every call."""
    if is_unheard(f, args) and current_trace().root.outside.acted is None:
        if not ask(f.__self__.isEnabledFor, level_of(f, args)):
            return None
    return act(f, *args, **kwargs)


def dumped(f, /, *args, **kwargs):
    """A function that writes objects as bytes: the state of a generator is the program's to know."""
    if any(isinstance(x, GENERATORS) for x in args):
        refuse_state("dumps")
    return f(*args, **kwargs)


def holding(f):
    """What calls a function or method of locks, buffers in memory, or the flags that ask for exceptions; None for all
    others."""
    if type(f) is types.FunctionType and f in ASKING:
        return raising
    if isinstance(getattr(f, "__self__", None), BUFFERS):
        return of_buffer
    return keep if makes(f) else of_lock if is_lock(f) else None


def of_buffer(f, /, *args, **kwargs):
    """A method of a StringIO or BytesIO: of one from outside at every call, of the function's own at once."""
    if is_own(f.__self__):
        if is_traced([*args, *kwargs.values()]) or any(isinstance(x, TracedText) for x in args):
            text = (
                "text of traced values is written to a buffer that the function makes, and is known only when the "
                "program runs"
            )
            raise UnsupportedError(message(text, locate(), "Print it, or pass the buffer as an argument."))
        return f(*args, **kwargs)
    if f.__name__ in WRITING:
        return act(f, *args, **kwargs)
    return ask(f, *args, **kwargs) if f.__name__ in TELLING else refuse_call(f, REFUSED, *args, **kwargs)


def note_wrapped(f):
    """Rely on what a function of the user's reads that a library's decorator has put behind one of its own."""
    if type(f) is types.FunctionType and (f.__code__ in CAPTURING or f.__code__.co_filename == GENERATED):
        return
    for cell in f.__closure__ or () if type(f) is types.FunctionType else ():
        held = cell.cell_contents if cell != types.CellType() else None
        # what a function inside a traced one names is within the trace
        if type(held) is types.FunctionType and is_user(held.__code__) and not belongs(held.__code__):
            current_trace().root.outside.function(held, False)


def of_owner(f):
    """A pure function, its functions hooked; of an outside object that may change in place, asked at every call."""
    owner = f.__self__ if type(f) in (types.MethodType, types.BuiltinFunctionType) else f
    # code without hooks
    unseen = (
        isinstance(owner, types.GeneratorType)
        or isinstance(owner, np.ufunc)
        and owner.__name__.endswith("(vectorized)")
    )
    if unseen and current_trace().root.outside.knows(owner):
        return functools.partial(refuse_call, f, REFUSED)
    if may_change(owner):
        return functools.partial(ask, f)
    home = place_of(f)[0]
    if home.partition(".")[0] in CALLING and (not isinstance(f, type) or home == "itertools"):
        return functools.partial(calling if home.partition(".")[0] != "scipy" else calling_or_hosted, f)
    return f


def calling_or_hosted(f, /, *args, **kwargs):
    """The same of a library whose functions programs may call, where it cannot be captured."""
    return or_hosted(calling, may_be_called, f, args, kwargs)


def of_one_thing(run, /, *args, **kwargs):
    """`run(*args, **kwargs)`, which looks at what it is given: no Variant."""
    for x in variants_in([*args, *kwargs.values()]):
        x.fail()
    return run(*args, **kwargs)


def may_change(x):
    """Whether x is an object of a library, from outside, that may hold something else at the next call."""
    kind = type(x)
    return kind.__module__.startswith(OWNED) and current_trace().root.outside.knows(x)


def calling(f, /, *args, **kwargs):
    """A call of what may call its arguments: those of the user's get hooks."""
    if any(map(may_change, args)) and not is_traced([*args, *kwargs.values()]):
        return ask(f, *args, **kwargs)
    if any(of_user(type(x)) and callable(x) for x in (*args, *kwargs.values())):
        current_trace().root.outside.stray.begin()
    if place_of(f)[0].partition(".")[0] not in NUMBERS:
        try:
            return f(*map(hooked, args), **{k: hooked(x) for k, x in kwargs.items()})
        except (ValueError, TypeError, RuntimeError, ArithmeticError, SystemError) as error:
            refuse_stand_ins(f, args, kwargs, error)
            raise
    failed, root = [], current_trace().root
    before = root.refused
    try:
        out = f(*[numeric(x, failed) for x in args], **{k: numeric(x, failed) for k, x in kwargs.items()})
    except (ValueError, TypeError, RuntimeError, ArithmeticError, SystemError) as error:
        if failed:
            raise failed[0] from error
        if root.refused is not before and root.refused is not None and not isinstance(error, WengertError):
            raise root.refused from error  # what C has made of it says neither the line nor the reason
        refuse_stand_ins(f, args, kwargs, error)
        raise
    if failed:
        raise failed[0]
    return out


def refuse_stand_ins(f, args, kwargs, error):
    """Compiled code of a library was given traced values: what it says of them, it does not say of numbers."""
    if type(f) is types.FunctionType or isinstance(error, WengertError) or not is_traced([*args, *kwargs.values()]):
        return
    if any(is_user(frame.f_code) for frame, _ in traceback.walk_tb(error.__traceback__)):  # which C has called
        return
    if place_of(f)[0].partition(".")[0] not in sys.stdlib_module_names:
        text = f"{name_of(f)}() does not take traced values: {type(error).__name__}: {error}".splitlines()[0]
        raise UnsupportedError(message(text, locate(), ADVICE)) from error


TRANSPARENT |= {calling.__code__, of_one_thing.__code__}


def hooked(x):
    """A function of the user's with hooks, and a method of an object as it is called in captured code; all else as it
    is."""
    bound = type(x) is types.BuiltinFunctionType and not isinstance(x.__self__, types.ModuleType | None)
    return CELL.cell_contents.call(x) if bound or is_users(x) else x


def numeric(x, failed):
    """Likewise, for what is called from C with plain numbers, and must give such: errors do not always come back from
    there."""
    if not is_users(x):
        return x
    made = hooked(x)

    @functools.wraps(x)
    def called(*args, **kwargs):
        out = made(*args, **kwargs)
        if (isinstance(out, TracedText) or is_traced(out)) and not is_traced([*args, *kwargs.values()]):
            text = f"{x.__name__}() is called by a library with plain numbers, and gives traced ones"
            failed.append(
                ConcretizationError(
                    message(text, locate(), "Pass it all that it needs as numbers, or call the library outside.")
                )
            )
            raise failed[0]
        return out

    return called


def refuse_call(f, found, /, *args, **kwargs):
    name = place_of(f)[1]
    if is_debugger(f):
        return None if f is breakpoint and ask(is_off) else refuse_debugger(name_of(f))
    if TIMELESS.get(name, 99) <= len(args):
        return f(*args, **kwargs) if name != "localtime" else ask(f, *args)
    what = (
        "gives another answer each time, or acts on the world"
        if found == REFUSED
        else "is not known to give the same each time, and no more"
    )
    raise UnsupportedError(
        message(f"{name_of(f)}() {what}; traced, it would be called once for all calls", locate(), ADVICE)
    )


# -- reading ---------------------------------------------------------------------------------------


def ask(f, /, *args, **kwargs):
    """A call whose answer depends on the world: made again at every call."""
    name = name_of(f)
    isolation.refuse(f"it calls {name}()")
    outside = current_trace().root.outside
    args = tuple([np.asarray(x) if isinstance(x, Traced) and x.known() is not None else x for x in args])
    given = [*args, *kwargs.values()]
    if is_traced(given) and may_be_called(f, args, kwargs):
        return host_call(f, args, kwargs)
    if is_traced(given) or any(isinstance(x, TracedText) for x in given):
        raise UnsupportedError(
            message(f"{name}() reads the world outside, and what it is to read depends on data", locate(), ADVICE)
        )
    if reads_own_files(given, name):
        return f(*args, **kwargs)  # what is read is known, and nobody else sees how far
    if outside.acted is not None and place_of(f)[0].partition(".")[0] not in APART:
        text = (
            f"{name}() is called after {outside.acted}, which may change what it gives: all that a program reads, it "
            "reads before it runs"
        )
        raise UnsupportedError(message(text, locate(), "Call it first, or outside."))
    refuse_written(outside, getattr(f, "__self__", f), name)
    fresh = place_of(f)[1] not in THERE
    number = outside.asked = outside.asked + 1
    try:
        made = Asked(f, args, kwargs, number, f"{name}({', '.join(map(shown, args))})", locate(), fresh)
    except Unlike:
        text = f"{name}() gives an object that cannot be compared with what the next call gives"
        raise UnsupportedError(message(text, locate(), ADVICE)) from None
    read = outside.reads[made.place] = made
    if read.error is not None:
        if inside():
            text = (
                f"{name}() raises {type(read.error).__name__} in a loop or branch that is captured as a whole: "
                f"{read.error}"
            )
            raise UnsupportedError(message(text, locate(), ADVICE))
        raise read.error
    if fresh and not isinstance(read.value, np.ndarray):
        if read.place in outside.promoted:
            outside.meet(read)
        return outside.enter(read) if read.how == "input" else read.value
    outside.meet(read)
    if fresh and read.how == "value":
        text = (
            f"{name}() gives {read.value.dtype} in shape {read.value.shape}, which is compared at every call, and is "
            "too large for that"
        )
        raise UnsupportedError(message(text, locate(), ADVICE))
    return outside.enter(read)


def reads_own_files(given, name):
    """Whether there are open files among arguments, of text that the function has made files of; others are refused."""
    files = [x for x in given if hasattr(x, "read") and not isinstance(x, type)]
    was_there = current_trace().root.outside.was_there
    if files and (inside() or any(type(x) not in TEXTS or was_there(x) for x in files)):
        text = f"{name}() reads an open file, and leaves it at another place"
        raise UnsupportedError(message(text, locate(), ADVICE))
    return bool(files)


def shown(x):
    return f"{x!r:.40}" if isinstance(x, str | int | float) else type(x).__name__


def refuse_written(outside, owner, name):
    """The world is asked before the program runs: by then nothing that it writes is written."""
    entered = {id(read.value): value for read, value in outside.inputs if read.owner is owner}
    written = any(i in entered and made.storage.value is not entered[i] for i, made in outside.arrays.items())
    if written or any(slot.owner is owner for slot in outside.heap):
        raise UnsupportedError(
            message(
                f"{name}() is called after the function has changed the object it is of", locate(), "Call it first."
            )
        )
