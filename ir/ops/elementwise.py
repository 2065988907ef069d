"""Elementwise ops: arithmetic, rounding, comparison, bits, choice, conversion, complex parts.

A float below the smallest normal number is zero to XLA on CPU, on the way in and on the way out; NumPy keeps it.
"""
# ruff: noqa: I001, the names fill a line

import numpy as np

from ..op import (
    ANY, BOOL, COMPLEX, FLOAT, INEXACT, INT, INTEGER, NUMBER, REAL, UINT, Cost, case, complex_type,
    nonzero, op, positive, require,
)  # fmt: skip
from ..types import SHORT, ir_kind
from .pointwise import exact, pointwise, step
from .samples import EDGES, ON_THE_CUTS, halfway

# fmt: off
# -- arithmetic ------------------------------------------------------------------------------------


@op(exact(NUMBER))
def neg(x):
    """-x; unsigned integers wrap."""
    return np.negative(x)


@op(exact(NUMBER, result="real"), sample=nonzero)
def abs(x):
    """|x|, real for complex x; the least signed integer is its own absolute value."""
    return np.absolute(x)


@op(exact(NUMBER), traits=["stepwise"], sample=nonzero)
def sign(x):
    """-1, 0 or 1; x / |x| for complex x, 0 at 0; NaN at NaN."""
    return np.sign(x)


@op(step(NUMBER), traits=["commutative"])
def add(x, y):
    """x + y; integers wrap."""
    return np.add(x, y)


@op(step(NUMBER))
def sub(x, y):
    """x - y; integers wrap."""
    return np.subtract(x, y)


@op(step(NUMBER), traits=["commutative"])
def mul(x, y):
    """x * y; integers wrap."""
    return np.multiply(x, y)


@op(step(INEXACT), traits=["masks_nan"], sample=nonzero)
def strong_mul(x, y):
    """x * y, and 0 wherever x is 0, even if y is infinite or NaN: how a cotangent meets a partial.  [strong zero,
    Enzyme]"""
    with np.errstate(all="ignore"):
        return np.where(np.equal(x, 0), x, np.multiply(x, y))


@op(pointwise(INEXACT), cost=Cost.DIVISION, sample=nonzero)
def div(x, y):
    """x / y, floating or complex."""
    return np.true_divide(x, y)


@op(pointwise(REAL), cases=[
    case(np.array([1.7, -2.3, 0.4, 5.1]), np.array([0.6, 0.7, -1.5, 2.0])), case(np.array(2.7), np.array(-0.8)),
    case("f32[5]", repeat=True, sample=nonzero), case("i64[3,4]", repeat=True), case("u8[3,4]", repeat=True),
    *(case(draw, repeat=True) for draw in EDGES.values()),
])
def rem(x, y):
    """x - y * trunc(x / y): the remainder with the sign of x; integers give 0 for y = 0.  [C fmod]"""
    return np.fmod(x, y)


@op(pointwise(INTEGER), cost=Cost.DIVISION)
def quotient(x, y):
    """x / y rounded towards zero; 0 for y = 0, and the least signed integer divided by -1 is itself."""
    return np.floor_divide(np.subtract(x, np.fmod(x, y)), y)


@op(pointwise(INEXACT), traits=["masks_nan"], sample=positive, cases=[
    *pointwise(INEXACT).cases, case(np.array([0, 0, 0, 2, -1j], "c8"), np.array([0, 2, 1 + 1j, 0, 2], "c8")),
])
def pow(x, y):
    """x ** y; 1 for y = 0; for floats NaN where x < 0 and y is no whole number."""
    return np.power(x, y)


def _integer_pow_rule(op, x, *, n):
    require(x.kind in NUMBER, op, f"{x} is no number")
    require(x.inexact or 0 <= n <= np.iinfo(x.dtype).max, op,
        f"{x} to the power {n} is not among the numbers of its dtype")
    return x


@op(_integer_pow_rule, traits=["masks_nan", "elementwise"], cost=Cost.STEP, sample=nonzero, cases=[
    *(case("f64[3,4]", n=n) for n in (-2, -1, 0, 1, 2, 3, 40)), case("f32[5]", n=3), case("f64[]", n=2),
    case(np.zeros(3), n=1),
    case(np.zeros(3), n=2), case("c128[3]", n=3), case("c128[3]", n=-2), case("i64[3,4]", n=5), case("u8[3,4]", n=9),
    case(EDGES[FLOAT], n=3), case(EDGES[FLOAT], n=-2),
])
def integer_pow(x, *, n):
    """x ** n for one whole number n, which must not be negative for integers; integers wrap."""
    return x ** n


@op(pointwise(INEXACT), cost=Cost.DIVISION, sample=positive, cases=[*pointwise(INEXACT).cases, case(ON_THE_CUTS)])
def sqrt(x):
    """Square root; NaN below zero for floats, the root with non-negative real part for complex."""
    return np.sqrt(x)


@op(pointwise(INEXACT), cost=Cost.DIVISION, sample=positive)
def rsqrt(x):
    """1 / sqrt(x)."""
    return 1 / np.sqrt(x)


@op(pointwise(FLOAT), sample=nonzero)
def cbrt(x):
    """Cube root, of the sign of x."""
    return np.cbrt(x)


@op(exact(REAL + BOOL), traits=["commutative"])
def maximum(x, y):
    """The greater of x and y; NaN if either is."""
    return np.maximum(x, y)


@op(exact(REAL + BOOL), traits=["commutative"])
def minimum(x, y):
    """The lesser of x and y; NaN if either is."""
    return np.minimum(x, y)


@op(exact(REAL))
def clamp(low, x, high):
    """x between low and high; NaN if any is, and a zero keeps its sign where a bound is one too."""
    return np.clip(x, low, high) if np.result_type(x).kind == "f" else np.minimum(np.maximum(x, low), high)


@op(pointwise(FLOAT))
def nextafter(x, y):
    """The float next to x in the direction of y."""
    return np.nextafter(x, y)


@op(exact(FLOAT), traits=["masks_nan"], sample=nonzero)
def copysign(x, y):
    """|x| with the sign bit of y, which -0.0 and NaN have too."""
    return np.copysign(x, y)


# -- rounding --------------------------------------------------------------------------------------


@op(exact(FLOAT), traits=["stepwise"], sample=halfway)
def floor(x):
    """The greatest whole number not above x."""
    return np.floor(x)


@op(exact(FLOAT), traits=["stepwise"], sample=halfway)
def ceil(x):
    """The least whole number not below x."""
    return np.ceil(x)


@op(exact(FLOAT), traits=["stepwise"], sample=halfway)
def trunc(x):
    """x without its fraction."""
    return np.trunc(x)


@op(exact(FLOAT), traits=["stepwise"], sample=halfway)
def round(x):
    """The nearest whole number, the even one from halfway."""
    return np.rint(x)


@op(step(INEXACT))
def rounded(x):
    """x, rounded to its dtype before anything is computed of it: a product and a sum may be rounded once together
    elsewhere."""
    return x


@op(exact(INEXACT, result="bool"))
def is_finite(x):
    """Whether x is neither infinite nor NaN."""
    return np.isfinite(x)


# -- comparison ------------------------------------------------------------------------------------


@op(exact(ANY, result="bool"), traits=["stepwise", "commutative"])
def eq(x, y):
    """x = y; False where either is NaN."""
    return np.equal(x, y)


@op(exact(ANY, result="bool"), traits=["stepwise", "commutative"])
def ne(x, y):
    """Not x = y; True where either is NaN."""
    return np.not_equal(x, y)


@op(exact(REAL + BOOL, result="bool"), traits=["stepwise"])
def lt(x, y):
    """x < y; False where either is NaN."""
    return np.less(x, y)


@op(exact(REAL + BOOL, result="bool"), traits=["stepwise"])
def le(x, y):
    """x <= y; False where either is NaN."""
    return np.less_equal(x, y)


@op(exact(REAL + BOOL, result="bool"), traits=["stepwise"])
def gt(x, y):
    """x > y; False where either is NaN."""
    return np.greater(x, y)


@op(exact(REAL + BOOL, result="bool"), traits=["stepwise"])
def ge(x, y):
    """x >= y; False where either is NaN."""
    return np.greater_equal(x, y)


# -- bits ------------------------------------------------------------------------------------------


@op(exact(INTEGER + BOOL), traits=["commutative"])
def and_(x, y):
    """Bitwise and; logical and of bool."""
    return np.bitwise_and(x, y)


@op(exact(INTEGER + BOOL), traits=["commutative"])
def or_(x, y):
    """Bitwise or; logical or of bool."""
    return np.bitwise_or(x, y)


@op(exact(INTEGER + BOOL), traits=["commutative"])
def xor(x, y):
    """Bitwise exclusive or; whether two bool differ."""
    return np.bitwise_xor(x, y)


@op(exact(INTEGER + BOOL))
def not_(x):
    """Every bit turned; logical not of bool."""
    return np.bitwise_not(x)


@op(exact(INTEGER))
def shift_left(x, y):
    """The bits of x moved up by y places, zeros following; 0 where y is no place of its dtype."""
    return np.left_shift(x, y)


@op(exact(INTEGER))
def shift_right(x, y):
    """The bits of x moved down by y places, the sign following; past the last place 0, or -1 for x < 0."""
    return np.right_shift(x, y)


def _counts(*specs):
    return [*(case(s) for s in specs), case(EDGES[INT]), case(EDGES[UINT])]


@op(lambda op, x: step(INTEGER).rule(op, x).like(dtype="u1"), traits=["elementwise"], cost=Cost.STEP, cases=[
    *_counts("i64[3,4]", "u8[3,4]", "u64[]"),
])  # fmt: skip
def population_count(x):
    """How many bits of |x| are 1, as u8."""
    return np.bitwise_count(x)


@op(exact(INTEGER))
def clz(x):
    """How many bits precede the highest 1 of x; all of them for 0, none for x < 0."""
    bits = np.iinfo(x.dtype).bits
    return np.vectorize(lambda v: bits - (int(v) % 2**bits).bit_length(), otypes=[x.dtype])(x)


# -- choice and conversion -------------------------------------------------------------------------


@op(exact(BOOL, ANY, ANY), traits=["masks_nan"], cases=[
    case("bool[3,4]", t, t) for t in ("f64[3,4]", "f32[3,4]", "c128[3,4]", "i64[3,4]", "u8[3,4]", "bool[3,4]")
])
def select(c, x, y):
    """x where c, else y."""
    return np.where(c, x, y)


def _cast_rule(op, x, *, dtype):
    return x.like(dtype=dtype)


def _casts(*pairs):
    return [case(spec if "[" in spec else f"{spec}[3,4]", dtype=np.dtype(to)) for spec, to in pairs]


@op(_cast_rule, traits=["masks_nan", "elementwise"], cost=Cost.STEP, cases=[
    *_casts(("f64", "f8"), ("f64", "f4"), ("f64[]", "f4"), ("f32", "f2"), ("f32", "f8"), ("f16", "f4"), ("i64", "f8"),
        ("u8", "f4"), ("bool", "f8")),
    *_casts(("f64", "c16"), ("f32", "c8"), ("i64", "c16"), ("c128", "c8"), ("c128", "f8"), ("c128", "f4"),
        ("c64", "f8"), ("c128", "i8")),
    *_casts(("f64", "i4"), ("f64", "u1"), ("f32", "i8"), ("i64", "i1"), ("i64", "u1"), ("u8", "i8"), ("bool", "i8"),
        ("bool", "bool")),
    *(case(EDGES[FLOAT], dtype=np.dtype(t)) for t in ("bool", "f2", "f8")),
    *(case(EDGES[INT], dtype=np.dtype(t)) for t in ("bool", "u1", "u8")),
    case(ON_THE_CUTS, dtype=np.dtype("bool")),
], sample=positive)
def cast(x, *, dtype):
    """x converted to `dtype` as `astype` does.

    Floats truncate towards zero, integers wrap, a complex number drops its imaginary part unless it becomes
    complex or bool, and bool means != 0. A float beyond the integers of `dtype` gives a value of the machine's.
    """
    kept = x.real if dtype.kind in "iuf" else x
    return np.asarray(kept).astype(dtype)


def _bitcast_rule(op, x, *, dtype):
    dtype = np.dtype(dtype)
    require(x.kind in REAL and ir_kind(dtype) in REAL, op,
        f"{x} as {SHORT[dtype.name]}: only integers and floats are plain bits")
    require(x.dtype.itemsize == dtype.itemsize and x.dtype != dtype, op,
        f"{x} as {SHORT[dtype.name]}: one width and two dtypes are needed")
    return x.like(dtype=dtype)


@op(_bitcast_rule, traits=["exact", "masks_nan", "elementwise"], cost=Cost.STEP, cases=[
    *_casts(("f64", "i8"), ("f64[]", "u8"), ("f32", "u4"), ("f16", "i2"), ("i64", "u8"), ("u8", "i1")),
    case(EDGES[FLOAT], dtype=np.dtype("i4")),
])
def bitcast(x, *, dtype):
    """The bits of x read as another dtype of the same width."""
    return np.asarray(x).view(dtype)


# -- complex parts ---------------------------------------------------------------------------------


@op(exact(COMPLEX, result="real"))
def real(x):
    """The real part."""
    return np.real(x)


@op(exact(COMPLEX, result="real"))
def imag(x):
    """The imaginary part."""
    return np.imag(x)


@op(exact(COMPLEX))
def conj(x):
    """The complex conjugate."""
    return np.conjugate(x)


def _make_complex_rule(op, x, y):
    require(x is y and x.dtype.name in ("float32", "float64"), op,
        f"two equal types, f32 or f64, make a complex one; got {x}, {y}")
    return complex_type(x)


@op(_make_complex_rule, traits=["exact", "elementwise"], cost=Cost.STEP, cases=[
    case("f64[3,4]", repeat=True), case("f32[5]", repeat=True), case("f64[]", repeat=True),
    case(EDGES[FLOAT], repeat=True),
])
def make_complex(x, y):
    """x + i y, whatever x and y: an infinite y leaves x alone."""
    z = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(x, y, np.complex64))
    z.real, z.imag = x, y
    return z
