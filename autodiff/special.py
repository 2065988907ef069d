"""Derivatives of the special functions: partials, z being the op's own result.

The incomplete gamma and beta functions have all derivatives in all operands: by the parameters through their
`slope` ops, by x through the densities, whose own derivatives by the parameters are power series of equations.
"""


import math

from ..ir.core import splat
from ..ir.ops.elementwise import abs, lt, select, sign
from ..ir.ops.power_series import beta_exponent, exponential, gamma_exponent
from ..ir.ops.special import (
    bessel_i0e,
    bessel_i1e,
    betainc,
    betainc_slope,
    digamma,
    erf,
    erf_inv,
    erfc,
    gamma,
    igamma,
    igamma_slope,
    igammac,
    lgamma,
    polygamma,
    zeta,
)
from ..ir.ops.transcendental import exp, log, log1p
from .forms import scalar


def trigamma_and_on(x, n):
    return polygamma(x, n=n)


def gamma_density(a, x, n=0):
    """x^(a-1) e^-x / Gamma(a), differentiated n times by a: e^u a / x with u of the exponent of x^a e^-x /
    Gamma(a+1)."""
    e = exponential(gamma_exponent(a, x, log(x), lgamma, digamma, trigamma_and_on, n), exp)
    top = a * e[n, 0] + e[n - 1, 0] if n else a * e[0, 0]
    return scaled_by(math.factorial(n), top / x)


def beta_density(a, b, x, n=0, m=0):
    """x^(a-1) (1-x)^(b-1) / B(a, b), differentiated n times by a and m times by b."""
    e = exponential(beta_exponent(a, b, log(x), log1p(-x), lgamma, digamma, trigamma_and_on, n, m), exp)
    return scaled_by(math.factorial(n) * math.factorial(m), e[n, m] / (x * (1 - x)))


def scaled_by(number, x):
    return x if number == 1 else number * x


def i1e_slope(z, x):
    """I_0 - I_1 / x, scaled as they are; I_1 / x by its power series near 0, so that all orders are right there."""
    near, square, series = lt(abs(x), 0.2), x * x, None
    for k in reversed(range(8)):
        c = 0.5 / (4**k * math.factorial(k) * math.factorial(k + 1))
        series = c + series * square if series is not None else splat(c, x)
    ratio = select(near, exp(-abs(x)) * series, z / select(near, splat(1.0, x), x))
    return bessel_i0e(x) - z * sign(x) - ratio


# fmt: off
#       op             partials
scalar( erf,           lambda z, x: 2 / math.sqrt(math.pi) * exp(-(x * x)))
scalar( erfc,          lambda z, x: -2 / math.sqrt(math.pi) * exp(-(x * x)))
scalar( erf_inv,       lambda z, x: math.sqrt(math.pi) / 2 * exp(z * z), singular=True)
scalar( gamma,         lambda z, x: z * digamma(x), singular=True)
scalar( lgamma,        lambda z, x: digamma(x), singular=True)
scalar( digamma,       lambda z, x: polygamma(x, n=1), singular=True)
scalar( polygamma,     lambda z, x, *, n: polygamma(x, n=n + 1), singular=True)
scalar( zeta,          lambda z, q, *, s: -s * zeta(q, s=s + 1), singular=True)
scalar( igamma,        lambda z, a, x: igamma_slope(a, x, n=1),              lambda z, a, x: gamma_density(a, x),
    singular=True)
scalar( igammac,       lambda z, a, x: -igamma_slope(a, x, n=1),             lambda z, a, x: -gamma_density(a, x),
    singular=True)
scalar( igamma_slope,  lambda z, a, x, *, n: igamma_slope(a, x, n=n + 1),    lambda z, a, x, *,
    n: gamma_density(a, x, n), singular=True)
scalar( betainc,       lambda z, a, b, x: betainc_slope(a, b, x, n=1, m=0),
                       lambda z, a, b, x: betainc_slope(a, b, x, n=0, m=1),
                       lambda z, a, b, x: beta_density(a, b, x), singular=True)
scalar( betainc_slope, lambda z, a, b, x, *, n, m: betainc_slope(a, b, x, n=n + 1, m=m),
                       lambda z, a, b, x, *, n, m: betainc_slope(a, b, x, n=n, m=m + 1),
                       lambda z, a, b, x, *, n, m: beta_density(a, b, x, n, m), singular=True)
scalar( bessel_i0e,    lambda z, x: bessel_i1e(x) - sign(x) * z)
scalar( bessel_i1e,    i1e_slope)
