"""What a trace for programs of all sizes tells of sizes: facts asked, numbers read, and integers of the program that
stand for sizes.

The expression is known of sizes of arguments (`SizesAsked.leaves`). Any other size, of an array that the function
makes, is a name of its own, `r3`, whose numbers in several traces say what it is (`call/size_facts.py`).
"""

from __future__ import annotations

import contextlib
import math

from ...ir.core import Lit, Value
from ...ir.dims import Dim
from ...ir.passes.settle import settled_sizes
from ..common.emit import INT64
from ..common.frames import locate
from .array import ASKING, READING
from .storage import current_trace

LARGEST = 1 << 31  # bound: of a size, so that sums and products of two are known to fit


class Fact:
    """`left name right` (name: "<", "<=" or "==") was asked of sizes, and held or not."""

    __slots__ = ("left", "name", "right", "holds")

    def __init__(self, left, name, right, holds):
        self.left, self.name, self.right, self.holds = left, name, right, holds

    def key(self):
        """What must be the same in all traces, beside what the sizes are."""
        return "fact", self.name, self.holds


class Pin:
    """A size was used as a mere number. why: by what."""

    __slots__ = ("dim", "number", "why")

    def __init__(self, dim, number, why):
        self.dim, self.number, self.why = dim, number, why

    def key(self):
        return "pin", self.why


class Met:
    """Something else that a trace met which hangs on sizes unseen: it must be the same in all traces."""

    __slots__ = ("what",)

    def __init__(self, *what):
        self.what = what

    def key(self):
        return ("met", *self.what)


class Relation:
    """Two sizes, each an int of this trace, a shape, or a Dim, whose order or equality decides whether code without
    Sizes raises, or what it gives. what: "order" or "equal", and what else must be the same in all traces; m, n: their
    numbers."""

    __slots__ = ("left", "m", "n", "right", "what")

    def __init__(self, what, left, m, right, n):
        self.what, self.left, self.m, self.right, self.n = what, left, m, right, n


class SizesAsked:
    """What one trace tells of sizes.

    leaves: for each dynamic argument, what each of its sizes is: an int, or a Dim of names.
    sizes: the numbers of these names.
    reads: the numbers of `r0`, `r1`, ...; events: Facts, Pins and Mets in order.
    relations: Relations in order, which count where ranges of sizes do not tell them.
    refused: why there can be no program for other sizes, if the trace has met what says so.
    """

    def __init__(self, leaves, sizes):
        self.leaves, self.sizes = leaves, dict(sizes)
        self.clear()

    def clear(self):
        self.reads, self.events, self.relations, self.refused = [], [], [], None
        self.dims = {}  # value -> what each of its sizes is
        self.params = {}  # Dim -> (the value that stands for it in the program, its number)
        self.used = set()  # Dims that show in the program, as numbers or by such values

    def begin(self, params):
        """A trace starts, or starts again; params: the values of the dynamic arguments."""
        self.clear()
        self.dims = {p: leaf for p, leaf in zip(params, self.leaves, strict=True) if leaf is not None}

    def tell(self, event):
        self.events.append(event)

    def read_unseen(self, shape):
        """Code without hooks reads a shape: it must be the same in all traces."""
        self.tell(Met("shape", shape))

    def relate(self, what, left, right):
        """Code without Sizes may decide by two sizes: ints, or shapes, of which the products are meant."""
        of = lambda x: math.prod(x) if type(x) is tuple else x
        self.relations.append(Relation(what, left, of(left), right, of(right)))

    def array(self, shape):
        """An array is made: whether it has no elements, one, or several along an axis may decide."""
        for n in shape:
            self.relate("order", n, 1)

    def window(self, before, after, rearranges):
        """A view is made of another shape, which shows in no program until it is read. rearranges: whether it has all
        elements, in other axes."""
        self.array(after)
        if rearranges:
            self.relate("equal", before, after)

    def index(self, low, high, n):
        """Indices between these numbers are of an axis of n elements."""
        for left, right in ((low, 0), (low, -n), (high, 0), (high, n)):
            self.relate("order", left, right)

    def number(self, size, shapes):
        """Code without Sizes is given the number of a Size, beside arrays of these shapes."""
        sign = "negative" if size.number < 0 else "none"  # so that none is at the end of a range, not within it
        self.relations.append(Relation(f"order, {sign}", size.dim, size.number, 0, 0))
        for n in dict.fromkeys([1, *(n for shape in shapes for n in shape)]):
            self.relations.append(Relation("order", size.dim, size.number, n, n))

    def refuse(self, why):
        """No program of other sizes can come of this."""
        self.refused = self.refused or f"{why}, at {locate() or 'a line that is not known'}"

    def read(self, number):
        """The expression of a size that is none of an argument."""
        self.reads.append(number)
        return Dim.symbol(f"r{len(self.reads) - 1}")

    def param(self, dim, number):
        """The value in the outermost trace that stands for a size."""
        self.used.add(dim)
        if dim not in self.params:
            root = current_trace().root
            value = Value(INT64, None, "size")
            root.build.values.add(value)
            root.bounds[value] = (min(number, 0), LARGEST)
            self.params[dim] = value, number
        return self.params[dim][0]

    def inputs(self):
        """[(its number, the value)], which are the last inputs of the captured program."""
        return [(number, value) for value, number in self.params.values()]

    def settled(self, func):
        """A function whose last parameters stand for sizes, with the numbers in their places."""
        count = len(self.params)
        if not count:
            return func
        numbers = [number for _, number in self.params.values()]
        known = {p: Lit(n, p.type) for p, n in zip(func.params[-count:], numbers, strict=True)}
        return settled_sizes(func, known)


def asking():
    """The SizesAsked of the trace that this thread makes for programs of all sizes, or None."""
    return getattr(ASKING, "asked", None)


def refuse_all_sizes(why):
    """What is traced now is a program of no other sizes."""
    if (asked := asking()) is not None:
        asked.refuse(why)


def begin_asking(trace, params):
    """A trace begins; params: the values of its dynamic arguments."""
    if (asked := asking()) is not None and trace.parent is None:
        asked.begin(params)


@contextlib.contextmanager
def asked_by(asked):
    """Within, traces of this thread are made for programs of all sizes."""
    before, ASKING.asked = asking(), asked
    READING.append(asked)
    try:
        yield asked
    finally:
        READING.remove(asked)
        ASKING.asked = before
