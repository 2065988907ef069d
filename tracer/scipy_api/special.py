"""scipy.special: rules of its ufuncs on arrays of the loop's dtype, and its functions of whole arrays."""

import math

import numpy as np

from ...backends.xla import bridge
from ...ir.ops import OPS
from ..api import foreign
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.scipy_registry import captures, only, refuse, scipy_rule
from ..values.array import TracedScalar, fresh, wrap
from ..values.storage import current_trace

SQRT_HALF = math.sqrt(0.5)


def op(name, **attrs):
    """An op as a function of traced arrays."""
    return lambda *xs: fresh(OPS[name](*(x.value for x in xs), **attrs))


def jax_scipy(name):
    """A function of jax.scipy, imported."""
    return lambda *xs: foreign.run(bridge.library(f"scipy.{name}"), xs, {})


erf, erfc, gamma, lgamma, digamma, logistic = (op(name) for name in (
    "erf", "erfc", "gamma", "lgamma", "digamma", "logistic",
))
for _name, _op in {"erf": erf, "erfc": erfc, "expit": logistic}.items():
    scipy_rule(_name)(_op)
for _name, _op in {"erfinv": "erf_inv", "i0e": "bessel_i0e", "i1e": "bessel_i1e", "gammainc": "igamma"}.items():
    scipy_rule(_name, double=True)(op(_op))
for _name in ("gamma", "betainc"):
    scipy_rule(_name, double=True)(op(_name))
for _name, _ufunc in {"expm1": np.expm1, "log1p": np.log1p, "exp2": np.exp2, "cbrt": np.cbrt}.items():
    scipy_rule(_name)(_ufunc)
scipy_rule("ndtri", double=True)(jax_scipy("special.ndtri"))
scipy_rule("spence", double=True)(jax_scipy("special.spence"))


def where(test, x, y):
    return np.where(test, x, y)


def within(test, x, instead):
    """x where the test holds, a harmless number elsewhere: what is computed of it there is not used, nor is its
    derivative."""
    return np.where(test, x, instead)


@scipy_rule(double=True)
def erfcinv(x):
    return -ndtri_(x / 2) * SQRT_HALF


ndtri_ = jax_scipy("special.ndtri")


@scipy_rule(double=True)
def gammaln(x):
    return where(x == -np.inf, -np.inf, lgamma(x))


@scipy_rule("psi", "digamma", double=True)
def psi(x):
    return where(x == 0, -np.copysign(np.inf, x), digamma(x))


@scipy_rule(double=True)
def rgamma(x):
    pole = (x <= 0) & (x == np.floor(x))
    return where(pole, 0.0, 1 / gamma(within(~pole, x, 1.0)))


@scipy_rule()
def gammasgn(x):
    below = (x < 0) & (np.floor(x) % 2 != 0)
    sign = where(below, -1.0, 1.0)
    sign = where((x < 0) & (x == np.floor(x)), np.nan, sign)
    return where(x == 0, np.copysign(1.0, x), where(np.isnan(x), x, sign)).astype(x.dtype)


def not_negative(name, *xs):
    """What SciPy makes of negative numbers is another algorithm: refused when the program runs."""
    for x in xs:
        text = message(
            f"scipy.special.{name} of negative numbers is not captured",
            locate(),
            "Apply it where no argument is negative.",
        )
        current_trace().check((~(x < 0).any()).value, UnsupportedError, text)


def correction(x):
    """log Gamma(x) less Stirling's formula, for x >= 10.  [DLMF 5.11.1]"""
    w = 1 / (x * x)
    return (
        1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188 - w * (691 / 360360 - w / 156)))))
    ) / x


@scipy_rule(double=True)
def betaln(a, b):
    """By the gamma functions of small numbers, with Stirling's formula of large ones.  [SLATEC dlbeta]"""
    not_negative("betaln", a, b)
    small = (a > 0) & (b > 0) & (a < 10) & (b < 10)
    return where(small, np.log(ratio(within(small, a, 1.0), within(small, b, 1.0))), large_betaln(a, b))


def ratio(a, b):
    return gamma(a) / gamma(a + b) * gamma(b)


def large_betaln(a, b):
    """betaln where either number is 10 at least, or is no positive finite one."""
    usual = (a > 0) & (b > 0) & (a < np.inf) & (b < np.inf)
    x, y = within(usual, a, 1.0), within(usual, b, 1.0)
    p, q = np.minimum(x, y), np.maximum(x, y)
    large, both = q >= 10, p >= 10
    p1, q1 = within(both, 1.0, p), within(large, q, 10.0)
    one = (
        lgamma(p1)
        + correction(q1)
        - correction(p1 + q1)
        + p1
        - p1 * np.log(p1 + q1)
        + (q1 - 0.5) * np.log1p(-p1 / (p1 + q1))
    )
    p2, q2 = within(both, p, 10.0), within(both, q, 10.0)
    two = 0.5 * math.log(2 * math.pi) - 0.5 * np.log(q2) + correction(p2) + correction(q2) - correction(p2 + q2)
    two = two + (p2 - 0.5) * np.log(p2 / (p2 + q2)) + q2 * np.log1p(-p2 / (p2 + q2))
    z = where(both, two, one)
    limit = where(np.isnan(a) | np.isnan(b) | ((a == np.inf) & (b == np.inf)), np.nan, -np.inf)
    return where(usual, z, where((a == 0) | (b == 0), np.inf, limit))


@scipy_rule(double=True)
def beta(a, b):
    """By the gamma functions where they are finite, by exp(betaln) beyond."""
    not_negative("beta", a, b)
    small = (a > 0) & (b > 0) & (a + b < 150)
    x, y = within(small, a, 1.0), within(small, b, 1.0)
    return where(small, ratio(x, y), np.exp(large_betaln(a, b)))


@scipy_rule(double=True)
def gammaincc(a, x):
    return where((a == 0) & (x > 0), 0.0, op("igammac")(a, x))


@scipy_rule(double=True)
def logit(x):
    """log(x / (1 - x)); about 1/2 by log1p, whose argument is exact."""
    near = (x >= 0.3) & (x <= 0.65)
    s = within(near, 2 * (x - 0.5), 0.0)
    far = within(near, 0.25, x)
    return where(near, np.log1p(s) - np.log1p(-s), np.log(far / (1 - far)))


@scipy_rule(double=True)
def log_expit(x):
    return -np.logaddexp(0.0, -x)


@scipy_rule()
def xlogy(x, y):
    zero = (x == 0) & ((y <= 0) | (y == np.inf))
    return where(zero, 0, x * np.log(within(~zero, y, 1))).astype(x.dtype)


@scipy_rule()
def xlog1py(x, y):
    zero = (x == 0) & ((y <= -1) | (y == np.inf))
    return where(zero, 0, x * np.log1p(within(~zero, y, 1))).astype(x.dtype)


@scipy_rule()
def entr(x):
    safe = within(x > 0, x, 1)
    return where(x > 0, -safe * np.log(safe), where(x == 0, 0, where(np.isnan(x), x, -np.inf))).astype(x.dtype)


def relative(x, y):
    both = (x > 0) & (y > 0)
    x1, y1 = within(both, x, 1), within(both, y, 1)
    return both, x1 * np.log(x1 / y1), x1, y1


@scipy_rule(double=True)
def rel_entr(x, y):
    both, z, _, _ = relative(x, y)
    rest = where((x == 0) & (y >= 0), 0.0, np.inf)
    return where(np.isnan(x) | np.isnan(y), np.nan, where(both, z, rest))


@scipy_rule(double=True)
def kl_div(x, y):
    both, z, x1, y1 = relative(x, y)
    rest = where((x == 0) & (y >= 0), y, np.inf)
    return where(np.isnan(x) | np.isnan(y), np.nan, where(both, z - x1 + y1, rest))


@scipy_rule(double=True)
def i0(x):
    return np.exp(np.abs(x)) * op("bessel_i0e")(x)


@scipy_rule(double=True)
def i1(x):
    return np.exp(np.abs(x)) * op("bessel_i1e")(x)


@scipy_rule(double=True)
def ndtr(x):
    """By erf near 0 and by erfc in the tails."""
    z = x * SQRT_HALF
    near = np.abs(z) < SQRT_HALF
    tail = 0.5 * erfc(within(near, 1.0, np.abs(z)))
    return where(near, 0.5 + 0.5 * erf(within(near, z, 0.0)), where(x > 0, 1 - tail, tail))


@scipy_rule(double=True)
def log_ndtr(x):
    """log1p of the upper tail above -1; log of the lower one above -14; its continued fraction below.  [DLMF 7.9.1]"""
    upper, far = x > -1, x < -14
    high = np.log1p(-0.5 * erfc(within(upper, x, 0.0) * SQRT_HALF))
    low = np.log(0.5 * erfc(-within(upper | far, -2.0, x) * SQRT_HALF))
    t = within(far, -x, 20.0)
    fraction = t
    for k in range(30, 0, -1):
        fraction = t + k / fraction
    tail = -0.5 * t * t - np.log(fraction) - 0.5 * math.log(2 * math.pi)
    return where(np.isnan(x), x, where(upper, high, where(x == -np.inf, -np.inf, where(far, tail, low))))


np_where = where


@scipy_rule(double=True)
def exprel(x):
    near = np.abs(x) < np.finfo(x.dtype).eps
    safe = within(near, 1, x)
    return where(near, 1 + x / 2, where(x > 717, np.inf, np.expm1(safe) / safe)).astype(x.dtype)


@scipy_rule(double=True)
def exp10(x):
    return np.power(10.0, x)


@scipy_rule()
def huber(delta, r):
    size = np.abs(r)
    return where(delta < 0, np.inf, where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))).astype(r.dtype)


@scipy_rule()
def pseudo_huber(delta, r):
    none = (delta == 0) | (r == 0)
    ratio = r / within(none, 1, delta)
    value = delta * delta * (ratio * ratio) / (np.sqrt(1 + ratio * ratio) + 1)
    return where((delta < 0) | np.isinf(ratio) & ~none, np.inf, where(none, 0, value)).astype(r.dtype)


@scipy_rule(double=True)
def boxcox(x, lmbda):
    flat = np.abs(lmbda) < 1e-19
    log = np.log(x)
    safe = within(flat, 1.0, lmbda)
    return where(flat, log, np.expm1(safe * log) / safe)


@scipy_rule(double=True)
def inv_boxcox(x, lmbda):
    flat = lmbda == 0
    safe = within(flat, 1.0, lmbda)
    return where(flat, np.exp(x), np.exp(np.log1p(safe * within(flat, 0.0, x)) / safe))


# -- functions of whole arrays ---------------------------------------------------------------------

SPECIAL = "scipy.special"


def as_common_float(name, *arrays):
    """Arrays in the float dtype of them all, integers as float64."""
    xs = [handle(a) for a in arrays]
    dtype = np.result_type(*(x.dtype for x in xs), *([np.float64] if any(x.dtype.kind in "biu" for x in xs) else []))
    if dtype.kind != "f" or dtype == np.float16:
        refuse(f"{name} of {dtype} arrays")
    return [x.astype(dtype) for x in xs]


def axes_of(axis, ndim):
    axes = range(ndim) if axis is None else np.atleast_1d(axis).tolist()
    return tuple(a % ndim if ndim else a for a in axes)


@captures(SPECIAL)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    """The greatest term is left out of the sum, which log1p then takes."""
    only("scipy.special.logsumexp", return_sign=(return_sign, (False,)))
    (x, *weights) = as_common_float("scipy.special.logsumexp", *((a,) if b is None else (a, b)))
    if weights:
        x, weight = np.broadcast_arrays(x, weights[0])
        x = where(weight == 0, -np.inf, x)
    if not x.size:
        refuse("scipy.special.logsumexp of an empty array")
    axis = axes_of(axis, x.ndim)
    top = x.max(axis=axis, keepdims=True)
    shift = where(np.isfinite(top), top, 0)
    terms = np.exp(x - shift)
    total = (terms * weight if weights else terms).sum(axis=axis, keepdims=True)
    out = np.log(total) + shift
    out = out.astype(x.dtype)
    return out if keepdims else out.reshape([n for d, n in enumerate(x.shape) if d not in axis])[()]


@captures(SPECIAL)
def softmax(x, axis=None):
    (x,) = as_common_float("scipy.special.softmax", x)
    axis = axes_of(axis, x.ndim)
    terms = np.exp(x - x.max(axis=axis, keepdims=True))
    return terms / terms.sum(axis=axis, keepdims=True)


@captures(SPECIAL)
def log_softmax(x, axis=None):
    (x,) = as_common_float("scipy.special.log_softmax", x)
    axis = axes_of(axis, x.ndim)
    top = x.max(axis=axis, keepdims=True)
    shifted = x - where(np.isfinite(top), top, 0)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


@captures(SPECIAL)
def softplus(x, **kwargs):
    only("scipy.special.softplus", options=(tuple(kwargs), ((),)))
    return np.logaddexp(0, x)


@captures(SPECIAL)
def polygamma(n, x):
    """SciPy's product of float64 numbers, whatever x is; an array of shape () for scalars."""
    if not isinstance(n, int | np.integer) or n < 0:
        refuse(f"scipy.special.polygamma of order {n!r}", "The order is a whole number, known while tracing.")
    y = handle(x)
    if not n and y.dtype == np.float32:
        refuse("scipy.special.polygamma(0, x) of float32 arrays", "Use scipy.special.psi.")
    y = y.astype(np.float64)
    return fresh((op("polygamma", n=int(n))(y) if n else psi(y)).value)


@captures(SPECIAL)
def multigammaln(a, d):
    """The logarithm of the gamma function of symmetric d x d matrices: log pi d (d - 1) / 4 + the sum of gammaln(a - j
    / 2) over j < d."""
    if not isinstance(d, int | np.integer) or d < 1:
        refuse(
            f"scipy.special.multigammaln of dimension {d!r}",
            "The dimension is a positive whole number, known while tracing.",
        )
    x = handle(a).astype(np.float64)
    text = message(f"condition a ({0.5 * (d - 1):f}) > 0.5 * (d-1) not met", locate())
    current_trace().check((x > 0.5 * (d - 1)).all().value, ValueError, text)
    terms = [gammaln(x - 0.5 * j) for j in range(d)]
    z = sum(terms[1:], terms[0]) + d * (d - 1) * 0.25 * math.log(math.pi)
    return wrap(z.value) if isinstance(a, TracedScalar) else z


@captures(SPECIAL)
def factorial(n, exact=False, extend="zero"):
    """gamma(n + 1), 0 below 0."""
    only("scipy.special.factorial", exact=(exact, (False,)), extend=(extend, ("zero",)))
    x = handle(n)
    if x.dtype.kind not in "iuf" or x.dtype == np.float16 or x.dtype == np.float32 and x.ndim:
        refuse(f"scipy.special.factorial of {x.dtype} arrays")
    y = x.astype(np.float64)
    z = where(y < 0, 0.0, gamma(within(y >= 0, y, 0.0) + 1))
    z = where(np.isnan(y), y, z).astype(x.dtype if x.dtype.kind == "f" else np.float64)
    return wrap(z.value) if isinstance(n, TracedScalar) else z
