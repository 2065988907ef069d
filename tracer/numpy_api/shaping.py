"""Shapes and views: what NumPy returns as a view is a view here, and NumPy's answer on the shadow decides."""

import operator
import warnings

import numpy as np

from ..common.emit import cast_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedScalar
from ..values.promote import checked
from ..values.storage import current_trace
from ..values.views import Diagonal, Permute, Repeat, Reshape
from .handles import as_given, handle, is_traced, laid_out, stand_in, value_of
from .registry import implements
from .steps import Windows

# -- shape -----------------------------------------------------------------------------------------


@implements(np.reshape)
def reshape(a, /, shape, order="C", *, copy=None):
    x = handle(a)
    target = stand_in(x).reshape(shape, order=order).shape
    steps = (Reshape(target),)
    if order in ("F", "f") or order in ("A", "a") and x.shadow.flags.fnc:
        steps = Permute(range(x.ndim)[::-1]), Reshape(target[::-1]), Permute(range(len(target))[::-1])
    same = [n for n in target if n != 1] == [n for n in x.shape if n != 1]
    if order in ("A", "a") or copy is False:
        current_trace().rely_on_layout(x.storage)
    if copy is not True and is_view(x.shadow, target, order):
        if not same:
            current_trace().rely_on_layout(x.storage, x.storage)
        return as_given(a, through(x, steps))
    if copy is False:
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    value = x.value
    for step in steps:
        value = step.get(value)
    out = laid_out(value, np.empty(target, x.dtype, "C" if len(steps) == 1 else "F"))
    if copy is None:
        note_copy(x, out)
    return out


def note_copy(x, out):
    """Note that `out` is a copy of x, which another order of x's memory would have made a view: writes to either
    tell."""
    current_trace().rely_on_layout(x.storage, out.storage, row=True)
    current_trace().rely_on_layout(x.storage, x.storage)


def is_view(array, shape, order):
    try:
        np.reshape(array, shape, order=order, copy=False)
    except ValueError:
        return False
    return True


def through(x, steps):
    """The view of x that a chain of steps leads to."""
    for step in steps:
        x = x.window(step)
    return x


@implements(method="reshape")
def reshape_method(x, *shape, order="C", copy=None):
    return reshape(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@implements(np.ravel, method="ravel")
def ravel(a, order="C"):
    """A view where the memory is one run of elements in this order: where their steps are even is not enough."""
    x, order = resolve_order(handle(a), order)
    if x.shadow.flags["F" if order == "F" else "C"]:
        current_trace().rely_on_layout(x.storage, x.storage, row=True)
        return reshape(x, -1, order)
    out = reshape(x, -1, order, copy=True)
    note_copy(x, out)
    return out


def resolve_order(x, order):
    """x and "C" or "F" for an order that the memory decides."""
    np.ravel(0, order)  # NumPy's own words where it is none
    if order in ("K", "k", "A", "a"):
        current_trace().rely_on_layout(x.storage)
    if order in ("K", "k"):
        x = x.window(Permute(sorted(range(x.ndim), key=lambda d: -abs(x.shadow.strides[d]))))
    return x, "F" if order in ("F", "f") or order in ("A", "a") and x.shadow.flags.fnc else "C"


@implements(method="flatten")
def flatten(x, order="C"):
    x, order = resolve_order(handle(x), order)
    return reshape(x, -1, order, copy=True)


@implements(np.squeeze, method="squeeze")
def squeeze(a, axis=None):
    x = handle(a)
    shape = np.squeeze(x.shadow, axis).shape
    if shape == x.shape:
        return a if isinstance(a, Traced) and not getattr(a, "weak", None) else x
    return as_given(a, x.window(Reshape(shape)))


@implements(np.expand_dims)
def expand_dims(a, axis):
    x = handle(a)
    return x.window(Reshape(np.expand_dims(x.shadow, axis).shape))


def at_least(function):
    def several(*arys):
        out = []
        for x in map(handle, arys):
            shape = function(x.shadow).shape
            out.append(x if shape == x.shape else x.window(Reshape(shape)))
        return out[0] if len(out) == 1 else tuple(out)

    implements(function)(several)
    return several


atleast_1d, atleast_2d, atleast_3d = map(at_least, (np.atleast_1d, np.atleast_2d, np.atleast_3d))


@implements(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    x = handle(array)
    return x.window(Repeat(np.broadcast_to(x.shadow, shape).shape))


@implements(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    arrays = [handle(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple(x if x.shape == shape else x.window(Repeat(shape)) for x in arrays)


@implements(np.resize)
def resize(a, new_shape):
    shape = tuple(map(operator.index, new_shape if np.iterable(new_shape) else (new_shape,)))
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    x, size = ravel(a), int(np.prod(shape, dtype=object))
    if not size or not x.size:
        return np.zeros_like(x, shape=shape)
    return reshape(np.concatenate((x,) * -(-size // x.size))[:size], shape)


@implements(np.ndim)
def ndim(a):
    return len(shape(a))


@implements(np.shape)
def shape(a):
    return a.shape if hasattr(a, "shape") else value_of(a).type.shape if is_traced(a) else np.shape(a)


@implements(np.size)
def size(a, axis=None):
    return np.size(np.broadcast_to(0, shape(a)), axis)


# -- axes ------------------------------------------------------------------------------------------


def permuted(x, function, *args):
    """x with its axes in the order `function` puts them: sizes that number the axes come out as the permutation."""
    return x.window(Permute(function(np.empty(tuple(range(x.ndim)), bool), *args).shape))


@implements(np.transpose)
def transpose(a, axes=None):
    return as_given(a, permuted(handle(a), np.transpose, axes))


@implements(method="transpose")
def transpose_method(x, *axes):
    return transpose(x, None if not axes else axes[0] if len(axes) == 1 else axes)


@implements(np.swapaxes, method="swapaxes")
def swapaxes(a, axis1, axis2):
    return as_given(a, permuted(handle(a), np.swapaxes, axis1, axis2))


@implements(np.moveaxis)
def moveaxis(a, source, destination):
    return as_given(a, permuted(handle(a), np.moveaxis, source, destination))


@implements(np.rollaxis)
def rollaxis(a, axis, start=0):
    return permuted(handle(a), np.rollaxis, axis, start)


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x, /):
    x = handle(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


@implements(np.flip)
def flip(m, axis=None):
    x = handle(m)
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if d in axes else 1) for d in range(x.ndim))]


@implements(np.fliplr)
def fliplr(m):
    x = handle(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return x[:, ::-1]


@implements(np.flipud)
def flipud(m):
    x = handle(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return x[::-1]


@implements(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    x, axes = handle(m), tuple(axes)
    np.rot90(stand_in(x), 0, axes)  # NumPy's own words about axes
    k %= 4
    if k % 2 == 0:
        return flip(x, axes) if k else x[:]
    turned = swapaxes(flip(x, axes[1]) if k == 1 else x, *axes)
    return turned if k == 1 else flip(turned, axes[1])


@implements(np.diagonal, method="diagonal")
def diagonal(a, offset=0, axis1=0, axis2=1):
    return handle(a).window(Diagonal(offset, axis1, axis2))


@implements(np.linalg.diagonal)
def last_diagonal(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


@implements(np.unstack)
def unstack(x, /, *, axis=0):
    x = handle(x)
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    x = moveaxis(x, axis, 0)
    return tuple(x[i] for i in range(x.shape[0]))


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    if writeable:
        raise UnsupportedError(
            message("sliding_window_view(writeable=True) is not captured: its windows overlap in memory", locate())
        )
    return handle(x).window(Windows(window_shape, axis))


# -- copies and conversions ------------------------------------------------------------------------


@implements(np.copy)
def copy(a, order="K", subok=False):
    x = handle(a)
    return laid_out(x.value, np.empty_like(x.shadow, order=order), x if order in ("K", "k", "A", "a") else None)


@implements(method=("copy", "__copy__"))
def copy_method(x, order="C"):
    np.ravel(0, order)  # NumPy's own words where it is none
    return TracedScalar(x.value, x.weak) if type(x) is TracedScalar else copy(x, order)


@implements(method="astype")
def astype_method(x, dtype, order="K", casting="unsafe", subok=True, copy=True):
    dtype = checked(np.dtype(dtype))
    np.ravel(0, order)  # NumPy's own words where it is none
    if not np.can_cast(x.dtype, dtype, casting):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {dtype!r} according to the rule {casting!r}")
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        warnings.warn(
            "Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=2
        )
    if type(x) is TracedScalar:
        return TracedScalar(cast_to(x.value, dtype))
    if not copy and x.dtype == dtype:
        return x
    return laid_out(
        cast_to(x.value, dtype), np.empty_like(x.shadow, dtype, order), x if order in ("K", "k", "A", "a") else None
    )


@implements(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    if isinstance(x, list | tuple):
        raise with_note(
            TypeError, message(f"Input should be a NumPy array or scalar. It is a {type(x)} instead.", locate())
        )
    return astype_method(x, dtype, copy=copy)


@implements(method="fill")
def fill(x, value):
    handle(x)[...] = value  # a scalar has no memory of its own, but the same words for what does not fit
