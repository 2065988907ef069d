"""Power series in two parameters, truncated: `{(i, j): coefficient}`, i and j the powers of the first and the second.

The incomplete gamma and beta functions are computed as such series for their derivatives by the parameters, which have
no closed form. The arithmetic of series, and one step of each of their recurrences, work on floats and on whatever else
adds, multiplies and divides.
"""

import math


def series_product(u, v):
    """u v, truncated to the powers of u."""
    out = {}
    for p, q in u:
        terms = [u[i, j] * v[p - i, q - j] for i in range(p + 1) for j in range(q + 1)]
        out[p, q] = sum(terms[1:], terms[0])
    return out


def reciprocal(v):
    """1 / v, by v w = 1 power after power."""
    w = {(0, 0): 1 / v[0, 0]}
    for p, q in v:
        if p or q:
            terms = [v[i, j] * w[p - i, q - j] for i in range(p + 1) for j in range(q + 1) if i or j]
            w[p, q] = -sum(terms[1:], terms[0]) * w[0, 0]
    return w


def exponential(u, exp):
    """e^u, by e' = u' e power after power; `exp` serves the first."""
    e = {(0, 0): exp(u[0, 0])}
    for p, q in u:
        if p or q:
            terms = [
                (u[i, j] * e[p - i, q - j]) * ((i if p else j) / (p or q))
                for i in range(p + 1)
                for j in range(q + 1)
                if (i if p else j)
            ]
            e[p, q] = sum(terms[1:], terms[0])
    return e


def linear(u, factor, constant):
    """factor u + constant."""
    return {k: u[k] * factor + constant if k == (0, 0) else u[k] * factor for k in u}


def total(u, v):
    return {k: u[k] + v[k] for k in u}


def gamma_term(k, a, x, term):
    """x^k / ((a+1) ... (a+k)) from the one before."""
    return series_product(term, linear(reciprocal(linear(a, 1, k)), x, 0))


def gamma_fraction(k, a, x, state):
    """1/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))) to one level more.  [Numerical Recipes 6.2]"""
    return lentz(linear(a, k, -k * k), linear(a, -1, x + 2 * k + 1), *state)


def beta_fraction(k, a, b, x, state):
    """1/(1 + d_1/(1 + d_2/(1 + ...))) to two levels more.  [DLMF 8.17.22]"""
    below = linear(a, 1, 2 * k)
    odd = series_product(
        series_product(linear(a, 1, k), linear(total(a, b), 1, k)),
        reciprocal(series_product(below, linear(below, 1, 1))),
    )
    even = series_product(linear(b, 1, -1 - k), reciprocal(series_product(linear(below, 1, 1), linear(below, 1, 2))))
    one = linear(a, 0, 1)
    return lentz(linear(even, x * (k + 1), 0), one, *lentz(linear(odd, -x, 0), one, *state))


def lentz(above, below, c, d, h):
    """One level of a continued fraction by the ratios of its numerators and of its denominators.  [Lentz 1976]"""
    d = reciprocal(total(series_product(above, d), below))
    c = total(below, series_product(above, reciprocal(c)))
    return c, d, series_product(h, series_product(c, d))


def gamma_exponent(a, x, logarithm, lgamma, digamma, polygamma, n):
    """log(x^a e^-x / Gamma(a+1)) as a series in a up to the power n."""
    u = {(0, 0): a * logarithm - x - lgamma(a + 1)}
    for k in range(1, n + 1):
        u[k, 0] = logarithm - digamma(a + 1) if k == 1 else polygamma(a + 1, k - 1) * (-1 / math.factorial(k))
    return u


def beta_exponent(a, b, log_x, log_y, lgamma, digamma, polygamma, n, m):
    """log(x^a y^b Gamma(a+b) / (Gamma(a) Gamma(b))) as a series in a up to the power n and in b up to m."""

    def slope(x, k):
        return digamma(x) if k == 1 else polygamma(x, k - 1)

    u = {}
    for i in range(n + 1):
        for j in range(m + 1):
            if i == j == 0:
                u[i, j] = a * log_x + b * log_y + (lgamma(a + b) - lgamma(a) - lgamma(b))
                continue
            k = i + j
            u[i, j] = slope(a + b, k)
            if k == i or k == j:
                u[i, j] = u[i, j] - slope(a if k == i else b, k)
            if k == 1:
                u[i, j] = u[i, j] + (log_x if i else log_y)
            elif k > 1:
                u[i, j] = u[i, j] * (1 / (math.factorial(i) * math.factorial(j)))
    return u


def variables(a, b, n, m):
    """The parameters themselves, as series up to the powers n and m."""
    powers = [(i, j) for i in range(n + 1) for j in range(m + 1)]
    one, zero = a * 0 + 1, a * 0
    return tuple(
        {k: value if k == (0, 0) else one if k == which else zero for k in powers}
        for value, which in ((a, (1, 0)), (b, (0, 1)))
    )


def beginning(d):
    """Numerator ratio, denominator ratio and value of a continued fraction whose first level is d."""
    return {k: d[k] * 0 + math.inf if k == (0, 0) else d[k] * 0 for k in d}, d, d
