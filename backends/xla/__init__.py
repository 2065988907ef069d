"""IR functions on XLA: lowering tables onto jax.lax, one file an op family, and the compiled callable."""

from . import (
    control,
    dense,
    drawing,
    elementwise,
    external,
    flow,
    indexing,
    linalg,
    reduction,
    shape,
    signal,
    sorting,
    special,
    transcendental,
    window,
)
from .lower import lower
from .table import XLA

__all__ = [
    "XLA",
    "control",
    "dense",
    "drawing",
    "elementwise",
    "external",
    "flow",
    "indexing",
    "linalg",
    "lower",
    "reduction",
    "shape",
    "signal",
    "sorting",
    "special",
    "transcendental",
    "window",
]
