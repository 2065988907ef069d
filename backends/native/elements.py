"""One element of a value, and where along an axis elements are known without being computed.

Sums over `select(iota < n, x, 0)` are how lengths that data decides look in the IR. Outside [0, n) the element folds to
the identity of the sum, so the loop runs over [0, n) only, and the comparison is not made in it.
"""

import numpy as np

from ...ir.exactness import contracted
from ...ir.ops import OPS
from ...ir.sample import assume_zero
from .code import IndexForm, llvm_literal, llvm_type
from .complex import CONTRACTED, rule_for
from .index_split import FLIPPED, ends_at, ends_of
from .values import Counted, Mapped, Memory, Moved, NotNative, Number, Register, Selection

COUNTS = np.dtype("i8")
ORDER = {OPS[name]: name for name in ("lt", "le", "gt", "ge", "eq")}
AND, OR, SELECT, MUL = (OPS[name] for name in ("and", "or", "select", "mul"))
KEEP = object()  # the element that is there already


def row_major_strides(shape):
    out = [1]
    for n in reversed(shape[1:]):
        out.append(out[-1] * n)
    return out[::-1] if shape else []


def offset(shape, index):
    """Where an element lies in row-major order."""
    at = IndexForm()
    for n, i, step in zip(shape, index, row_major_strides(shape)):
        at = at if n == 1 else at.plus(i, step)
    return at


def are_apart(a, b):
    """Whether two offsets are known to differ, whatever their names stand for."""
    c, terms = a.plus(b, -1)
    return not terms and not assume_zero(c)


def renamed(index, old, new):
    """An index where another name stands for one."""
    return tuple(i.without(old).plus(new, i.multiple(old)) for i in index)


class Elements:
    """Elements in one straight line of code: the same element is computed once. known: {(comparison, index): its
    outcome}.

    versions: {cell: which of its states is read}, where that is not the last one; held: {(cell, offset): what was
    stored there in this line}.
    """

    def __init__(self, code, known=None):
        self.code, self.known, self.memo, self.versions, self.held = code, known or {}, {}, {}, {}

    def get(self, x, index):
        """The register or literal that holds x[index]."""
        if isinstance(x, Register):
            return x.name
        if isinstance(x, Number):
            return llvm_literal(x.value, x.type.dtype)
        if isinstance(x, Moved):
            return self.get(x.operand, x.move(index))
        key = x, index
        found = self.memo.get(key)
        if found is None:
            outer, self.code.place = self.code.place, x.place or self.code.place
            found = self.memo[key] = self.compute(x, index)
            self.code.place = outer
        return found

    def hold(self, cell, at, found):
        """Note what was stored: what lies where the same element may be is not known any more."""
        self.held = {(c, o): x for (c, o), x in self.held.items() if c is not cell or are_apart(o, at)}
        self.held[cell, at] = found

    def compute(self, x, index):
        if isinstance(x, Memory):
            if x.reads[x.cell] != self.versions.get(x.cell, x.cell.version):
                raise NotNative("an array is read after it was stored into")
            at = offset(x.type.shape, index)
            return (
                self.held[x.cell, at] if (x.cell, at) in self.held else self.code.load(x.cell.pointer, x.type.dtype, at)
            )
        if isinstance(x, Counted):
            return self.converted(self.code.value(index[x.axis]), x.type.dtype)
        if isinstance(x, Selection):
            return x.element(self, index)
        truth = self.truth(x, index)
        if truth is not None:
            return "true" if truth else "false"
        if x.op is SELECT:
            test = self.get(x.operands[0], index)
            if test in ("true", "false"):
                return self.get(x.operands[1 if test == "true" else 2], index)
        xs = [self.get(y, index) for y in x.operands]
        if x.type.kind == "b" and x.op in (AND, OR) and {"true", "false"}.intersection(xs):
            return folded_truth(x.op, xs)
        d, out = x.operands[0].type.dtype, x.type.dtype
        if x.type.shape and self.code.exact and x.op in CONTRACTED and d.kind == "c" and contracted(d):
            return CONTRACTED[x.op](self.code, d, *xs)
        return rule_for(x.op, d, out)(self.code, d, out, *xs, **x.attrs)

    def truth(self, x, index):
        """How a comparison is known to go, or None."""
        if (x, index) in self.known:
            return self.known[x, index]
        row = self.code.row
        found = index_comparison(x, index, row.name) if x.op in ORDER and row is not None else None
        return None if found is None else row.compares(*found)

    def converted(self, count, dtype):
        """A count as a number of another type."""
        return rule_for(OPS["cast"], COUNTS, dtype)(self.code, COUNTS, dtype, count, dtype=dtype)


def folded_truth(op, truths):
    """The `and` or the `or` of truths of which some are known."""
    end = "true" if op is OR else "false"
    return end if end in truths else next((y for y in truths if y not in ("true", "false")), truths[0])


def signed(elements, indices, index):
    """An index as i64."""
    found, t = elements.get(indices, index), llvm_type(indices.type.dtype)
    if t == "i64":
        return found
    return elements.code.op(f"sext {t} {found} to i64")


def operand_reads(x, index):
    """The operands of an element and the indices at which they are read."""
    if isinstance(x, Moved):
        return [(x.operand, x.move(index))]
    if isinstance(x, Mapped):
        return [(y, index) for y in x.operands]
    return []


def has_comparison(x):
    """Whether elements depend on a comparison, which may fold to a window."""
    return (
        isinstance(x, Mapped)
        and x.op in ORDER
        or any(has_comparison(y) for y, _ in operand_reads(x, (IndexForm(),) * x.type.ndim))
    )


def index_comparison(x, index, name):
    """(what follows the index `name`, its form, what does not) of a comparison, or None."""
    forms = [count_form(y, index) for y in x.operands]
    if None in forms:
        return None
    a, b = (form.multiple(name) for form in forms)
    if abs(a) + abs(b) != 1:
        return None
    kind = ORDER[x.op]
    return (kind, *forms) if a else (FLIPPED[kind], *forms[::-1])


def count_form(x, index):
    """An i64 element as an index, where it is one outright."""
    while isinstance(x, Moved):
        x, index = x.operand, x.move(index)
    if x.type.dtype != COUNTS:
        return None
    if isinstance(x, Counted):
        return index[x.axis]
    if isinstance(x, Number):
        return IndexForm(int(x.value))
    return IndexForm.of(x.name) if isinstance(x, Register) else None


class LiveWindow:
    """[low, high) of the index t = `name` beyond which the element x[index] is `wanted`, a number, or KEEP: what `cell`
    has at `at`. least, most, ends: these as a RowIndex has them."""

    def __init__(self, code, x, index, name, n, wanted, cell=None, at=None):
        self.code, self.name, self.cell, self.at = code, name, cell, at
        self.low, self.high, self.known = "0", str(n), {}
        self.least, self.most, self.ends = [], [], {}
        self.narrow(x, index, wanted)

    def narrow(self, x, index, wanted):
        for atom in self.atoms(x, index, set()):
            self.memo = {}
            found = self.outside(x, index, atom)
            if (
                found is None
                or (wanted is KEEP) != (found is KEEP)
                or (wanted is not KEEP and not equal_numbers(found, wanted))
            ):
                continue
            low, high = self.limits(*atom)
            self.low = self.low if low is None else self.code.most(self.low, low)
            self.high = self.high if high is None else self.code.least(self.high, high)
            self.known[atom] = True
            ends = ends_of(*index_comparison(*atom, self.name), self.name)
            self.ends[ends] = True
            for bounds, end in zip((self.least, self.most), ends):
                bounds += [] if end is None else [end]

    def known_at(self, name):
        """`known` of another name of the index."""
        return {(x, renamed(index, self.name, name)): truth for (x, index), truth in self.known.items()}

    def atoms(self, x, index, seen):
        """The comparisons of t with a number that x[index] is made of."""
        if (x, index) in seen:
            return
        seen.add((x, index))
        if isinstance(x, Mapped) and x.op in ORDER and index_comparison(x, index, self.name) is not None:
            yield x, index
        for y, i in operand_reads(x, index):
            yield from self.atoms(y, i, seen)

    def limits(self, x, index):
        """(lowest t, highest t + 1) for which a comparison holds, each None where it has no say."""
        kind, moving, still = index_comparison(x, index, self.name)
        code, times = self.code, moving.multiple(self.name)
        k, s = code.value(moving.without(self.name)), code.value(still)
        if times < 0:  # k - t against s is t against k - s, the other way round
            kind, k, s = FLIPPED[kind], s, k
        at = code.saturated("sub", s, k)
        return ends_at(kind, at, lambda: code.saturated("add", at, "1"))

    def outside(self, x, index, atom):
        """The number that x[index] is where the comparison `atom` fails, KEEP, or None where that is not known."""
        key = x, index
        if key not in self.memo:
            self.memo[key] = self._outside(x, index, atom)
        return self.memo[key]

    def _outside(self, x, index, atom):
        if (x, index) == atom:
            return np.False_
        if isinstance(x, Number):
            return x.value
        if isinstance(x, Moved):
            return self.outside(x.operand, x.move(index), atom)
        if isinstance(x, Memory):
            return KEEP if x.cell is self.cell and x.latest and offset(x.type.shape, index) == self.at else None
        if not isinstance(x, Mapped):
            return None
        return folded_element(x, [self.outside(y, index, atom) for y in x.operands])


def folded_element(x, found):
    """An element of a mapped value of what is found for those of its operands: numbers, None where unknown, or KEEP."""
    if x.op is SELECT:
        return None if found[0] is None else found[1 if found[0] else 2]
    if x.type.kind == "b" and x.op in (AND, OR):
        ends = [bool(y) for y in found if y is not None]
        if (x.op is OR) in ends:
            return np.bool_(x.op is OR)
    if x.type.kind in "iu" and x.op is MUL and any(y is not None and y == 0 for y in found):
        return x.type.dtype.type(0)
    if any(y is None or y is KEEP for y in found):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(x.op.body(*found, **x.attrs))[()]


def equal_numbers(a, b):
    """Whether two numbers are one, signs of zeros aside: a sum does not tell them."""
    return bool(a == b)
