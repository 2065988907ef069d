"""The user's functions with hooks, and what they hold: their defaults are read as if the traced function had asked for
them."""

import types

import numpy as np

from ..guards.state import inside, note_rebound, refuse_deletions
from ..rewriter.converted import belongs
from ..rewriter.expressions import HOOK
from ..values.promote import is_device_array
from ..values.storage import current_trace
from .convert import CELL, convert


def user(f):
    """A function of the user's with hooks; what it names outside itself is noted."""
    made, trace = convert(f), current_trace()
    if trace is not None and HOOK not in made.__code__.co_freevars:
        trace.root.outside.stray.begin()
    if trace is not None and not belongs(f.__code__):
        refuse_deletions(f)
        trace.root.outside.function(f, HOOK in made.__code__.co_freevars)
        if changeable(f.__defaults__ or ()) or changeable(f.__kwdefaults__ or ()):
            if made is f:
                made = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, f.__closure__)
            made.__defaults__ = f.__defaults__ and live(f, "__defaults__")
            made.__kwdefaults__ = f.__kwdefaults__ and live(f, "__kwdefaults__")
    if trace is not None and inside():
        note_rebound(f)
    return made


def changeable(values):
    """Whether any of a tuple or dict may hold something else at another call: arrays, and containers of such."""
    values = values.values() if isinstance(values, dict) else values
    return any(
        isinstance(x, np.ndarray | list | dict) or is_device_array(x) or isinstance(x, tuple) and changeable(x)
        for x in values
    )


def live(owner, name):
    """A tuple or dict that an object holds, its parts read as if the traced function had asked for them: at every
    call."""
    held = getattr(owner, name)
    if current_trace() is None or not changeable(held):
        return held
    found, item = current_trace().root.outside.held(owner, name), CELL.cell_contents.item
    keys = held if isinstance(held, dict) else range(len(held))
    parts = {k: item(found, k) if changeable((held[k],)) else held[k] for k in keys}
    return parts if isinstance(held, dict) else tuple(parts.values())
