"""What a function has made, made again at every call: one object for all calls would show in each what has been done to
it after another.

What leaves a trace is a value, which nobody can change or tell from its equal; or it was there before the trace, and is
the very object that it is (`Outside.was_there`); or the function has made it. Of the last a plan makes another at each
call, of the plans of its parts, where these are known to be all of it: the items that a class in C keeps, and
attributes. All else is refused.
"""

import array
import collections
import enum
import functools
import sys
import threading
import types
from typing import Any, NamedTuple

import numpy as np

from ..common.errors import HOME, UnsupportedError, message
from ..guards.instances import attributes, base_of, hidden, is_in_c, set_attributes
from ..guards.object_contents import DRAWING, LOCKS, NUMPYS, StandIn, is_fixed, shown_kind
from ..guards.reliance import of_user
from ..guards.state import UNBOUND
from ..guards.subclasses import Blank, with_class
from ..rewriter.converted import written
from .suspended import refuse_suspended

NAMED = (types.FunctionType, type, types.ModuleType, *NUMPYS, type(functools.cache(len)))  # known by where they are
BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)  # may be of an object
HOLDING = (property, staticmethod, classmethod, super)  # fixed, and of what they hold
STATEFUL = (*DRAWING, *LOCKS, threading.Thread)  # count as fixed where state is compared, and have one all the same
VALUED = (int, float, complex, str, bytes)
JAX = ("jax", "jaxlib")  # whose arrays never change


def is_value(x):
    """Whether nobody can change an object, or needs to tell it from its equal."""
    kind = type(x)
    if kind in (slice, frozenset):
        return all(map(is_value, (x.start, x.stop, x.step) if kind is slice else x))
    if kind in BOUND:
        return isinstance(x.__self__, types.ModuleType | None) or is_value(x.__self__) or is_named(x.__self__)
    if isinstance(x, (*NAMED, *HOLDING)):
        return is_named(x)
    home = kind.__module__.partition(".")[0]
    if home == HOME:  # functions that transforms give are made of parts of ours
        return not isinstance(x, StandIn) and hidden(x) is None
    if isinstance(x, (enum.Enum, np.finfo, np.iinfo)) or home in JAX:
        return True
    return not of_user(kind) and not isinstance(x, STATEFUL) and is_fixed(x)


def is_named(x):
    """Whether a function, class or module is what its own name leads to."""
    if not isinstance(x, NAMED):
        return False
    if isinstance(x, types.ModuleType):
        return sys.modules.get(x.__name__) is x
    home = getattr(x, "__module__", None)
    found = sys.modules.get(home) if isinstance(home, str) else None
    for name in str(getattr(x, "__qualname__", x.__name__)).split("."):
        found = getattr(found, name, None)
    return found is x or isinstance(x, np.ufunc) and getattr(np, x.__name__, None) is x


def refuse_shared(x):
    """Refuse to hand out an object that all calls would have in common."""
    refuse_suspended(x)
    what = f"the function returns or stores a {shown_kind(x)}"
    if hidden(x) is None:
        text = f"{what} that it has made, which would be one and the same for all calls"
    else:
        text = f"{what} with traced values in it, which no call could make anew"
    raise UnsupportedError(message(text, None, "Return what it is made of, and make it of that outside."))


# -- what the parts of an object are -----------------------------------------------------------------


class Makeup(NamedTuple):
    """How instances of a class in C, and of subclasses of it, are made again.

    state(x): what is noted of one that is no object of its own; parts(x): the objects that it consists of beside
    attributes; blank(kind, state): one without those; fill(new, state, parts) puts them in. Without a `blank`, it is
    made of its parts at once: none of these can hold it.
    """

    state: Any
    parts: Any
    blank: Any
    fill: Any


def no_parts(x):
    return ()


def new_of(base):
    return lambda kind, state: base.__new__(kind)


def sequence(base):
    return Makeup(no_parts, base.__iter__, new_of(base), lambda new, state, parts: base.extend(new, parts))


def mapping(base, more=no_parts, finish=lambda new, parts: None):
    """A dict: its keys, and what stands there; what it has beside those comes first."""

    def fill(new, keys, parts):
        first = len(parts) - len(keys)
        finish(new, parts[:first])
        for key, value in zip(keys, parts[first:]):
            base.__setitem__(new, key, value)

    return Makeup(lambda x: list(base.keys(x)), lambda x: [*more(x), *base.values(x)], new_of(base), fill)


def members(base):
    """A set, whose members are found by their hashes: `refuse_keys`."""
    return Makeup(base.copy, no_parts, new_of(base), lambda new, held, parts: base.update(new, held))


def valued(base):
    return Makeup(base.__getnewargs__, no_parts, lambda kind, given: base.__new__(kind, *given), None)


def from_parts(parts, make):
    return Makeup(type, parts, None, lambda kind, parts: make(kind, parts))


def empty_queue(kind, most):
    new = collections.deque.__new__(kind)
    collections.deque.__init__(new, (), most)
    return new


def buffer_of(kind, held):
    new = bytearray.__new__(kind)
    bytearray.__init__(new, held)
    return new


def put_factory(new, parts):
    new.default_factory = parts[0]


def held_by(cell):
    return () if cell == types.CellType() or cell.cell_contents is UNBOUND else (cell.cell_contents,)


def fill_cell(new, state, parts):
    for part in parts:
        new.cell_contents = part


MAKEUPS = {
    object: Makeup(no_parts, no_parts, new_of(object), None),
    types.SimpleNamespace: Makeup(no_parts, no_parts, new_of(types.SimpleNamespace), None),
    list: sequence(list),
    collections.deque: sequence(collections.deque)._replace(state=lambda x: x.maxlen, blank=empty_queue),
    dict: mapping(dict),
    collections.OrderedDict: mapping(collections.OrderedDict),
    collections.defaultdict: mapping(dict, lambda x: [x.default_factory], put_factory)._replace(
        blank=new_of(collections.defaultdict)
    ),
    set: members(set),
    bytearray: Makeup(bytearray.copy, no_parts, buffer_of, None),
    array.array: Makeup(
        lambda x: array.array(x.typecode, x), no_parts,
        lambda kind, held: array.array.__new__(kind, held.typecode, held), None,
    ),
    types.CellType: Makeup(no_parts, held_by, lambda kind, state: types.CellType(), fill_cell),
    **{base: valued(base) for base in VALUED},
    tuple: from_parts(tuple.__iter__, tuple.__new__),
    frozenset: from_parts(frozenset.__iter__, frozenset.__new__),
    slice: from_parts(lambda x: (x.start, x.stop, x.step), lambda kind, parts: slice(*parts)),
    types.MethodType: from_parts(lambda x: (x.__func__, x.__self__), lambda kind, parts: types.MethodType(*parts)),
    functools.partial: from_parts(
        lambda x: (x.func, x.args, x.keywords), lambda kind, parts: kind(parts[0], *parts[1], **parts[2])
    ),
}  # fmt: skip
ARGS = BaseException.args


def makeup_of(x):
    """The Makeup by which an object is made again; None where what it holds is not known to be all of it."""
    if type(x) is types.FunctionType:
        return of_function(x)
    base = base_of(type(x))
    return of_exception(x, base) if isinstance(x, BaseException) else MAKEUPS.get(base)


def of_function(x):
    """The Makeup of a function that the trace has made: of the user's own code, without hooks, and what its variables
    hold."""
    code, cells = written(x.__code__), dict(zip(x.__code__.co_freevars, x.__closure__ or ()))
    if code is None or not cells.keys() >= set(code.co_freevars):
        return None
    space, named = x.__globals__, (x.__name__, x.__qualname__, x.__module__, x.__doc__)

    def make(kind, parts):
        new = types.FunctionType(code, space, named[0], parts[-2], tuple(parts[:-2]))
        new.__kwdefaults__, (_, new.__qualname__, new.__module__, new.__doc__) = parts[-1], named
        return new

    return from_parts(lambda x: [*(cells[n] for n in code.co_freevars), x.__defaults__, x.__kwdefaults__], make)


def of_exception(x, base):
    """Likewise of an exception: one that has been raised is made again without the frames it went through, and without
    the exceptions that it came from."""
    in_c = [c for c in type(x).__mro__ if is_in_c(c)]
    if any(c.__basicsize__ > BaseException.__basicsize__ for c in in_c):
        return None
    put = lambda new, state, parts: ARGS.__set__(new, parts[0])
    return Makeup(no_parts, lambda x: (ARGS.__get__(x),), new_of(base), put)


def hashed(x):
    """What an object holds that is found by its hash."""
    if isinstance(x, dict):
        return dict.keys(x)
    base = next((kind for kind in (set, frozenset) if isinstance(x, kind)), None)
    return () if base is None else base.__iter__(x)


# -- arrays ------------------------------------------------------------------------------------------


def owner_of(x):
    """The array whose memory an array shows."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def is_lone(x):
    """Whether an array is its elements in their order, and nothing else."""
    plain = type(x) is np.ndarray and x.base is None and not x.dtype.hasobject
    return plain and x.flags.c_contiguous and x.flags.writeable


def in_one_piece(x):
    return x.flags.c_contiguous or x.flags.f_contiguous


def bytes_of(x):
    """The memory of an array that lies in one piece, as bytes."""
    return in_memory(x).view(np.uint8)


def in_memory(x):
    """The elements of an array that lies in one piece, as they lie."""
    return (x if x.flags.c_contiguous else x.T).reshape(-1)


def view_of(x):
    """A function that gives of a copy of an array's memory what the array shows of that; None where nothing can."""
    owner = owner_of(x)
    if x.size == 0:
        shape, dtype, order = x.shape, x.dtype, "C" if x.flags.c_contiguous else "F"
        return lambda memory: np.empty(shape, dtype, order)
    start = x.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    shape, dtype, strides = x.shape, x.dtype, x.strides
    if not start and (shape, dtype, strides) == (owner.shape, owner.dtype, owner.strides):
        return lambda memory: memory[...]
    if not in_one_piece(owner):
        return None
    if dtype.hasobject or owner.dtype.hasobject:
        if not dtype == owner.dtype == object or start % dtype.itemsize:
            return None
        first = start // dtype.itemsize
        return lambda memory: np.lib.stride_tricks.as_strided(in_memory(memory)[first:], shape, strides)
    return lambda memory: np.ndarray(shape, dtype, bytes_of(memory), start, strides)


class Remaking:
    """The part of `Containers` that plans what the trace has made: `outside` knows what was there, `plan` plans a
    part."""

    def is_kept(self, x):
        """Whether all calls may have an object in common."""
        if type(x) is tuple and all(map(self.is_kept, x)):
            return True
        return is_value(x) or self.outside.was_there(x)

    def refuse_keys(self, keys):
        """Refuse keys of a dict, or members of a set, that the trace has made: their places hang on which they are."""
        for key in keys:
            if type(key) is not str and not self.is_kept(key):
                refuse_shared(key)

    def parts_of(self, values, leaves):
        return [self.plan(self.outside.given(value), leaves) for value in values]

    def remade(self, x, leaves):
        """A plan of an object that the trace has made, by the plans of its parts and attributes."""
        makeup = makeup_of(x)
        if makeup is None or type(x).__module__.partition(".")[0] == HOME:
            refuse_shared(x)
        self.refuse_keys(hashed(x))
        self.outside.pin_within([*hashed(x)])
        key, kind, names = id(x), type(x), attributes(x)
        state, parts = makeup.state(x), self.parts_of(makeup.parts(x), leaves)
        held = list(zip(names, self.parts_of(names.values(), leaves)))

        def plan(made, given):
            if makeup.blank is not None:
                new = given[2][key] = makeup.blank(kind, state)
                if makeup.fill is not None:
                    makeup.fill(new, state, [p(made, given) for p in parts])
            else:
                new = given[2][key] = makeup.fill(state, [p(made, given) for p in parts])
            if held:
                set_attributes(new, {name: p(made, given) for name, p in held})
            return new

        return plan

    def elements(self, x, leaves):
        """A plan of an array that the trace has made: of the memory, and what it shows of that."""
        owner = owner_of(x)
        if owner is not x:
            if self.outside.was_there(owner):
                refuse_shared(x)
            memory, shows = self.once(owner, self.elements, leaves), view_of(x)
            if shows is None:
                refuse_shared(x)
        else:
            memory, shows = self.copied_memory(x, leaves), None
        key, kind, writeable = id(x), type(x), x.flags.writeable
        names = vars(x) if kind is not np.ndarray else {}
        held = list(zip(names, self.parts_of(names.values(), leaves)))

        def plan(made, given):
            new = memory(made, given)
            if shows is not None:
                new = shows(new) if kind is np.ndarray else with_class(kind, shows(new))
            given[2][key] = new
            if held:
                vars(new).update({name: p(made, given) for name, p in held})
            if not writeable:
                new.flags.writeable = False
            return new

        return plan

    def copied_memory(self, x, leaves):
        """A plan of the elements of an array, which hold no other."""
        held, kind = np.asarray(x).copy("K"), type(x)
        if x.base is not None or kind is not np.ndarray and not held.flags.c_contiguous:
            refuse_shared(x)  # what lies there is somebody else's
        parts = ()
        if x.dtype.hasobject:
            if x.dtype != object or not in_one_piece(held):
                refuse_shared(x)
            parts = self.parts_of(in_memory(held).tolist(), leaves)

        def plan(made, given):
            if kind is np.ndarray:
                new = held.copy("K")
            else:
                new = Blank(held.shape, held.dtype)
                np.copyto(new, held)
                new.__class__ = kind
            for n, part in enumerate(parts):
                in_memory(np.asarray(new))[n] = part(made, given)
            return new

        return plan
