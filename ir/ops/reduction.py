"""Reductions over axes, and cumulative forms of them."""

import numpy as np

from ..op import NUMBER, case, op, require


class reduction:
    """Result without `axes`; `kinds` are the dtype kinds allowed."""

    traits = ("reduction",)
    cases = (case("f64[3,4]", axes=(0,)), case("f64[2,3,4]", axes=(0, 2)), case("f32[5]", axes=(0,)), case("f64[3,4]", axes=()))

    def __init__(self, kinds):
        self.kinds = kinds

    def rule(self, op, x, *, axes, **attrs):
        require(x.kind in self.kinds, op, f"{x} is not among the dtype kinds it takes ({self.kinds})")
        require(len(set(axes)) == len(axes) and all(0 <= a < x.ndim for a in axes), op, f"{x} has no axes {list(axes)}")
        return x.like(n for a, n in enumerate(x.shape) if a not in axes)


@op(reduction(NUMBER))
def reduce_sum(x, *, axes):
    """Sum over `axes`; integers wrap; 0 when empty."""
    return np.sum(x, axis=axes, dtype=x.dtype)
