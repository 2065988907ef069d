"""The ops that run functions of other systems, which bring their own derivatives.

The transforms do not look into such a function. They ask it for its derivative, which is another one; so it nests to
any order. A `Foreign` brings its batching too; a `Pointwise` works element by element, on the host.
"""

import functools
import operator

import numpy as np

from ..op import FUNCTIONS, case, op, require
from ..types import Tensor


class Foreign:
    """A function the IR cannot see into, compared by identity. What a subclass answers:

        types(operand types)                 the tuple of result types
        self(*arrays)                        the tuple of results, NumPy's arrays
        lower(*values)                       the same on the values of a backend
        tangent(types, moving)               (x..., t of the x at `moving`) -> (z..., t of each inexact z)
        reverse(types, needs, gives)         (early, late): early(x...) -> (z..., residuals...),
                                             late(residuals..., cotangents of the z at `gives`) -> cotangents of the x
                                             at `needs`
        batched(flags, size)                 operands flagged carry a leading axis of `size`, and so do all results

    `moving`, `needs` and `gives` are tuples of positions. `__name__` is what the IR's text shows.
    """

    def __repr__(self):
        return f"<{self.__name__}>"


class Polynomials(Foreign):
    """Elementwise polynomials, each a tuple of (coefficient, powers): the sample of the generated tests."""

    def __init__(self, *results):
        self.results, self.__name__ = results, f"polynomials{len(results)}"

    def types(self, types):
        return (
            Tensor(np.broadcast_shapes(*(t.shape for t in types)), np.result_type(*(t.dtype for t in types))),
        ) * len(self.results)

    def __call__(self, *xs):
        return tuple(
            sum(c * functools.reduce(operator.mul, [x**k for x, k in zip(xs, powers)]) for c, powers in terms)
            for terms in self.results
        )

    lower = __call__

    def tangent(self, types, moving):
        n, count = len(types), len(moving)
        wide = [tuple((c, (*p, *(0,) * count)) for c, p in terms) for terms in self.results]
        slopes = [
            tuple((c, (*p, *_one(k, count))) for k, i in enumerate(moving) for c, p in _slope(terms, i, n))
            for terms in self.results
        ]
        return Polynomials(*wide, *slopes)

    def reverse(self, types, needs, gives):
        """All operands are kept, as further results."""
        n, count = len(types), len(gives)
        early = Polynomials(*self.results, *(((1.0, _one(i, n)),) for i in range(n)))
        slopes = [
            [(c, (*p, *_one(k, count))) for k, j in enumerate(gives) for c, p in _slope(self.results[j], i, n)]
            for i in needs
        ]
        return early, Polynomials(*map(tuple, slopes))

    def batched(self, flags, size):
        return self


def _one(i, n):
    return tuple(int(k == i) for k in range(n))


def _slope(terms, i, n):
    """The derivative of a polynomial by operand i; of a constant, zero times everything."""
    found = [(c * p[i], (*p[:i], p[i] - 1, *p[i + 1 :])) for c, p in terms if p[i]]
    return found or [(0.0, (0,) * n)]


SAMPLE = Polynomials(((1.5, (2, 1)), (-0.5, (0, 3))), ((2.0, (1, 1)),))


@op(lambda op, *operands, function: function.types(operands), multiple=True, traits=["region"], cases=[
    case("f64[3,4]", "f64[3,4]", function=SAMPLE),
    case("f32[5]", "f32[5]", function=SAMPLE),
])  # fmt: skip
def external(*operands, function):
    """The results of `function`, a `Foreign`, on the operands; it has no effect."""
    return function(*operands)


class Pointwise:
    """A function of NumPy arrays of one shape, element by element, compared by identity; the dtype is that of the last
    one.

    slopes: for each operand `(z, *operands) -> dz/dx`, in ops, where z is the result; None where no derivative is
    known.
    """

    def __init__(self, name, function, *slopes):
        self.__name__, self.function, self.slopes = name, function, slopes
        FUNCTIONS.setdefault(name, self)

    def __call__(self, *arrays):
        return self.function(*arrays)

    def __repr__(self):
        return f"<{self.__name__}>"


def _pointwise_rule(op, *types, function):
    require(
        len(types) == len(function.slopes),
        op,
        f"{function.__name__} takes {len(function.slopes)} operands, not {len(types)}",
    )
    require(len({t.shape for t in types}) == 1, op, f"shapes differ: {', '.join(map(repr, types))}")
    return types[-1]


ANGLE = Pointwise("arctan2", np.arctan2, lambda z, y, x: x / (x * x + y * y), lambda z, y, x: -y / (x * x + y * y))


@op(_pointwise_rule, traits=["elementwise", "masks_nan"], cases=[
    case("f64[3,4]", "f64[3,4]", function=ANGLE), case("f32[5]", "f32[5]", function=ANGLE),
    case("f64[]", "f64[]", function=ANGLE),
])  # fmt: skip
def pointwise(*operands, function):
    """`function`, a `Pointwise`, of each element; it has no effect, and runs on the host."""
    return np.asarray(function(*operands))
