"""Classes, called: what stands for `type.__call__`, so that the user's `__new__`, `__init__` and `__post_init__` get
hooks."""

import collections
import functools
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_builtin, is_user
from ..guards.guard import of_class
from ..guards.instances import hidden
from ..guards.purity import is_foreign
from ..guards.state import own
from ..guards.subclasses import class_behind, is_captured
from ..values.array_object import ArrayObject
from ..values.sparse_matrix import format_of
from ..values.storage import current_trace
from .array_objects import instance_new
from .foreign import foreign
from .foreign_effects import note_functions
from .host_calls import is_of_homes, may_be_made, or_hosted
from .sparse_operands import matrix_made
from .special import looked_up
from .user_functions import user


def class_call(f):
    """A class, called: the user's `__new__` and `__init__`, and the `__call__` of a metaclass, get hooks too."""
    looked_up(type(f), "__call__")
    if format_of(f) is not None and current_trace() is not None:
        return functools.partial(matrix_made, f, instance_call(f))
    run = of_class(type(f), "__call__")
    return functools.partial(user(run), f) if sourced(run) and current_trace() is not None else instance_call(f)


def sourced(f):
    """Whether a method is the user's, and written in a file."""
    return type(f) is types.FunctionType and is_user(f.__code__) and not f.__code__.co_filename.startswith("<")


def instance_call(f):
    """What `type.__call__` of a class comes to."""
    if current_trace() is not None and is_captured(f):
        looked_up(f, "__new__", "__init__")
        return functools.partial(instance_new if f.__new__ is np.ndarray.__new__ else _new, f)
    looked_up(f, "__new__", "__init__", "__post_init__")
    init = f.__init__
    after = getattr(f, "__post_init__", None)
    if hasattr(f, "__dataclass_fields__") and type(after) is types.FunctionType and getattr(f, "__dictoffset__", 0):
        return functools.partial(_dataclass, f, init, after)
    if sourced(f.__new__) and current_trace() is not None:
        return functools.partial(_new, f)
    run = of_class(type(f), "__call__")
    if (
        (run is type.__call__ or sourced(run))
        and f.__new__ is object.__new__
        and type(init) is types.FunctionType
        and is_user(init.__code__)
    ):
        return functools.partial(_construct, f, init)
    if is_foreign(f.__module__ or "") and not issubclass(f, np.generic) and (found := foreign(f)) is not f:
        return found
    if sourced(run):
        return functools.partial(made_by, functools.partial(type.__call__, f))
    return f if is_builtin(f) and f not in CONTAINERS else functools.partial(made_by, f)


def made_by(f, /, *args, **kwargs):
    if current_trace() is not None and isinstance(f, type) and is_foreign(f.__module__):
        note_functions(args, kwargs)
        if is_of_homes(f):
            return or_hosted(made_now, may_be_made, f, args, kwargs)
    return made_now(f, *args, **kwargs)


def made_now(f, /, *args, **kwargs):
    return own(f(*args, **kwargs))


def _new(f, /, *args, **kwargs):
    """What the user's `__new__` returns may be an object that was there before."""
    made = user(f.__new__)(f, *args, **kwargs)
    if isinstance(made, f) or isinstance(made, ArrayObject) and issubclass(class_behind(type(made)), f):
        looked_up(type(made), "__init__")
        init = class_behind(type(made)).__init__
        if type(init) is types.FunctionType and is_user(init.__code__):
            user(init)(made, *args, **kwargs)
        elif init is not object.__init__ and not isinstance(made, ArrayObject):
            init(made, *args, **kwargs)
    return made


def _construct(f, init, /, *args, **kwargs):
    made = own(object.__new__(f))
    user(init)(made, *args, **kwargs)
    return made


def _dataclass(f, init, after, /, *args, **kwargs):
    """The `__init__` of a dataclass has no source, but what it calls has."""
    made = own(f.__new__(f))
    made.__dict__["__post_init__"] = types.MethodType(user(after), made)
    try:
        init(made, *args, **kwargs)
    finally:
        del made.__dict__["__post_init__"]
    return made


CONTAINERS = (list, dict, set, collections.deque, collections.defaultdict, collections.OrderedDict)


def class_made(found):
    """Behind a class statement, whose body has no hooks: refuse lists, dicts and sets of traced values in it, which no
    call would make anew."""
    if current_trace() is None or not isinstance(found, type):
        return
    for name, value in vars(found).items():
        if isinstance(value, CONTAINERS) and hidden(value) is not None:
            text = f"{found.__name__}.{name}, a {type(value).__name__} in the body of a class, holds traced values"
            raise UnsupportedError(message(text, locate(), "Keep it in a variable of the function."))
