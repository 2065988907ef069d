"""`x[key]` and `x[key] = v` where the key or the array has extents: masks select, arrays of indices gather and
scatter."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.indexing import index_arrays, put_arrays, take_along
from ...ir.ops.sorting import argsort
from ..common.emit import INDEX, cast_to, reshape_to, spread_to
from ..common.errors import ShapeError, UnsupportedError, message
from ..common.frames import locate
from ..values import gathering
from ..values import indexing as plain
from ..values.array import Traced, TracedArray, fresh
from ..values.outermost import length_by_value
from ..values.promote import read
from ..values.texts import TracedText
from .align import aligned_operands, inside, mask_extent, moved, shape_and_extents, valid
from .bounded import BoundedArray, MaskExtent, SpanExtent, made
from .numbers import bounded, compare, either, negated, number, operand, out_of_bounds, part_of, require, require_fit
from .windows import WHOLE, element, expanded, is_traced_slice, view

select = OPS["select"]


def is_open(k):
    """Whether a part of a key makes an extent, or has one."""
    kind = type(k)
    if kind is slice:
        return is_traced_slice(k)
    return kind is BoundedArray or isinstance(k, Traced) and k.type.kind == "b"


def is_array(k):
    return not (plain.is_basic(k) or k is Ellipsis)


def getitem(x, key):
    """The view or copy NumPy returns for `x[key]`."""
    key = plain.as_tuple(key)
    if type(x) is TracedArray and not any(map(is_open, key)):
        return plain.getitem(x, key)
    if not any(map(is_array, key)):
        found = view(x, key)
        return found if any(k is Ellipsis for k in key) else element(found)
    alone = masked(x, key)
    return BoundedSelection(*alone).copy() if alone else Gather(*partly(x, key)).read()


def setitem(x, key, value):
    """Store `value`, broadcast and cast as NumPy does, into what `x[key]` means."""
    key = plain.as_tuple(key)
    if type(x) is TracedArray and type(value) is not BoundedArray and not any(map(is_open, key)):
        plain.setitem(x, key, value)
    elif not any(map(is_array, key)):
        assign(view(x, key), value)
    elif alone := masked(x, key):
        BoundedSelection(*alone).store(value)
    else:
        Gather(*partly(x, key)).write(value)


# -- storing ---------------------------------------------------------------------------------------


def assign(target, value):
    """`target[...] = value` of a TracedArray or a Bounded: its storage gets the new window."""
    array, extents = (target.array, target.extents) if type(target) is BoundedArray else (target, (None,) * target.ndim)
    old = array.value
    new = fitted(value, old.type, extents)
    mask = valid(target) if type(target) is BoundedArray else True
    if new is not old or not array.writeable:
        array.write(new if mask is True else select(mask, new, old))


def fitted(value, type, extents):
    """`value` cast, moved and broadcast to where it goes."""
    shape, own = shape_and_extents(value) if isinstance(value, Traced | np.ndarray) else ((), ())
    by_mask = any(isinstance(e, MaskExtent) for e in extents)
    v = plain.stored(value.array if isinstance(value, BoundedArray) else value, type.dtype, not by_mask)
    own = list(own) if own else [None] * v.type.ndim
    while len(own) > len(extents) and own[0] is None and v.type.shape[0] == 1:
        v, own = reshape_to(v, v.type.shape[1:]), own[1:]
    text = f"could not broadcast input array from shape {shape or v.type.shape} into the window that is stored to"
    if len(own) > len(extents):
        raise ShapeError(message(text, locate()))
    for axis in range(len(own)):
        at = axis + len(extents) - len(own)
        n, m, extent, target = v.type.shape[axis], type.shape[at], own[axis], extents[at]
        if (n, extent) == (1, None):
            continue
        have, want = n if extent is None else number(extent.length), m if target is None else number(target.length)
        same = compare("eq", have, want)
        if same is not True:
            if extent is not None:
                repeated = "one element, whose number the data decides, is stored into several places"
                require(
                    either(same, negated(compare("eq", have, 1))),
                    UnsupportedError,
                    message(repeated, locate(), "Write x[0]."),
                )
            require(same, ShapeError if same is False else ValueError, message(text, locate()))
        v = moved(v, axis, extent, m, target)
    return spread_to(v, type.shape)


# -- masks -----------------------------------------------------------------------------------------


def dtype_kind(k):
    return k.dtype.kind if isinstance(k, Traced | np.ndarray) else read(k)[1].kind


def is_mask(k):
    return is_array(k) and (isinstance(k, bool) or dtype_kind(k) == "b")


def masked(x, key):
    """The rest of a key done, where its one array is a mask, with no slice between it and an integer
    -> (window, the mask, the axis at which it applies), else None."""
    place = [i for i, k in enumerate(key) if is_array(k)]
    if len(place) > 1 or not is_mask(key[place[0]]):
        return None
    mask = key[place[0]]
    mask = mask if isinstance(mask, Traced) else fresh(read(mask)[0])
    first, alone = slice(None), not mask.ndim
    full = expanded((*key[: place[0]], first, *(WHOLE,) * (mask.ndim - 1), *key[place[0] + 1 :]), x.ndim + alone)
    before = next(i for i, k in enumerate(full) if k is first)
    if alone:  # a single bool counts on a new axis
        full[before], mask = None, np.reshape(mask, 1)
    integers = [i for i, k in enumerate(full) if k is not None and not isinstance(k, slice)]
    every = sorted([*integers, *range(before, before + mask.ndim)])
    if every != list(range(every[0], every[-1] + 1)):
        return None
    return view(x, tuple(full)), mask, before - sum(i < before for i in integers)


class BoundedSelection:
    """window[..., mask, ...], the mask's axes from `axis` on; those of a mask of several are one."""

    def __init__(self, window, mask, axis):
        self.window, self.axis, depth = window, axis, mask.ndim
        self.array, extents = (
            (window.array, window.extents) if type(window) is BoundedArray else (window, (None,) * window.ndim)
        )
        self.shape = self.array.shape
        self.old = self.array.value
        places, here = self.shape[axis : axis + depth], extents[axis : axis + depth]
        value, own = (mask.array.value, mask.extents) if type(mask) is BoundedArray else (mask.value, (None,) * depth)
        for d, (n, extent) in enumerate(zip(places, here)):
            have, want = mask.shape[d], n if extent is None else extent.length
            require_fit(number(have), number(want), axis + d)
            value = moved(value, d, own[d], n, extent)
            meant = inside(extent, n)
            if meant is not True:
                value = OPS["and"](value, OPS["broadcast"](meant, shape=value.type.shape, dims=(d,)))
        self.count = int(np.prod(places))
        chosen = mask_extent(reshape_to(value, (self.count,)))
        if depth == 1 and here[0] is not None:
            part_of(number(chosen.length), number(here[0].length), self.count)
        self.extents = (*extents[:axis], chosen, *extents[axis + depth :])
        self.flat = (*self.shape[:axis], self.count, *self.shape[axis + depth :])

    def copy(self):
        whole, extent = fresh(reshape_to(self.old, self.flat)), self.extents[self.axis]
        length = length_by_value(number(extent.length))
        if length is None:
            return BoundedArray(whole, self.extents)
        first = argsort(OPS["not"](extent.mask.value), axis=0, stable=True) if self.count else None
        chosen = whole[(*(WHOLE,) * self.axis, fresh(first)[:length])] if self.count else whole
        return made(chosen, (*self.extents[: self.axis], None, *self.extents[self.axis + 1 :]))

    def store(self, value):
        part = self.copy()
        assign(part, value)
        self.array.write(reshape_to(part.array.value, self.shape))


# -- arrays of indices -----------------------------------------------------------------------------


class Places:
    """Where a mask holds, along one of its axes, of n; n is None for a single bool, which counts on a new axis."""

    def __init__(self, index, n):
        self.index, self.n = index, n


def places(mask):
    mask = mask if isinstance(mask, Traced) else np.asarray(mask)
    if isinstance(mask, Traced) and not mask.ndim:
        raise UnsupportedError(
            message(
                "a single bool, which the data decides, stands beside an array in one index", locate(), "Write an `if`."
            )
        )
    return [Places(i, n) for i, n in zip(np.nonzero(mask if mask.ndim else np.reshape(mask, 1)), mask.shape or (None,))]


def partly(x, key):
    """The slices and new axes of a key done -> (window, the rest of the key, one entry an axis), masks as the places
    where they hold."""
    key = [p for k in key for p in (places(k) if is_mask(k) else [k])]
    full = expanded(key, x.ndim + sum(type(k) is Places and k.n is None for k in key))
    window, rest, axis = [], [], 0
    for k in full:
        new = k is None or type(k) is Places and k.n is None
        if type(k) is Places and not new:
            require_fit(number(k.n), number(x.shape[axis]), axis)
        window.append(None if new else k if isinstance(k, slice) else WHOLE)
        rest.append(WHOLE if k is None or isinstance(k, slice) else k.index if type(k) is Places else k)
        axis += not new
    return view(x, tuple(window)), rest


def misplaced(index, length, axis):
    """What NumPy says of indices one of which is out of bounds."""

    def say(places, sizes):
        at = np.flatnonzero((places < -sizes) | (places >= sizes))[0]
        return f"index {places.flat[at]} is out of bounds for axis {axis} with size {sizes.flat[at]}"

    return TracedText(say, [fresh(index), fresh(length)], "index out of bounds")


class Gather:
    """window[key] with integers and arrays of them in the key: as plain arrays, those of junk pointing at element 0."""

    def __init__(self, window, key):
        self.array, extents = (window.array, window.extents) if type(window) is BoundedArray else (window,
            (None,) * window.ndim)
        where = [i for i, k in enumerate(key) if not isinstance(k, slice)]
        indices = [fresh(operand(int(k))) if isinstance(k, int | np.integer) else k for k in (key[i] for i in where)]
        for k in indices:
            if dtype_kind(k) not in "iu":
                raise gathering.not_an_index(True)
        together, self.extents = aligned_operands(indices, error=IndexError)
        shape = gathering.joint_index_shape([k if isinstance(k, Traced) else np.asarray(k) for k in together])
        self.meant = valid(BoundedArray(fresh(Lit(0, Lit(0, self.array.type).type.like(shape))), self.extents))
        key = list(key)
        for i, k in zip(where, together):
            value = spread_to(cast_to(k.value if isinstance(k, Traced) else read(k)[0], INDEX), shape)
            key[i] = fresh(self.located(value, self.array.shape[i], extents[i], i))
        self.view, self.pairs, self.place = gathering.advanced(self.array, tuple(key))
        rest = [e for a, e in enumerate(extents) if a not in where]
        self.rest = any(e is not None for e in rest)
        self.extents = [*rest[: self.place], *self.extents, *rest[self.place :]]

    def safe(self, index):
        return index if self.meant is True else select(self.meant, index, Lit(0, index.type))

    def located(self, index, n, extent, axis):
        """Indices of the elements that an extent means, as places on the axis."""
        index = self.safe(index)
        if extent is None:
            return index
        length = spread_to(operand(number(extent.length)), index.type.shape)
        ok = OPS["and"](OPS["ge"](index, OPS["neg"](length)), OPS["lt"](index, length))
        ok = ok if self.meant is True else OPS["or"](ok, OPS["not"](self.meant))
        ok = OPS["reduce_and"](ok, axes=tuple(range(ok.type.ndim))) if ok.type.ndim else ok
        if not index.type.ndim and self.meant is True:
            out_of_bounds(ok, index, length, axis)
        else:
            text = "index out of bounds for an axis whose length the data decides"
            require(ok, IndexError, message(text, locate()), words=lambda: misplaced(index, length, axis))
        index = select(OPS["lt"](index, Lit(0, index.type)), OPS["add"](index, length), index)
        if isinstance(extent, SpanExtent):
            index = OPS["add"](index, spread_to(operand(number(extent.start)), index.type.shape))
        elif n:
            index = take_along(
                argsort(OPS["not"](extent.mask.value), 0), OPS["clamp"](*edges(index, n)), 0, mode="promise"
            )
        return bounded(OPS["clamp"](*edges(index, n)), 0, n - 1) if n else index

    def read(self):
        return made(fresh(index_arrays(self.view.value, self.pairs, self.place)), self.extents)

    def write(self, value):
        target = self.read()
        old = target.array.value if type(target) is BoundedArray else target.value
        new = fitted(value, old.type, self.extents)
        if self.rest:
            new = select(valid(target), new, old)
        pairs = self.pairs
        if self.meant is not True:
            axis, index = pairs[0]
            pairs = [(axis, select(self.meant, index, Lit(self.view.shape[axis], index.type))), *pairs[1:]]
        self.view.write(put_arrays(self.view.value, pairs, new, at=self.place))


def edges(index, n):
    return Lit(0, index.type), index, Lit(n - 1, index.type)
