"""Run-time checks of a program that JAX's transforms have taken: one that fails raises in Python, from within whatever
program it is part of by then.

Nothing is called while checks pass: the call stands in a branch, which no pass drops, for it has an effect. In a batch,
lanes are asked together. Where the status is known at once, as in `jax.grad` without `jax.jit`, the exception itself is
raised; from compiled programs JAX raises its own, which ends with the text of this one.
"""

import functools

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.custom_batching import custom_vmap

from .callbacks import numbers

STATUS = np.dtype(np.int64)


class FailedInside(RuntimeError):
    """What a compiled program of JAX's ends with: XLA keeps no more of an exception than its text."""


def raise_where_failed(status, error_of):
    """`error_of(status)` is raised where an int64 status, given as words, is not 0, or one of a batch."""

    def called(x):
        if x := int(numbers(np.asarray(x), STATUS)):
            error = error_of(x)
            notes = "".join(f"\n{note}" for note in getattr(error, "__notes__", ()))
            raise FailedInside(f"{type(error).__name__}: {error}{notes}") from error

    def raise_here(x):
        if x := int(numbers(np.asarray(x), STATUS)):
            raise error_of(x)

    def call_where_failed(status):
        lax.cond(jnp.any(status != 0), lambda x: jax.debug.callback(called, x), lambda x: None, status)
        return status

    ask = custom_vmap(call_where_failed)

    @ask.def_vmap
    def together(size, batched, status):
        (lanes,) = batched
        ask_one(status[jnp.argmax(jnp.any(status != 0, -1))] if lanes else status)
        return status, lanes

    def ask_one(status):
        if isinstance(status, jax.core.Tracer):
            (ask if custom_vmap_keeps_effects() else call_where_failed)(status)
        else:
            raise_here(status)

    ask_one(status)


@functools.cache
def custom_vmap_keeps_effects():
    """Whether JAX knows that a function with a rule of its own for batches has an effect. JAX 0.8 does not, and drops
    its call: there the lanes of a batch are asked one by one."""

    @custom_vmap
    def acting(x):
        jax.debug.callback(lambda x: None, x)
        return x

    acting.def_vmap(lambda size, batched, x: (x, *batched))
    return bool(jax.make_jaxpr(acting)(np.float32(0)).effects)


def fail_where_moved(tangents, refusal):
    """A TypeError is raised where any of the tangents is not 0."""
    moved = functools.reduce(jnp.logical_or, [jnp.any(t != 0) for t in tangents])
    status = lax.convert_element_type(jnp.stack([moved, False]), np.uint32)
    raise_where_failed(status, lambda _: TypeError(refusal))
