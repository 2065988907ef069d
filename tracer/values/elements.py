"""Lists whose items are the rows of one array: a comprehension that was captured as a loop leaves such, and what
gathers the items again finds the array.

An `Element` is a value that is cut out of its array only where a trace asks for it: of thousands of items most are
never looked at one by one.
"""

import operator

import numpy as np

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.ops.indexing import index_arrays
from ...ir.types import Tensor
from ..common.emit import constant_of
from .array import TracedArray, TracedScalar
from .storage import Storage, current_trace

MANY = 16  # fewer items are as well written out


class Element(Value):
    """Row `place` of the value `whole`."""

    __slots__ = ("whole", "place")

    def __init__(self, whole, place, type):
        super().__init__(type)
        self.whole, self.place = whole, place

    def cut(self, trace):
        """The row as a value of a trace that is being built."""
        whole, shape = trace.bring(self.whole), self.type.shape
        lead = (0,) * len(shape)
        row = OPS["slice"](
            whole, start=(self.place, *lead), stop=(self.place + 1, *shape), stride=(1,) * (len(shape) + 1)
        )
        return OPS["reshape"](row, shape=shape)


class RowRun:
    """Rows first, first + 1, ... of `whole` as nested lists: of types `kinds` and lengths `counts`, outermost first.

    weak: the Python type of the items, if they are Python's numbers; array: whether they are arrays.
    """

    __slots__ = ("whole", "first", "counts", "kinds", "weak", "array")

    def __init__(self, whole, first, counts, kinds, weak, array):
        self.whole, self.first, self.counts, self.kinds, self.weak, self.array = (
            whole, first, counts, kinds, weak, array
        )  # fmt: skip

    @property
    def size(self):
        size = 1
        for n in self.counts:
            size *= n
        return size

    def follows(self, other):
        """Whether this begins where another, of the same form, ends."""
        return (
            self.whole is other.whole
            and self.first == other.first + other.size
            and self.counts == other.counts
            and self.kinds == other.kinds
            and self.weak is other.weak
            and self.array == other.array
        )

    def value(self, trace):
        """The rows as one value, with an axis for each level of the lists."""
        whole, shape = trace.bring(self.whole), self.whole.type.shape
        if self.size != shape[0]:
            start, stop = (self.first, *(0,) * (len(shape) - 1)), (self.first + self.size, *shape[1:])
            whole = OPS["slice"](whole, start=start, stop=stop, stride=(1,) * len(shape))
        wanted = (*self.counts, *shape[1:])
        return whole if whole.type.shape == wanted else OPS["reshape"](whole, shape=wanted)

    def items(self, trace, at=None, level=0):
        """The lists again, of other items made alike."""
        at = self.first if at is None else at
        if level == len(self.counts):
            return self.item(at, trace)
        size = 1
        for n in self.counts[level + 1 :]:
            size *= n
        return self.kinds[level](
            [self.items(trace, at + k * size, level + 1) for k in range(self.counts[level])]
        )

    def item(self, place, trace):
        kind = Tensor(self.whole.type.shape[1:], self.whole.type.dtype)
        value = Element(self.whole, place, kind)
        return TracedArray(Storage(value, trace), (), kind) if self.array else TracedScalar(value, self.weak)


def run_of(x):
    """The RowRun that an object is, or None."""
    kind = type(x)
    if kind is TracedScalar:
        value = x._value
        return RowRun(value.whole, value.place, (), (), x.weak, False) if type(value) is Element else None
    if kind is TracedArray:
        value = x.storage.value if type(x.storage) is Storage and not x.chain else None
        return RowRun(value.whole, value.place, (), (), None, True) if type(value) is Element else None
    if kind is not list and kind is not tuple or not x:
        return None
    first = before = run_of(x[0])
    if first is None:
        return None
    for item in x[1:]:
        found = run_of(item)
        if found is None or not found.follows(before):
            return None
        before = found
    return RowRun(first.whole, first.first, (len(x), *first.counts), (kind, *first.kinds), first.weak, first.array)


def segments(items):
    """The items of a list as [(RowRun or None, how many of them)]: those that follow in one array together."""
    found = []
    for item in items:
        run = run_of(item)
        last = found[-1] if found else None
        if run is not None and last is not None and last[0] is not None and run.follows(last[1]):
            last[0], last[1], last[2] = last[0], run, last[2] + 1
        else:
            found.append([run, run, 1])
    return [
        (run and RowRun(run.whole, run.first, (n, *run.counts), (list, *run.kinds), run.weak, run.array), n)
        for run, _, n in found
    ]


def elements_of(x, weak=None):
    """The numbers of an array of one axis, each as the array is when it is asked for; weak: their type if it is one of
    Python's."""
    kind = Tensor((), x.type.dtype)
    for n in range(x.type.shape[0]):
        whole, lifts = x.value, current_trace().root.lifts
        while whole in lifts:  # the value that the inner trace has it from
            whole = lifts[whole]
        yield TracedScalar(Element(whole, n, kind), weak)


def one_gather(items, trace):
    """Numbers that are rows of one array, in any order, as one value; None where they are not."""
    places, whole = [], None
    for x in items:
        value = x._value if type(x) is TracedScalar else None
        if type(value) is not Element or whole is not None and value.whole is not whole:
            return None
        whole = value.whole
        places.append(value.place)
    steps = set(map(operator.sub, places[1:], places))
    whole = trace.bring(whole)
    if len(steps) == 1 and (step := steps.pop()) > 0:
        return OPS["slice"](whole, start=(places[0],), stop=(places[-1] + 1,), stride=(step,))
    where = constant_of(np.asarray(places, np.int64))
    return index_arrays(whole, [(0, where)], 0, mode="promise", unique=len(set(places)) == len(places))
