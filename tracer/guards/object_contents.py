"""What an object holds, one level deep: its attributes, items and bytes, found without running any code of its class.

`contents_of` is what state is compared by (`world.state`) and walked along (`reliance`). Objects of the C library's
that keep their state to themselves hold what they would be pickled as.
"""

import array
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import io
import operator
import pathlib
import random
import re
import string
import threading
import types
import uuid
import weakref

import numpy as np

BUFFERS = (bytearray, memoryview, array.array)
LOCKS = (type(threading.Lock()), type(threading.RLock()))
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
CODE = (
    types.BuiltinFunctionType, types.CodeType, types.MethodDescriptorType, types.MethodWrapperType,
    types.WrapperDescriptorType,
)
CODE += (
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, property, staticmethod,
    classmethod, super,
)
FIXED = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
    type,
    types.ModuleType,
    *CODE,
)
FIXED += (
    datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, uuid.UUID,
    pathlib.PurePath,
)
FIXED += (
    enum.Enum,
    re.Pattern,
    re.Match,
    np.dtype,
    types.GenericAlias,
    types.UnionType,
    string.Formatter,
    type(functools.cache(len)),
)
NUMPYS = (np.ufunc, type(np.sum))  # classes of NumPy's functions
FIXED += (operator.attrgetter, operator.itemgetter, operator.methodcaller, *NUMPYS)
# say nothing of what those do
LABELS = {"__module__", "__name__", "__qualname__", "__doc__", "__signature__", "__wrapped__"}
LABELS |= {"__annotations__", "__annotate__", "__annotate_func__", "__type_params__"}
# the draws of a program are its own affair
DRAWING = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
ADVANCED = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, io.IOBase)
EMPTY = types.CellType()


class UnknownContents(Exception):
    """What an object holds cannot be told."""


def is_fixed(x):
    """Whether an object never changes, so far as a program could tell: what it is made of is given when it is made."""
    kind = type(x)
    found = _fixed.get(kind)
    if found is None:
        found = _fixed[kind] = fixed_class(kind)
    if found is not EMPTY:
        return found
    held = getattr(x, "__dict__", None)
    return labelled(x, held or {}) if kind in NUMPYS else not held


def labelled(x, held):
    """Whether a function of NumPy's class is NumPy's, and its attributes are labels alone."""
    home = "numpy" if type(x) is np.ufunc else str(getattr(held.get("__wrapped__"), "__module__", None))
    return home.partition(".")[0] == "numpy" and LABELS.issuperset(held)


def fixed_class(kind):
    """Whether the objects of a class are fixed; EMPTY where those are that have no attributes of their own."""
    if issubclass(kind, (type, types.ModuleType, enum.Enum, *DRAWING, *LOCKS, threading.Thread)):
        return True
    if issubclass(kind, np.generic):
        return not issubclass(kind, np.void | np.object_)
    return issubclass(kind, FIXED) and (EMPTY if hasattr(kind, "__dictoffset__") and kind.__dictoffset__ else True)


_fixed = {}  # class -> what `fixed_class` says


class StandIn:
    """An iterator of ours that stands for one of Python's, `plain`."""


def shown_kind(x):
    """The name of an object's class, as the user knows it."""
    return type(x.plain if isinstance(x, StandIn) else x).__name__


def is_advanced(x):
    """Whether an object is used up by being looked at."""
    if isinstance(x, io.StringIO | io.BytesIO):
        return False
    return (
        isinstance(x, (*ADVANCED, StandIn))
        or type(type(x)) is type
        and type(x).__module__ in ("builtins", "itertools")
        and hasattr(x, "__next__")
    )


@functools.lru_cache(1024)
def slots(kind):
    """The attributes that the classes of an instance keep in slots."""
    found = []
    for c in kind.__mro__:
        names = vars(c).get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__"):
                private = name.startswith("__") and not name.endswith("__")
                found.append(f"_{c.__name__.lstrip('_')}{name}" if private else name)
    return tuple(found)


def own(x, name):
    """An attribute as `object` finds it, or EMPTY."""
    try:
        return object.__getattribute__(x, name)
    except AttributeError:
        return EMPTY


def contents_of(x):
    """All that an object holds, in order: names and keys, and what they stand for."""
    if isinstance(x, types.FunctionType):
        cells = [c.cell_contents for c in x.__closure__ or () if c != EMPTY]
        return [x.__code__, x.__defaults__, *mapping(x.__kwdefaults__ or {}), *cells, *mapping(x.__dict__)]
    if isinstance(x, types.MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, threading.local):
        return mapping(x.__dict__)
    held, names = own(x, "__dict__"), slots(type(x))
    found = [] if type(held) is not dict else mapping(held)
    found += [own(x, n) for n in names]
    more = builtin_contents(x)
    if more is None and type(held) is not dict and not names and type(x) is not object:
        more = pickled_parts(x)
    return [*found, *(more or ())]


def mapping(d):
    return [*dict.keys(d), *dict.values(d)]


def builtin_contents(x):
    """What an object holds beside attributes, because of the class in C that it is built on; None where there is no
    such class known."""
    if isinstance(x, dict):
        return [*mapping(x), *([x.default_factory] if isinstance(x, collections.defaultdict) else ())]
    for kind in (list, tuple, set, frozenset, collections.deque):
        if isinstance(x, kind):
            return list(kind.__iter__(x))
    if isinstance(x, np.ndarray):
        return array_parts(x)
    if isinstance(x, BUFFERS):
        view = memoryview(x)
        return [view.format, view.shape, view.readonly, view.tobytes()]
    if isinstance(x, types.MappingProxyType):
        return [v for pair in x.items() for v in pair]
    if isinstance(x, VIEWS):
        return [v for pair in x.mapping.items() for v in pair]
    if isinstance(x, weakref.ref):
        return [x() is None]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *mapping(x.keywords)]
    if isinstance(x, io.StringIO | io.BytesIO):
        return [x.closed, None if x.closed else (x.getvalue(), x.tell())]
    if isinstance(x, contextvars.ContextVar):
        return [x.get(None)]
    if isinstance(x, types.CellType):
        return [None if x == EMPTY else x.cell_contents]
    return None


def array_parts(x):
    what = [x.dtype.str if x.dtype.names is None else repr(x.dtype), x.shape]
    hidden = [np.ma.getmaskarray(x).tobytes()] if isinstance(x, np.ma.MaskedArray) else []
    if x.dtype.hasobject:
        return [*what, *flat_tuple_items(np.asarray(x).ravel().tolist()), *hidden]
    return [*what, np.asarray(x).tobytes(), *hidden]


def flat_tuple_items(items):
    return [v for x in items for v in (flat_tuple_items(x) if type(x) is tuple else (x,))]


def pickled_parts(x):
    """What an object would be made again from, in another process."""
    try:
        found = [laid_open(x.__reduce_ex__(4)) for _ in range(2)]
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise UnknownContents(str(error)) from None
    if not all(map(made_alike, *found)):
        raise UnknownContents("it is made of other objects each time")
    return found[0]


def made_alike(a, b):
    """Whether two parts are one object, or say the same."""
    if type(a) is np.ndarray and type(b) is np.ndarray:
        return a.dtype == b.dtype and not a.dtype.hasobject and array_parts(a) == array_parts(b)
    return a is b or (a != b) is False


def laid_open(x):
    """The parts of what `__reduce_ex__` gives: of the containers in it, what they hold."""
    if isinstance(x, tuple | list):
        return [len(x), *(v for part in x for v in laid_open(part))]
    if isinstance(x, dict):
        return [len(x), *(v for part in mapping(x) for v in laid_open(part))]
    if hasattr(x, "__next__"):
        return laid_open(list(x))
    return [x]


BASES_OF_ITEMS = (collections.OrderedDict, dict, list, set, collections.deque)


def is_restorable(x):
    """Whether `content_restorer` gives an object back all that it may hold."""
    known = isinstance(x, (np.ndarray, *BUFFERS, *BASES_OF_ITEMS, io.StringIO, io.BytesIO))
    return known or type(own(x, "__dict__")) is dict or bool(slots(type(x)))


def content_restorer(x):
    """A function that gives an object the items and attributes back that it has now."""
    base = next((kind for kind in BASES_OF_ITEMS if isinstance(x, kind)), None)  # whose own methods a subclass may hide
    held = None if base is None else list(base.items(x) if issubclass(base, dict) else base.__iter__(x))
    held = x[:] if isinstance(x, bytearray | array.array) else held
    names = getattr(x, "__dict__", None)
    names = dict(names) if type(names) is dict else None
    members = [(n, own(x, n)) for n in slots(type(x))]
    elements = np.asarray(x).copy() if isinstance(x, np.ndarray) and x.flags.writeable else None
    hidden = np.ma.getmaskarray(x).copy() if isinstance(x, np.ma.MaskedArray) else None
    written = (x.getvalue(), x.tell()) if isinstance(x, io.StringIO | io.BytesIO) and not x.closed else None

    def put_back():
        for name, value in members:
            if value is not EMPTY:
                object.__setattr__(x, name, value)
            elif own(x, name) is not EMPTY:
                object.__delattr__(x, name)
        if elements is not None:
            give_back(x, elements)
        if hidden is not None:
            x.mask = hidden
        if written is not None:
            x.seek(0)
            x.truncate()
            x.write(written[0])
            x.seek(written[1])
        if isinstance(x, list):
            list.__setitem__(x, slice(None), held)
        elif isinstance(x, bytearray | array.array):
            x[:] = held
        elif held is not None:
            base.clear(x)
            if issubclass(base, dict):
                for key, value in held:
                    base.__setitem__(x, key, value)
            else:
                (base.extend if base is collections.deque else base.update)(x, held)
        if names is not None:
            vars(x).clear()
            vars(x).update(names)

    return put_back


def give_back(array, elements):
    """Give an array the elements, shape and dtype that it had."""
    if isinstance(array, np.ma.MaskedArray):  # which takes a mask with them
        array[...] = elements
        return
    plain = array.view(np.ndarray)
    if plain.dtype != elements.dtype or plain.shape != elements.shape:
        if array.size * array.dtype.itemsize != elements.nbytes:
            array.resize(elements.size, refcheck=False)
        array.dtype, array.shape = elements.dtype, elements.shape
        plain = array.view(np.ndarray)
    plain[...] = elements
