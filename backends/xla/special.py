"""XLA lowering of the special functions. The incomplete gamma and beta functions run the steps their ops declare,
for XLA has neither their derivatives by the parameters nor, in its own, the last three digits."""


import functools
import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.power_series import (
    beginning,
    beta_exponent,
    beta_fraction,
    exponential,
    gamma_exponent,
    gamma_fraction,
    gamma_term,
    linear,
    reciprocal,
    series_product,
    total,
    variables,
)
from ...ir.ops.special import (
    bessel_i0e,
    bessel_i1e,
    betainc,
    betainc_slope,
    cotangent_slope,
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
from .table import XLA
from .transcendental import in_single, lower_log1p

LIMIT = 10000  # bound: steps of a recurrence, enough for parameters up to about 1e6


def cotangent(x):
    """cot(pi x), by the distance to the nearest whole number."""
    return 1 / lax.tan(math.pi * (x - lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)))


def lower_erf_inv(x):
    """One Newton step on erfc beyond 1/2, where 1 - |x| is exact: XLA's loses digits near 1."""
    z, r = lax.erf_inv(x), lax.abs(x)
    y = lax.abs(z)
    better = y + (lax.erfc(y) - (1 - r)) * lax.exp(y * y) * (math.sqrt(math.pi) / 2)
    return jnp.where((r > 0.5) & (r < 1), jnp.copysign(better, x), z)


LANCZOS_G = 6.024680040776729583740234375  # fact
LANCZOS_ABOVE = (
    23531376880.41076, 42919803642.6491, 35711959237.35567, 17921034426.03721, 6039542586.352028, 1439720407.3117216,
    248874557.86205417,
    31426415.585400194, 2876370.6289353725, 186056.2653952235, 8071.672002365816, 210.82427775157935,
    2.5066282746310002,
)  # fmt: skip
LANCZOS_BELOW = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
)


def lower_factorial(x):
    """In f64, by Lanczos' sum, whose power is taken in two halves lest it overflow before the result does; below 0 by
    reflection."""
    dtype, x = x.dtype, lax.convert_element_type(x, np.float64)
    r = jnp.minimum(lax.abs(x), 200.0)
    base = r + (LANCZOS_G - 0.5)
    half = lax.pow(base, r / 2 - 0.25)
    z = (
        half
        * lax.exp(-base)
        * half
        * (jnp.polyval(np.array(LANCZOS_ABOVE[::-1]), r) / jnp.polyval(np.array(LANCZOS_BELOW[::-1]), r))
    )
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    sine = lax.sin(math.pi * (x - whole))
    reflected = math.pi / jnp.where(whole % 2 != 0, sine, -sine) / z / x
    z = jnp.where(x < 0, jnp.where(x == whole, math.nan, reflected), jnp.where(x == 0, 1 / x, z))
    return jnp.where(x != x, x, jnp.where(x == math.inf, math.inf, z)).astype(dtype)


def lower_lgamma(x):
    """f64 by a longer Lanczos sum than XLA's, which loses two digits about 1: (r - 1/2) (log(r + g - 1/2) - 1) +
    log(sum) - g.

    [Boost lanczos13m53, as in CPython's math.lgamma; below 0 by reflection]
    """
    if x.dtype != np.float64:
        return lax.lgamma(x)
    r = lax.abs(x)
    small = r < 5
    y = jnp.where(small, r, 1 / r)  # in powers of r or of 1 / r, neither of which overflows
    above, below = (
        jnp.where(small, jnp.polyval(np.array(c[::-1]), y), jnp.polyval(np.array(c), y))
        for c in (LANCZOS_ABOVE, LANCZOS_BELOW)
    )
    z = lax.log(above / below) - LANCZOS_G + (r - 0.5) * (lax.log(r + (LANCZOS_G - 0.5)) - 1)
    z = jnp.where(r < 1e-20, -lax.log(r), jnp.where((r == 1) | (r == 2), 0.0, z))
    fraction = x - lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    z = jnp.where(x < 0, math.log(math.pi) - lax.log(lax.abs(lax.sin(math.pi * fraction))) - lax.log(r) - z, z)
    return jnp.where(lax.is_finite(x) & ~((x < 0) & (fraction == 0)), z, lax.lgamma(x))


def lower_digamma(x):
    """Below 0 by reflection, with the cotangent of the reduced argument."""
    below = x < 0
    z = lax.digamma(jnp.where(below, 1 - x, x))
    z = jnp.where(below, z - math.pi * cotangent(x), z)
    return jnp.where((x <= 0) & (x == lax.floor(x)), math.nan, z).astype(x.dtype)


@in_single
def lower_polygamma(x, *, n):
    """By XLA's zeta where it is right, above 0; below by reflection, as the op's own body."""
    if n == 0:
        return lower_digamma(x)
    below = x < 0
    z = (-1) ** (n + 1) * math.factorial(n) * lower_zeta(jnp.where(below, 1 - x, x), s=n + 1)
    c = cotangent(x)
    reflected = (-1) ** n * z + (-math.pi) ** (n + 1) * sum(p * c**k for k, p in enumerate(cotangent_slope(n)) if p)
    pole = (x <= 0) & (x == lax.floor(x))
    at_pole = jnp.where(lax.is_finite(x), math.inf if n % 2 else math.nan, math.nan)
    return jnp.where(pole, at_pole, jnp.where(below, reflected, z)).astype(x.dtype)


@in_single
def lower_zeta(q, *, s):
    z = lax.zeta(lax.full_like(q, s), jnp.where((q > 0) & lax.is_finite(q), q, 1))
    limits = jnp.where(q == 0, math.inf, jnp.where(q == math.inf, 0.0, math.nan))
    return jnp.where((q > 0) & lax.is_finite(q), z, limits).astype(q.dtype)


def trigamma_and_on(x, n):
    return lower_polygamma(x, n=n)


def iterate(step, state, value):
    """`step(k, state)` for k = 1, 2, ... until no coefficient of the series `value(state)` moves by more than
    rounding."""

    def moves(old, new):
        size = functools.reduce(jnp.maximum, [abs(c) for c in new.values()])
        slack = 2 * np.finfo(size.dtype).eps
        return functools.reduce(jnp.logical_or, [jnp.any(abs(new[k] - old[k]) > slack * size) for k in new])

    def body(carry):
        k, state, _ = carry
        after = step(k, state)
        return k + 1, after, moves(value(state), value(after))

    start = (jnp.ones((), next(iter(value(state).values())).dtype), state, jnp.array(True))
    return value(lax.while_loop(lambda carry: carry[2] & (carry[0] < LIMIT), body, start)[1])


@in_single
def lower_gamma(a, x, *, n=0, upper=False):
    """As the op's own body: a series for x < a, a continued fraction beyond, each run on harmless numbers where the
    other is meant."""
    usual = (a >= 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    near = x < jnp.maximum(a, 1.0)

    def masked(where):
        return jnp.where(usual & where, a, 1), jnp.where(usual & where, x, 1)

    a1, x1 = masked(near)
    u, _ = variables(a1, a1, n, 0)
    one = linear(u, 0, 1)
    series = iterate(
        lambda k, s: (lambda t: (t, total(s[1], t)))(gamma_term(k, u, x1, s[0])), (one, one), lambda s: s[1]
    )
    a2, x2 = masked(~near)
    v, _ = variables(a2, a2, n, 0)
    fraction = iterate(
        lambda k, s: gamma_fraction(k, v, x2, s), beginning(reciprocal(linear(v, -1, x2 + 1))), lambda s: s[2]
    )
    fraction = series_product(v, fraction)
    a3, x3 = masked(True)
    front = exponential(gamma_exponent(a3, x3, lax.log(x3), lower_lgamma, lax.digamma, trigamma_and_on, n), lax.exp)
    z = series_product(front, {k: jnp.where(near, series[k], fraction[k]) for k in u})[n, 0] * math.factorial(n)
    z = jnp.where(near != upper, z, float(n == 0) - z)
    limit = jnp.where((x == math.inf) != upper, 1.0, 0.0) * float(n == 0)
    z = jnp.where(usual, z, limit)
    return jnp.where((a >= 0) & (x >= 0) & ~((a == x) & ((x == 0) | (x == math.inf))), z, math.nan).astype(x.dtype)


@in_single
def lower_beta(a, b, x, *, n=0, m=0):
    """As the op's own body, on harmless numbers where it has limits instead."""
    usual = (a > 0) & (b > 0) & (x > 0) & (x < 1) & (a < math.inf) & (b < math.inf)
    a0, b0, x0 = (jnp.where(usual, value, c) for value, c in ((a, 1), (b, 1), (x, 0.25)))
    swap = x0 * (a0 + b0 + 2) > a0 + 1
    u, v = variables(a0, b0, n, m)
    front = exponential(
        beta_exponent(a0, b0, lax.log(x0), lower_log1p(-x0), lower_lgamma, lax.digamma, trigamma_and_on, n, m), lax.exp
    )
    near, far = ({k: jnp.where(swap, s[k], t[k]) for k in u} for s, t in ((v, u), (u, v)))
    y = jnp.where(swap, 1 - x0, x0)
    h = iterate(lambda k, s: beta_fraction(k - 1, near, far, y, s), beginning(linear(u, 0, 1)), lambda s: s[2])
    z = series_product(series_product(front, reciprocal(near)), h)[n, m] * (math.factorial(n) * math.factorial(m))
    z = jnp.where(swap, float(n == m == 0) - z, z)
    limit = jnp.where((x == 1) | ((x > 0) & ((a == 0) | (b == math.inf))), float(n == m == 0), 0.0)
    valid = (a >= 0) & (b >= 0) & (x >= 0) & (x <= 1) & ~((a == b) & ((a == 0) | (a == math.inf)))
    return jnp.where(valid, jnp.where(usual, z, limit), math.nan).astype(x.dtype)


# fmt: off
XLA.add({
    erf:            lax.erf,
    erfc:           lax.erfc,
    erf_inv:        in_single(lower_erf_inv),
    gamma:          lower_factorial,
    lgamma:         lower_lgamma,
    digamma:        in_single(lower_digamma),
    polygamma:      lower_polygamma,
    zeta:           lower_zeta,
    igamma:         lower_gamma,
    igammac:        functools.partial(lower_gamma, upper=True),
    igamma_slope:   lower_gamma,
    betainc:        lower_beta,
    betainc_slope:  lower_beta,
    bessel_i0e:     lax.bessel_i0e,
    bessel_i1e:     lax.bessel_i1e,
})
