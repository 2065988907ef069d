"""Python's questions about sequences of traced numbers: `any`, `all`, `sorted`, `list.sort`, `in`, `count`, `index`."""

import builtins

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ..common.errors import CannotRoll, UnsupportedError, message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..rewriter.sites import next_site
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.storage import current_trace
from ..values.texts import TracedText, spelled_out
from . import merge, picking, series
from .branch import decided
from .builtins import REPLACED, check, int_, pick, replaces, truth
from .comprehensions import collect
from .convert import CELL
from .open_generators import next_without_effects
from .run import Run

ITEMS = next_site(())


def holds_traced(items):
    return builtins.any(isinstance(i, Traced) for i in items)


def folded(items, test, op, acts=False):
    """`any` (op "or") or `all` (op "and") of tests on items: whichever is known to decide ends it, as in Python.

    acts: a test may change something, which an item behind the one that decides may not.
    """
    decisive = op == "or"
    result = None
    status = current_trace() and current_trace().root.status
    items, nothing = iter(items), object()
    while True:
        item = next(items, nothing) if result is None else next_without_effects(items, nothing)
        if item is nothing:
            break
        if acts and result is not None:
            require_harmless(lambda item=item: test(item))
        answer = test(item)
        known = decided(answer)
        if known is decisive:
            return decisive
        if known is None:
            value = truth(answer).value
            result = value if result is None else OPS[op](result, value)
            before = status.value
        elif result is None:
            continue
        if result is not None and status.value is not before:
            text = (
                "an item after one that may have decided any() or all() can raise an error, which Python would not "
                "have come to"
            )
            raise CannotRoll(message(text, locate(), "Write the loop, with a break."))
    return not decisive if result is None else TracedScalar(result, bool)


def require_harmless(body):
    """Refuse what changes or draws something: Python would perhaps not have come to it."""
    run = Run("item", body, (), choice=True)
    changes = bool(run.heap or run.acts or set(run.writes) - {current_trace().root.status})
    run.close()
    if changes:
        text = "an item after one that may have decided any() or all() changes something, which Python may not come to"
        raise CannotRoll(message(text, locate(), "Write the loop, with a break."))


def _quantifier(real, op):
    def stand_in(iterable, /):
        if isinstance(iterable, TracedArray) and iterable.ndim == 1:
            return TracedScalar(handle(getattr(np, real.__name__)(iterable)).value, bool)
        return folded(iterable, lambda item: item, op)

    return stand_in


REPLACED[any], REPLACED[all] = _quantifier(any, "or"), _quantifier(all, "and")


# -- membership ------------------------------------------------------------------------------------


def contains(x, items):
    """`x in items`, where the answer needs traced numbers compared."""
    if isinstance(items, TracedScalar):
        return 0 in (items.weak or items.dtype.type)(0)  # what Python says of a number
    if isinstance(items, Traced):
        return TracedScalar(np.any(np.equal(items, x)).value, bool)
    if type(items) is str and type(x) is TracedText:
        return spelled_out(x) in items
    if isinstance(items, np.ndarray) and isinstance(x, Traced):
        return contains(x, handle(items))
    if isinstance(items, list | tuple | range) and (isinstance(x, Traced) or holds_traced(items)):
        return folded(items, lambda item: item is x or item == x, "or")
    return x in items


def count(items, x):
    """`items.count(x)` of a list or tuple."""
    return builtins.sum(truth(t) if decided(t := item == x) is None else bool(t) for item in items)


def not_found(nothing):
    """What Python says of a number that it does not find in a sequence, with `{}` for the number where it says which:
    its releases differ."""
    try:
        return str(nothing.index(5))
    except ValueError as error:
        return str(error).replace("5", "{}")


def index(items, x, *bounds):
    """`items.index(x)`."""
    if bounds or not (isinstance(x, Traced) or holds_traced(items)):
        return items.index(x, *bounds)
    place, found = len(items), False
    for n, item in reversed(list(enumerate(items))):
        test = item is x or item == x
        place, found = (
            pick(truth(test), n, place) if decided(test) is None else n if test else place,
            folded((found, test), lambda t: t, "or"),
        )
    if decided(found) is not True:
        form = not_found(range(0) if type(items) is range else [] if isinstance(items, list) else ())
        traced = "{}" in form and isinstance(x, Traced)
        check(
            Lit(False, TRUTH) if decided(found) is False else found.value,
            ValueError,
            form if traced else form.replace("{}", repr(x)),
            x.value if traced and type(x) is TracedScalar and x.weak is int else None,
            (lambda: TracedText(lambda v: form.format(repr(v)), [x], form)) if traced else None,
        )
    return place


# -- order -----------------------------------------------------------------------------------------


@replaces(sorted)
def sorted_(iterable, /, *, key=None, reverse=False):
    """The items of an iterable in order: numbers sorted as one array, others by an array of their keys."""
    items, key = list(iterable), key and CELL.cell_contents.call(key)
    keys = items if key is None else collect(series.as_listed(items, True), key, ITEMS)
    if not holds_traced(keys):
        if key is None:
            return builtins.sorted(items, reverse=reverse)
        # each key is asked for once
        return [items[n] for n in builtins.sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)]
    spec = merge.common_spec(keys)
    if spec is None or merge.type_of(spec).kind == "c" or key is not None and not picking.can_choose(items):
        what = (
            f"by a key of {len(keys)} traced values"
            if key is not None
            else "of things other than traced numbers of one type"
        )
        hint = "Use arrays: x[np.argsort(keys)]."
        raise UnsupportedError(
            message(f"sorted() {what}: the order is known only when the program runs", locate(), hint)
        )
    array = picking.stacked(keys, spec)
    if array.dtype.kind == "f":
        text = "sorted() met a NaN, whose place Python leaves to chance; np.sort puts it last"
        check(OPS["not"](np.isnan(array).any().value), UnsupportedError, text)
    if key is not None:
        order = np.argsort(array[::-1], kind="stable")[::-1] if reverse else np.argsort(array, kind="stable")
        return picking.in_traced_order(items, len(items) - 1 - order if reverse else order)
    array = np.sort(array)
    return picking.rows(array[::-1] if reverse else array, spec)


def extreme_by_key(real, iterable, key):
    """max() or min() by a key, where data decide; NotImplemented where they do not."""
    items = list(iterable)
    keys = collect(series.as_listed(items, True), CELL.cell_contents.call(key), ITEMS)
    spec = merge.common_spec(keys) if len(items) > 1 and holds_traced(keys) else None
    if spec is None or merge.type_of(spec).kind == "c" or not picking.can_choose(items):
        first = range(len(items))
        return items[real(first, key=keys.__getitem__)] if items else real(items, key=key)
    array = picking.stacked(keys, spec)
    if array.dtype.kind == "f":  # of which Python takes one for the best if it comes first
        array = np.where(np.isnan(array), -np.inf if real is max else np.inf, array)
        array = np.where(np.isnan(keys[0]), np.zeros_like(array), array)
    best = np.argmax(array) if real is max else np.argmin(array)
    return picking.choose_item(items, TracedScalar(best.value, int))


def sort(items, /, *, key=None, reverse=False):
    """`items.sort()` of a list with traced numbers."""
    items[:] = sorted_(items, key=key, reverse=reverse)


LIST_METHODS = {"sort": sort, "count": count, "index": index}


def is_traced_list(owner, name):
    """Whether a method of `owner` is to be one of those."""
    return type(owner) in (list, tuple) and name == "index" or isinstance(owner, list | tuple) and holds_traced(owner)


# -- what only Python's own numbers do -------------------------------------------------------------


def halves(a):
    """a as the sum of two numbers of 26 digits each, whose products are exact."""
    t = a * 134217729.0
    high = t - (t - a)
    return high, a - high


def rounded(x, digits):
    """round(x, digits) of a Python float: the float nearest the decimal that is nearest to x itself.

    x * 10^digits is rounded before it is looked at; where that makes it a tie, the error of the product
    says on which side of the tie x lies (Dekker 1971, A floating-point technique for extending the
    available precision).
    """
    if not 0 <= digits <= 22:
        raise UnsupportedError(message(f"round(x, {digits}) of a traced Python float", locate(), "Use np.round(x, n)."))
    p = 10.0**digits
    y, low = x * p, np.floor(x * p)
    (xh, xl), (ph, pl) = halves(x), halves(p)
    error = ((xh * ph - y) + xh * pl + xl * ph) + xl * pl
    k = np.where(y - low == 0.5, np.where(error > 0, low + 1, np.where(error < 0, low, np.rint(y))), np.rint(y))
    return TracedScalar(np.where(np.abs(y) < 2.0**52, k / p, x).value, float)


@replaces(round)
def round_(x, ndigits=None):
    if not isinstance(x, TracedScalar):
        return builtins.round(x) if ndigits is None else builtins.round(x, ndigits)
    if x.type.kind == "c" or x.type.small or x.type.kind == "b" and x.weak is None:
        home = "ml_dtypes" if x.type.small else "numpy"
        name = "complex" if x.weak else f"{home}.{x.type.dtype.type.__name__}"
        raise with_note(TypeError, message(f"type {name} doesn't define __round__ method", locate()))
    if ndigits is not None:
        return rounded(x, ndigits) if x.weak is float else TracedScalar(np.round(x, ndigits).value, x.weak)
    return int_(np.rint(x)) if x.type.kind == "f" else int_(x)
