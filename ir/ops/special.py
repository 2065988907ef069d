"""Elementwise special functions: error, gamma, beta, zeta and Bessel.

NumPy has none of them, so each body is an algorithm of its own, number by number. Derivatives of the incomplete gamma
and beta functions by their parameters, which have no closed form, are coefficients of power series (`power_series`).
"""

import math

import numpy as np

from ..op import FLOAT, above_one, case, nonzero, op, positive, probability, require, unit
from .elementwise import pointwise
from .power_series import (
    beginning,
    beta_exponent,
    beta_fraction,
    exponential,
    gamma_exponent,
    gamma_fraction,
    gamma_term,
    linear,
    reciprocal,
    series_product,
    total,
    variables,
)
from .samples import EDGES

# -- one number at a time --------------------------------------------------------------------------


def _gamma(x):
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _lgamma(x):
    return math.inf if x <= 0 and x % 1 == 0 else math.lgamma(x)


def _cotangent(x):
    """cot(pi x), by the distance to the nearest whole number."""
    return 1 / math.tan(math.pi * (x - round(x)))


def _digamma(x):
    """Upwards to 10, then the asymptotic series; below 0 by reflection.  [DLMF 5.5.2, 5.5.4, 5.11.2]"""
    if x <= 0:
        return math.nan if x % 1 == 0 or x == -math.inf else _digamma(1 - x) - math.pi * _cotangent(x)
    below = []
    while x < 10:
        below.append(-1 / x)
        x += 1
    w = 1 / (x * x)
    tail = w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w * (1 / 132 - w * (691 / 32760 - w / 12))))))
    return math.fsum([*below, math.log(x), -0.5 / x, -tail]) if x < math.inf else x


def _zeta(q, s):
    """The terms up to q + k > s + 12, then Euler and Maclaurin's correction.  [DLMF 25.11.28]"""
    if not q > 0 or q == math.inf:
        return math.inf if q == 0 else 0.0 if q == math.inf else math.nan
    steps = max(0, math.ceil(s + 12 - q))
    x = q + steps
    sums = [(q + k) ** -s for k in range(steps)] + [x ** (1 - s) / (s - 1), x**-s / 2]
    factor = s * x ** (-s - 1)
    for k, c in enumerate(
        (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600), 1
    ):
        sums.append(c * factor)
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (x * x)
    return math.fsum(sums)


def cotangent_slope(n):
    """Coefficients of p with d^n cot(pi x) / dx^n = (-pi)^n p(cot(pi x)): p' (1 + c^2) again and again."""
    p = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(p)][1:]
        p = [a + b for a, b in zip([*slope, 0, 0], [0, 0, *slope])]
    return p


def _polygamma(x, n):
    """By the zeta function; below 0 by reflection.  [DLMF 5.15.1, 5.15.6]"""
    if n == 0 or math.isnan(x):
        return _digamma(x)
    if x > 0:
        return (-1) ** (n + 1) * math.factorial(n) * _zeta(x, n + 1)
    if x % 1 == 0 or x == -math.inf:
        return math.inf if n % 2 and x > -math.inf else math.nan
    c = _cotangent(x)
    return (-1) ** n * _polygamma(1 - x, n) + (-math.pi) ** (n + 1) * sum(
        p * c**k for k, p in enumerate(cotangent_slope(n))
    )


def _erf_inv(x):
    """Winitzki's approximation (2008), then Halley's steps on erf, on erfc beyond 1/2."""
    r = abs(x)
    if not 0 < r < 1:
        return x if r == 0 else math.copysign(math.inf, x) if r == 1 else math.nan
    w = math.log1p(-r * r)
    m = 2 / (math.pi * 0.147) + w / 2
    y = math.sqrt(math.sqrt(m * m - w / 0.147) - m)
    for _ in range(3):
        error = math.erf(y) - r if r < 0.5 else (1 - r) - math.erfc(y)
        step = error * math.sqrt(math.pi) / 2 * math.exp(y * y)
        y -= step / (1 + y * step)
    return math.copysign(y, x)


def _bessel(x, order):
    """exp(-|x|) I_order(x): the power series up to 25, the asymptotic one beyond.  [DLMF 10.25.2, 10.40.1]"""
    r = abs(x)
    term = summed = 1.0
    k = 0
    while abs(term) > 1e-18 * summed and k < 100:
        k += 1
        term *= r * r / (4 * k * (k + order)) if r <= 25 else ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k * r)
        summed += term
    scale = math.exp(-r) * (r / 2) ** order if r <= 25 else 1 / math.sqrt(2 * math.pi * r)
    return x if math.isnan(x) else math.copysign(scale * summed, x if order else 1)


def _igamma(a, x, n, upper):
    """nth derivative by a of P(a, x), or of Q(a, x): a series for x < a, a continued fraction beyond."""
    if not (a >= 0 and x >= 0) or a == x and x in (0, math.inf):
        return math.nan
    if x in (0, math.inf) or a == math.inf:
        return float(n == 0 and (x == math.inf) != upper)
    u, _ = variables(float(a), 0.0, n, 0)
    front = exponential(gamma_exponent(a, x, math.log(x), _lgamma, _digamma, _polygamma, n), math.exp)
    series = x < max(a, 1.0)
    if series:
        term = summed = linear(u, 0, 1)
        for k in range(1, 10000):
            term = gamma_term(k, u, x, term)
            summed = total(summed, term)
            if max(map(abs, term.values())) <= 1e-17 * max(map(abs, summed.values())):
                break
        value = series_product(front, summed)
    else:
        state = beginning(reciprocal(linear(u, -1, x + 1)))
        for k in range(1, 10000):
            before, state = state, gamma_fraction(k, u, x, state)
            if max(abs(state[2][i] - before[2][i]) for i in u) <= 4e-16 * max(map(abs, state[2].values())):
                break
        value = series_product(front, series_product(u, state[2]))
    value = value[n, 0] * math.factorial(n)
    return value if series != upper else float(n == 0) - value


def _betainc(x, a, b, n, m):
    """Derivative by a, n times, and by b, m times, of I_x(a, b), or of 1 - I_{1-x}(b, a) where that converges
    faster."""
    if not (a >= 0 and b >= 0 and 0 <= x <= 1) or a == b and a in (0, math.inf):
        return math.nan
    if x in (0, 1) or 0 in (a, b) or math.inf in (a, b):
        return float(n == m == 0 and (x == 1 if x in (0, 1) else a == 0 or b == math.inf))
    u, v = variables(float(a), float(b), n, m)
    front = exponential(beta_exponent(a, b, math.log(x), math.log1p(-x), _lgamma, _digamma, _polygamma, n, m), math.exp)
    swap = x * (a + b + 2) > a + 1
    near, far, y = (v, u, 1 - x) if swap else (u, v, x)
    state = beginning(linear(u, 0, 1))
    for k in range(10000):
        before, state = state, beta_fraction(k, near, far, y, state)
        if max(abs(state[2][i] - before[2][i]) for i in u) <= 4e-16 * max(map(abs, state[2].values())):
            break
    value = (
        series_product(series_product(front, reciprocal(near)), state[2])[n, m] * math.factorial(n) * math.factorial(m)
    )
    return float(n == m == 0) - value if swap else value


# -- the ops ---------------------------------------------------------------------------------------


def draws(low, high, *shape):
    """A spec: uniform between two bounds."""

    def draw(rng):
        return rng.uniform(low, high, shape)

    draw.__name__ = f"uniform({low},{high})"
    return draw


def parameter_rule(valid, meaning):
    """Type rule of a float op with one numeric attribute that must satisfy `valid`."""

    def rule(op, x, **attrs):
        require(valid(*attrs.values()), op, f"{meaning}, got {', '.join(map(str, attrs.values()))}")
        return pointwise(FLOAT).rule(op, x)

    return rule


# fmt: off
@op(pointwise(FLOAT))
def erf(x):
    """The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return np.vectorize(math.erf, otypes=[np.asarray(x).dtype])(x)


@op(pointwise(FLOAT))
def erfc(x):
    """1 - erf(x), with the digits that difference would lose."""
    return np.vectorize(math.erfc, otypes=[np.asarray(x).dtype])(x)


@op(pointwise(FLOAT), sample=unit, cases=[*pointwise(FLOAT).cases, case((1 - np.logspace(-1, -7, 8)).astype("f4"))])
def erf_inv(x):
    """The y with erf(y) = x; infinite at -1 and 1, NaN beyond."""
    return np.vectorize(_erf_inv, otypes=[np.asarray(x).dtype])(x)


NEGATIVE = [case(np.array([-0.5, -1.3, -2.6, -12.4])), case(np.array([-0.5, -1.3, -2.6, -12.4], "f4"))]
EITHER_SIDE = [case("f64[3,4]"), case("f32[5]"), case("f64[]", sample=above_one), case(EDGES[FLOAT]), *NEGATIVE]


@op(pointwise(FLOAT), sample=positive, cases=EITHER_SIDE)
def gamma(x):
    """Gamma(x), (x - 1)! of whole numbers; infinite at 0 with its sign, NaN at -1, -2, ..."""
    return np.vectorize(_gamma, otypes=[np.asarray(x).dtype])(x)


@op(pointwise(FLOAT), sample=positive, cases=EITHER_SIDE)
def lgamma(x):
    """log |Gamma(x)|; inf at 0, -1, -2, ..."""
    return np.vectorize(_lgamma, otypes=[np.asarray(x).dtype])(x)


@op(pointwise(FLOAT), sample=positive, cases=EITHER_SIDE)
def digamma(x):
    """The derivative of log |Gamma(x)|; NaN at 0, -1, -2, ..."""
    return np.vectorize(_digamma, otypes=[np.asarray(x).dtype])(x)


@op(parameter_rule(lambda n: n >= 0, "a derivative is taken n >= 0 times"), traits=["elementwise"], sample=positive,
    cases=[
    *(case(spec, n=n) for n in (0, 1, 2, 5) for spec in ("f64[3,4]", "f32[5]", *(c.specs[0] for c in NEGATIVE),
        EDGES[FLOAT])), case("f64[]", n=1),
])
def polygamma(x, *, n):
    """The nth derivative of digamma(x); at 0, -1, -2, ... inf for odd n and NaN for even."""
    return np.vectorize(lambda v: _polygamma(v, n), otypes=[np.asarray(x).dtype])(x)


@op(parameter_rule(lambda s: s > 1, "the sum converges for s > 1"), traits=["elementwise"], sample=positive, cases=[
    *(case(spec, s=s) for s in (1.5, 2, 7.25) for spec in ("f64[3,4]", "f32[5]", EDGES[FLOAT])), case("f64[]", s=3),
])
def zeta(q, *, s):
    """The Hurwitz zeta function, the sum of (q + k)^-s over k = 0, 1, 2, ...; inf at q = 0 and NaN below."""
    return np.vectorize(lambda v: _zeta(v, s), otypes=[np.asarray(q).dtype])(q)


def _two(a, x, n, upper):
    return np.vectorize(lambda a, x: _igamma(a, x, n, upper), otypes=[np.result_type(a, x)])(a, x)


SINGLES = [case("f32[5]", repeat=True), case("f32[]", repeat=True), case(EDGES[FLOAT], repeat=True)]
GAMMA = [case("f64[4,5]", draws(0.1, 4.0, 4, 5)), *SINGLES]
GAMMA_SLOPES = [*(case(*c.specs, repeat=True, n=1) for c in SINGLES), case("f32[5]", repeat=True, n=2)]


@op(pointwise(FLOAT), sample=positive, cases=GAMMA)
def igamma(a, x):
    """P(a, x): the integral of t^(a-1) exp(-t) from 0 to x, over Gamma(a); NaN for negative a or x.  [DLMF 8.2.4]"""
    return _two(a, x, 0, False)


@op(pointwise(FLOAT), sample=positive, cases=GAMMA)
def igammac(a, x):
    """Q(a, x) = 1 - P(a, x), with the digits that difference would lose."""
    return _two(a, x, 0, True)


def _slope_rule(op, *types, **orders):
    taken = list(orders.values())
    require(min(taken) >= 0 and any(taken), op, f"a slope is a derivative taken at least once, got orders {taken}")
    return pointwise(FLOAT).rule(op, *types)


@op(_slope_rule, traits=["elementwise"], sample=positive, cases=GAMMA_SLOPES)
def igamma_slope(a, x, *, n):
    """The nth derivative of P(a, x) by a."""
    return _two(a, x, n, False)


def _three(x, a, b, n, m):
    return np.vectorize(lambda x, a, b: _betainc(x, a, b, n, m), otypes=[np.result_type(x, a, b)])(x, a, b)


BETA_SLOPES = [*(case(*c.specs, repeat=True, n=1, m=0) for c in SINGLES),
    *(case("f32[5]", repeat=True, n=n, m=1) for n in (0, 1))]


@op(pointwise(FLOAT), sample=probability,
    cases=[case(draws(0.3, 5.0, 3, 4), draws(0.3, 5.0, 3, 4), "f64[3,4]"), *SINGLES])
def betainc(a, b, x):
    """I_x(a, b): the integral of t^(a-1) (1-t)^(b-1) from 0 to x, over that to 1; NaN for negative a or b, or x outside
    [0, 1].

    [DLMF 8.17.2]
    """
    return _three(x, a, b, 0, 0)


@op(_slope_rule, traits=["elementwise"], sample=probability, cases=BETA_SLOPES)
def betainc_slope(a, b, x, *, n, m):
    """The derivative of I_x(a, b) by a, n times, and by b, m times."""
    return _three(x, a, b, n, m)


@op(pointwise(FLOAT), sample=nonzero)
def bessel_i0e(x):
    """exp(-|x|) I_0(x), the modified Bessel function scaled."""
    return np.vectorize(lambda v: _bessel(v, 0), otypes=[np.asarray(x).dtype])(x)


@op(pointwise(FLOAT), sample=nonzero)
def bessel_i1e(x):
    """exp(-|x|) I_1(x), the modified Bessel function scaled."""
    return np.vectorize(lambda v: _bessel(v, 1), otypes=[np.asarray(x).dtype])(x)
