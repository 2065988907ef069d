"""NumPy names on traced values: each a composition of ops, registered under the function it stands for.

`HANDLERS` maps a NumPy function to its handler, `METHODS` an ndarray method to the same handlers;
`promote.UFUNCS` holds the ufuncs. Handlers take what NumPy's function takes, and return traced values.
"""

# ruff: noqa: I001, the names fill lines

from . import operators  # first: others replace some of its operators
from . import (
    creation,
    dtypes,
    einsum,
    fft,
    convolution,
    joining,
    linalg,
    memory,
    norms,
    padding,
    polynomials,
    numbers,
    powers,
    products,
)
from . import refused, selecting, shaping
from . import (
    differences,
    elementwise,
    histograms,
    histograms_nd,
    logic,
    masked,
    quantiles,
    reductions,
    repeating,
    sorting,
    ufunc_methods,
    ufuncs,
)
from .registry import HANDLERS, METHODS
from .extents import (
    functions as extents,
    joining as extents_joining,
    making as extents_making,
    products as extents_products,
    reductions as extents_reductions,
    sets,
    shaping as extents_shaping,
)

__all__ = [
    "HANDLERS", "METHODS", "convolution", "creation", "dtypes", "einsum", "fft", "joining", "linalg", "memory", "norms",
    "padding", "polynomials", "numbers", "operators", "powers", "products", "refused", "selecting", "shaping",
    "differences", "elementwise", "histograms", "histograms_nd", "extents", "extents_joining", "extents_making",
    "extents_products", "extents_reductions", "extents_shaping", "sets",
    "logic", "masked", "quantiles", "reductions", "repeating", "sorting", "ufunc_methods", "ufuncs",
]  # fmt: skip
