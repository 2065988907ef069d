"""`xs[i]` of a list, tuple, range or dict, where data decide i: numbers are gathered, other things chosen between."""

import numpy as np

from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle, is_traced
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.beyond import far
from ..values.elements import Element, RowRun
from ..values.ranges import interval
from ..values.storage import current_trace
from . import merge
from .branch import choose
from .builtins import check

CHOICES = 64  # things at most that are chosen between one by one


def is_index(key):
    """Whether a key is an integer that data decide."""
    if type(key) is TracedScalar:
        return (key.weak in (int, bool) if key.weak else key.type.kind in "iu") and key.known() is None
    return type(key) is TracedArray and not key.shape and key.type.kind in "iu" and key.known() is None


def pick_item(items, index, text=None):
    """Item number `index` of a list, tuple or range; IndexError where there is none, with Python's text or `text`."""
    kind = "range object" if type(items) is range else type(items).__name__
    text = text or f"{kind} index out of range"
    n, k = len(items), TracedScalar(handle(index).astype(np.int64).value, int)
    if index.type.dtype == np.uint64:
        check((index <= np.uint64(2**63 - 1)).value, IndexError, text)
    known = interval(k.value)
    if known is not None and 0 <= known[0] and known[1] < n:
        return items.start + items.step * k if type(items) is range and items != range(n) else choose_item(items, k)
    check(np.logical_and(-n <= k, k < n).value, IndexError, text)
    at = TracedScalar(np.where(k < 0, k + n, k).value, int)
    if n == 0:
        raise with_note(IndexError, message(text, locate()))
    if type(items) is range:
        return items.start + items.step * at
    return choose_item(items, at)


def choose_item(items, at):
    """One of at least one thing, `at` a Python int in range."""
    if type(items) is range and items == range(len(items)):
        return at
    spec = merge.common_spec(items)
    if spec is not None:
        return number_of(stacked(items, spec)[at].value, spec)
    if all(type(x) is tuple and len(x) == len(items[0]) for x in items):
        return tuple(choose_item(column, at) for column in zip(*items))
    if all(x is items[0] for x in items):
        return items[0]
    if len(items) > CHOICES:
        return items[at]  # which says that it is not known
    result = lambda: items[-1]
    for n, x in reversed(list(enumerate(items[:-1]))):
        result = lambda n=n, x=x, others=result: choose(at == n, lambda: x, others)
    return result()


def number_of(value, spec):
    return TracedScalar(value, spec[1] if spec[0] == "weak" else None)


def can_choose(items):
    """Whether `chosen` has an answer for these, whatever the index."""
    return len(items) <= CHOICES or merge.common_spec(items) is not None or (
        type(items[0]) is tuple
        and all(type(x) is tuple and len(x) == len(items[0]) for x in items)
        and all(merge.common_spec(column) is not None for column in zip(*items))
    )


def rows(array, spec):
    """The numbers of an array as a list."""
    run = RowRun(array.value, 0, (len(array),), (list,), spec[1] if spec[0] == "weak" else None, False)
    return run.items(current_trace())


def in_traced_order(items, order):
    """The items in an order that data decide: an array of their numbers."""
    spec = merge.common_spec(items)
    if spec is not None:
        return rows(stacked(items, spec)[order], spec)
    if all(type(x) is tuple and len(x) == len(items[0]) for x in items):
        return list(zip(*[in_traced_order(column, order) for column in zip(*items)]))
    return [choose_item(items, TracedScalar(order[n].value, int)) for n in range(len(items))]


def stacked(items, spec):
    """Numbers of one spec as an array, made in the outermost trace that has them all."""
    if not is_traced(items):
        return handle(np.array(items, merge.type_of(spec).dtype))
    trace = current_trace()
    values = [x._value for x in items if isinstance(x, Traced)]
    values = {v.whole if type(v) is Element else v for v in values}
    while trace.parent is not None and not any(v in trace.build.values for v in values):
        trace = trace.parent
    with trace:
        return handle(list(items)).astype(merge.type_of(spec).dtype, copy=False)


def looked_up(owner, key):
    """`owner[key]` of a dict of numbers as keys; KeyError where there is none."""
    keys = np.array(list(owner))
    found = keys == key
    quoted = key.value if type(key) is TracedScalar and key.weak is int else None
    text = "the dict has no such key" if quoted is None else "{}"
    check(np.any(found).value, KeyError, text, quoted, lambda: key)
    return choose_item(list(owner.values()), TracedScalar(np.argmax(found).value, int))


def has_number_keys(owner):
    return bool(owner) and all(type(k) is int and not far(k) for k in owner)
