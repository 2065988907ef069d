"""What a solver of SciPy's found, as a call with a rule: the derivative is that of the equation it solved.

Source: Griewank & Walther, Evaluating Derivatives (2008), ch. 15.
"""

import numpy as np

from ...autodiff import batch, jvp, vjp
from ...autodiff.control import place
from ...backends.xla.external import HostFunction
from ...ir.core import Builder, Lit, zeros_like
from ...ir.ops import OPS
from ...ir.ops.control import call, region
from ..common.emit import constant_of
from ..common.errors import DerivativeError, message
from ..common.frames import locate
from .callbacks import number_types
from .flows import Batched


class Solution:
    """The x in (x, *more) = host(*operands), for which residual(x, *operands[first:]) is 0.

    residual: (x, *params) -> as many numbers as x has, the params being the operands from `first` on, as many as it
    takes; None where no equation holds at x, which then has no derivative. Only x, of float64, has a derivative.
    """

    def __init__(self, host, types, residual, first, name):
        self.host = HostFunction(host, lambda _: tuple(types), name)
        self.residual, self.first, self.name = residual, first, name

    def __call__(self, *operands):
        body = region(lambda *xs: OPS["external"](*xs, function=self.host), [x.type for x in operands], self.name)
        return call(*operands, body=body, name=self.name, inline=True, rule=self)

    def equation(self):
        if self.residual is None:
            text = f"what scipy.optimize.{self.name} gives here has no derivative"
            hint = "It has one without constraints, and of least_squares without bounds, with the loss 'linear'."
            raise DerivativeError(message(text, locate(), hint))
        return self.residual

    def slope(self, x, params):
        """The matrix of the residual's derivatives by x."""
        func, size = jvp(self.equation(), (0,)), x.type.size
        basis = constant_of(np.eye(size).reshape(size, *x.type.shape))
        flags = (*(False for _ in self.residual.params), True)
        rows = Builder.current().inline(batch(func, flags, size), [x, *params, basis])[1]
        return OPS["transpose"](OPS["reshape"](rows, shape=(size, size)), perm=(1, 0))

    def solved(self, x, params, right, transpose=False):
        """The solution of the linearised residual for a right-hand side of the shape of x."""
        size = x.type.size
        column = OPS["reshape"](right, shape=(size, 1))
        found = OPS["solve"](self.slope(x, params), column, transpose=transpose)
        return OPS["reshape"](found, shape=x.type.shape)

    def params(self, operands):
        return operands[self.first :][: len(self.equation().params) - 1]

    def moving(self, flags):
        """Which operands that the equation reads are flagged."""
        flags = list(flags)
        if not any(flags[self.first :]):
            return []
        last = self.first + len(self.equation().params) - 1
        return [i for i, flag in enumerate(flags) if self.first <= i < last and flag]

    def jvp(self, operands, tangents, body):
        found = self(*operands)
        x, moving = found[0], self.moving(t is not None for t in tangents)
        others = tuple(zeros_like(z) if z.type.inexact else None for z in found[1:])
        if not moving:
            return found, (zeros_like(x), *others)
        func = jvp(self.equation(), tuple(1 + i - self.first for i in moving))
        params = self.params(operands)
        pushed = Builder.current().inline(func, [x, *params, *(tangents[i] for i in moving)])[1]
        return found, (-self.solved(x, params, pushed), *others)

    def vjp(self, operands, needs, body):
        found, moving = self(*operands), self.moving(needs)

        def pull(gs):
            if gs[0] is None or not moving:
                return tuple(zeros_like(x) if need else None for x, need in zip(operands, needs))
            params = self.params(operands)
            func = vjp(self.equation(), tuple(1 + i - self.first for i in moving), (0,))
            back = self.solved(found[0], params, gs[0], transpose=True)
            cts = [-ct for ct in Builder.current().inline(func, [found[0], *params, back])[1:]]
            made = place(cts, moving, len(operands))
            return tuple(
                (zeros_like(x) if ct is None else ct) if need else None for x, ct, need in zip(operands, made, needs)
            )

        return found, pull

    def batch(self, lanes, batched, count):
        return Batched(self, lanes, tuple(batched))


def gradient(func):
    """The derivative of a function to a number by its first argument, as a function of the same arguments."""
    pulled = vjp(func, (0,), (0,))

    def body(*xs):
        return (Builder.current().inline(pulled, [*xs, Lit(1.0, number_types())])[1],)

    return region(body, [p.type for p in func.params], f"d_{func.name}")


def half_squares(func):
    """Half the sum of squares of what a function gives."""

    def body(*xs):
        (r,) = Builder.current().inline(func, xs)
        return (OPS["reduce_sum"](r * r * 0.5, axes=tuple(range(r.type.ndim))),)

    return region(body, [p.type for p in func.params], func.name)


def solved_within(func, low, high):
    """A gradient as the equation for x between bounds: where x is at one, that it stays there."""

    def body(x, *params):
        (g,) = Builder.current().inline(func, [x, *params])
        for bound, test in ((low, "le"), (high, "ge")):
            limit = constant_of(np.broadcast_to(bound, x.type.shape))
            g = OPS["select"](OPS[test](x, limit), x - limit, g)
        return (g,)

    return region(body, [p.type for p in func.params], func.name)

