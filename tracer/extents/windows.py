"""Basic keys with traced bounds, read exactly as NumPy reads them: negative bounds count from the end, then all are
clipped.

`x[i:j]` is the whole axis with a `Span`, or a window of static size where the slice names one
(`x[i:i + 3]`); steps pick a `Chosen` part. All are views: what is written into them reaches the array.
"""

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.emit import INDEX, counted, filled, spread_to
from ..common.errors import ConcretizationError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedScalar
from ..values.slicing import Moving, basic, concrete
from .align import inside, ranks
from .bounded import BoundedArray, Mask, MaskExtent, SpanExtent, made
from .numbers import (
    all_of,
    between,
    bounded,
    choose,
    compare,
    ends,
    greatest,
    least,
    minus,
    number,
    operand,
    out_of_bounds,
    part_of,
    plus,
    quotient,
    traced,
)  # fmt: skip

FLIP = slice(None, None, -1)
WHOLE = slice(None)


def is_traced_slice(k):
    return isinstance(k, slice) and any(isinstance(p, Traced) for p in (k.start, k.stop, k.step))


def expanded(key, ndim):
    """The key with one entry for every axis, and one for every new one."""
    used = sum(k is not None and k is not Ellipsis for k in key)
    if used > ndim:
        raise with_note(
            IndexError,
            message(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed", locate())
        )
    if sum(k is Ellipsis for k in key) > 1:
        raise with_note(IndexError, message("an index can only have a single ellipsis ('...')", locate()))
    out = []
    for k in key if any(k is Ellipsis for k in key) else (*key, Ellipsis):
        out += [WHOLE] * (ndim - used) if k is Ellipsis else [k]
    return out


def view(x, key):
    """The window of a TracedArray or a Bounded under a key without arrays: of 0 axes too."""
    array, extents = (x.array, x.extents) if type(x) is BoundedArray else (x, (None,) * x.ndim)
    flips, cuts, found = [], [], []
    axes = enumerate(zip(array.shape, extents))
    for k in expanded(key, array.ndim):
        if k is None:
            cuts.append(None)
            found.append(None)
            continue
        axis, (n, extent) = next(axes)
        if isinstance(k, slice):
            flip, cut, extent = sliced(k, n, extent)
            flips.append(flip)
            cuts.append(cut)
            found.append(extent)
        else:
            flips.append(WHOLE)
            cuts.append(position(k, n, extent, axis))
    if any(f is FLIP for f in flips):
        array = array.window(basic(array, tuple(flips)))
    if any(c is not WHOLE for c in cuts):
        array = array.window(basic(array, tuple(cuts)))
    return made(array, found)


# -- one axis --------------------------------------------------------------------------------------


def checked_index(i, length, axis):
    """An index in [-length, length) as one in [0, length), which is checked."""
    ok = all_of(compare("lt", i, length), compare("le", minus(0, length), i))
    out_of_bounds(ok, i, length, axis)
    return (
        plus(i, length)
        if between(i)[1] < 0
        else choose(compare("lt", i, 0), plus(i, length), i)
        if between(i)[0] < 0
        else i
    )


def position(k, n, extent, axis):
    """The place of element k on an axis."""
    if extent is None:
        return k
    at = checked_index(number(k), number(extent.length), axis)
    if isinstance(extent, SpanExtent):
        at = plus(number(extent.start), at)
    else:
        order = ranks(extent.mask.value)
        at = OPS["argmax"](OPS["ge"](order, spread_to(operand(at), (n,))), axis=0) if n else 0
    return traced(clipped(at, 0, n - 1)) if n else 0


def bound(k, length, low, high, default):
    """A bound of a slice of an axis, wrapped once and clipped to [low, high]."""
    if k is None:
        return default
    if not isinstance(k, int) and (
        not hasattr(k, "__index__") or isinstance(k, Traced) and (k.shape or k.dtype.kind not in "iu")
    ):
        raise with_note(
            TypeError, message("slice indices must be integers or None or have an __index__ method", locate())
        )
    k = number(k)
    least_, most = between(k)
    if least_ < 0:
        k = plus(k, length) if most < 0 else choose(compare("lt", k, 0), plus(k, length), k)
    return clipped(k, low, high)


def clipped(k, low, high):
    """k, or the end of [low, high] that it is beyond."""
    first, last = ends(low)[0], ends(high)[1]
    return low if first == last else bounded(least(greatest(k, low), high), first, last)


def sliced(k, n, extent):
    """A slice of an axis of n -> (WHOLE or FLIP, what is then cut out, the extent there)."""
    start, stop, step = (concrete(p) if isinstance(p, Traced) else p for p in (k.start, k.stop, k.step))
    if isinstance(step, Traced):
        text = "the step of a slice is traced, and the length with it"
        raise ConcretizationError(
            message(text, locate(), "Steps must be known while tracing: pass them as int arguments.")
        )
    step = 1 if step is None else step
    if (
        extent is None
        and not isinstance(start, Traced)
        and not isinstance(stop, Traced)
        or start is None
        and stop is None
        and step == 1
    ):
        return WHOLE, slice(start, stop, step) if extent is None else WHOLE, extent
    if step == 0:
        raise with_note(ValueError, message("slice step cannot be zero", locate()))
    length = n if extent is None else number(extent.length)
    if step > 0:
        a, b = bound(start, length, 0, length, 0), bound(stop, length, 0, length, length)
    else:
        last = minus(length, 1)
        a, b = (minus(last, bound(p, length, -1, last, d)) for p, d in ((start, last), (stop, -1)))
        extent = flipped(extent, n)
    count = bounded(greatest(minus(b, a), 0), 0, n)
    steps = abs(step)
    count = quotient(plus(count, steps - 1), steps) if steps > 1 else count
    part_of(count, length, n)
    cut, extent = cut_out(a, b, count, steps, n, extent, nominal(start, stop, step))
    return FLIP if step < 0 else WHOLE, cut, extent


def nominal(start, stop, step):
    """The length a slice has where it does not reach over an end; it is never longer."""
    if step != 1 or start is None or stop is None:
        return None
    low, high = between(number(stop), number(start))
    return low if low == high >= 0 else None


def flipped(extent, n):
    """An extent seen from the other end of the axis."""
    if isinstance(extent, SpanExtent):
        return SpanExtent(traced(minus(minus(n, number(extent.start)), number(extent.length))), extent.length)
    return extent and MaskExtent(Mask(OPS["reverse"](extent.mask.value, axes=(0,))), extent.length)


def cut_out(a, b, count, step, n, extent, size):
    """Elements a, a + step, ... before b, `count` of them, of those that `extent` means -> (what to cut, the extent
    there)."""
    if isinstance(extent, MaskExtent) or step > 1 and (extent is not None or not isinstance(a, int)):
        return WHOLE, subset(a, b, count, step, n, extent)
    if step > 1:
        return slice(a, None, step), None if count == len(range(a, n, step)) else SpanExtent(0, traced(count))
    start = plus(a, 0 if extent is None else number(extent.start))
    size = count if isinstance(count, int) else size
    if size is None or size >= n and not isinstance(count, int):
        return WHOLE, SpanExtent(traced(start), traced(count))
    low = clipped(start, 0, n - size)
    cut = slice(low, low + size) if isinstance(low, int) else Moving(low, size)
    return cut, None if isinstance(count, int) else SpanExtent(
        traced(bounded(minus(start, low), 0, size)), traced(count)
    )


def subset(a, b, count, step, n, extent):
    if isinstance(extent, MaskExtent):
        rank = ranks(extent.mask.value)
    else:
        rank = OPS["sub"](counted((n,)), spread_to(operand(number(extent.start) if extent is not None else 0), (n,)))
    edge = lambda x: spread_to(operand(x), (n,))
    mask = OPS["and"](OPS["ge"](rank, edge(a)), OPS["lt"](rank, edge(b)))
    if step > 1:
        mask = OPS["and"](
            mask, OPS["eq"](OPS["rem"](OPS["sub"](rank, edge(a)), filled(step, (n,), INDEX)), Lit(0, rank.type))
        )
    meant = inside(extent, n)
    return MaskExtent(Mask(mask if meant is True else OPS["and"](mask, meant)), traced(count))


def element(x):
    """What NumPy gives for a window of no axes: a scalar."""
    return TracedScalar(x.value) if not x.shape else x
