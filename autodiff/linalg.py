"""Derivatives and batching of products."""

import numpy as np

from ..ir.ops.elementwise import conj, eq, le, lt, select
from ..ir.ops.linalg import dot_general
from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import broadcast, iota, transpose
from .batch import BATCH
from .forms import bilinear
from .shape import inverse


def _free(x, contract, batch):
    return tuple(i for i in range(x.type.ndim) if i not in contract + batch)


def permuted(x, perm):
    """Transpose, unless nothing moves."""
    return x if tuple(perm) == tuple(range(len(perm))) else transpose(x, perm=tuple(perm))


def dot_general_left(g, x, y, *, contract, batch):
    """Contract g with y over y's free axes, then put x's axes back in order."""
    (cx, cy), (bx, by) = contract, batch
    fx, fy = _free(x, cx, bx), _free(y, cy, by)
    g_batch, g_y = tuple(range(len(bx))), tuple(range(len(bx) + len(fx), g.type.ndim))
    out = dot_general(g, y, contract=(g_y, fy), batch=(g_batch, by))  # batch, free of x, contracted in y's order
    return permuted(out, inverse(bx + fx + tuple(cx[cy.index(j)] for j in sorted(cy))))


def dot_general_right(g, x, y, *, contract, batch):
    """The mirror image: contract x with g over x's free axes."""
    (cx, cy), (bx, by) = contract, batch
    fx, fy = _free(x, cx, bx), _free(y, cy, by)
    g_batch, g_x = tuple(range(len(bx))), tuple(range(len(bx), len(bx) + len(fx)))
    out = dot_general(x, g, contract=(fx, g_x), batch=(bx, g_batch))  # batch, contracted in x's order, free of y
    return permuted(out, inverse(by + tuple(cy[cx.index(i)] for i in sorted(cx)) + fy))


@BATCH.rule(dot_general)
def batch_dot_general(size, batched, x, y, *, contract, batch):
    """Both batched: one more batch axis. One batched: its new axis is a free axis, so the other operand is never
    repeated."""
    in_x, in_y = ((lambda axes, b=b: tuple(a + b for a in axes)) for b in batched)
    (cx, cy), (bx, by) = contract, batch
    if all(batched):
        return dot_general(x, y, contract=(in_x(cx), in_y(cy)), batch=((0, *in_x(bx)), (0, *in_y(by))))
    out = dot_general(x, y, contract=(in_x(cx), in_y(cy)), batch=(in_x(bx), in_y(by)))
    at = len(bx) if batched[0] else x.type.ndim - len(cx)  # x's first free axis, or the first of y's
    return permuted(out, (at, *(a for a in range(out.type.ndim) if a != at)))


bilinear(dot_general, dot_general_left, dot_general_right)


# -- the words in which rules about matrices are written; matrices lie along the last two axes ------


def matmul(x, y):
    """x y, matrix by matrix."""
    n = x.type.ndim
    return dot_general(x, y, contract=((n - 1,), (n - 2,)), batch=(tuple(range(n - 2)),) * 2)


def conjugate(x):
    return conj(x) if x.type.kind == "c" else x


def mirrored(x):
    """x^T"""
    n = x.type.ndim
    return transpose(x, perm=(*range(n - 2), n - 1, n - 2))


def adjoint(x):
    """x^H"""
    return conjugate(mirrored(x))


def row_and_column(x):
    """The row, and the column, of every element of x."""
    return tuple(iota(shape=x.type.shape, axis=x.type.ndim - k, dtype=np.dtype("i4")) for k in (2, 1))


def tril(x, strict=False):
    """x on and below its diagonal (only below if strict), zero elsewhere."""
    row, column = row_and_column(x)
    return select((lt if strict else le)(column, row), x, 0)


def triu(x, strict=False):
    """x on and above its diagonal (only above if strict), zero elsewhere."""
    row, column = row_and_column(x)
    return select((lt if strict else le)(row, column), x, 0)


def half_lower(x):
    """phi(x): x below its diagonal, half of it on the diagonal, zero above; its own transpose as a map."""
    row, column = row_and_column(x)
    return select(lt(column, row), x, select(eq(column, row), x * 0.5, 0))


def off_diagonal(x):
    return select(eq(*row_and_column(x)), 0, x)


def diagonal(x):
    """The vector on the diagonal of square x."""
    return reduce_sum(select(eq(*row_and_column(x)), x, 0), axes=(x.type.ndim - 1,))


def along_rows(w, shape):
    """Vectors w as rows, one below the other: multiplying by it scales column j by w[j]."""
    n = len(shape)
    return broadcast(w, shape=shape, dims=(*range(n - 2), n - 1))


def along_columns(w, shape):
    """Vectors w as columns: multiplying by it scales row i by w[i]."""
    return broadcast(w, shape=shape, dims=tuple(range(len(shape) - 1)))


def on_diagonal(w):
    """The diagonal matrices of vectors w."""
    shape = (*w.type.shape, w.type.shape[-1])
    row, column = (iota(shape=shape, axis=len(shape) - k, dtype=np.dtype("i4")) for k in (2, 1))
    return select(eq(row, column), along_rows(w, shape), 0)
