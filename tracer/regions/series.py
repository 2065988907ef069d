"""What a captured `for` runs over: ranges, arrays, `enumerate`, `zip`, `reversed` and products of them, each with its
k-th item."""

import functools
import itertools
import math

import numpy as np

from ..common.errors import CannotRoll, ConcretizationError, message
from ..common.frames import locate
from ..extents import numbers
from ..extents.bounded import BoundedArray
from ..numpy_api.handles import handle, is_traced
from ..numpy_api.memory import Flat
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.elements import MANY
from ..values.ranges import interval
from ..values.sized_range import SizedRange
from ..values.storage import Storage, current_trace
from . import merge
from .stand_ins import (
    Chain,
    Counting,
    Endless,
    Islice,
    Listing,
    MappedSeries,
    Pairwise,
    Reversed,
    Selected,
    Zipped,
)


class TracedRange:
    """range() of which a bound is traced."""

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def __iter__(self):
        raise ConcretizationError(
            message(
                "range() of a traced number has a length known only when the program runs",
                locate(),
                "A `for` statement can run over it; for lists and sums write such a loop, or pass the bound as an "
                "int\nargument, which is static.",
            )
        )


class Product(Zipped):
    """itertools.product or np.ndindex: the last part runs fastest."""

    def items(self, k):
        stride = math.prod(map(length, self.parts))
        for n, part in enumerate(self.parts):
            count = length(part)
            stride //= max(count, 1)
            at = k // stride if stride > 1 else k
            at = at % count if n and count else at
            if isinstance(at, TracedScalar) and at.value.eqn is not None:
                numbers.bounded(at.value, 0, count - 1)
            yield item(part, at)


class Listed:
    """The items of a list: numbers of one spec, or tuples with such in each place, each place as an array.

    first: the number of the first item of that spec; `xs = [0.0]` may be of another than what was appended.
    """

    __slots__ = ("columns", "first", "items")  # so that it is what refers to the list

    def __init__(self, items, columns, first=0):
        self.items, self.first, self.columns = items, first, [(column_of(s, column), s) for s, column in columns]

    def __iter__(self):
        return iter(self.items)

    def at(self, k):
        """The k-th item, k traced."""
        if self.first:
            known = interval(k.value)
            if known is None or known[0] < self.first:
                raise CannotRoll(message("the first item of a list is of another type than the others", locate()))
            k = k - self.first
        found = tuple(
            item(x, k) if type(x) is range else TracedScalar(x[k].value, s[1] if s[0] == "weak" else None)
            for x, s in self.columns
        )
        return found if type(self.items[0]) is tuple else found[0]


def column_of(s, column):
    """Numbers of one spec as a range or an array."""
    if s == ("weak", int) and (found := progression(column)) is not None:
        return found
    return handle(column if is_traced(column) else np.array(column, merge.type_of(s).dtype))


def progression(column):
    """Ints of one step as a range, or None."""
    if any(type(x) is not int for x in column) or len(column) < 2 or (step := column[1] - column[0]) == 0:
        return None
    found = range(column[0], column[0] + step * len(column), step)
    return found if list(found) == list(column) else None


class Scanned(Zipped):
    """np.nditer of one array: its elements as arrays without axes, that may not be written."""

    def __init__(self, x):
        line = x.reshape(-1)
        super().__init__((line,), (scanned(line, k) for k in range(len(line))))


def scanned(line, k):
    if isinstance(k, Traced):  # a view cannot be told from a copy where no trip keeps it
        return TracedArray(Storage(line[k].value, current_trace(), None, True))
    found = line[k : k + 1].reshape(())
    shown = found.shadow.view()
    shown.flags.writeable = False
    return TracedArray(found.storage, found.chain, found.type, shown)


def as_listed(x, plain=False):
    """The Listed of a list or tuple of many numbers, some of them traced if not `plain`; of anything else itself."""
    if type(x) is SizedRange:
        return x.shown()
    if type(x) not in (list, tuple) or len(x) <= MANY:
        return x
    for first in (0, 1):
        columns = columns_of(x[first:])
        if columns is not None:
            traced = plain or any(isinstance(i, Traced) for _, column in columns for i in column)
            return Listed(x, columns, first) if traced else x
    return x


def columns_of(x):
    """[(spec, numbers)] for each place of the items, None where they are no numbers of one spec."""
    rows = [i if type(i) is tuple else (i,) for i in x]
    if len({(type(i) is tuple, len(r)) for i, r in zip(x, rows)}) != 1 or not rows[0]:
        return None
    specs = [(merge.common_spec(column), column) for column in zip(*rows)]
    return None if any(s is None for s, _ in specs) else specs


# that hold what they are made of: nothing that a loop does to that is to be seen
POOLS = itertools.combinations, itertools.permutations, itertools.combinations_with_replacement, itertools.product
LIMIT = 50_000


def series_of(x, early=False):
    """What a loop can run over as a series in place of x, or what it is to run over trip by trip; early: the loop may
    end before its items do."""
    if type(x) is Flat:
        return x.series()
    if type(x) in POOLS and not early:
        head = list(itertools.islice(x, LIMIT))
        found = as_listed(head)
        return found if len(head) < LIMIT else itertools.chain(head, x)
    return as_listed(x, True)


def rollable(x):
    """Whether a loop over x can be captured as one: its items are a function of their number."""
    if isinstance(x, Chain):
        return x.parts is not None and of_one_spec(x.parts)
    if isinstance(x, Counting | Endless):
        return x.parts is not None
    if isinstance(x, Listing):
        return x.parts is not None and type(as_listed(x.parts[0], True)) is Listed
    if isinstance(x, Zipped):
        return x.parts is not None and all(map(rollable, x.parts))
    if isinstance(x, TracedArray | BoundedArray) or type(x) is np.ndarray:
        return x.ndim > 0
    return isinstance(x, range | TracedRange | Listed)


def of_one_spec(parts):
    """Whether the items of all parts are numbers of one spec."""
    specs = set()
    for p in parts:
        single = type(p) is Listed and not p.first and len(p.columns) == 1 and type(p.items[0]) is not tuple
        specs.add(p.columns[0][1] if single else ("strong", p.dtype) if type(p) is TracedArray and p.ndim == 1 else None)  # noqa: E501
    return len(specs) == 1 and None not in specs


def begun(x, early=False):
    """A series for a loop of its own: an iterator has nothing left for others. early: the loop may end before it."""
    if type(x) is Listed and type(x.items) is list:  # which may have changed since
        found = as_listed(x.items, True)
        if type(found) is not Listed:
            raise CannotRoll(message("a list that a loop goes through has changed before it", locate()))
        return found
    if isinstance(x, Listing):
        return begun(as_listed(x.parts[0], True), early)
    if isinstance(x, Counting):
        return x
    found = x.begun(early, begun) if isinstance(x, Zipped) else x
    if type(found) is Chain:
        found.whole = np.concatenate([handle(p.columns[0][0] if type(p) is Listed else p) for p in found.parts])
    return found


def taken_from(x):
    """The lists, and the memory of arrays, whose numbers a loop has as they were when it began."""
    if type(x) is Chain:
        return [y for p in x.parts for y in (taken_from(p) or [p.storage] * isinstance(p, TracedArray))]
    if isinstance(x, Counting):
        return [x.parts[0].owner]
    if isinstance(x, Zipped):
        return [y for p in x.parts for y in taken_from(p)]
    return [x.items] if type(x) is Listed and type(x.items) is list else []


def length(x):
    """How many items: an int, math.inf, or None where it is known at run time only."""
    if isinstance(x, Counting):
        return None
    if isinstance(x, Endless):
        return math.inf
    if isinstance(x, Selected | Islice):
        return len(x.kept)
    if isinstance(x, Chain):
        return sum(map(length, x.parts))
    if isinstance(x, Pairwise):
        return max(length(x.parts[0]) - 1, 0)
    if isinstance(x, Zipped):
        counts = [length(p) for p in x.parts]
        return None if None in counts else (math.prod if isinstance(x, Product) else min)(counts)
    if type(x) is BoundedArray:
        return x.shape[0] if isinstance(x.shape[0], int) else None
    return None if isinstance(x, TracedRange) else len(x.items if type(x) is Listed else x)


def length_now(x, lists, before):
    """The same while a loop goes through it, which has changed lists that it is made of: lists has each of these, and
    how long it was; before: what it came to then."""
    if all(len(found) == n for found, n in lists):
        return before
    if type(x) in (Listed, Zipped, MappedSeries):
        return length(x)
    raise CannotRoll(message("a list that a loop goes through in another order gets longer or shorter in it", locate()))


def item(x, k):
    """The k-th item, for an int or a traced Python int known to be in range."""
    if isinstance(x, Counting):
        return x.parts[0].item(k)
    if isinstance(x, Endless):
        return x.parts[0] + k * x.parts[1]
    if isinstance(x, Product):
        return tuple(x.items(k))
    if isinstance(x, Islice):
        return item(x.parts[0], item(x.kept, k))
    if isinstance(x, Pairwise):
        return item(x.parts[0], k), item(x.parts[0], k + 1)
    if isinstance(x, Chain):
        return linked(x, k)
    if isinstance(x, Selected):
        kept = x.kept
        return item(x.parts[0], item(progression(kept) or np.array(kept), k) if isinstance(k, Traced) else kept[k])
    if isinstance(x, Scanned):
        return scanned(x.parts[0], k)
    if isinstance(x, MappedSeries):
        return x.function(*[item(p, k) for p in x.parts])
    if isinstance(x, Reversed):
        return item(x.parts[0], length(x) - 1 - k)
    if isinstance(x, Zipped):
        return tuple(item(p, k) for p in x.parts)
    if isinstance(x, range | TracedRange):
        if isinstance(x, range) and not isinstance(k, Traced):
            return x[k]
        return noted_in_range(
            numbers.traced(numbers.plus(numbers.number(x.start), numbers.times(numbers.number(k), x.step))), x
        )
    if type(x) is BoundedArray:
        return x[k]
    if type(x) is Listed:
        return x.at(k) if isinstance(k, Traced) else x.items[k]
    return handle(x)[k] if isinstance(k, Traced) else x[k]


def linked(x, k):
    """The k-th item of a Chain."""
    if isinstance(k, Traced):
        return number_like(x.whole[k], x.parts)
    for part in x.parts:
        if k < length(part):
            return item(part, k)
        k -= length(part)
    raise IndexError


def number_like(value, parts):
    """A number out of several series of like numbers, as Python has it of them."""
    weak = {p.columns[0][1][1] for p in parts if type(p) is Listed and p.columns[0][1][0] == "weak"}
    return TracedScalar(value.value, *weak)


def noted_in_range(k, x):
    """An item of a range: noted to lie between its ends, which no sum of intervals shows."""
    if isinstance(k, TracedScalar) and isinstance(x, TracedRange):
        first, last = (numbers.ends(numbers.number(e)) for e in (x.start, x.stop))
        low, high = (first[0], last[1] - 1) if x.step > 0 else (last[0] + 1, first[1])
        if k.value.eqn is not None:
            numbers.bounded(k.value, low, high)
    return k


def count_of(x):
    """The number of trips of a TracedRange, or over an array of unknown length, as an i64 operand; of several things
    the least."""
    if isinstance(x, Counting):
        return numbers.number(x.parts[0].size())
    if isinstance(x, Selected | Islice):
        return len(x.kept)
    if isinstance(x, Chain):
        return sum(map(length, x.parts))
    if isinstance(x, Pairwise):
        return max(length(x.parts[0]) - 1, 0)
    if isinstance(x, Zipped):
        counts = [count_of(p) if length(p) is None else length(p) for p in x.parts if length(p) != math.inf]
        return functools.reduce(numbers.least, counts)
    if type(x) is BoundedArray:
        return numbers.number(x.shape[0])
    start, stop = numbers.number(x.start), numbers.number(x.stop)
    distance = numbers.greatest(numbers.minus(stop, start) if x.step > 0 else numbers.minus(start, stop), 0)
    return numbers.quotient(numbers.plus(distance, abs(x.step) - 1), abs(x.step))
