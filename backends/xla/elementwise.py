"""XLA lowering of the elementwise ops, mended where XLA's own meaning is not NumPy's."""


import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.ops.elementwise import (
    abs,
    add,
    and_,
    bitcast,
    cast,
    cbrt,
    ceil,
    clamp,
    clz,
    conj,
    copysign,
    div,
    eq,
    floor,
    ge,
    gt,
    imag,
    integer_pow,
    is_finite,
    le,
    lt,
    make_complex,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    nextafter,
    not_,
    or_,
    population_count,
    quotient,
    real,
    rem,
    round,
    rounded,
    rsqrt,
    select,
    shift_left,
    shift_right,
    sign,
    sqrt,
    strong_mul,
    sub,
    trunc,
    xor,
)
from ...ir.types import SMALL
from .narrowing import is_narrowing, narrowed_float
from .table import XLA

MULTIPLIED = 16  # fact: integer powers up to this are products; beyond it pow has the smaller error


def is_complex(x):
    return np.issubdtype(x.dtype, np.complexfloating)


def is_zero(x):
    return lax.eq(x, lax.full_like(x, 0))


def or_zero(x, where):
    """x, with 0 in those places."""
    return lax.select(where, lax.full_like(x, 0), x)


def whole_or_nothing(f):
    """Integer division by zero is 0 to NumPy. XLA would give -1 or x, and where it knows both when it compiles, the
    processor's exception ends the process (jaxlib 0.10): so it never divides by zero."""

    def divided(x, y):
        if not np.issubdtype(x.dtype, np.integer):
            return f(x, y)
        zero = is_zero(y)
        return or_zero(f(x, lax.select(zero, lax.full_like(y, 1), y)), zero)

    return divided


def lower_abs(x):
    if is_complex(x):  # infinite if either part is, NaN beside it or not
        infinite = lax.bitwise_or(
            *(lax.eq(lax.abs(part), lax.full_like(part, np.inf)) for part in (lax.real(x), lax.imag(x)))
        )
        return lax.select(infinite, lax.full_like(lax.real(x), np.inf), lax.abs(x))
    return x if np.issubdtype(x.dtype, np.unsignedinteger) else lax.abs(x)


def lower_integer_pow(x, *, n):
    if n in range(-MULTIPLIED, MULTIPLIED + 1) or not np.issubdtype(x.dtype, np.floating):
        return lax.integer_pow(x, n)
    return lax.pow(x, lax.full_like(x, n))


def lower_rounded(x):
    """What a choice gives is not contracted with what is added to it. That x < x / 2 tells x < 0, LLVM does not know of
    a square either."""
    if is_complex(x):
        return lax.complex(lower_rounded(lax.real(x)), lower_rounded(lax.imag(x)))
    x = lax.reduce_precision(x, 5, 10) if x.dtype == np.float16 else x  # which is computed in float32
    return lax.select(lax.lt(x, lax.mul(x, lax.full_like(x, 0.5))), -lax.abs(x), x)


def lower_clamp(low, x, high):
    if not np.issubdtype(x.dtype, np.floating):
        return lax.min(lax.max(x, low), high)
    for beyond, bound in ((lax.lt, low), (lax.gt, high)):
        # LLVM knows that a constant is no NaN
        x = lax.select(lax.bitwise_or(beyond(x, bound), lax.ne(bound, bound)), bound, x)
    return x


def lower_cbrt(x):
    """One Newton step makes the roots of cubes exact; it is not finite at 0, infinity and NaN."""
    z = lax.cbrt(x)
    step = (z * z * z - x) / (3 * z * z)
    return lax.select(lax.is_finite(step), z - step, z)


def signs(x):
    """-1 where the sign bit is set, else 1."""
    return jnp.copysign(lax.full_like(x, 1), x)


def in_upper_half(f):
    """f of the conjugate is the conjugate of f: ask above the real axis, where -0 and 0 are one side of the cut."""

    def lowered(x):
        if not is_complex(x):
            return f(x)
        z = f(lax.complex(lax.real(x), lax.abs(lax.imag(x))))
        return lax.complex(lax.real(z), lax.imag(z) * signs(lax.imag(x)))

    return lowered


def in_first_quadrant(f):
    """Odd too: then the cuts on the imaginary axis are mended as well."""

    def lowered(x):
        if not is_complex(x):
            return f(x)
        z = f(lax.complex(lax.abs(lax.real(x)), lax.abs(lax.imag(x))))
        return lax.complex(lax.real(z) * signs(lax.real(x)), lax.imag(z) * signs(lax.imag(x)))

    return lowered


def lower_cast(x, *, dtype):
    if is_complex(x) and dtype.kind == "b":
        return lax.ne(x, lax.full_like(x, 0))
    if is_complex(x) and dtype.kind != "c":
        x = lax.real(x)
    if x.dtype != dtype and (x.dtype in SMALL or dtype in SMALL) and dtype != np.float32 and x.dtype != np.float32:
        x = lower_cast(x, dtype=np.dtype(np.float32))  # by way of which ml_dtypes goes
    if np.issubdtype(x.dtype, np.floating) and dtype.kind in "iu":
        return float_to_integer(x, dtype)
    # of a conversion XLA would make x * mask a choice, which loses NaN, infinities and -0.0
    if x.dtype == bool and dtype.kind != "b":
        return lax.select(x, lax.full_like(x, 1, dtype), lax.full_like(x, 0, dtype))
    return narrowed_float(x, dtype) if is_narrowing(x, dtype) else lax.convert_element_type(x, dtype)


def float_to_integer(x, dtype):
    """As x86-64 has it, out of range and of NaN too: through int32 or int64, whose smallest number stands for what does
    not fit.

    XLA's conversion gives the nearest number of what is too small.
    """
    if x.dtype == np.float16:
        x = lax.convert_element_type(x, np.float32)
    if dtype == np.uint64:
        low = lax.lt(x, lax.full_like(x, 2.0**63))
        above = lax.bitwise_xor(float_to_integer(x - 2.0**63, np.dtype(np.int64)), np.int64(-(2**63)))
        return lax.convert_element_type(
            lax.select(lax.bitwise_or(low, x != x), float_to_integer(x, np.dtype(np.int64)), above), dtype
        )
    wide = np.dtype(np.int64 if dtype in (np.int64, np.uint32) else np.int32)
    fits = lax.lt(x, lax.full_like(x, 2.0 ** (8 * wide.itemsize - 1)))
    whole = lax.select(fits, lax.convert_element_type(x, wide), lax.full_like(x, np.iinfo(wide).min, wide))
    return lax.convert_element_type(whole, dtype)


def lower_shift_right(x, y):
    signed = np.issubdtype(x.dtype, np.signedinteger)
    return lax.shift_right_arithmetic(x, y) if signed else lax.shift_right_logical(x, y)


# fmt: off
XLA.add({
    neg:               lax.neg,
    abs:               lower_abs,
    sign:              lambda x: or_zero(lax.sign(x), is_zero(x)),  # 0 of -0
    add:               lax.add,
    sub:               lax.sub,
    mul:               lax.mul,
    strong_mul:        lambda x, y: lax.select(lax.eq(x, lax.full_like(x, 0)), x, lax.mul(x, y)),
    div:               lax.div,
    rem:               whole_or_nothing(lax.rem),
    quotient:          whole_or_nothing(lax.div),
    integer_pow:       lower_integer_pow,
    sqrt:              in_upper_half(lax.sqrt),
    rsqrt:             in_upper_half(lax.rsqrt),
    cbrt:              lower_cbrt,
    maximum:           lax.max,
    minimum:           lax.min,
    clamp:             lower_clamp,
    nextafter:         lax.nextafter,
    copysign:          jnp.copysign,
    floor:             lax.floor,
    ceil:              lax.ceil,
    trunc:             jnp.trunc,
    round:             lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    rounded:           lower_rounded,
    is_finite:         lambda x: lax.bitwise_and(lax.is_finite(lax.real(x)),
        lax.is_finite(lax.imag(x))) if is_complex(x) else lax.is_finite(x),
    eq:                lax.eq,
    ne:                lax.ne,
    lt:                lax.lt,
    le:                lax.le,
    gt:                lax.gt,
    ge:                lax.ge,
    and_:              lax.bitwise_and,
    or_:               lax.bitwise_or,
    xor:               lax.bitwise_xor,
    not_:              lax.bitwise_not,
    shift_left:        lax.shift_left,
    shift_right:       lower_shift_right,
    population_count:  lambda x: lax.convert_element_type(lax.population_count(lower_abs(x)), np.uint8),
    clz:               lax.clz,
    select:            lax.select,
    cast:              lower_cast,
    bitcast:           lambda x, *, dtype: lax.bitcast_convert_type(x, dtype),
    real:              lax.real,
    imag:              lax.imag,
    conj:              lax.conj,
    make_complex:      lax.complex,
})
