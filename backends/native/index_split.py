"""Index-set splitting: one loop over a row becomes several, one after the other, in each of which it is known how the
comparisons of its index with numbers go.

    y[:k] += a * y[:k][::-1]      # a row as long as y, whose elements from k on stay as they are

Where parts of arrays begin and end as numbers say, an element is a choice by its index, and what it is made of is read
at an index kept within bounds: LLVM makes no vectors of that. Within [0, k) and within [k, n) nothing is chosen, and
reads are of neighbours [R. Allen, K. Kennedy, Optimizing Compilers for Modern Architectures, 2002, section 5.9].
"""

import contextlib
import math

from ...ir.affine import plus
from .code import IndexForm

LEAST = 32  # elements of a row that is split; measured by benchmarks/tune.py
MOST = 3  # bound: numbers at which a row is split
ROOM = 300  # bound: instructions of all parts together
LONG = 4000  # bound: instructions of a nest in which rows are split
FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


class RowIndex:
    """The index `name` of a row. known: {(low, high): whether low <= index < high}, each an IndexForm or None for no
    bound; asked: those that somebody has asked about."""

    def __init__(self, name, known=()):
        self.name, self.known, self.asked = name, dict(known), {}

    def within(self, i, n):
        """Whether 0 <= i < n, or None."""
        rest = i.without(self.name)
        ends = {1: (rest.times(-1), IndexForm(n).plus(rest, -1)), -1: (rest.plus(1 - n), rest.plus(1))}
        return self.truth(*ends[i.multiple(self.name)]) if i.multiple(self.name) in ends else None

    def compares(self, kind, moving, still):
        """Whether moving < still, or how else `kind` compares them, or None; moving: a form in which the index is once,
        or less once."""
        return self.truth(*ends_of(kind, moving, still, self.name))

    def truth(self, low, high):
        self.asked[low, high] = None
        return self.known.get((low, high))


def ends_of(kind, moving, still, name):
    """(low, high) of an index for which moving < still, or how else `kind` compares them, None where there is none.

    moving: a form in which the index `name` is once, or less once.
    """
    at = still.plus(moving.without(name), -1)
    if moving.multiple(name) < 0:
        kind, at = FLIPPED[kind], at.times(-1)
    return ends_at(kind, at, lambda: at.plus(1))


def ends_at(kind, at, after):
    """(low, high) of an index that compares with `at` as `kind` says; after(): the number behind that."""
    return {
        "lt": lambda: (None, at), "le": lambda: (None, after()), "ge": lambda: (at, None),
        "gt": lambda: (after(), None), "eq": lambda: (at, after()),
    }[kind]()  # fmt: skip


def count_row(code, bounds, name, n, body, types=(), start=(), window=None):
    """`code.count_up` over a row of n elements, in parts where that helps -> the last values.

    body(index name, *values): as there, for each part; window: the LiveWindow that gave the bounds, if any.
    """
    low, high = bounds
    told = dict(window.ends) if window is not None and code.splits else {}
    made, mark = lambda t, *values: body(t, *values) or (), Mark(code)
    with inside(code, RowIndex(name, told)) as row:
        values = code.count_up(low, high, made, types, start, name)
    if not (code.splits and row.asked and n >= LEAST and 2 * mark.length() <= ROOM and code.count <= LONG):
        return values
    parts = RowParts(code, row.asked, n, window)
    if not any(parts.known(k).keys() - told.keys() for k in range(parts.count)):
        return values
    mark.take_back()
    values = list(start)
    for k in range(parts.count):
        end = high if k == parts.count - 1 else code.most(low, code.least(high, code.value(parts.ends[k])))
        index = name if k == 0 else code.name()
        with inside(code, RowIndex(index, told | parts.known(k))):
            values = code.count_up(low, end, made, types, values, index)
        low = end
    return values


@contextlib.contextmanager
def inside(code, row):
    outer, code.row = code.row, row
    try:
        yield row
    finally:
        code.row = outer


class Mark:
    """Where code was when something was begun, which is taken back if it is to be made otherwise."""

    def __init__(self, code):
        self.code, self.lines, self.globals = code, len(code.lines), len(code.globals)
        self.state = code.count, code.here, dict(code.declared), dict(code.defined)

    def length(self):
        """Instructions since then."""
        return len(self.code.lines) - self.lines

    def take_back(self):
        code = self.code
        del code.lines[self.lines :], code.places[self.lines :], code.globals[self.globals :]
        code.count, code.here, code.declared, code.defined = self.state


class RowParts:
    """The parts of a row of n elements. ends: the forms of where all but the last end, which are in that order."""

    def __init__(self, code, asked, n, window):
        self.code, self.asked = code, asked
        self.low = [IndexForm(), *(window.least if window else ())]
        self.high = [IndexForm(n), *(window.most if window else ())]
        self.ends, wanted = [], {}
        for pair in self.asked:
            for end in pair:
                if end is not None and self.place(end) is None:
                    wanted[end] = wanted.get(end, 0) + 1
        for end in sorted(wanted, key=wanted.get, reverse=True):
            if len(self.ends) < MOST and self.place(end) is None:
                self.insert(end)

    @property
    def count(self):
        return len(self.ends) + 1

    def insert(self, end):
        found = [self.order(end, other) for other in self.ends]
        if None not in found:
            self.ends.insert(sum(x > 0 for x in found), end)

    def place(self, end):
        """The first part that begins at an end or later, None where none does; `count` and more for those that no index
        comes to."""
        if any(self.order(end, x) in (-1, 0) for x in self.low):
            return 0
        if any(self.order(end, x) in (0, 1) for x in self.high):
            return math.inf
        return next((k for k, other in enumerate(self.ends, 1) if self.order(end, other) == 0), None)

    def order(self, a, b):
        """-1, 0 or 1 as a is no more than b, the same, or no less; None where that is not known."""
        found = [self.code.affine_form(x) for x in (a, b)]
        if None in found:
            return None
        low, high = self.code.known.between(plus(*found, -1))
        return 0 if low == high == 0 else -1 if high <= 0 else 1 if low >= 0 else None

    def known(self, k):
        """{what is asked: how it is in the k-th part}"""
        found = {}
        for low, high in self.asked:
            first = 0 if low is None else self.place(low)
            after = math.inf if high is None else self.place(high)
            starts, stops = first is not None and k >= first, after is not None and k < after
            if first is not None and not starts or after is not None and not stops:
                found[low, high] = False
            elif starts and stops:
                found[low, high] = True
        return found
