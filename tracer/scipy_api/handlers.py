"""Every file of handlers, imported to be registered: not by the package itself, as capture asks its registry."""

from ..numpy_api import scipy_registry as registry
from . import (
    hosted,
    integrate,
    linalg,
    minima,
    ndimage,
    quadrature,
    roots,
    rotations,
    signal,
    special,
    stats,
    systems,
)

__all__ = [
    "hosted", "integrate", "linalg", "minima", "ndimage", "quadrature", "registry", "roots", "rotations", "signal",
    "special", "stats", "systems",
]
