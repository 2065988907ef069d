"""Keys of dicts and members of sets: Python asks them for their hash while the function is traced, so a traced number
among them is taken by value, where that can be.

What holds them never holds a traced value: hooks put the number in its place before Python sees it.
"""

import numpy as np

from ..numpy_api.handles import is_traced
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.outermost import number_of_key
from ..values.storage import current_trace
from ..values.texts import TracedText
from .bounded_lists import bounded_list
from .merge import WHOLE

# methods of dicts and sets of which the first argument is a key
ASKING = {"get", "pop", "setdefault", "add", "discard", "remove"}
ASKING |= {"__contains__", "__getitem__", "__setitem__", "__delitem__"}
# methods of sets of which all arguments are iterables of members
MEETING = {"update", "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset"}
MEETING |= {"isdisjoint", "intersection_update", "difference_update", "symmetric_difference_update"}
KEEPING = (dict, set, frozenset)


def member(key):
    """A key or member as Python may ask for its hash: each traced number in it as the number that it is in this
    call."""
    kind = type(key)
    if kind is TracedScalar and current_trace() is not None:
        number = number_of_key(key)
        return key if number is None else number
    if kind is TracedText and current_trace() is not None:
        text = key.known()
        return key if text is None else text
    if issubclass(kind, tuple) and is_traced(list(key)):
        parts = map(member, key)
        return kind(parts) if kind is tuple else kind._make(parts) if hasattr(kind, "_make") else key
    return key


def member_of(kind, key):
    """A subscript of a container of a class."""
    return member(key) if issubclass(kind, dict) else key


def members(items):
    """What a set is made of, or compared with."""
    trace = current_trace()
    if trace is None or trace.root.outside.knows(items):
        return items
    made = type(items) in (list, tuple) and bounded_list(items) is None and any(map(holds_number, items))
    stepped = type(items) is TracedArray and items.shape or hasattr(type(items), "__next__")
    return [member(x) for x in items] if made or stepped else items


def is_among(x, held):
    """`x in held`, of a number that data decide and a dict or set of ints, as a value of the program; None where it is
    not that."""
    if type(x) is not TracedScalar or x.type.kind not in "biuf" or x.known() is not None:
        return None
    if current_trace().root.outside.knows(held) or not all(type(k) is int and abs(k) <= WHOLE for k in held):
        return None
    if not held:
        return False
    return TracedScalar(np.any(np.array(list(held)) == x).value, bool)


def holds_number(x):
    return type(x) is TracedScalar or isinstance(x, tuple) and any(map(holds_number, x))


def with_key(f, /, *args, **kwargs):
    """A method of a dict or set, given a key."""
    return f(*map(member, args[:1]), *args[1:], **kwargs)


def with_members(f, /, *args, **kwargs):
    """A method of a set, given what has members."""
    return f(*map(members, args), **kwargs)


def from_members(f, /, keys, *value):
    """`dict.fromkeys`."""
    return f(members(keys), *value)


def of_keeper(f):
    """What calls a method of a dict or set with known keys; None for all others."""
    if f.__name__ == "fromkeys" and isinstance(f.__self__, type) and issubclass(f.__self__, dict):
        return from_members
    if not isinstance(f.__self__, KEEPING):
        return None
    if f.__name__ in ASKING:
        return with_key
    return with_members if f.__name__ in MEETING and not isinstance(f.__self__, dict) else None


def is_stand_in(x):
    """Whether x stands for what only the running program knows."""
    return type(x) is TracedText or is_traced(x)


# -- subscripts --------------------------------------------------------------------------------------


def traced_key(key):
    """Whether something traced is in a subscript."""
    if isinstance(key, slice):
        return is_traced([key.start, key.stop, key.step])
    return is_traced(key) or isinstance(key, tuple) and any(map(traced_key, key))


def is_known(key):
    """Whether all that is traced in a subscript is known, and no slice."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(not isinstance(p, Traced) or p.known() is not None for p in parts) and not any(
        isinstance(p, slice) and traced_key(p) for p in parts
    )
