"""Wengert: plain NumPy functions, compiled and differentiated as they stand."""

from .tracer import numpy_api  # registers NumPy's functions on traced values
from .tracer.custom import custom_jvp, custom_vjp
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
from .tracer.flow import checkpoint, stop_gradient
from .tracer.jacobians import hessian, hvp, jacfwd, jacrev, linearize
from .tracer.jit import jit
from .tracer.transforms import grad, jvp, value_and_grad, vjp
from .tracer.vmap import vmap

__all__ = [
    "CheckError", "ConcretizationError", "DerivativeError", "Fallback", "LeakError", "ShapeError", "UnsupportedError", "WengertError",
    "checkpoint", "custom_jvp", "custom_vjp", "grad", "hessian", "hvp", "jacfwd", "jacrev", "jit", "jvp", "linearize", "numpy_api",
    "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
