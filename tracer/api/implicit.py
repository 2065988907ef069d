"""Derivatives of what a solver found, by the equation that it solved: `implicit_root`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..common import pytree
from ..regions import hooks
from ..values.array import Traced, bring, fresh
from ..values.status import PASSED
from ..values.storage import current_trace
from .custom import custom_jvp, or_nan
from .differentiable import check_function
from .inner import as_traced
from .jacobians import jacfwd
from .linear_maps import jvp
from .solving import implicit_solve

Guess = TypeVar("Guess")
Root = TypeVar("Root")


def implicit_root(
    function: Callable[..., Any],
    guess: Guess,
    solve: Callable[[Callable[[Any], Any], Guess], Root],
    *args: Any,
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any] | None = None,
) -> Root:
    """The x with function(x, *args) = 0 that `solve(f, guess)` finds, f being the function of x alone.

    function: of x, a number or an array, to as many numbers. Values that it closes over must not be differentiated:
              pass them as args.
    solve:    any program: a loop to some tolerance, or of another library's design.
    tangent_solve: `tangent_solve(matvec, b)` solves with df/dx, which it is given as a function, and with its
              transpose, as in `implicit_solve`. None: df/dx is solved as a dense matrix.

    The steps of solve are not differentiated; the derivative is that of the root, dx = -(df/dx)^-1 df/dargs dargs, in
    both modes and at all orders, as exact as the root is. The guess has none. Source: Griewank & Walther (2008), ch.
    15.

    >>> from wengert import grad, implicit_root
    >>> def bisect(f, x):
    ...     low, high = 0.0, x
    ...     for _ in range(60):
    ...         middle = (low + high) / 2
    ...         if f(middle) > 0:
    ...             high = middle
    ...         else:
    ...             low = middle
    ...     return low
    >>> round(grad(lambda a: implicit_root(lambda x, a: x * x - a, 4.0, bisect, a))(4.0), 12)
    0.25
    """
    check_function(function, "implicit_root")
    check_function(solve, "implicit_root")
    if current_trace() is not None and floating(guess):  # a transform of f in `solve` is to be one inside this trace
        guess = as_traced(guess, "guess")
    return _root(function, solve, tangent_solve, guess, *args)


def _found(function, solve, tangent_solve, guess, *args):
    return hooks.call(solve)(lambda x: hooks.call(function)(x, *args), guess)


def _moved(function, solve, tangent_solve, primals, tangents):
    (guess, *args), (_, *tangents) = primals, tangents
    x = _root(function, solve, tangent_solve, guess, *args)
    moving = [i for i, a in enumerate(args) if all(map(floating, pytree.leaves(a)))]

    def of_args(*moved):
        full = list(args)
        for i, a in zip(moving, moved):
            full[i] = a
        return hooks.call(function)(x, *full)

    if not moving:
        return x, x * 0.0
    pushed = jvp(of_args, [args[i] for i in moving], [tangents[i] for i in moving])[1]
    if tangent_solve is not None:
        along = lambda t: jvp(lambda x: hooks.call(function)(x, *args), (x,), (t,))[1]
        return x, unchecked(lambda: implicit_solve(along, -pushed, tangent_solve))
    slope = jacfwd(lambda x: hooks.call(function)(x, *args))(x)
    n = x.size if isinstance(x, Traced) else np.size(x)
    return x, -np.linalg.solve(np.reshape(slope, (n, n)), np.reshape(pushed, (n,))).reshape(np.shape(x))


def unchecked(solved):
    """`solved()`, NaN where a check in it fails: for a status that reads tangents, reverse mode would solve once more,
    with tangents of 0."""
    status = current_trace().root.status
    before, status.value = status.value, PASSED
    try:
        x = solved()
        return fresh(or_nan(x.value, bring(status.value)))
    finally:
        status.value = before


def floating(x):
    return isinstance(x, float | complex) or (hasattr(x, "dtype") and x.dtype.kind in "fc")


_root = custom_jvp(_found, nondiff_argnums=(0, 1, 2))
_root.defjvp(_moved)
