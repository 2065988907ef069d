"""Products of vectors, matrices and arrays: each is a choice of labels for `contraction.contract`."""

import operator
import warnings

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, reshape_to
from ..common.errors import ShapeError, UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray, mentioned
from ..values.array import fresh, wrap
from ..values.promote import loop, operand_as, read, result_dtype
from .arguments import verdict
from .contraction import contract
from .handles import handle, value_of
from .registry import implements
from .shaping import moveaxis
from .ufunc_calls import refuse_undefined, weak_kind, write_out

conj, mul, conv_general, select, is_finite = (OPS[n] for n in ("conj", "mul", "conv_general", "select", "is_finite"))
normalize_axis_index = np.lib.array_utils.normalize_axis_index


def promoted(*xs):
    """Values of np.asarray of each, in their common dtype."""
    values = [value_of(x) for x in xs]
    try:
        dtype = result_dtype([v.type.dtype for v in values])
    except TypeError:  # of small floats and dtypes that have none in common with them
        dtypes = " and ".join(str(v.type.dtype) for v in values)
        text = f"a product of {dtypes}, of which NumPy makes an array of objects"
        raise UnsupportedError(message(text, locate(), "Cast one to the dtype of the other by .astype.")) from None
    return [cast_to(v, dtype) for v in values]


def conjugate(x):
    return conj(x) if x.type.kind == "c" else x


def give(value, out, name):
    return wrap(value) if out is None else write_out(name, out[0] if isinstance(out, tuple) else out, value)


# -- the ufuncs over vectors and matrices ----------------------------------------------------------

CORES = {
    # ufunc: labels of the operands' last axes, of the result's, and whether the first is conjugated
    np.matmul: ("nk", "km", "nm", False),
    np.matvec: ("mn", "n", "m", False),
    np.vecmat: ("n", "nm", "m", True),
    np.vecdot: ("n", "n", "", True),
}


def product_ufunc(
    ufunc, x, y, out=None, *, axes=None, axis=None, keepdims=False, dtype=None, casting="same_kind", order="K",
    subok=True, signature=None
):  # fmt: skip
    """One of CORES with NumPy's keywords."""
    if mentioned((x, y, out)) is not None:
        return BoundedArray.ufunc_handler(ufunc, "__call__", (x, y), {"out": out} if out is not None else {})
    out = out[0] if isinstance(out, tuple) else out
    if signature is not None:
        raise UnsupportedError(
            message(f"np.{ufunc.__name__}(signature=...) is not captured", locate(), "Give dtype=... instead.")
        )
    (x, kx), (y, ky) = read(x), read(y)
    wants, _ = loop(ufunc, (kx, ky), dtype, casting)
    x, y = operand_as(x, wants[0]), operand_as(y, wants[1])
    short = short_of(ufunc, x, y)
    axes = [(operator.index(axis),)] * 2 + [(operator.index(axis),) if keepdims else ()] if axis is not None else axes
    if axes is not None:
        axes = [(a,) if isinstance(a, int | np.integer) else tuple(a) for a in axes]
        x, y = (moveaxis(fresh(v), a, range(-len(a), 0)).value for v, a in zip((x, y), axes))
    value = core_product(ufunc, x, y)
    if keepdims:
        if ufunc is not np.vecdot:
            raise TypeError(f"{ufunc.__name__} does not support keepdims: its signature is {ufunc.signature}")
        value = reshape_to(value, (*value.type.shape, 1))
    if axes is not None and len(axes) > 2 and axes[2]:
        value = moveaxis(fresh(value), range(-len(axes[2]), 0), axes[2]).value
    core = len(CORES[ufunc][2]) - (sum(short) if ufunc is np.matmul else 0)
    if core and out is not None and out.shape[-core:] != value.type.shape[-core:] and out.ndim >= core:
        raise with_note(
            ValueError,
            message(
                f"{ufunc.__name__}: the last axes of out are {out.shape[-core:]}, not {value.type.shape[-core:]}",
                locate(),
            )
        )
    return give(value, out, ufunc.__name__)


def short_of(ufunc, x, y):
    """Whether each operand is a vector where the core is of matrices; raises where it is less."""
    vectors = [False, False]
    for which, (v, core) in enumerate(zip((x, y), CORES[ufunc])):
        least = 1 if ufunc is np.matmul else len(core)
        if v.type.ndim < least:
            text = f"Input operand {which} does not have enough dimensions (has {v.type.ndim}"
            raise ValueError(
                f"{ufunc.__name__}: {text}, gufunc core with signature {ufunc.signature} requires {least})"
            )
        vectors[which] = v.type.ndim < len(core)
    return vectors


def core_product(ufunc, x, y):
    """The product itself: leading axes pair up from the right, those of size one stretch."""
    in_x, in_y, out, conjugated = CORES[ufunc]
    vectors = short_of(ufunc, x, y)
    in_x, in_y = in_x[1:] if vectors[0] else in_x, in_y[:1] if vectors[1] else in_y
    out = [c for c in out if c in in_x or c in in_y]
    sizes = dict(zip(in_x, x.type.shape[x.type.ndim - len(in_x) :]))
    for place, (c, n) in enumerate(zip(in_y, y.type.shape[y.type.ndim - len(in_y) :])):
        if sizes.get(c, n) != n:
            text = (
                f"{ufunc.__name__}: Input operand 1 has a mismatch in its core dimension {place}, with gufunc "
                f"signature {ufunc.signature}"
            )
            hint = f"The operands have shapes {x.type.shape} and {y.type.shape}."
            raise ShapeError(message(f"{text} (size {n} is different from {sizes[c]})", locate(), hint))
    x = conjugate(x) if conjugated else x
    lead = [list(range(v.type.ndim - len(core)))[::-1] for v, core in ((x, in_x), (y, in_y))]
    return contract(x, [*lead[0], *in_x], y, [*lead[1], *in_y], [*max(lead, key=len), *out])


for _ufunc in CORES:
    implements((_ufunc, "__call__"))(product_ufunc)


def matmul(x, y):
    kinds = [weak_kind(v) for v in (x, y)]
    if None not in kinds:
        refuse_undefined(np.matmul, kinds)
    return product_ufunc(np.matmul, x, y)


def matmul_in_place(x, y):
    return product_ufunc(np.matmul, x, y, out=x)


@implements(np.linalg.matmul)
def linalg_matmul(x1, x2, /):
    return matmul(x1, x2)


@implements(np.linalg.vecdot)
def linalg_vecdot(x1, x2, /, *, axis=-1):
    return product_ufunc(np.vecdot, x1, x2, axis=operator.index(axis) if np.ndim(x1) and np.ndim(x2) else -1)


# -- by NumPy's older rules ------------------------------------------------------------------------


@implements(np.dot, method="dot")
def dot(a, b, out=None):
    x, y = promoted(a, b)
    m, n = x.type.ndim, y.type.ndim
    if not m or not n:
        # BLAS adds nothing at all of a factor that is zero
        if m + n in (1, 2) and x.type.dtype.char in "fdFD" and max(x.type.size, y.type.size) > 1:
            x, y = (without_infinities(x, y), y) if m else (x, without_infinities(y, x))
        return acceptable(np.multiply(fresh(x), fresh(y)).value, out)
    at = max(n - 2, 0)
    if x.type.shape[-1] != y.type.shape[at]:
        raise misaligned(x, y, m - 1, at)
    return acceptable(along_axes(x, y, [m - 1], [at]), out)


def without_infinities(x, factor):
    """x, whose infinities and NaN are zeros where the factor is."""
    x, zero = fresh(x), fresh(factor) == 0
    return np.where(zero & np.logical_not(np.isfinite(x)), np.zeros_like(x), x).value


def acceptable(value, out):
    """The result of np.dot, whose `out` must be what it would make itself."""
    wanted = value.type
    if out is not None and ((out.dtype, out.shape) != (wanted.dtype, wanted.shape) or not out.flags.c_contiguous):
        text = "output array is not acceptable (must have the right datatype, number of dimensions, and be a C-Array)"
        raise with_note(ValueError, message(text, locate()))
    given = give(value, out, "dot")
    return given if given.shape else given[()]


def misaligned(x, y, i, j):
    text = (
        f"shapes {x.type.shape} and {y.type.shape} not aligned: {x.type.shape[i]} (dim {i}) != {y.type.shape[j]} (dim "
        f"{j})"
    )
    return ShapeError(message(text.replace(", ", ","), locate()))


def along_axes(x, y, axes_x, axes_y):
    """Sum of products over pairs of axes; the other axes of x, then those of y."""
    xs, ys = [f"x{d}" for d in range(x.type.ndim)], [f"y{d}" for d in range(y.type.ndim)]
    for i, j in zip(axes_x, axes_y):
        ys[j] = xs[i]
    out = [label for d, label in enumerate(xs) if d not in axes_x] + [
        label for d, label in enumerate(ys) if d not in axes_y
    ]
    return contract(x, xs, y, ys, out)


@implements(np.vdot)
def vdot(a, b, /):
    x, y = (reshape_to(v, (v.type.size,)) for v in promoted(a, b))
    if x.type.shape != y.type.shape:
        raise ShapeError(
            message(
                f"cannot reshape array of size {x.type.size} into shape {y.type.shape}: np.vdot takes arrays of one "
                "size",
                locate(),
            )
        )
    return wrap(along_axes(conjugate(x), y, [0], [0]))


@implements(np.inner)
def inner(a, b, /):
    x, y = promoted(a, b)
    m, n = x.type.ndim, y.type.ndim
    if not m or not n:
        return np.multiply(fresh(x), fresh(y))
    if x.type.shape[-1] != y.type.shape[-1]:
        raise misaligned(x, y, m - 1, n - 1)
    return wrap(along_axes(x, y, [m - 1], [n - 1]))


@implements(np.outer)
def outer(a, b, out=None):
    x, y = (np.ravel(handle(v)) for v in (a, b))
    return np.multiply(x[:, None], y[None, :], out)


@implements(np.linalg.outer)
def linalg_outer(x1, x2, /):
    x, y = handle(x1), handle(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x.ndim} and x2.ndim={y.ndim}.")
    return outer(x, y)


@implements(np.tensordot)
def tensordot(a, b, axes=2):
    x, y = promoted(a, b)
    if np.iterable(axes):
        axes_x, axes_y = ([operator.index(i) for i in (each if np.iterable(each) else (each,))] for each in axes)
    else:
        axes_x, axes_y = list(range(-axes, 0)), list(range(axes))
    if len(set(axes_x)) != len(axes_x) or len(set(axes_y)) != len(axes_y):
        raise ValueError("duplicate axes are not allowed in tensordot")
    if len(axes_x) != len(axes_y) or any(x.type.shape[i] != y.type.shape[j] for i, j in zip(axes_x, axes_y)):
        raise ShapeError(
            message(
                f"shape-mismatch for sum: {x.type.shape} over axes {axes_x}, {y.type.shape} over axes {axes_y}",
                locate(),
            )
        )
    return fresh(along_axes(x, y, [i % x.type.ndim for i in axes_x], [j % y.type.ndim for j in axes_y]))


@implements(np.linalg.tensordot)
def linalg_tensordot(x1, x2, /, *, axes=2):
    return tensordot(x1, x2, axes)


@implements(np.kron)
def kron(a, b):
    x, y = handle(a), handle(b)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y)
    rank = max(x.ndim, y.ndim)
    m, n = ((1,) * (rank - v.ndim) + v.shape for v in (x, y))
    both = np.multiply(x.reshape([k for i in m for k in (i, 1)]), y.reshape([k for j in n for k in (1, j)]))
    return both.reshape([i * j for i, j in zip(m, n)])


@implements(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (fresh(v) for v in promoted(a, b))
    if not x.ndim or not y.ndim:
        raise ValueError("At least one array has zero dimension")
    x = moveaxis(x, normalize_axis_index(axisa, x.ndim, msg_prefix="axisa"), -1)
    y = moveaxis(y, normalize_axis_index(axisb, y.ndim, msg_prefix="axisb"), -1)
    verdict(np.cross, np.ones(x.shape[-1]), np.ones(y.shape[-1]))  # NumPy 2.5 takes vectors of three alone
    flat = x.shape[-1] == 2, y.shape[-1] == 2
    if any(flat):
        text = (
            "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. (deprecated "
            "in NumPy 2.0)"
        )
        warnings.warn(text, DeprecationWarning, stacklevel=2)
    (x0, x1), (y0, y1) = ((v[..., 0], v[..., 1]) for v in (x, y))
    last = x0 * y1 - x1 * y0
    if all(flat):
        return handle(last)
    axisc = normalize_axis_index(axisc, np.ndim(last) + 1, msg_prefix="axisc")
    if flat[0]:
        parts = x1 * y[..., 2], -(x0 * y[..., 2]), last
    elif flat[1]:
        parts = -(x[..., 2] * y1), x[..., 2] * y0, last
    else:
        parts = x1 * y[..., 2] - x[..., 2] * y1, x[..., 2] * y0 - x0 * y[..., 2], last
    return moveaxis(np.stack(np.broadcast_arrays(*parts), -1), -1, axisc)


@implements(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    x, y = handle(x1), handle(x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        text = f"but they are {x.shape[axis]} and {y.shape[axis]} dimensional instead."
        raise ValueError(f"Both input arrays must be (arrays of) 3-dimensional vectors, {text}")
    return cross(x, y, axis=axis)
