"""What spectra give, row by row, with the derivative of the equation that it solves: equal eigenvalues or singular
values among those that do not matter leave it as it is, to any order.

Source: Griewank & Walther, Evaluating Derivatives (2008), ch. 15.
"""

import numpy as np

from ...autodiff import batch, jvp
from ...ir.core import Builder
from ...ir.ops import OPS, spectral
from ...ir.ops.control import call, region
from ..common.emit import constant_of, spread_to
from .solutions import Solution

reshape, transpose, reduce_sum, dot_general = (OPS[n] for n in ("reshape", "transpose", "reduce_sum", "dot_general"))


class RowSolution(Solution):
    """The rows of x = compute(a), each of which solves residual(x, a) = 0, as many numbers as it has, by its row of a.
    Both functions are of operands."""

    def __init__(self, compute, residual, type):
        self.first, self.name = 0, compute.__name__
        self.body = region(compute, [type], self.name)
        self.residual = region(residual, [self.body.results[0].type, type], residual.__name__)

    def __call__(self, a):
        return call(a, body=self.body, name=self.name, inline=True, rule=self)

    def slope(self, x, params):
        """The matrices of the residual's derivatives, one for each row."""
        func, (count, size) = jvp(self.residual, (0,)), x.type.shape
        basis = constant_of(np.broadcast_to(np.eye(size)[:, None], (size, count, size)))
        columns = Builder.current().inline(batch(func, (False, False, True), size), [x, *params, basis])[1]
        return transpose(columns, perm=(1, 2, 0))

    def solved(self, x, params, right, transpose=False):
        column = reshape(right, shape=(*x.type.shape, 1))
        found = OPS["solve"](self.slope(x, params), column, transpose=transpose)
        return reshape(found, shape=x.type.shape)


def products(x, y):
    """Matrix products of rows."""
    return dot_general(x, y, contract=((2,), (1,)), batch=((0,), (0,)))


def turned(x):
    return transpose(x, perm=(0, 2, 1))


def by_row(x, shape):
    """One number for each row, in the shape of an array of rows."""
    return spread_to(reshape(x, shape=(shape[0], *(1,) * (len(shape) - 1))), shape)


def principal_axis(k):
    """Of symmetric matrices: the eigenvector of the largest eigenvalue."""
    count, n, _ = k.type.shape
    _, v = spectral.eigh(k, lower=True)
    return reshape(OPS["slice"](v, start=(0, 0, n - 1), stop=(count, n, n), stride=(1, 1, 1)), shape=(count, n))


def beside_axis(v, k):
    """By what k turns a vector aside, and by what its length is not 1."""
    shape = v.type.shape
    image = reshape(products(k, reshape(v, shape=(*shape, 1))), shape=shape)
    square, along = reduce_sum(v * v, axes=(1,)), reduce_sum(v * image, axes=(1,))
    stretch = OPS["div"](along, square)
    return image - by_row(stretch, shape) * v + by_row((stretch + 1.0) * (square - 1.0), shape) * v


def polar_rotation(m):
    """Of matrices of positive determinant: the rotation next to each, as a row."""
    u, _, vh = spectral.svd(m, full_matrices=False, compute_uv=True)
    return reshape(products(u, vh), shape=(m.type.shape[0], m.type.shape[1] ** 2))


def beside_polar_rotation(r, m):
    """By what a matrix is no rotation, and what it leaves of m is not symmetric."""
    shape = m.type.shape
    whole = reshape(r, shape=shape)
    back = turned(whole)
    rest = products(back, m)
    defect = rest - turned(rest) + products(back, whole) - constant_of(np.broadcast_to(np.eye(shape[1]), shape))
    return reshape(defect, shape=r.type.shape)


def solved_by_rows(compute, residual, a):
    return RowSolution(compute, residual, a.type)(a)[0]
