"""np.r_[...] and np.c_[...] of traced values: ranges, numbers and arrays one after another. Grids of traced ends are
refused."""

import numpy as np

from ...ir.ops import OPS
from ..common.emit import filled, reshape_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import fresh
from ..values.promote import read, result_dtype
from .handles import cast_like, is_traced, value_of
from .registry import call_function

GRIDS = type(np.mgrid), type(np.ogrid)
CONCATENATORS = type(np.r_), type(np.c_), *GRIDS


def concatenated(maker, key):
    """`maker[key]` for np.r_ and np.c_, whose attributes say along which axis, and with how many, what is given is
    joined."""
    if isinstance(maker, GRIDS):
        name = "mgrid" if type(maker) is GRIDS[0] else "ogrid"
        hint = (
            "Pass the ends as ints, which are static; or write np.meshgrid(np.arange(n), np.arange(m), indexing='ij')."
        )
        raise UnsupportedError(message(f"np.{name} of a range with traced ends", locate(), hint))
    axis, ndmin, place = maker.axis, maker.ndmin, maker.trans1d
    items = list(key) if isinstance(key, tuple) else [key]
    if items and isinstance(items[0], str):
        said = items.pop(0)
        if said in ("r", "c"):
            raise UnsupportedError(
                message(f"np.r_[{said!r}, ...] makes a matrix", locate(), "Use np.stack or np.concatenate: an array.")
            )
        axis, ndmin, place = [int(n) for n in said.split(",")] + [axis, ndmin, place][said.count(",") + 1 :]
    items = [
        slice_numbers(x) if isinstance(x, slice) else call_function(np.asarray, (x,), {}) if isinstance(x, list) else x
        for x in items
    ]
    dtype = result_dtype([read(x)[1] for x in items])
    like = filled(0, (), dtype)
    return np.concatenate([fresh(raised(cast_like(value_of(x), like), ndmin, place)) for x in items], axis)


def slice_numbers(s):
    """The numbers that a slice stands for: with an imaginary step, so many between its ends."""
    if is_traced([s.start, s.stop, s.step]):
        raise UnsupportedError(
            message(
                "np.r_ of a range with traced ends",
                locate(),
                "Write np.arange(n) * step, and join it with np.concatenate.",
            )
        )
    start, step = s.start or 0, 1 if s.step is None else s.step
    return np.linspace(start, s.stop, int(abs(step))) if isinstance(step, complex) else np.arange(start, s.stop, step)


def raised(value, ndmin, place):
    """A value with at least `ndmin` axes; its own begin at `place`, or are the last."""
    shape, more = value.type.shape, ndmin - value.type.ndim
    if more <= 0:
        return value
    value = reshape_to(value, (1,) * more + shape)
    if place == -1 or not shape:
        return value
    first = place + more + 1 if place < 0 else place
    order = list(range(ndmin))
    return OPS["transpose"](value, perm=(*order[:first], *order[more:], *order[first:more]))

