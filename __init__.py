"""Wengert: plain NumPy functions, compiled and differentiated as they stand."""

from .tracer import numpy_api  # registers NumPy's functions on traced values
from .tracer.errors import (
    CheckError,
    ConcretizationError,
    DerivativeError,
    Fallback,
    LeakError,
    ShapeError,
    UnsupportedError,
    WengertError,
)
from .tracer.jit import jit
from .tracer.transforms import grad, jvp, value_and_grad, vjp

__all__ = [
    "CheckError", "ConcretizationError", "DerivativeError", "Fallback", "LeakError", "ShapeError", "UnsupportedError", "WengertError",
    "grad", "jit", "jvp", "numpy_api", "value_and_grad", "vjp",
]  # fmt: skip
