"""Parts of products, computed of the parts of the factors that they are made of: rows, diagonals, traces; and sums of
their rows and columns, computed of the sums of the factors.

The elements that are read are sums of the same products, which may be added in another order.
"""

import math

from ..ops.linalg import dot_general
from ..ops.reduction import reduce_sum
from ..ops.shape import reshape, slice_
from ..pattern import holes
from ..rewrite import RuleSet
from ..setting import OF_ALL_SIZES
from .contractions import NONE, SAVED, without

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


@rule(reduce_sum(dot_general(x, y, contract=c, batch=b), axes=p), exact=False, once=True, grows=True, cases=[
    {"x": "f64[60,40]", "y": "f64[40,50]", "c": ((1,), (0,)), "b": NONE, "p": (0, 1)},
    {"x": "f64[40,60]", "y": "f64[50,40]", "c": ((0,), (1,)), "b": NONE, "p": (0,)},
    {"x": "f64[60,40]", "y": "f64[40,50]", "c": ((1,), (0,)), "b": NONE, "p": (1,)},
    {"x": "f64[2,30,40]", "y": "f64[40,5,2,20]", "c": ((2,), (0,)), "b": ((0,), (2,)), "p": (1, 3)},
], never=[
    {"x": "f64[60,40]", "y": "f64[40]", "c": ((1,), (0,)), "b": NONE, "p": (0,)},
    {"x": "f64[6,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": NONE, "p": (0, 1)},
    {"x": "f64[2,30,40]", "y": "f64[2,40,50]", "c": ((2,), (1,)), "b": ((0,), (0,)), "p": (0, 1)},
])  # fmt: skip
def sum_of_product(x, y, c, b, p):
    """sum_ij (x y)[i,j] = (sum_i x[i]) . (sum_j y[:, j])"""
    if OF_ALL_SIZES.get() or x.type.kind not in "fc" or not p or min(p) < len(b[0]):
        return None
    cut_down, axes, first = [], [], len(b[0])
    before = math.prod(x.type.shape[i] for i in c[0] + b[0])
    after = before
    for v, contracted, batch in ((x, c[0], b[0]), (y, c[1], b[1])):
        free = without(contracted + batch, v.type.ndim)
        summed = tuple(i for k, i in enumerate(free) if first + k in p)
        first += len(free)
        left = without(summed, v.type.ndim)
        before *= math.prod(v.type.shape[i] for i in free)
        after *= math.prod(v.type.shape[i] for i in free if i not in summed)
        cut_down.append((v, summed))
        axes.append([tuple(left.index(i) for i in own) for own in (contracted, batch)])
    after += sum(v.type.size for v, summed in cut_down if summed)
    if after > SHARE * before or before - after < SAVED:
        return None
    factors = [reduce_sum(v, axes=summed) if summed else v for v, summed in cut_down]
    made = dot_general(*factors, contract=(axes[0][0], axes[1][0]), batch=(axes[0][1], axes[1][1]))
    return made + 0.0 if math.prod(x.type.shape[i] for i in c[0]) == 1 else made  # as in `grouped`
