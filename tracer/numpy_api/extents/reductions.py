"""Reductions, running sums and sorting of bounded arrays: junk is replaced before anything is computed from it."""

import numpy as np

from ...common.errors import message, with_note
from ...common.frames import locate
from ...extents.align import aligned_operands, from_zero, harmless, valid
from ...extents.bounded import BoundedArray, made, refused
from ...extents.numbers import compare, either, negated, require
from ...values.array import TracedArray, fresh
from ..registry import HANDLERS
from .functions import FUNCTIONS, elementwise, handles, stored

normalize_axis_tuple, normalize_axis_index = (
    np.lib.array_utils.normalize_axis_tuple,
    np.lib.array_utils.normalize_axis_index,
)


def python_number(type, value):
    return {"b": bool, "c": complex}.get(type.kind, type.dtype.type)(value)


def zero(type):
    return python_number(type, 0)


def one(type):
    return python_number(type, 1)


def worst(type, sign):
    """What every element is at least (sign -1) or at most (sign 1)."""
    if type.kind == "b":
        return sign > 0
    if type.kind in "iu":
        return np.iinfo(type.dtype).max if sign > 0 else np.iinfo(type.dtype).min
    return sign * np.inf if type.kind == "f" else complex(sign * np.inf, sign * np.inf)


def missing(type):
    """What sorts behind everything."""
    return {"f": np.nan, "c": complex(np.nan, np.nan)}.get(
        type.kind, True if type.kind == "b" else worst(type, 1) if type.kind in "iu" else 0
    )


def reduced_axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)


def remaining(x, axes, keepdims):
    """The extents of what is left of the axes."""
    return [None if d in axes else e for d, e in enumerate(x.extents) if keepdims or d not in axes]


def result_of(out, extents):
    return made(out, extents) if isinstance(out, TracedArray) else out


def refuse_empty(x, axes, name):
    """ValueError, as NumPy's, where there are results but nothing to make them of."""
    some = nothing = False
    for d, n in enumerate(x.lengths):
        empty = compare("eq", n, 0)
        if d in axes:
            some = either(some, empty)
        else:
            nothing = either(nothing, empty)
    if some is not False:
        text = f"zero-size array to reduction operation {name} which has no identity"
        require(either(nothing, negated(some)), ValueError, message(text, locate()))


def where_valid(x, where):
    """The `where=` of a reduction: what is meant, and what the caller asked for."""
    if where is True:
        return x, fresh(valid(x)) if valid(x) is not True else True
    (array, mask), extents = aligned_operands((x, where))
    x = BoundedArray(array, extents)
    meant = valid(x)
    return x, mask if meant is True else np.logical_and(mask, fresh(meant))


def register_reduction(function, fill, method=None, empty=None):
    """Register a reduction; `fill(type)` changes no result, `empty` is the ufunc that has no value for no elements."""

    def handler(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True, **kwargs):
        axes = reduced_axes(a, axis)
        options = {k: v for k, v in (("dtype", dtype), ("initial", initial)) if v is not None}
        if empty and initial is None:
            refuse_empty(a, axes, empty)
        if where is not True:
            if empty and initial is None:
                text = f"reduction operation '{empty}' does not have an identity, so to use a where mask one has to "
                raise with_note(ValueError, message(text + "specify 'initial'", locate()))
            a, where = where_valid(a, where)
            options["where"] = where
        value = fresh(harmless(a, fill(a.array.type)))
        result = HANDLERS[function](value, axis=axes, keepdims=keepdims, **options, **kwargs)
        return stored(function.__name__, result_of(result, remaining(a, axes, keepdims)), out)

    return handles(function, method=method)(handler)


def without_dtype(handler):
    return lambda a, axis=None, out=None, keepdims=False, initial=None, where=True: handler(
        a, axis, None, out, keepdims, initial, where
    )


sum_ = register_reduction(np.sum, zero, "sum")
prod_ = register_reduction(np.prod, one, "prod")
any_ = handles(np.any, method="any")(without_dtype(register_reduction(np.any, zero)))
all_ = handles(np.all, method="all")(without_dtype(register_reduction(np.all, one)))
max_ = handles(np.max, np.amax, method="max")(
    without_dtype(register_reduction(np.max, lambda t: worst(t, -1), empty="maximum"))
)
min_ = handles(np.min, np.amin, method="min")(
    without_dtype(register_reduction(np.min, lambda t: worst(t, 1), empty="minimum"))
)
FUNCTIONS[np.any], FUNCTIONS[np.all], FUNCTIONS[np.max], FUNCTIONS[np.min] = any_, all_, max_, min_

for _ufunc, _handler in ((np.add, sum_), (np.multiply, prod_)):
    FUNCTIONS[_ufunc, "reduce"] = lambda a, axis=0, *rest, _handler=_handler, **kwargs: _handler(
        a, axis, *rest, **kwargs
    )
for _ufunc, _handler in ((np.maximum, max_), (np.minimum, min_), (np.logical_or, any_), (np.logical_and, all_)):
    FUNCTIONS[_ufunc, "reduce"] = lambda a, axis=0, *rest, _handler=_handler, **kwargs: _handler(
        a, axis, *rest[1:], **kwargs
    )


@handles(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return stored("ptp", max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims), out)


@handles(np.count_nonzero)
def count_nonzero(a, axis=None, *, keepdims=False):
    return sum_(elementwise(lambda x: np.not_equal(x, 0), (a,)), axis, np.int64, keepdims=keepdims)


def averaging(function, method):
    def handler(a, axis=None, dtype=None, out=None, *rest, keepdims=False, where=True, **kwargs):
        a, where = where_valid(a, where)
        axes = reduced_axes(a, axis)
        value = fresh(harmless(a, zero(a.array.type)))
        result = HANDLERS[function](value, axes, dtype, None, *rest, keepdims=keepdims, where=where, **kwargs)
        return stored(function.__name__, result_of(result, remaining(a, axes, keepdims)), out)

    return handles(function, method=method)(handler)


mean_, var_ = averaging(np.mean, "mean"), averaging(np.var, "var")


@handles(np.std, method="std")
def std(a, axis=None, dtype=None, out=None, *rest, **kwargs):
    return stored("std", np.sqrt(var_(a, axis, dtype, None, *rest, **kwargs)), out)


@handles(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """The Euclidean norm, or that of the other orders that are plain sums and extremes."""
    if (
        axis is None
        and ord is None
        or ord in (None, 2)
        and (x.ndim == 1 or isinstance(axis, int))
        or ord == "fro"
        and x.ndim == 2
        and axis is None
    ):
        x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(float)
        squares = (x * np.conjugate(x)).real if x.dtype.kind == "c" else x * x
        return np.sqrt(sum_(squares, axis, keepdims=keepdims))
    if x.ndim == 1 and ord in (1, np.inf, -np.inf):
        return {1: sum_, np.inf: max_, -np.inf: min_}[ord](np.abs(x), 0, keepdims=keepdims)
    refused(f"np.linalg.norm of order {ord}", x)


# -- positions -------------------------------------------------------------------------------------


def extreme_place(function, sign, method):
    def handler(a, axis=None, out=None, *, keepdims=False):
        if axis is None and (a.ndim > 1 and any(e is not None for e in a.extents[1:])):
            refused(
                f"np.{function.__name__} without an axis, of an array whose rows have lengths that the data decides,", a
            )
        axes = reduced_axes(a, axis)
        refuse_empty(a, axes, function.__name__)
        for d in axes:
            a = from_zero(a, d)  # the junk behind: of equal elements the first counts
        result = HANDLERS[function](fresh(harmless(a, worst(a.array.type, sign))), axis, keepdims=keepdims)
        return stored(function.__name__, result_of(result, remaining(a, axes, keepdims)), out)

    return handles(function, method=method)(handler)


extreme_place(np.argmax, -1, "argmax")
extreme_place(np.argmin, 1, "argmin")


# -- along an axis ---------------------------------------------------------------------------------


def running(function, fill, method):
    def handler(a, axis=None, dtype=None, out=None):
        if axis is None and a.ndim > 1:
            refused(f"np.{function.__name__} without an axis", a)
        value = fresh(harmless(a, fill(a.array.type)))
        result = HANDLERS[function](value, axis=0 if axis is None else axis, dtype=dtype)
        return stored(function.__name__, BoundedArray(result, a.extents), out)

    return handles(function, method=method)(handler)


running(np.cumsum, zero, "cumsum")
running(np.cumprod, one, "cumprod")


def ordering(function):
    def handler(a, axis=-1, kind=None, order=None, *, stable=None, **descending):
        function(np.empty(0), kind=kind, **descending)  # NumPy before 2.5 knows no `descending`
        if descending.get("descending"):
            refused(f"np.{function.__name__} in descending order", a)
        if axis is None and a.ndim > 1:
            refused(f"np.{function.__name__} without an axis", a)
        axis = normalize_axis_index(-1 if axis is None else axis, a.ndim)
        a = from_zero(a, axis)
        value = fresh(harmless(a, missing(a.array.type), (axis,)))
        return BoundedArray(
            HANDLERS[function](value, axis=axis, kind="stable" if function is np.argsort else kind), a.extents
        )

    return handles(function)(handler)


sort_, argsort_ = ordering(np.sort), ordering(np.argsort)
BoundedArray.methods["argsort"] = argsort_


def sort_method(a, axis=-1, **kwargs):
    a[...] = sort_(a, axis, **kwargs)


BoundedArray.methods["sort"] = sort_method


@handles(np.diff)
def diff(a, n=1, axis=-1):
    axis = normalize_axis_index(axis, a.ndim)
    step = np.not_equal if a.dtype.kind == "b" else np.subtract
    at = lambda s: (*(slice(None),) * axis, s)
    for _ in range(n):
        a = step(a[at(slice(1, None))], a[at(slice(None, -1))])
    return a

