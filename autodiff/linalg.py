"""Derivatives and batching of products."""

from ..ir.ops.linalg import dot_general
from ..ir.ops.shape import transpose
from .batch import BATCH
from .forms import bilinear


def _free(x, contract, batch):
    return tuple(i for i in range(x.type.ndim) if i not in contract + batch)


def dot_general_left(g, x, y, *, contract, batch):
    """Contract g with y over y's free axes, then put x's axes back in order."""
    (cx, cy), (bx, by) = contract, batch
    fx, fy = _free(x, cx, bx), _free(y, cy, by)
    g_batch, g_y = tuple(range(len(bx))), tuple(range(len(bx) + len(fx), g.type.ndim))
    out = dot_general(g, y, contract=(g_y, fy), batch=(g_batch, by))  # batch, free of x, contracted in y's order
    order = bx + fx + tuple(cx[cy.index(j)] for j in sorted(cy))
    return _order(out, order)


def dot_general_right(g, x, y, *, contract, batch):
    """The mirror image: contract x with g over x's free axes."""
    (cx, cy), (bx, by) = contract, batch
    fx, fy = _free(x, cx, bx), _free(y, cy, by)
    g_batch, g_x = tuple(range(len(bx))), tuple(range(len(bx), len(bx) + len(fx)))
    out = dot_general(x, g, contract=(fx, g_x), batch=(bx, g_batch))  # batch, contracted in x's order, free of y
    order = by + tuple(cy[cx.index(i)] for i in sorted(cx)) + fy
    return _order(out, order)


def _order(out, order):
    perm = tuple(order.index(i) for i in range(len(order)))
    return out if perm == tuple(range(len(perm))) else transpose(out, perm=perm)


@BATCH.rule(dot_general)
def batch_dot_general(size, batched, x, y, *, contract, batch):
    """Both batched: one more batch axis. One batched: its new axis is a free axis, so the other operand is never repeated."""
    in_x, in_y = ((lambda axes, b=b: tuple(a + b for a in axes)) for b in batched)
    (cx, cy), (bx, by) = contract, batch
    if all(batched):
        return dot_general(x, y, contract=(in_x(cx), in_y(cy)), batch=((0, *in_x(bx)), (0, *in_y(by))))
    out = dot_general(x, y, contract=(in_x(cx), in_y(cy)), batch=(in_x(bx), in_y(by)))
    at = len(bx) if batched[0] else x.type.ndim - len(cx)  # x's first free axis, or the first of y's
    return _order(out, (*range(1, at + 1), 0, *range(at + 1, out.type.ndim)))


bilinear(dot_general, dot_general_left, dot_general_right)
