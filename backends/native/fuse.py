"""Stores of arrays that go over the same indices, made by one loop.

What one of them stores, the next takes from its register, and what several read is read once. They may be made element
by element, though they were to be made one after the other, if where they meet is known: at the same index, or nowhere.
"""

import math

from ...ir.sample import assume, assume_zero
from . import mask_skip
from .code import IndexForm
from .elements import Elements, offset, operand_reads
from .index_split import count_row
from .parallel import ELEMENT
from .values import Memory

MANY = 4  # bound: differences of an index that are tried
ROW = 16  # elements of a row from which it is worth a test whether there is one; measured by benchmarks/tune.py
STRIP = 512  # elements of a part of a row; measured by benchmarks/tune.py
WORK = 160  # cost of all elements of one index, from which registers run short; measured by benchmarks/tune.py

SAME, APART, AHEAD, BEHIND = "same", "apart", "ahead", "behind"


def accesses(x, index, seen):
    """(cell, offset) of the memory that x[index] is read from; the offset is None where it is not known."""
    if not x.reads or (x, index) in seen:
        return
    seen.add((x, index))
    if isinstance(x, Memory):
        yield x.cell, offset(x.type.shape, index)
        return
    parts = operand_reads(x, index)
    if not parts:
        yield from ((cell, None) for cell in x.reads)
    for y, i in parts:
        yield from accesses(y, i, seen)


def meeting(read, written, loops):
    """Which trip of loops [(name, trips)] writes, at an offset, what is read at another: the same, a later one (AHEAD),
    an earlier one, none (APART); or None, which may be any.
    """
    if read is None:
        return None
    c, terms = read.plus(written, -1)
    if terms:
        return SAME if by_rows(c, terms, written, loops) else None
    if assume_zero(c):
        return SAME
    steps = [(written.multiple(name), n) for name, n in loops]
    if any(s <= 0 for s, _ in steps):
        return None
    assume(*(s - 1 for s, _ in steps))
    found = set(solutions(c, sorted(range(len(steps)), key=lambda k: -steps[k][0]), steps, {}))
    return APART if not found else found.pop() if len(found) == 1 else None


def by_rows(c, terms, written, loops):
    """Whether offsets that differ by c and multiples of names are a number of rows apart, whatever the names are, and
    the loops stay within a row: what is read is written by the same trip, or by none."""
    row, steps = math.gcd(*(n for _, n in terms)), [(written.multiple(name), n) for name, n in loops]
    reach = sum(s * (n - 1) for s, n in steps)
    within = all(s > 0 for s, _ in steps) and reach < row
    if c % row or not within or {name for name, _ in terms} & {name for name, _ in loops}:
        return False
    assume(row - 1 - reach, *(s - 1 for s, _ in steps))
    for n in (c, *(n for _, n in terms)):  # as many rows as now
        assume_zero(n - n // row * row)
        assume_zero(n // row)
    return True


def solutions(c, order, steps, sofar):
    """For each way to make c of the steps, fewer of each than there are trips, AHEAD or BEHIND; None for too many to
    try."""
    if not order:
        if assume_zero(c):
            yield AHEAD if next(sofar[k] for k in sorted(sofar) if sofar[k]) > 0 else BEHIND
        return
    k, *rest = order
    s, n = steps[k]
    reach = sum(steps[j][0] * (steps[j][1] - 1) for j in rest)
    low, high = max(-(-(c - reach) // s), 1 - n), min((c + reach) // s, n - 1)
    assume_ends(low, high, c, reach, s, n)
    if high - low >= MANY:
        yield None
        return
    for d in range(low, high + 1):
        yield from solutions(c - d * s, rest, steps, sofar | {k: d})


def assume_ends(low, high, c, reach, s, n):
    """That the first and the last difference of an index are these, and which of them are above and below 0."""
    if low > 1 - n:
        assume(low * s - (c - reach), c - reach - (low - 1) * s - 1, low + n - 1)
    else:
        assume((1 - n) * s - (c - reach))
    if high < n - 1:
        assume(c + reach - high * s, (high + 1) * s - 1 - (c + reach), n - 1 - high)
    else:
        assume(c + reach - (n - 1) * s)
    for d in (low, high):
        assume_zero(d)


class CellStore:
    """x to be put into a cell at the offset place(index). loops: its axes that have more than one element, as (axis,
    elements).

    masks: outside of which it need not be put, as `guards.states` has them; source: the user's place that stores.
    """

    KEPT = SAME, APART, AHEAD  # where another trip may store what a trip reads

    def __init__(self, cell, x, place, lane, masks=frozenset(), source=None):
        self.cell, self.x, self.place, self.lane, self.masks, self.source = cell, x, place, lane, masks, source
        self.loops = [(a, n) for a, n in enumerate(x.type.shape) if n != 1 or (lane and lane[0] == a)]
        self.versions = {c: c.version for c in (*x.reads, cell)}

    def index(self, names, first=None):
        """Its index where those of the loops are names; first: what is added to that of its lane."""
        out = [IndexForm()] * self.x.type.ndim
        for (a, _), name in zip(self.loops, names):
            out[a] = first.plus(name) if first is not None and self.lane[0] == a else IndexForm.of(name)
        return tuple(out)

    def alike(self, other):
        """Whether another goes over the same indices."""
        places = [
            [(k, s.lane[1]) for k, (a, _) in enumerate(s.loops) if s.lane and s.lane[0] == a] for s in (self, other)
        ]
        return [n for _, n in self.loops] == [n for _, n in other.loops] and places[0] == places[1]

    def reads(self, names):
        return accesses(self.x, self.index(names), set())

    def safe(self, names, x, index):
        """Whether what x[index] reads of its cell is there until it is stored."""
        loops, at = [(name, n) for name, (_, n) in zip(names, self.loops)], self.place(self.index(names))
        return all(
            meeting(o, at, loops) in self.KEPT for c, o in accesses(x, index, set()) if c is self.cell
        )


class Fused:
    """Stores of one loop, in order."""

    SKIPS = True  # whether stretches where a mask is False are left out

    def __init__(self, code):
        self.code, self.stores, self.names, self.cost = code, [], [], 0

    @property
    def cells(self):
        return {s.cell for s in self.stores}

    def takes(self, new):
        """Whether a store can be made by this loop too."""
        if not self.stores or not new.alike(self.stores[0]) or self.cost + new.x.cost > WORK:
            return False
        loops = [(name, n) for name, (_, n) in zip(self.names, new.loops)]
        met = lambda read, written: meeting(read, written, loops) in (SAME, APART)
        at = new.place(new.index(self.names))
        for old in self.stores:
            there = old.place(old.index(self.names))
            if not all(met(o, there) for c, o in new.reads(self.names) if c is old.cell):
                return False
            if not all(met(o, at) for c, o in old.reads(self.names) if c is new.cell):
                return False
            if new.cell is old.cell and not met(there, at):
                return False
        return True

    def add(self, new):
        if not self.stores:
            self.names = [self.code.name() for _ in new.loops]
        self.stores.append(new)
        self.cost += new.x.cost

    @property
    def rows_and_work(self):
        """The trips of the outermost of its loops, 0 without or where lanes are computed, and the work of all."""
        first = self.stores[0]
        sizes = [n for _, n in first.loops] or [0]
        return 0 if first.lane else sizes[0], math.prod(sizes) * self.cost * ELEMENT

    def apart(self):
        """Whether its trips may be made in any order."""
        loops = [(name, n) for name, (_, n) in zip(self.names, self.stores[0].loops)]
        met = lambda o, at: meeting(o, at, loops) in (SAME, APART)
        stored = [(s.cell, s.place(s.index(self.names))) for s in self.stores]
        touched = [*stored, *(access for s in self.stores for access in s.reads(self.names))]
        return all(met(o, at) for cell, at in stored for c, o in touched if c is cell)

    @property
    def read(self):
        return {cell for s in self.stores for cell in (*s.x.reads, *(mask for mask, _ in s.masks))}

    @property
    def rows(self):
        """The trips of the outermost of its loops, where it is worth running a few at a time, else 0."""
        loops = self.stores[0].loops
        inner = math.prod(n for _, n in loops[1:]) >= ROW if len(loops) > 1 else loops and loops[0][1] >= 4 * STRIP
        return loops[0][1] if inner and not self.stores[0].lane else 0

    @property
    def strip(self):
        """How many at a time: a row of many elements, or part of one row."""
        return STRIP if len(self.names) == 1 else 1

    def emit(self, block, bounds=None):
        """Emit the loops. block: the lanes to be computed, if not all are; bounds: of the first one, if not all of it
        runs."""
        code, first = self.code, self.stores[0]
        masks = frozenset.intersection(*(frozenset(s.masks) for s in self.stores))
        mask = min(masks, key=lambda state: state[1], default=(None,))[0]

        def nested(k, along):
            if k == len(first.loops):
                self.body(along)
                return ()
            axis, n = first.loops[k]
            low, high = bounds if bounds and k == 0 else ("0", str(n))
            last = axis == first.x.type.ndim - 1 and self.SKIPS
            if mask is not None and first.lane is None and last and n >= mask_skip.LEAST:
                index = first.index(self.names)[:-1]
                mask_skip.stretches(
                    code, mask, first.x.type.shape, index, (low, high), self.names[k], lambda: self.body(along)
                )
                return ()
            if last and k == len(first.loops) - 1 and first.lane is None:
                count_row(code, (low, high), self.names[k], n, lambda t: self.body(along, [*self.names[:k], t]))
                return ()
            if first.lane and first.lane[0] == axis:
                low, high, along = block.part(code, first.lane[1], n)
            code.count_up(low, high, lambda _: nested(k + 1, along), name=self.names[k])
            return ()

        with code.at(first.source):
            nested(0, None)

    def body(self, along, names=None):
        elements = Elements(self.code)
        for s in self.stores:
            index = s.index(names or self.names, along)
            at = s.place(index)
            elements.versions = s.versions
            with self.code.at(s.source):
                found = elements.get(s.x, index)
                self.code.store(s.cell.pointer, s.cell.dtype, at, found)
            elements.hold(s.cell, at, found)
