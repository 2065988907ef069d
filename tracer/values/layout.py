"""How new arrays lie in memory: elementwise results as their operands do, as NumPy's order "K" has it; and on which
arguments that hangs."""

import numpy as np

from .array import TracedArray, fresh, wrap
from .storage import UNKNOWN, AliasSet


def layout_storages(x):
    """The memories whose order in memory decides how an array lies."""
    storage = x.storage
    return (storage,) if storage.origin is not None or isinstance(storage, AliasSet) else storage.lies


def merged_layouts(a, b):
    """What two arrays depend on."""
    return UNKNOWN if UNKNOWN in (a, b) else a if b == a or not b else tuple(dict.fromkeys((*a, *b)))


def of_axes(order, shape, dtype):
    """An array whose axes lie in memory in this order."""
    return np.empty([shape[d] for d in order], dtype).transpose(np.argsort(order))


def axes_in_memory(array, axes):
    """Axes of an array in the order in which they lie in memory."""
    return sorted(axes, key=lambda d: -abs(array.strides[d]))


def in_order_of(like, shape, dtype):
    """An array whose axes lie in memory in the order that those of another do."""
    return of_axes(axes_in_memory(like, range(like.ndim)), shape, dtype)


def is_odd(x):
    """Whether a traced array is known not to lie in row-major order."""
    return x._shadow is not None and not x._shadow.flags.c_contiguous


def reduced_as(value, x, axes):
    """`value`, of x with axes left out, or one long: the others lie in memory in the order that they have in x."""
    if len(value.type.shape) < 2:
        return wrap(value)
    out = fresh(value)
    out.storage.lies = layout_storages(x)
    if is_odd(x):
        whole = len(value.type.shape) == x.ndim
        like = x.shadow if whole else x.shadow[tuple([0 if d in axes else slice(None) for d in range(x.ndim)])]
        out._shadow = in_order_of(like, value.type.shape, value.type.dtype)
    return out


def indexed_as(value, view, axes, place):
    """`value`, of a view by arrays of indices for some axes, whose own axes stand at `place`: in memory they come
    first, then the others, in the order that they have in the view."""
    n, rest = len(value.type.shape), [d for d in range(view.ndim) if d not in axes]
    own = n - len(rest)
    behind = [rest.index(d) for d in axes_in_memory(view.shadow, rest)] if is_odd(view) else range(len(rest))
    order = [*range(place, place + own), *(k + own * (k >= place) for k in behind)]
    out = fresh(value)
    out.storage.lies = layout_storages(view) if len(rest) > 1 else ()
    if order != list(range(n)):
        out._shadow = of_axes(order, value.type.shape, value.type.dtype)
    return out


def joined_as(value, inputs, axis):
    """`value`, arrays joined along an axis: its axes lie in memory as NumPy has it where those of the inputs do not lie
    in row-major order."""
    out, seen = fresh(value), [x for x in inputs if type(x) in (TracedArray, np.ndarray) and x.ndim == value.type.ndim]
    if value.type.ndim < 2:
        return out
    for x in seen:
        if type(x) is TracedArray:
            out.storage.lies = merged_layouts(out.storage.lies, layout_storages(x))
    known = [x if type(x) is np.ndarray else x._shadow for x in seen]
    if any(x is not None and not x.flags.c_contiguous for x in known) and len(seen) == len(inputs):
        shadows = [x if type(x) is np.ndarray else x.shadow for x in seen]
        small = np.concatenate([in_order_of(x, (2,) * x.ndim, np.int8) for x in shadows], axis)
        out._shadow = in_order_of(small, value.type.shape, value.type.dtype)
    return out


def laid_as(value, inputs, wrap=wrap):
    """`value`, an array that lies as the operands do; by `wrap` where it has fewer than two axes."""
    if len(value.type.shape) < 2:
        return wrap(value)
    out, odd = fresh(value), False
    for x in inputs:
        if type(x) is TracedArray and len(x.type.shape) > 1:
            out.storage.lies = merged_layouts(out.storage.lies, layout_storages(x))
            odd = odd or is_odd(x)
        elif type(x) is np.ndarray:
            odd = odd or not x.flags.c_contiguous
    if odd:
        seen = [x if type(x) is np.ndarray else x.shadow for x in inputs if type(x) in (np.ndarray, TracedArray)]
        flags = [*[["readonly"]] * len(seen), ["writeonly", "allocate"]]
        # which would ask for a dtype of all operands
        dtypes = [*(x.dtype for x in seen), value.type.dtype]
        operands = np.nditer([*seen, None], ["zerosize_ok"], flags, dtypes).operands
        if operands[-1].shape == value.type.shape:
            out._shadow = np.empty_like(operands[-1], value.type.dtype)
    return out
