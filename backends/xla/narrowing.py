"""Casts of floats to narrower ones, which XLA cannot leave out.

XLA's GPU compiler makes nothing of a conversion to fewer digits and back: it may compute with more digits than are
asked for. NumPy rounds, and so do programs: what is converted elsewhere than on CPUs is a number of the narrower dtype
already, so that nothing is lost where the conversion is. On CPUs conversions stay.
"""

import numpy as np
from jax import lax
from jax import numpy as jnp

from .platforms import by_platform


def narrowed_float(x, dtype):
    """A float as one of fewer digits."""
    convert = lambda x: lax.convert_element_type(x, dtype)
    return by_platform(x, cpu=convert, default=lambda x: convert(rounded_as(x, dtype)))


def is_narrowing(x, dtype):
    """Whether a conversion of a jax value is from a real float to a narrower one."""
    real = jnp.issubdtype(x.dtype, jnp.floating) and jnp.issubdtype(dtype, jnp.floating)
    return real and jnp.finfo(dtype).nmant < jnp.finfo(x.dtype).nmant


def rounded_as(x, dtype):
    """A float rounded to the nearest number that `dtype` has, ties to even: of the dtype that it was. Numbers of
    float32 and bfloat16 below their smallest normal one, which count as zero to XLA, may become that."""
    info = jnp.finfo(dtype)
    if info.maxexp == jnp.finfo(np.float32).maxexp:
        return lax.reduce_precision(x, 8, info.nmant)
    near, size, step = lax.reduce_precision(x, jnp.finfo(x.dtype).nexp, info.nmant), lax.abs(x), info.smallest_subnormal
    scaled = x * x.dtype.type(1 / float(step))
    evenly = lax.round(scaled, lax.RoundingMethod.TO_NEAREST_EVEN) * x.dtype.type(step)
    near = lax.select(lax.lt(size, lax.full_like(x, info.smallest_normal)), evenly, near)
    beyond = lax.full_like(x, float(np.asarray(np.inf).astype(dtype)))  # infinity, or NaN where there is none
    return lax.select(lax.gt(lax.abs(near), lax.full_like(x, info.max)), jnp.copysign(beyond, x), near)
