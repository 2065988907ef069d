"""Groups of stores over the same rows, made row by row: a group follows the ones before it as closely as what it needs
of their rows allows.

Of `b[1:-1] = f(a)` and then `a[1:-1] = g(b)`, row i of a is made when row i + 1 of b has been, while both are near the
processor, and not when all of b has been. A row runs on the trip of its index plus the delay of its group; of arrays
that are one row, parts do.
"""

from .code import IndexForm

FAR = 8  # rows that a group may stay behind; measured by benchmarks/tune.py
ROWS = 3  # of each array that are read again soon, more or less; measured by benchmarks/tune.py
NEAR = 1 << 15  # bytes that are near the processor; measured by benchmarks/tune.py
MIDDLE = 1 << 20  # bytes that are not far from the processor; measured by benchmarks/tune.py


class Skewed:
    """Groups and their delays, in the order of their stores."""

    def __init__(self, code):
        self.code, self.groups = code, []

    @property
    def cells(self):
        return {cell for g, _ in self.groups for cell in g.cells}

    def takes(self, new):
        """The delay with which a group can follow, or None."""
        if not self.groups or not new.rows or not all(g.rows and g.strip == new.strip for g, _ in self.groups):
            return None
        touched = {cell for g, _ in self.groups for cell in (*g.cells, *g.read)}
        everything = {*touched, *new.cells, *new.read}
        total = sum(c.size * c.dtype.itemsize for c in everything)
        kept = ROWS * total * new.strip // max(g.rows for g in (new, *(g for g, _ in self.groups)))
        if touched.isdisjoint((*new.cells, *new.read)) or total <= NEAR or total <= MIDDLE and kept > NEAR:
            return None
        delay = 0
        for old, before in self.groups:
            for here, there in clashes(old, new):
                last = behind(old, here, new, there)
                if last is None:
                    return None
                delay = max(delay, before + last)
        return delay if delay <= max(FAR, new.strip) else None

    def apart(self, new):
        """Whether a group shares no array that either stores into with those that wait."""
        return all(g.cells.isdisjoint((*new.cells, *new.read)) and new.cells.isdisjoint(g.read) for g, _ in self.groups)

    def emit(self, block):
        code = self.code
        if len(self.groups) == 1:
            self.groups[0][0].emit(block)
            return
        step = self.groups[0][0].strip
        end = max(delay + g.rows for g, delay in self.groups)

        def trip(t):
            first = IndexForm.of(t).times(step)
            for g, delay in self.groups:
                low, high = code.value(first.plus(-delay)), code.value(first.plus(step - delay))
                g.emit(block, (code.most("0", low), code.least(str(g.rows), high)))
            return ()

        code.count_up("0", -(-end // step), trip)


def clashes(old, new):
    """(offset in the one, offset in the other) for what one of two groups stores, and the other reads or stores."""
    for s in old.stores:
        here = s.place(s.index(old.names))
        for r in new.stores:
            there = r.place(r.index(new.names))
            yield from ((here, o) for c, o in r.reads(new.names) if c is s.cell)
            yield from ((o, there) for c, o in s.reads(old.names) if c is r.cell)
            if s.cell is r.cell:
                yield here, there


def behind(old, here, new, there):
    """How many rows ahead `old` has to be, so that it comes to `here` before `new` comes to the same element `there`;
    or None, if not known.

    At most (d + reach) // stride, where d is by how much `there` is further on, and `reach` what the inner loops of
    `new` add.
    """
    if here is None or there is None:
        return None
    a, b = (at.multiple(g.names[0]) for at, g in ((here, old), (there, new)))
    inner = [
        [(at.multiple(name), n) for name, (_, n) in zip(g.names[1:], g.stores[0].loops[1:])]
        for at, g in ((here, old), (there, new))
    ]
    rest, others = here, there
    for name in old.names:
        rest = rest.without(name)
    for name in new.names:
        others = others.without(name)
    d, terms = others.plus(rest, -1)
    if terms or a != b or a <= 0 or any(s < 0 for pairs in inner for s, _ in pairs):
        return None
    return (d + sum(s * (n - 1) for s, n in inner[1])) // a
