"""Gathers and scatters in room: indices are clamped by the true sizes, and what a tail would write is dropped."""

from ..core import Lit
from ..dims import Dim
from ..ops.control import COUNTER
from ..ops.elementwise import and_, cast, ge, le, maximum, minimum, select
from ..ops.indexing import gather, scatter, scatter_add, scatter_max, scatter_min, scatter_mul, window_sizes
from ..ops.shape import broadcast, concatenate, reshape, slice_
from .building import ROOM, refuse_in_room
from .moving import before_dims
from .tails import Roomy, plain_axes

LAYOUT = ("offset_dims", "collapsed", "start_index_map", "operand_batch", "indices_batch")


def last_starts(scope, eqn, x, sizes):
    """For each entry of an index vector, the last start of a window: a Dim where sizes decide it."""
    dims, found = before_dims(x), []
    for a in eqn.attrs["start_index_map"]:
        last = dims[a] - sizes[a]
        last = last.simplified() if isinstance(last, Dim) else last
        if not scope.sizes.rises(last):
            refuse_in_room(eqn, f"a window of {sizes[a]} of {dims[a]} has no room")
        found.append(last)
    return found


def index_columns(indices):
    """The entries of index vectors, i64 each."""
    wide = indices.value if indices.value.type.dtype == COUNTER.dtype else cast(indices.value, dtype=COUNTER.dtype)
    *batch, n = wide.type.shape
    first, steps = [0] * len(batch), (1,) * wide.type.ndim
    each = [slice_(wide, start=(*first, k), stop=(*batch, k + 1), stride=steps) for k in range(n)]
    return [reshape(c, shape=tuple(batch)) for c in each]


def vectors(parts):
    shape = parts[0].type.shape
    each = [reshape(p, shape=(*shape, 1)) for p in parts]
    return each[0] if len(each) == 1 else concatenate(*each, axis=len(shape))


def aimed(scope, eqn, x, indices, sizes, mode):
    """Index vectors that mean, in room, what they mean without: those outside are -1, or moved inside to "clip"."""
    ends = last_starts(scope, eqn, x, sizes)
    if not any(isinstance(last, Dim) for last in ends):
        return indices.value
    made = []
    for column, last in zip(index_columns(indices), ends, strict=True):
        top = broadcast(scope.sizes.scalar(last), shape=column.type.shape, dims=())
        zero = Lit(0, column.type)
        if mode == "clip":
            made.append(maximum(minimum(column, top), zero))
        else:
            made.append(select(and_(ge(column, zero), le(column, top)), column, Lit(-1, column.type)))
    return vectors(made)


def axes_of_windows(eqn, x, sizes):
    """(axis of w, axis of x) of those along which windows lie, and whether each window is the whole of it."""
    kept = [a for a in range(len(x.axes)) if a not in eqn.attrs["collapsed"] + eqn.attrs["operand_batch"]]
    whole = {a for a, d in enumerate(before_dims(x)) if d == sizes[a]}
    return list(zip(eqn.attrs["offset_dims"], kept, strict=True)), whole


@ROOM.rule(gather)
def gathered(scope, eqn, x, indices):
    sizes, mode = scope.attr(eqn, "sizes"), eqn.attrs["mode"]
    scope.plain(eqn, x)
    scope.plain(eqn, indices)
    if indices.axes[-1] is not None:
        refuse_in_room(eqn, "index vectors of a length that hangs on sizes")
    mode = "clip" if mode == "promise" else mode
    at = aimed(scope, eqn, x, indices, sizes, mode)
    value = gather(x.value, at, **scope.attrs(eqn, mode=mode, unique=False))
    windows, whole = axes_of_windows(eqn, x, sizes)
    ends = {d: x.ends[a] for d, a in windows if a in whole and a in x.ends and mode == "clip"}
    return scope.made(eqn, value, ends)


def scattered(scope, eqn, x, indices, updates):
    dims = {k: eqn.attrs[k] for k in LAYOUT}
    for each in (x, indices, updates):
        scope.plain(eqn, each)
    if indices.axes[-1] is not None:
        refuse_in_room(eqn, "index vectors of a length that hangs on sizes")
    laid = dims["offset_dims"], dims["collapsed"], dims["operand_batch"]
    sizes = window_sizes(len(x.axes), before_dims(updates), *laid)
    windows, whole = axes_of_windows(eqn, x, sizes)
    if any(updates.axes[d] is not None and a not in whole for d, a in windows):
        refuse_in_room(eqn, "windows that hang on sizes are parts of an axis")
    mode = eqn.attrs["mode"]
    at = aimed(scope, eqn, x, indices, sizes, mode)
    tails = [a for a in range(len(indices.axes) - 1) if indices.axes[a] is not None and a not in dims["indices_batch"]]
    unique = eqn.attrs["unique"]
    if tails:
        if mode == "clip" and at is indices.value:  # all are moved inside, and those of tails dropped
            at = clipped(at, x.value.type.shape, sizes, dims["start_index_map"], scope)
        wide = at if at.type.dtype.itemsize >= 4 else cast(at, dtype=COUNTER.dtype)
        if not wide.type.shape[-1]:
            refuse_in_room(eqn, "windows at no index cannot be dropped")
        at = scope.fill(Roomy(wide, indices.axes), tails, -1, eqn).value
        mode, unique = "drop", False
    value = eqn.op(x.value, at, updates.value, **scope.attrs(eqn, mode=mode, unique=unique))
    axes = plain_axes(scope.dims(eqn.results[0]))
    beside = {a for _, a in windows if a in whole} | set(dims["operand_batch"])
    return [Roomy(value, axes, {a: c for a, c in x.ends.items() if a not in beside})]


def clipped(at, shape, sizes, order, scope):
    """Index vectors moved inside an array of sizes that are numbers."""
    made = []
    for column, a in zip(index_columns(Roomy(at, (None,) * at.type.ndim)), order, strict=True):
        top = shape[a] - scope.sizes.at(sizes[a])
        made.append(maximum(minimum(column, Lit(top, column.type)), Lit(0, column.type)))
    return vectors(made)


ROOM.add(dict.fromkeys((scatter, scatter_add, scatter_mul, scatter_min, scatter_max), scattered))
