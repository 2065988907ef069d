"""IR functions on XLA: lowering tables onto jax.lax, one file an op family, and the compiled callable."""

from . import control, elementwise, indexing, linalg, reduction, shape, transcendental
from .lower import lower
from .table import XLA

__all__ = ["XLA", "control", "elementwise", "indexing", "linalg", "lower", "reduction", "shape", "transcendental"]
