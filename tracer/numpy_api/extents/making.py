"""Arrays of unknown length made anew: np.zeros(n) and np.arange(n) of a bounded traced n."""

import operator

import numpy as np

from ....ir.core import Lit
from ....ir.ops import OPS
from ....ir.types import Tensor
from ...common.emit import cast_to, counted
from ...common.errors import ConcretizationError, UnsupportedError, message, with_note
from ...common.frames import locate
from ...extents.align import value_of
from ...extents.bounded import BoundedArray, SpanExtent, made, refused, room_for
from ...extents.numbers import (
    FAR,
    between,
    bounded,
    compare,
    greatest,
    minus,
    number,
    operand,
    plus,
    quotient,
    require,
    traced,
)
from ...values.array import Traced, TracedArray, TracedScalar, fresh
from ...values.outermost import demand_lengths, enters, length_by_value, whole_number
from ...values.promote import checked, operand_as, read
from ...values.storage import current_trace
from ..handles import handle
from ..meeting import firmed_arguments
from ..registry import call_function
from .functions import handles
from .reductions import sort_

MOST = 2**27  # elements that a size known only by its bound may make room for


def extent_of(size):
    """(room, extent) of an axis of this size."""
    if not isinstance(size, Traced) or size.known() is not None:
        return operator.index(size), None
    if size.type.shape or size.type.kind not in "iu":
        raise with_note(TypeError, message(f"'{size.type}' object cannot be interpreted as an integer", locate()))
    n = number(size)
    _, high = between(n)
    if high >= min(FAR, MOST):
        return unbounded(size, n)
    require(compare("le", 0, n), ValueError, message("negative dimensions are not allowed", locate()))
    return max(high, 0), SpanExtent(0, traced(bounded(greatest(n, 0), 0, high)))


def unbounded(size, n):
    """Likewise where nothing bounds it: by value where Python's own numbers decide it, else the power of two above."""
    found = whole_number(size)
    n = n if found is None else found
    require(compare("le", 0, n), ValueError, message("negative dimensions are not allowed", locate()))
    found = length_by_value(operand(n)) if found is None else found
    if found is not None and found <= MOST:
        return found, None
    outside = current_trace().root.outside
    if found is None and not enters(operand(n), outside.relied.knowable(outside.inputs)):
        room, extent = room_for(operand(n))
        if extent is not None:
            return room, extent
    text = (
        "a shape depends on data: how large the array is would be known only when the program runs, and nothing "
        "bounds it"
    )
    hint = (
        "Make it as large as it can get and keep the count beside it: ys = np.zeros(len(x)); bound the size: "
        "np.zeros(np.minimum(n, 100));\nor pass the size as an int, which is static."
    )
    return demand_lengths(ConcretizationError(message(text, locate(), hint)))


def sized(real, shape, *args, **kwargs):
    """np.zeros and its like of a shape with traced sizes."""
    if isinstance(shape, TracedArray) and shape.ndim == 1:
        shape = [shape[i] for i in range(len(shape))]
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    rooms = [extent_of(n) for n in sizes]
    if real is np.full:
        fill, *rest = args or (kwargs.pop("fill_value"),)
        dtype = rest[0] if rest else kwargs.get("dtype")
        value, key = read(fill)
        dtype = (
            np.dtype(dtype)
            if dtype is not None
            else np.asarray(fill).dtype
            if not isinstance(fill, Traced)
            else np.dtype(fill.dtype)
        )
        value = operand_as(value, dtype, tuple(n for n, _ in rooms))
    else:
        like = real((), *args, **kwargs)
        value = Lit(1 if real is np.ones else 0, Tensor(tuple(n for n, _ in rooms), checked(like.dtype)))
    return made(fresh(value), [e for _, e in rooms])


def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    """np.eye of sizes that are traced."""
    (rows, first), (columns, second) = extent_of(N), extent_of(N if M is None else M)
    return made(fresh(value_of(np.eye(rows, columns, operator.index(k), dtype))), [first, second])


def arange(start, stop=None, step=None, dtype=None, *, device=None, like=None):
    """np.arange of numbers of which one is traced: as long as NumPy's rule says, an element at a time from the first by
    the difference of the first two (`arange` of https://numpy.org/doc/stable/reference/generated/numpy.arange.html)."""
    start, stop = (0, start) if stop is None else (start, stop)
    (start, stop, step), _ = firmed_arguments((start, stop, step), {})
    bounds = [end_of(x) for x in (start, stop, 1 if step is None else step)]
    start, stop, step = bounds
    dtype = np.dtype(dtype) if dtype is not None else np.arange(*map(like_it, bounds, (0, 0, 1))).dtype
    if all(dtype_kind(x) in "bi" for x in bounds) and isinstance(step, int) and step:
        count = quotient(greatest(plus(step_up(start, stop, step), abs(step) - 1), 0), abs(step))
    else:
        count = steps_between(start, stop, step)
    room, extent = extent_of(TracedScalar(operand(count), int))
    if isinstance(start, int) and start == 0 and isinstance(step, int) and step == 1:
        return made(fresh(cast_to(counted((room,)), dtype)), [extent])
    wide = np.dtype(np.float32) if dtype == np.float16 else dtype
    first, second = (handle(x).astype(dtype).astype(wide) for x in (start, start + step))
    places = fresh(counted((room,)))
    out = first + places.astype(wide) * (second - first)
    if dtype_kind(start) not in "bi" or dtype_kind(step) not in "bi":
        out = np.where(places == 1, second, out)
    return made(out.astype(dtype), [extent])


def end_of(x):
    """A number that np.arange is given, as a scalar."""
    if isinstance(x, TracedArray | np.ndarray) and x.shape:
        raise with_note(TypeError, message("only 0-dimensional arrays can be converted to Python scalars", locate()))
    if type(x) is BoundedArray or dtype_kind(x) not in "biuf":
        text = f"np.arange of {x!r} is not captured: it takes traced integers and floats"
        raise UnsupportedError(message(text, locate(), "Write start + step * np.arange(count)."))
    return x[()] if isinstance(x, TracedArray | np.ndarray) else x


def dtype_kind(x):
    return np.asarray(x).dtype.kind if not isinstance(x, Traced) else x.dtype.kind


def like_it(x, number):
    """A plain number of the kind of one that may be traced."""
    if not isinstance(x, Traced):
        return type(x)(number)
    return x.weak(number) if x.weak else x.dtype.type(number)


def step_up(start, stop, step):
    """How far it is, in the direction of an integer step."""
    return minus(number(stop), number(start)) if step > 0 else minus(number(start), number(stop))


def steps_between(start, stop, step):
    """How many numbers np.arange gives: the least whole number that is not below (stop - start) / step; one where that
    is too little for a float, and not negative."""
    way = stop - start
    ratio = fresh(cast_to(handle(way / step).value, np.dtype(np.float64)))
    steps = np.ceil(ratio)
    require((steps == steps).value, ValueError, message("arange: cannot compute length", locate()))
    require((abs(steps) <= FAR).value, ValueError, message("Maximum allowed size exceeded", locate()))
    lost = np.logical_and(np.not_equal(way, 0), ratio == 0)
    count = np.where(lost, np.logical_not(np.signbit(ratio)), np.clip(steps, 0, FAR).astype(np.int64))
    return bounded(count.value, 0, FAR)


# -- the middle of the values ------------------------------------------------------------------------


@handles(np.median)
def median(a, axis=None, **kwargs):
    if kwargs or a.ndim != 1:
        refused("np.median along an axis", a)
    x, n = sort_(a).array, a.lengths[0]
    if not x.shape[0]:
        return call_function(np.median, (x,), {})
    x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(float)
    last = x.shape[0] - 1
    at = lambda k: (
        np.take(x, TracedScalar(operand(k)), mode="clip") if not isinstance(k, int) else x[min(max(k, 0), last)]
    )
    low, high, end = (at(k) for k in (half(minus(n, 1)), half(n), minus(n, 1)))
    empty = TracedScalar(OPS["eq"](operand(n), operand(0)))
    return np.where(np.logical_or(empty, np.isnan(end)), np.asarray(np.nan, x.dtype), (low + high) / 2)[()]


def half(n):
    return n // 2 if isinstance(n, int) else OPS["quotient"](greatest(n, 0), operand(2))

