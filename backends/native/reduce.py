"""Reductions, products and searches: loops over elements, restricted to the window where elements count."""

import math

import numpy as np

from ...ir.ops import OPS
from ...ir.ops.window import highest_of, lowest_of
from ...ir.sample import decide
from .code import IndexForm, chosen, compare, llvm_literal, llvm_type
from .complex import rule_for
from .elements import Elements, LiveWindow, renamed
from .index_split import count_row
from .values import Counted, Mapped, Moved

NONE = np.dtype("i8")
ROW = 64  # elements from which adding up row by row pays; measured by benchmarks/tune.py
TINY = 4  # rows and columns of a matrix that fits into registers; measured by benchmarks/tune.py
PRODUCT_ROW = 48  # the same, of a product with a matrix; measured by benchmarks/tune.py


def combined(name):
    return lambda code, d, a, x: rule_for(OPS[name], d, d)(code, d, d, a, x)


def reassociated(name):
    """A sum or a product in any order, so that it may be computed in vectors; XLA's are too. One after the other where
    the program is exact."""

    def run(code, d, a, x):
        return (
            code.op(f"f{name} {code.any_order}{llvm_type(d)} {a}, {x}")
            if d.kind == "f"
            else rule_for(OPS[name], d, d)(code, d, d, a, x)
        )

    return run


def all_bits(d):
    return True if d.kind == "b" else -1 if d.kind == "i" else np.iinfo(d).max


# op -> (how an element is taken in, what is left by nothing)
REDUCTIONS = {
    OPS["reduce_sum"]: (reassociated("add"), lambda d: 0),
    OPS["reduce_prod"]: (reassociated("mul"), lambda d: 1),
    OPS["reduce_max"]: (combined("maximum"), lambda d: False if d.kind == "b" else lowest_of(d)),
    OPS["reduce_min"]: (combined("minimum"), lambda d: True if d.kind == "b" else highest_of(d)),
    OPS["reduce_and"]: (combined("and"), all_bits),
    OPS["reduce_or"]: (combined("or"), lambda d: 0),
    OPS["reduce_xor"]: (combined("xor"), lambda d: 0),
}
SEARCHES = {OPS["argmax"]: "gt", OPS["argmin"]: "lt"}


def reduced(code, x, axes, index, take, nothing):
    """The register of a reduction of x over `axes` at `index`, whose entries for those axes are replaced."""
    d = x.type.dtype
    axes = [a for a in axes if x.type.shape[a] != 1]
    index = [IndexForm() if x.type.shape[a] == 1 else i for a, i in enumerate(index)]

    def over(axes, index, sofar):
        if not axes:
            return [take(code, d, sofar, Elements(code).get(x, tuple(index)))]
        axis, *rest = axes
        t, n = code.name(), x.type.shape[axis]
        at = tuple(IndexForm.of(t) if a == axis else i for a, i in enumerate(index))
        if rest:
            return code.count_up("0", n, lambda _, sofar: over(rest, at, sofar), [llvm_type(d)], [sofar], t)
        window = LiveWindow(code, x, at, t, n, d.type(nothing(d)))
        element = lambda u: Elements(code, window.known_at(u)).get(x, renamed(at, t, u))
        body = lambda u, sofar: [take(code, d, sofar, element(u))]
        return count_row(code, (window.low, window.high), t, n, body, [llvm_type(d)], [sofar], window)

    return over(axes, index, llvm_literal(nothing(d), d))[0]


def reduction(region, eqn, x):
    """(element at an index of the result) for a reduction over axes."""
    axes, (take, nothing) = eqn.attrs["axes"], REDUCTIONS[eqn.op]

    def element(index):
        kept = iter(index)
        whole = [IndexForm() if a in axes else next(kept) for a in range(x.type.ndim)]
        return reduced(region.code, x, axes, whole, take, nothing)

    return element


def dot_element(region, eqn, x, y):
    """(element at an index of the result) for dot_general."""
    bools = x.type.dtype.kind == "b"
    take, nothing = REDUCTIONS[OPS["reduce_or" if bools else "reduce_sum"]]
    terms_at = factors(eqn, x, y, OPS["and" if bools else "mul"])

    def element(index):
        terms = terms_at(index)
        return reduced(region.code, terms, range(terms.type.ndim), [IndexForm()] * terms.type.ndim, take, nothing)

    return element


def multiplications(eqn):
    """How many a dot_general makes."""
    x, _ = eqn.operands
    return math.prod([eqn.results[0].type.size, *(x.type.shape[a] for a in eqn.attrs["contract"][0])])


def read_once(eqn):
    """The operands of which a dot_general reads each element once, the other one being a vector."""
    axes = zip(eqn.attrs["contract"], eqn.attrs["batch"], strict=True)
    x_free, y_free = (z.type.ndim > len(c) + len(b) for z, (c, b) in zip(eqn.operands, axes, strict=True))
    x, y = eqn.operands
    return [x] * (not y_free) + [y] * (not x_free)


def is_tiny(eqn):
    """Whether a dot_general takes few numbers from a small matrix for each of its elements."""
    x, _ = eqn.operands
    terms = math.prod(x.type.shape[a] for a in eqn.attrs["contract"][0])
    return decide("a tiny matrix", terms <= TINY and min(x.type.size for x in eqn.operands) <= TINY * TINY)


def factors(eqn, x, y, times):
    """(index of the result -> the terms whose sum it is) of a dot_general."""
    (cx, cy), (bx, by) = eqn.attrs["contract"], eqn.attrs["batch"]
    free = [[a for a in range(z.type.ndim) if a not in c and a not in b] for z, c, b in ((x, cx, bx), (y, cy, by))]
    t = x.type.like(tuple(x.type.shape[a] for a in cx))

    def picked(z, contract, batch, free, index, first):
        def move(k):
            at = dict(zip(contract, k)) | dict(zip(batch, index)) | dict(zip(free, index[first:]))
            return tuple(at[a] for a in range(z.type.ndim))

        return Moved(t, z, move)

    def terms_at(index):
        a = picked(x, cx, bx, free[0], index, len(bx))
        b = picked(y, cy, by, free[1], index, len(bx) + len(free[0]))
        return Mapped(t, times, {}, [a, b])

    return terms_at


def row_by_row(eqn, xs):
    """(index of the result -> terms, and the shape of those) of a sum that is added up row by row, its last axis being
    one of memory; or None.

    Then the innermost loop reads and writes neighbours. Where terms are masked, the loop over the window of each
    element is the shorter one.
    """
    t = eqn.results[0].type
    if eqn.op is OPS["dot_general"]:
        (cx, cy), (bx, by) = eqn.attrs["contract"], eqn.attrs["batch"]
        z, inner = (xs[1], (*cy, *by)) if xs[1].type.ndim > len(cy) + len(by) else (xs[0], (*cx, *bx))
        terms = factors(eqn, *xs, OPS["mul"])
        over = tuple(xs[0].type.shape[a] for a in cx)
    elif eqn.op is OPS["reduce_sum"]:
        z, inner, axes = xs[0], eqn.attrs["axes"], eqn.attrs["axes"]
        over = tuple(z.type.shape[a] for a in axes)
        terms = lambda index: Moved(z.type.like(over), z, lambda k: merged_index(axes, k, index, z.type.ndim))
    else:
        return None
    if (
        t.dtype.kind == "b"
        or not t.shape
        or not over
        or z.type.ndim - 1 in inner
        or any(map(masked, xs))
        or not decide("row by row", t.shape[-1] >= (PRODUCT_ROW if eqn.op is OPS["dot_general"] else ROW))
    ):
        return None
    return terms, over


def merged_index(axes, taken, left, count):
    """An index of which `taken` are the entries at `axes` and `left` the others."""
    at, left = dict(zip(axes, taken)), iter(left)
    return tuple(at[a] if a in at else next(left) for a in range(count))


def masked(x):
    """Whether elements are chosen by where they stand."""
    return isinstance(x, Mapped) and x.op is OPS["select"] and by_place(x.operands[0]) or any(map(masked, below(x)))


def by_place(x):
    """Whether elements hang on where they stand."""
    return isinstance(x, Counted) or any(map(by_place, below(x)))


def below(x):
    return x.operands if isinstance(x, Mapped) else [x.operand] if isinstance(x, Moved) else []


def search(region, eqn, x):
    """(element at an index of the result) for argmax and argmin: the first of the best, and NaN is best of all."""
    axis, better, code, d = eqn.attrs["axis"], SEARCHES[eqn.op], region.code, x.type.dtype

    def element(index):
        at = lambda t: (*index[:axis], IndexForm.of(t), *index[axis:])
        first = Elements(code).get(x, at("0"))

        def step(t, best, place):
            found = Elements(code).get(x, at(t))
            wins = compare(code, better, d, found, best)
            if d.kind == "f":
                s = llvm_type(d)
                missing, have = code.op(f"fcmp uno {s} {found}, {found}"), code.op(f"fcmp ord {s} {best}, {best}")
                wins = code.op(f"or i1 {wins}, {code.op(f'and i1 {missing}, {have}')}")
            return [chosen(code, wins, d, found, best), chosen(code, wins, NONE, t, place)]

        _, place = code.count_up("1", x.type.shape[axis], step, [llvm_type(d), "i64"], [first, "0"])
        return Elements(code).converted(place, eqn.results[0].type.dtype)

    return element


COMPUTED = {**dict.fromkeys(REDUCTIONS, reduction), **dict.fromkeys(SEARCHES, search), OPS["dot_general"]: dot_element}
