"""Elements taken and put at positions, static or traced, and positions in arrays of several axes."""

import operator

import numpy as np

from ...ir.ops import OPS
from ...ir.ops.indexing import put_along_axis as put_along
from ...ir.ops.indexing import take_along
from ...ir.ops.indexing import take_along_axis as pick_along
from ..common.emit import INDEX, cast_to, constant_of, filled, reshape_to, spread_to, without_ones
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh, wrap
from ..values.gathering import index_value
from ..values.indexing import stored
from ..values.promote import PYTHON_NUMBERS, broadcast_shapes
from ..values.slicing import normalized_index
from ..values.storage import current_trace
from .arguments import axis_of, give, verdict
from .handles import handle, is_traced, picked, value_of
from .joining import along
from .memory import Flat
from .registry import implements
from .shaping import diagonal, ravel, resize
from .ufunc_calls import weak_kind

add, rem, select, lt, ge, clamp, and_, mul, quotient, reduce_and, reduce_sum = (
    OPS[n] for n in ("add", "rem", "select", "lt", "ge", "clamp", "and", "mul", "quotient", "reduce_and", "reduce_sum")
)
normalize_axis_index = np.lib.array_utils.normalize_axis_index


# -- take and put ----------------------------------------------------------------------------------


@implements(np.take, method="take")
def take(a, indices, axis=None, out=None, mode="raise"):
    a = handle(a) if is_traced(a) and isinstance(a, list | tuple) else a
    x, axis = along(a, axis) if np.ndim(a) or axis not in (None, 0, -1) else (ravel(a), 0)
    n = x.shape[axis]
    mode = "clip" if n and 0 in x.shape[:axis] else mode  # no element is looked up
    if is_traced(indices):
        value = take_along(x.value, positions(value_of(indices), n, mode, axis), axis, mode="promise")
    else:
        places = np.take(np.arange(n), indices, mode=mode)
        flat = picked(x.value, places.ravel(), axis)
        value = reshape_to(flat, (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]))
    return give(value, gathered(out, value.type.dtype), "take")


def gathered(out, dtype):
    """`out` of a function that gathers elements of a dtype: NumPy is asked whether it may be of its own."""
    if isinstance(out, TracedArray):
        verdict(np.take, np.zeros(1, dtype), [0], out=np.zeros(1, out.dtype))
    return out


def positions(index, n, mode, axis=0):
    """Traced indices made to lie in [0, n): checked, wrapped around or clipped."""
    if index.type.kind not in "iub":
        raise TypeError(
            f"Cannot cast array data from {index.type.dtype!r} to dtype('int64') according to the rule 'safe'"
        )
    index = cast_to(index, INDEX)
    shape = index.type.shape
    if not n and index.type.size:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "raise":
        return normalized_index(index, n, axis)
    if mode == "wrap":
        size = filled(n, shape, INDEX)
        return rem(add(rem(index, size), size), size)
    if mode == "clip":
        return clamp(filled(0, shape, INDEX), index, filled(n - 1, shape, INDEX))
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


@implements(np.put)
def put(a, ind, v, mode="raise"):
    if type(a) is TracedScalar and a.weak is None:
        a = fresh(a.value)  # of a NumPy scalar the method has a copy to write into
    elif type(a) in (TracedScalar, list, tuple) or isinstance(a, PYTHON_NUMBERS):
        shown = a.weak if type(a) is TracedScalar else type(a)
        raise with_note(TypeError, message(f"argument 1 must be numpy.ndarray, not {shown}", locate()))
    if type(a) is not TracedArray:
        raise not_traced("np.put", a)
    index = (
        positions(value_of(ind), a.size, mode)
        if is_traced(ind)
        else constant_of(np.take(np.arange(a.size), ind, mode=mode))
    )
    values, places = (
        ravel(fresh(stored(v, a.dtype)) if isinstance(v, list | tuple) else v),
        fresh(reshape_to(index, (index.type.size,))),
    )
    if weak_kind(v) is not None:
        Flat(a)[places] = v
    elif index.type.size and values.size:
        Flat(a)[places] = value_wise(values, index.type.size).astype(a.dtype)


def value_wise(values, count):
    """The first `count` of the values, used in turn."""
    return values if values.size == count else resize(values, count)


@implements(method="put")
def put_method(x, indices, values, mode="raise"):
    put(x, indices, values, mode)


def not_traced(name, x):
    return UnsupportedError(
        message(
            f"{name} was given a {type(x).__name__} that is not traced to write into",
            locate(),
            "An array that receives traced results must be traced: pass it as an argument, or make it with "
            "np.zeros_like(x).",
        )
    )


@implements(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    x, index, axis = aligned(arr, indices, axis)
    shape = common(drop(x.shape, axis), drop(index.type.shape, axis))
    n, count = x.shape[axis], index.type.shape[axis]
    full = spread_to(x.value, (*shape[:axis], n, *shape[axis:]))
    return fresh(pick_along(full, spread_to(index, (*shape[:axis], count, *shape[axis:])), axis, mode="promise"))


@implements(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if type(arr) is TracedScalar and arr.weak is None and axis is not None:
        axis_of(axis, 0)
    if type(arr) is not TracedArray:
        raise not_traced("np.put_along_axis", arr)
    if axis is None:
        text = "np.put_along_axis(axis=None) writes into a copy, so it does nothing"
        raise UnsupportedError(message(text, locate(), "Write x.flat[indices] = values."))
    x, index, axis = aligned(arr, indices, axis)
    shape = tuple(index.type.shape[d] if d == axis else n for d, n in enumerate(x.shape))
    broadcast_shapes([shape, index.type.shape])
    new = without_ones(stored(values, x.dtype), len(shape))
    if broadcast_shapes([new.type.shape, shape], "values and indices") != shape:
        raise with_note(
            ValueError,
            message(f"shape mismatch: values of shape {new.type.shape} for indices of shape {shape}", locate())
        )
    new = spread_to(new, shape)
    x.write(put_along(x.value, spread_to(index, shape), new, axis, mode="promise"))


def aligned(arr, indices, axis):
    """(array, checked index value, axis) of the two functions along an axis."""
    x, index = handle(arr), indices
    if axis is not None:
        normalize_axis_index(operator.index(axis), x.ndim)
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        x, axis = ravel(x), 0
    axis = normalize_axis_index(operator.index(axis), x.ndim)
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if not np.prod(drop(x.shape, axis)):  # no element is looked up
        return x, cast_to(value_of(index), INDEX), axis
    return x, index_value(index, x.shape[axis], axis), axis


def common(a, b):
    """The shape two of them broadcast to; NumPy calls it an IndexError where there is none."""
    if any(n != m and 1 not in (n, m) for n, m in zip(a, b)):
        raise with_note(
            IndexError,
            message(
                f"shape mismatch: indexing arrays could not be broadcast together, their other axes have shapes {a} "
                f"{b}",
                locate(),
            )
        )
    return broadcast_shapes([a, b])


def drop(shape, axis):
    return shape[:axis] + shape[axis + 1 :]


# -- by masks --------------------------------------------------------------------------------------


@implements(np.compress)
def compress(condition, a, axis=None, out=None):
    if np.ndim(condition) != 1:
        raise with_note(ValueError, message("condition must be a 1-d array", locate()))
    if not is_traced(condition):
        return take(a, np.nonzero(np.asarray(condition))[0], axis, out)
    x, axis = along(a, axis) if np.ndim(a) or axis not in (None, 0, -1) else (ravel(a), 0)
    gathered(out, x.dtype)
    if out is not None and drop(out.shape, axis) != drop(x.shape, axis):
        raise with_note(
            ValueError,
            message(
                f"output array does not match result of ndarray.take: it has shape {out.shape}, of {x.shape}", locate()
            )
        )
    keep, n, before = handle(np.not_equal(condition, 0)), x.shape[axis], (slice(None),) * axis
    if keep.shape[0] > n and n and not x.size:
        text = (
            "np.compress of an array without elements, by a condition longer than its axis: NumPy counts what is True "
            "beyond the end"
        )
        raise UnsupportedError(message(text, locate(), "Give a condition of the axis's length."))
    if keep.shape[0] > n:  # what lies beyond the end may be there, but not be asked for
        current_trace().check(
            np.logical_not(np.any(keep[n:])).value,
            IndexError,
            message(f"condition is true beyond {n}, the axis's size", locate()),
        )
    found = x[(*before, slice(0, keep.shape[0]))][(*before, keep[:n])]
    if out is not None:
        out[...] = found.astype(out.dtype)
    return found if out is None else out


@implements(method="compress")
def compress_method(x, condition, axis=None, out=None):
    return compress(condition, x, axis, out)


@implements(np.extract)
def extract(condition, arr):
    return compress(np.ravel(condition), ravel(arr))


@implements(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    if type(a) is not TracedArray:
        raise not_traced("np.fill_diagonal", a)
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if a.ndim == 2:
        step, end = a.shape[1] + 1, None if wrap else a.shape[1] * a.shape[1]
    elif len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    else:
        step = 1 + int(np.sum(np.cumprod(a.shape[:-1])))
    Flat(a)[:end:step] = val


# -- positions -------------------------------------------------------------------------------------


@implements(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(operator.index(n) for n in shape)
    index = integers(indices, "unravel_index")
    np.unravel_index(np.empty(0, int), shape, order)  # NumPy's own words about the shape
    size = int(np.prod(shape, dtype=object))
    require_within(index, size, f"index is out of bounds for array with size {size}")
    out = []
    for n in shape[::-1] if order == "C" else shape:
        n = filled(max(n, 1), index.type.shape, INDEX)
        out.append(wrap(rem(index, n)))
        index = quotient(index, n)
    return tuple(out[::-1] if order == "C" else out)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    multi_index, dims = list(multi_index), (dims,) if isinstance(dims, int | np.integer) else tuple(dims)
    if len(multi_index) != len(dims):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(dims)}")
    modes = mode if isinstance(mode, tuple) else (mode,) * len(dims)
    index = [integers(i, "ravel_multi_index") for i in multi_index]
    np.ravel_multi_index([np.zeros(0, int)] * len(dims), dims, order=order)  # NumPy's own words about the order
    shape = broadcast_shapes([i.type.shape for i in index])
    total = filled(0, shape, INDEX)
    pairs = list(zip(index, dims, modes)) if total.type.size else []
    for i, n, how in pairs if order == "C" else pairs[::-1]:
        if how == "raise":
            require_within(i, n, "invalid entry in coordinates array")
        else:
            i = positions(i, n, how)
        total = add(mul(total, filled(n, shape, INDEX)), spread_to(i, shape))
    return wrap(total)


def integers(x, name):
    value = value_of(x)
    if value.type.kind not in "iub":
        raise TypeError(f"only int indices permitted, np.{name} got {value.type}")
    return cast_to(value, INDEX)


def require_within(index, n, text):
    """ValueError when the program runs, unless 0 <= index < n everywhere."""
    inside = and_(ge(index, filled(0, index.type.shape, INDEX)), lt(index, filled(n, index.type.shape, INDEX)))
    inside = reduce_and(inside, axes=tuple(range(inside.type.ndim))) if inside.type.ndim else inside
    current_trace().check(inside, ValueError, message(text, locate()))


# -- trace -----------------------------------------------------------------------------------------


@implements(np.trace, method="trace")
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    x = diagonal(a, offset, axis1, axis2)
    made = np.trace(np.empty((0, 0), x.dtype), dtype=dtype).dtype
    value = cast_to(x.value, made)
    value = OPS["reduce_or"](value, axes=(x.ndim - 1,)) if made.kind == "b" else reduce_sum(value, axes=(x.ndim - 1,))
    return give(value, out, "trace")


@implements(np.linalg.trace)
def last_trace(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)
