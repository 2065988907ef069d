"""Gather and scatter, as XLA has them, and the layouts in which NumPy's advanced indexing uses them.

Both pair windows of x with windows laid out in another array, the result of `gather` or the `updates`
of a scatter, called w here. `indices` holds an index vector along its last axis, one vector for each
window; its other axes are the batch axes.

    offset_dims      axes of w along which windows lie, rising; its other axes are the batch axes, in order
    collapsed        axes of x of window size one that w lacks, rising
    start_index_map  entry k of an index vector is the window's start along axis start_index_map[k] of x
    operand_batch    axes of x, rising, that are no window's but run along with ...
    indices_batch    ... these axes of indices, pairwise

`mode` says what becomes of windows that do not lie within x: "clip" moves them inside, "fill" (gather)
reads `fill`, "drop" (scatter) leaves x alone, "promise" knows that there are none, but in a run of which nothing is
used because a check has failed. `unique` promises that no element of x is in two windows. Indices are signed; negative
ones lie outside.
"""

import math

import numpy as np

from ..core import Lit
from ..op import ANY, NUMBER, REAL, Cost, case, distinct, nonzero, op, require
from .elementwise import cast
from .shape import concatenate, reshape

# fmt: off
# -- type rules ------------------------------------------------------------------------------------


def _windows_rule(op, x, indices, sizes, offset_dims, collapsed, start_index_map, operand_batch, indices_batch):
    """Check the layout; -> the shape of w."""
    gone, bound = collapsed + operand_batch, start_index_map + operand_batch
    require(indices.kind == "i" and indices.ndim > 0, op, "indices are vectors of signed integers along the last "
                                                          f"axis, got {indices}")
    require(len(start_index_map) == indices.shape[-1], op, f"index vectors of length {indices.shape[-1]} start along "
                                                           f"axes {list(start_index_map)}")
    require(len(set(bound)) == len(bound) and len(set(gone)) == len(gone), op,
        f"axes repeat in {list(bound)} or in {list(gone)}")
    require(all(0 <= a < x.ndim for a in gone + bound), op, f"{x} has no axes {list(gone + bound)}")
    fits = len(sizes) == x.ndim and all(0 <= k <= n or a in operand_batch for a,
        (k, n) in enumerate(zip(sizes, x.shape)))
    require(fits, op, f"{x} has no windows of {list(sizes)}")
    require(all(sizes[a] == 1 for a in gone), op, f"windows of {list(sizes)} do not collapse along axes {list(gone)}")
    batch = indices.shape[:-1]
    pairs = list(zip(operand_batch, indices_batch))
    paired = len(operand_batch) == len(indices_batch) and all(0 <= j < len(batch) and x.shape[i] == batch[j] for i,
        j in pairs)
    require(paired, op, f"batch axes {list(operand_batch)} of {x} do not match {list(indices_batch)} of {indices}")
    window = [n for a, n in enumerate(sizes) if a not in gone]
    rank = len(batch) + len(window)
    lies = len(offset_dims) == len(window) and list(offset_dims) == sorted(set(offset_dims)) and all(0 <= d < rank
        for d in offset_dims)
    require(lies, op, f"windows of {window} cannot lie along axes {list(offset_dims)} of {rank}")
    window, batch = iter(window), iter(batch)
    return [next(window if d in offset_dims else batch) for d in range(rank)]


def _gather_rule(op, x, indices, *, sizes, mode, fill, unique, **dims):
    require(mode in ("clip", "fill", "promise"), op, f"no mode is called {mode!r}")
    return x.like(_windows_rule(op, x, indices, sizes, **dims))


def window_sizes(x_ndim, updates_shape, offset_dims, collapsed, operand_batch):
    """The window size along every axis of x, from the shape of the updates."""
    window = iter(offset_dims)
    return tuple(1 if a in collapsed or a in operand_batch else updates_shape[next(window)] for a in range(x_ndim))


def scatters(kinds):
    def rule(op, x, indices, updates, *, mode, unique, **dims):
        require(mode in ("clip", "drop", "promise"), op, f"no mode is called {mode!r}")
        require(x.kind in kinds and x.dtype == updates.dtype, op, f"dtypes do not fit: {x}, {updates}")
        offset, gone = dims["offset_dims"], dims["collapsed"] + dims["operand_batch"]
        laid = len(offset) + len(gone) == x.ndim and all(0 <= d < updates.ndim for d in offset)
        require(laid, op, f"windows along axes {list(offset)} of {updates} are no windows of {x}")
        sizes = window_sizes(x.ndim, updates.shape, offset, dims["collapsed"], dims["operand_batch"])
        shape = _windows_rule(op, x, indices, sizes, **dims)
        require(updates.shape == tuple(shape), op, f"{indices} wants updates of shape {shape}, got {updates}")
        return x

    return rule


# -- samples ---------------------------------------------------------------------------------------


def integers(low, high, *shape, dtype=np.int64):
    """Draws integers, low <= i < high."""
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def no_two_alike(n, *shape):
    """Draws index vectors of one entry below n, all different."""
    return lambda rng: rng.permutation(n)[: int(np.prod(shape))].reshape(*shape, 1)


def layout(offset_dims=(), collapsed=(), start_index_map=(0,), operand_batch=(), indices_batch=(), **attrs):
    names = ("offset_dims", "collapsed", "start_index_map", "operand_batch", "indices_batch")
    return dict(zip(names, (offset_dims, collapsed, start_index_map, operand_batch, indices_batch)), **attrs)


ROWS = layout((1,), (0,), (0,))  # x[i]
COLUMNS = layout((0, 3), (1,), (1,))  # x[:, i, :] with i of two axes
POINTS = layout((), (0, 1), (0, 1))  # x[i, j]
SPREAD = layout((1,), (0, 2), (2, 0))  # x[j, :, i]
PATCHES = layout((1, 2), (), (0, 1))  # windows that overlap
PATCHES_IN_FRONT = layout((0, 1), (), (0, 1))
ALONG = layout((), (1,), (1,), (0,), (0,))  # take_along_axis
CROSSED = layout((1,), (0,), (0,), (2,), (1,))
EMPTY = layout((0,), (), ())
TWICE = np.array([[2], [0], [2], [2], [0]])

GATHERS = [
    case("f64[5,3]", integers(0, 5, 4, 1), sizes=(1, 3), **ROWS),
    case("f64[2,5,3]", integers(0, 5, 2, 2, 1), sizes=(2, 1, 3), **COLUMNS),
    case("f64[4,3]", integers(-1, 5, 6, 2), sizes=(1, 1), **POINTS),
    case("f64[4,3]", integers(-2, 6, 6, 2, dtype=np.int8), sizes=(1, 1), mode="fill", fill=2, **POINTS),
    case("f64[3,4,5]", integers(0, 3, 3, 2), sizes=(1, 4, 1), mode="promise", **SPREAD),
    case("f64[5,6]", integers(-2, 7, 3, 2), sizes=(2, 3), **PATCHES),
    case("f64[5,6]", integers(-2, 7, 3, 2), sizes=(2, 3), mode="fill", **PATCHES_IN_FRONT),
    case("f64[3,5]", integers(0, 5, 3, 4, 1), sizes=(1, 1), **ALONG),
    case("f64[4,2,3]", integers(0, 4, 2, 3, 1, dtype=np.int32), sizes=(1, 2, 1), **CROSSED),
    case("f64[5,3]", integers(0, 5, 0, 1), sizes=(1, 3), **ROWS),
    case("i32[5,3]", integers(-9, 9, 4, 1), sizes=(1, 3), mode="fill", fill=-1, **ROWS),
    case("bool[5,0]", integers(0, 5, 2, 1), sizes=(1, 0), **ROWS),
    case("f32[5]", integers(0, 5, 1), sizes=(2,), **layout((0,))),
    case("f64[5]", np.zeros((3, 0), int), sizes=(5,), **layout((1,), (), ())),
    case("f64[]", np.zeros((2, 0), int), sizes=(), **layout((), (), ())),
    case("f64[300]", integers(-128, 127, 4, 1, dtype=np.int8), sizes=(1,), **layout((), (0,))),
    case("c128[4]", no_two_alike(4, 3), sizes=(1,), unique=True, **layout((), (0,))),
]


def scatter_cases(*more):
    return [
        case("f64[5,3]", integers(0, 5, 4, 1), "f64[4,3]", **ROWS), case("f64[3,2]", TWICE, "f64[5,2]", **ROWS),
        case("f64[2,5,3]", integers(-2, 7, 2, 2, 1), "f64[2,2,2,3]", **COLUMNS),
        case("f64[4,3]", integers(-1, 5, 6, 2), "f64[6]", mode="clip", **POINTS),
        case("f64[3,4,5]", integers(0, 3, 3, 2), "f64[3,4]", mode="promise", **SPREAD),
        case("f64[5,6]", integers(-1, 6, 4, 2), "f64[4,2,3]", mode="clip", **PATCHES),
        case("f64[5,6]", integers(-1, 6, 4, 2, dtype=np.int32), "f64[2,3,4]", **PATCHES_IN_FRONT),
        case("f64[3,5]", integers(0, 5, 3, 4, 1), "f64[3,4]", **ALONG),
        case("f64[4,2,3]", integers(0, 4, 2, 3, 1), "f64[2,2,3]", **CROSSED),
        case("f64[5,3]", integers(0, 5, 0, 1), "f64[0,3]", **ROWS),
        case("f64[8]", no_two_alike(8, 4), "f64[4]", unique=True, **layout((), (0,))),
        case("i64[5,3]", integers(-9, 9, 4, 1), "i64[4,3]", **ROWS),
        case("f64[]", np.zeros((1, 0), int), "f64[1]", **layout((), (), ())),
        case("f32[4,3]", integers(0, 4, 3, 1), "f32[3,3]", **ROWS), *more,
    ]


# -- the ops ---------------------------------------------------------------------------------------


def _lie_along(array, ndim, axes):
    """The axes of `array` as these axes of `ndim`, the others of size one."""
    sizes = dict(zip(axes, array.shape))
    return array.reshape([sizes.get(d, 1) for d in range(ndim)])


def _places(shape, indices, sizes, offset_dims, collapsed, start_index_map, operand_batch, indices_batch):
    """Of every element of w: its index along each axis of x, clamped, in arrays that broadcast; whether its window lies
    within x; the shape of w."""
    starts = np.moveaxis(indices.astype(np.int64), -1, 0)
    ndim = starts.ndim - 1 + len(offset_dims)
    batch = [d for d in range(ndim) if d not in offset_dims]
    window = [a for a in range(len(shape)) if a not in collapsed and a not in operand_batch]
    full = {**dict(zip(batch, starts.shape[1:])), **{d: sizes[a] for d, a in zip(offset_dims, window)}}
    places, inside = [np.zeros([1] * ndim, np.int64)] * len(shape), np.ones(starts.shape[1:], bool)
    for axis, start in zip(start_index_map, starts):
        last = shape[axis] - sizes[axis]
        inside &= (0 <= start) & (start <= last)
        places[axis] = _lie_along(np.clip(start, 0, last), ndim, batch)
    for axis, at in zip(operand_batch, indices_batch):
        places[axis] = _lie_along(np.arange(shape[axis]), ndim, [batch[at]])
    for axis, d in zip(window, offset_dims):
        places[axis] = places[axis] + _lie_along(np.arange(sizes[axis]), ndim, [d])
    return tuple(places), _lie_along(inside, ndim, batch), [full[d] for d in range(ndim)]


@op(_gather_rule, cost=Cost.MOVE, cases=GATHERS)
def gather(x, indices, *, sizes, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="clip", fill=0, unique=False):
    """Windows of x of shape `sizes` at the starts that `indices` holds.  [StableHLO gather]"""
    places, inside, shape = _places(x.shape, indices, sizes, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    out = np.broadcast_to(x[places], shape)
    return np.where(inside, out, np.asarray(fill, x.dtype)) if mode == "fill" else out


def _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch, indices_batch):
    """A flat copy of x, and where in it which update goes, in the order of the index vectors."""
    sizes = window_sizes(x.ndim, updates.shape, offset_dims, collapsed, operand_batch)
    places, inside, shape = _places(x.shape, indices, sizes, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    order = [d for d in range(len(shape)) if d not in offset_dims] + list(offset_dims)
    flat = np.zeros(shape, np.int64)
    for axis, place in enumerate(places):
        flat += place * math.prod(x.shape[axis + 1 :])
    keep = np.broadcast_to(inside | (mode != "drop"), shape).transpose(order).ravel()
    return np.array(x).reshape(-1), flat.transpose(order).ravel()[keep], np.transpose(updates, order).ravel()[keep]


@op(scatters(ANY), cases=scatter_cases(case("bool[4]", integers(0, 4, 3, 1), "bool[3]", **layout((), (0,)))))
def scatter(x, indices, updates, *, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="drop", unique=False):
    """x with the windows at `indices` replaced; of several updates of one element the last index vector's stays.
    [StableHLO scatter]"""
    out, places, updates = _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    out[places] = updates
    return out.reshape(x.shape)


@op(scatters(NUMBER), cases=scatter_cases(case("c128[3]", TWICE, "c128[5]", **layout((), (0,)))))
def scatter_add(x, indices, updates, *, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="drop", unique=False):
    """x plus the updates of the windows at `indices`, all of them.  [numpy.add.at]"""
    out, places, updates = _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    np.add.at(out, places, updates)
    return out.reshape(x.shape)


@op(scatters(NUMBER), sample=nonzero, cases=scatter_cases(
    case(np.array([2.0, 0.0, 3.0]), TWICE, np.array([0.0, 2.0, 3.0, 0.0, -1.0]), **layout((), (0,))),
    case(np.array([2.0, 0.0, 3.0]), TWICE, np.array([4.0, 2.0, 0.0, 5.0, 0.0]), **layout((), (0,))),
))
def scatter_mul(x, indices, updates, *, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="drop", unique=False):
    """x times the updates of the windows at `indices`, all of them.  [numpy.multiply.at]"""
    out, places, updates = _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    np.multiply.at(out, places, updates)
    return out.reshape(x.shape)


@op(scatters(REAL), sample=distinct, cases=scatter_cases())
def scatter_min(x, indices, updates, *, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="drop", unique=False):
    """The least of x and the updates of the windows at `indices`.  [numpy.minimum.at]"""
    out, places, updates = _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    np.minimum.at(out, places, updates)
    return out.reshape(x.shape)


@op(scatters(REAL), sample=distinct, cases=scatter_cases())
def scatter_max(x, indices, updates, *, offset_dims, collapsed=(), start_index_map, operand_batch=(), indices_batch=(),
    mode="drop", unique=False):
    """The greatest of x and the updates of the windows at `indices`.  [numpy.maximum.at]"""
    out, places, updates = _targets(x, indices, updates, mode, offset_dims, collapsed, start_index_map, operand_batch,
        indices_batch)
    np.maximum.at(out, places, updates)
    return out.reshape(x.shape)


# -- NumPy's layouts: these append equations; indices are values, and never negative -------------------

SCATTERS = {"set": scatter, "add": scatter_add, "mul": scatter_mul, "min": scatter_min, "max": scatter_max}


def _arrays(x, indices, at):
    """(index vectors, layout) of arrays of one shape that index some axes of x, their own axes `at` in the result."""
    axes = tuple(axis for axis, _ in indices)
    if at is None:
        at = axes[0] if axes == tuple(range(axes[0], axes[0] + len(axes))) else 0
    k = indices[0][1].type.ndim
    dtypes = {i.type.dtype for _, i in indices}
    same = len(dtypes) == 1 and indices[0][1].type.kind == "i"
    columns = [reshape(i if same else cast(i, dtype=np.dtype("i8")), shape=(*i.type.shape, 1)) for _, i in indices]
    outer = tuple(d for d in range(x.type.ndim - len(axes) + k) if not at <= d < at + k)
    dims = {"offset_dims": outer, "collapsed": tuple(sorted(axes)), "start_index_map": axes, "operand_batch": (),
        "indices_batch": ()}
    return columns[0] if len(columns) == 1 else concatenate(*columns, axis=k), dims


def index_arrays(x, indices, at=None, mode="clip", fill=0, unique=False):
    """NumPy's x[..., i, ..., j, ...] for `indices`, a list of (axis, index value), the values of one shape s.

    The result has the other axes of x in order, with s put in after the first `at` of them. By default
    that is where NumPy puts it: at the first axis if the axes follow one another, else in front.
    """
    vectors, dims = _arrays(x, indices, at)
    sizes = tuple(1 if a in dims["collapsed"] else n for a, n in enumerate(x.type.shape))
    if any(k > n for k, n in zip(sizes, x.type.shape)):  # an axis without elements: nothing can be read
        outer = [n for a, n in enumerate(x.type.shape) if a not in dims["collapsed"]]
        at = next((d for d, o in enumerate(dims["offset_dims"]) if d != o), len(outer))
        return Lit(fill, x.type.like((*outer[:at], *vectors.type.shape[:-1], *outer[at:])))
    return gather(x, vectors, sizes=sizes, mode=mode, fill=fill, unique=unique, **dims)


def put_arrays(x, indices, updates, kind="set", at=None, mode="drop", unique=False):
    """x after NumPy's x[..., i, ..., j, ...] = updates, or after += *= min max as `kind` says, every repeat counted.

    `updates` has the very shape of `index_arrays(x, indices, at)`.
    """
    vectors, dims = _arrays(x, indices, at)
    if any(x.type.shape[a] == 0 for a in dims["collapsed"]):
        return x
    return SCATTERS[kind](x, vectors, updates, mode=mode, unique=unique, **dims)


def take_along(x, indices, axis, mode="clip", fill=0, unique=False):
    """np.take(x, indices, axis): the axes of `indices` stand in place of the one axis."""
    return index_arrays(x, [(axis, indices)], axis, mode, fill, unique)


def _along(x, indices, axis):
    """(index vectors, layout) where all axes but one run along together."""
    others = tuple(a for a in range(x.type.ndim) if a != axis)
    signed = indices if indices.type.kind == "i" else cast(indices, dtype=np.dtype("i8"))
    dims = {"offset_dims": (), "collapsed": (axis,), "start_index_map": (axis,), "operand_batch": others,
        "indices_batch": others}
    return reshape(signed, shape=(*indices.type.shape, 1)), dims


def take_along_axis(x, indices, axis, mode="clip", fill=0, unique=False):
    """np.take_along_axis(x, indices, axis); the shapes agree in all other axes."""
    if x.type.size == 0:
        return Lit(fill, x.type.like(indices.type.shape))
    vectors, dims = _along(x, indices, axis)
    return gather(x, vectors, sizes=(1,) * x.type.ndim, mode=mode, fill=fill, unique=unique, **dims)


def put_along_axis(x, indices, updates, axis, kind="set", mode="drop", unique=False):
    """x after np.put_along_axis(x, indices, updates, axis), or after += *= min max as `kind` says; updates have the
    shape of indices."""
    if x.type.size == 0:
        return x
    vectors, dims = _along(x, indices, axis)
    return SCATTERS[kind](x, vectors, updates, mode=mode, unique=unique, **dims)
