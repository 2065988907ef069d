"""Instances that a trace makes: what they consist of, and whether traced values hide in an object.

An instance of a class in Python is its class and its attributes, if no base of the class keeps state in C. Such an
instance can be made anew: at every call where a function returns it (`containers`), and where it is copied
(`source.copying`).
"""

import copyreg
import functools
import gc
import types

from ..common.origin import HEAP, SOURCES
from ..values.array import Traced
from ..values.texts import TracedText
from .object_contents import slots

MANY = 10_000  # objects that are looked through
OPAQUE = (type, types.ModuleType, types.FrameType, types.CodeType)
BASES = (object, types.SimpleNamespace)  # that keep nothing but attributes
COPYING = ("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__")


@functools.lru_cache(1024)
def is_plain(kind):
    """Whether instances of a class are their attributes and nothing else, and say so to `copy` and `pickle` too; a
    library's in words of its own."""
    base = base_of(kind)
    return (
        base in BASES
        and kind not in copyreg.dispatch_table
        and (kind.__module__ in SOURCES or all(getattr(kind, n, None) is getattr(base, n, None) for n in COPYING))
    )


def base_of(kind):
    """The first class of C's among the bases, which says how instances lie in memory."""
    return next(c for c in kind.__mro__ if not c.__flags__ & HEAP)


def attributes(x):
    """name -> value of the attributes that an instance has of its own."""
    return {**getattr(x, "__dict__", {}), **{name: getattr(x, name) for name in slots(type(x)) if hasattr(x, name)}}


def blank(kind):
    """An instance without attributes; the class's own `__new__` is not asked."""
    return base_of(kind).__new__(kind)


def set_attributes(x, found):
    """Give an instance these attributes; the class's own `__setattr__`, which a frozen one has, is not asked."""
    for name, value in found.items():
        object.__setattr__(x, name, value)


def hidden(x):
    """A traced value that can be reached from an object, or None. Classes, modules and the globals of functions are not
    looked through."""
    todo, seen = [x], set()
    while todo and len(seen) < MANY:
        x = todo.pop()
        if isinstance(x, Traced | TracedText):
            return x
        if id(x) in seen or isinstance(x, OPAQUE):
            continue
        seen.add(id(x))
        todo += held_by_function(x) if isinstance(x, types.FunctionType) else gc.get_referents(x)
    return None


def held_by_function(f):
    """What a function holds; its globals are not looked through."""
    return [*(f.__closure__ or ()), f.__defaults__, f.__kwdefaults__, f.__dict__]
