"""`from_jax`: JAX functions on traced values, imported into the program equation by equation."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...backends.xla import bridge
from ...backends.xla.dispatch import is_device_array
from ..common import pytree
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..extents.bounded import BoundedArray
from ..numpy_api.handles import value_of
from ..values.array import Traced, TracedScalar, wrap
from ..values.poison import Poison
from ..values.storage import current_trace

OPERANDS = (Traced, BoundedArray, Poison, np.ndarray, np.generic)


EXPLICIT = (
    "A program is traced for automatic axes of a mesh: give shard_map a mesh made with "
    "axis_types=(jax.sharding.AxisType.Auto,), whatever that of the arrays is."
)


class Static:
    """A static argument: a leaf, whatever it holds."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


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
        return run(function, tuple(Static(x) if i in places else x for i, x in enumerate(args)), kwargs)

    return imported


def run(function, args, kwargs):
    """A JAX function on traced values, inlined into the current trace."""
    leaves, tree = pytree.flatten((args, kwargs))
    operands, given = [], []
    for leaf in leaves:
        fixed = as_static(leaf)
        if fixed is None:
            operands.append(value_of(leaf))
        given.append(
            (operands[-1].type, getattr(leaf, "weak", None) in (int, float, complex)) if fixed is None else fixed
        )
    name = getattr(function, "__name__", type(function).__name__)
    try:
        made = bridge.imported(function, tree, tuple(given))
    except bridge.NotImported as reason:
        raise UnsupportedError(message(f"{name} cannot be part of a program: {reason}", locate())) from None
    except Exception as error:
        error.add_note(message(f"while JAX traced {name}, called", locate()))
        if "in_specs" in str(error):
            error.add_note(EXPLICIT)
        raise
    trace = current_trace()
    results = trace.build.inline(made.func, [*operands, *map(trace.capture, made.constants)])
    return pytree.unflatten(made.tree, list(map(wrap, results)))


def as_static(leaf):
    """A leaf that JAX is given as it is, or None where it is an operand."""
    if isinstance(leaf, TracedScalar) and leaf.weak and leaf.known() is not None:
        return bridge.Fixed(leaf.weak(leaf.known()[()]))
    if isinstance(leaf, OPERANDS) or is_device_array(leaf):
        return None
    value = leaf.value if isinstance(leaf, Static) else leaf
    if isinstance(value, Traced):
        hint = "Pass a plain value, or leave it out of static_argnums."
        raise UnsupportedError(message("a static argument of a JAX function is traced", locate(), hint))
    try:
        return hashed(value)
    except TypeError:
        raise with_note(
            TypeError,
            message(f"a static argument of a JAX function cannot be hashed: {type(value).__name__}", locate())
        ) from None


def hashed(value):
    hash(value)
    return bridge.Fixed(value)
