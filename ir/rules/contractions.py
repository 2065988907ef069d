"""Products of products: grouped so that they cost least, and no inverse computed to be multiplied once.

Grouping anew adds in another order, and an inverse rounds more often than the solution of a system does.
"""

import math

from ..core import Value
from ..ops.dense import solve
from ..ops.elementwise import cast, eq
from ..ops.linalg import dot_general
from ..ops.shape import iota, reshape, transpose
from ..pattern import holes
from ..rewrite import RuleSet

CONTRACTIONS = RuleSet("contractions")
rule = CONTRACTIONS.rule
x, y, z, a, u, b = holes("x y z a u b")
c, d, t = holes("c d t")  # attributes

SHARE = 0.8  # what is left of the multiplications at most; measured by benchmarks/tune.py
SAVED = 1024  # how many fewer there are at least: a product takes a microsecond anyway; measured by benchmarks/tune.py
LEAST = 9  # rows of a matrix from which it is not worth inverting; re-measured by benchmarks/tune.py


def without(axes, ndim):
    """The other axes, in order."""
    return tuple(i for i in range(ndim) if i not in axes)


# -- chains ----------------------------------------------------------------------------------------


def grouped(x, y, c, z, over, there, left):
    """The product of x y with z, over the axes `over` of x y and `there` of z, as that of one factor with what the
    other gives with z.

    left: whether x y is the left factor. None where the other factor does not have just those axes, or it costs no
    less.
    """
    free = [without(c[0], x.type.ndim), without(c[1], y.type.ndim)]
    near = int(min(over, default=0) >= len(free[0]))
    first = len(free[0]) if near else 0
    if not over or sorted(over) != list(range(first, first + len(free[near]))):
        return None
    one, other = (y, x) if near else (x, y)
    k = math.prod(one.type.shape[i] for i in c[near])
    m, n, p = (v.type.size // max(1, w) for v, w in ((other, k), (one, k), (z, one.type.size // max(1, k))))
    before, after = m * n * (k + p), k * p * (n + m)
    if after > SHARE * before or before - after < SAVED:
        return None
    axes, rest = tuple(free[near][i - first] for i in over), sorted(c[near])
    kept = z.type.ndim - len(there)
    if left:
        inner = dot_general(one, z, contract=(axes, there), batch=((), ()))
        made = dot_general(other, inner, contract=(c[1 - near], tuple(rest.index(i) for i in c[near])), batch=((), ()))
    else:
        inner = dot_general(z, one, contract=(there, axes), batch=((), ()))
        made = dot_general(
            inner, other, contract=(tuple(kept + rest.index(i) for i in c[near]), c[1 - near]), batch=((), ())
        )
    return made + 0.0 if k == 1 < n else made  # one product may be -0.0, where a sum is 0.0


NONE = ((), ())


@rule(dot_general(dot_general(x, y, contract=c, batch=NONE), z, contract=d, batch=NONE), exact=False, once=True, cases=[
    {"x": "f64[30,20]", "y": "f64[20,30]", "z": "f64[30]", "c": ((1,), (0,)), "d": ((1,), (0,))},
    {"x": "f64[30,20]", "y": "f64[30,20]", "z": "f64[2,30]", "c": ((1,), (1,)), "d": ((0,), (1,))},
    {"x": "f64[40]", "y": "f64[40,6,9]", "z": "f64[9,6,50]", "c": ((0,), (0,)), "d": ((0, 1), (1, 0))},
    {"x": "f64[40]", "y": "f64[50]", "z": "f64[50,3]", "c": ((), ()), "d": ((1,), (0,))},
    {"x": "f64[4,5,20]", "y": "f64[5,4,30]", "z": "f64[30]", "c": ((1, 0), (0, 1)), "d": ((1,), (0,))},
], never=[
    {"x": "f64[2,30]", "y": "f64[30,30]", "z": "f64[30,300]", "c": ((1,), (0,)), "d": ((1,), (0,))},
    {"x": "f64[3,2]", "y": "f64[2,3]", "z": "f64[3]", "c": ((1,), (0,)), "d": ((1,), (0,))},
])  # fmt: skip
def group_to_the_right(x, y, c, z, d):
    """(x y) z = x (y z)"""
    return grouped(x, y, c, z, *d, True)


@rule(dot_general(z, dot_general(x, y, contract=c, batch=NONE), contract=d, batch=NONE), exact=False, once=True, cases=[
    {"x": "f64[30,20]", "y": "f64[20,30]", "z": "f64[30]", "c": ((1,), (0,)), "d": ((0,), (0,))},
    {"x": "f64[30,20]", "y": "f64[30,20]", "z": "f64[2,30]", "c": ((1,), (1,)), "d": ((1,), (1,))},
    {"x": "f64[30,4,5]", "y": "f64[5,4,20]", "z": "f64[30]", "c": ((1, 2), (1, 0)), "d": ((0,), (0,))},
], never=[
    {"x": "f64[3,2]", "y": "f64[2,3]", "z": "f64[3]", "c": ((1,), (0,)), "d": ((0,), (0,))},
])  # fmt: skip
def group_to_the_left(x, y, c, z, d):
    """z (x y) = (z x) y"""
    return grouped(x, y, c, z, *d[::-1], False)


# -- inverses --------------------------------------------------------------------------------------


def is_identity_matrix(u):
    """Whether a matrix is the identity, as np.linalg.inv makes it."""
    if (
        not isinstance(u, Value)
        or u.eqn is None
        or u.eqn.op is not cast
        or u.eqn.operands[0].eqn is None
        or u.eqn.operands[0].eqn.op is not eq
    ):
        return False
    sides = [
        v.eqn for v in u.eqn.operands[0].eqn.operands if isinstance(v, Value) and v.eqn is not None and v.eqn.op is iota
    ]
    return sorted(e.attrs["axis"] for e in sides) == [0, 1] and u.type.ndim == 2


def solved(a, b, t, over, there):
    """The solution of a system in the place of the product of a's inverse, over one of its axes, with b: its rows, then
    what else b has.

    None where b has more columns than rows, or a is small.
    """
    n = a.type.shape[0]
    if n < LEAST or b.type.ndim > 2 or b.type.size > n * n:
        return None
    columns = (
        b
        if b.type.ndim == 2 and there == 0
        else transpose(b, perm=(1, 0))
        if b.type.ndim == 2
        else reshape(b, shape=(n, 1))
    )
    return solve(a, columns, transpose=t != (over == 0))


INVERSE = """
    func inverted(%a: f64[9,9], %b: f64[{shape}]) -> f64[{result}] {{
      %r = iota shape=[9,9] axis=0 dtype=i32 : i32[9,9]
      %s = iota shape=[9,9] axis=1 dtype=i32 : i32[9,9]
      %e = eq %r, %s : bool[9,9]
      %i = cast %e dtype=f64 : f64[9,9]
      %d = mul %a, %i : f64[9,9]
      %m = add %d, %i : f64[9,9]
      %v = solve %m, %i : f64[9,9]
      %z = dot_general {product} : f64[{result}]
      return %z
    }}"""


def cases(*found):
    return [INVERSE.format(shape=shape, result=result, product=product) for shape, result, product in found]


@rule(dot_general(solve(a, u, transpose=t), b, contract=c, batch=NONE), exact=False, once=True, grows=True,
    where=is_identity_matrix, cases=cases(
    ("9", "9", "%v, %b contract=[[1],[0]]"), ("9", "9", "%v, %b contract=[[0],[0]]"),
    ("2,9", "9,2", "%v, %b contract=[[1],[1]]"),
), never=cases(("9,10", "9,10", "%v, %b contract=[[1],[0]]")))  # fmt: skip
def solve_with_the_inverse(a, b, t, c):
    """inv(a) b = solve(a, b)"""
    found = solved(a, b, t, c[0][0], c[1][0]) if len(c[0]) == 1 else None
    return found if found is None or b.type.ndim == 2 else reshape(found, shape=b.type.shape)


@rule(dot_general(b, solve(a, u, transpose=t), contract=c, batch=NONE), exact=False, once=True, grows=True,
    where=is_identity_matrix, cases=cases(
    ("9", "9", "%b, %v contract=[[0],[0]]"), ("3,9", "3,9", "%b, %v contract=[[1],[0]]"),
    ("9,3", "3,9", "%b, %v contract=[[0],[1]]"),
), never=cases(("10,9", "10,9", "%b, %v contract=[[1],[0]]")))  # fmt: skip
def solve_with_the_inverse_on_the_right(a, b, t, c):
    """b inv(a) = solve(a^T, b^T)^T"""
    found = solved(a, b, t, c[1][0], c[0][0]) if len(c[0]) == 1 else None
    return (
        found
        if found is None
        else reshape(found, shape=b.type.shape)
        if b.type.ndim == 1
        else transpose(found, perm=(1, 0))
    )
