"""What Python itself holds while tracing - plain arrays, buffers, files in memory, other objects of C - and what
changes it where a region is captured: a trip is traced once for all trips, and both sides of a choice are, so it is
refused there.

It changes by a store of items (`hooks`), of an attribute (`state.set_attribute`), by `a += b`, or in a call. Which
calls do is not listed: what one is given, and what it is a method of, is compared with what that held. Lists, dicts,
sets and deques have hooks of their own, and so have instances of the user's classes.
"""

import copy
import functools
import io
import types

import numpy as np

from ..common.errors import CannotRoll, WengertError, message
from ..common.frames import locate
from ..guards import guard, state
from ..guards.object_contents import (
    BUFFERS,
    UnknownContents,
    content_restorer,
    is_advanced,
    is_fixed,
    is_restorable,
    mapping,
    own,
)
from ..guards.raw_attributes import of_class
from ..guards.reliance import of_user
from ..guards.state import CONTAINERS
from .handed import handed

MANY = 256  # bound: items of a list or tuple that is given that are looked at
METHODS = (types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType)
SEEN = (types.FunctionType, functools.partial, slice, *METHODS)  # by hooks, or fixed
OURS = __name__.partition(".")[0]


@functools.lru_cache(1024)
def is_held(kind):
    """Whether objects of a class may be changed by code of C, unseen."""
    ours = kind.__module__.partition(".")[0] == OURS
    quiet = kind.__module__ == "logging"  # which remembers what it has been asked
    seen = kind in CONTAINERS or kind is tuple or issubclass(kind, (*SEEN, BaseException))
    return not (ours or quiet or seen or of_user(kind))


def held_by(f, args, kwargs):
    """[(an object that a call may change, its method that is called or None)]"""
    found, left = [], [(x, None) for x in (f, *args, *kwargs.values())]
    while left:
        x, method = left.pop()
        kind = type(x)
        if kind in (list, tuple):
            left += [(y, None) for y in x if isinstance(y, np.ndarray)] if len(x) <= MANY else []
        elif issubclass(kind, METHODS):
            left.append((x.__self__, x))
        elif kind is functools.partial:
            left += [(y, None) for y in (x.func, *x.args, *x.keywords.values())]
        elif is_held(kind) and not is_fixed(x) and not is_advanced(x):
            if not isinstance(x, np.ndarray):
                found += [(x, method), *((y, None) for y in inner(x))]
            elif x.flags.writeable:
                found.append((x, method))
    return found


def inner(x):
    """The containers, arrays and buffers that an object of a library's class has in its attributes."""
    held = own(x, "__dict__")
    names = mapping(held) if type(held) is dict else []
    return [y for y in names if type(y) in CONTAINERS or isinstance(y, (np.ndarray, *BUFFERS))]


def call_held(made, f, /, *args, **kwargs):
    """made(*args, **kwargs), which stands for a call of f: CannotRoll where that changes an object which Python itself
    holds, but for those that the region has made; a trial trip puts them back if need be."""
    before = []
    for x, method in held_by(f, args, kwargs):
        if method is not None and isinstance(x, io.IOBase) and method.__name__ == "close":  # which nothing undoes
            refuse_unseen(method, "is called")
        try:
            before.append((x, guard.state(x), content_restorer(x)))
            if method is not None and not is_restorable(x) and changes_copy(method, args, kwargs):
                refuse_unseen(method, "changes it")
        except UnknownContents:
            if method is not None:
                refuse_unseen(method, "is called, of which the tracer cannot tell what that holds")
    changed = lambda: [(x, put_back) for x, had, put_back in before if guard.state(x) != had]
    try:
        out = made(*args, **kwargs)
    except BaseException as error:
        users = isinstance(error, Exception) and not isinstance(error, WengertError)  # which somebody may catch
        for x, put_back in changed():
            state.change_held(x, put_back) if users else put_back()
        raise
    for x, put_back in changed():
        state.change_held(x, put_back)
    if type(out) is np.ndarray and out.base is None and not any(out is x for x, *_ in before):
        state.own(out)
    return out


def changes_copy(f, args, kwargs):
    """Whether a method changes an object that nothing could put back, as it does a copy."""
    try:
        made = copy.copy(f.__self__)
        had = guard.state(made)
        getattr(made, f.__name__)(*args, **kwargs)
    except Exception:
        return True
    return guard.state(made) != had


def has_own_store(kind):
    """Whether a library's class has a `__setattr__` in Python, which no hook sees."""
    return is_held(kind) and type(of_class(kind, "__setattr__")) is types.FunctionType


def store_unseen(owner, key, value):
    """`owner.key = value` of such."""
    made = functools.partial(handed, setattr)
    call_held(made, setattr, owner, key, value) if state.inside() else made(owner, key, value)


def refuse_unseen(f, why):
    """Refuse a method of an object that cannot be put back, in a region that has not made it."""
    for region in state.regions():
        if id(f.__self__) in region.owned:
            return
        what = f"{f.__name__}() of a {type(f.__self__).__name__}"
        text = f"{what} {why}, inside a loop or branch that is captured as a whole"
        raise CannotRoll(message(text, locate(), "Call it outside."))


state.TRANSPARENT.add(call_held.__code__)
