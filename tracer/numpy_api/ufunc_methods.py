"""ufunc.reduce, accumulate, reduceat, outer and at: by the op made for it, else by pairs, else one element after
another."""

import math

import numpy as np

from ...ir.bounded import Limited
from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops import transcendental as t
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.indexing import index_arrays, put_arrays
from ...ir.ops.shape import concatenate, dynamic_slice, dynamic_update_slice, slice_, transpose
from ..common.emit import cast_to, counted, reshape_to, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedArray, fresh
from ..values.asked import asking
from ..values.gathering import advanced, whole_mask
from ..values.indexing import as_tuple, fitted, is_basic, stored
from ..values.layout import laid_as, reduced_as
from ..values.promote import UFUNCS, mask_of, operand_as, read, unknown
from ..values.promote import loop as loop_of
from ..values.sized_shapes import sized_shape
from ..values.sizes import Size
from ..values.slicing import basic
from .arguments import NOTHING, axes_of, flat, give, given, last, reduced_shape, sample_of, traced, verdict
from .handles import cut, is_traced
from .registry import HANDLERS
from .ufunc_calls import apply_ufunc
from .ufunc_rules import check_exponents, signbit

REDUCED, ACCUMULATED = {}, {}  # (ufunc, dtype kind) -> op over axes; op along an axis
SCATTERED = {np.add: "add", np.subtract: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min"}
ASSOCIATIVE = {np.gcd, np.hypot, np.logaddexp2, np.maximum, np.minimum, np.fmax, np.fmin}
MAGNITUDES = {np.gcd, np.hypot}  # their identity makes a number its magnitude: a start alone must stay as it is


# -- folding values --------------------------------------------------------------------------------


def log_sum_exp(x, *, axes):
    """log of the sum of exp, the greatest taken out first where it is finite."""
    kept = tuple(a for a in range(x.type.ndim) if a not in axes)
    peak = r.reduce_max(x, axes=axes)
    peak = e.select(e.is_finite(peak), peak, 0.0)
    back = spread_to(reshape_to(peak, reduced_shape(x.type.shape, axes, True)), x.type.shape) if kept or axes else peak
    return t.log(r.reduce_sum(t.exp(x - back), axes=axes)) + peak


def ignoring_nan(op, worst):
    """The extreme of what is not NaN; NaN where all are."""

    def run(x, *, axes):
        missing = e.ne(x, x)
        found = op(e.select(missing, Lit(worst, x.type), x), axes=axes)
        return e.select(r.reduce_and(missing, axes=axes), Lit(np.nan, found.type), found)

    return run


def made_for(ufunc, kinds, reduced, accumulated=None):
    for k in kinds:
        REDUCED[ufunc, k] = reduced
        if accumulated is not None:
            ACCUMULATED[ufunc, k] = accumulated


# fmt: off
made_for(np.add,          "iufc", r.reduce_sum,  r.cumsum)
made_for(np.add,          "b",    r.reduce_or,   r.cummax)
made_for(np.multiply,     "iufc", r.reduce_prod, r.cumprod)
made_for(np.multiply,     "b",    r.reduce_and,  r.cummin)
made_for(np.maximum,      "biuf", r.reduce_max,  r.cummax)
made_for(np.minimum,      "biuf", r.reduce_min,  r.cummin)
made_for(np.fmax,         "biu",  r.reduce_max,  r.cummax)
made_for(np.fmin,         "biu",  r.reduce_min,  r.cummin)
made_for(np.fmax,         "f",    ignoring_nan(r.reduce_max, -np.inf))
made_for(np.fmin,         "f",    ignoring_nan(r.reduce_min, np.inf))
made_for(np.logical_and,  "b",    r.reduce_and,  r.cummin)
made_for(np.logical_or,   "b",    r.reduce_or,   r.cummax)
made_for(np.logical_xor,  "b",    r.reduce_xor)
made_for(np.not_equal,    "b",    r.reduce_xor)
made_for(np.bitwise_and,  "biu",  r.reduce_and)
made_for(np.bitwise_or,   "biu",  r.reduce_or)
made_for(np.bitwise_xor,  "biu",  r.reduce_xor)
made_for(np.logaddexp,    "f",    log_sum_exp,   r.cumlogsumexp)
# fmt: on


def elements_along(a, axes):
    """How many elements each result over `axes` is made of: a number, or the value that stands for it in a program of
    all sizes."""
    sizes = a.shape if asking() is None else sized_shape(a)
    count = math.prod([sizes[d] for d in axes])
    return count.value if type(count) is Size else count


def reduce_axes(ufunc, x, axes, mask=None, start=None, bare=False):
    """x, of the loop's dtype, combined over `axes`: only where `mask` holds, beginning with the scalar `start`.

    bare: not even with the identity, which makes one number alone its magnitude for some ufuncs.
    """
    op = REDUCED.get((ufunc, x.type.kind))
    if op is None and (ufunc not in ASSOCIATIVE or ufunc in MAGNITUDES and start is not None):
        return in_turn(ufunc, last(x, axes), None if mask is None else last(mask, axes), start)
    shape, identity = reduced_shape(x.type.shape, axes), False if ufunc is np.not_equal else ufunc.identity
    unit = start if identity is None else Lit(identity, x.type.like(()))
    if mask is not None:
        x = e.select(mask, x, spread_to(unit, x.type.shape))
    if not x.type.size:
        out = Lit(0, x.type.like(shape)) if unit is None else spread_to(unit, shape)
    else:
        out = in_pairs(ufunc, last(x, axes)) if op is None else op(x, axes=axes)
        if ufunc is np.add and isinstance(start, Lit) and is_negative_zero(start):
            # all of them -0.0, as what they are added to
            zeros = r.reduce_and(e.and_(e.eq(x, 0), signbit(x)), axes=axes)
            return e.select(zeros, spread_to(start, shape), out)
        if ufunc in MAGNITUDES and ufunc.identity is not None and not bare:
            out = combine(ufunc, spread_to(unit, shape), out)
    return out if start is None else combine(ufunc, spread_to(start, shape), out)


def is_negative_zero(x):
    return x.type.kind == "f" and x.value == 0 and bool(np.signbit(x.value))


def combine(ufunc, x, y):
    return cast_to(UFUNCS[ufunc](x, y), x.type.dtype)


def in_pairs(ufunc, x):
    """Neighbours along the last axis combined, again and again: for associative ufuncs."""
    while (n := x.type.shape[-1]) > 1:
        y = combine(ufunc, every_other(x, 0, n - n % 2), every_other(x, 1, n))
        x = concatenate(y, every_other(x, n - 1, n), axis=y.type.ndim - 1) if n % 2 else y
    return reshape_to(x, x.type.shape[:-1])


def every_other(x, start, stop):
    lead = x.type.shape[:-1]
    return slice_(x, start=(*(0 for _ in lead), start), stop=(*lead, stop), stride=(*(1 for _ in lead), 2))


def last_axis_item(x, i):
    """x[..., i] for a traced i."""
    lead = x.type.shape[:-1]
    return reshape_to(dynamic_slice(x, *(Lit(0, COUNTER) for _ in lead), i, sizes=(*lead, 1)), lead)


def with_item(x, i, new):
    """x after x[..., i] = new."""
    lead = x.type.shape[:-1]
    return dynamic_update_slice(x, reshape_to(new, (*lead, 1)), *(Lit(0, COUNTER) for _ in lead), i)


def run_loop(body, trips, *operands, carried=1):
    made = region(body, [COUNTER, *(x.type for x in operands)])
    return loop(*operands, body=made, carried=carried, trips=trips)[0]


def in_turn(ufunc, x, mask=None, start=None):
    """The last axis combined from left to right."""
    if ufunc not in UFUNCS or ufunc is np.ldexp:  # whose operands are of two dtypes
        raise unknown(ufunc)
    lead, n = x.type.shape[:-1], x.type.shape[-1]
    skip = 0 if start is not None else 1
    if ufunc is np.power:
        check_exponents(cut(x if mask is None else e.select(mask, x, Lit(1, x.type)), x.type.ndim - 1, skip, n))
    first = (
        spread_to(start, lead)
        if start is not None
        else reshape_to(every_other(x, 0, 1), lead)
        if n
        else Lit(0, x.type.like(lead))
    )
    if n <= skip:
        return first

    def body(i, xs, *rest):
        *masks, done = rest
        at = i + skip
        new = combine(ufunc, done, last_axis_item(xs, at))
        return e.select(last_axis_item(masks[0], at), new, done) if masks else new

    return run_loop(body, n - skip, x, *([] if mask is None else [mask]), first)


def accumulate_in_turn(ufunc, x):
    """All prefixes of the last axis, from left to right."""
    if ufunc not in UFUNCS:
        raise unknown(ufunc)

    if ufunc is np.power and x.type.shape[-1] > 1:
        check_exponents(cut(x, x.type.ndim - 1, 1, x.type.shape[-1]))

    def body(i, xs, done):
        return with_item(done, i + 1, combine(ufunc, last_axis_item(done, i), last_axis_item(xs, i + 1)))

    return run_loop(body, x.type.shape[-1] - 1, x, x) if x.type.shape[-1] > 1 else x


# -- the methods -----------------------------------------------------------------------------------


def judged(ufunc, a, axis, dtype, keepdims, keywords):
    """The dtype of a reduction, or NumPy's exception; asked once per kind of call."""
    plain = not keywords and not isinstance(axis, list)
    key = (ufunc, a.dtype, tuple([n > 0 for n in a.shape]), axis, dtype, keepdims)
    found = _judged.get(key) if plain else None
    if found is None:
        found = verdict(ufunc.reduce, sample_of(a), axis, dtype, keepdims=keepdims, **keywords).dtype
        if plain:
            _judged[key] = found
    return found


_judged = Limited()  # the kind of a reduction -> the dtype of its result


def loop_with(ufunc, a, dtype, out):
    """The dtype that is asked for, or the one that `out` asks for."""
    if out is None or dtype is not None:
        return dtype
    out = out[0] if isinstance(out, tuple) else out
    return ufunc.resolve_dtypes((out.dtype, a.dtype, None), casting="unsafe", reduction=True)[2]


def reduce(ufunc, array, axis=0, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
    if ufunc not in UFUNCS:
        raise unknown(ufunc)
    a, out = traced(array), out[0] if isinstance(out, tuple) else out
    keepdims, where = given(keepdims, False), given(where, True)
    keywords = {} if initial is NOTHING else {"initial": 1 if is_traced(initial) else initial}
    if where is not True:
        keywords["where"] = np.array(True)
    dtype = loop_with(ufunc, a, dtype, out)
    if where is not True:
        where = mask_of(where)
    like = judged(ufunc, a, axis, dtype, keepdims, keywords)
    x = cast_to(a.value, like)
    axes = axes_of(axis, a.ndim) if a.ndim else ()  # NumPy, just asked, lets a scalar have axis 0 here
    mask = None if where is True else mask_of(fresh(where), x.type.shape)
    start = None if initial is NOTHING or initial is None else stored(initial, like)
    value = reduce_axes(ufunc, x, axes, mask, start, initial is None)
    value = reshape_to(value, reduced_shape(a.shape, axes, keepdims))
    return reduced_as(value, a, axes) if out is None and a.ndim > 2 else give(value, out, ufunc.__name__)


def only_axis(method, axis, ndim):
    """The one axis that a method works along; None is all axes, of which there must be one."""
    if not ndim:
        raise with_note(TypeError, message(f"cannot {method} on a scalar", locate()))
    axes = axes_of(tuple(axis) if isinstance(axis, list) else axis, ndim)
    if len(axes) != 1:
        raise with_note(ValueError, message(f"{method} does not allow multiple axes", locate()))
    return axes[0]


def accumulate(ufunc, array, axis=0, dtype=None, out=None):
    a, out = traced(array), out[0] if isinstance(out, tuple) else out
    dtype = loop_with(ufunc, a, dtype, out)
    like = verdict(ufunc.accumulate, sample_of(a), axis, dtype)
    x, axis = cast_to(a.value, like.dtype), only_axis("accumulate", axis, a.ndim)
    op = ACCUMULATED.get((ufunc, x.type.kind))
    if op is not None:
        value = op(x, axis=axis)
    else:
        perm = (*(d for d in range(a.ndim) if d != axis), axis)
        back = tuple(perm.index(d) for d in range(a.ndim))
        value = transpose(accumulate_in_turn(ufunc, transpose(x, perm=perm)), perm=back)
    return laid_as(value, [a]) if out is None else give(value, out, ufunc.__name__)


def outer(ufunc, a, b, **kwargs):
    a, b = traced(a), traced(b)
    column = fresh(reshape_to(a.value, (*a.shape, *(1 for _ in b.shape))))
    return apply_ufunc(ufunc, (column, b), **kwargs)


def at(ufunc, a, indices, *operands):
    """`a[indices] = ufunc(a[indices], b)` with every repeated index counted; mutates a."""
    if not isinstance(a, TracedArray):
        hint = "Pass it as an argument, or make it with np.zeros_like(x)."
        raise UnsupportedError(message(f"np.{ufunc.__name__}.at on an array that is not traced", locate(), hint))
    key, operands = as_tuple(indices), [traced(b) for b in operands]  # Python numbers are not weak here
    loop_of(ufunc, (a.dtype, *(read(b)[1] for b in operands)))  # NumPy looks for the loop before it looks at indices
    mask = whole_mask(a, key)
    if mask is not None:
        if any(traced(b).shape for b in operands):
            situation = (
                f"np.{ufunc.__name__}.at under a traced mask: which operand belongs to which element depends on data"
            )
            raise UnsupportedError(
                message(situation, locate(), "Give one number, or operands of the array's shape under np.where.")
            )
        where = fresh(reshape_to(mask.value, (*mask.shape, *(1 for _ in a.shape[mask.ndim :]))))
        apply_ufunc(ufunc, (a, *operands), out=a, where=where, casting="unsafe")
        return
    if all(is_basic(k) for k in key):
        view = a.window(basic(a, key))
        apply_ufunc(ufunc, (view, *operands), out=view, casting="unsafe")
        return
    view, pairs, place = advanced(a, key)
    rest = [n for d, n in enumerate(view.shape) if d not in [d for d, _ in pairs]]
    shape = (*rest[:place], *pairs[0][1].type.shape, *rest[place:])
    reads = [read(b) for b in operands]
    wants, gives = loop_of(ufunc, (a.dtype, *(k for _, k in reads)))
    work = wants[0]
    updates = [fitted(operand_as(b, want), shape) for (b, _), want in zip(reads, wants[1:])]
    # then one rounding at the end is as good as one for each
    rounds = work == a.dtype or work.kind == a.dtype.kind and work.kind in "fc"
    ordered = SCATTERED.get(ufunc) in ("min", "max")
    if ufunc in SCATTERED and work == gives[0] and rounds and work.kind in ("iuf" if ordered else "iufc"):
        new = e.neg(updates[0]) if ufunc is np.subtract else updates[0]
        view.write(cast_to(put_arrays(cast_to(view.value, work), pairs, new, SCATTERED[ufunc], place), a.dtype))
        return
    view.write(at_in_turn(ufunc, view.value, pairs, place, updates, work))


def at_in_turn(ufunc, x, pairs, place, updates, work):
    """x after the stores of `at`, one after another."""
    if ufunc not in UFUNCS:
        raise unknown(ufunc)
    if ufunc is np.power:
        check_exponents(updates[0])
    count = x.type.size
    if not x.type.size or not pairs[0][1].type.size:
        return x
    places = flat(index_arrays(reshape_to(counted((count,)), x.type.shape), pairs, place))

    def body(i, places, *rest):
        *updates, done = rest
        k = last_axis_item(places, i)
        new = UFUNCS[ufunc](cast_to(last_axis_item(done, k), work), *(last_axis_item(u, i) for u in updates))
        return with_item(done, k, cast_to(new, done.type.dtype))

    return reshape_to(run_loop(body, places.type.size, places, *map(flat, updates), flat(x)), x.type.shape)


def reduceat(ufunc, array, indices, axis=0, dtype=None, out=None):
    """Segments [indices[i], indices[i+1]) combined; a[indices[i]] alone where the segment is empty."""
    if isinstance(indices, Traced):
        situation = f"np.{ufunc.__name__}.reduceat with traced indices has segments that depend on data"
        raise UnsupportedError(message(situation, locate(), "Give the indices as a plain array or list."))
    a, indices = traced(array), np.asarray(indices)
    indices = indices if indices.size else indices.astype(np.int64)
    axis = only_axis("reduceat", axis, a.ndim)
    n = a.shape[axis]
    dtype = loop_with(ufunc, a, dtype, out)
    like = verdict(ufunc.reduceat, np.ones(n, a.dtype), indices, 0, dtype)
    ends = [*indices[1:], n]
    rest = [np.arange(i + 1, max(stop, i + 1)) for i, stop in zip(indices, ends)]
    segments = np.repeat(np.arange(len(rest)), [len(k) for k in rest])
    perm = (axis, *(d for d in range(a.ndim) if d != axis))
    x = fresh(transpose(cast_to(a.value, like.dtype), perm=perm))
    done = x[indices]
    if segments.size:
        at(ufunc, done, segments, x[np.concatenate(rest)])
    return give(transpose(done.value, perm=tuple(perm.index(d) for d in range(a.ndim))), out, ufunc.__name__)


HANDLERS.update({"reduce": reduce, "accumulate": accumulate, "outer": outer, "at": at, "reduceat": reduceat})


def reduction(ufunc, dtype=None):
    """The NumPy function that is `ufunc.reduce` over all axes unless told otherwise."""

    def run(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
        return reduce(ufunc, a, axis, dtype, out, keepdims, initial, where)

    return run


