"""Which subclasses of np.ndarray are captured, and how an instance is made of memory and attributes.

An instance is its memory and its attributes. The user's methods are captured as those of any class; what NumPy does
with an instance is NumPy's own doing, unless the class answers one of the protocols below itself: such classes, and
those of libraries such as np.ma, are not captured.
"""

import types

import numpy as np

from ..common.origin import is_user
from ..values.array_object import ArrayObject
from .reliance import of_user

PROTOCOLS = frozenset(
    """
    __array_ufunc__ __array_function__ __array_wrap__ __array_prepare__ __array__ __array_interface__ __array_struct__
    __array_namespace__ __buffer__ __dlpack__ __getattribute__ __getattr__ __setattr__ __delattr__ __del__ __reduce__
    __reduce_ex__ __getstate__ __setstate__ __getnewargs__ __getnewargs_ex__ __class__
    """.split()
)
LABELS = frozenset(  # of a class, which nobody calls
    """
    __module__ __qualname__ __doc__ __dict__ __weakref__ __annotations__ __annotate__ __annotate_func__ __slots__
    __annotations_cache__ __conditional_annotations__
    __static_attributes__ __firstlineno__ __orig_bases__ __parameters__ __type_params__ __array_priority__ __hash__
    __match_args__ __init_subclass__ __class_getitem__ __new__
    """.split()
)
TEXT = frozenset("__str__ __repr__ __format__".split())  # which C calls without hooks, and takes any text from
BEFORE = frozenset("__new__ __init__ __array_finalize__ __init_subclass__ __class_getitem__".split())


class Blank(np.ndarray):
    """An instance whose class is given afterwards: no method of the user's is asked."""


def is_dunder(name):
    return name.startswith("__") and name.endswith("__")


def own_classes(kind):
    """The classes of a subclass of np.ndarray that are not NumPy's."""
    return [c for c in kind.__mro__ if c is not np.ndarray and c is not object]


def is_captured(kind):
    """Whether instances of a class are captured as memory and attributes. A class may change: it is asked anew."""
    if kind is np.ndarray or not issubclass(kind, np.ndarray) or type(kind) is not type:
        return False
    return all(map(of_user, own_classes(kind))) and all(map(is_plain_part, own_classes(kind))) and has_layout(kind)


def is_plain_part(c):
    """Whether a class adds methods and attributes alone to what NumPy's arrays are."""
    if vars(c).get("__slots__"):
        return False
    for name, value in vars(c).items():
        if name in PROTOCOLS:
            return False
        if is_dunder(name) and name not in LABELS:
            if not (type(value) is types.FunctionType and is_user(value.__code__)) and value is not None:
                return False
    return True


def has_layout(kind):
    """Whether its instances lie in memory as those of any class without slots."""
    try:
        with_class(kind, np.empty(0))
    except TypeError:
        return False
    return True


def with_class(kind, array):
    """The memory of an array as an instance of a class, without attributes."""
    array = array if isinstance(array, np.ndarray) else np.array(array)  # a jax array cannot be written
    made = array.view(Blank)
    made.__class__ = kind
    return made


_classes = {}  # class -> (the special methods it had, the class of its stand-ins)


def stand_in_class(kind):
    """The class of what stands for instances of a class: it has the special methods of the user's."""
    found = {}
    for c in reversed(own_classes(kind)):
        names = [n for n in vars(c) if is_dunder(n) and n not in BEFORE | TEXT]
        found |= {n: vars(c)[n] for n in names if type(vars(c)[n]) is types.FunctionType}
    had, made = _classes.get(kind, (None, None))
    if had != found:
        space = {
            "__slots__": (),
            "__stands_for__": kind,
            "__module__": ArrayObject.__module__,
            "__hash__": None,
            **found,
        }
        made = type(kind.__name__, (ArrayObject,), space)
        _classes[kind] = found, made
    return made


def class_behind(kind):
    """The user's class that a type stands for; all others as they are."""
    return kind.__stands_for__ if issubclass(kind, ArrayObject) else kind
