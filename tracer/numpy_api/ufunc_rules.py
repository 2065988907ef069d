"""Rules for ufuncs: each on operands that already have one shape and the dtypes of NumPy's loop.

Where XLA, C and NumPy part ways, NumPy's own formula stands: Python's floor division and remainder, complex
order by parts, integers of mixed sign compared exactly. float16 is computed in float32, as NumPy does.
"""

import contextvars
import math

import numpy as np

from ...ir.core import Lit
from ...ir.exactness import ONLY_EXACT
from ...ir.ops import elementwise as e
from ...ir.ops import transcendental as t
from ...ir.ops.control import COUNTER, loop, region
from ...ir.ops.reduction import reduce_and, reduce_or
from ...ir.setting import set_within
from ..common.emit import cast_to, filled, spread_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.ranges import interval
from ..values.storage import current_trace

SINGLE = np.dtype(np.float32)
LOG2E = math.log2(math.e)


def in_single(rule):
    """`rule`, its float16 operands and results passing through float32."""

    def run(*xs):
        if all(x.type.dtype != np.float16 for x in xs):
            return rule(*xs)
        out = rule(*[cast_to(x, SINGLE) if x.type.dtype == np.float16 else x for x in xs])
        halved = [
            cast_to(z, np.dtype(np.float16)) if z.type.kind == "f" else z
            for z in (out if isinstance(out, tuple) else (out,))
        ]
        return tuple(halved) if isinstance(out, tuple) else halved[0]

    return run


def by_kind(**rules):
    """The rule for the kind of the last operand: keywords b, i, u, f, c, or a group of them such as `iu`; `rest` for
    the others."""
    table = {k: rule for kinds, rule in rules.items() if kinds != "rest" for k in kinds}

    def run(*xs):
        return table.get(xs[-1].type.kind, rules.get("rest"))(*xs)

    return run


def identity_rule(x):
    return x


def truth(x):
    """x != 0, NaN included."""
    return x if x.type.kind == "b" else e.ne(x, 0)


def always(value):
    return lambda x: filled(value, x.type.shape, bool)


def somewhere(c):
    """Whether c holds in any place, as a scalar."""
    return reduce_or(c, axes=tuple(range(c.type.ndim)))


def everywhere(c):
    """Whether c holds in all places, as a scalar."""
    return reduce_and(c, axes=tuple(range(c.type.ndim)))


def by_parts(f):
    """A real function applied to both parts of complex numbers."""
    return lambda x: e.make_complex(f(e.real(x)), f(e.imag(x)))


def off(r, y):
    """Whether a remainder r, which has the sign of the dividend, is not of the sign of the divisor."""
    return e.and_(e.ne(r, 0), e.ne(e.lt(r, 0), e.lt(y, 0)))


def floor_divide_integers(x, y):
    q = e.quotient(x, y)
    return q if x.type.kind == "u" else e.select(off(e.rem(x, y), y), q - 1, q)


def remainder_integers(x, y):
    r = e.rem(x, y)
    return r if x.type.kind == "u" else e.select(off(r, y), r + y, r)


@in_single
def floor_divide_floats(x, y):
    """The whole number nearest (x - remainder) / y, with the sign of x / y where zero.  [npy_divmod]"""
    r = e.rem(x, y)
    q = (x - r) / y
    q = e.select(off(r, y), q - 1, q)
    whole = e.floor(q)
    whole = e.select(e.gt(q - whole, 0.5), whole + 1, whole)
    whole = e.select(e.eq(q, 0), e.copysign(0.0, x / y), whole)
    return e.select(e.eq(y, 0), x / y, whole)


@in_single
def remainder_floats(x, y):
    """The remainder with the sign of y, zeros too.  [npy_divmod]"""
    r = e.rem(x, y)
    return e.select(e.eq(r, 0), e.copysign(0.0, y), e.select(off(r, y), r + y, r))


floor_divide = by_kind(iu=floor_divide_integers, f=floor_divide_floats)
remainder = by_kind(iu=remainder_integers, f=remainder_floats)


@in_single
def modf(x):
    """(fraction, whole part), both of the sign of x."""
    whole = e.trunc(x)
    fraction = e.select(e.eq(e.abs(x), np.inf), 0.0, x - whole)
    return e.copysign(fraction, x), whole


def sign_complex(x):
    """x / |x|; towards the part that is infinite, NaN where both are."""
    re, im = e.real(x), e.imag(x)
    far = [e.eq(e.abs(v), np.inf) for v in (re, im)]
    near = [
        e.select(own, e.copysign(1.0, v), e.select(other, 0.0, v)) for v, own, other in ((re, *far), (im, *far[::-1]))
    ]
    return e.select(e.and_(*far), complex(np.nan, np.nan), e.sign(e.make_complex(*near)))


def reciprocal_complex(x):
    """1 / x, by NumPy's formula NaN in both parts at 0."""
    if ONLY_EXACT.get():
        re, im = e.real(x), e.imag(x)
        wide = e.le(e.abs(im), e.abs(re))
        r = e.select(wide, im / re, re / im)
        d = e.select(wide, re + im * r, re * r + im)
        return e.make_complex(e.select(wide, 1 / d, r / d), e.select(wide, -r / d, -1 / d))
    return e.select(e.eq(x, 0), complex(np.nan, np.nan), 1 / x)


def reciprocal_integers(x):
    """1 / x truncated: 0 beyond +-1, and at 0 what the machine makes of an infinity."""
    at_zero = np.iinfo(x.type.dtype).min if x.type.kind == "i" and x.type.dtype.itemsize >= 4 else 0
    one = e.eq(x, 1) if x.type.kind == "u" else e.eq(e.abs(x), 1)
    return e.select(one, x, e.select(e.eq(x, 0), Lit(at_zero, x.type), Lit(0, x.type)))


NEGATIVE = "Integers to negative integer powers are not allowed."


# () -> a mask of the places where NumPy computes, or True: of all
COMPUTED = contextvars.ContextVar("COMPUTED", default=None)


def computed_where(mask):
    """Elementwise operations within are computed in all places, and fail for those under the mask `mask()` alone."""
    return set_within(COMPUTED, mask)


def computed():
    """The mask that holds here, or True."""
    return True if COMPUTED.get() is None else COMPUTED.get()()


def check_exponents(y):
    """That no integer exponent is negative; a region has no trace, there the caller has checked."""
    trace = current_trace()
    if trace is not None and y.type.kind == "i" and (interval(y) or (-1,))[0] < 0:
        fine, mask = e.ge(y, 0), computed()
        if mask is not True:
            shape = np.broadcast_shapes(y.type.shape, mask.type.shape)
            fine = e.or_(spread_to(fine, shape), e.not_(spread_to(mask, shape)))
        trace.check(everywhere(fine), ValueError, message(NEGATIVE, locate()))


def power_integers(x, y):
    """x to a power y >= 0, wrapping; a negative y raises ValueError, as in NumPy."""
    if isinstance(y, Lit):
        if y.value < 0 and y.type.size:
            mask = computed()
            if mask is True:
                raise with_note(ValueError, message(NEGATIVE, locate()))
            current_trace().check(e.not_(somewhere(mask)), ValueError, message(NEGATIVE, locate()))
        return e.integer_pow(x, n=max(int(y.value), 0))
    check_exponents(y)

    def body(i, z, base, rest):
        return e.select(e.ne(e.and_(rest, 1), 0), z * base, z), base * base, e.shift_right(rest, 1)

    def test(i, z, base, rest):
        return reduce_or(e.gt(rest, 0), axes=tuple(range(rest.type.ndim)))

    return repeat(body, test, Lit(1, x.type), x, y)[0]


def power_floats(x, y):
    """x ** y; like NumPy, by a square, a root or a reciprocal where one number says so."""
    known = y.value if isinstance(y, Lit) else None
    if x.type.kind == "c":
        return power_complex(x, y) if known is None or np.real(known) <= 0 or np.imag(known) else powered(x, y, known)
    return powered(x, y, known)


def float_power(x, y):
    """x ** y, always by the power of the C library."""
    return e.pow(x, y) if isinstance(y, Lit) and y.value == 0.5 and x.type.kind == "f" else power_floats(x, y)


def power_complex(x, y):
    """x ** y; 1 at y = 0; of x = 0 it is 0 where the real part of y is positive, else NaN.  [npy_cpow]"""
    at_zero = e.select(e.gt(e.real(y), 0), Lit(0, x.type), Lit(complex(np.nan, np.nan), x.type))
    special = e.select(e.eq(y, 0), Lit(1, x.type), at_zero)
    return e.select(e.or_(e.eq(x, 0), e.eq(y, 0)), special, powered(x, y, y.value if isinstance(y, Lit) else None))


def powered(x, y, known):
    if known == 1:
        return x if x.type.kind != "c" else e.select(e.eq(x, 0), Lit(0, x.type), x)
    if known == -1 and x.type.kind == "c" and x.type.shape:
        return reciprocal_complex(x)
    return x * x if known == 2 else e.sqrt(x) if known == 0.5 else 1 / x if known == -1 else e.pow(x, y)


def repeat(body, test, *state):
    """The carried values after `body` has run while `test` holds; both also take the trip count."""
    types = [COUNTER, *(s.type for s in state)]
    return loop(*state, body=region(body, types), test=region(test, types), carried=len(state))


@in_single
def ldexp(x, n):
    """x * 2^n by three factors, none of which leaves the range of floats."""
    limit = 3 * (np.finfo(x.type.dtype).maxexp - 2)
    n = e.clamp(Lit(-limit, n.type), n, Lit(limit, n.type))
    third = e.quotient(n, Lit(3, n.type))
    by = lambda k: t.exp2(cast_to(k, x.type.dtype))
    # not one product of constants, which may be infinite
    return e.rounded(e.rounded(x * by(third)) * by(third)) * by(n - third - third)


@in_single
def frexp(x):
    """(m, n) with x = m 2^n and |m| in [1/2, 1), read off the bits."""
    info = np.finfo(x.type.dtype)
    bits = e.bitcast(x, dtype=np.dtype(f"u{x.type.dtype.itemsize}"))
    mask = (1 << info.nexp) - 1
    exponent = e.and_(e.shift_right(bits, Lit(info.nmant, bits.type)), Lit(mask, bits.type))
    plain = e.and_(e.ne(exponent, 0), e.ne(exponent, mask))
    n = cast_to(exponent, np.dtype(np.int32)) - (mask // 2 - 1)
    n = e.select(plain, n, Lit(0, n.type))
    return e.select(plain, ldexp(x, -n), x), n


def signbit(x):
    return e.lt(e.bitcast(x, dtype=np.dtype(f"i{x.type.dtype.itemsize}")), 0)


def spacing(x):
    """The distance to the next float away from zero, negative below it; in float16, to the next float upwards."""
    up = Lit(np.inf, x.type)
    if x.type.dtype == np.float16:
        return e.select(e.is_finite(x), e.nextafter(x, up) - x, np.nan)
    size = e.abs(x)
    gap = e.nextafter(size, up) - size
    return e.select(e.lt(x, 0), -gap, gap)


@in_single
def logaddexp2(x, y):
    first = e.ge(x, y)  # put in order by selection, which has all derivatives where x = y
    high, low = e.select(first, x, y), e.select(first, y, x)
    level = e.eq(x, y)
    # infinities that are equal have none
    with np.errstate(invalid="ignore"):
        apart = low - high
    gap = e.select(e.and_(level, e.eq(e.abs(x), np.inf)), Lit(0, x.type), apart)
    more = t.log1p(t.exp2(gap)) * LOG2E
    bits = e.bitcast(more, dtype=np.dtype(f"u{x.type.dtype.itemsize}"))  # a number with no derivative
    missing = 1 - e.bitcast(bits, dtype=x.type.dtype)  # where x = y it is 1 to the last digit
    return high + (more + e.select(level, missing, Lit(0, x.type)))


def log_to(base, op):
    """A logarithm whose complex values are those of log, scaled part by part: also at 0, where they are infinite."""

    def of_complex(x):
        z = t.log(x)
        return e.make_complex(e.real(z) / math.log(base), e.imag(z) / math.log(base))

    return by_kind(c=of_complex, rest=op)


@in_single
def heaviside(x, h):
    """0, h or 1 as x is below, at or above 0; NaN at NaN."""
    step = e.select(e.gt(x, 0), Lit(1, x.type), e.select(e.lt(x, 0), Lit(0, x.type), h))
    return e.select(e.ne(x, x), x, step)


def is_nan(x):
    return by_kind(f=lambda x: e.ne(x, x), c=lambda x: e.or_(is_nan(e.real(x)), is_nan(e.imag(x))), rest=always(False))(
        x
    )


def is_inf(x):
    return by_kind(
        f=lambda x: e.eq(e.abs(x), np.inf), c=lambda x: e.or_(is_inf(e.real(x)), is_inf(e.imag(x))), rest=always(False)
    )(x)


def comparison(op, where_less, where_greater):
    """`op` on any two numbers; the constants are its verdict where the first is known to be less, or greater."""

    def complex_order(x, y):
        """By real parts, NaN nowhere; at ties by imaginary parts."""
        xr, xi, yr, yi = e.real(x), e.imag(x), e.real(y), e.imag(y)
        first = e.and_((e.lt if where_less else e.gt)(xr, yr), e.and_(e.eq(xi, xi), e.eq(yi, yi)))
        return e.or_(first, e.and_(e.eq(xr, yr), op(xi, yi)))

    def run(x, y):
        kinds = x.type.kind + y.type.kind
        if kinds == "cc" and where_less != where_greater:
            return complex_order(x, y)
        if kinds == "iu":
            return e.select(e.lt(x, 0), Lit(where_less, y.type.like(dtype=bool)), op(cast_to(x, y.type.dtype), y))
        if kinds == "ui":
            return e.select(e.lt(y, 0), Lit(where_greater, y.type.like(dtype=bool)), op(x, cast_to(y, x.type.dtype)))
        return op(x, y)

    return run


less, less_equal = comparison(e.lt, True, False), comparison(e.le, True, False)
greater, greater_equal = comparison(e.gt, False, True), comparison(e.ge, False, True)
equal, not_equal = comparison(e.eq, False, False), comparison(e.ne, True, True)


def extreme(op, at_least):
    """maximum or minimum: the first NaN, else by order."""
    return by_kind(c=lambda x, y: e.select(e.or_(at_least(x, y), is_nan(x)), x, y), rest=op)


def numeric_extreme(op, at_least):
    """fmax or fmin: NaN only where both are."""
    return by_kind(
        f=lambda x, y: e.select(e.ne(x, x), y, e.select(e.ne(y, y), x, op(x, y))),
        c=lambda x, y: e.select(e.or_(at_least(x, y), is_nan(y)), x, y),
        rest=op,
    )


def magnitude(x):
    """|x| as unsigned: the least signed integer has an absolute value there."""
    return cast_to(e.abs(x), np.dtype(f"u{x.type.dtype.itemsize}"))


def euclid(x, y):
    """The greatest common divisor of unsigned integers."""

    def body(i, a, b):
        more = e.ne(b, 0)
        return e.select(more, b, a), e.select(more, e.rem(a, b), b)

    def test(i, a, b):
        return reduce_or(e.ne(b, 0), axes=tuple(range(b.type.ndim)))

    return repeat(body, test, x, y)[0]


def gcd(x, y):
    return cast_to(euclid(magnitude(x), magnitude(y)), x.type.dtype)


def lcm(x, y):
    x_, y_ = magnitude(x), magnitude(y)
    return cast_to(e.quotient(x_, euclid(x_, y_)) * y_, x.type.dtype)


def logical(op):
    return lambda *xs: op(*map(truth, xs))
