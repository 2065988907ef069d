"""`from_jax`: JAX functions on traced values, imported into the program equation by equation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from ...backends.xla import bridge
from ..regions.jax_calls import Static, run
from ..values.storage import current_trace


def from_jax(function: Callable[..., Any], static_argnums: int | Iterable[int] = ()) -> Callable[..., Any]:
    """`function`, written with JAX, as a function that programs may call and differentiate.

    Arguments and results are pytrees of arrays: f64[*s] -> f64[*s], any shapes and dtypes that the function takes.
    NumPy's go in and come out, scalars where the shape is (); if any argument is a jax array, so are the results. It
    runs with 64-bit types on, whatever the user's own setting. Python numbers, strings and other objects among the
    leaves are passed as they are; the positions `static_argnums` are too, whole.

    In a traced function it becomes part of the program: JAX traces it once for its types and static values, so it must
    be pure, as under jax.jit, and what it reads outside is read then. Rules that it states itself (jax.custom_jvp,
    jax.custom_vjp) hold at all orders. Results are new arrays, arguments are never written.

    Raises TypeError if `function` or a static value cannot be hashed, UnsupportedError where it draws random numbers,
    prints or calls back into Python, and whatever JAX raises while tracing it.

    >>> import jax.numpy as jnp, numpy as np
    >>> from wengert import from_jax, grad, jit
    >>> smooth = from_jax(lambda x: jnp.logaddexp(x, -x))
    >>> grad(lambda x: smooth(np.sin(x)).sum())(np.zeros(2))
    array([0., 0.])
    """
    if not callable(function):
        raise TypeError(f"from_jax takes a function, got {type(function).__name__}")
    hash(function)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(map(operator.index, static_argnums))

    @functools.wraps(function)
    def imported(*args, **kwargs):
        if current_trace() is None:
            return bridge.call_plainly(function, args, kwargs)
        places = {i + len(args) if i < 0 else i for i in static}
        return run(function, tuple(Static(x) if i in places else x for i, x in enumerate(args)), kwargs, widely=True)

    return imported
