"""`functools.singledispatch` on traced values: the implementation for the class that the value has in Python, with
hooks."""

import functools

from ..values.array import Traced
from ..values.storage import current_trace
from .builtins import type_
from .convert import CELL


class _Sample:
    @functools.singledispatchmethod
    def method(self, x):
        pass


FUNCTION = functools.singledispatch(_Sample.__init__).__code__
# before Python 3.14; since, a bound method of single dispatch is an object of its own class
METHOD = getattr(_Sample().method, "__code__", None)
BOUND = None if METHOD else type(_Sample().method)


def dispatched(f):
    """What is called in place of a function of single dispatch, or of such a method, while tracing; None for any
    other."""
    if current_trace() is None:
        return None
    if type(f) is BOUND:
        return functools.partial(_bound, f)
    if f.__code__ is not FUNCTION and f.__code__ is not METHOD:
        return None
    return functools.partial(_function if f.__code__ is FUNCTION else _method, f)


def _function(f, *args, **kwargs):
    return CELL.cell_contents.call(implementation_for(f.dispatch, function_name(f), args))(*args, **kwargs)


def _method(f, *args, **kwargs):
    inside = dict(zip(f.__code__.co_freevars, [c.cell_contents for c in f.__closure__]))
    dispatch = inside["dispatch"] if "dispatch" in inside else inside["self"].dispatcher.dispatch  # since Python 3.13
    found = implementation_for(dispatch, function_name(f), args)
    return CELL.cell_contents.call(found.__get__(inside["obj"], inside["cls"]))(*args, **kwargs)


def _bound(f, *args, **kwargs):
    if not args:
        return f(**kwargs)  # raises
    inside = vars(f)
    found = implementation_for(inside["_unbound"].dispatcher.dispatch, function_name(f), args)
    return CELL.cell_contents.call(found.__get__(inside["_obj"], inside["_cls"]))(*args, **kwargs)


def function_name(f):
    return getattr(f, "__name__", "singledispatch")


def implementation_for(dispatch, name, args):
    """The implementation for the class of the first argument; what is registered, and what for, is relied on."""
    outside = current_trace().root.outside
    kind = type_(args[0]) if args and isinstance(args[0], Traced) else args[0].__class__
    found = dispatch(kind)
    cells = dispatch.__closure__
    registry = next(c for c in cells if type(c.cell_contents) is dict and object in c.cell_contents)
    read = outside.read("cell", registry, "", f"{name}.registry")
    outside.read("contents", None, None, f"the classes of {name}.registry", parent=read)
    for key, value in registry.cell_contents.items():
        if value is found:
            outside.read("item", None, key, f"{name}.registry[{key.__name__}]", parent=read)
    return found
