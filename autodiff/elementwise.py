"""Derivatives of the elementwise ops: partials, z being the op's own result.

Kinks follow JAX: ties of maximum and minimum share alike, |x| and hypot are flat at 0. Where a partial is infinite, a
cotangent of 0 stays 0 (`strong_mul`), which makes `np.where(x > 0, np.sqrt(x), 0)` right as it stands.
"""


from ..ir.core import Lit, splat
from ..ir.ops.elementwise import (
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
    pow,
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
from ..ir.ops.transcendental import log
from .forms import add_tangents, bilinear, explicit, linear, scalar, zero


def above(x, y):
    """1 where x > y, 1/2 at ties, else 0: the derivative of the greater of two by x."""
    return select(lt(y, x), splat(1.0, x), select(lt(x, y), splat(0.0, x), splat(0.5, x)))


def but(x, never, instead):
    """x, with `instead` where it equals `never`."""
    return select(eq(x, never), splat(instead, x), x)


def power_base(z, x, y):
    """y x^(y-1), which is 0 for y = 0 whatever x."""
    if isinstance(y, Lit):
        return splat(0.0, x) if y.value == 0 else y * pow(x, Lit(y.value - 1, y.type))
    return y * pow(x, select(eq(y, 0.0), splat(1.0, y), y - 1))


def power_exponent(z, x, y):
    """z log x, which tends to 0 at x = 0."""
    return select(eq(x, 0.0), splat(0.0, x), z * log(but(x, 0.0, 1.0)))


def integer_power(z, x, *, n):
    """n x^(n-1)."""
    return None if n == 0 else 1 if n == 1 else n * (x if n == 2 else integer_pow(x, n=n - 1))


# z = x / y: z' = (x' - z y') / y, by one division, which is no longer than y is where y is repeated; where 1/y is
# infinite, 0 stays 0.


def div_jvp(z, operands, tangents):
    (z,), (_, y), (tx, ty) = z, operands, tangents
    moved = add_tangents(tx, None if ty is None else -strong_mul(ty, z))
    return (strong_mul(moved, 1 / y),)


def div_vjp(z, operands, cotangents, needs):
    (z,), (_, y), (g,) = z, operands, cotangents
    by_x = strong_mul(g, 1 / y)
    return (by_x if needs[0] else None, -strong_mul(by_x, z) if needs[1] else None)


# |x|: by x / |x| for real x; for complex x the part of t along x, |x|' = Re(conj(x) t) / |x|, and 0 at 0.


def abs_jvp(z, operands, tangents):
    (x,), (t,), r = operands, tangents, but(z[0], 0.0, 1.0)
    return (t * sign(x) if x.type.kind != "c" else real(conj(x) * t) / r,)


def abs_vjp(z, operands, cotangents, needs):
    (x,), (g,), r = operands, cotangents, but(z[0], 0.0, 1.0)
    return (g * sign(x) if x.type.kind != "c" else conj(x) * widen(g / r),)


# z = x / |x| moves at a right angle to itself: z' = i z Im(conj(z) t) / |x|; real signs stand still.


def sign_jvp(z, operands, tangents):
    (x,), (t,), (z,) = operands, tangents, z
    return (None if x.type.kind != "c" else z * turn(imag(conj(z) * t) / but(abs(x), 0.0, 1.0)),)


def sign_vjp(z, operands, cotangents, needs):
    (x,), (g,), (z,) = operands, cotangents, z
    return (None if x.type.kind != "c" else conj(z) * turn(imag(g * z) / but(abs(x), 0.0, 1.0)),)


def widen(x):
    """x as a complex number."""
    return make_complex(x, splat(0.0, x))


def turn(x):
    """i x."""
    return make_complex(splat(0.0, x), x)


# fmt: off
#         op           partials
scalar(   rem,         lambda z, x, y: 1,                              lambda z, x, y: -trunc(x / y))
scalar(   pow,         power_base,                                     power_exponent, singular=True)
scalar(   integer_pow, integer_power, singular=True)
scalar(   sqrt,        lambda z, x: 0.5 / z, singular=True)
scalar(   rsqrt,       lambda z, x: -0.5 * z / x, singular=True)
scalar(   cbrt,        lambda z, x: 1 / (3 * z * z), singular=True)
scalar(   maximum,     lambda z, x, y: above(x, y),                    lambda z, x, y: above(y, x))
scalar(   minimum,     lambda z, x, y: above(y, x),                    lambda z, x, y: above(x, y))
scalar(   clamp,       lambda z, a, x, b: above(a, x) * above(b, maximum(a, x)),
                       lambda z, a, x, b: above(x, a) * above(b, maximum(a, x)),
                       lambda z, a, x, b: above(maximum(a, x), b))
scalar(   nextafter,   lambda z, x, y: 1,                              None)
scalar(   copysign,    lambda z, x, y: sign(x) * copysign(1.0, y),     None)
explicit( div,         jvp=div_jvp,   vjp=div_vjp)
explicit( abs,         jvp=abs_jvp,   vjp=abs_vjp)
explicit( sign,        jvp=sign_jvp,  vjp=sign_vjp)
bilinear( mul,         lambda g, x, y: g * y,                          lambda g, x, y: x * g)
bilinear( strong_mul,  lambda g, x, y: strong_mul(g, y),               lambda g, x, y: strong_mul(g, x))

#         op           transposes
linear(   neg,         lambda g, x: -g)
linear(   rounded,     lambda g, x: g)
linear(   add,         lambda g, x, y: g,                              lambda g, x, y: g)
linear(   sub,         lambda g, x, y: g,                              lambda g, x, y: -g)
linear(   select,      None,   lambda g, c, x, y: select(c, g, 0.0),   lambda g, c, x, y: select(c, 0.0, g))
linear(   real,        lambda g, x: widen(g))
linear(   imag,        lambda g, x: turn(-g))
linear(   conj,        lambda g, x: conj(g))
linear(   make_complex, lambda g, x, y: real(g),                       lambda g, x, y: -imag(g))
linear(   cast,        lambda g, x, *, dtype: cast(g, dtype=x.type.dtype))

zero(floor, ceil, trunc, round, is_finite, eq, ne, lt, le, gt, ge)
zero(quotient, and_, or_, xor, not_, shift_left, shift_right, population_count, clz, bitcast)
