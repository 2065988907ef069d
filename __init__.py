"""Wengert: plain NumPy functions, compiled and differentiated as they stand."""

from .tracer import numpy_api  # register NumPy's and SciPy's functions on traced values
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
from .tracer.foreign import from_jax
from .tracer.implicit import implicit_root
from .tracer.jacobians import hessian, hvp, jacfwd, jacrev, linearize
from .tracer.jit import jit
from .tracer.readable import source
from .tracer.rules import rule
from .tracer.scipy_api import handlers as scipy_api
from .tracer.solving import implicit_solve
from .tracer.transforms import grad, jvp, value_and_grad, vjp
from .tracer.vmap import vmap

__version__ = "0.1.0"

__all__ = [
    "CheckError", "ConcretizationError", "DerivativeError", "Fallback", "LeakError", "ShapeError", "UnsupportedError", "WengertError",
    "checkpoint", "custom_jvp", "custom_vjp", "from_jax", "grad", "hessian", "hvp", "implicit_root", "implicit_solve", "jacfwd", "jacrev",
    "jit", "jvp", "linearize", "numpy_api", "rule", "scipy_api", "source", "stop_gradient", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
