"""Products of arrays."""

import numpy as np

from ..op import ANY, case, op, require


def _dot_general_rule(op, x, y, *, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    require(x.dtype == y.dtype and x.kind in ANY, op, f"dtypes differ: {x}, {y}")
    for axes, t in ((cx + bx, x), (cy + by, y)):
        require(
            len(set(axes)) == len(axes) and all(0 <= a < t.ndim for a in axes),
            op,
            f"{t} has no distinct axes {list(axes)}",
        )
    require(
        len(cx) == len(cy) and all(x.shape[i] == y.shape[j] for i, j in zip(cx, cy)),
        op,
        f"contracted sizes differ: {x}, {y} over {contract}",
    )
    require(
        len(bx) == len(by) and all(x.shape[i] == y.shape[j] for i, j in zip(bx, by)),
        op,
        f"batch sizes differ: {x}, {y} over {batch}",
    )
    free = [n for i, n in enumerate(x.shape) if i not in cx + bx] + [
        n for j, n in enumerate(y.shape) if j not in cy + by
    ]
    return x.like([x.shape[i] for i in bx] + free)


def labels(m, n, *, contract, batch):
    """einsum labels of an m-axis and an n-axis operand, and of their product."""
    (cx, cy), (bx, by) = contract, batch
    in_x, in_y = list(range(m)), list(range(m, m + n))
    for i, j in zip(cx + bx, cy + by, strict=True):
        in_y[j] = i
    return in_x, in_y, [*bx, *(i for i in in_x if i not in cx + bx), *(j for j in in_y if j >= m)]


# fmt: off
@op(_dot_general_rule, cases=[
    case("f64[3,4]", "f64[4,5]", contract=((1,), (0,))),
    case("f64[4]", "f64[4]", contract=((0,), (0,))),
    case("f64[3,4]", "f64[4]", contract=((1,), (0,))),
    case("f64[4,3]", "f64[4]", contract=((0,), (0,))),
    case("f64[4]", "f64[5,4]", contract=((0,), (1,))),
    case("f64[4,3]", "f64[5,4]", contract=((0,), (1,))),
    case("f64[3]", "f64[4]", contract=((), ())),
    case("f64[2,3,4]", "f64[4,5]", contract=((2,), (0,))),
    case("f64[2,3,4]", "f64[4,3,5]", contract=((1, 2), (1, 0))),
    case("f64[2,3,4]", "f64[2,5,4]", contract=((2,), (2,)), batch=((0,), (0,))),
    case("f64[2,4,3]", "f64[2,4,5]", contract=((1,), (1,)), batch=((0,), (0,))),
    case("f64[2,3,4]", "f64[4,2,5]", contract=((2,), (0,)), batch=((0,), (1,))),
    case("f64[2,3,4,5]", "f64[5,3,4,2]", contract=((2, 0), (2, 3)), batch=((3, 1), (0, 1))),
    case("f64[3,0]", "f64[0,2]", contract=((1,), (0,))),
    case("f32[3,4]", "f32[4,5]", contract=((1,), (0,))),
    case("c128[3,4]", "c128[4]", contract=((1,), (0,))),
    case("i8[3,40]", "i8[40]", contract=((1,), (0,))),
    case("u8[3]", "u8[2]", contract=((), ())),
    case("bool[3,4]", "bool[4,2]", contract=((1,), (0,))),
])
def dot_general(x, y, *, contract, batch=((), ())):
    """Sum of products over `contract` axes, pairwise along `batch` axes; integers wrap, booleans take `or` of `and`.

    Result axes: batch, then the free axes of x, then those of y.  [StableHLO dot_general]
    """
    in_x, in_y, out = labels(x.ndim, y.ndim, contract=contract, batch=batch)
    return np.einsum(x, in_x, y, in_y, out, optimize=True)
