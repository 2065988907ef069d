"""Stores under a mask, and `copyto`."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops.indexing import index_arrays
from ..common.emit import cast_to, constant_of, reshape_to, spread_to, without_ones
from ..common.errors import ShapeError, UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.indexing import stored
from ..values.promote import broadcast_shapes, mask_of, operand_as, read
from ..values.storage import current_trace
from .arguments import flat
from .handles import value_of
from .logic import BOOL, WIDTH
from .registry import implements
from .ufunc_calls import weak_kind


def target_of(dst, name):
    if not isinstance(dst, TracedArray):
        hint = (
            "An array that receives traced values must be traced: pass it as an argument, or make it with "
            "np.zeros_like(x)."
        )
        raise UnsupportedError(message(f"np.{name} into an array that is not traced", locate(), hint))
    return dst


@implements(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    dst = target_of(dst, "copyto")
    source, key = read(src)
    if isinstance(key, np.dtype):
        allowed = np.can_cast(key, dst.dtype, casting)
    else:
        allowed = casting == "unsafe" or WIDTH[np.dtype(key).kind] <= WIDTH[dst.dtype.kind]
        allowed = allowed and (casting != "equiv" or np.dtype(key) == dst.dtype)
    if not allowed:
        raise with_note(
            TypeError,
            message(f"Cannot cast array data from {key} to {dst.dtype!r} according to the rule {casting!r}", locate())
        )
    new = spread_into(operand_as(source, dst.dtype), dst.shape)
    if where is not True:
        new = e.select(mask_of(where, dst.shape), new, dst.value)
    dst.write(new)


def spread_into(x, shape):
    x = without_ones(x, len(shape))
    if broadcast_shapes([x.type.shape, shape]) != shape:
        raise ShapeError(
            message(
                f"could not broadcast input array from shape {x.type.shape} into shape {shape}".replace(", ", ","),
                locate(),
            )
        )
    return spread_to(x, shape)


@implements(np.putmask)
def putmask(a, /, mask, values):
    """a[i] = values[i mod n] for flat i under the mask."""
    a = target_of(a, "putmask")
    new = elements(values, a.dtype)
    if np.size(mask) != a.size:
        raise with_note(ValueError, message("putmask: mask and data must be the same size", locate()))
    if not new.type.size:
        new = Lit(0, new.type.like((a.size,)))
        mask = np.logical_and(mask, False)
    if a.size:
        store(a, mask, cycled(new, constant_of(np.arange(a.size) % new.type.size)) if new.type.size > 1 else new)


@implements(np.place)
def place(arr, mask, vals):
    """The k-th element under the mask becomes vals[k mod n]."""
    arr = target_of(arr, "place")
    if isinstance(vals, TracedArray) and np.may_share_memory(vals.shadow, arr.shadow) and arr.size:
        text = "np.place takes values from the memory that it writes into, some of them after they have been written"
        raise UnsupportedError(message(text, locate(), "Give it a copy of the values."))
    new = elements(vals, arr.dtype)
    if np.size(mask) != arr.size:
        raise with_note(ValueError, message("place: mask and data must be the same size", locate()))
    hit = flat(cast_to(value_of(mask), BOOL))
    if not new.type.size:
        current_trace().check(
            e.not_(r.reduce_or(hit, axes=(0,))), ValueError, message("Cannot insert from an empty array!", locate())
        )
        return
    if new.type.size > 1:
        rank = r.cumsum(cast_to(hit, np.dtype(np.int64)), axis=0) - 1
        new = cycled(new, value_of(np.remainder(fresh(rank), new.type.size)))
    store(arr, mask, new)


def elements(values, dtype):
    """np.ravel(np.asarray(values, dtype)) as a value; of arrays, as NumPy, only where no digit is lost."""
    if weak_kind(values) is not None:
        return reshape_to(stored(values, dtype), (1,))
    if isinstance(values, TracedScalar | np.generic):  # NumPy's scalars are cast, whatever fits
        return reshape_to(cast_to(value_of(values), dtype), (1,))
    have = getattr(values, "dtype", dtype)
    if not np.can_cast(have, dtype, "safe") and getattr(values, "weak", None) is None:
        raise with_note(
            TypeError,
            message(f"Cannot cast array data from {have!r} to {dtype!r} according to the rule 'safe'", locate())
        )
    return flat(stored(values, dtype) if isinstance(values, list | tuple) else cast_to(value_of(values), dtype))


def cycled(values, places):
    return index_arrays(values, [(0, places)], mode="promise") if places.type.size else Lit(0, values.type.like((0,)))


def store(a, mask, new):
    """Write a flat value, or one number, where the mask holds."""
    hit = cast_to(value_of(mask), BOOL)
    if hit.type.size != a.size:
        raise with_note(ValueError, message("mask and array must have the same size", locate()))
    new = spread_to(reshape_to(new, ()), a.shape) if new.type.size == 1 and a.size != 1 else reshape_to(new, a.shape)
    a.write(e.select(reshape_to(hit, a.shape), new, a.value))
