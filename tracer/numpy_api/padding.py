"""np.pad: every mode that copies elements is a static gather that NumPy itself writes down on numbered places."""

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, reshape_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import Traced, TracedScalar, fresh
from ..values.indexing import stored
from .handles import cut, handle, is_traced, joined, picked, run_of, spread_along
from .registry import implements
from .shaping import ndim

KEYWORDS = {
    "empty": (), "edge": (), "wrap": (), "constant": ("constant_values",), "linear_ramp": ("end_values",),
    "maximum": ("stat_length",), "mean": ("stat_length",), "median": ("stat_length",), "minimum": ("stat_length",),
    "reflect": ("reflect_type",), "symmetric": ("reflect_type",),
}  # fmt: skip
STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


@implements(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    x = handle(array)
    widths = pairs_of_widths(pad_width, x.ndim)
    if callable(mode):
        raise UnsupportedError(
            message("np.pad with a function as its mode is not captured: it writes element by element", locate())
        )
    if mode not in KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    if unknown := set(kwargs) - set(KEYWORDS[mode]):
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    for axis, width in enumerate(widths):
        if mode not in ("constant", "empty") and not x.shape[axis] and any(width):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    if mode in ("constant", "empty"):
        return fresh(with_constants(x.value, widths, kwargs.get("constant_values", 0)))
    if not x.size:
        return fresh(with_constants(x.value, widths, 0))
    extra = pairs(
        kwargs.get("end_values" if mode == "linear_ramp" else "stat_length", 0 if mode == "linear_ramp" else None),
        x.ndim,
    )
    value = x.value
    for axis, (low, high) in enumerate(widths):
        n = value.type.shape[axis]
        if not low and not high:
            continue
        if mode == "linear_ramp":
            value = with_ramps(value, axis, (low, high), extra[axis])
        elif mode in STATISTICS:
            value = with_statistics(value, axis, (low, high), extra[axis], STATISTICS[mode])
        elif kwargs.get("reflect_type", "even") == "odd" and n > 1:
            value = reflected_oddly(value, axis, low, high, mode == "symmetric")
        else:
            value = picked(value, np.pad(np.arange(n), (low, high), mode), axis)
    return fresh(value)


def pairs_of_widths(pad_width, ndim):
    """((before, after), ...) for every axis; NumPy checks them on an array that has no elements."""
    np.pad(np.empty((0,) * ndim), pad_width)
    if isinstance(pad_width, dict):
        full = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            full[axis] = width if isinstance(width, tuple) else (width, width)
        pad_width = full
    return [(int(a), int(b)) for a, b in pairs(pad_width, ndim)]


def pairs(x, ndim):
    """One (before, after) for every axis, from a number, a pair, or a pair for every axis."""
    if x is None:
        return [(None, None)] * ndim
    x = handle(x) if is_traced(x) else np.asarray(x)
    if x.ndim < 3 and x.size == 1:
        x = x.reshape(1, 1)
    elif x.ndim < 3 and x.size == 2 and x.shape != (2, 1):
        x = x.reshape(1, 2)
    spread = np.broadcast_to(x, (ndim, 2))
    return [(spread[d, 0], spread[d, 1]) for d in range(ndim)]


def with_constants(x, widths, values):
    """One pad where all sides get one number, else axis after axis: the later axes take the corners."""
    dtype = x.type.dtype
    if ndim(values) == 0:
        low, high = zip(*widths) if widths else ((), ())
        return (
            OPS["pad"](x, margin(values, dtype), low=low, high=high, interior=(0,) * x.type.ndim)
            if any(low + high)
            else x
        )
    for axis, (width, value) in enumerate(zip(widths, pairs(values, x.type.ndim))):
        for side in (0, 1):
            low, high = ([width[side] if (d, s) == (axis, side) else 0 for d in range(x.type.ndim)] for s in (0, 1))
            if width[side]:
                x = OPS["pad"](
                    x, margin(value[side], dtype), low=tuple(low), high=tuple(high), interior=(0,) * x.type.ndim
                )
    return x


def margin(value, dtype):
    """The number of a margin, which is a scalar of NumPy's by now, as it is stored."""
    return stored(TracedScalar(value.value) if isinstance(value, Traced) else np.asarray(value)[()], dtype)


def with_ramps(x, axis, width, ends):
    """Straight lines from the end values to the edges."""
    n, dtype = x.type.shape[axis], x.type.dtype
    edges = [
        reshape_to(cut(x, axis, k, k + 1), [m for d, m in enumerate(x.type.shape) if d != axis]) for k in (0, n - 1)
    ]
    ramps = [
        np.linspace(end, fresh(edge), count, endpoint=False, dtype=dtype, axis=axis).value
        for end, edge, count in zip(ends, edges, width)
    ]
    right = run_of(ramps[1], axis, width[1] - 1, width[1], -1) if width[1] else ramps[1]
    return joined([ramps[0], x, right], axis)


def with_statistics(x, axis, width, lengths, function):
    """A statistic of the outermost `lengths` elements, repeated."""
    n = x.type.shape[axis]
    lengths = [n if k is None else min(int(k), n) for k in lengths]
    if 0 in lengths and function in (np.max, np.min):
        raise ValueError("stat_length of 0 yields no value for padding")
    sides = []
    for count, (start, stop) in zip(width, ((0, lengths[0]), (n - lengths[1], n))):
        found = function(fresh(cut(x, axis, start, stop)), axis=axis, keepdims=True)
        found = np.rint(found) if x.type.kind in "iu" and found.dtype.kind == "f" else found
        sides.append(spread_along(cast_to(found.value, x.type.dtype), axis, count))
    return joined([sides[0], x, sides[1]], axis)


def reflected_oddly(x, axis, low, high, with_edge):
    """Mirrored in position and in value about the edges, again and again where the margins are longer than the
    array."""
    period = x.type.shape[axis] - (not with_edge)
    while low or high:
        n = x.type.shape[axis]
        whole = (n - (not with_edge)) // period * period
        left, right = min(whole, low), min(whole, high)
        parts = [x]
        if left:
            first = left - with_edge
            mirror = run_of(x, axis, first, left, -1)
            parts.insert(0, twice_less(cut(x, axis, 0, 1), mirror, axis))
        if right:
            first = n - 2 + with_edge
            mirror = run_of(x, axis, first, right, -1)
            parts.append(twice_less(cut(x, axis, n - 1, n), mirror, axis))
        x, low, high = joined(parts, axis), low - left, high - right
    return x


def twice_less(edge, x, axis):
    """2 edge - x."""
    edge = spread_along(edge, axis, x.type.shape[axis])
    return OPS["sub"](OPS["add"](edge, edge), x)

