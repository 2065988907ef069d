"""Repeated and turned: np.tile, np.repeat, np.roll."""

import itertools
import operator

import numpy as np

from ...ir.ops import OPS
from ...ir.ops.indexing import take_along
from ..common.emit import INDEX, counted, filled, reshape_to, spread_to
from ..common.errors import ConcretizationError, message, with_note
from ..common.frames import locate
from ..extents.bounded import made, room_for
from ..values import overflow
from ..values.array import fresh
from ..values.storage import current_trace
from .arguments import traced, verdict
from .handles import handle, is_traced, picked, value_of
from .joining import along
from .registry import implements
from .shaping import ravel

add, rem, sub = OPS["add"], OPS["rem"], OPS["sub"]
normalize_axis_tuple = np.lib.array_utils.normalize_axis_tuple


@implements(np.tile)
def tile(A, reps):
    x = handle(A)
    if not x.size:  # a negative number of nothing may be nothing
        return fresh(filled(0, np.tile(x.shadow, reps).shape, x.dtype))
    reps = tuple(reps) if np.iterable(reps) else (reps,)
    rank = max(x.ndim, len(reps))
    reps = (1,) * (rank - len(reps)) + tuple(operator.index(r) for r in reps)
    sizes = (1,) * (rank - x.ndim) + x.shape
    np.empty([r if r < 0 else 0 for r in reps])  # NumPy's own words about negative sizes
    apart = reshape_to(x.value, tuple(itertools.chain(*[(1, n) for n in sizes])))
    spread = spread_to(apart, tuple(itertools.chain(*zip(reps, sizes))))
    return fresh(reshape_to(spread, [r * n for r, n in zip(reps, sizes)]))


@implements(np.repeat, method="repeat")
def repeat(a, repeats, axis=None):
    x, axis = along(a, axis) if np.ndim(a) or axis not in (None, 0, -1) else (ravel(a), 0)
    n = x.shape[axis]
    if np.size(repeats) == 1 and not is_traced(repeats):
        (r,) = np.ravel(repeats)
        np.repeat(np.zeros(min(n, 1)), r)  # NumPy's own words where r is no count
        r = max(int(r), 0)
        spread = reshape_to(x.value, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
        spread = spread_to(spread, (*x.shape[: axis + 1], r, *x.shape[axis + 1 :]))
        return fresh(reshape_to(spread, (*x.shape[:axis], n * r, *x.shape[axis + 1 :])))
    if is_traced(repeats):
        return repeated(x, traced(repeats), axis)
    return fresh(picked(x.value, np.repeat(np.arange(n), repeats), axis))


def repeated(x, counts, axis):
    """np.repeat of traced counts, one for each place or one for all."""
    n = x.shape[axis]
    verdict(np.repeat, np.zeros(n), np.zeros(counts.shape, counts.dtype))
    ends = np.cumsum(np.broadcast_to(np.ravel(counts).astype(np.int64), (n,)))
    current_trace().check(np.all(counts >= 0).value, ValueError, message("repeats may not be negative.", locate()))
    room, extent = room_for(ends[-1].value) if n else (0, None)
    if n and extent is None:
        text = "np.repeat of traced counts has a length that depends on data, and that nothing bounds"
        raise ConcretizationError(
            message(text, locate(), "With a known total: x[np.searchsorted(np.cumsum(counts), np.arange(n), 'right')].")
        )
    out = np.take(x, np.searchsorted(ends, np.arange(room), "right"), axis, mode="clip") if n else x
    return made(out, [extent if d == axis else None for d in range(x.ndim)])


@implements(np.roll)
def roll(a, shift, axis=None):
    x = handle(a)
    if axis is None:
        return roll(ravel(x), shift, 0).reshape(x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if not x.ndim:
        raise with_note(ValueError, message("np.roll of a number along axes", locate()))
    dynamic = is_traced(shift)
    shifts = handle(shift) if dynamic else np.asarray(shift)
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    both = np.broadcast_shapes(shifts.shape, (len(axes),) if np.iterable(axis) else ())
    shifts, axes = np.broadcast_to(shifts, both or (1,)), np.broadcast_to(axes, both or (1,))
    value = x.value
    for s, d in zip(shifts, axes.tolist()):
        n = value.type.shape[d]
        if n and dynamic:
            if s.dtype.kind == "f":
                overflow.from_float(s.value)
            # of which int64 does not hold all
            s = value_of(np.remainder(s, s.dtype.type(n)) if s.dtype == np.uint64 else s, INDEX)
            value = take_along(value, rolled_positions(s, n), d, mode="promise")
        elif n:
            value = picked(value, np.roll(np.arange(n), int(s)), d)
    return fresh(value)


def rolled_positions(shift, n):
    """(i - shift) mod n for i = 0 ... n - 1, shift being data."""
    size = filled(n, (n,), INDEX)
    back = rem(sub(counted((n,)), spread_to(shift, (n,))), size)
    return rem(add(back, size), size)
