"""`f(...)`: what is really called, a rule for each kind of callable. The user's functions get hooks of their own."""

import builtins
import functools
import inspect
import operator
import os
import types

import numpy as np

from ...ir.core import Builder
from ...ir.types import SHORT
from ..common.errors import CannotRoll, UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards import memo
from ..guards.container_methods import changed_by
from ..guards.context_managers import stream_of
from ..guards.draws import drawing
from ..guards.reliance import of_user
from ..guards.state import CONTAINERS, UNBOUND, inside, own
from ..guards.subclasses import is_captured
from ..numpy_api.handles import is_traced
from ..numpy_api.registry import call_function, call_ufunc_method
from ..numpy_api.scipy_registry import find, find_method
from ..values.array import Traced, TracedArray, TracedScalar, Unread, answers, fresh
from ..values.storage import current_trace
from . import creation, math_functions, searching  # noqa: F401, which register their stand-ins
from .array_objects import is_subclass, new_array, view
from .builtins import REPLACED, lacks, replaces, sample
from .classes import class_call, instance_call
from .container_changes import LEAVING, before_change, bound_seen, call_noting_changes, given_container, updating
from .convert import CELL
from .dispatching import BOUND, dispatched
from .foreign import ADVICE, calling, foreign, hooked
from .growing import appending
from .iterators import map_, nditer
from .jax_calls import of_jax
from .jax_functions import is_jax
from .keys import of_keeper
from .library import numpy_object_call, numpy_source_call, traced_through
from .list_changes import extending, popping
from .numba_functions import numba_call
from .printing import SPEAKING, formatted, joining
from .sequences import LIST_METHODS, is_traced_list
from .special import looked_up
from .user_functions import live, user

# whose methods are of what they hold
PLAIN = (str, bytes, int, float, complex, list, dict, tuple, set, frozenset, Traced, np.ndarray, np.generic)
CACHED, EMPTY = type(functools.cache(len)), types.CellType()
NUMPYS = (type(np.sum), np.ufunc)
ENVIRONMENT = type(os.environ)
# changes that are known for what they are
NOTED = {"append": appending, "extend": extending, "update": updating, "pop": popping}
STRING_METHODS = {"format": formatted, "join": joining}
REPLACED[np.nditer] = functools.partial(nditer, REPLACED[np.nditer])


def call(f):
    """What to call in place of f."""
    kind = type(f)
    if kind is types.FunctionType:
        return (
            written_with_jax(f, user)
            if is_user(f.__code__)
            else REPLACED.get(f) or compiled_call(f) or dispatched(f) or libraries(f, scipys(numpy_source_call(f)))
        )
    plain = not of_user(kind) and not issubclass(kind, Unread)  # of others an `__eq__` or `__hash__` would be asked
    if plain:
        found = drawing(f) if current_trace() is not None else None
        if found is not None:
            return found
        if kind in RULES:
            return RULES[kind](f)
    if isinstance(f, type):
        return plain and REPLACED.get(f) or class_call(f)
    return f if issubclass(kind, Unread) else _instance(f)


def written_with_jax(f, hooked, code=None):
    """What to call for a function whose source is at hand, `hooked(f)`; of a library that is written with JAX, called
    with traced values, it is imported. code: the function that says whose it is, if it is not f."""
    if current_trace() is None or not is_jax(f if code is None else code):
        return hooked(f)
    return functools.partial(of_jax, hooked(f), f)


def compiled_call(f):
    """What to call for a compiled function in a trace: not its program, which would act while tracing, once, but what
    it was made of; None for others."""
    callee = f.__dict__.get("callee")
    if callee is None or current_trace() is None or not callee.compiled.has_plain:
        return None
    return lambda *args, **kwargs: callee(callee.compiled.slow, args, kwargs)


def _instance(f):
    """An object that can be called: its class says how."""
    kind = type(f)
    found = (dispatched(f) if kind is BOUND else None) or numpy_object_call(f) or numba_call(f)
    if found is not None:
        return found
    looked_up(kind, "__call__")
    run = inspect.getattr_static(kind, "__call__", None)
    if type(run) is types.FunctionType and is_user(run.__code__):
        return written_with_jax(f, lambda f: types.MethodType(user(run), f), run)
    if type(run) is types.FunctionType and traced_through(run.__code__):
        return types.MethodType(numpy_source_call(run), f)
    found = scipys(f) if kind.__module__.startswith("_cython") else f
    return libraries(f, found) if type(run) in (types.FunctionType, types.WrapperDescriptorType) else f


def _bound_method(f):
    g = f.__func__
    if current_trace() is not None:
        if stream_of(f) is not None:
            return foreign(f)
        if type(f.__self__) is ENVIRONMENT:
            return REPLACED[os.getenv] if f.__name__ == "get" else changes_environment
    if type(g) is types.FunctionType and is_user(g.__code__):
        return written_with_jax(f, lambda f: types.MethodType(user(g), f.__self__))
    if type(g) is types.FunctionType and (inside := compiled_call(g)) is not None:
        return functools.partial(inside, f.__self__)
    found = libraries(f, scipys(f))
    return functools.partial(calling, f) if found is f and type(g) is not types.FunctionType else found


def _slot(f):
    """A special method of a builtin class, bound or not."""
    bound = [f.__self__] if type(f) is types.MethodWrapperType else []
    if bound and (seen := bound_seen(f)) is not f:
        return seen if isinstance(seen, functools.partial) else call(seen)
    if (
        f.__name__ in STORES
        and current_trace() is not None
        and not (bound and isinstance(bound[0], types.FunctionType))
    ):
        return functools.partial(STORES[f.__name__], *bound)  # but for functions, whose name is their own affair
    if bound and f.__name__ in SPEAKING and current_trace() is not None:
        return functools.partial(SPEAKING[f.__name__], bound[0])
    if bound and f.__name__ == "__call__" and isinstance(bound[0], type):
        return instance_call(bound[0])
    if changed_by(f) is not None and current_trace() is not None:
        before_change(f.__self__, f.__name__)
    return _instance(f)


def _partial(f):
    inner = call(f.func)
    trace = current_trace()
    outside = trace is not None and trace.root.outside.knows(f)
    args, keywords = (live(f, "args"), live(f, "keywords")) if outside else (f.args, f.keywords)
    if outside:
        trace.root.outside.partial(f)
    return (
        f
        if inner is f.func and args is f.args and keywords is f.keywords
        else functools.partial(inner, *args, **keywords)
    )


def object_setattr(owner, key, value):
    """`object.__setattr__(owner, key, value)`"""
    CELL.cell_contents.put(owner, key, value)


def object_delattr(owner, key):
    """`object.__delattr__(owner, key)`"""
    CELL.cell_contents.remove(owner, key)


STORES = {"__setattr__": object_setattr, "__delattr__": object_delattr}


def libraries(f, found):
    """What stands for a library's function while tracing: `found`, or where that is the function itself, what `foreign`
    allows."""
    return foreign(f) if found is f and current_trace() is not None else found


def scipys(f):
    """One of SciPy's functions or methods while tracing: its stand-in, if there is one."""
    if current_trace() is None or not (f.__module__ or "").startswith("scipy."):
        return f
    return (find_method(f) if type(f) is types.MethodType else find(f)) or f


def _uncached(f, /, *args, **kwargs):
    """A call of a function behind functools.cache, which must not keep what is traced."""
    held = [c.cell_contents for c in getattr(f.__wrapped__, "__closure__", None) or () if c != EMPTY]
    if type(f.__wrapped__) is types.FunctionType and is_user(f.__wrapped__.__code__):
        current_trace().root.outside.function(f.__wrapped__, False)  # which may have run at another call
    given = [*args, *kwargs.values()]
    if is_traced([*given, *held]) or any(map(current_trace().root.outside.has_made, given)):
        return memo.computed(f, call(f.__wrapped__), args, kwargs)
    return memo.recalled(f, args, kwargs)


def _attributes(names, owner):
    found = [functools.reduce(getattr_, name.split("."), owner) for name in names]
    return tuple(found) if len(found) > 1 else found[0]


def _items(keys, owner):
    found = [CELL.cell_contents.item(owner, k) for k in keys]
    return tuple(found) if len(found) > 1 else found[0]


def _method_called(f, owner):
    made, given = f.__reduce__()
    keywords = made.keywords if isinstance(made, functools.partial) else {}
    name, *args = (*(made.args if isinstance(made, functools.partial) else ()), *given)
    return call(getattr_(owner, name))(*args, **keywords)


def _getter(get):
    return lambda f: functools.partial(get, f.__reduce__()[1])


def listed(f, *args, **kwargs):
    """A NumPy function, or a method of a ufunc, of lists of traced numbers, which its own dispatch does not look
    into."""
    if any(
        type(a) in (list, tuple) and is_traced(a) and not any(answers(type(i), "__array_function__") for i in a)
        for a in args
    ):
        if isinstance(f, types.BuiltinFunctionType):
            return call_ufunc_method(f.__self__, f.__name__, args, kwargs)
        return (
            call_ufunc_method(f, "__call__", args, kwargs)
            if isinstance(f, np.ufunc)
            else call_function(f, args, kwargs)
        )
    if any(type(a) is types.FunctionType for a in args):  # which NumPy calls
        args = tuple(map(hooked, args))
    return f(*args, **kwargs)


def building(rule):
    """A rule for what Python and NumPy bring along, which is called as it is where no program is built."""
    return lambda f: REPLACED.get(f) or rule(f) if Builder.building() is not None else f


def _numpys(f):
    found = foreign(f)
    return functools.partial(listed, f) if found is f or found.func is calling else found


def _builtin(f):
    """A builtin function, or a method of a builtin class."""
    if (seen := bound_seen(f)) is not f:
        return seen if isinstance(seen, functools.partial) else call(seen)
    owner, name, changes = f.__self__, f.__name__, changed_by(f) is not None
    if name in LIST_METHODS and is_traced_list(owner, name):
        f = functools.partial(LIST_METHODS[name], owner)
        f.__name__ = f.func.__name__
    if changes:
        if type(owner) in (list, dict) and name in NOTED and (found := NOTED[name](owner)) is not None:
            return found
        before_change(owner, name)
        return _sort(f) if name == "sort" and not isinstance(f, functools.partial) else f
    if name in STRING_METHODS and type(owner) is str:
        return STRING_METHODS[name](owner)
    if name in ("copy", "astype") and type(owner) is np.ndarray and owner.dtype.name in SHORT:
        return getattr(fresh(current_trace().capture(owner)), name)
    if (found := made_as_instance(f, owner, name)) is not None:
        return found
    if name == "__new__" and isinstance(owner, type):
        return lambda *args, **kwargs: own(f(*args, **kwargs))
    if isinstance(owner, np.ufunc):
        return functools.partial(listed, f)
    if isinstance(owner, types.ModuleType) and owner.__name__ not in LEAVING and current_trace() is not None:
        return functools.partial(call_noting_changes, foreign(f), name)
    return f if isinstance(owner, PLAIN) else foreign(f)


def _of_container(f):
    """A builtin function or method; those of dicts and sets are given known keys."""
    made, keyed = _builtin(f), of_keeper(f) if current_trace() is not None else None
    return made if keyed is None else functools.partial(keyed, made)


def _unbound(f):
    """A method of a container's class, which is given the container."""
    found = _slot(f) if type(f) is types.WrapperDescriptorType else _instance(f)
    changes = issubclass(f.__objclass__, CONTAINERS) and current_trace() is not None
    return functools.partial(given_container, f, found) if changes else found


def _sort(f):
    return lambda *args, key=None, **more: f(*args, key=hooked(key), **more)


def made_as_instance(f, owner, name):
    """What stands for `np.ndarray.__new__`, and for `x.view` of a plain array, which make instances of subclasses."""
    if name == "__new__" and owner is np.ndarray:
        return new_array
    return functools.partial(viewed, f) if name == "view" and type(owner) is np.ndarray else None


def viewed(f, *args, **kwargs):
    """`x.view(...)` of a plain array: as a subclass it is an instance that the trace makes."""
    made = any(is_subclass(kind) and is_captured(kind) for kind in (*args, *kwargs.values()))
    return view(f.__self__, *args, **kwargs) if made else f(*args, **kwargs)


def environment(key, *default):
    """An environment variable, which is relied on."""
    current_trace().root.outside.read("item", os.environ, key, f"os.environ[{key!r}]")
    return os.environ.get(key, *default) if default else os.environ[key]


@replaces(os.getenv)
def getenv(key, default=None):
    return environment(key, default) if current_trace() is not None else os.getenv(key, default)


def changes_environment(*args, **kwargs):
    raise UnsupportedError(
        message(
            "os.environ is walked through or changed in a traced function", locate(), "Read the variables one by one."
        )
    )


@replaces(next)
def next_(iterator, *default):
    trace = current_trace()
    if trace is not None and (inside() or id(iterator) in trace.root.outside.names):
        raise CannotRoll(
            message(
                "next() takes another item each time it is called; traced, it would be called once", locate(), ADVICE
            )
        )
    return builtins.next(iterator, *default)


@replaces(getattr)
def getattr_(owner, name, *default):
    trace = current_trace()
    if trace is None or not isinstance(name, str):
        return builtins.getattr(owner, name, *default)
    if isinstance(owner, Traced):
        if lacks(owner, name):
            return builtins.getattr(sample(owner), name, *default)
        if default and not builtins.hasattr(owner, name):
            raise UnsupportedError(
                message(f"{type(sample(owner)).__name__}.{name} is not captured on traced values", locate())
            )
        return builtins.getattr(owner, name, *default)
    try:
        return CELL.cell_contents.attribute(owner, name)
    except AttributeError:
        if default:
            return default[0]
        raise


@replaces(hasattr)
def hasattr_(owner, name):
    if current_trace() is not None and type(owner) in (TracedArray, TracedScalar):
        return not lacks(owner, name)
    return getattr_(owner, name, UNBOUND) is not UNBOUND


@replaces(setattr)
def setattr_(owner, name, value):
    CELL.cell_contents.set_attribute(value, owner, name)


@replaces(delattr)
def delattr_(owner, name):
    CELL.cell_contents.delete_attribute(owner, name)


for _f, _own in ((builtins.map, map_), (builtins.filter, builtins.filter)):
    REPLACED[_f] = functools.partial(
        lambda real, f, *args: real(CELL.cell_contents.call(f) if f is not None else f, *args), _own
    )

RULES = {  # the kind of what is called -> what to call in its place
    types.MethodType: _bound_method,
    types.BuiltinFunctionType: building(_of_container),
    type: building(class_call),
    **dict.fromkeys(NUMPYS, building(_numpys)),
    types.MethodWrapperType: _slot,
    types.WrapperDescriptorType: _unbound,
    types.MethodDescriptorType: _unbound,
    functools.partial: _partial,
    CACHED: lambda f: functools.partial(_uncached, f) if Builder.building() is not None else _instance(f),
    operator.attrgetter: _getter(_attributes),
    operator.itemgetter: _getter(_items),
    operator.methodcaller: lambda f: (
        functools.partial(_method_called, f) if current_trace() is not None else _instance(f)
    ),
}
