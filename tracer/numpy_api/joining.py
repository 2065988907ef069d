"""Arrays joined, cut, repeated, padded and turned: element moves along axes, all of them static."""

import itertools
import operator

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, constant_of, counted, reshape_to
from ..common.errors import ShapeError, UnsupportedError, message, numpy_words, of_shape, with_note
from ..common.frames import locate
from ..values.array import fresh
from ..values.gathering import not_an_index
from ..values.indexing import fitted, stored
from ..values.layout import joined_as
from ..values.promote import read, result_dtype
from ..values.storage import current_trace
from .arguments import give, verdict
from .handles import handle, is_traced, joined, picked, value_of
from .registry import implements
from .shaping import moveaxis, ravel
from .ufunc_calls import weak_kind

add, rem, sub = OPS["add"], OPS["rem"], OPS["sub"]
normalize_axis_index, normalize_axis_tuple = (
    np.lib.array_utils.normalize_axis_index,
    np.lib.array_utils.normalize_axis_tuple,
)

# -- joined ----------------------------------------------------------------------------------------


@implements(np.concatenate)
def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = list(arrays)
    if not arrays:
        raise ValueError("need at least one array to concatenate")
    weak = [axis is None and weak_kind(x) in (int, float, complex) for x in arrays]  # of no dtype, and cast to any
    keys = [read(x)[1] if w else value_of(x).type.dtype for x, w in zip(arrays, weak)]
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    common = result_dtype(keys) if dtype is None else np.dtype(dtype)
    values = [
        value_of(x) if is_traced(x) or not w else constant_of(np.asarray(x).astype(common))
        for x, w in zip(arrays, weak)
    ]
    for v, w in zip(values, weak):
        if not w and not np.can_cast(v.type.dtype, common, casting):
            raise TypeError(
                f"Cannot cast array data from {v.type.dtype!r} to {common!r} according to the rule {casting!r}"
            )
    values = [cast_to(v, common) for v in values]
    if axis is None:
        values, axis = [reshape_to(v, (v.type.size,)) for v in values], 0
    axis = joinable([v.type.shape for v in values], axis)
    value = joined(values, axis)
    return joined_as(value, arrays, axis) if out is None else give(value, out, "concatenate", casting, array=True)


def joinable(shapes, axis):
    """The axis, non-negative, along which arrays of these shapes are joined; ValueError as NumPy raises it."""
    if not shapes[0]:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    rank = len(shapes[0])
    axis = normalize_axis_index(operator.index(axis), rank)
    for shape in shapes:
        if len(shape) != rank or any(n != m for d, (n, m) in enumerate(zip(shape, shapes[0])) if d != axis):
            text = numpy_words(np.concatenate, [of_shape(s) for s in shapes], axis)
            raise ShapeError(
                message(text, locate(), "All other axes must have equal lengths, and the number of axes must be one.")
            )
    return axis


@implements(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = [handle(x) for x in arrays]
    if not arrays:
        raise ValueError("need at least one array to stack")
    if len({x.shape for x in arrays}) != 1:
        raise ShapeError(message(numpy_words(np.stack, [of_shape(x.shape) for x in arrays]), locate()))
    axis = normalize_axis_index(operator.index(axis), arrays[0].ndim + 1)
    return concatenate([np.expand_dims(x, axis) for x in arrays], axis, out, dtype=dtype, casting=casting)


def arrays_at_least(function, tup):
    found = function(*tup)
    return list(found) if isinstance(found, tuple) else [found]


@implements(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return concatenate(arrays_at_least(np.atleast_2d, handles(tup)), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    arrays = arrays_at_least(np.atleast_1d, handles(tup))
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup):
    return concatenate(arrays_at_least(np.atleast_3d, handles(tup)), 2)


@implements(np.column_stack)
def column_stack(tup):
    return concatenate([x if x.ndim >= 2 else x.reshape(1, -1).T for x in handles(tup)], 1)


def handles(tup):
    return [handle(x) for x in tup]


@implements(np.block)
def block(arrays):
    def rank(x):
        return max(map(rank, x)) if isinstance(x, list) else np.ndim(x)

    def depth(x, path="arrays"):
        if isinstance(x, tuple):
            text = f"{path} is a tuple. Only lists can be used to arrange blocks"
            raise TypeError(f"{text}, and np.block does not allow implicit conversion from tuple to ndarray.")
        if not isinstance(x, list):
            return 0
        if not x:
            raise ValueError(f"List at {path} cannot be empty")
        depths = [depth(y, f"{path}[{i}]") for i, y in enumerate(x)]
        if len(set(depths)) != 1:
            text = (
                f"First element was at depth {depths[0] + 1}, but there is an element at depth {max(depths[1:]) + 1} "
                f"({path})"
            )
            raise ValueError(f"List depths are mismatched. {text}")
        return depths[0] + 1

    levels = depth(arrays)
    ndim = max(levels, rank(arrays))

    def build(x, level):
        if isinstance(x, list):
            return concatenate([build(y, level + 1) for y in x], axis=level - levels)
        x = handle(x)
        return x.reshape((1,) * (ndim - x.ndim) + x.shape)

    out = build(arrays, 0)
    return out if isinstance(arrays, list) else out.copy()


@implements(np.append)
def append(arr, values, axis=None):
    arr = handle(arr)
    if axis is None:
        arr, values, axis = ravel(arr), ravel(values), 0
    return concatenate((arr, values), axis)


# -- cut -------------------------------------------------------------------------------------------


@implements(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    x = handle(ary)
    n = x.shape[axis]
    if hasattr(indices_or_sections, "__len__"):
        points = [0, *indices_or_sections, n]
    else:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extras = divmod(n, sections)
        points = [0, *itertools.accumulate([each + 1] * extras + [each] * (sections - extras))]
    lead = (slice(None),) * (axis % x.ndim)
    return [x[(*lead, slice(a, b))] for a, b in itertools.pairwise(points)]


@implements(np.split)
def split(ary, indices_or_sections, axis=0):
    if not hasattr(indices_or_sections, "__len__") and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.hsplit)
def hsplit(ary, indices_or_sections):
    if np.ndim(ary) == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary, indices_or_sections):
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary, indices_or_sections):
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@implements(np.insert)
def insert(arr, obj, values, axis=None):
    x, axis = along(arr, axis)
    n = x.shape[axis]
    if is_traced(obj):
        return inserted(x, handle(obj), values, axis)
    places = np.arange(*obj.indices(n)) if isinstance(obj, slice) else np.asarray(obj)
    np.insert(np.arange(n), obj, 0)  # NumPy's own words about the places, and then for what does not fit
    if type(values) in (int, float, complex):
        values = np.asarray(values, x.dtype)
    count = int(np.count_nonzero(places)) if places.dtype == bool else places.size
    new = fresh(into(values, x.dtype))
    if count == 1:  # everything in `values` goes to the one place
        new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
        new = new if isinstance(obj, slice) or places.ndim else moveaxis(new, 0, axis)
        count = new.shape[axis]
        index = int(np.argmax(np.insert(np.arange(n), obj, n)))
        order = np.concatenate([np.arange(index), np.arange(n, n + count), np.arange(index, n)])
    else:
        order = np.insert(np.arange(n), obj, np.arange(n, n + count))
        # nothing, in any number of rows
        new = new.ravel() if x.ndim == 1 and not count and new.shape[-1:] == (0,) else new
    new = fitted(new.value, tuple(count if d == axis else m for d, m in enumerate(x.shape)))
    return fresh(picked(joined([x.value, new], axis), order, axis))


def into(values, dtype):
    """What np.insert makes of values by `np.array(values, dtype=dtype)`, which takes no complex number of Python's for
    a real one."""
    if weak_kind(values) is complex and dtype.kind not in "bc":
        raise with_note(TypeError, message("a Python complex is no real number", locate()))
    by_itself = dtype.kind in "iu" and (weak_kind(values) is float or isinstance(values, list | tuple))
    return stored(values, dtype) if by_itself else value_of(values, dtype)


def inserted(x, places, values, axis):
    """np.insert at traced places: those of equal place in their order."""
    n, rank = x.shape[axis], places.ndim
    if places.dtype.kind in "fc":
        verdict(np.insert, np.zeros(n), np.ones(places.shape, places.dtype), 0.0)  # raises as NumPy does
    if places.dtype.kind not in "iu" or rank > 1:
        raise UnsupportedError(
            message(
                f"np.insert takes a traced {places.type} for its places", locate(), "Give them as a row of integers."
            )
        )
    if not places.size:
        return insert(x, np.zeros(0, int), values, axis)
    places = located(np.ravel(places), n + 1, n)
    new = fresh(into(values, x.dtype))
    count = places.size
    if count == 1:
        new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
        new = new if rank else moveaxis(new, 0, axis)
        count = new.shape[axis]
    new = fitted(new.value, tuple(count if d == axis else m for d, m in enumerate(x.shape)))
    order = np.argsort(places, kind="stable")
    taken = places[order] + np.arange(places.size) if places.size == count else places + np.arange(count)
    mine = order if places.size == count else fresh(counted((count,)))
    out = np.arange(n + count)
    before = np.searchsorted(taken, out, side="right")
    last = np.take(mine, before - 1, mode="clip")
    own = np.isin(out, taken)
    return np.take(fresh(joined([x.value, new], axis)), np.where(own, n + last, out - before), axis, mode="clip")


def located(places, room, n):
    """Integers as places from zero on, checked to be there."""
    places = np.where(places < 0, places + n, places).astype(np.int64)
    ok = np.all((places >= 0) & (places < room))
    current_trace().check(ok.value, IndexError, message(f"an index is out of bounds for axis with size {n}", locate()))
    return places


def along(arr, axis):
    """(array, non-negative axis) of functions that flatten where no axis is given."""
    x = handle(arr)
    if axis is None:
        return ravel(x), 0
    return x, normalize_axis_index(operator.index(axis), x.ndim)


@implements(np.delete)
def delete(arr, obj, axis=None):
    x, axis = along(arr, axis)
    if is_traced(obj):
        return without_some(x, handle(obj), axis)
    return fresh(picked(x.value, np.delete(np.arange(x.shape[axis]), obj), axis))


def without_some(x, obj, axis):
    """np.delete of traced places: of one the length is known, of several, or those where a mask holds, it is
    bounded."""
    n = x.shape[axis]
    if obj.dtype.kind == "b":
        if obj.shape != (n,):
            text = f"boolean array argument `obj` to delete must be one-dimensional and match the axis length of {n}"
            raise with_note(ValueError, message(text, locate()))
        return x[(slice(None),) * axis + (np.logical_not(obj),)]
    if obj.dtype.kind not in "iu":
        raise not_an_index(True)
    places = located(np.ravel(obj), n, n)
    if obj.size == 1:
        rest = np.arange(n - 1)
        return np.take(x, rest + (rest >= places), axis, mode="clip")
    return x[(slice(None),) * axis + (np.logical_not(np.isin(np.arange(n), places)),)]
