"""What a value of the IR is while its nest is emitted: a register, an array in memory, or a function from an index to
an element.

Elements are computed where they are used, so a row operation needs no row in memory. `cost` counts what one element
takes, `reads` the memory it is read from, as {cell: version}: a store into a cell makes a new version, and nothing
that reads the old one may be computed after it.
"""

import itertools

VERSIONS = itertools.count()
MOST = 256  # bound: parts that are told apart


class NotNative(Exception):
    """Why a loop has no native form, in words."""


class Cell:
    """Memory of `size` elements at a pointer."""

    def __init__(self, pointer, dtype, size):
        self.pointer, self.dtype, self.size, self.version = pointer, dtype, size, next(VERSIONS)

    def written(self):
        self.version = next(VERSIONS)


class Rep:
    # under: masks, values of the IR, outside of which it does not matter
    # place: of the equation it is the result of
    reads, cost, slow, lane, under, place = {}, 1, False, None, (), None
    parts = frozenset()

    def __init__(self, type):
        self.type = type

    def of(self, *operands):
        """Take the memory read by operands, and what they cost."""
        self.reads = {cell: version for x in operands for cell, version in x.reads.items()}
        self.count([self], *operands)
        self.slow = any(x.slow for x in operands)
        return self

    def count(self, own, *operands):
        """Take what one element is computed of, each part counted once, as long as they are not too many to be looked
        at."""
        self.parts, self.cost = None, len(own) + sum(x.cost for x in operands)
        if all(x.parts is not None for x in operands):
            parts = frozenset(own).union(*(x.parts for x in operands))
            self.parts, self.cost = parts if len(parts) <= MOST else None, len(parts)


class Register(Rep):
    """A scalar."""

    cost = 0

    def __init__(self, type, name):
        super().__init__(type)
        self.name = name


class Number(Rep):
    """One number at every index."""

    cost = 0

    def __init__(self, lit):
        super().__init__(lit.type)
        self.value = lit.value


class Memory(Rep):
    """A cell in row-major order."""

    def __init__(self, type, cell, version=None):
        super().__init__(type)
        self.cell, self.reads, self.parts = (
            cell,
            {cell: cell.version if version is None else version},
            frozenset([cell]),
        )

    @property
    def latest(self):
        return self.reads[self.cell] == self.cell.version


class Moved(Rep):
    """The element of another value at the index that `move` makes of an index."""

    def __init__(self, type, operand, move):
        super().__init__(type)
        self.operand, self.move = operand, move
        self.of(operand)
        self.cost, self.parts = (
            operand.cost,
            None if operand.parts is None else frozenset((self, part) for part in operand.parts),
        )


class Mapped(Rep):
    """An elementwise operation."""

    def __init__(self, type, op, attrs, operands, slow=False):
        super().__init__(type)
        self.op, self.attrs, self.operands = op, attrs, operands
        self.of(*operands)
        self.slow |= slow


class Counted(Rep):
    """The index along an axis."""

    def __init__(self, type, axis):
        super().__init__(type)
        self.axis, self.parts = axis, frozenset([self])


class Selection(Rep):
    """Elements of several values, by rules of its own: `element(elements, index)` emits one. picks(index): the operand
    and index it is, or None."""

    picks = None

    def __init__(self, type, operands, element, extra=4):
        super().__init__(type)
        self.element, self.operands = element, operands
        self.of(*operands)
        self.count([(self, k) for k in range(1 + extra)], *operands)
