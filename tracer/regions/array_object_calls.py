"""Calls that are given instances of the user's subclasses of np.ndarray.

The user's functions take them as they are. NumPy's are given their memory, and say of which class the result is
(`array_objects.apply`). Python's own ask an instance as they ask any object: its special methods first, and where they
are np.ndarray's, its memory.
"""

import copy
import functools
import operator
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards.subclasses import own_classes
from ..values.array_object import ArrayObject
from .array_object_attributes import ArrayMethod, are_met, class_asked, elements_of_instance, of_array, special
from .array_object_results import apply, holds_instance, without_classes
from .array_objects import class_of_instance, memory
from .builtins import REPLACED
from .convert import CELL
from .special import looked_up

ANSWERS = {}  # a function of Python's -> what answers for it
GOING_THROUGH = {list, tuple, sum, min, max, any, all, sorted, enumerate, zip, map, filter, reversed, iter}
NUMBERS = {len: "__len__", float: "__float__", int: "__int__", complex: "__complex__", bool: "__bool__"}
NUMBERS |= {operator.index: "__index__"}
OPERATORS = {abs: "__abs__", round: "__round__", divmod: "__divmod__"}
UNBOUND = (types.MethodDescriptorType, types.WrapperDescriptorType)  # `np.ndarray.sum`, `np.ndarray.__add__`
BUILTIN = (types.BuiltinFunctionType, type, types.FunctionType)


def answers_instance(*functions):
    def register(f):
        ANSWERS.update(dict.fromkeys(functions, f))
        return f

    return register


def calling_with_array_objects(f, plain):
    """What to call in place of f while there are such instances; plain(f) is that without them."""
    inner = f.__func__ if isinstance(f, types.MethodType) else f
    if type(inner) is types.FunctionType and is_user(inner.__code__):
        return plain(f)
    if isinstance(f, ArrayMethod):
        return f
    if isinstance(f, type) and f not in CLASSES and f.__module__.partition(".")[0] != "numpy":
        return plain(f)
    return functools.partial(called_with, f, plain)


def asks_arrays(f):
    """Whether a function that is looked up before there is any such instance may be given one: the first may be made
    by its arguments."""
    return type(f) in BUILTIN and f in FIRST or is_numpys(f)  # an `__eq__` of the user's is not asked


def called_first(f, plain, made, /, *args, **kwargs):
    return calling_with_array_objects(f, plain)(*args, **kwargs) if are_met() else made(*args, **kwargs)


def called_with(f, plain, /, *args, **kwargs):
    if not holds_instance(args) and not holds_instance(kwargs):
        return plain(f)(*args, **kwargs)
    if type(f) in BUILTIN:
        found = of_python(f, plain, args, kwargs)
        if found is not NotImplemented:
            return found
    if type(f) in UNBOUND and f.__objclass__ is np.ndarray:
        return ArrayMethod(args[0], f.__name__)(*args[1:], **kwargs)
    if isinstance(f, type) and f.__module__.partition(".")[0] == "numpy" and not issubclass(f, np.generic):
        return plain(f)(*without_classes(args), **without_classes(kwargs))  # iterators, which give plain arrays
    return apply(f, plain(f), args, kwargs) if is_numpys(f) else plain(f)(*args, **kwargs)


def of_python(f, plain, args, kwargs):
    """What one of Python's functions gives; NotImplemented of all others."""
    if f is super:
        return ArraySuper(*args)
    if f is print:  # which asks for text only when the program runs
        return plain(f)(*[ANSWERS[str](x) if isinstance(x, ArrayObject) else x for x in args], **kwargs)
    if f in GOING_THROUGH:
        return plain(f)(*[elements_of_instance(x) if isinstance(x, ArrayObject) else x for x in args], **kwargs)
    if not args or not isinstance(args[0], ArrayObject):
        return apply(f, plain(f), args, kwargs) if f in OPERATORS else NotImplemented
    if f in ANSWERS:
        return ANSWERS[f](*args, **kwargs)
    if f in NUMBERS:
        own = special(args[0], NUMBERS[f])
        return plain(f)(memory(args[0])) if own is None else own(args[0])
    if f in OPERATORS:
        own = special(args[0], OPERATORS[f])
        return apply(f, plain(f), args, kwargs) if own is None else own(*args)
    return NotImplemented


def is_numpys(f):
    """Whether a function is NumPy's, or a method of a ufunc or of a plain array. The object itself is not asked."""
    kind = type(f)
    if issubclass(kind, np.ufunc) or kind is type(np.sum):
        return True
    if kind is types.BuiltinFunctionType and isinstance(f.__self__, np.ufunc | np.ndarray):
        return True
    if issubclass(kind, type):
        return issubclass(f, np.generic)
    return kind in BUILTIN and str(f.__module__).partition(".")[0] == "numpy"


def truth_of(x):
    """Something whose truth is that of an instance."""
    own = special(x, "__bool__")
    return memory(x) if own is None else own(x)


# -- Python's functions ----------------------------------------------------------------------------


@answers_instance(isinstance)
def isinstance_of(x, kinds):
    return REPLACED[issubclass](class_asked(x), kinds)


@answers_instance(type)
def type_of(x, *more):
    return type(x, *more) if more else class_asked(x)


@answers_instance(callable)
def callable_of(x):
    looked_up(class_of_instance(x), "__call__")
    return any("__call__" in vars(c) for c in own_classes(class_of_instance(x)))


@answers_instance(id)
def id_of(x):
    raise UnsupportedError(
        message(f"the id of a {class_of_instance(x).__name__} is asked for", locate(), "Compare with `is`.")
    )


@answers_instance(copy.copy, copy.deepcopy)
def copied(x, *memo):
    name = "__deepcopy__" if memo else "__copy__"
    own = special(x, name)
    if own is not None:
        return own(x, *memo)
    return apply(copy.copy, lambda array: array.copy(), (x,), {})


def speaking(f, *names):
    def spoken(x, *args):
        for name in names:
            own = special(x, name)
            if own is not None:
                return own(x, *args)
        text = f"{f.__name__}() of a {class_of_instance(x).__name__}, a subclass of np.ndarray, is asked for"
        raise UnsupportedError(message(text, locate(), "Use np.asarray(x) there."))

    ANSWERS[f] = spoken


speaking(str, "__str__", "__repr__")
speaking(repr, "__repr__")
speaking(format, "__format__")


@answers_instance(hash)
def hash_of(x):
    raise TypeError(f"unhashable type: {class_of_instance(x).__name__!r}")


@answers_instance(vars, dir)
def listed_of(x):
    raise UnsupportedError(message(f"all attributes of a {class_of_instance(x).__name__} are asked for", locate()))


CLASSES = {super, *ANSWERS, *GOING_THROUGH, *NUMBERS}  # of Python's, which ask an object
FIRST = {print, *ANSWERS, *GOING_THROUGH, *NUMBERS, *OPERATORS} - {vars, dir}  # but for those that ask for a frame


class ArraySuper:
    """`super()` of an instance: what the classes after one hold."""

    def __init__(self, after, x):
        self.__dict__.update(after=after, x=x)

    def __getattr__(self, key):
        """What is found there, with hooks."""
        return above(self.after, self.x, key)


def above(after, x, key):
    kind = class_of_instance(x)
    line = kind.__mro__[kind.__mro__.index(after) + 1 :]
    for c in own_classes(kind):
        if c not in line:
            continue
        looked_up(c, key)
        if key in vars(c):
            found = vars(c)[key]
            if isinstance(found, property):
                return CELL.cell_contents.call(found.fget)(x)
            if type(found) is types.FunctionType:
                return types.MethodType(found, x)
            if isinstance(found, classmethod | staticmethod):
                return found.__get__(None, kind)
            return CELL.cell_contents.attribute(c, key)
    return of_array(x, key)
