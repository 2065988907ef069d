"""Whether what is compiled now may differ by rounding from what is written."""

import contextvars
import functools

import numpy as np

from .setting import set_within

ONLY_EXACT = contextvars.ContextVar("exact", default=False)
PRECISIONS = "highest", "high", "default"  # of products, from all digits down to what the hardware is fastest at
PRECISION = contextvars.ContextVar("precision", default=PRECISIONS[0])


def exactly(exact):
    """Within: whether nothing that is rewritten, derived or lowered may change a bit."""
    return set_within(ONLY_EXACT, exact)


def multiplying(precision):
    """Within: the precision, one of PRECISIONS, in which what is lowered multiplies matrices and convolves."""
    return set_within(PRECISION, precision)


@functools.cache
def contracted(dtype):
    """Whether NumPy rounds `a * c - round(b * d)` once where it multiplies complex arrays here; numbers it multiplies
    without such instructions."""
    rng = np.random.default_rng(0)
    x, y = ((rng.normal(size=64) + 1j * rng.normal(size=64)).astype(dtype) for _ in range(2))
    return bool((x * y != [a * b for a, b in zip(x, y)]).any())
