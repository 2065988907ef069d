"""XLA lowering of powers with a half: x^1.5 by a square root, where there is much of it.

XLA's CPU compiler calls the C library's pow for each element, and roots are vectors: from 16384 elements on they take a
tenth of the time (benchmarks/kernels/rewrites.py). With fewer they are no faster, for XLA parts the work among threads.
Several roundings in the place of one.
"""

import functools

from jax import lax

from ...ir.core import Lit
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.elementwise import pow

LARGE = 1 << 14  # elements; measured by benchmarks/kernels/rewrites.py
HALVES = (1.5, 2.5, 3.5)  # and their negatives; the rules of ir/rules/algebra.py know 0.5


def half_powers(func):
    """{equation: how it is lowered} of the powers of large arrays that are by roots; none in exact programs."""
    if ONLY_EXACT.get():
        return {}
    return {
        e: functools.partial(by_roots, exponent_value(e.operands[1]))
        for e in func.eqns
        if e.op is pow and is_half(*e.operands)
    }


def exponent_value(x):
    return float(x.value.real)


def is_half(x, a):
    return (
        isinstance(a, Lit)
        and x.type.size >= LARGE
        and x.type.dtype.name in ("float32", "float64")
        and abs(exponent_value(a)) in HALVES
    )


def by_roots(a, x, _):
    """x^a. The power of -inf is that of inf, and of -0 that of 0; of other negative numbers there is none."""
    root = lax.sqrt(x)
    # x^-a may be no float where x^a is one
    z = lax.integer_pow(x, int(abs(a))) * root if a > 0 else lax.integer_pow(1 / x, int(abs(a))) / root
    return lax.select(x == -float("inf"), lax.full_like(x, float("inf") if a > 0 else 0.0), lax.abs(z))
