"""Derivatives of the transcendental ops: partials, z being the op's own result."""


import math

from ..ir.ops.elementwise import rsqrt
from ..ir.ops.transcendental import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    exp,
    exp2,
    expm1,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logistic,
    sin,
    sinh,
    softplus,
    tan,
    tanh,
)
from .elementwise import but
from .forms import scalar

# fmt: off
#       op         partials
scalar( exp,       lambda z, x: z, singular=True)
scalar( exp2,      lambda z, x: z * math.log(2), singular=True)
scalar( expm1,     lambda z, x: z + 1, singular=True)
scalar( log,       lambda z, x: 1 / x, singular=True)
scalar( log2,      lambda z, x: 1 / (x * math.log(2)), singular=True)
scalar( log10,     lambda z, x: 1 / (x * math.log(10)), singular=True)
scalar( log1p,     lambda z, x: 1 / (1 + x), singular=True)
scalar( sin,       lambda z, x: cos(x))
scalar( cos,       lambda z, x: -sin(x))
scalar( tan,       lambda z, x: 1 + z * z)
scalar( asin,      lambda z, x: rsqrt((1 - x) * (1 + x)), singular=True)
scalar( acos,      lambda z, x: -rsqrt((1 - x) * (1 + x)), singular=True)
scalar( atan,      lambda z, x: 1 / (1 + x * x))
scalar( atan2,     lambda z, x, y: y / (x * x + y * y),    lambda z, x, y: -x / (x * x + y * y), singular=True)
scalar( sinh,      lambda z, x: cosh(x), singular=True)
scalar( cosh,      lambda z, x: sinh(x), singular=True)
scalar( tanh,      lambda z, x: (1 - z) * (1 + z))
scalar( asinh,     lambda z, x: rsqrt(1 + x * x))
# not rsqrt(x^2 - 1), whose cut lies elsewhere
scalar( acosh,     lambda z, x: rsqrt(x - 1) * rsqrt(x + 1), singular=True)
scalar( atanh,     lambda z, x: 1 / ((1 - x) * (1 + x)), singular=True)
scalar( logistic,  lambda z, x: z * (1 - z))
scalar( softplus,  lambda z, x: logistic(x))
scalar( logaddexp, lambda z, x, y: logistic(x - y),         lambda z, x, y: logistic(y - x))
scalar( hypot,     lambda z, x, y: x / but(z, 0.0, 1.0),    lambda z, x, y: y / but(z, 0.0, 1.0))
