"""Instances that a trace makes: what they consist of, and whether traced values hide in an object.

An instance of a class in Python is its class and its attributes, if no base of the class keeps state in C. Such an
instance can be made anew: at every call where a function returns it (`containers`), and where it is copied
(`source.copying`).
"""

import copyreg
import functools
import gc
import types
import weakref

import numpy as np

from ...ir.op import Op
from ..common.origin import HEAP, SOURCES
from ..values.array import Traced
from ..values.texts import TracedText
from .object_contents import slots

MANY = 10_000  # objects that are looked through
OPAQUE = (type, types.ModuleType, types.FrameType, types.CodeType, Op)
BASES = (object, types.SimpleNamespace)  # that keep nothing but attributes
IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE
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


@functools.lru_cache(1024)
def base_of(kind):
    """The first class of C's among the bases, which says how instances lie in memory."""
    return next(c for c in kind.__mro__ if is_in_c(c))


def is_in_c(kind):
    """Whether a class is no `class` statement's. Classes of C's extension modules live on the heap as those do."""
    made = vars(kind).get("__new__")
    own = type(made) is types.BuiltinFunctionType and made.__self__ is kind
    return own or not kind.__flags__ & HEAP or bool(kind.__flags__ & IMMUTABLE)


def attributes(x):
    """name -> value of the attributes that an instance has of its own."""
    return {**getattr(x, "__dict__", {}), **{name: getattr(x, name) for name in slots(type(x)) if hasattr(x, name)}}


def blank(kind):
    """An instance without attributes; the class's own `__new__` is not asked."""
    return base_of(kind).__new__(kind)


def set_attributes(x, found):
    """Give an instance these attributes; the class's own `__setattr__`, which a frozen one has, is not asked, and
    neither is a property of that name."""
    kept = slots(type(x))
    for name, value in found.items():
        if name in kept:
            object.__setattr__(x, name, value)
        else:
            x.__dict__[name] = value


def hidden(x):
    """A traced value that can be reached from an object, or None. Classes, modules and the globals of functions are not
    looked through."""
    todo, seen = [x], set()
    while todo and len(seen) < MANY:
        x = todo.pop()
        if issubclass(type(x), Traced | TracedText):
            return x
        if id(x) in seen or is_opaque(x):
            continue
        seen.add(id(x))
        if isinstance(x, np.ndarray) and x.dtype.hasobject:  # which the collector does not see into
            todo.append(np.asarray(x).ravel().tolist())
        todo += held_by_function(x) if isinstance(x, types.FunctionType) else gc.get_referents(x)
    return None


def is_opaque(x):
    """Whether an object is not looked through; what a weak proxy stands for may be there no more, and then asking it
    anything raises."""
    return type(x) in weakref.ProxyTypes or isinstance(x, OPAQUE)


def held_by_function(f):
    """What a function holds; its globals are not looked through."""
    return [*(f.__closure__ or ()), f.__defaults__, f.__kwdefaults__, f.__dict__]
