"""Ops of which NumPy has only a spelling with loops, or one that takes long, as functions with loops of the IR, which
have machine code.

Those of matrices are for small ones: large ones are better left to the libraries that XLA calls.
"""

import functools

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.dense import lu, solve, triangular_solve
from ...ir.ops.elementwise import abs, add, cast, conj, div, eq, ge, gt, imag, lt, mul, real, select, sub
from ...ir.ops.indexing import SCATTERS, gather
from ...ir.ops.linalg import dot_general
from ...ir.ops.reduction import argmax, recurrence
from ...ir.ops.shape import (
    broadcast,
    dynamic_slice,
    dynamic_update_slice,
    element_at,
    iota,
    reshape,
    transpose,
    with_element,
)
from ...ir.sample import decide
from ...ir.types import Tensor

LARGEST = 64  # bound: rows and columns


def looped(eqn):
    """The function with loops that an equation is, or None."""
    types = tuple([x.type for x in eqn.operands])
    if eqn.op in SCATTERED:
        known = tuple([x.value.tobytes() if isinstance(x, Lit) else None for x in eqn.operands])
        return made(eqn.op, types, tuple(eqn.attrs.items()), known) if types[0].size and types[2].size else None
    if eqn.op is recurrence:
        return made(eqn.op, types, tuple(eqn.attrs.items()))
    if eqn.op not in FUSED or not all(t.ndim == 2 and t.size for t in types):
        return None
    small = decide("matrices by loops", max(n for t in types for n in t.shape) <= LARGEST)
    return made(eqn.op, types, tuple(eqn.attrs.items())) if small else None


@functools.lru_cache(256)
def made(op, types, attrs, known=()):
    """known: of each operand that is one number throughout, its bytes; it stands in the function, which does not read
    its parameter."""
    written = functools.partial((LOOPED | FUSED)[op], **dict(attrs))
    numbers = {k: Lit(np.frombuffer(b, types[k].dtype)[0], types[k]) for k, b in enumerate(known) if b is not None}
    return region(lambda *xs: written(*(numbers.get(k, x) for k, x in enumerate(xs))), types, op.name)


def row_numbers(n):
    return iota(shape=(n,), axis=0, dtype=COUNTER.dtype)


def filled_row(x, n):
    """A number at each of n places."""
    return broadcast(x, shape=(n,), dims=())


def row(a, i):
    """Row i of a matrix."""
    return reshape(dynamic_slice(a, i, 0, sizes=(1, a.type.shape[1])), shape=(a.type.shape[1],))


def with_row(a, x, i):
    return dynamic_update_slice(a, reshape(x, shape=(1, a.type.shape[1])), i, 0)


def element(a, i, j):
    return reshape(dynamic_slice(a, i, j, sizes=(1, 1)), shape=())


def factors(x):
    """`lu`, row by row."""
    (m, n), dtype, int32 = x.type.shape, x.type.dtype, np.dtype("i4")

    def eliminate(t, k, a):
        r, pivot, last = add(add(k, 1), t), element(a, k, k), filled_row(k, n)
        factor = div(element(a, r, k), select(eq(pivot, dtype.type(0)), dtype.type(1), pivot))
        rest = sub(row(a, r), mul(filled_row(factor, n), row(a, k)))
        return with_row(
            a,
            select(gt(row_numbers(n), last), rest, select(eq(row_numbers(n), last), filled_row(factor, n), row(a, r))),
            r,
        )

    def step(k, a, pivots, order):
        column = reshape(dynamic_slice(a, 0, k, sizes=(m, 1)), shape=(m,))
        size = add(abs(real(column)), abs(imag(column))) if dtype.kind == "c" else abs(column)
        p = argmax(select(ge(row_numbers(m), filled_row(k, m)), size, size.type.dtype.type(-1)), axis=0)
        upper, lower = row(a, k), row(a, p)
        a = with_row(with_row(a, lower, k), upper, p)
        one, other = element_at(order, k), element_at(order, p)
        order = with_element(with_element(order, other, k), one, p)
        (a,) = loop(sub(m - 1, k), k, a, body=region(eliminate, [COUNTER, COUNTER, x.type]), carried=1, bound=m)
        return a, with_element(pivots, cast(p, dtype=int32), k), order

    count = min(m, n)
    pivots, order = Lit(0, Tensor((count,), int32)), iota(shape=(m,), axis=0, dtype=int32)
    return loop(x, pivots, order, body=region(step, [COUNTER, x.type, pivots.type, order.type]), carried=3, trips=count)


def substituted(a, b, *, left, lower, transpose, conj, unit):
    """`triangular_solve`, row by row."""
    turned = lambda x: TRANSPOSE(x, perm=(1, 0))
    m = turned(a) if transpose == left else a
    m, b = CONJ(m) if conj else m, b if left else turned(b)
    down, (n, columns) = lower == (transpose != left), b.type.shape

    def step(i, m, b, x):
        r = i if down else sub(n - 1, i)
        known = (lt if down else gt)(row_numbers(n), filled_row(r, n))
        factor = select(known, row(m, r), m.type.dtype.type(0))
        new = sub(row(b, r), dot_general(factor, x, contract=((0,), (0,))))
        return with_row(x, new if unit else div(new, filled_row(element(m, r, r), columns)), r)

    (x,) = loop(m, b, Lit(0, b.type), body=region(step, [COUNTER, m.type, b.type, b.type]), carried=1, trips=n)
    return x if left else turned(x)


def by_factors(a, b, *, transpose):
    """`solve`, by the factors of a, which a program that asks whether it can be solved has anyway."""
    packed, _, order = FACTORS(TRANSPOSE(a, perm=(1, 0)) if transpose else a)
    rows = reshape(order, shape=(*order.type.shape, 1))
    b = gather(b, rows, sizes=(1, b.type.shape[1]), offset_dims=(1,), collapsed=(0,), start_index_map=(0,), mode="clip")
    halfway = triangular_solve(packed, b, lower=True, unit=True)
    return triangular_solve(packed, halfway, lower=False)


def scattered(op):
    def run(x, indices, updates, **attrs):
        """A scatter, in the one trip of a loop."""
        read = [y for y in (indices, updates) if not isinstance(y, Lit)]

        def step(_, *now):
            found = dict(zip(read, now))
            return op(now[-1], found.get(indices, indices), found.get(updates, updates), **attrs)

        return loop(*read, x, body=region(step, [COUNTER, *(y.type for y in read), x.type]), carried=1, trips=1)

    return run


FACTORS, TRANSPOSE, CONJ = lu, transpose, conj  # attributes of the op have these names
SCATTERED = {op: scattered(op) for op in SCATTERS.values()}
def recurrent(a, b, *, axis, reverse):
    """`recurrence`, row by row."""
    if not b.type.size:
        return b
    n, shape = b.type.shape[axis], b.type.shape
    size = tuple(1 if k == axis else m for k, m in enumerate(shape))
    at = lambda i: [i if k == axis else 0 for k in range(len(shape))]

    def step(i, a, b, y, sofar):
        r = sub(n - 1, i) if reverse else i
        factor, row = (dynamic_slice(x, *at(r), sizes=size) for x in (a, b))
        sofar = select(along_rows(gt(i, 0), size), add(mul(factor, sofar), row), row)
        return dynamic_update_slice(y, sofar, *at(r)), sofar

    start = Lit(0, b.type), Lit(0, b.type.like(size))
    return loop(a, b, *start, body=region(step, [
        COUNTER, a.type, b.type, b.type, start[1].type,
    ]), carried=2, trips=n)[0]


def along_rows(x, size):
    return broadcast(x, shape=size, dims=())


LOOPED = {lu: factors, recurrence: recurrent, triangular_solve: substituted, **SCATTERED}
FUSED = {lu: factors, triangular_solve: substituted, solve: by_factors}  # among other equations
