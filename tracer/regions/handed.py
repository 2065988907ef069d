"""Calls of code without hooks: what it is given from outside is relied on as a whole, and what it runs of the user's is
seen.

`called` is what a call in captured code goes through. Captured functions note what they read themselves. Anything else,
of C or of a library or without source, is watched while it runs: Python functions of the user's that it calls back read
unseen, so the names they read outside are relied on; and where it changes an object from outside, the trace ends, for
it would be changed once.
"""

import builtins
import functools
import sys
import types

import numpy as np

from ...ir.types import SHORT
from ..common.errors import UnsupportedError, WengertError, message
from ..common.frames import internal, locate
from ..guards.guard import alike, state
from ..guards.instances import hidden
from ..guards.object_contents import UnknownContents, content_restorer, is_fixed
from ..guards.reliance import of_user
from ..guards.state import CONTAINERS
from ..numpy_api.handles import is_traced
from ..rewriter.expressions import HOOK
from ..values.array import Traced, TracedArray, TracedScalar, Unread
from ..values.object_phi import ObjectPhi
from ..values.storage import current_trace
from ..values.texts import TracedText, spelled_out
from ..values.variant import Variant
from .bounded_calls import called_late
from .calls import NUMPYS, call, listed
from .classes import made_by
from .container_changes import call_noting_changes, given_container
from .foreign import calling
from .foreign_effects import is_users
from .keys import from_members, with_key, with_members

# stand-ins that call what they are given with the same
HANDING = (listed, calling, made_by, call_noting_changes, given_container, with_key, with_members, from_members)
HANDING += (called_late,)
COMPILED = compile("0", "a function of C", "eval")  # the code of what has none
# tell nothing of what is in
SHALLOW = {isinstance, issubclass, type, id, callable, getattr, hasattr, setattr, delattr, print, super, property, next}
SHALLOW |= {vars, globals, locals, eval, exec, breakpoint, __import__, sys._getframe}  # or look at the frame
FRAMES = ("warnings", "logging", "inspect", "traceback")  # modules whose functions look at it too
HOLDING = {
    "append", "insert", "add", "appendleft", "setdefault", "pop", "popleft", "clear", "copy", "keys", "values", "items",
}
PLAIN = frozenset(
    (
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(None),
        type,
        np.ndarray,
        types.FunctionType,
        types.ModuleType,
        slice,
        range,
    )
)
FINE = PLAIN - {np.ndarray} | {TracedArray, TracedScalar, *(np.dtype(n).type for n in SHORT)}
KEEPING = {kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, Exception)}
FREE = (types.ModuleType, type(None), str)  # what builtin functions are of that are nobody's


def called(f):
    """What to call in place of f, its arguments looked at where that is code without hooks."""
    made = call(f)
    if current_trace() is None or issubclass(type(f), Unread) or not watched(f, made):
        return made
    real = made.args[0] if type(made) is functools.partial and made.func in HANDING else made
    free = type(real) in NUMPYS or type(real) is types.BuiltinFunctionType and type(real.__self__) in FREE
    return functools.partial(handed_freely if free else handed_by_call, made)


def handed_freely(f, /, *args, **kwargs):
    """`handed`, of what is no object's method."""
    for x in (*args, *kwargs.values()):
        if type(x) not in FINE:
            return handed_by_call(f, *args, **kwargs)
    return handed(f, *args, **kwargs) if kwargs else f(*args)


def handed_by_call(f, /, *args, **kwargs):
    """`handed`; text is asked for its letters, and a Variant for what it is, but by exceptions and the methods of
    containers, which keep them."""
    if not {TracedText, Variant}.isdisjoint(map(type, (*args, *kwargs.values()))):
        real = f.args[0] if type(f) is functools.partial and f.func in HANDING else f
        ours = internal(getattr(getattr(real, "__func__", real), "__code__", COMPILED))
        keeps = isinstance(getattr(real, "__self__", None), CONTAINERS) or real in KEEPING
        if not ours and not keeps:
            for x in (*args, *kwargs.values()) if type(real) not in NUMPYS else ():  # which ask a Variant by protocol
                if type(x) is Variant:
                    x.fail()
            args = [spelled_out(x) for x in args]
    return handed(f, *args, **kwargs)


def watched(f, made):
    """Whether what a call comes to is code that may read its arguments unseen."""
    kind = type(made)
    while kind is functools.partial:
        if made.func not in HANDING and internal(getattr(made.func, "__code__", COMPILED)):
            return False
        made = made.args[0] if made.func in HANDING else made.func
        kind = type(made)
    if kind is types.MethodType:
        made = made.__func__
        kind = type(made)
    if kind is types.FunctionType:
        if HOOK in made.__code__.co_freevars or made.__module__ in FRAMES:
            return False
    elif kind is types.BuiltinFunctionType:
        owner = made.__self__
        if type(owner) in (list, dict, set) and made.__name__ in HOLDING or type(owner) is str:
            return type(owner) is str
    try:
        return of_user(type(f)) or f not in SHALLOW
    except TypeError:  # not hashable
        return True


def handed(f, /, *args, **kwargs):
    """f(*args, **kwargs) of code without hooks."""
    trace = current_trace()
    if trace is None:
        return f(*args, **kwargs)
    real = f.args[0] if type(f) is functools.partial and f.func in HANDING else f
    given = [
        x
        for x in (*args, *kwargs.values(), getattr(real, "__self__", None), real)
        if type(x) not in PLAIN and not isinstance(x, Traced)
    ]
    simple = trace.root.outside.is_simple
    given = [x for x in given if not isinstance(x, types.BuiltinFunctionType) and not simple(x) and not is_fixed(x)]
    if type(real) is types.FunctionType and internal(real.__code__):
        # transforms, which call functions and methods with hooks
        given = [x for x in given if type(x) is not types.MethodType or not is_users(x)]
    given += [x for x in args if type(x) is np.ndarray and x.dtype.hasobject]
    return rely_and_call(given, f, args, kwargs) if given else f(*args, **kwargs)


def relied(*objects):
    """Rely on objects that code without hooks is about to look at."""
    trace = current_trace()
    if trace is not None:
        trace.root.outside.rely(*objects)


def rely_and_call(given, f, args, kwargs):
    """The call, with all that `given` leads to relied on.

    What fills in what it has put off until then, and gives something, is called once more: what changes nothing then is
    the same at every call.
    """
    for x in given if not internal(getattr(f, "__code__", COMPILED)) else ():
        if type(x) is ObjectPhi:
            x.fail()
    outside = current_trace().root.outside
    reads = outside.rely(*given)
    if not reads and not any(of_user(type(x)) for x in given):
        return f(*args, **kwargs)
    undo = [content_restorer(r.owner) for r in reads]
    try:
        changed, out = run_twice(f, args, kwargs, given, reads)
    except BaseException:
        undo_all(undo)
        raise
    if not changed:
        return out
    undo_all(undo)
    while type(f) is functools.partial:
        f = f.args[0] if f.func in HANDING else f.func
    name, what = getattr(f, "__name__", type(f).__name__), changed[0].name
    text = f"{name}() changes {what}, unseen by the tracer; traced, it would do so once, and not at every call"
    raise UnsupportedError(message(text, locate(), "Do it outside, or by assignments in a function that is captured."))


def run_twice(f, args, kwargs, given, reads):
    """The call, and once more where it has changed something -> (the Reads of what changes at every call, what it
    gives). An exception of ours ends it; somebody may catch another, and go on with what has been changed."""
    outside, first, told = current_trace().root.outside, None, []
    for again in (True, False):
        try:
            with outside.stray.within():
                out = f(*args, **kwargs)
        except Exception as error:
            changed = outside.changed(reads) or told
            if changed and not isinstance(error, WengertError):
                return changed, None
            raise
        changed = outside.changed(reads)
        if not changed:
            return told if not again and not same_results(first, out) else [], out
        traced = is_traced([*args, *kwargs.values()]) and any(hidden(r.owner) is not None for r in changed)
        if not again or out is None or traced:
            return changed, out
        first, told = out, changed
        outside.forget(changed)
        reads = outside.rely(*given)


def undo_all(undo):
    for restore in undo:
        restore()


def same_results(a, b):
    """Whether two calls have given the same, so far as that can be told."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, Traced):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same_results, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same_results, a.values(), b.values()))
    if isinstance(a, np.ndarray):
        return alike(a, b)
    try:
        return state(a) == state(b)
    except UnknownContents:
        return False


RUNNING = (handed, handed_freely, handed_by_call, rely_and_call)  # which run the call itself
