"""XLA lowering of the transcendental ops, and of pow, mended where XLA loses digits; f16 is then computed in f32."""


import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.elementwise import pow
from ...ir.ops.transcendental import (
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
from .elementwise import in_first_quadrant, in_upper_half, is_complex, is_zero
from .table import XLA


def in_single(f):
    """f in f32 where the operands are f16."""

    def lowered(*operands, **attrs):
        if operands[0].dtype != np.float16:
            return f(*operands, **attrs)
        return lax.convert_element_type(
            f(*[lax.convert_element_type(x, np.float32) for x in operands], **attrs), np.float16
        )

    return lowered


def layout(dtype):
    """(integer dtype of the same width, bits of the fraction, exponent of 1) of a float dtype."""
    fraction = np.finfo(dtype).nmant
    return np.dtype(f"i{dtype.itemsize}"), fraction, np.finfo(dtype).maxexp - 1


def power_of_two(n, dtype):
    """2 ** n for integers n among the normal exponents, by its bits."""
    _, fraction, one = layout(dtype)
    return lax.bitcast_convert_type((n + one) << fraction, dtype)


@in_single
def lower_exp2(x):
    """exp(f log 2) 2^n with n the nearest whole number and x = n + f; XLA's exp(x log 2) loses digits as |x| grows.

    2^n is made in two halves, so that it overflows only where the result does.
    """
    if is_complex(x):
        z, angle = lower_exp2(lax.real(x)), lax.imag(x) * math.log(2)
        return lax.complex(z * lax.cos(angle), z * lax.sin(angle))
    integer, _, one = layout(x.dtype)
    n = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    z = lax.exp((x - n) * math.log(2))
    n = lax.convert_element_type(jnp.clip(n, -2 * one, 2 * one), integer)
    z = z * power_of_two(n >> 1, x.dtype) * power_of_two(n - (n >> 1), x.dtype)
    return lax.select(lax.is_finite(x), z, lax.exp(x))


def lower_log(x):
    """Complex: XLA's own is through log1p, which is wanted where |x| is about 1 and loses digits elsewhere."""
    if not is_complex(x):
        return lax.log(x)
    z, r = lax.log(x), lax.abs(x)
    return lax.complex(lax.select(lax.abs(r - 1) < 0.1, lax.real(z), lax.log(r)), lax.imag(z))


def lower_log1p(x):
    """f64: XLA's series loses two digits about -0.41, where the plain sum loses none. Complex: XLA's square of |1 + x|
    may be no float."""
    if is_complex(x):
        z, distance = lax.log1p(x), lax.abs(1 + x)
        return lax.complex(lax.select(distance < np.finfo(x.dtype).eps, lax.log(distance), lax.real(z)), lax.imag(z))
    return lax.log1p(x) if x.dtype != np.float64 else lax.select(lax.abs(x) < 0.2, lax.log1p(x), lax.log(1 + x))


def lower_pow(x, y):
    """Complex by exp(y log x), for XLA's overflows before the result does; at x = 0 only y = 0 and Re y > 0 have a
    value, 1 and 0."""
    if not is_complex(x):
        return lax.pow(x, y)
    positive = lax.gt(lax.real(y), lax.full_like(lax.real(y), 0))
    zeroth = lax.select(positive, lax.full_like(x, 0), lax.full_like(x, complex(np.nan, np.nan)))
    w, re = y * lower_log(x), lax.real(y)
    # NumPy multiplies then, and divides 1 by the product
    counted = lax.bitwise_and(is_zero(lax.imag(y)), lax.eq(re, lax.round(re)))
    vanished = lax.bitwise_and(
        lax.eq(lax.real(w), lax.full_like(re, -np.inf)), ~lax.bitwise_and(counted, lax.abs(re) < 100)
    )
    z = lax.select(is_zero(x), zeroth, lax.select(vanished, lax.full_like(x, 0), lax.exp(w)))
    return lax.select(is_zero(y), lax.full_like(x, 1), z)


def logarithm(base, parts):
    """Logarithm to a base, exact for its powers: n log 2 + log m, each over log base, where x = m 2^n.

    n counts from 1 upwards and from 1/2 downwards, so that both terms have one sign. `parts` of log 2 / log base,
    by width: the first so short that n times it is exact, and the rest.  [fdlibm e_log10.c, e_log10f.c]
    """

    @in_single
    def lowered(x):
        plain = lower_log(x) / math.log(base)
        if is_complex(x):
            return plain
        (integer, fraction, one), (high, low) = layout(x.dtype), parts[x.dtype.itemsize]
        bits = lax.bitcast_convert_type(x, integer)
        n = (bits >> fraction) - one
        n = n + lax.convert_element_type(n < 0, integer)
        m = lax.bitcast_convert_type(bits - (n << fraction), x.dtype)
        n = lax.convert_element_type(n, x.dtype)
        normal = lax.bitwise_and(lax.is_finite(x), lax.ge(x, lax.full_like(x, np.finfo(x.dtype).tiny)))
        return lax.select(normal, n * high + (n * low + lax.log(m) / math.log(base)), plain)

    return lowered


@in_single
def lower_atanh(x):
    """log1p(2x / (1 - x)) / 2 of |x|, with the sign of x."""
    if is_complex(x):
        z = lax.atanh(x)
        return lax.complex(about_one(lax.real(z), 1 - x), or_nan(lax.imag(z), lax.imag(x), lax.real(x)))
    r = lax.abs(x)
    return jnp.copysign(lower_log1p(2 * r / (1 - r)) / 2, x)


def lower_atan(x):
    if not is_complex(x):
        return lax.atan(x)
    z = lax.atan(x)
    return lax.complex(or_nan(lax.real(z), lax.real(x), lax.imag(x)), about_one(lax.imag(z), 1j - x))


def about_one(z, gap):
    """log((1 + x) / (1 - x)) / 2, given as z, but by |1 - x| where the square of that may be no float."""
    distance = lax.abs(gap)
    return lax.select(distance < np.finfo(z.dtype).eps, (math.log(2) - lax.log(distance)) / 2, z)


def or_nan(z, x, y):
    """z, but NaN where x is, or where y is and x is finite."""
    missing = lax.bitwise_or(lax.ne(x, x), lax.bitwise_and(lax.ne(y, y), lax.is_finite(x)))
    return lax.select(missing, lax.full_like(z, np.nan), z)


def lower_sinh(x):
    """Beyond 1 by e = exp(|x| / 2), for XLA's exp(x - log 2) loses digits as |x| grows; complex by sin(i x) = i
    sinh(x)."""
    if is_complex(x):
        z = lax.sin(lax.complex(lax.imag(x), lax.real(x)))
        return lax.complex(lax.imag(z), lax.real(z))
    e = lax.exp(lax.abs(x) / 2)
    return lax.select(lax.abs(x) < 1, lax.sinh(x), jnp.copysign((e / 2) * e - 0.5 / e / e, x))


def lower_cosh(x):
    """By e = exp(|x| / 2), as sinh; complex by cos(i x) = cosh(x)."""
    if is_complex(x):
        return lax.cos(lax.complex(-lax.imag(x), lax.real(x)))
    e = lax.exp(lax.abs(x) / 2)
    return (e / 2) * e + 0.5 / e / e


# fmt: off
XLA.add({
    pow:        lower_pow,
    exp:        lax.exp,
    exp2:       lower_exp2,
    expm1:      lax.expm1,
    log:        lower_log,
    log2:       logarithm(2, {4: (1.0, 0.0), 8: (1.0, 0.0)}),
    log10:      logarithm(10, {4: (3.0102920532e-01, 7.9034151668e-07),
        8: (3.01029995663611771306e-01, 3.69423907715893078616e-13)}),
    log1p:      lower_log1p,
    sin:        lax.sin,
    cos:        lax.cos,
    tan:        lax.tan,
    asin:       in_first_quadrant(lax.asin),
    acos:       in_upper_half(lax.acos),
    atan:       in_first_quadrant(lower_atan),
    atan2:      lax.atan2,
    sinh:       lower_sinh,
    cosh:       lower_cosh,
    tanh:       lax.tanh,
    asinh:      in_first_quadrant(lax.asinh),
    acosh:      in_upper_half(lax.acosh),
    atanh:      in_first_quadrant(lower_atanh),
    logistic:   lax.logistic,
    softplus:   lambda x: jnp.logaddexp(x, lax.full_like(x, 0)),
    logaddexp:  jnp.logaddexp,
    hypot:      jnp.hypot,
})
