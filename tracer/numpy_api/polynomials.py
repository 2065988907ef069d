"""Polynomials by their coefficients, the highest power first.

Where NumPy drops leading zeros of a traced polynomial (polymul), they stay: how many there are depends on data.
"""

import operator

import numpy as np

from ..array import fresh
from ..emit import filled
from ..errors import UnsupportedError, message
from ..frames import locate
from .handles import handle, is_traced
from .linalg import inv, lstsq
from .products import convolve, dot
from .registry import implements


@implements(np.polyval)
def polyval(p, x):
    if isinstance(x, np.poly1d):
        raise UnsupportedError(message("np.polyval of a traced polynomial at a np.poly1d is not captured", locate()))
    x = handle(x)
    y = np.zeros_like(x)
    for coefficient in handle(p) if is_traced(p) else np.asarray(p):
        y = y * x + coefficient
    return y


def both(a1, a2):
    """Coefficients of two polynomials, the shorter with zeros in front."""
    x, y = np.atleast_1d(handle(a1)), np.atleast_1d(handle(a2))
    n = max(len(x), len(y))
    return (np.concatenate((np.zeros_like(p, shape=n - len(p)), p)) if len(p) < n else p for p in (x, y))


@implements(np.polyadd)
def polyadd(a1, a2):
    x, y = both(a1, a2)
    return x + y


@implements(np.polysub)
def polysub(a1, a2):
    x, y = both(a1, a2)
    return x - y


@implements(np.polymul)
def polymul(a1, a2):
    return convolve(*[p if is_traced(p) else np.poly1d(p).coeffs for p in (a1, a2)])


def order(m, what):
    m = operator.index(m)
    if m < 0:
        raise ValueError(what)
    return m


@implements(np.polyder)
def polyder(p, m=1):
    p = handle(p)
    if p.ndim != 1:
        raise (ValueError if p.ndim else TypeError)(message(f"the coefficients of a polynomial have one axis, these {p.ndim}", locate()))
    for _ in range(order(m, "Order of derivative must be positive (see polyint)")):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


@implements(np.polyint)
def polyint(p, m=1, k=None):
    m = order(m, "Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else np.atleast_1d(handle(k)) if is_traced(k) else np.atleast_1d(k)
    k = k[0] * np.ones(m) if len(k) == 1 and m > 1 else k
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = handle(p)
    for i in range(m):
        p = np.concatenate((p / np.arange(len(p), 0, -1), [k[i]]))
    return p


@implements(np.poly)
def poly(seq_of_zeros):
    roots = np.atleast_1d(handle(seq_of_zeros))
    real = roots.dtype.kind != "c"
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        roots = np.linalg.eigvals(roots)
    elif roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    else:
        roots = roots.astype(float if roots.dtype.kind not in "fc" or roots.dtype == np.float16 else roots.dtype)
    if not roots.size:
        return 1.0
    out = fresh(filled(1, (1,), roots.dtype))
    for root in roots:
        out = convolve(out, np.stack([np.ones_like(root), -root]))
    return out.real.copy() if real else out


@implements(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    terms = operator.index(deg) + 1
    x, y = (handle(handle(v) + 0.0) for v in (x, y))
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = np.vander(x, terms), y
    if w is not None:
        w = handle(handle(w) + 0.0)
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left, right = left * w[:, None], right * (w[:, None] if right.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, residuals, rank, s = lstsq(left, right, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = inv(dot(left.T, left)) / np.outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        share = 1
    elif len(x) <= terms:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    else:
        share = residuals / (len(x) - terms)
    return c, base * share if y.ndim == 1 else base[:, :, None] * share
