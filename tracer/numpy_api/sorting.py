"""Sorting and searching. Where NumPy was not asked to keep ties in order, they may come out in another one: XLA keeps
it.

NaN is last; complex numbers are ordered by real, then imaginary part, those with a NaN behind the others.
"""

import operator

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ...ir.ops import reduction as r
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.indexing import index_arrays
from ...ir.ops.shape import iota
from ...ir.ops.sorting import sort as sort_op
from ...ir.setting import OF_ALL_SIZES
from ...ir.types import Tensor
from ..common.emit import cast_to, reshape_to, spread_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import TracedScalar, fresh, wrap
from ..values.layout import laid_as
from ..values.promote import UFUNCS
from ..values.storage import current_trace
from .arguments import axis_of, flat, sample_of, traced, verdict
from .handles import dtype_of, is_traced, value_of
from .registry import implements
from .ufunc_rules import everywhere, is_nan

PLACE = np.dtype(np.int64)
COMPARED = 16  # a sorted array up to this length is compared as a whole; a longer one is searched by halves


# -- sorting values --------------------------------------------------------------------------------


def keys_of(x):
    """Real values whose lexicographic order is the order of x."""
    if x.type.kind != "c":
        return (x,)
    re, im = e.real(x), e.imag(x)
    level = cast_to(is_nan(im), np.dtype(np.int8)) + 2 * cast_to(is_nan(re), np.dtype(np.int8))
    return level, re, im


def sorted_along(x, axis, *others, stable=True):
    """x in order along `axis`, and other values carried along; a tuple if there are any."""
    keys = keys_of(x)
    out = sort_op(*keys, *others, axis=axis, num_keys=len(keys), stable=stable)
    x = out[0] if len(keys) == 1 else e.make_complex(out[1], out[2])
    return (x, *out[len(keys) :]) if others else x


def order_along(keys, axis, stable=True):
    """The permutation along `axis` that sorts by the first value, at ties by the next."""
    keys = [k for x in keys for k in keys_of(x)]
    places = iota(shape=keys[0].type.shape, axis=axis, dtype=PLACE)
    return sort_op(*keys, places, axis=axis, num_keys=len(keys), stable=stable)[-1]


def subject(function, a, axis, *args, **kwargs):
    """(value, axis) to sort, after NumPy has seen the arguments; flattened for axis None."""
    a = traced(a)
    verdict(function, sample_of(a), *args, axis=axis, **kwargs)
    return (flat(a.value), 0) if axis is None or not a.ndim else (a.value, axis_of(axis, a.ndim))


@implements(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None, **descending):
    return laid_as(sorted_values(a, axis, kind, order, stable, descending), [a], fresh)


@implements(method="sort")
def sort_in_place(a, axis=-1, kind=None, order=None, *, stable=None, **descending):
    x = sorted_values(a, axis, kind, order, stable, descending)
    in_place(a, axis).write(x)


def sorted_values(a, axis, kind, order, stable, descending):
    x, axis = subject(np.sort, a, axis, kind=kind, order=order, stable=stable, **descending)
    turn = opposed if descending.get("descending") else lambda x: x
    return turn(sorted_along(turn(x), axis, stable=keeps_ties(kind, stable)))


def opposed(x):
    """Its elements made others that sort the opposite way, equal ones as equal, NaNs last: what `descending=` (since
    NumPy 2.5) asks for."""
    return e.neg(x) if x.type.kind in "fc" else e.not_(x)


def keeps_ties(kind, stable):
    """Whether NumPy was asked to leave equal elements as they came."""
    return bool(stable) or kind is not None and str(kind)[:1] in "sSmM"


def in_place(a, axis):
    """The array that a method is to sort; NumPy's scalars have the method, and no axis."""
    axis = operator.index(axis)
    if type(a) is TracedScalar:
        axis_of(axis, 0)
    return a


@implements(np.argsort, method="argsort")
def argsort(a, axis=-1, kind=None, order=None, *, stable=None, **descending):
    x, axis = subject(np.argsort, a, axis, kind=kind, order=order, stable=stable, **descending)
    return fresh(order_along([opposed(x) if descending.get("descending") else x], axis, keeps_ties(kind, stable)))


def check_kth(x, axis, kth):
    if not isinstance(kth, int):
        kth = np.asarray(kth)
    if x.type.size:
        verdict(np.partition, np.empty(x.type.shape[axis]), kth)


@implements(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    """A full sort: what NumPy leaves in any order is in order."""
    x, axis = subject(np.sort, a, axis, order=order)
    check_kth(x, axis, kth)
    return laid_as(sorted_along(x, axis), [a], fresh)


@implements(method="partition")
def partition_in_place(a, kth, axis=-1, kind="introselect", order=None):
    in_place(a, axis).write(partition(a, kth, axis, kind, order).value)


@implements(np.argpartition, method="argpartition")
def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    x, axis = subject(np.argsort, a, axis, order=order)
    check_kth(x, axis, kth)
    return fresh(order_along([x], axis))


@implements(np.lexsort)
def lexsort(keys, axis=-1):
    """The permutation that sorts by the last key, at ties by the one before."""
    keys = [value_of(k) for k in (keys if isinstance(keys, list | tuple) else list(traced(keys)))]
    if not keys:
        raise with_note(TypeError, message("need sequence of keys with len > 0 in lexsort", locate()))
    if any(k.type.shape != keys[0].type.shape for k in keys):
        raise with_note(ValueError, message("all keys need to be the same shape", locate()))
    if not keys[0].type.shape:
        return wrap(Lit(0, keys[0].type.like(dtype=PLACE)))
    return fresh(order_along(keys[::-1], axis_of(axis, keys[0].type.ndim)))


@implements(np.sort_complex)
def sort_complex(a):
    a = traced(a)
    found = sort(a).value
    return fresh(
        found
        if a.dtype.kind == "c"
        else cast_to(found, np.dtype(np.complex64 if a.dtype.char in "bhBH" else np.complex128))
    )


# -- searching -------------------------------------------------------------------------------------


def sorts_before(x, y):
    """x < y in the order of sorting, where NaN is last."""
    less = UFUNCS[np.less](x, y)
    return e.or_(less, e.and_(is_nan(y), e.not_(is_nan(x)))) if x.type.inexact else less


def places_in(a, v, side="left"):
    """How many elements of the sorted a, a value with one axis, come before each of v; for side "right" those equal to
    it too."""
    n, shape = a.type.shape[0], v.type.shape
    ahead = sorts_before if side == "left" else lambda x, y: e.not_(sorts_before(y, x))
    if OF_ALL_SIZES.get() and n:
        return halved(a, v, ahead)
    if n <= COMPARED:
        rows = spread_to(reshape_to(v, (*shape, 1)), (*shape, n))
        return r.reduce_sum(cast_to(ahead(spread_to(a, rows.type.shape), rows), PLACE), axes=(len(shape),))
    found = Lit(0, v.type.like(dtype=PLACE))
    for k in range(n.bit_length() - 1, -1, -1):
        further = found + (1 << k)
        there = index_arrays(a, [(0, e.minimum(further, Lit(n, further.type)) - 1)], mode="promise")
        found = e.select(e.and_(e.le(further, n), ahead(there, v)), further, found)
    return found


def halved(a, v, ahead):
    """The same by a loop, which is one program whatever the length of a is."""

    def at(a, i):
        return index_arrays(a, [(0, i)], mode="promise")

    def step(_, a, v, left, found):
        half = e.shift_right(left, Lit(1, left.type))
        further = found + spread_to(half, found.type.shape)
        return e.sub(left, half), e.select(ahead(at(a, further - 1), v), further, found)

    more = lambda _, a, v, left, found: e.gt(left, Lit(1, left.type))
    left, found = Lit(a.type.shape[0], Tensor((), PLACE)), Lit(0, v.type.like(dtype=PLACE))
    types = [COUNTER, a.type, v.type, left.type, found.type]
    _, found = loop(
        *(a, v, left, found),
        body=region(step, types),
        test=region(more, types, "more"),
        carried=2,
        bound=PLACE.itemsize * 8,
    )
    return found + cast_to(ahead(at(a, found), v), PLACE)


@implements(np.searchsorted, method="searchsorted")
def searchsorted(a, v, side="left", sorter=None):
    dtype = np.promote_types(dtype_of(a), dtype_of(v))
    a, v = traced(a), traced(v)
    verdict(np.searchsorted, sample_of(a), sample_of(v), side)
    if sorter is not None:
        a = a[sorter]
    return wrap(places_in(cast_to(a.value, dtype), cast_to(v.value, dtype), "right" if side[:1] in "rR" else "left"))


@implements(np.digitize)
def digitize(x, bins, right=False):
    """Which bin each x falls into; bins rise or fall."""
    if dtype_of(x).kind == "c":
        raise with_note(TypeError, message("x may not be complex", locate()))
    side = "left" if right else "right"
    if not is_traced(bins):  # known: one search
        bins = np.asarray(bins)
        verdict(np.digitize, np.zeros(0), bins)
        if bins.size and bins[0] > bins[-1]:
            return len(bins) - searchsorted(bins[::-1], x, side)
        return searchsorted(bins, x, side)
    bins = traced(bins)
    if bins.dtype.kind == "c":
        raise with_note(
            TypeError,
            message(
                f"Cannot cast array data from {bins.dtype!r} to dtype('float64') according to the rule 'safe'", locate()
            )
        )
    if bins.ndim != 1:
        raise with_note(
            ValueError,
            message(
                "object of too small depth for desired array" if not bins.ndim else "object too deep for desired array",
                locate(),
            )
        )
    rising, falling = (everywhere((~turns).value) for turns in (bins[1:] < bins[:-1], bins[1:] > bins[:-1]))
    current_trace().check(
        e.or_(rising, falling), ValueError, message("bins must be monotonically increasing or decreasing", locate())
    )
    up, down = searchsorted(bins, x, side), len(bins) - searchsorted(bins[::-1], x, side)
    return wrap(e.select(spread_to(rising, up.shape), up.value, down.value))
