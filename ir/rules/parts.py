"""Parts of products, computed of the parts of the factors that they are made of: rows, diagonals, traces.

The elements that are read are sums of the same products, which may be added in another order.
"""

import math

from ..ops.linalg import dot_general
from ..ops.reduction import reduce_sum
from ..ops.shape import reshape, slice_
from ..pattern import holes
from ..rewrite import RuleSet
from ..setting import OF_ALL_SIZES
from .contractions import NONE, without

PARTS = RuleSet("parts")
rule = PARTS.rule
x, y = holes("x y")
c, b, s, t, d, q, p = holes("c b s t d q p")  # attributes

SHARE = 0.8  # bound: what is left of the elements of a product at most, so that its factors are cut


def cut(x, parts):
    """x without what lies outside of parts, {axis: (start, stop, stride)}."""
    whole = {i: (0, n, 1) for i, n in enumerate(x.type.shape)}
    if all(whole[i] == part for i, part in parts.items()):
        return x
    start, stop, stride = zip(*(whole | parts).values(), strict=True)
    return slice_(x, start=start, stop=stop, stride=stride)


def slice_shape(start, stop, stride):
    """The sizes of what lies between, axis by axis."""
    return [len(range(*ends)) for ends in zip(start, stop, stride, strict=True)]


@rule(slice_(dot_general(x, y, contract=c, batch=b), start=s, stop=t, stride=d), exact=False, once=True,
    grows=True, cases=[
    {"x": "f64[6,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": NONE, "s": (1, 0), "t": (2, 5), "d": (1, 1)},
    {"x": "f64[4,6]", "y": "f64[5,4]", "c": ((0,), (1,)), "b": NONE, "s": (5, 3), "t": (6, 4), "d": (1, 1)},
    {"x": "f64[6,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": NONE, "s": (0, 1), "t": (6, 4), "d": (1, 2)},
    {"x": "f64[2,6,4]", "y": "f64[4,2,5]", "c": ((2,), (0,)), "b": ((0,), (1,)), "s": (1, 0, 0), "t": (2, 2, 5),
     "d": (1, 1, 1)},
    {"x": "f64[3]", "y": "f64[4]", "c": ((), ()), "b": NONE, "s": (2, 0), "t": (3, 4), "d": (1, 1)},
], never=[
    {"x": "f64[6,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": NONE, "s": (1, 0), "t": (6, 5), "d": (1, 1)},
])  # fmt: skip
def part_of_product(x, y, c, b, s, t, d):
    """(x y)[i] = x[i] y"""
    free = [without(c[k] + b[k], v.type.ndim) for k, v in enumerate((x, y))]
    batch = len(b[0])
    shape = [v.type.shape[i] for v, axes in ((x, b[0] + free[0]), (y, free[1])) for i in axes]
    left = slice_shape(s, t, d)
    one = any(m == 1 < n for m, n in zip(left, shape, strict=True))
    # by how much it is narrowed is no matter of sizes that may change; that one place of several is read is none
    if not one and (OF_ALL_SIZES.get() or math.prod(left) > SHARE * math.prod(shape)):
        return None
    ends = [*zip(s, t, d, strict=True)]
    rows = batch + len(free[0])
    return dot_general(
        cut(x, dict(zip(b[0] + free[0], ends[:rows], strict=True))),
        cut(y, dict(zip(b[1] + free[1], ends[:batch] + ends[rows:], strict=True))),
        contract=c,
        batch=b,
    )


@rule(slice_(reshape(dot_general(x, y, contract=c, batch=NONE), shape=q), start=s, stop=t, stride=d), exact=False,
    once=True, grows=True, cases=[
    {"x": "f64[6,4]", "y": "f64[4,6]", "c": ((1,), (0,)), "q": (36,), "s": (0,), "t": (36,), "d": (7,)},
    {"x": "f64[4,6]", "y": "f64[5,4]", "c": ((0,), (1,)), "q": (30,), "s": (2,), "t": (15,), "d": (6,)},
    {"x": "f64[6,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "q": (30,), "s": (10,), "t": (30,), "d": (6,)},
], never=[
    {"x": "f64[6,4]", "y": "f64[4,6]", "c": ((1,), (0,)), "q": (36,), "s": (0,), "t": (36,), "d": (5,)},
    {"x": "f64[6,4]", "y": "f64[4,6]", "c": ((1,), (0,)), "q": (36,), "s": (3,), "t": (36,), "d": (7,)},
])  # fmt: skip
def diagonal_of_product(x, y, c, q, s, t, d):
    """diag(x y)[i] = x[i] . y[:, i], of any diagonal."""
    free = [without(c[k], v.type.ndim) for k, v in enumerate((x, y))]
    if len(q) != 1 or [*map(len, free)] != [1, 1]:
        return None
    m, n = x.type.shape[free[0][0]], y.type.shape[free[1][0]]
    if not n or d[0] != n + 1:
        return None
    row, column = divmod(s[0], n)
    (length,) = slice_shape(s, t, d)
    if row and column or length > min(m - row, n - column):
        return None
    return dot_general(
        cut(x, {free[0][0]: (row, row + length, 1)}),
        cut(y, {free[1][0]: (column, column + length, 1)}),
        contract=c,
        batch=(free[0], free[1]),
    )


@rule(reduce_sum(dot_general(x, y, contract=c, batch=b), axes=p), exact=False, once=True, cases=[
    {"x": "f64[6,4]", "y": "f64[4,6]", "c": ((1,), (0,)), "b": ((0,), (1,)), "p": (0,)},
    {"x": "f64[2,6,4]", "y": "f64[4,6,2,5]", "c": ((2,), (0,)), "b": ((0, 1), (2, 1)), "p": (1,)},
], never=[
    {"x": "f64[6,4]", "y": "f64[4,6]", "c": ((1,), (0,)), "b": NONE, "p": (0,)},
    {"x": "f64[6,4,2]", "y": "f64[4,6]", "c": ((1,), (0,)), "b": ((0,), (1,)), "p": (0, 1)},
])  # fmt: skip
def sum_over_batch(x, y, c, b, p):
    """sum_i x[i] . y[i] is one product."""
    if not p or max(p) >= len(b[0]):
        return None
    kept = without(p, len(b[0]))
    contract = tuple(own + tuple(axes[i] for i in p) for own, axes in zip(c, b, strict=True))
    return dot_general(x, y, contract=contract, batch=tuple(tuple(axes[i] for i in kept) for axes in b))
