"""XLA lowering of reductions and their cumulative forms."""

import numpy as np
from jax import lax

from ...ir.ops.reduction import (
    argmax,
    argmin,
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
)
from .table import XLA


def in_single(reduce):
    """float16 is added up in float32, as NumPy does."""
    def run(x, *, axes):
        return reduce(x.astype(np.float32), axes).astype(x.dtype) if x.dtype == np.float16 else reduce(x, axes)

    return run


def on_bytes(function, **renamed):
    """Booleans as bytes, for XLA functions that order numbers only."""
    def run(x, *, axis, **attrs):
        attrs = {renamed.get(k, k): v for k, v in attrs.items()}
        if x.dtype != bool:
            return function(x, axis, **attrs)
        out = function(x.astype(np.uint8), axis, **attrs)
        return out.astype(bool) if not renamed else out

    return run


# fmt: off
XLA.add({
    reduce_sum:    in_single(lax.reduce_sum),
    reduce_prod:   in_single(lax.reduce_prod),
    reduce_max:    lambda x, *, axes: lax.reduce_max(x, axes),
    reduce_min:    lambda x, *, axes: lax.reduce_min(x, axes),
    reduce_and:    lambda x, *, axes: lax.reduce_and(x, axes),
    reduce_or:     lambda x, *, axes: lax.reduce_or(x, axes),
    reduce_xor:    lambda x, *, axes: lax.reduce_xor(x, axes),
    argmax:        on_bytes(lax.argmax, dtype="index_dtype"),
    argmin:        on_bytes(lax.argmin, dtype="index_dtype"),
    cumsum:        lambda x, *, axis, reverse: lax.cumsum(x, axis, reverse),
    cumprod:       lambda x, *, axis, reverse: lax.cumprod(x, axis, reverse),
    cummax:        on_bytes(lax.cummax),
    cummin:        on_bytes(lax.cummin),
    cumlogsumexp:  lambda x, *, axis, reverse: lax.cumlogsumexp(x, axis, reverse),
})
