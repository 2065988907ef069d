"""Attributes that need more than a look-up: those of traced values, of `super()`, and those a getter does not give."""

import functools
import types

import numpy as np

from ..common.origin import is_builtin, is_user
from ..guards.guard import MISSING
from ..numpy_api.registry import METHODS
from ..values.array import Traced, TracedArray
from ..values.asked import asking
from ..values.mixed import Mixed
from ..values.sized_shapes import sized_shape, sized_size
from ..values.sizes import Size, anew
from ..values.storage import current_trace
from .array_object_attributes import ArrayMethod
from .builtins import lacks, sample, type_
from .jax_arrays import jax_method
from .objects import called as call
from .objects import made_new
from .printing import SPEAKING
from .special import ArrayInterface, looked_up

WHOLE = ("real", "numerator")  # what of an int is the int
PARTS = ("real", "imag", "T", "dtype", "itemsize", "nbytes")  # what each kind of number has in its own way


def attribute_of_traced(owner, key, trace):
    """`owner.key` of a traced value."""
    if key == "__class__":
        return type_(owner)
    if (asked := asking()) is not None and (found := attribute_of_size(asked, owner, key)) is not None:
        return found
    if trace is not None and key in SPEAKING:
        return functools.partial(SPEAKING[key], owner)
    if trace is not None and (method := jax_method(owner, key)) is not None:
        return method
    if isinstance(owner, TracedArray) and (key == "view" or trace is not None and trace.root.outside.subclassed):
        if key in METHODS:
            return ArrayMethod(owner, key)
    if type(owner) is Mixed and key in PARTS:
        return Traced.apart(lambda x: attribute_of_traced(x, key, trace), (owner,))
    if key == "tolist" and trace is not None and isinstance(owner, TracedArray):
        return functools.partial(made_new, owner.tolist, key)
    if key == "__array_interface__" and isinstance(owner, TracedArray):
        return ArrayInterface(owner)
    return getattr(sample(owner) if trace is not None and lacks(owner, key) else owner, key)


def attribute_of_size(asked, owner, key):
    """What hangs on sizes of an attribute, while programs of all sizes are traced; None for the others."""
    if type(owner) is Size:
        return owner if key in WHOLE else getattr(owner.pinned(f"its attribute {key}"), key)
    if not isinstance(owner, TracedArray):
        return None
    if key == "shape":
        return sized_shape(owner)
    if key == "size":
        return sized_size(owner)
    if key == "nbytes":
        return sized_size(owner) * owner.itemsize
    return tuple(map(anew, owner.strides)) if key == "strides" else None


def fallback(get, owner, key):
    """What a getter gives, or where that has no such attribute, what `__getattr__` of its class does."""
    try:
        return get()
    except AttributeError:
        otherwise = own_method(type(owner), "__getattr__")
        if otherwise is None:
            raise
        return otherwise(owner, key)


def attribute_above(owner, key, whole):
    """`super().key`: what the classes after one hold under a name, each of which is relied on up to the one that
    does."""
    kind, x = owner.__self_class__, owner.__self__
    after = iter(kind.__mro__[kind.__mro__.index(owner.__thisclass__) + 1 :]) if kind is not None else iter(())
    for c in after:
        looked_up(c, key)
        found = vars(c).get(key, MISSING)
        if found is MISSING:
            continue
        if (
            isinstance(found, property)
            and type(found.fget) is types.FunctionType
            and is_user(found.fget.__code__)
            and x is not kind
        ):
            return call(found.fget)(x)
        return (
            getattr(owner, key)
            if hasattr(type(found), "__get__")
            else current_trace().root.outside.attribute(c, key, whole)
        )
    return getattr(owner, key)


def own_method(kind, name):
    """The user's own method behind an operator, with hooks; None for all other types."""
    if is_builtin(kind) or kind is np.ndarray or issubclass(kind, Traced):
        return None
    looked_up(kind, name)
    found = getattr(kind, name, None)
    return call(found) if type(found) is types.FunctionType and is_user(found.__code__) else None
