"""What Python itself holds while tracing - plain arrays, buffers, files in memory, other objects of C - and what
changes it where a region is captured: a trip is traced once for all trips, and both sides of a choice are, so it is
refused there.

It changes by a store of items (`hooks`), of an attribute (`state.set_attribute`), by `a += b`, or in a call. Which
calls do is not listed: what one is given, and what it is a method of, is compared with what that held. Lists, dicts,
sets and deques have hooks of their own, and so have instances of the user's classes.
"""

import functools
import io
import types

import numpy as np

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards import guard, state
from ..guards.object_contents import UnknownContents, content_restorer, is_advanced, is_fixed
from ..guards.reliance import of_user
from ..guards.state import CONTAINERS

MANY = 256  # bound: items of a list or tuple that is given that are looked at
METHODS = (types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType)
SEEN = (types.FunctionType, functools.partial, slice, *METHODS, *CONTAINERS)  # by hooks, or fixed
OURS = __name__.partition(".")[0]


@functools.lru_cache(1024)
def is_held(kind):
    """Whether objects of a class may be changed by code of C, unseen."""
    ours = kind.__module__.partition(".")[0] == OURS
    return not (ours or of_user(kind) or issubclass(kind, SEEN) or issubclass(kind, BaseException))


def held_by(f, args, kwargs):
    """[(an object that a call may change, whether it is what f is a method of)]"""
    found, left = [], [(f, False), *((x, False) for x in (*args, *kwargs.values()))]
    while left:
        x, bound = left.pop()
        kind = type(x)
        if kind in (list, tuple):
            left += [(y, False) for y in x if isinstance(y, np.ndarray)] if len(x) <= MANY else []
        elif issubclass(kind, METHODS):
            left.append((x.__self__, True))
        elif kind is functools.partial:
            left += [(y, False) for y in (x.func, *x.args, *x.keywords.values())]
        elif is_held(kind) and not is_fixed(x) and not is_advanced(x):
            if not isinstance(x, np.ndarray) or x.flags.writeable:
                found.append((x, bound))
    return found


def call_held(made, f, /, *args, **kwargs):
    """made(*args, **kwargs), which stands for a call of f: CannotRoll where that changes an object which Python itself
    holds, but for those that the region has made; a trial trip puts them back if need be."""
    before = []
    for x, bound in held_by(f, args, kwargs):
        if bound and isinstance(x, io.IOBase) and f.__name__ == "close":  # which nothing undoes
            refuse_unseen(f, "is called")
        try:
            before.append((x, guard.state(x), content_restorer(x)))
        except UnknownContents:
            if bound:
                refuse_unseen(f, "is called, of which the tracer cannot tell what that holds")
    out = made(*args, **kwargs)
    for x, had, put_back in before:
        if guard.state(x) != had:
            state.change_held(x, put_back)
    if type(out) is np.ndarray and out.base is None and not any(out is x for x, *_ in before):
        state.own(out)
    return out


def refuse_unseen(f, why):
    """Refuse a method of an object that cannot be put back, in a region that has not made it."""
    for region in state.regions():
        if id(f.__self__) in region.owned:
            return
        what = f"{f.__name__}() of a {type(f.__self__).__name__}"
        text = f"{what} {why}, inside a loop or branch that is captured as a whole"
        raise CannotRoll(message(text, locate(), "Call it outside."))


state.TRANSPARENT.add(call_held.__code__)
