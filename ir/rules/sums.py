"""Identities of reductions and contractions."""

import math

from ..core import Lit
from ..ops.indexing import scatter_add
from ..ops.linalg import dot_general
from ..ops.reduction import reduce_and, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum
from ..ops.shape import broadcast, reshape, transpose
from ..pattern import holes, literals
from ..rewrite import RuleSet

SUMS = RuleSet("sums")
rule = SUMS.rule
x, y, z, u = holes("x y z u")
a = literals("a")
p, q, s, d, b, c, e = holes("p q s d b c e")  # attributes


def rising(axes):
    return list(axes) == sorted(axes)


def without(axes, ndim):
    """The other axes, in order."""
    return tuple(i for i in range(ndim) if i not in axes)


def shape_without(type, axes):
    return tuple(type.shape[i] for i in without(axes, type.ndim))


# -- reductions ------------------------------------------------------------------------------------


def reduction_rules(reduce, exact, dtype):
    """What holds whatever is accumulated; adding and multiplying floats in another order is not exact."""
    rule(reduce(x, axes=()), x + 0.0 if reduce is reduce_sum else x, cases=[{"x": f"{dtype}[3]"}])

    @rule(
        reduce(x, axes=p),
        exact=exact,
        grows=reduce is reduce_sum,
        cases=[{"x": f"{dtype}[3,1]", "p": (1,)}, {"x": f"{dtype}[1,3,1]", "p": (0, 2)}],
        never=[{"x": f"{dtype}[3,1]", "p": (0,)}],
    )
    def reduce_ones(x, p):
        """One element accumulates to itself, -0.0 to 0.0."""
        if any(x.type.shape[i] != 1 for i in p):
            return None
        one = reshape(x, shape=shape_without(x.type, p))
        if reduce is reduce_prod and x.type.kind == "c":
            return one * 1.0
        return one + 0.0 if reduce is reduce_sum else one

    @rule(
        reduce(reduce(x, axes=p), axes=q),
        exact=exact,
        once=True,
        cases=[{"x": f"{dtype}[2,3,4]", "p": (1,), "q": (1,)}],
    )
    def merge_reductions(x, p, q):
        left = without(p, x.type.ndim)
        return reduce(x, axes=tuple(sorted((*p, *(left[i] for i in q)))))

    @rule(reduce(transpose(x, perm=p), axes=q), exact=exact, cases=[
        {"x": f"{dtype}[2,3,4]", "p": (2, 0, 1), "q": (0,)}, {"x": f"{dtype}[2,3]", "p": (1, 0), "q": (0, 1)},
    ], never=[{"x": f"{dtype}[2,3,4]", "p": (2, 1, 0), "q": (0,)}])  # fmt: skip
    def reduce_transpose(x, p, q):
        """Where the axes that stay are in order."""
        return reduce(x, axes=tuple(sorted(p[i] for i in q))) if rising([p[i] for i in without(q, len(p))]) else None

    @rule(reduce(reshape(x, shape=s), axes=p), exact=exact, cases=[{"x": f"{dtype}[2,6]", "s": (3, 4), "p": (0, 1)}],
          never=[{"x": f"{dtype}[2,6]", "s": (3, 4), "p": (0,)}])
    def reduce_everything(x, s, p):
        return reduce(x, axes=tuple(range(x.type.ndim))) if len(p) == len(s) else None


for reduce in (reduce_sum, reduce_prod):
    reduction_rules(reduce, exact=False, dtype="f64")
for reduce in (reduce_max, reduce_min):
    reduction_rules(reduce, exact=True, dtype="f64")
for reduce in (reduce_and, reduce_or):
    reduction_rules(reduce, exact=True, dtype="bool")


@rule(reduce_sum(broadcast(x, shape=s, dims=d), axes=p), exact=False, grows=True, cases=[
    {"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (1,)},
    {"x": "f32[3,1]", "s": (3, 4, 2), "d": (0, 2), "p": (1, 2)},
], never=[{"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (0,)},
{"x": "f64[3]", "s": (3, 4), "d": (0,), "p": (0, 1)}])  # fmt: skip
def sum_of_repeats(x, s, d, p):
    """n equal terms are n times one; only axes that repeat are summed, and all of them."""
    repeats = tuple(i for i in range(len(s)) if i not in d or x.type.shape[d.index(i)] != s[i])
    if set(p) != set(repeats):
        return None
    return reshape(x, shape=tuple(s[i] for i in without(p, len(s)))) * math.prod(s[i] for i in p) + 0.0


@rule(reduce_sum(a, axes=p), exact=False, cases=[{"a": 0.1, "p": (0,)}, {"a": 3, "p": (0,)}])
def sum_of_splat(a, p):
    n = math.prod(a.type.shape[i] for i in p)
    total = a.value * a.type.dtype.type(n) + a.type.dtype.type(0) if n else 0
    return Lit(total, a.type.like(shape_without(a.type, p)))


# 1 - 1 and -1 + 1 are both +0.0
rule(reduce_sum(-x, axes=p), 0.0 - reduce_sum(x, axes=p), exact=False, cases=[{"x": "f64[3,4]", "p": (1,)}])


# rounds once instead of n times
@rule(reduce_sum(a * x, axes=p), exact=False, grows=True, cases=[
    {"a": c, "x": "f64[3,4]", "p": (1,)} for c in (0.1, -0.1)
])
def sum_of_multiples(a, x, p):
    total = reduce_sum(x, axes=p)
    product = Lit(a.value, total.type) * total
    return product if a.value.imag == 0 and a.value.real > 0 else product + 0.0


# -- contractions take transposed operands as they are; BLAS may add in another order --------------


def unpermuted_axes(axes, perm):
    """Axes of a transposed operand as axes of the operand."""
    return tuple(perm[i] for i in axes)


def free_in_order(perm, contract, batch):
    return rising([perm[i] for i in range(len(perm)) if i not in contract + batch])


@rule(dot_general(transpose(x, perm=p), y, contract=c, batch=b), exact=False, cases=[
    {"x": "f64[4,3]", "p": (1, 0), "y": "f64[4,2]", "c": ((1,), (0,)), "b": ((), ())},
    {"x": "f64[4,2,3]", "p": (1, 2, 0), "y": "f64[2,4]", "c": ((2,), (1,)), "b": ((0,), (0,))},
], never=[{"x": "f64[4,2,3]", "p": (2, 1, 0), "y": "f64[4,5]", "c": ((2,), (0,)), "b": ((), ())}])  # fmt: skip
def contract_transposed_left(x, p, y, c, b):
    if not free_in_order(p, c[0], b[0]):
        return None
    return dot_general(x, y, contract=(unpermuted_axes(c[0], p), c[1]), batch=(unpermuted_axes(b[0], p), b[1]))


@rule(dot_general(x, transpose(y, perm=p), contract=c, batch=b), exact=False, cases=[
    {"x": "f64[2,4]", "y": "f64[3,4]", "p": (1, 0), "c": ((1,), (0,)), "b": ((), ())},
], never=[{"x": "f64[5,4]", "y": "f64[4,2,3]", "p": (2, 1, 0), "c": ((1,), (2,)), "b": ((), ())}])  # fmt: skip
def contract_transposed_right(x, y, p, c, b):
    if not free_in_order(p, c[1], b[1]):
        return None
    return dot_general(x, y, contract=(c[0], unpermuted_axes(c[1], p)), batch=(b[0], unpermuted_axes(b[1], p)))


@rule(transpose(dot_general(x, y, contract=c, batch=b), perm=p), exact=False, cases=[
    {"x": "f64[3,4]", "y": "f64[4,5]", "c": ((1,), (0,)), "b": ((), ()), "p": (1, 0)},
    {"x": "f64[2,3,4]", "y": "f64[2,4,5]", "c": ((2,), (1,)), "b": ((0,), (0,)), "p": (0, 2, 1)},
], never=[{"x": "f64[2,3,4]", "y": "f64[4,5]", "c": ((2,), (0,)), "b": ((), ()), "p": (1, 0, 2)}],
once=True)  # fmt: skip
def contract_the_other_way_round(x, y, c, b, p):
    """(x y)^T contracts y with x: batch axes, then the free axes of y, then those of x."""
    k = len(b[0])
    m = k + x.type.ndim - k - len(c[0])
    if p != (*range(k), *range(m, len(p)), *range(k, m)):
        return None
    return dot_general(y, x, contract=c[::-1], batch=b[::-1])


# -- sums of products with a common factor: one product -------------------------------------------

# rows of the common factor from which a product costs more than adding the other two factors; re-measured by
# benchmarks/tune.py
ENOUGH = 8


def common_left(x, y, z, c, d, b, e):
    """y + z, with the axes of z in the order of those of y, where x y + x z = x (y + z); None where the axes do not
    allow it."""
    kept = math.prod(n for i, n in enumerate(x.type.shape) if i not in c[0])
    if any(b) or any(e) or c[0] != d[0] or kept < ENOUGH:
        return None
    mine, other = (axes[1] + without(axes[1], t.type.ndim) for axes, t in ((c, y), (d, z)))
    perm = tuple(other[mine.index(i)] for i in range(y.type.ndim))
    return y + (z if rising(perm) else transpose(z, perm=perm))


def common_right(x, y, z, c, d, b, e):
    """x + y, likewise, where x z + y z = (x + y) z."""
    return common_left(z, x, y, c[::-1], d[::-1], b, e)


@rule(dot_general(x, y, contract=c, batch=b) + dot_general(x, z, contract=d, batch=e), exact=False, once=True,
    grows=True, cases=[
    {"x": "f64[20,4]", "y": "f64[4,3]", "z": "f64[3,4]", "c": ((1,), (0,)), "d": ((1,), (1,)), "b": ((), ()),
        "e": ((), ())},
    {"x": "f64[4,20]", "y": "f64[4]", "z": "f64[4]", "c": ((0,), (0,)), "d": ((0,), (0,)), "b": ((), ()),
        "e": ((), ())},
], never=[
    {"x": "f64[7,4]", "y": "f64[4,3]", "z": "f64[3,4]", "c": ((1,), (0,)), "d": ((1,), (1,)), "b": ((), ()),
        "e": ((), ())},
])  # fmt: skip
def add_right_factors(x, y, z, c, d, b, e):
    total = common_left(x, y, z, c, d, b, e)
    return None if total is None else dot_general(x, total, contract=c, batch=b)


@rule(dot_general(x, z, contract=c, batch=b) + dot_general(y, z, contract=d, batch=e), exact=False, once=True,
    grows=True, cases=[
    {"x": "f64[3,4]", "y": "f64[4,3]", "z": "f64[4,20]", "c": ((1,), (0,)), "d": ((0,), (0,)), "b": ((), ()),
        "e": ((), ())},
], never=[
    {"x": "f64[3,4]", "y": "f64[4,3]", "z": "f64[4,7]", "c": ((1,), (0,)), "d": ((0,), (0,)), "b": ((), ()),
        "e": ((), ())},
])  # fmt: skip
def add_left_factors(x, y, z, c, d, b, e):
    total = common_right(x, y, z, c, d, b, e)
    return None if total is None else dot_general(total, z, contract=c, batch=b)


@rule((u + dot_general(x, y, contract=c, batch=b)) + dot_general(x, z, contract=d, batch=e), exact=False, once=True,
    grows=True, cases=[
    {"u": "f64[20,3]", "x": "f64[20,4]", "y": "f64[4,3]", "z": "f64[3,4]", "c": ((1,), (0,)), "d": ((1,), (1,)),
        "b": ((), ()), "e": ((), ())},
], never=[
    {"u": "f64[7,3]", "x": "f64[7,4]", "y": "f64[4,3]", "z": "f64[3,4]", "c": ((1,), (0,)), "d": ((1,), (1,)),
        "b": ((), ()), "e": ((), ())},
])  # fmt: skip
def add_to_right_factors(u, x, y, z, c, d, b, e):
    total = common_left(x, y, z, c, d, b, e)
    return None if total is None else u + dot_general(x, total, contract=c, batch=b)


@rule((u + dot_general(x, z, contract=c, batch=b)) + dot_general(y, z, contract=d, batch=e), exact=False, once=True,
    grows=True, cases=[
    {"u": "f64[3,20]", "x": "f64[3,4]", "y": "f64[4,3]", "z": "f64[4,20]", "c": ((1,), (0,)), "d": ((0,), (0,)),
        "b": ((), ()), "e": ((), ())},
], never=[
    {"u": "f64[3,7]", "x": "f64[3,4]", "y": "f64[4,3]", "z": "f64[4,7]", "c": ((1,), (0,)), "d": ((0,), (0,)),
        "b": ((), ()), "e": ((), ())},
])  # fmt: skip
def add_to_left_factors(u, x, y, z, c, d, b, e):
    total = common_right(x, y, z, c, d, b, e)
    return None if total is None else u + dot_general(total, z, contract=c, batch=b)


INTO_ZEROS = scatter_add(
    a, u, y, offset_dims=p, collapsed=q, start_index_map=s, operand_batch=b, indices_batch=c, mode=d, unique=e
)


@rule(x + INTO_ZEROS, exact=False, once=True,
      where=lambda a: a.value == 0, cases=["""
    func scattered(%x: f64[4], %y: f64[5]) -> f64[4] {
      %i = constant value=dense("i64[5,1]",[3,1,3,0,9]) : i64[5,1]
      %s = scatter_add 0.0:f64[4], %i, %y offset_dims=[] collapsed=[0] start_index_map=[0] : f64[4]
      %r = add %x, %s : f64[4]
      return %r
    }"""], never=["""
    func scattered(%x: f64[4], %y: f64[5]) -> f64[4] {
      %i = constant value=dense("i64[5,1]",[3,1,3,0,9]) : i64[5,1]
      %s = scatter_add 1.0:f64[4], %i, %y offset_dims=[] collapsed=[0] start_index_map=[0] : f64[4]
      %r = add %x, %s : f64[4]
      return %r
    }"""])  # fmt: skip
def add_onto(x, u, y, p, q, s, b, c, d, e):
    """Into the other term, instead of zeros."""
    return scatter_add(
        x + 0.0, u, y, offset_dims=p, collapsed=q, start_index_map=s, operand_batch=b, indices_batch=c, mode=d, unique=e
    )
