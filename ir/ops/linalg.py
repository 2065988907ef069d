"""Contractions, convolution, FFT and dense linear algebra."""

import numpy as np

from ..op import case, op, require


def _dot_general_rule(op, x, y, *, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    require(x.dtype == y.dtype, op, f"dtypes differ: {x}, {y}")
    require(all(x.shape[i] == y.shape[j] for i, j in zip(cx, cy, strict=True)), op, f"contracted sizes differ: {x}, {y} over {contract}")
    require(all(x.shape[i] == y.shape[j] for i, j in zip(bx, by, strict=True)), op, f"batch sizes differ: {x}, {y} over {batch}")
    free = [n for i, n in enumerate(x.shape) if i not in cx + bx] + [n for j, n in enumerate(y.shape) if j not in cy + by]
    return x.like([x.shape[i] for i in bx] + free)


@op(_dot_general_rule, cases=[
    case("f64[3,4]", "f64[4,5]", contract=((1,), (0,)), batch=((), ())), case("f64[4]", "f64[4]", contract=((0,), (0,)), batch=((), ())),
    case("f64[2,3,4]", "f64[4,2,5]", contract=((2,), (0,)), batch=((0,), (1,))), case("f64[3]", "f64[4]", contract=((), ()), batch=((), ())),
])
def dot_general(x, y, *, contract, batch=((), ())):
    """Sum of products over `contract` axes, pairwise along `batch` axes.

    Result axes: batch, then the free axes of x, then those of y.  [StableHLO dot_general]
    """
    (cx, cy), (bx, by) = contract, batch
    in_x = list(range(x.ndim))
    in_y = [None] * y.ndim
    for i, j in zip(cx + bx, cy + by, strict=True):
        in_y[j] = in_x[i]
    in_y = [x.ndim + j if a is None else a for j, a in enumerate(in_y)]
    out = [in_x[i] for i in bx] + [a for i, a in enumerate(in_x) if i not in cx + bx] + [a for j, a in enumerate(in_y) if j not in cy + by]
    return np.einsum(x, in_x, y, in_y, out, optimize=True)
