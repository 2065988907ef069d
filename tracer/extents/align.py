"""Where extents meet: lengths proved or checked to be equal, elements moved to the same places, junk made harmless."""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.indexing import take_along
from ...ir.ops.sorting import argsort
from ..common.emit import INDEX, cast_to, counted, filled, spread_to
from ..common.errors import ShapeError, UnsupportedError, message
from ..common.frames import locate
from ..values.array import Traced, TracedScalar, fresh
from ..values.promote import read
from .bounded import BoundedArray, Mask, MaskExtent, SpanExtent
from .numbers import between, bounded, compare, either, minus, negated, number, operand, plus, require, traced

select, pad, dynamic_slice, cumsum, clamp = (OPS[n] for n in ("select", "pad", "dynamic_slice", "cumsum", "clamp"))


def mask_extent(mask):
    """The extent of a selection by a 1-d bool value."""
    count = OPS["reduce_sum"](cast_to(mask, INDEX), axes=(0,))
    return MaskExtent(Mask(mask), traced(bounded(count, 0, mask.type.shape[0])))


# -- what is meant ---------------------------------------------------------------------------------


def inside(extent, n):
    """Which of the n places of an axis are meant, as a bool value, or True."""
    if extent is None:
        return True
    if isinstance(extent, MaskExtent):
        return extent.mask.value
    start, stop = number(extent.start), plus(number(extent.start), number(extent.length))
    places = counted((n,))
    over = lambda name, edge: OPS[name](places, spread_to(operand(edge), (n,)))
    tests = ([] if start == 0 else [over("ge", start)]) + ([] if compare("le", n, stop) is True else [over("lt", stop)])
    return True if not tests else tests[0] if len(tests) == 1 else OPS["and"](*tests)


def valid(x, axes=None):
    """The same for all places of a Bounded, of its whole shape; by the extents of these axes."""
    return covered(x.array.shape, x.extents, axes)


def covered(shape, extents, axes=None):
    """What lies within extents, as a mask of this shape; True where all does."""
    found = None
    for axis, extent in enumerate(extents):
        mask = inside(extent, shape[axis]) if axes is None or axis in axes else True
        if mask is not True:
            mask = mask if len(shape) == 1 else OPS["broadcast"](mask, shape=shape, dims=(axis,))
            found = mask if found is None else OPS["and"](found, mask)
    return True if found is None else found


def harmless(x, fill, axes=None):
    """The value of a Bounded, `fill` in place of its junk: so that neither it nor a derivative there can spoil
    anything."""
    value, mask = x.array.value, valid(x, axes)
    if mask is True:
        return value
    if isinstance(value, Value) and value.eqn is not None and value.eqn.op is select and value.eqn.operands[0] is mask:
        if isinstance(value.eqn.operands[2], Lit):
            value = value.eqn.operands[1]
    return select(mask, value, Lit(fill, value.type))


# -- lengths ---------------------------------------------------------------------------------------


def agree(have, want, text, error=None):
    """ValueError, as NumPy's, or `error` when the program runs and the two lengths are not the same."""
    same = compare("eq", number(have), number(want))
    if same is not True:
        require(same, error or (ShapeError if same is False else ValueError), message(text, locate()))


def broadcastable(have, want, error=None):
    """The same where a length of one would be repeated: that is not captured."""
    have, want = number(have), number(want)
    same = compare("eq", have, want)
    if same is not True:
        one = either(compare("eq", have, 1), compare("eq", want, 1))
        text = "an axis whose length the data decides has one element here, to be repeated along another"
        require(
            either(same, negated(one)),
            UnsupportedError,
            message(text, locate(), "Write x[0] where one element is meant."),
        )
        agree(
            have, want, "operands could not be broadcast together: their lengths, which the data decides, differ", error
        )


# -- moving ----------------------------------------------------------------------------------------


def shifted(x, axis, distance, size):
    """y[p] = x[p + distance] for p < size along an axis; junk where x has no such place."""
    n = x.type.shape[axis]
    if distance == 0 and size == n:
        return x
    low, high = between(distance)
    before, after = max(-max(low, -size), 0), max(min(high, n) + size - n, 0)
    if before or after:
        edges = lambda k: tuple(k if d == axis else 0 for d in range(x.type.ndim))
        x = pad(x, Lit(0, x.type.like(())), low=edges(before), high=edges(after), interior=(0,) * x.type.ndim)
    sizes = tuple(size if d == axis else m for d, m in enumerate(x.type.shape))
    starts = [operand(plus(distance, before) if d == axis else 0) for d in range(x.type.ndim)]
    return x if x.type.shape == sizes else dynamic_slice(x, *starts, sizes=sizes)


def ranks(mask):
    """How many are chosen before each place."""
    return OPS["sub"](cumsum(cast_to(mask, INDEX), axis=0), filled(1, mask.type.shape, INDEX))


def compacted(x, axis, mask):
    """The chosen elements first."""
    return take_along(x, argsort(OPS["not"](mask), 0), axis, mode="promise")


def placed(x, axis, extent, target, size):
    """The value x, whose elements along an axis lie as `extent` says, with them as `target` says on an axis of
    `size`."""
    n = x.type.shape[axis]
    if identical(extent, target) and n == size:
        return x
    if isinstance(extent, MaskExtent):
        x, extent = compacted(x, axis, extent.mask.value), SpanExtent(0, extent.length)
    start = number(extent.start)
    if isinstance(target, SpanExtent):
        return shifted(x, axis, minus(start, number(target.start)), size)
    if not n:
        return shifted(x, axis, 0, size)
    at = OPS["add"](ranks(target.mask.value), spread_to(operand(start), (size,)))
    return take_along(x, clamp(filled(0, (size,), INDEX), at, filled(n - 1, (size,), INDEX)), axis, mode="promise")


def identical(a, b):
    """Whether two extents are known to be the same places."""
    if a is None or b is None or isinstance(a, MaskExtent) != isinstance(b, MaskExtent):
        return a is b
    if isinstance(a, MaskExtent):
        return a.mask.value is b.mask.value
    return compare("eq", number(a.start), number(b.start)) is True


def from_zero(x, axis):
    """A Bounded with what is meant at the front of an axis."""
    extent = x.extents[axis]
    if extent is None or isinstance(extent, SpanExtent) and number(extent.start) == 0:
        return x
    target = SpanExtent(0, extent.length)
    value = placed(x.array.value, axis, extent, target, x.array.shape[axis])
    return BoundedArray(fresh(value), [target if a == axis else e for a, e in enumerate(x.extents)])


# -- several operands ------------------------------------------------------------------------------


def shape_and_extents(x):
    """(shape, extents) of anything an operand can be."""
    if type(x) is BoundedArray:
        return x.array.shape, x.extents
    shape = x.shape if isinstance(x, Traced) else np.shape(x)
    return shape, (None,) * len(shape)


def meeting(entries, repeat=True, text=None, error=None):
    """(size, extent) on which operands meet along an axis; entries: (size, extent) of each.

    repeat: whether a size of one stretches, by NumPy's rule of broadcasting.
    """
    entries = [e for e in entries if not (repeat and e == (1, None))]
    dynamic = [e for e in entries if e[1] is not None]
    fixed = [n for n, e in entries if e is None]
    if not dynamic:
        return (max(fixed), None) if fixed else (1, None)
    if fixed:
        size, target = fixed[0], None
        lengths, want = [e.length for _, e in dynamic], size
    else:
        size, target = min(dynamic, key=lambda entry: (isinstance(entry[1], SpanExtent), entry[0]))
        lengths, want = [e.length for _, e in dynamic if e is not target], target.length
    for length in lengths:
        if repeat:
            broadcastable(length, want, error)
        else:
            agree(length, want, text)
    return size, target


def moved(value, axis, extent, size, target):
    """A value with one axis where `meeting` said."""
    n = value.type.shape[axis]
    if extent is None and target is None:
        return value
    return placed(value, axis, extent or SpanExtent(0, n), target or SpanExtent(0, size), size)


def aligned_operands(operands, fill=None, error=None):
    """Operands with their elements at the same places -> (them, as arrays, extents of what they make).

    fill: from a type, a number for the places that are not meant, where it matters what is computed there.
    error: what is raised where they do not fit, if not ValueError.
    """
    described = [shape_and_extents(x) for x in operands]
    values = [x.array.value if type(x) is BoundedArray else None for x in operands]
    own = [list(extents) for _, extents in described]
    extents = []
    for back in range(max(len(shape) for shape, _ in described), 0, -1):
        entries = [
            (i, len(shape) - back, shape[-back], ext[-back])
            for i, (shape, ext) in enumerate(described)
            if len(shape) >= back
        ]
        if all(extent is None for *_, extent in entries):
            extents.append(None)
            continue
        size, target = meeting([(n, extent) for _, _, n, extent in entries], error=error)
        extents.append(target)
        for i, axis, n, extent in entries:
            if (n, extent) != (1, None) and not (extent is None and target is None):
                values[i] = moved(value_of(operands[i]) if values[i] is None else values[i], axis, extent, size, target)
                own[i][axis] = target
    out = []
    for x, value, mine in zip(operands, values, own):
        if value is not None and fill is not None:
            value = harmless(BoundedArray(fresh(value), mine), fill(value.type))
        out.append(x if value is None else TracedScalar(value) if isinstance(x, TracedScalar) else fresh(value))
    return out, extents


def value_of(x):
    return x.array.value if type(x) is BoundedArray else x.value if isinstance(x, Traced) else read(x)[0]
