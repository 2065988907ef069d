"""Instances of the user's subclasses of np.ndarray in traced code: made, and known again.

`values.array_object` says what stands for one. An instance from outside has the memory and the attributes of that; one
that the trace makes has its own, and the user's `__array_finalize__` is called as NumPy calls it, with hooks.
"""

import types

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..guards import state
from ..guards.guard import of_class
from ..guards.subclasses import is_captured, stand_in_class
from ..numpy_api.handles import handle
from ..numpy_api.registry import METHODS
from ..values.array import TracedArray
from ..values.array_object import ArrayObject
from ..values.storage import current_trace
from .convert import CELL
from .special import looked_up

GIVEN = (list, tuple)
FINALIZE = "__array_finalize__"


def class_of_instance(x):
    """The class of an instance."""
    return type(x).__stands_for__


def stand_in_for(instance):
    """What the trace sees in place of an instance from outside."""
    outside = current_trace().root.outside
    found = outside.array_objects.get(id(instance))
    if found is None:
        made = object.__new__(stand_in_class(type(instance)))
        made.__of_trace__, made.__of_caller__ = None, instance
        found = outside.array_objects[id(instance)] = instance, made
        outside.subclassed = True
        outside.stray.meet(type(instance))
    return found[1]


def seen_instance(x):
    """An ndarray that is no plain one, from outside: captured instances as the trace sees them."""
    return stand_in_for(x) if is_captured(type(x)) and current_trace() is not None else x


def memory(x):
    """The memory of an instance, as a traced array."""
    if x.__of_trace__ is None:
        outside, instance = current_trace().root.outside, x.__of_caller__
        read = outside.read("memory", instance, None, f"the elements of {outside.called(instance)}")
        if id(read.value) not in outside.paths:
            text = f"{outside.called(instance)} is an array of dtype {read.value.dtype}"
            raise UnsupportedError(message(text, locate(), "Convert it before the call: x.astype(np.float64)."))
        x.__of_trace__ = outside.array(read.value)
    if type(x.__of_trace__) is OnTheWay:
        text = (
            f"the elements of a {class_of_instance(x).__name__} that NumPy makes on the way to a result are asked for"
        )
        raise UnsupportedError(message(text, locate(), "Give NumPy np.asarray(x)."))
    return x.__of_trace__


class OnTheWay:
    """In place of memory: that of an instance which NumPy makes on the way to a result, and shows to
    `__array_finalize__` alone. Its shape is known."""

    def __init__(self, probe):
        for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
            setattr(self, name, getattr(probe, name))


def new_instance(kind, array, of=None):
    """A new instance with this memory; of: what NumPy gives `__array_finalize__`."""
    if not is_captured(kind):
        text = f"an instance of {kind.__name__}, a subclass of np.ndarray of its own protocols, is made"
        raise UnsupportedError(message(text, locate(), "Use plain arrays there."))
    new = object.__new__(stand_in_class(kind))
    new.__of_trace__, new.__of_caller__ = array, None
    state.own(new)
    outside = current_trace().root.outside
    outside.subclassed = True
    outside.stray.meet(kind)
    finalize(new, of)
    return new


def finalize(x, of):
    """Call the user's `__array_finalize__`, if there is one."""
    kind = class_of_instance(x)
    looked_up(kind, FINALIZE)
    found = of_class(kind, FINALIZE)
    if type(found) is types.FunctionType:
        CELL.cell_contents.call(found)(x, of)


def new_array(kind, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
    """`np.ndarray.__new__`: memory of its own, or that of a buffer."""
    order = "C" if order is None else order
    if buffer is None:
        array = handle(CELL.cell_contents.call(np.empty)(shape, dtype, order=order))
    elif offset or strides is not None or order != "C" or not is_array(buffer):
        text = "np.ndarray.__new__ with this buffer is not captured"
        raise UnsupportedError(message(text, locate(), "Give it an array that is contiguous, and nothing else."))
    else:
        array = memory(buffer) if isinstance(buffer, ArrayObject) else handle(buffer)
        array = over_buffer(array, tuple(shape) if isinstance(shape, GIVEN) else (shape,), np.dtype(dtype))
    return array if kind is np.ndarray else new_instance(kind, array)


def over_buffer(array, shape, dtype):
    """The memory of an array, from its beginning, in another shape and dtype: as it lies, be it column by column."""
    if not array.shadow.flags.c_contiguous and not array.shadow.flags.f_contiguous:
        raise with_note(ValueError, message("ndarray is not contiguous", locate()))
    if array.ndim > 1:
        current_trace().rely_on_layout(array.storage, row=True)
    array = array if array.shadow.flags.c_contiguous else array.T
    if array.dtype == dtype and shape == array.shape:
        return array[...]
    row, count = array.reshape(-1).view(dtype), int(np.prod(shape))
    if count > row.size:
        raise with_note(TypeError, message("buffer is too small for requested array", locate()))
    return row[:count].reshape(shape)


def is_array(x):
    return isinstance(x, TracedArray | ArrayObject) or type(x) is np.ndarray


def instance_new(kind, /, *args, **kwargs):
    """`kind(...)` of a class that leaves `__new__` to np.ndarray."""
    x = new_array(kind, *args, **kwargs)
    init = of_class(kind, "__init__")
    if type(init) is types.FunctionType:
        CELL.cell_contents.call(init)(x, *args, **kwargs)
    return x


def is_subclass(x):
    return isinstance(x, type) and issubclass(x, np.ndarray)


def view(x, dtype=None, type=None):
    """`x.view(kind)`, `x.view(dtype, kind)` of a plain array or an instance."""
    if is_subclass(dtype):
        dtype, type = None, dtype
    plain = not isinstance(x, ArrayObject)
    if plain and type in (None, np.ndarray):
        return METHODS["view"](handle(x), dtype, type)
    array = handle(x) if plain else memory(x)
    array = array[...] if dtype is None else METHODS["view"](array, dtype)
    if type is np.ndarray:
        return array
    return new_instance(class_of_instance(x) if type is None else type, array, of=x)
