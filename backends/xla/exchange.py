"""Arrays of other libraries as jax arrays, without a copy: DLPack, on any device that jax knows."""

import numpy as np
from jax import numpy as jnp

from .dispatch import wide

BFLOAT16 = np.dtype(jnp.bfloat16)


def from_dlpack(x):
    """The memory of an array of another library as a jax array of its shape, dtype and device."""
    with wide():
        return jnp.from_dlpack(x)
