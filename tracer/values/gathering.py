"""`x[key]` with arrays of indices or masks among the keys: copies of what is chosen."""

import numpy as np

from ..common.emit import INDEX, constant_of, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from .array import Traced, TracedScalar
from .asked import asking
from .slicing import NONE, ONE, basic, normalized_index


def whole_mask(x, key):
    """The traced boolean array that is the only index, or None."""
    if len(key) == 1 and isinstance(key[0], Traced) and key[0].type.kind == "b":
        return key[0]
    return None


def advanced(x, key):
    """-> (view of x under the basic part, [(axis, index value)] of one shape, place of the index axes in the
    result)."""
    full = axis_by_axis(key, x)
    arrays = [k for k in full if k is not None and not isinstance(k, slice)]
    shape = joint_index_shape(arrays)
    where = [i for i, k in enumerate(full) if k is not None and not isinstance(k, slice)]
    view = x.window(
        basic(x, tuple(None if k is ONE or k is NONE else slice(None) if i in where else k for i, k in enumerate(full)))
    )
    adjacent = where == list(range(where[0], where[-1] + 1))
    found = {}
    for axis in sorted(where, key=lambda axis: np.ndim(full[axis]) > 0):  # NumPy looks at single numbers first
        dropped = sum(k is None or k is ONE or k is NONE for k in full[:axis])
        found[axis] = spread_to(index_value(full[axis], view.shape[axis], axis - dropped), shape)
    return view, sorted(found.items()), where[0] if adjacent else 0


def joint_index_shape(arrays):
    """The shape of arrays of indices together."""
    try:
        return np.broadcast_shapes(*[getattr(k, "shape", ()) for k in arrays])
    except ValueError:
        shapes = " ".join(str(getattr(k, "shape", ())).replace(", ", ",") for k in arrays)
        text = f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}"
        raise with_note(IndexError, message(text, locate(), "Shapes as in arithmetic.")) from None


def axis_by_axis(key, x):
    """The key with one entry an axis: no Ellipsis, concrete masks as the integer arrays of their nonzero positions."""
    for k in key:
        if isinstance(k, Traced) and k.type.kind == "b":
            raise UnsupportedError(
                message(
                    "a traced boolean mask beside other indices selects a data-dependent number of elements",
                    locate(),
                    "Use np.where(mask, x, 0.0) on the whole array.",
                )
            )
    masks = [np.ndim(k) if is_mask(k) else None for k in key]
    used = sum(0 if k is None or k is Ellipsis else 1 if d is None else d for k, d in zip(key, masks))
    if used > x.ndim:
        text = f"too many indices for array: array is {x.ndim}-dimensional, but {used} were indexed"
        raise with_note(IndexError, message(text, locate()))
    out, axis = [], 0
    for k, d in zip(key if any(k is Ellipsis for k in key) else (*key, Ellipsis), [*masks, None]):
        if k is Ellipsis:
            out += [slice(None)] * (x.ndim - used)
            axis += x.ndim - used
        elif d == 0:
            out.append(ONE if k else NONE)
        elif d is not None:
            check_mask(k.shape, x.shape, axis)
            out += np.nonzero(k)
            axis += d
        else:
            out.append(k)
            axis += k is not None
    return out


def is_mask(k):
    return isinstance(k, bool | np.bool_) or isinstance(k, np.ndarray) and k.dtype == bool


def check_mask(mask, shape, axis=0):
    """That a mask of one shape fits onto the axes of another from `axis` on."""
    for d, (m, n) in enumerate(zip(mask, shape[axis:]), axis):
        if m != n:
            raise with_note(IndexError, message(misfit(m, n, d), locate()))


def misfit(m, n, axis, what="array"):
    """NumPy's words for a mask of m on an axis of n."""
    return (
        f"boolean index did not match indexed {what} along axis {axis}; size of axis is {n} but size of corresponding "
        f"boolean axis is {m}"
    )


def not_an_index(is_array, found="", hint=None):
    """What NumPy raises for an array, or anything else, that is no index."""
    text = f"arrays used as indices must be of integer (or boolean) type{found}"
    if not is_array:
        text = (
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            "valid indices"
        )
    return with_note(IndexError, message(text, locate(), hint))


def index_value(k, n, axis):
    """An integer index, array or scalar, as a non-negative int64 value; checked."""
    if isinstance(k, Traced):
        if k.type.kind not in "iu":
            raise not_an_index(type(k) is not TracedScalar, f", got {k.type}", "Convert with x.astype(int).")
        return normalized_index(k.value, n, axis)
    is_array, k = isinstance(k, np.ndarray), np.asarray(k)
    if k.size == 0 and not is_array:
        k = k.astype(INDEX)
    if k.dtype.kind not in "iu":
        raise not_an_index(is_array, f", got {k.dtype}")
    bad = (k < -n) | (k >= n)
    if (asked := asking()) is not None and k.size:
        asked.index(int(k.min()), int(k.max()), n)
    if bad.any():
        raise with_note(
            IndexError, message(f"index {k[bad].flat[0]} is out of bounds for axis {axis} with size {n}", locate())
        )
    return constant_of(np.where(k < 0, k + n, k).astype(INDEX))
