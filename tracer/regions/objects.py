"""Objects in syntax: `if b`, `for x in b`, `*b`, `p, q = b`, `x in b`, `b[k]`. Their special methods get hooks; what
has none is relied on.

Python asks such objects from C, where no hook is. So the rewritten code asks here first. An object of a class of the
user's answers by its own method, which is captured; of any other from outside, all that it holds is relied on
(`handed`).
"""

import builtins
import collections.abc
import functools
import math
import operator
import sys
import types
import weakref

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..common.origin import is_user
from ..guards.object_contents import is_fixed
from ..guards.reliance import of_user
from ..guards.state import TRANSPARENT, inside, own_new
from ..rewriter.expressions import HOOK
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.asked import asking
from ..values.object_phi import ObjectPhi, kind_of_object
from ..values.sized_range import SizedRange
from ..values.sizes import Size
from ..values.storage import current_trace
from ..values.variant import Variant
from . import array_object_calls
from .array_object_attributes import elements_of_instance
from .array_object_calls import asks_arrays, called_first, calling_with_array_objects
from .bounded_calls import called_late, calling_with_lists, is_asked_late
from .bounded_lists import bounded_list
from .builtins import REPLACED, replaces
from .calls import call
from .convert import CELL
from .growing import gone_through, list_behind, require_shown
from .handed import called as plainly
from .handed import handed, relied
from .handlers import trying
from .held_objects import call_held
from .keys import member, members
from .sized_calls import with_sizes_seen
from .special import looked_up
from .stand_ins import Counting
from .variants import of_each

QUICK = frozenset(
    (
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        tuple,
        list,
        dict,
        set,
        type(None),
        np.ndarray,
        np.bool_,
        TracedArray,
        TracedScalar,
        range,
    )
)
FIRST = {  # functions of C that ask their first argument for an answer
    len: "__len__", float: "__float__", int: "__int__", complex: "__complex__", abs: "__abs__", round: "__round__",
    hash: "__hash__",
    reversed: "__reversed__", bytes: "__bytes__", divmod: "__divmod__", operator.index: "__index__",
    operator.length_hint: "__length_hint__",
    math.floor: "__floor__", math.ceil: "__ceil__", math.trunc: "__trunc__",
}  # fmt: skip
# and nothing else, where that is what they are given
ITERATING = {list, tuple, set, frozenset, sum, sorted, any, all, enumerate, zip, iter}
LONE = {min, max}  # likewise, given one argument


def special(kind, name):
    """The user's own function behind an operator of a type; None for all other types. What is found is relied on."""
    looked_up(kind, name)
    for owner in kind.__mro__:
        if name in owner.__dict__:
            found = owner.__dict__[name]
            return found if type(found) is types.FunctionType and is_user(found.__code__) else None
    return None


def is_quick(x):
    """Whether Python looks into x by no method of anybody's, and the trace has seen to what is there."""
    return type(x) in QUICK and not (type(x) is np.ndarray and x.dtype.hasobject)


def method(x, name):
    """The user's special method of an object, with hooks; None where there is none."""
    kind = kind_of_object(x)
    if kind in QUICK or current_trace() is None:
        return None
    found = special(kind, name)
    return None if found is None else plainly(found)


def known_truth(x):
    """The truth of one side of a Variant, as far as it is known."""
    found = asked(x)
    return found if isinstance(found, Traced) else bool(found)


def asked(x):
    """Something whose truth is the truth of x: itself, or what its own method says."""
    x = list_behind(x)
    if type(x) is Size:
        return bool(x)
    if type(x) is list:
        if (held := bounded_list(x)) is not None:
            return held.truth()
        require_shown(x, True)
    if type(x) in QUICK or current_trace() is None or isinstance(x, Traced):
        return x
    if type(x) is Variant:
        return of_each(x, known_truth)
    if isinstance(x, ArrayObject):
        return array_object_calls.truth_of(x)
    if type(x) is ObjectPhi and not any(hasattr(x.kind, name) for name in ("__bool__", "__len__")):
        return True
    for name in ("__bool__", "__len__"):
        own = method(x, name)
        if own is not None:
            return own(x)
    return handed(bool, x)


MIXED_IN = vars(collections.abc.Sequence)  # methods that ask `__getitem__` of the class that has them


def iterated(x):
    """What Python iterates over in place of x."""
    x = gone_through(x)
    if type(x) is list:
        require_shown(x)
    if type(x) in (Counting, SizedRange):
        return x
    if is_quick(x) or current_trace() is None or isinstance(x, Traced):
        return x
    if isinstance(x, ArrayObject):
        return elements_of_instance(x)
    own = method(x, "__iter__")
    if own is not None:
        return stepped(own(x))
    own = method(x, "__getitem__")
    if own is not None and getattr(type(x), "__iter__", MIXED_IN["__iter__"]) is MIXED_IN["__iter__"]:
        return numbered(x, own)
    relied(x)
    return x


def stepped(iterator):
    """An iterator whose own `__next__`, where its class is the user's, has hooks."""
    step = method(iterator, "__next__")
    return iterator if step is None else steps(iterator, step)


def steps(iterator, step):
    while True:
        try:
            with trying(lambda: (StopIteration,)):
                x = step(iterator)
        except StopIteration:
            return
        yield x


def numbered(x, item):
    k = 0
    while True:
        try:
            with trying(lambda: (IndexError,)):
                found = item(x, k)
        except IndexError:
            return
        yield found
        k += 1


def mapped(x):
    """What is unpacked by `**x`."""
    if type(x) is not dict:
        relied(x)
    return x


def keyed(key, owner):
    """A subscript of `owner`: an object is asked for its number, or its hash."""
    if isinstance(key, slice):
        for k in (key.start, key.stop, key.step):
            if type(k) not in QUICK:
                looked_up(type(k), "__index__")
                relied(k)
    elif type(key) not in QUICK:
        looked_up(type(key), "__index__", "__hash__", "__eq__")
        relied(key)
    return member(key) if isinstance(owner, dict) else key


# -- calls -----------------------------------------------------------------------------------------


def called(f):
    """What to call in place of f, where that asks an object: the object's own method, with hooks. What it makes is the
    innermost region's."""
    trace = current_trace()
    if trace is None:
        return plainly(f)
    if f is globals:  # the caller's
        return globals_of(sys._getframe(1).f_globals)
    made = called_there(f, trace)
    made = functools.partial(made_new, made, f.__name__) if makes_new(f) else made
    made = functools.partial(call_held, made, f) if inside() and not has_hooks(made) else made
    return made if asking() is None else with_sizes_seen(f, made)


def has_hooks(f):
    """Whether a function is one that is captured: what it changes is seen in it."""
    return type(f) is types.FunctionType and HOOK in f.__code__.co_freevars


OF_PYTHON = (list, dict, set, frozenset, str, bytes, types.ModuleType, np.ndarray, np.generic, Traced)
# make a list, dict or set at every call
MAKING = frozenset(
    "copy tolist split rsplit splitlines fromkeys union intersection difference symmetric_difference sorted".split()
)


def makes_new(f):
    """Whether a function or method of Python's or NumPy's gives a list, dict or set that was not there."""
    if type(f) is types.MethodDescriptorType:
        return f.__name__ in MAKING and f.__objclass__ in OF_PYTHON
    bound = type(f) in (types.BuiltinFunctionType, types.MethodType) and f.__name__ in MAKING
    return bound and (issubclass(type(f.__self__), Traced | np.generic) or type(f.__self__) in OF_PYTHON)


def made_new(f, name, /, *args, **kwargs):
    return own_new(f(*args, **kwargs), name == "tolist")


TRANSPARENT.add(made_new.__code__)


def called_there(f, trace):
    plain = with_lists if trace.root.growing else with_late_lists
    if trace.root.outside.subclassed:
        return calling_with_array_objects(f, plain)
    return functools.partial(called_first, f, plain, plain(f)) if asks_arrays(f) else plain(f)


def with_lists(f):
    return calling_with_lists(f, called_now)


def with_late_lists(f):
    made = called_now(f)
    return functools.partial(called_late, f, called_now, made) if is_asked_late(f) else made


def called_now(f):
    if type(f) is weakref.ref:  # is relied on by whether it is dead: to know its object would keep that alive
        return functools.partial(handed, f)
    if type(f) not in ASKING:
        return plainly(f)
    try:
        name = FIRST.get(f)
    except TypeError:  # not hashable
        return plainly(f)
    if name is not None:
        return functools.partial(answered, f, name)
    if f is bool:
        return lambda *args: plainly(bool)(*map(asked, args))
    if f is set or f is frozenset:
        return lambda *args, **kwargs: plainly(f)(*map(members, map(iterated, args)), **kwargs)
    if f in ITERATING:
        return lambda *args, **kwargs: plainly(f)(*map(iterated, args), **kwargs)
    if f in LONE:
        return lambda *args, **kwargs: plainly(f)(*(map(iterated, args) if len(args) == 1 else args), **kwargs)
    return plainly(f)


ASKING = (type, types.BuiltinFunctionType)


for _real in (map, filter, functools.reduce):
    REPLACED[_real] = functools.partial(
        lambda real, stand_in, f, *rest: stand_in(f, *map(iterated, rest)), _real, REPLACED[_real]
    )


def answered(f, name, /, *args, **kwargs):
    if len(args) == 1 and type(args[0]) in QUICK and name != "__hash__":
        return call(f)(*args, **kwargs)
    own = method(args[0], name) if args else None
    if own is None:
        return plainly(f)(*args, **kwargs)
    found = own(*args, **kwargs)
    strong = type(found) is np.float64 or type(found) is TracedScalar and not found.weak and found.dtype == np.float64
    return call(float)(found) if f is float and strong else found  # np.float64 is a subclass of float


def class_of(x):
    """Rely on the class of an object, which may be exchanged."""
    trace = current_trace()
    if trace is not None and of_user(type(x)) and not isinstance(x, type | Traced) and trace.root.outside.knows(x):
        trace.root.outside.read("attribute", x, "__class__", f"the class of {trace.root.outside.called(x)}")


def _classed(real, first):
    def stand_in(*args, **kwargs):
        if args:
            class_of(args[0])
        return first(*args, **kwargs)

    REPLACED[real] = stand_in


_classed(type, REPLACED[type])


@replaces(vars)
def vars_(*x):
    if not x or current_trace() is None:
        return builtins.vars(*x)
    try:
        return CELL.cell_contents.attribute(x[0], "__dict__")
    except AttributeError:
        raise with_note(TypeError, message("vars() argument must have __dict__ attribute", locate())) from None


def globals_of(space):
    """globals(), each of which is read where it is asked for."""
    outside = current_trace().root.outside
    for f in outside.functions.values():
        if f.__globals__ is space:
            outside.read("attribute", f, "__globals__", "globals()")
            break
    return lambda: space


def refuse_store(owner, what):
    """Stores into objects from outside that no trace can make again at every call."""
    trace = current_trace()
    if trace is not None and trace.root.outside.knows(owner) and not is_fixed(owner):
        text = (
            f"{what} of {trace.root.outside.called(owner)}, a {type(owner).__name__} from outside, which would happen "
            "once, and not at every call"
        )
        raise UnsupportedError(
            message(text, locate(), "Use a list, a dict, an array or an object with attributes; or do it outside.")
        )
