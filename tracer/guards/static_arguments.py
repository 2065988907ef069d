"""Arguments that are not traced: what a program may take for granted of them, and how they are told apart.

What never changes is part of the key of a signature by its value. An object that may change is part of it by identity:
what the function reads of it is guarded, as of any object outside. Objects that are equal by a method of their class
stand for each other as long as they hold the same, and as nobody could tell.
"""

import array
import collections
import types

from ..common.origin import is_user
from .guard import SCALARS, Same, same, state
from .object_contents import UnknownContents, is_fixed

SEEN = (set, collections.deque)  # which a trace sees through copies
MEMORY = (bytearray, memoryview, array.array)


def is_memory(kind):
    """Whether objects of a class are memory of another library's, which hands it out as arrays: they can be neither
    traced nor compared. A property `__array_interface__` written in Python is none: it tells of an array that the
    object has."""
    if issubclass(kind, MEMORY):
        return True
    told = getattr(kind, "__array_interface__", None)
    return any("__dlpack__" in vars(c) or "__buffer__" in vars(c) for c in kind.__mro__) or (
        told is not None and not is_getter(told)
    )


def memory_hint(kind):
    """What to write in place of passing such memory."""
    if any(c.__module__.partition(".")[0] == "torch" for c in kind.__mro__):
        return "Write wengert.to_torch(f), which keeps torch's gradients, or pass x.detach().numpy()."
    return "Pass np.asarray(x)."


def is_getter(x):
    """Whether an attribute of a class is a property in the user's Python."""
    return type(x) is property and type(x.fget) is types.FunctionType and is_user(x.fget.__code__)


class Alike:
    """An object that is hashable by value, in a key."""

    __slots__ = ("object", "alone")

    def __init__(self, x):
        self.object, self.alone = x, False

    def __hash__(self):
        return hash(self.object)

    def __eq__(self, other):
        if not isinstance(other, Alike):
            return False
        if self.object is other.object:
            return True
        return (
            not (self.alone or other.alone)
            and type(self.object) is type(other.object)
            and bool(self.object == other.object)
            and same_state(self, other)
        )


def same_state(a, b):
    """Whether two equal objects hold the same."""
    try:
        return state(a.object) == state(b.object)
    except UnknownContents:
        return False


class Exactly:
    """An object that never changes, in a key: of equal ones those that can be told apart are others, as Decimal("1.0")
    and Decimal("1.00") are, and equal times of two zones."""

    __slots__ = ("object",)

    def __init__(self, x):
        self.object = x

    def __hash__(self):
        return hash(self.object)

    def __eq__(self, other):
        if not isinstance(other, Exactly) or type(self.object) is not type(other.object):
            return False
        return self.object is other.object or self.object == other.object and made_alike(self.object, other.object)


def made_alike(a, b):
    """Whether two objects would be made of the same parts again; those that tell no parts are only like themselves."""
    if same(a, b):
        return True
    if type(a) is not type(b) or isinstance(a, SCALARS):
        return False
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(map(made_alike, a, b))
    if type(a) is dict:
        return made_alike([*a.items()], [*b.items()])
    if callable(a):
        return False
    try:
        return made_alike(a.__reduce_ex__(4), b.__reduce_ex__(4))
    except (TypeError, RecursionError):
        return False


def key_of(x):
    """What stands for an argument that is not traced in the key of a signature."""
    kind = type(x)
    if kind in QUICK or kind.__hash__ is object.__hash__:
        return x
    if is_fixed(x):
        return x if kind.__eq__ is object.__eq__ else Exactly(x)
    try:
        hash(x)
    except (TypeError, ValueError):  # ValueError: a memoryview that can be written
        return Same(x)
    return Alike(x)


QUICK = frozenset((int, bool, str, bytes, type(None)))
