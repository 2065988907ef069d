"""One op as machine code within a program of XLA's: what goes along an axis in order, of which XLA's CPU compiler makes
trees, or calls of a function for each pair."""

import jax
import jax.numpy as jnp
import numpy as np

from ...ir.ops.control import loop
from ...ir.types import Tensor
from .. import native
from ..native.stages import alone


def by_nest(op, xs, attrs, other, first=0):
    """What `op(*xs, **attrs)` gives, of several results those from the first-th on: by machine code where that pays, by
    `other(*xs)` elsewhere. So where there are several devices: arrays may be spread over them, and XLA would gather
    them for what it does not know."""
    if jax.device_count() > 1:
        return other(*xs)
    operands = tuple([Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in xs])
    types, attrs = alone(op, operands, tuple(attrs.items()), first)
    if not native.allowed() or native.taken(loop, types, attrs, 0)[0] is None:
        return other(*xs)

    def through_lax(*given):
        found = other(*given[: len(xs)])
        return found if op.multiple else (found,)

    with native.asked(0):
        zeros = [jnp.zeros(t.shape, t.dtype) for t in types[len(xs) :]]
        made = native.lowered(loop, [*xs, *zeros], attrs, through_lax)
    return other(*xs) if made is None else tuple(made) if op.multiple else made[0]
