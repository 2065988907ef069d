"""One op as machine code within a program of XLA's: what goes along an axis in order, of which XLA's CPU compiler makes
trees, or calls of a function for each pair."""

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
    attrs, results = one_trip(body, len(body.results)), [r.type for r in body.results]
    if not native.allowed() or native.taken(loop, [*types, *results], attrs, 0)[0] is None:
        return other(*xs)
    with native.asked(0):
        zeros = [jnp.zeros(t.shape, t.dtype) for t in results]
        made = native.lowered(loop, [*xs, *zeros], attrs, lambda *given: other(*given[: len(xs)]))
    return other(*xs) if made is None else tuple(made)


@functools.lru_cache(256)
def alone(op, types, attrs, first):
    """The body of a loop of one trip whose one equation is an op."""
    results = op.rule(op, *types, **dict(attrs))

    def body(_, *given):
        out = op(*given[: len(types)], **dict(attrs))
        return out[first:] if op.multiple else (out,)

    return region(body, [COUNTER, *types, *(results[first:] if op.multiple else (results,))], op.name)
