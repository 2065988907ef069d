"""Wengert: plain NumPy functions, compiled and differentiated as they stand."""

from .tracer import numpy_api  # register NumPy's and SciPy's functions on traced values
from .tracer.api import along, installations  # noqa: F401, the functions that trace what they are given; the slots of lower rooms
from .tracer.api.custom import custom_jvp, custom_vjp
from .tracer.api.flow import checkpoint, stop_gradient
from .tracer.api.foreign import from_jax
from .tracer.api.implicit import implicit_root
from .tracer.api.jacobians import hessian, hvp, jacfwd, jacrev, linearize
from .tracer.api.jit import jit
from .tracer.api.linear_maps import jvp, vjp
from .tracer.api.readable import source
from .tracer.api.solving import implicit_solve
from .tracer.api.transforms import grad, value_and_grad
from .tracer.api.vmap import vmap
from .tracer.common import log_setting  # noqa: F401, what WENGERT_LOG asks for
from .tracer.common.errors import (
    CheckError,
    ConcretizationError,
    DerivativeError,
    Fallback,
    LeakError,
    NumericalError,
    ShapeError,
    UnsupportedError,
    WengertError,
)
from .tracer.interop.torch_function import to_torch
from .tracer.profile.profile import Profile, profile
from .tracer.rules.rules import rule
from .tracer.scipy_api import handlers as scipy_api

__version__ = "0.1.0"

__all__ = [
    "CheckError", "ConcretizationError", "DerivativeError", "Fallback", "LeakError", "NumericalError", "Profile",
    "ShapeError",
    "UnsupportedError", "WengertError",
    "checkpoint", "custom_jvp", "custom_vjp", "from_jax", "grad", "hessian", "hvp", "implicit_root", "implicit_solve",
    "jacfwd", "jacrev",
    "jit", "jvp", "linearize", "numpy_api", "profile", "rule", "scipy_api", "source", "stop_gradient",
    "to_torch", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
