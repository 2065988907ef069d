"""Linear systems that a program of the user's solves, without their matrices: `implicit_solve`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...autodiff.transpose import transposed
from ...autodiff.vjp import vjp as adjoint
from ...ir.core import Func
from ..capture.capture import Kind
from ..capture.handover import ARRAY
from ..common.errors import DerivativeError, message
from ..common.frames import locate
from ..regions import hooks
from ..values.array import Traced, bring, fresh
from ..values.storage import current_trace
from .custom import custom_vjp
from .custom_call import RuleFunction
from .differentiable import check_function
from .inner import as_traced, like_type, name_of, wrapped

Given = TypeVar("Given")
Found = TypeVar("Found")


def implicit_solve(
    matvec: Callable[[Any], Any],
    b: Given,
    solve: Callable[[Callable[[Any], Any], Given], Found],
    transpose_solve: Callable[[Callable[[Any], Any], Given], Found] | None = None,
) -> Found:
    """The x with matvec(x) = b that `solve(matvec, b)` finds, and the derivatives of x as a solution of that equation.

    matvec: linear in an array of the shape and dtype of b, and gives one like it. What it closes over may be
            differentiated.
    solve:  any program that calls the matvec it is given, such as conjugate gradients in a loop to some tolerance.
    transpose_solve: solves with the transpose of matvec, which it is given likewise. None: `solve` does that too,
            which is right for programs for any matrix, and for those for symmetric ones where matvec is symmetric.

    The steps are not differentiated: dx solves matvec(dx) = db - dmatvec(x), cotangents are found with the transpose;
    in both modes, at all orders, and no matrix is made. Source: Griewank & Walther, Evaluating Derivatives (2008), ch.
    15.
    Raises DerivativeError where matvec is not linear, or a result is not like b.

    >>> import numpy as np
    >>> from wengert import grad, implicit_solve
    >>> def descend(matvec, b):
    ...     x = np.zeros_like(b)
    ...     while np.abs(b - matvec(x)).max() > 1e-12:
    ...         x = x + 0.5 * (b - matvec(x))
    ...     return x
    >>> f = lambda s: implicit_solve(lambda x: s * x, np.array([3.0, 6.0]), descend).sum()
    >>> round(f(1.5), 9), round(grad(f)(1.5), 9)
    (np.float64(6.0), -4.0)
    """
    for function in (matvec, solve, solve if transpose_solve is None else transpose_solve):
        check_function(function, "implicit_solve")
    if current_trace() is None:
        return hooks.call(solve)(matvec, b)
    right = as_traced(b, "b")
    system = LinearSystem(matvec, right.value.type, solve, transpose_solve or solve)
    return _solution(system, right, [wrapped(bring(v), ARRAY) for v in system.read])


class LinearSystem:
    """matvec as a function of x and of the values around it, and two programs that solve with it and with its
    transpose.

    value: the function, of x and the `lifted` values, the status among them if it checks anything; read: those values
    but the status; ahead: the same, with the status after it behind its result, if `status` is not None.
    """

    def __init__(self, matvec, type, solve, transpose_solve):
        self.name, self.type, self.solve, self.transpose_solve = name_of(matvec), type, solve, transpose_solve
        self.part = part = RuleFunction(matvec, [Kind(type, ARRAY)], self, self.name)
        self.read, self.lifted = part.lifted, part.captured.lifted
        if len(part.shown) != 1 or part.shown[0] is None or part.func.results[part.shown[0]].type != type:
            given = ", ".join("an object" if k is None else repr(part.func.results[k].type) for k in part.shown)
            self.wrong(
                f"returned {given} for an x of type {type}", "It must return an array of the shape and dtype of b."
            )
        func, self.status = part.func, part.status
        self.value = Func(self.name, func.params, func.eqns, (func.results[part.shown[0]],))
        self.ahead = (
            self.value
            if self.status is None
            else Func(self.name, func.params, func.eqns, (*self.value.results, func.results[self.status]))
        )

    def wrong(self, said, hint="Write matvec(x) = A @ x, or what is linear likewise; constant terms belong in b."):
        raise DerivativeError(message(f"{self.name}, the matvec of implicit_solve, {said}", locate(), hint))

    @functools.cached_property
    def T(self):
        """The transposed system, whose transpose is this one."""
        other = object.__new__(LinearSystem)
        vars(other).update(vars(self), solve=self.transpose_solve, transpose_solve=self.solve, status=None, T=self)
        other.ahead = other.value = transposed(self.value, 1, lambda: self.wrong("is not linear in x"))
        return other

    def operands(self, values):
        """The operands that stand for the values around matvec, the status among them if it is read."""
        root, values = current_trace().root, iter(values)
        return [
            bring(root.status.value) if v is self.part.before else like_type(next(values), v.type, "value read")
            for v in self.lifted
        ]

    def apply(self, x, values):
        trace = current_trace()
        given = as_traced(x, "x")
        if given.value.type != self.type:
            text = f"implicit_solve: solve gave its matvec {given.value.type}, where b is {self.type}"
            raise DerivativeError(message(text, locate(), "Give it an array of the shape and dtype of b."))
        out = trace.build.inline(self.ahead, [bring(given.value), *self.operands(values)])
        if self.status is not None:
            trace.root.status.write(out[1])
        return fresh(out[0])

    def pulled(self, x, values, g):
        """Cotangents of the values, of which those without one are None."""
        moving = [k for k, v in enumerate(self.lifted) if v.type.inexact]
        func = adjoint(self.value, [1 + k for k in moving], (0,), keep=False)
        out = current_trace().build.inline(
            func, [like_type(x, self.type, "x"), *self.operands(values), like_type(g, self.type, "cotangent")]
        )
        found = dict(zip(moving, map(fresh, out), strict=True))
        return [found.get(k) for k, v in enumerate(self.lifted) if v is not self.part.before]


@functools.partial(custom_vjp, nondiff_argnums=(0,))
def _solution(system, b, values):
    x = hooks.call(system.solve)(lambda x: system.apply(x, values), b)
    given = x.value.type if isinstance(x, Traced) else None
    if given != system.type:
        said = f"solve, {name_of(system.solve)}, returned {given or type(x).__name__}, where b is {system.type}"
        raise DerivativeError(
            message(f"implicit_solve: {said}", locate(), "It must return an array of the shape and dtype of b.")
        )
    return x


def _forward(system, b, values):
    x = _solution(system, b, values)
    return x, (x, values)


def _backward(system, kept, g):
    x, values = kept
    b = _solution(system.T, g, values)
    return b, system.pulled(x, values, -b)


_solution.defvjp(_forward, _backward)
