"""What XLA leaves out as neutral, and is not: x + 0.0 is 0.0 at -0.0, and z * (1+0j) makes of infinite parts NaN.

Its simplifier (jax 0.10, every backend) gives x for x + 0.0 and x - -0.0, and z for z * 1 and z / 1 of complex numbers;
of other quotients by c+0j it has zeros of other signs than NumPy. What derivatives add so is gone before: `ir/rules`
knows that nobody asks there which zero it is.
"""

import functools

import jax
import numpy as np
from jax import lax

from ...ir.core import Lit
from ...ir.ops.elementwise import add, div, mul, sub


def neutral(func):
    """{equation: how it is lowered} of those that XLA would leave out."""
    return {eqn: rule for eqn in func.eqns if eqn.op in RULES and (rule := RULES[eqn.op](*eqn.operands)) is not None}


def of_sum(x, y):
    k = next((k for k, other in ((0, y), (1, x)) if is_literal_zero(other)), None)
    return None if k is None else functools.partial(plus_zero, k, (y, x)[k].value)


def of_difference(x, y):
    return functools.partial(plus_zero, 0, -y.value) if is_literal_zero(y) else None


def of_product(x, y):
    k = next((k for k, other in ((0, y), (1, x)) if is_real(other)), None)
    return None if k is None else functools.partial(times_real, k, (y, x)[k].value.real)


def of_quotient(x, y):
    return functools.partial(over_real, y.value.real) if is_real(y) and y.value != 0 else None


RULES = {add: of_sum, sub: of_difference, mul: of_product, div: of_quotient}


def is_literal_zero(x):
    return isinstance(x, Lit) and x.type.inexact and x.value == 0


def is_real(x):
    """Whether an operand is a complex number with an imaginary part of 0.0."""
    return isinstance(x, Lit) and x.type.kind == "c" and x.value.imag == 0 and not np.signbit(x.value.imag)


def plus_zero(k, zero, *operands):
    """Operand number `k`, plus a zero: in the parts in which that is 0.0, not -0.0, its zeros have no sign."""
    x = operands[k]
    if x.dtype.kind == "c":
        return lax.complex(plus_zero(0, zero.real, lax.real(x)), plus_zero(0, zero.imag, lax.imag(x)))
    return x if np.signbit(zero.real) else unsigned(x)


def without_signs(x):
    """Zeros of floats, or of the parts of complex numbers, as 0.0."""
    return lax.complex(unsigned(lax.real(x)), unsigned(lax.imag(x))) if x.dtype.kind == "c" else unsigned(x)


@jax.custom_jvp
def unsigned(x):
    """Floats, 0.0 for -0.0."""
    zero = lax.full_like(x, 0)
    return lax.select(lax.eq(x, zero), zero, x)


unsigned.defjvp(lambda primals, tangents: (unsigned(*primals), *tangents))


def times_real(k, c, *operands):
    """Operand number `k`, complex, times c+0j."""
    re, im = lax.real(operands[k]), lax.imag(operands[k])
    factor, zero = lax.full_like(re, c), lax.full_like(re, 0)
    return lax.complex(re * factor - im * zero, re * zero + im * factor)


def over_real(c, x, _):
    """Complex numbers divided by c+0j, by way of its reciprocal as NumPy does."""
    re, im = lax.real(x), lax.imag(x)
    scale, ratio = lax.full_like(re, 1 / re.dtype.type(c)), lax.full_like(re, 0 / c)
    return lax.complex((re + im * ratio) * scale, (im - re * ratio) * scale)
