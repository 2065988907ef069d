"""Attributes and items of instances of the user's subclasses of np.ndarray: the user's properties and methods, with
hooks, and those of NumPy's arrays."""

import operator
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards import state
from ..guards.guard import MISSING
from ..guards.subclasses import own_classes
from ..numpy_api.registry import METHODS
from ..values.array import TracedArray
from ..values.array_object import ArrayObject
from ..values.chosen_array import ChosenArray
from ..values.storage import current_trace
from .array_object_results import apply, holds_instance, without_classes
from .array_objects import FINALIZE, OnTheWay, class_of_instance, memory, view
from .convert import CELL
from .special import looked_up

# of the memory itself, whatever the class
SHOWN = frozenset("shape dtype ndim size itemsize nbytes strides tolist item flat device".split())
HIDDEN = frozenset("base flags data ctypes __array_interface__ __array_struct__ setflags setfield getfield".split())
HIDDEN |= frozenset("tofile tobytes dump dumps byteswap resize".split())


def attribute_of_instance(x, key, whole=True):
    """`x.key`: the user's properties, methods and attributes, and NumPy's."""
    kind = class_of_instance(x)
    if key == "__class__":
        return class_asked(x)
    if key == "__dict__":
        raise UnsupportedError(message(f"the __dict__ of a {kind.__name__} is asked for as a whole", locate()))
    looked_up(kind, key)
    found = of_own_class(kind, key)
    if found is not MISSING:
        return of_users_class(x, key, found, whole)
    numpys = vars(np.ndarray).get(key, MISSING)
    before = type(numpys) is types.GetSetDescriptorType or numpys is MISSING and key.startswith("__")
    held = MISSING if before else in_instance(x, key, whole)
    return held if held is not MISSING else of_array(x, key)


def of_users_class(x, key, found, whole):
    """What an instance gives for a name under which the user's class holds `found`."""
    kind = class_of_instance(x)
    if isinstance(found, property):
        return users_getter(found, kind, key)(x)
    refuse_descriptor(found, kind, key, "__set__")
    held = in_instance(x, key, whole)
    if held is not MISSING:
        return held
    if type(found) is types.FunctionType:
        return types.MethodType(found, x)
    if isinstance(found, classmethod | staticmethod):
        return found.__get__(None, kind)
    refuse_descriptor(found, kind, key, "__get__")
    return CELL.cell_contents.attribute(kind, key, whole)


def users_getter(found, kind, key):
    """The getter of a property, with hooks."""
    if type(found.fget) is not types.FunctionType or not is_user(found.fget.__code__):
        raise UnsupportedError(message(f"{kind.__name__}.{key} is a property without a source", locate()))
    return CELL.cell_contents.call(found.fget)


def refuse_descriptor(found, kind, key, *names):
    """Refuse descriptors of the user's, which Python asks without hooks."""
    if type(found) is not types.FunctionType and any(hasattr(type(found), name) for name in names):
        raise UnsupportedError(message(f"{kind.__name__}.{key}, a descriptor, is not captured", locate()))


def of_own_class(kind, key):
    """What the user's classes hold under a name, or MISSING."""
    return next((vars(c)[key] for c in own_classes(kind) if key in vars(c)), MISSING)


def class_asked(x):
    """The class of an instance; of one from outside another may have been given to it."""
    if x.__of_caller__ is not None:
        outside = current_trace().root.outside
        outside.read("attribute", x.__of_caller__, "__class__", f"the class of {outside.called(x.__of_caller__)}")
    return class_of_instance(x)


def in_instance(x, key, whole=True):
    """What an instance has of its own, or MISSING."""
    instance = x.__of_caller__
    if instance is None:
        return x.__dict__.get(key, MISSING)
    outside = current_trace().root.outside
    if key in vars(instance):
        return outside.attribute(instance, key, whole)
    outside.read("own", instance, key, f"{outside.called(instance)}.{key}")  # it would stand before the class's
    return MISSING


def of_array(x, key):
    """What NumPy's arrays have under a name."""
    if key in SHOWN:
        shown = x.__of_trace__
        return getattr(shown if type(shown) is OnTheWay and hasattr(shown, key) else memory(x), key)
    numpys = vars(np.ndarray).get(key, MISSING)
    if key in HIDDEN:
        raise UnsupportedError(
            message(f"{class_of_instance(x).__name__}.{key}, which np.ndarray has, is not captured", locate())
        )
    if key == FINALIZE:
        return lambda of: None
    if type(numpys) is types.GetSetDescriptorType:
        return apply(Getter(key), lambda array: CELL.cell_contents.attribute(array, key), (x,), {})
    if type(numpys) in (types.MethodDescriptorType, types.WrapperDescriptorType):
        return ArrayMethod(x, key)
    if hasattr(object, key):
        return getattr(x, key)
    raise AttributeError(f"{class_of_instance(x).__name__!r} object has no attribute {key!r}")


class Getter:
    """An attribute of NumPy's arrays as a function."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self, x):
        return vars(np.ndarray)[self.__name__].__get__(x)


class ArrayMethod:
    """A method of NumPy's arrays, bound to an instance, or to a plain array that is given instances."""

    def __init__(self, x, name):
        self.x, self.__name__ = x, name

    def __call__(self, *args, **kwargs):
        name = self.__name__
        if name == "view":
            return view(self.x, *args, **kwargs)
        if not holds_instance(self.x) and not holds_instance((args, kwargs)):
            return METHODS[name](self.x, *args, **kwargs)
        plain = lambda array, *rest, **given: CELL.cell_contents.call(CELL.cell_contents.attribute(array, name))(
            *rest, **given
        )
        return apply(vars(np.ndarray)[name], plain, (self.x, *args), kwargs)


def set_attribute_of_instance(value, x, key):
    """`x.key = value`."""
    kind, instance = class_of_instance(x), x.__of_caller__
    looked_up(kind, key)
    found = of_own_class(kind, key)
    if isinstance(found, property):
        if found.fset is None:
            raise AttributeError(f"property {key!r} of {kind.__name__!r} object has no setter")
        CELL.cell_contents.call(found.fset)(x, value)
        return
    refuse_descriptor(found, kind, key, "__set__")
    if key in ("__class__", "__dict__"):
        raise UnsupportedError(message(f"{key} of a {kind.__name__} is stored", locate()))
    if found is MISSING and type(vars(np.ndarray).get(key)) is types.GetSetDescriptorType:
        if key not in ("real", "imag", "flat") and instance is not None:
            raise UnsupportedError(message(f"{kind.__name__}.{key} of an instance from outside is stored", locate()))
        setattr(memory(x), key, without_classes(value))
        return
    state.set_attribute(x if instance is None else instance, key, value)


def delete_attribute_of_instance(x, key):
    raise UnsupportedError(
        message(f"{class_of_instance(x).__name__}.{key} is deleted", locate(), "Store None in its place.")
    )


# -- items -----------------------------------------------------------------------------------------


def special(x, name):
    """The user's own special method of an instance, with hooks, or None."""
    looked_up(class_of_instance(x), name)
    found = of_own_class(class_of_instance(x), name)
    return CELL.cell_contents.call(found) if type(found) is types.FunctionType else None


def are_met():
    """Whether the trace has met such instances at all."""
    trace = current_trace()
    return trace is not None and trace.root.outside.subclassed


def is_item_of_instance(owner, key):
    """Whether in `owner[key]` one of them is an instance."""
    return are_met() and (isinstance(owner, ArrayObject) or type(owner) is ChosenArray or holds_instance(key))


def item_of_instance(owner, key):
    """`owner[key]`, one of them an instance."""
    own = special(owner, "__getitem__") if isinstance(owner, ArrayObject) else None
    if own is not None:
        return own(owner, key)
    return apply(item_plainly, CELL.cell_contents.item, (owner, key), {})


def item_plainly(x, key):
    return x[key]


def set_item_of_instance(owner, key, value):
    """`owner[key] = value`, if one of them is an instance -> whether it is done."""
    if not are_met() or isinstance(owner, list | dict):
        return False
    if not isinstance(owner, ArrayObject) and not holds_instance((key, value)):
        return False
    own = special(owner, "__setitem__") if isinstance(owner, ArrayObject) else None
    if own is not None:
        own(owner, key, value)
    elif isinstance(owner, ArrayObject | TracedArray) or type(owner) is np.ndarray:
        apply(operator.setitem, stored_item, (owner, key, value), {})  # NumPy may ask `__getitem__` for where to store
    else:
        return False
    return True


def stored_item(owner, key, value):
    CELL.cell_contents.set_item(value, owner, key)


def elements_of_instance(x):
    """What is gone through in place of an instance."""
    for name in ("__iter__", "__getitem__"):
        own = special(x, name)
        if own is not None:
            return own(x) if name == "__iter__" else [own(x, k) for k in range(memory(x).shape[0])]
    array = memory(x)
    return array if array.ndim == 1 else [item_of_instance(x, k) for k in range(len(array))]
