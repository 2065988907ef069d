"""Arrays of a dtype, drawn."""

import numpy as np


def drawn(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 3
    kind = np.dtype(dtype).kind
    x = x + 1j * rng.standard_normal(shape) if kind == "c" else abs(x) * 20 if kind == "u" else x > 0 if kind == "b" else x
    return np.asarray(x).astype(dtype)
