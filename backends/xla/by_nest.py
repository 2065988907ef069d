"""One op as machine code within a program of XLA's: what goes along an axis in order, of which XLA's CPU compiler makes
trees, or calls of a function for each pair."""

import contextlib
import functools

import jax.numpy as jnp
import numpy as np

from ...ir.ops.control import COUNTER, loop, region
from ...ir.types import Tensor
from .. import native
from ..native.stages import one_trip


def by_nest(op, xs, attrs, other, first=0):
    """The results of `op(*xs, **attrs)` from the first-th on, as a tuple: by machine code where that pays, by
    `other(*xs)` elsewhere."""
    types = tuple([Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in xs])
    body = alone(op, types, tuple(attrs.items()), first)
    zeros = [jnp.zeros(r.type.shape, r.type.dtype) for r in body.results]
    through_lax = lambda *given: other(*given[: len(xs)])
    with native.asked(0) if native.allowed() else contextlib.nullcontext():
        made = native.lowered(loop, [*xs, *zeros], one_trip(body, len(zeros)), through_lax)
    return other(*xs) if made is None else tuple(made)


@functools.lru_cache(256)
def alone(op, types, attrs, first):
    """The body of a loop of one trip whose one equation is an op."""
    results = op.rule(op, *types, **dict(attrs))

    def body(_, *given):
        out = op(*given[: len(types)], **dict(attrs))
        return out[first:] if op.multiple else (out,)

    return region(body, [COUNTER, *types, *(results[first:] if op.multiple else (results,))], op.name)
