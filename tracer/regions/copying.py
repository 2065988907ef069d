"""`copy.copy`, `copy.deepcopy` and `dataclasses.replace` while tracing: what is copied is read as all else is, and the
copy is the trace's own.

Instances are copied by their attributes where those are all that they are (`made.is_plain`); a class's own `__copy__`
and `__deepcopy__` are called with hooks. What else there is, is copied by `copy` itself, and belongs to the trace.
"""

import copy
import dataclasses
import functools
import types

import numpy as np

from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..common.origin import SOURCES
from ..guards.draws import GENERATORS, refuse_state
from ..guards.instances import attributes, blank, is_plain, set_attributes
from ..guards.reliance import library
from ..guards.state import SEEN_THROUGH, UNBOUND, Slot, own
from ..numpy_api.handles import handle, is_traced
from ..values.array import Traced, TracedArray
from ..values.identity import same_object
from ..values.object_phi import ObjectPhi, kind_of_object
from ..values.storage import current_trace
from .builtins import REPLACED
from .convert import CELL

ATOMS = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type,
    range,
    property,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
)
ATOMS += (np.generic, np.dtype, np.ufunc, type(Ellipsis), type(NotImplemented))


def in_trace(real):
    """Register what stands for `real` while tracing."""

    def register(stand_in):
        REPLACED[real] = functools.wraps(real)(
            lambda *args, **kwargs: (real if current_trace() is None else stand_in)(*args, **kwargs)
        )
        return stand_in

    return register


def seen(x):
    """A container or array as the trace sees it."""
    return CELL.cell_contents.outer(x)


def instance_attributes(x):
    """The attributes of an instance as the trace reads them; which ones there are is relied on where it was met
    outside."""
    if type(x) is ObjectPhi:
        return dict(x.read())
    outside, found = current_trace().root.outside, attributes(x)
    if outside.has_made(x):
        return found
    slots = {name: Slot("attribute", x, name, name) for name in found}
    if hasattr(x, "__dict__") and not any(s in outside.heap for s in slots.values()):
        name = f"{outside.called(x)}.__dict__"
        outside.read(
            "contents", None, None, f"the names in {name}", parent=outside.read("attribute", x, "__dict__", name)
        )
    return {name: CELL.cell_contents.attribute(x, name) for name in found}


def own_method(kind, name):
    """What a class of the user's says of how it is copied."""
    found = getattr(kind, name, None)
    return None if found is None or library(kind) else found


def instance(x, made, attributes_of):
    """`x` made anew, with attributes that `attributes_of(x)` gives once there is the new one."""
    new = own(blank(kind_of_object(x)))
    made(new)
    set_attributes(new, attributes_of(x))
    return new


def other(x, real, *args):
    """A copy of what is more than its attributes, by `copy` itself."""
    kind = type(x)
    outside = current_trace().root.outside
    if isinstance(x, GENERATORS):
        refuse_state(getattr(real, "__name__", "copy"))
    if not library(kind) and not isinstance(x, type) and outside.knows(x):
        text = f"a {kind.__name__} from outside is copied, of which attributes are not all there is"
        raise UnsupportedError(
            message(text, locate(), f"Give {kind.__name__} a __copy__ or __deepcopy__ method, or copy it outside.")
        )
    if is_traced(x):
        raise UnsupportedError(
            message(f"a {kind.__name__} with traced values in it is copied", locate(), "Copy its parts.")
        )
    return own(real(x, *args))


def keeps_state(kind):
    """Whether a class of a library's that is traced by its source says itself what is copied."""
    return kind.__module__ in SOURCES and hasattr(kind, "__setstate__")


def by_state(x, note, copied):
    """A copy made of a copy of what an object says is its state."""
    call, kind = CELL.cell_contents.call, kind_of_object(x)
    note(new := own(blank(kind)))
    call(kind.__setstate__)(new, copied(call(kind.__getstate__)(x)))
    return new


@in_trace(copy.copy)
def shallow(x):
    kind = kind_of_object(x)
    if isinstance(x, ATOMS) or kind is tuple or isinstance(x, Traced) and not isinstance(x, TracedArray):
        return x
    if kind in (np.ndarray, TracedArray):
        return handle(x).copy("K")
    if kind in SEEN_THROUGH:
        return own(copy.copy(seen(x)))
    found = own_method(kind, "__copy__")
    if found is not None:
        return CELL.cell_contents.call(found)(x)
    if keeps_state(kind):
        return by_state(x, lambda new: None, lambda state: state)
    return (
        instance(x, lambda new: None, instance_attributes)
        if is_plain(kind) and not library(kind)
        else other(x, copy.copy)
    )


@in_trace(copy.deepcopy)
def deep(x, memo=None):
    memo = {} if memo is None else memo
    if isinstance(x, list | dict):
        current_trace().root.outside.identified = True
    found = memo.get(id(x), UNBOUND)
    if found is not UNBOUND:
        return found
    kept = memo.setdefault(id(memo), [])
    note = lambda new: (kept.append(x), memo.__setitem__(id(x), new))
    new = _deep(x, memo, note)
    if new is not x:
        note(new)
    return new


def array(x, memo):
    """A copy of an array; of one that has been copied already, which other handles may stand for, that copy."""
    copies = memo.setdefault(id(ATOMS), [])
    for other, made in copies:
        if other.shape == x.shape and other.dtype == x.dtype and same_object(other, x) is True:
            return made
    copies.append((x, x.copy("K")))
    return copies[-1][1]


def _deep(x, memo, note):
    kind = kind_of_object(x)
    if isinstance(x, ATOMS) or isinstance(x, Traced) and not isinstance(x, TracedArray):
        return x
    if kind in (np.ndarray, TracedArray):
        return array(handle(x), memo)
    if kind is tuple:
        x = seen(x)
        parts = [deep(v, memo) for v in x]
        return x if all(a is b for a, b in zip(parts, x)) else memo.get(id(x), tuple(parts))
    if kind is list:
        note(new := own([]))
        new.extend([deep(v, memo) for v in seen(x)])
        return new
    if kind is dict:
        note(new := own({}))
        new.update([(deep(k, memo), deep(v, memo)) for k, v in seen(x).items()])
        return new
    if kind in SEEN_THROUGH:
        return own(copy.deepcopy(seen(x), memo)) if not is_traced(list(x)) else other(x, copy.deepcopy)
    if isinstance(x, types.MethodType):
        return types.MethodType(x.__func__, deep(x.__self__, memo))
    found = own_method(kind, "__deepcopy__")
    if found is not None:
        return CELL.cell_contents.call(found)(x, memo)
    if keeps_state(kind):
        return by_state(x, note, lambda state: deep(state, memo))
    if is_plain(kind) and not library(kind):
        return instance(x, note, lambda x: {name: deep(value, memo) for name, value in instance_attributes(x).items()})
    if hasattr(x, "_fields") and isinstance(x, tuple):
        return kind(*[deep(v, memo) for v in x])
    return other(x, copy.deepcopy, memo)


@in_trace(dataclasses.replace)
def replaced(x, /, **changes):
    kind = kind_of_object(x)
    if not dataclasses.is_dataclass(kind) or isinstance(x, type):
        return dataclasses.replace(x, **changes)  # which raises
    if any(not f.init and f.name in changes for f in dataclasses.fields(kind)):
        return dataclasses.replace(x, **changes)
    same = {
        f.name: CELL.cell_contents.attribute(x, f.name)
        for f in dataclasses.fields(kind)
        if f.init and f.name not in changes
    }
    return CELL.cell_contents.call(kind)(**same, **changes)


READING = (replaced, instance_attributes)  # whose own exceptions are the user's
