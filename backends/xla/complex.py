"""Complex products, quotients and whole powers to the bit, as NumPy computes them, for exact programs.

NumPy multiplies arrays by instructions that round a product and a sum at once where the processor has them, and numbers
by plain ones; it divides by the larger part of the divisor.  [Smith 1962; npy_cpow]
"""

import functools

import numpy as np
from jax import lax

from ...ir.core import Lit
from ...ir.exactness import ONLY_EXACT, contracted
from ...ir.ops import OPS
from .division import divide
from .elementwise import lower_rounded

MUL, DIV, POW, INTEGER_POW = (OPS[name] for name in ("mul", "div", "pow", "integer_pow"))
MOST = 100  # fact: whole exponents from which NumPy asks the C library


def parts(*xs):
    return [part for x in xs for part in (lax.real(x), lax.imag(x))]


def rounded_product(x, y):
    """A product of its own."""
    return lower_rounded(lax.mul(x, y))


def plain_product(x, y):
    a, b, c, d = parts(x, y)
    return lax.complex(
        lower_rounded(rounded_product(a, c) - rounded_product(b, d)),
        lower_rounded(rounded_product(a, d) + rounded_product(b, c)),
    )


def complex_product(x, y):
    """Of arrays: the one product of each part that is not rounded by itself, XLA's compiler makes one instruction of
    with the sum."""
    if not x.shape or not contracted(np.dtype(x.dtype)):
        return plain_product(x, y)
    a, b, c, d = parts(x, y)
    return lax.complex(
        lower_rounded(lax.mul(a, c) - rounded_product(b, d)), lower_rounded(lax.mul(a, d) + rounded_product(b, c))
    )


def quotient(x, y):
    a, b, c, d = parts(x, y)
    size = lax.abs(c), lax.abs(d)
    wide = lax.ge(*size)
    pick = lambda one, other: lax.select(wide, one, other)
    larger, smaller = pick(c, d), pick(d, c)
    ratio = lower_rounded(divide(smaller, larger))
    scale = lower_rounded(divide(lax.full_like(a, 1), lower_rounded(larger + rounded_product(smaller, ratio))))
    re = pick(a + rounded_product(b, ratio), rounded_product(a, ratio) + b)
    im = pick(b - rounded_product(a, ratio), rounded_product(b, ratio) - a)
    zero = lax.bitwise_and(lax.eq(c, lax.full_like(c, 0)), lax.eq(d, lax.full_like(d, 0)))
    ends = (
        lax.select(zero, divide(u, size[0]), rounded_product(lower_rounded(v), scale)) for u, v in ((a, re), (b, im))
    )
    return lax.complex(*ends)


def is_complex_zero(x):
    return isinstance(x, Lit) and x.type.kind == "c" and x.value == 0


def by_zero(x, _):
    """x / 0, which XLA makes x * (1 / 0), and that is no number."""
    return lax.complex(*(lax.div(u, lax.full_like(u, 0)) for u in parts(x)))


def power(n, x, *_, **__):
    """x to a whole power, by squaring; arrays have a product of their own for squares."""
    if n == 2:
        return complex_product(x, x)
    found, rest, factor = None, abs(n), x
    while rest:
        if rest & 1:
            found = factor if found is None else plain_product(found, factor)
        rest >>= 1
        factor = plain_product(factor, factor) if rest else factor
    one = lax.full_like(x, 1)
    return one if found is None else quotient(one, found) if n < 0 else found


def to_the_bit(func):
    """{equation: how it is lowered} of the complex arithmetic of an exact program; of others, of quotients by zero."""
    if not ONLY_EXACT.get():
        return {eqn: by_zero for eqn in func.eqns if eqn.op is DIV and is_complex_zero(eqn.operands[1])}
    return {eqn: rule for eqn in func.eqns if (rule := rule_of(eqn)) is not None}


def rule_of(eqn):
    if not eqn.results or eqn.results[0].type.kind != "c":
        return None
    if eqn.op is INTEGER_POW:
        return functools.partial(power, eqn.attrs["n"]) if abs(eqn.attrs["n"]) < MOST else None
    exponent = eqn.operands[1] if eqn.op is POW else None
    if isinstance(exponent, Lit):
        n = complex(exponent.value)
        return (
            functools.partial(power, int(n.real))
            if not n.imag and n.real == int(n.real) and abs(n.real) < MOST
            else None
        )
    return {MUL: complex_product, DIV: quotient}.get(eqn.op)
