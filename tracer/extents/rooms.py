"""Arrays that differ in length, as arrays with room for the longer: what a name holds where data decide which of them,
and what a loop carries in which an array grows.

An array in more room is a view of it (`Padded`): what is written into it reaches the array.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.types import SHORT, Tensor
from ..values.array import TracedArray, fresh
from ..values.storage import Plain, Storage, UnknownAlias, current_trace, memories
from ..values.views import Padded
from .align import placed
from .bounded import BoundedArray, FrontExtent, MaskExtent, SpanExtent
from .numbers import number, traced


def has_lengths(x):
    return type(x) in (TracedArray, BoundedArray) or type(x) is np.ndarray and x.dtype.name in SHORT


def extents_of(x):
    return x.extents if type(x) is BoundedArray else (None,) * x.ndim


def array_of(x):
    """The array that has the elements."""
    return x.array if type(x) is BoundedArray else x


def differ(x, y):
    """Whether two arrays of one dtype and as many axes are arrays of other lengths to the program."""
    if not (has_lengths(x) and has_lengths(y)) or x.dtype != y.dtype or x.ndim != y.ndim:
        return False
    return kinds(x) != kinds(y) or array_of(x).shape != array_of(y).shape


def kinds(x):
    return [e and e.kind for e in extents_of(x)]


def met(x, y):
    """(shape, kinds of extents) that two such arrays can both have."""
    axes = list(zip(array_of(x).shape, array_of(y).shape, extents_of(x), extents_of(y)))
    shape = tuple([max(n, m) for n, m, _, _ in axes])
    found = [kind_of_both(*axis) for axis in axes]
    return shape, found


def kind_of_both(n, m, a, b):
    """The kind of extent that two can have."""
    kinds = [e and e.kind for e in (a, b)]
    if kinds[0] == kinds[1] and (n == m or kinds[0] == "span"):
        return kinds[0]
    return "span" if begins_behind(a) or begins_behind(b) else "front"


def begins_behind(extent):
    """Whether what is meant may begin behind the first element, as far as that is known in any trace."""
    return type(extent) is SpanExtent and not (type(extent.start) is int and extent.start == 0)


def in_room(x, shape, wanted):
    """An array in more room, with extents of these kinds."""
    array, extents = array_of(x), list(extents_of(x))
    for axis, (e, kind) in enumerate(zip(extents, wanted)):
        if isinstance(e, MaskExtent) and kind != "chosen" or kind == "front" and moved_on(e):
            value = placed(array.value, axis, e, FrontExtent(e.length), array.shape[axis])
            array = TracedArray(UnknownAlias(value, memories(array.storage)))
            extents[axis] = FrontExtent(e.length)
    return BoundedArray(with_room(array, shape), list(map(as_kind, extents, wanted, array.shape)))


def as_kind(extent, kind, n):
    """What is meant of an axis of n, as an extent of this kind."""
    length = n if extent is None else extent.length
    if kind == "front":
        return FrontExtent(length)
    return SpanExtent(0, length) if kind == "span" and type(extent) is not SpanExtent else extent


def moved_on(extent):
    """Whether what is meant may begin behind the first element."""
    return type(extent) is SpanExtent and number(extent.start) != 0


def as_traced(array):
    """An array; a concrete one as one that cannot be written, or without elements as new memory."""
    trace = current_trace()
    if type(array) is not np.ndarray:
        return array
    if array.size:
        return TracedArray(Plain(trace.capture(array), trace))
    return fresh(Lit(0, Tensor(array.shape, array.dtype)))


def with_room(array, shape):
    """The window of an array that is at the front of one of this shape."""
    if array.shape == shape:
        return array
    kind, storage = Tensor(shape, array.type.dtype), array.storage
    if not array.size and type(storage) is Storage and storage.origin is None:
        return TracedArray(Storage(Lit(0, kind), current_trace()))
    if len(shape) > 1 and not array.shadow.flags.c_contiguous:  # a larger shadow would not tell what is a view of it
        return TracedArray(UnknownAlias(Padded(shape).get(array.value), memories(storage)))
    seen = np.empty(shape, array.type.dtype)
    seen.flags.writeable = array.writeable
    return TracedArray(storage, (*array.chain, Padded(shape)), kind, seen)


def lengths(x):
    """The length along each axis, an int or an int64 value."""
    return [n if e is None else number(e.length) for n, e in zip(array_of(x).shape, extents_of(x))]


def of_lengths(x, found):
    """A BoundedArray with other lengths along the axes that are front ones; None where one stays."""
    extents = [
        FrontExtent(traced(n)) if isinstance(e, FrontExtent) and n is not None else e for e, n in zip(x.extents, found)
    ]
    return BoundedArray(x.array, extents)
