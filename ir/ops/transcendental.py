"""Elementwise ops of calculus: exponentials, logarithms, circular and hyperbolic functions and their inverses."""

import numpy as np

from ..op import FLOAT, INEXACT, above_one, case, nonzero, op, positive, unit
from .elementwise import pointwise
from .samples import ON_THE_CUTS


def both_sides(rng, shape):
    """Beyond 1, either sign."""
    return rng.uniform(1.1, 3.0, shape) * rng.choice([-1.0, 1.0], shape)


# fmt: off
# -- transcendental --------------------------------------------------------------------------------


@op(pointwise(INEXACT))
def exp(x):
    """e to the power x."""
    return np.exp(x)


@op(pointwise(INEXACT))
def exp2(x):
    """2 to the power x, exact for whole x."""
    return np.exp2(x)


@op(pointwise(INEXACT))
def expm1(x):
    """exp(x) - 1, with the digits that difference would lose near 0."""
    return np.expm1(x)


@op(pointwise(INEXACT), sample=positive)
def log(x):
    """Natural logarithm; NaN below zero for floats."""
    return np.log(x)


@op(pointwise(INEXACT), sample=positive)
def log2(x):
    """Logarithm to base 2, exact for powers of 2."""
    return np.log2(x)


@op(pointwise(INEXACT), sample=positive)
def log10(x):
    """Logarithm to base 10, exact for 1, 10, 100, ..."""
    return np.log10(x)


@op(pointwise(INEXACT), sample=unit)
def log1p(x):
    """log(1 + x), with the digits that sum would lose near 0."""
    return np.log1p(x)


@op(pointwise(INEXACT))
def sin(x):
    """Sine."""
    return np.sin(x)


@op(pointwise(INEXACT))
def cos(x):
    """Cosine."""
    return np.cos(x)


@op(pointwise(INEXACT), sample=unit)
def tan(x):
    """Tangent."""
    return np.tan(x)


@op(pointwise(INEXACT), sample=unit, cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def asin(x):
    """Inverse sine; NaN beyond 1 for floats."""
    return np.arcsin(x)


@op(pointwise(INEXACT), sample=unit, cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def acos(x):
    """Inverse cosine; NaN beyond 1 for floats."""
    return np.arccos(x)


@op(pointwise(INEXACT), cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def atan(x):
    """Inverse tangent."""
    return np.arctan(x)


@op(pointwise(FLOAT), sample=nonzero)
def atan2(x, y):
    """The angle of the point (y, x), in [-pi, pi]; signs of zeros count."""
    return np.arctan2(x, y)


@op(pointwise(INEXACT))
def sinh(x):
    """Hyperbolic sine."""
    return np.sinh(x)


@op(pointwise(INEXACT))
def cosh(x):
    """Hyperbolic cosine."""
    return np.cosh(x)


@op(pointwise(INEXACT))
def tanh(x):
    """Hyperbolic tangent."""
    return np.tanh(x)


@op(pointwise(INEXACT), cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def asinh(x):
    """Inverse hyperbolic sine."""
    return np.arcsinh(x)


@op(pointwise(INEXACT), sample=above_one, cases=[*pointwise(INEXACT).cases, case("c128[3,4]", sample=both_sides),
    case(ON_THE_CUTS)])
def acosh(x):
    """Inverse hyperbolic cosine; NaN below 1 for floats."""
    return np.arccosh(x)


@op(pointwise(INEXACT), sample=unit, cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def atanh(x):
    """Inverse hyperbolic tangent; NaN beyond 1 for floats."""
    return np.arctanh(x)


@op(pointwise(FLOAT))
def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


@op(pointwise(FLOAT))
def softplus(x):
    """log(1 + exp(x)), without overflow: tends to 0 at -inf and to x at inf."""
    return np.logaddexp(x, 0)


@op(pointwise(FLOAT), traits=["commutative"])
def logaddexp(x, y):
    """log(exp(x) + exp(y)), without overflow."""
    return np.logaddexp(x, y)


@op(pointwise(FLOAT), sample=nonzero, traits=["commutative", "masks_nan"])
def hypot(x, y):
    """sqrt(x * x + y * y), without overflow; inf if either is, NaN beside it or not."""
    return np.hypot(x, y)
