"""Operators of instances of the user's subclasses of np.ndarray: the user's methods in the order in which Python asks
them, then NumPy."""

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..guards.reliance import of_user
from ..guards.subclasses import class_behind
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from .array_object_attributes import special
from .array_object_results import apply
from .array_objects import class_of_instance, memory
from .objects import method as method_of_object

ORDERS = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
SIGNS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%",
    "__pow__": "** or pow()", "__matmul__": "@", "__lshift__": "<<", "__rshift__": ">>", "__and__": "&",
    "__or__": "|", "__xor__": "^",
}  # fmt: skip


def meets(a, b):
    """Whether an operand is such an instance."""
    return isinstance(a, ArrayObject) or isinstance(b, ArrayObject)


def operated(plain, name, mirror, a, b):
    """`a + b` and its like, one of them an instance: the user's methods in the order in which Python asks, then
    NumPy."""
    left, right = class_of(a), class_of(b)
    first, second = users_method(a, name), users_method(b, mirror)
    before = right is not left and issubclass(right, left)
    numpys = lambda x, y: of_numpy(plain, a, b)
    second = numpys if second is None and is_of_numpy(b) else second
    asked = [(first, a, b) if first is not None or not is_of_numpy(a) else (numpys, a, b)]
    if right is not left:
        earlier = before and getattr(right, mirror, None) is not getattr(left, mirror, None)
        asked.insert(0 if earlier and second is not numpys else 1, (second, b, a))
    for f, x, y in asked:
        found = NotImplemented if f is None else f(x, y)
        if found is not NotImplemented:
            return found
    if name in ("__eq__", "__ne__"):
        return (a is b) is (name == "__eq__")
    kinds = f"{left.__name__!r} and {right.__name__!r}"
    if name in ORDERS:
        raise with_note(TypeError, message(f"{ORDERS[name]!r} not supported between instances of {kinds}", locate()))
    raise with_note(TypeError, message(f"unsupported operand type(s) for {SIGNS.get(name, name)}: {kinds}", locate()))


def of_numpy(plain, a, b):
    for x in (a, b):
        if of_user(type(x)):
            text = f"an operator of a {type(x).__name__} and an instance of a subclass of np.ndarray is not captured"
            raise UnsupportedError(message(text, locate(), "Call a function in its place."))
    return apply(plain, plain, (a, b), {})


def class_of(x):
    """The class of an operand."""
    kind = class_behind(type(x))
    return np.ndarray if kind is TracedArray else x.weak or x.dtype.type if kind is TracedScalar else kind


def users_method(x, name):
    """The user's method of an operand, or None."""
    if isinstance(x, ArrayObject):
        return special(x, name)
    return None if isinstance(x, Traced | np.ndarray | np.generic) else method_of_object(x, name)


def is_of_numpy(x):
    """Whether NumPy answers for an operand that has no method of the user's."""
    if isinstance(x, TracedScalar):
        return x.weak is None
    return isinstance(x, ArrayObject | Traced | np.ndarray | np.generic)


def operated_in_place(plain, name, otherwise, a, b):
    """`a += b` and its like."""
    if isinstance(a, ArrayObject):
        own = special(a, name)
        if own is None:
            return of_numpy(plain, a, b)
        found = own(a, b)
        return otherwise(a, b) if found is NotImplemented else found
    if isinstance(a, TracedArray | np.ndarray):
        return apply(plain, plain, (a, b), {})
    return otherwise(a, b)


def unary_of(plain, name, a):
    own = special(a, name)
    return apply(plain, plain, (a,), {}) if own is None else own(a)


def among_elements(a, b, plain):
    """`a in b`, one of them an instance."""
    if isinstance(b, ArrayObject):
        own = special(b, "__contains__")
        if own is not None:
            return own(b, a)
        return plain(memory(a) if isinstance(a, ArrayObject) else a, memory(b))
    raise UnsupportedError(
        message(
            f"whether a {class_of_instance(a).__name__} is in a {type(b).__name__} is asked",
            locate(),
            "Compare one by one.",
        )
    )
