"""Arrays of unknown length in other shapes: what is meant of them, in its order, along another axis."""

import math

import numpy as np

from ....ir.core import Lit
from ....ir.ops import OPS
from ...common.emit import reshape_to
from ...common.errors import message
from ...common.frames import locate
from ...extents.align import mask_extent, placed, valid
from ...extents.bounded import BoundedArray, FrontExtent, SpanExtent, made, refused
from ...extents.numbers import compare, number, operand, quotient, require, times, traced
from ...values.array import TracedArray
from ...values.storage import UnknownAlias, memories
from .functions import handles


def unsure(value, array):
    """A copy that may be a view in NumPy: it is read, and not written."""
    return TracedArray(UnknownAlias(value, memories(array.storage)))


@handles(np.ravel, method="ravel")
def ravel(a, order="C"):
    if order != "C":
        refused(f"np.ravel(order={order!r})", a)
    lead, *others = a.extents
    if a.ndim == 1 and isinstance(lead, SpanExtent) and a.array.shadow.flags.c_contiguous:
        return BoundedArray(a.array, a.extents)
    if a.ndim == 1:
        return BoundedArray(unsure(a.array.value, a.array), a.extents)
    if all(e is None for e in others):
        return reshape(a, -1)
    value, mask = reshape_to(a.array.value, (a.array.size,)), reshape_to(valid(a), (a.array.size,))
    return BoundedArray(unsure(value, a.array), [mask_extent(mask)])


@handles(method="flatten")
def flatten(a, order="C"):
    return np.copy(ravel(a, order))


@handles(np.reshape)
def reshape(a, shape, order="C", *, copy=None):
    """`a` of which the first axis alone has an unknown length, or is preceded by axes of one element."""
    lead = next((d for d, e in enumerate(a.extents) if e is not None), 0)
    if order != "C" or (*a.array.shape[:lead], *a.extents[lead + 1 :]) != (1,) * lead + (None,) * (a.ndim - lead - 1):
        refused("np.reshape of several axes", a)
    n, extent, each = a.array.shape[lead], a.extents[lead], math.prod(a.array.shape[lead + 1 :])
    total = times(number(extent.length), each)
    at, rest, count = parted_shape(a, shape, total)
    size = math.prod(rest)
    room = -(-n * each // size)
    wanted = (*rest[:at], room, *rest[at:])
    if isinstance(extent, SpanExtent) and number(extent.start) == 0 and room * size == n * each:
        found = np.reshape(a.array, wanted)
    else:
        value = reshape_to(placed(a.array.value, lead, extent, FrontExtent(extent.length), n), (n * each,))
        high = room * size - n * each
        value = OPS["pad"](value, Lit(0, value.type.like(())), low=(0,), high=(high,), interior=(0,))
        found = unsure(reshape_to(value, wanted), a.array)
    return made(found, [FrontExtent(traced(count)) if d == at else None for d in range(found.ndim)])


def parted_shape(a, shape, total):
    """(the axis of unknown length, the sizes of the others, the length) of a shape for so many elements."""
    wanted = [number(n) for n in (shape if isinstance(shape, tuple | list) else [shape])]
    at = wanted.index(-1) if -1 in wanted else next((d for d, n in enumerate(wanted) if not isinstance(n, int)), 0)
    rest = [n for d, n in enumerate(wanted) if d != at]
    if not wanted or not all(isinstance(n, int) for n in rest) or math.prod(rest[:at]) != 1 or not math.prod(rest):
        refused("np.reshape that parts the axis of unknown length", a)
    size, text = math.prod(rest), f"cannot reshape {a!r} into shape {shape}"
    left = total % size if isinstance(total, int) else OPS["rem"](total, operand(size))
    require(size == 1 or compare("eq", left, 0), ValueError, message(text, locate()))
    count = quotient(total, size)
    if wanted[at] != -1:
        require(compare("eq", count, wanted[at]), ValueError, message(text, locate()))
    return at, rest, count


BoundedArray.methods["reshape"] = lambda a, *shape, order="C": reshape(
    a, shape[0] if len(shape) == 1 else shape, order
)


@handles(np.atleast_2d)
def atleast_2d(*arrays):
    found = [x if x.ndim > 1 else x[None, :] for x in arrays]
    return found[0] if len(found) == 1 else tuple(found)


@handles(np.swapaxes, method="swapaxes")
def swapaxes(a, axis1, axis2):
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return np.transpose(a, order)


@handles(np.squeeze, method="squeeze")
def squeeze(a, axis=None):
    if axis is None:
        refused("np.squeeze without an axis", a)
    axes = np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    for d in axes:
        if a.extents[d] is not None or a.array.shape[d] != 1:
            text = "cannot select an axis to squeeze out which has size not equal to one"
            require(compare("eq", a.lengths[d], 1), ValueError, message(text, locate()))
    return a[tuple([0 if d in axes else slice(None) for d in range(a.ndim)])]
