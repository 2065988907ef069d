"""SciPy names on traced values, for those who have SciPy: nothing here imports it.

Each is a composition of our ops, or a function of jax.scipy imported into the program. Values, dtypes, shapes and kinds are SciPy's;
what would differ is refused.
"""

from . import linalg, ndimage, registry, signal, special, stats

__all__ = ["linalg", "ndimage", "registry", "signal", "special", "stats"]
