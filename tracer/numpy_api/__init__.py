"""NumPy names on traced values: each a composition of ops, registered under the function it stands for.

`HANDLERS` maps a NumPy function to its handler, `METHODS` an ndarray method to the same handlers;
`promote.UFUNCS` holds the ufuncs. Handlers take what NumPy's function takes, and return traced values.
"""

from . import ufuncs
from .registry import HANDLERS, METHODS

__all__ = ["HANDLERS", "METHODS", "ufuncs"]
