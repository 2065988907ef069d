"""Functions of one array that are no ufuncs: rounding, angles, sinc, i0, unwrap, and NaN replaced."""

import math

import numpy as np

from ...ir.core import Lit
from ...ir.ops import elementwise as e
from ..common.emit import cast_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.promote import UFUNCS
from .arguments import axis_of, give, sample_of, traced, verdict
from .handles import value_of
from .masked import copyto
from .registry import implements
from .ufunc_calls import apply_ufunc, casting_error
from .ufunc_rules import is_inf, is_nan

# -- rounding --------------------------------------------------------------------------------------


@implements(np.round, np.around, method="round")
def round(a, decimals=0, out=None):
    """The nearest multiple of 10^-decimals, the even one from halfway: x is scaled, rounded and scaled back."""
    a = traced(a)
    wide = out is not None and a.dtype == bool  # whose multiples are floats, which an array of floats takes
    like = verdict(np.round, np.float64(0) if wide and decimals else sample_of(a), decimals)
    x = cast_to(a.value, like.dtype)
    if x.type.kind in "iu":
        if out is not None and decimals < 0 and not np.can_cast(np.float64, out.dtype, "same_kind"):
            raise casting_error("divide", np.dtype(np.float64), out.dtype, "same_kind")
        return give(x if decimals >= 0 else round_integers(x, 10**-decimals), out, "round", "same_kind", like=a)
    if not decimals:
        return give(UFUNCS[np.rint](x), out, "rint", "same_kind", like=a)
    value = (
        e.make_complex(scaled(e.real(x), decimals), scaled(e.imag(x), decimals))
        if x.type.kind == "c"
        else scaled(x, decimals)
    )
    return give(value, out, "multiply", "same_kind", like=a)


def scaled(x, decimals):
    """Real x to so many decimals."""
    scale, rint = Lit(10.0 ** abs(decimals), x.type), UFUNCS[np.rint]
    return rint(x * scale) / scale if decimals > 0 else rint(x / scale) * scale


def round_integers(x, unit):
    """Multiples of `unit`, by way of float64 as NumPy does it."""
    scaled = e.div(cast_to(x, np.dtype(np.float64)), Lit(float(unit), x.type.like(dtype=np.float64)))
    return cast_to(e.round(scaled) * float(unit), x.type.dtype)


@implements(np.fix)
def fix(x, out=None):
    return apply_ufunc(np.trunc, (x,), out=out)


# -- complex and circular --------------------------------------------------------------------------


@implements(method=("conj", "conjugate"))
def conj(x):
    """The conjugate; an array of real numbers is its own, as in NumPy."""
    if type(x) is TracedScalar and x.weak is complex:
        return TracedScalar(e.conj(x.value), complex)
    return give(e.conj(x.value)) if x.type.kind == "c" else x


@implements(np.angle)
def angle(z, deg=False):
    """The argument of z, in degrees on request."""
    z = traced(z)
    a = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return a * (180 / math.pi) if deg else a


@implements(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * math.pi):
    """p with multiples of the period added, so that no step along `axis` is larger than half of it."""
    p = traced(p)
    step = np.diff(p, axis=axis)
    axis = axis_of(axis, p.ndim)
    rest = tuple(slice(1, None) if d == axis else slice(None) for d in range(p.ndim))
    discont = period / 2 if discont is None else discont
    dtype = np.result_type(step.dtype, period)
    high, odd = divmod(period, 2) if dtype.kind in "iu" else (period / 2, 0)
    low = -high
    wrapped = np.remainder(step - low, period) + low
    if odd == 0:  # a step of exactly half a period keeps its sign
        wrapped = np.where((wrapped == low) & (step > 0), high, wrapped)
    correction = np.where(np.abs(step) < discont, 0, wrapped - step)
    out = fresh(cast_to(p.value, dtype))
    out[rest] = p[rest] + np.cumsum(correction, axis)
    return out


# -- special functions -----------------------------------------------------------------------------


@implements(np.sinc)
def sinc(x):
    """sin(pi x) / (pi x), 1 at 0."""
    y = math.pi * traced(x)
    small = np.finfo(y.dtype).eps if y.dtype.kind == "f" else 1e-20
    y = value_of(y)
    y = fresh(e.select(e.eq(y, 0), Lit(small, y.type), y))
    return np.sin(y) / y if y.shape else give((np.sin(y) / y).value)


# fmt: off
SMALL_ARGUMENTS = (  # Chebyshev coefficients of exp(-x) I0(x) on [0, 8]  [Clenshaw 1962; Cephes i0.c]
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16, 1.71539128555513303061e-15,
    -1.16853328779934516808e-14,
    7.67618549860493561688e-14, -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11,
    -5.18979560163526290666e-10, 2.65982372468238665035e-9, -1.30002500998624804212e-8, 6.04699502254191894932e-8,
    -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5, -5.75419501008210370398e-5,
    1.88502885095841655729e-4,
    -5.76375574538582365885e-4, 1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2,
    4.93052842396707084878e-2, -9.49010970480476444210e-2, 1.71620901522208775349e-1, -3.04682672343198398683e-1,
    6.76795274409476084995e-1,
)
LARGE_ARGUMENTS = (  # and of exp(-x) sqrt(x) I0(x) on [8, inf)
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17, 3.46122286769746109310e-17,
    -2.82762398051658348494e-16,
    -3.42548561967721913462e-16, 1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14,
    1.54008621752140982691e-14, 3.85277838274214270114e-13, 7.18012445138366623367e-13, -1.79417853150680611778e-12,
    -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10, 3.39623202570838634515e-9,
    2.26666899049817806459e-8,
    2.04891858946906374183e-7, 2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)
# fmt: on


def chebyshev(x, coefficients):
    """The sum of c_k T_k(x / 2), by Clenshaw's recurrence."""
    last, now, before = coefficients[0], 0.0, 0.0
    for c in coefficients[1:]:
        before, now = now, last
        last = x * now - before + c
    return 0.5 * (last - before)


@implements(np.i0)
def i0(x):
    """The modified Bessel function of the first kind of order 0."""
    x = traced(x)
    if x.dtype.kind == "c":
        raise with_note(TypeError, message("i0 not supported for complex values", locate()))
    x = np.abs(fresh(x.value if x.dtype.kind == "f" else cast_to(x.value, np.dtype(np.float64))))
    near = x <= 8.0
    # each branch stays where it is defined: so do its derivatives
    small, large = np.where(near, x, 1.0), np.where(near, 8.0, x)
    below = np.exp(small) * chebyshev(small / 2.0 - 2, SMALL_ARGUMENTS)
    above = np.exp(large) * chebyshev(32.0 / large - 2.0, LARGE_ARGUMENTS) / np.sqrt(large)
    return np.where(near, below, above)


# -- NaN and infinities replaced -------------------------------------------------------------------


@implements(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """NaN and infinities as numbers; by default 0 and the ends of the dtype."""
    a = traced(x)
    if not np.issubdtype(a.dtype, np.inexact):
        return give(a.value) if copy or not a.shape else a
    result = a if not copy and isinstance(a, TracedArray) else fresh(a.value)
    info = np.finfo(a.dtype)
    for part in (result.real, result.imag) if a.dtype.kind == "c" else (result,):
        value = part.value
        missing, infinite, negative = is_nan(value), is_inf(value), e.lt(value, 0)
        copyto(part, nan, where=fresh(missing))
        copyto(part, info.max if posinf is None else posinf, where=fresh(e.and_(infinite, e.not_(negative))))
        copyto(part, info.min if neginf is None else neginf, where=fresh(e.and_(infinite, negative)))
    return result if result.shape else TracedScalar(result.value)
