"""Arrays of unknown length joined, and parted: np.concatenate and what is made of it."""

import numpy as np

from ....ir.ops import OPS
from ...common.emit import cast_to
from ...common.errors import message, with_note
from ...common.frames import locate
from ...extents.align import from_zero, meeting, moved, shape_and_extents, value_of
from ...extents.bounded import BoundedArray, FrontExtent, made, refused
from ...extents.numbers import (
    all_of,
    between,
    choose,
    compare,
    least,
    minus,
    number,
    operand,
    plus,
    quotient,
    require,
    times,
    traced,
)
from ...extents.windows import WHOLE, checked_index
from ...values.array import Traced, fresh
from ...values.promote import result_dtype
from ..handles import handle
from .functions import handles, stored

normalize_axis_index = np.lib.array_utils.normalize_axis_index
MISFIT = "all the input array dimensions except for the concatenation axis must match exactly"


def operand_array(x):
    return x if type(x) is BoundedArray else handle(x)


@handles(np.concatenate)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """The arrays one behind the other: each covers the junk that the one before it leaves."""
    items = [operand_array(x) for x in arrays]
    if axis is None:
        items, axis = [np.ravel(x) for x in items], 0
    axis = normalize_axis_index(axis, items[0].ndim)
    common = np.dtype(dtype) if dtype is not None else result_dtype([x.dtype for x in items])
    items, extents = fitted_beside(items, axis)
    items = [from_zero(x, axis) if type(x) is BoundedArray else x for x in items]
    whole, others, at = within_room(items, axis, common), items[1:], lengths_of(items[0], axis)
    if whole is None:
        values = [cast_to(value_of(x), common) for x in items]
        whole = np.concatenate([fresh(v) for v in values], axis).value  # NumPy's own verdict on the other axes
    for x in others:
        starts = [operand(at if d == axis else 0) for d in range(whole.type.ndim)]
        whole = OPS["dynamic_update_slice"](whole, cast_to(value_of(x), common), *starts)
        at = plus(at, lengths_of(x, axis))
    most = min(between(at)[1], whole.type.shape[axis])
    found = fresh(whole)[(*(WHOLE,) * axis, slice(most))] if most < whole.type.shape[axis] else fresh(whole)
    extents[axis] = None if at == most else FrontExtent(traced(at))
    return stored("concatenate", made(fresh(found.value), extents), out)


def lengths_of(x, axis):
    return x.lengths[axis] if type(x) is BoundedArray else x.shape[axis]


def fitted_beside(items, axis):
    """Arrays of one length along all axes but this one -> (them, with what is meant at the same places; extents
    there)."""
    described = [shape_and_extents(x) for x in items]
    if len({len(shape) for shape, _ in described}) != 1:
        raise with_note(ValueError, message("all the input array dimensions must match exactly", locate()))
    values, own = list(items), [list(e) for _, e in described]
    extents = [None] * len(own[0])
    for d in sorted({d for e in own for d, found in enumerate(e) if found is not None} - {axis}):
        entries = [(shape[d], e[d]) for shape, e in described]
        size, extents[d] = meeting(entries, repeat=False, text=MISFIT)
        for i, (_, e) in enumerate(entries):
            value = moved(value_of(values[i]), d, e, size, extents[d])
            own[i][d] = extents[d]
            values[i] = made(fresh(value), own[i])
    return values, extents


def within_room(items, axis, dtype):
    """The value of the first array, if it surely has room for all the others behind what is meant of it."""
    first, *others = items
    if type(first) is not BoundedArray or first.extents[axis] is None or first.dtype != dtype:
        return None
    shapes = [shape_and_extents(x)[0] for x in items]
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) != 1 or number(first.extents[axis].start) != 0:
        return None
    room = between(first.lengths[axis])[1] + sum(shape[axis] for shape in shapes[1:])
    return first.array.value if room <= shapes[0][axis] else None


@handles(np.vstack)
def vstack(tup, **kwargs):
    return concatenate([np.atleast_2d(operand_array(x)) for x in tup], 0, **kwargs)


@handles(np.append)
def append(arr, values, axis=None):
    items = [x if type(x) is BoundedArray else np.atleast_1d(handle(x)) for x in (arr, values)]
    return concatenate([np.ravel(x) for x in items] if axis is None else items, 0 if axis is None else axis)


@handles(np.hstack)
def hstack(tup, **kwargs):
    items = [x if type(x) is BoundedArray else np.atleast_1d(handle(x)) for x in tup]
    return concatenate(items, 0 if items[0].ndim == 1 else 1, **kwargs)


@handles(np.column_stack)
def column_stack(tup):
    items = [operand_array(x) for x in tup]
    return concatenate([x[:, None] if x.ndim == 1 else x for x in items], 1)


@handles(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    items = [operand_array(x) for x in arrays]
    axis = normalize_axis_index(axis, items[0].ndim + 1)
    items = [x[(*(WHOLE,) * axis, None)] for x in items]
    return concatenate(items, axis, out, dtype=dtype, casting=casting)


# -- parts -----------------------------------------------------------------------------------------


def cut_along(x, axis, start, stop):
    """x[start:stop] along an axis; traced numbers, or Python's."""
    return x[(*(WHOLE,) * axis, slice(traced(start), traced(stop)))]


def flat_axis(x, axis):
    """(the array, the axis) of a function of NumPy that takes all elements where no axis is given."""
    return (x, normalize_axis_index(axis, x.ndim)) if axis is not None else (np.ravel(x), 0)


@handles(np.delete)
def delete(arr, obj, axis=None):
    x, axis = flat_axis(arr, axis)
    length = lengths_of(x, axis)
    if isinstance(obj, slice) or np.ndim(obj):
        if not isinstance(obj, slice | Traced):
            obj = np.asarray(obj) if np.size(obj) else np.zeros(0, np.intp)
        if not isinstance(obj, slice) and obj.dtype.kind == "b":
            return x[(*(WHOLE,) * axis, np.logical_not(obj))]
        keep = np.ones_like(places_along(x, axis), bool)
        keep[obj] = False
        return x[(*(WHOLE,) * axis, keep)]
    at = checked_index(number(obj), length, axis)
    return concatenate([cut_along(x, axis, 0, at), cut_along(x, axis, plus(at, 1), length)], axis)


def places_along(x, axis):
    """The elements at the first place of all other axes."""
    return x[tuple([WHOLE if d == axis else 0 for d in range(x.ndim)])] if x.ndim > 1 else x


@handles(np.insert)
def insert(arr, obj, values, axis=None):
    x, axis = flat_axis(arr, axis)
    if np.ndim(obj) or isinstance(obj, slice) or type(values) is BoundedArray and np.ndim(values) != x.ndim:
        refused("np.insert at several places", x)
    length, at = lengths_of(x, axis), number(obj)
    ok = all_of(compare("le", minus(0, length), at), compare("le", at, length))
    require(ok, IndexError, message("index is out of bounds for an axis whose length the data decides", locate()))
    at = choose(compare("lt", at, 0), plus(at, length), at)
    values = values if type(values) is BoundedArray else spread_for(x, values, axis)
    found = concatenate([cut_along(x, axis, 0, at), values, cut_along(x, axis, at, length)], axis)
    return found.astype(x.dtype) if found.dtype != x.dtype else found


def spread_for(x, values, axis):
    """What np.insert puts at one place of x: `values` with their first axis at this one, repeated along the others."""
    values = handle(values).astype(x.dtype)
    values = np.moveaxis(values[(None,) * (x.ndim - values.ndim)], 0, axis)
    shape, extents = shape_and_extents(x)
    if any(e is not None for d, e in enumerate(extents) if d != axis):
        refused("np.insert along another axis than that of unknown length", x)
    return np.broadcast_to(values, [*shape[:axis], values.shape[axis], *shape[axis + 1 :]])


@handles(np.split)
def split(ary, indices_or_sections, axis=0):
    if np.ndim(indices_or_sections) == 0:
        count, length = int(indices_or_sections), lengths_of(ary, axis)
        left = length % count if isinstance(length, int) else OPS["rem"](length, operand(count))
        text = "array split does not result in an equal division"
        require(compare("eq", left, 0), ValueError, message(text, locate()))
    return array_split(ary, indices_or_sections, axis)


@handles(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    axis = normalize_axis_index(axis, ary.ndim)
    length = lengths_of(ary, axis)
    if np.ndim(indices_or_sections):
        found = [0, *indices_or_sections, length]
        return [cut_along(ary, axis, *map(number, ends)) for ends in zip(found, found[1:])]
    count = int(indices_or_sections)
    each = quotient(length, count)
    more = minus(length, times(each, count))
    ends = [plus(times(each, k), least(k, more)) for k in range(count)]
    return [cut_along(ary, axis, *ends) for ends in zip(ends, [*ends[1:], length])]
