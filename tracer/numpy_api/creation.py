"""Arrays made after a traced one, grids of traced numbers, and triangles and diagonals."""

import functools
import operator

import numpy as np

from ...ir.ops import OPS
from ..common.emit import INDEX, constant_of, counted, filled, reshape_to, spread_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import fresh
from ..values.indexing import fitted, whole_parts
from ..values.promote import checked, nested_items, operand_as, read
from ..values.storage import current_trace
from .handles import dtype_of, handle, is_traced, joined, laid_out, value_of
from .registry import implements
from .shaping import broadcast_arrays, diagonal, moveaxis, ndim, note_copy, ravel
from .ufunc_calls import weak_kind

cumprod, ge, pad, rounded, select, sub, add = (OPS[n] for n in (
    "cumprod", "ge", "pad", "rounded", "select", "sub", "add",
))

# -- after a template ------------------------------------------------------------------------------


def blank(a, dtype, order, shape, fill):
    """An array like `a`, as NumPy would lay it out, holding one number or whatever broadcasts to it."""
    x = handle(a)
    shape = x.shape if shape is None else (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    dtype = x.dtype if dtype is None else checked(np.dtype(dtype))
    shadow = np.empty_like(x.shadow, dtype, order, shape=shape)
    value = fitted(operand_as(fill, dtype) if type(fill) is int else value_of(fill, dtype), shape)
    return laid_out(value, shadow, x if order in ("K", "k", "A", "a") else None)


@implements(np.zeros_like)
def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return blank(a, dtype, order, shape, 0)


@implements(np.empty_like)
def empty_like(prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return blank(prototype, dtype, order, shape, 0)


@implements(np.ones_like)
def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return blank(a, dtype, order, shape, 1)


@implements(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return blank(a, dtype, order, shape, fill_value)


# -- np.zeros(..., like=x) and its kin: the only way these meet a traced value ---------------------


def made_like(function):
    """`function(..., like=traced)` on concrete arguments, as a traced array."""
    implements(function)(lambda *args, **kwargs: fresh(constant_of(function(*args, **kwargs))))


for _function in (np.arange, np.eye, np.identity, np.tri, np.fromfunction):
    made_like(_function)


@implements(np.zeros, np.empty)
def zeros(shape, dtype=float, order="C", *, device=None):
    return np.zeros_like(fresh(filled(0, (), dtype or float)), shape=shape, order=order)


@implements(np.ones)
def ones(shape, dtype=None, order="C", *, device=None):
    return np.ones_like(fresh(filled(0, (), dtype or float)), shape=shape, order=order)


@implements(np.full)
def full(shape, fill_value, dtype=None, order="C", *, device=None):
    value = value_of(fill_value)
    return np.full_like(fresh(value), fill_value, dtype, order, shape=shape)


def checked_numbers(numbers, dtype):
    """A list of numbers, as NumPy takes them into this dtype."""
    if dtype.kind in "iu":
        return whole_parts(numbers, dtype)
    if dtype.kind == "f" and any(weak_kind(v) is complex for v in nested_items(numbers)):
        raise with_note(
            TypeError, message("float() argument must be a string or a real number, not 'complex'", locate())
        )
    return numbers


@implements(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=64):
    np.array(0, order=order)  # NumPy's own words
    if ndmin > ndmax:
        raise with_note(ValueError, message(f"ndmin must be <= ndmax ({ndmax})", locate()))
    if dtype is not None and weak_kind(object) is not None:
        x = np.zeros_like(fresh(value_of(object)), np.dtype(dtype), shape=(1,) * ndmin)
        x[...] = object
        return x
    if dtype is not None and isinstance(object, list | tuple):
        object = checked_numbers(object, np.dtype(dtype))
    x = handle(object)
    if x.ndim > ndmax and (isinstance(object, list | tuple) or dtype is not None and x.dtype != dtype):
        raise with_note(ValueError, message("object too deep for desired array", locate()))
    same = x is object and (dtype is None or x.dtype == dtype)
    if not same:
        x = x.astype(x.dtype if dtype is None else dtype, order)
    elif copy:
        x = np.copy(x, order)
    elif order in ("C", "F"):
        own = x.shadow.flags[order]
        if not own and copy is False:
            raise with_note(ValueError, message("Unable to avoid copy while creating an array as requested.", locate()))
        current_trace().rely_on_layout(x.storage, None if copy is False else x.storage, row=True)
        if not own:
            x, given = np.copy(x, order), x
            note_copy(given, x)
    return x.reshape((1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


@implements(np.asarray, np.asanyarray)
def asarray(a, dtype=None, order=None, *, device=None, copy=None):
    return array(a, dtype, copy=copy, order=order)


@implements(np.ascontiguousarray)
def ascontiguousarray(a, dtype=None):
    return np.atleast_1d(array(a, dtype, copy=None, order="C"))


@implements(np.asfortranarray)
def asfortranarray(a, dtype=None):
    x = np.atleast_1d(array(a, dtype, copy=None))
    return x if x.flags.f_contiguous else x.copy("F")


# -- grids -----------------------------------------------------------------------------------------


@functools.cache
def grid_dtype(*keys):
    """The dtype of linspace between numbers of these dtypes, or Python types."""
    return np.linspace(*[np.zeros((), k) if isinstance(k, np.dtype) else k(0) for k in keys], 1).dtype


@implements(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    num = sample_count(num)
    div = num - 1 if endpoint else num
    made = grid_dtype(read(start)[1], read(stop)[1])
    start, stop = (fresh(value_of(x, made)) for x in (start, stop))
    delta = np.subtract(stop, start)
    steps = fresh(reshape_to(counted((num,), 0, made), (num,) + (1,) * delta.ndim))
    step = np.divide(delta, div) if div > 0 else np.nan
    factor = step if div > 0 else delta
    if div > 0 and delta.ndim:  # where one step is too small for its dtype, NumPy multiplies by all of delta
        tiny = np.any(step == 0)
        share = steps * (1.0 / div) if made.kind == "c" else steps / div  # NumPy's complex division is by reciprocals
        steps, factor = np.where(tiny, share, steps), np.where(tiny, delta, step)
    y = fresh(rounded((steps * factor).value)) + start
    if endpoint and num > 1:
        y[-1, ...] = stop
    y = moveaxis(y, 0, axis) if axis != 0 else y
    dtype = made if dtype is None else checked(np.dtype(dtype))
    y = np.floor(y) if dtype.kind in "iu" else y
    y = y.astype(dtype, copy=False)
    return (y, step) if retstep else y


def sample_count(num):
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num


@implements(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    if ndim(base):
        rank = max(ndim(start), ndim(stop), ndim(base))
        start, stop, base = (x.reshape((1,) * (rank - x.ndim) + x.shape) for x in map(handle, (start, stop, base)))
        base = np.expand_dims(base, axis)
    y = np.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else y.astype(dtype, copy=False)


@implements(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    made = np.result_type(dtype_of(start), dtype_of(stop), float(num), np.zeros((), dtype))
    start, stop = (handle(x).astype(made) for x in (start, stop))
    nonzero = np.logical_and(np.all(start != 0), np.all(stop != 0))
    current_trace().check(value_of(nonzero), ValueError, message("Geometric sequence cannot include zero", locate()))
    sign = np.sign(start)
    out = handle(logspace(np.log10(start / sign), np.log10(stop / sign), num, endpoint, 10.0, made))
    if sample_count(num):
        out[0] = start / sign
        if num > 1 and endpoint:
            out[-1] = stop / sign
    out = handle(out * sign)
    out = moveaxis(out, 0, axis) if axis != 0 else out
    return out.astype(made if dtype is None else dtype, copy=False)


@implements(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    out = [handle(x).reshape([-1 if d == place else 1 for d in range(len(xi))]) for x, place in zip(xi, places)]
    out = out if sparse else broadcast_arrays(*out)
    return tuple(x.copy() for x in out) if copy else out


@implements(np.ix_)
def ix_(*args):
    out = []
    for i, x in enumerate(args):
        if not is_traced(x):
            (x,) = np.ix_(x)
        elif x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        elif x.dtype == bool:
            (x,) = np.nonzero(x)
        out.append(x[tuple([slice(None) if d == i else None for d in range(len(args))])])
    return tuple(out)


# -- triangles and diagonals -----------------------------------------------------------------------


def lower_triangle(shape, k):
    """Whether column - row <= k, over matrices in the last two axes."""
    row, column = counted(shape, len(shape) - 2), counted(shape, len(shape) - 1)
    return ge(add(row, filled(operator.index(k), shape, INDEX)), column)


def square(m):
    """np.tril's view of its operand: vectors become the rows of a square matrix."""
    x = value_of(m)
    if x.type.ndim < 1:
        np.tril(np.empty(()))  # raises
    return spread_to(x, (x.type.size, x.type.size)) if x.type.ndim == 1 else x


@implements(np.tril)
def tril(m, k=0):
    x = square(m)
    return fresh(select(lower_triangle(x.type.shape, k), x, filled(0, x.type.shape, x.type.dtype)))


@implements(np.triu)
def triu(m, k=0):
    x = square(m)
    return fresh(select(lower_triangle(x.type.shape, operator.index(k) - 1), filled(0, x.type.shape, x.type.dtype), x))


@implements(np.diag)
def diag(v, k=0):
    x = handle(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = operator.index(k)
    size = x.size + abs(k)
    if not x.size:
        return fresh(filled(0, (size, size), x.dtype))
    first = k if k >= 0 else -k * size  # element i lies (size + 1) i after the first, row by row
    rest = size * size - first - (x.size - 1) * (size + 1) - 1
    flat = pad(x.value, filled(0, (), x.dtype), low=(first,), high=(rest,), interior=(size,))
    return fresh(reshape_to(flat, (size, size)))


@implements(np.diagflat)
def diagflat(v, k=0):
    return diag(ravel(v), k)


@implements(np.vander)
def vander(x, N=None, increasing=False):
    x = handle(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = len(x) if N is None else operator.index(N)
    dtype = np.promote_types(x.dtype, int)
    if n <= 0:
        return fresh(filled(1, np.empty((0, len(x), n)).shape[1:], dtype))  # NumPy's exception where it is negative
    ones = filled(1, (len(x), 1), dtype)
    columns = spread_to(reshape_to(value_of(x, dtype), (len(x), 1)), (len(x), n - 1)) if n > 1 else ones
    powers = fresh(cumprod(joined([ones, columns], 1), axis=1) if n > 1 else ones)
    return powers if increasing else powers[:, ::-1]


@implements(np.diag_indices_from)
def diag_indices_from(arr):
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return np.diag_indices(arr.shape[0], arr.ndim)


@implements(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    return two_dimensional(arr) and np.tril_indices(arr.shape[-2], k, arr.shape[-1])


@implements(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    return two_dimensional(arr) and np.triu_indices(arr.shape[-2], k, arr.shape[-1])


def two_dimensional(x):
    if x.ndim != 2:
        raise ValueError("input array must be 2-d")
    return True

