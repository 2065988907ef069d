"""Python's own functions that go through many items, written as the loops they are: captured like any loop of the
user's.

The functions below `# -- loops` are converted as the user's are; the items come from a `Generated`.
"""

import functools
import itertools
import math
import operator

import numpy as np

from ..common.errors import message, with_note
from ..common.frames import locate
from ..extents import numbers
from ..guards import state
from ..guards.state import own
from ..numpy_api.handles import is_traced
from ..numpy_api.registry import call_function
from ..rewriter.sites import next_site
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.elements import MANY
from ..values.storage import current_trace
from . import series
from .bounded_lists import bounded_list
from .budget import spent_on
from .builtins import REPLACED, replaces, sum_
from .compensated import before_adding, with_lost, with_rounding
from .comprehensions import collect, decided_by_data
from .convert import CELL, convert
from .growing import gone_through, shown_whole
from .open_generators import refuse_to_share
from .sequences import extreme_by_key, folded
from .stand_ins import Listing, Zipped

ITEMS = next_site(())


class Generated:
    """`(elt(x) for x in items if test(x))`, not begun."""

    def __init__(self, items, elt, number, test=None):
        self.items, self.elt, self.number, self.test = items, elt, number, test

    def plain(self):
        """The generator that Python would make."""
        elt, test = self.elt, self.test
        return (elt(x) for x in spent_on(iter(self.items)) if test is None or test(x))

    @property
    def many(self):
        """How many items there are, where a loop over them is to be captured; else None. Data may decide it."""
        if current_trace() is None or not series.rollable(self.items):
            return None
        count = series.length(self.items)
        if count is None:
            return numbers.traced(series.count_of(self.items))
        few = count <= MANY and not (count and self.test is not None and decided_by_data(self.items, self.test))
        return None if few else count


def generated(items, elt, number, test=None):
    return Generated(items, elt, number, test)


def fed(f):
    """What to call in place of f, the first argument of which is a generator expression."""
    return functools.partial(feed, f)


def feed(f, generator, *args, **kwargs):
    """`f(generator, *args, **kwargs)`"""
    items = generator.items
    found = gone_through_by(f, generator, *args, **kwargs)
    if isinstance(found, Traced) and f in (any, all) and hasattr(type(items), "__next__"):
        refuse_to_share(items, {})
    return found


def gone_through_by(f, generator, *args, **kwargs):
    fold = FOLDS.get(f) if type(f) in KINDS and current_trace() is not None else None
    if fold is not None:
        generator.items = series.series_of(gone_through(generator.items))
        count = generator.many
        if isinstance(count, int) and series.taken_from(generator.items):  # which the expression might change
            if f not in QUANTIFIERS:
                values = collect(generator.items, generator.elt, generator.number, test=generator.test)
                return CELL.cell_contents.call(f)(values, *args, **kwargs)
        elif count is not None:
            found = fold(generator, count, *args, **kwargs)
            if found is not NotImplemented:
                return found
        if f in QUANTIFIERS and generator.test is None and not args and not kwargs:
            return folded(generator.items, generator.elt, QUANTIFIERS[f], True)
    return CELL.cell_contents.call(f)(generator.plain(), *args, **kwargs)


KINDS = (type(sum), type, type(np.sum))
FOLDS, QUANTIFIERS = {}, {any: "or", all: "and"}


def folds(f):
    def register(stand_in):
        FOLDS[f] = stand_in
        return stand_in

    return register


def surely(g, count):
    """Whether there is a first item."""
    return g.test is None and isinstance(count, int)


@folds(sum)
def sum_of(g, count, /, start=0):
    g.items = series.begun(g.items)
    return convert(sum_loop if surely(g, count) else sum_where_loop)(g, start, count)


@folds(math.prod)
def product_of(g, count, /, *, start=1):
    g.items = series.begun(g.items)
    return convert(product_loop if surely(g, count) else product_where_loop)(g, start, count)


def extreme_of(loop, g, count):
    g.items = series.begun(g.items)
    return convert(loop)(g, count)


def folds_extreme(f):
    def stand_in(g, count, **more):
        if more or not surely(g, count):
            return CELL.cell_contents.call(f)(collect(g.items, g.elt, g.number, test=g.test), **more)
        return extreme_of(LOOPS[f], g, count)

    FOLDS[f] = stand_in


folds_extreme(max)
folds_extreme(min)


@folds(any)
def any_of(g, count):
    g.items = series.begun(g.items, True)
    return convert(any_loop)(g, count, g.test is not None)


@folds(all)
def all_of(g, count):
    g.items = series.begun(g.items, True)
    return convert(all_loop)(g, count, g.test is not None)


@folds(list)
def list_of(g, count):
    return collect(g.items, g.elt, g.number, test=g.test)


@folds(tuple)
def tuple_of(g, count):
    return tuple(shown_whole(collect(g.items, g.elt, g.number, test=g.test)))


@folds(sorted)
def sorted_of(g, count, **more):
    return CELL.cell_contents.call(sorted)(list_of(g, count), **more)


@folds(np.fromiter)
def fromiter_of(g, n, /, dtype, *args, **more):
    found = list_of(g, n)
    if (held := bounded_list(found)) is not None and not args and not more:
        return held.array().astype(dtype)
    return fromiter(shown_whole(found), dtype, *args, **more)


@replaces(np.fromiter)
def fromiter(iter, dtype, count=-1, *, like=None):
    """An array of one axis of what an iterable gives."""
    items = list(iter) if count < 0 else list(itertools.islice(iter, count))
    if not any(is_traced(x) for x in items):
        return np.fromiter(items, dtype, count, like=like)
    if len(items) < count:
        text = f"iterator too short: Expected {count} but iterator had only {len(items)} items."
        raise with_note(ValueError, message(text, locate()))
    if any(getattr(x, "ndim", 0) for x in items):
        raise with_note(ValueError, message("setting an array element with a sequence.", locate()))
    return call_function(np.array, (items, dtype), {})


# -- of things that are there ----------------------------------------------------------------------


def many(x):
    """(a Generated of many numbers, or None; what is left to run over if there is none)"""
    if current_trace() is None or isinstance(x, TracedArray) and x.ndim != 1:
        return None, x
    x = series.series_of(x)
    g = Generated(x, None, ITEMS)
    if not isinstance(g.many, int):
        return None, x
    g.items = series.begun(g.items)
    return g, x


@replaces(list)
def list_(*args):
    if len(args) == 1 and type(args[0]) is TracedScalar:
        kind = args[0].weak or args[0].dtype.type
        name = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
        raise with_note(TypeError, message(f"'{name}' object is not iterable", locate()))
    if len(args) == 1 and isinstance(args[0], Zipped) and series.rollable(args[0]):
        return collect(args[0], itself, ITEMS)
    return own(list(*args))


@replaces(tuple)
def tuple_(*args):
    return tuple(list_(*args)) if args and isinstance(args[0], Zipped) else tuple(*args)


def itself(x):
    return x


@replaces(sum)
def sum_as_given(*args, **kwargs):
    if len(args) not in (1, 2) or kwargs.keys() - ({"start"} if len(args) == 1 else ()):
        return sum(*args, **kwargs)  # raises what Python says of it
    return sum_many(*args, **kwargs)


def sum_many(iterable, /, start=0):
    g, iterable = many(iterable) if not isinstance(iterable, Traced) else (None, iterable)
    return sum_(iterable, start) if g is None else convert(sum_loop)(g, start, g.many)


def replace_extreme(f, few):
    def stand_in(*args, **kwargs):
        g = None
        by_key = len(args) == 1 and kwargs.get("key") is not None and current_trace() is not None
        if by_key and not (isinstance(args[0], Traced) and args[0].ndim != 1):
            items = list(args[0])
            return extreme_by_key(f, items, kwargs["key"]) if items else f(items, **kwargs)
        if len(args) == 1 and not kwargs and not (isinstance(args[0], Traced) and len(args[0].shape) != 1):
            g, *args = many(args[0])
        return few(*args, **kwargs) if g is None else convert(LOOPS[f])(g, g.many)

    REPLACED[f] = stand_in


replace_extreme(max, REPLACED[max])
replace_extreme(min, REPLACED[min])


@replaces(functools.reduce)
def reduce_(function, iterable, *initial):
    function = CELL.cell_contents.call(function)
    g, iterable = many(iterable)
    if g is None:
        return functools.reduce(function, iterable, *initial)
    start = initial[0] if initial else series.item(g.items, 0)
    return convert(reduce_loop)(g, function, start, 0 if initial else 1, g.many)


@replaces(itertools.accumulate)
def accumulate_(iterable, func=operator.add, *, initial=None):
    function = CELL.cell_contents.call(func)
    g, iterable = many(iterable)
    if g is None:
        return itertools.accumulate(iterable, function, initial=initial)
    held = {"total": initial if initial is not None else series.item(g.items, 0)}

    def step(k):
        state.set_item(held, "total", found := function(held["total"], series.item(g.items, k)))
        return found

    found = [held["total"], *collect(range(initial is None, g.many), step, ITEMS)]
    return Listing((found,), iter(found))


def item_at(g, k):
    """The k-th item."""
    return series.item(g.items, k)


def value_of_item(g, x):
    """What the expression gives for an item."""
    return x if g.elt is None else g.elt(x)


def test_of(g, x):
    return g.test is None or g.test(x)


REPLACED |= {f: f for f in (item_at, value_of_item, test_of, before_adding, with_rounding, with_lost)}


# -- loops -----------------------------------------------------------------------------------------


def sum_loop(g, start, count):
    x = value_of_item(g, item_at(g, 0))
    total, lost = start + x, 0.0
    lost = with_rounding(lost, start, x, total)
    for k in range(1, count):
        x = value_of_item(g, item_at(g, k))
        total = before_adding(total, x, lost)
        after = total + x
        lost = with_rounding(lost, total, x, after)
        total = after
    return with_lost(total, lost)


def sum_where_loop(g, start, count):
    lost = 0.0
    for k in range(count):
        x = item_at(g, k)
        if test_of(g, x):
            x = value_of_item(g, x)
            start = before_adding(start, x, lost)
            after = start + x
            lost = with_rounding(lost, start, x, after)
            start = after
    return with_lost(start, lost)


def product_loop(g, start, count):
    start = start * value_of_item(g, item_at(g, 0))
    for k in range(1, count):
        start = start * value_of_item(g, item_at(g, k))
    return start


def product_where_loop(g, start, count):
    for k in range(count):
        x = item_at(g, k)
        if test_of(g, x):
            start = start * value_of_item(g, x)
    return start


def max_loop(g, count):
    best = value_of_item(g, item_at(g, 0))
    for k in range(1, count):
        x = value_of_item(g, item_at(g, k))
        best = x if x > best else best
    return best


def min_loop(g, count):
    best = value_of_item(g, item_at(g, 0))
    for k in range(1, count):
        x = value_of_item(g, item_at(g, k))
        best = x if x < best else best
    return best


def any_loop(g, count, tested):
    for k in range(count):
        x = item_at(g, k)
        if not tested or test_of(g, x):
            if value_of_item(g, x):
                return True
    return False


def all_loop(g, count, tested):
    for k in range(count):
        x = item_at(g, k)
        if not tested or test_of(g, x):
            if not value_of_item(g, x):
                return False
    return True


def reduce_loop(g, function, start, first, count):
    for k in range(first, count):
        start = function(start, item_at(g, k))
    return start


LOOPS = {max: max_loop, min: min_loop}
