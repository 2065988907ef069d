"""`to_jax`: a NumPy function as a function of JAX's, with derivatives that JAX could not make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

from ...backends.xla import dispatch
from ...ir.setting import set_within
from ..api.jit import jit
from ..call.inside_jax import CHECKS
from ..common import pytree


def to_jax(function: Callable[..., Any], *, checks: Literal["raise", "drop"] = "raise") -> Callable[..., Any]:
    """`function`, written with NumPy and Python, as a function that JAX's transforms take: jax.jit, vmap, grad, jvp,
    scan, while_loop, cond, checkpoint, shard_map, at any order and in any nesting.

    Arguments and results are pytrees of arrays, any shapes and dtypes; NumPy's arrays may go in, jax arrays come out.
    Floats are traced; Python ints, bools, strings and other hashable objects are static, unless jax.jit has made arrays
    of them. Derivatives are those of `wengert.grad` and `wengert.jvp`: while loops, stores and branches have them in
    both modes. Where 64-bit types are off in JAX, the program computes with NumPy's dtypes all the same, and its
    results have 32 bits. What the function reads outside is read when JAX traces it.

    checks: "raise": indices out of range, raised exceptions and failed assertions fail the program, by a callback that
    is called where one has failed, and only there. "drop": they are left out, and what is computed then is undefined.

    Raises TypeError if `function` cannot be called, ValueError for other words, and UnsupportedError, with the line,
    where data decide what only Python can: types, shapes, which object a result is; or where it draws random numbers or
    stores outside.

    >>> import jax, jax.numpy as jnp
    >>> from wengert import to_jax
    >>> def halved(x):
    ...     while x > 1.0:
    ...         x = x / 2
    ...     return x
    >>> jax.grad(to_jax(halved))(12.0)
    Array(0.0625, dtype=float32, weak_type=True)
    """
    if not callable(function):
        raise TypeError(f"to_jax takes a function, got {type(function).__name__}")
    if checks not in ("raise", "drop"):
        raise ValueError(f"checks={checks!r}: write checks='raise' or checks='drop'")
    compiled = function if hasattr(function, "compiled") else jit(function)

    def embedded(*args, **kwargs):
        with set_within(CHECKS, checks == "raise"):
            return pytree.map(dispatch.as_jax, compiled(*args, **kwargs))

    @functools.wraps(function)
    def called(*args, **kwargs):
        leaves, tree = pytree.flatten((args, kwargs))
        if any(dispatch.is_tracer_type(type(x)) for x in leaves):
            return embedded(*args, **kwargs)
        if checks == "raise":
            args, kwargs = pytree.unflatten(tree, list(map(dispatch.on_device, leaves)))
            return embedded(*args, **kwargs)
        return dispatch.jitted_over_arrays(embedded, args, kwargs)

    return called
