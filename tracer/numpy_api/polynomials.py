"""Polynomials by their coefficients, the highest power first.

Where NumPy drops zeros of a traced polynomial, how many there are is taken by value; where nothing can be, that there
are none is checked.
"""

import operator

import numpy as np

from ...ir.ops.elementwise import rounded
from ..common.emit import filled
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import fresh, wrap
from ..values.speculate import decide
from ..values.storage import current_trace
from .convolution import convolve
from .handles import handle, is_traced
from .linalg import inv, lstsq, matrices, real_eigvals
from .products import dot
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


def padded_pair(a1, a2):
    """Coefficients of two polynomials, the shorter with zeros in front."""
    x, y = np.atleast_1d(handle(a1)), np.atleast_1d(handle(a2))
    n = max(len(x), len(y))
    return (np.concatenate((np.zeros_like(p, shape=n - len(p)), p)) if len(p) < n else p for p in (x, y))


@implements(np.polyadd)
def polyadd(a1, a2):
    x, y = padded_pair(a1, a2)
    return x + y


@implements(np.polysub)
def polysub(a1, a2):
    x, y = padded_pair(a1, a2)
    return x - y


@implements(np.polymul)
def polymul(a1, a2):
    return convolve(*[leading(np.atleast_1d(handle(p))) if is_traced(p) else np.poly1d(p).coeffs for p in (a1, a2)])


def holds(test, name):
    """A test of coefficients, taken by value; true, and checked, where that cannot be."""
    truth = decide(test)
    if truth is None:
        text = f"{name} drops zeros among its coefficients, and is where data cannot choose how many"
        current_trace().check(
            test.value, UnsupportedError, message(text, locate(), "Call it outside of loops and derivatives.")
        )
    return truth is not False


def leading(p):
    """Without leading zeros, as np.poly1d has it."""
    if p.ndim > 1:
        raise with_note(ValueError, message("Polynomial must be 1d only.", locate()))
    while len(p) > 1 and not holds(p[0] != 0, "np.polymul"):
        p = p[1:]
    return p if len(p) else np.zeros_like(p, shape=1)


@implements(np.roots)
def roots(p):
    """The eigenvalues of the companion matrix, and zeros."""
    p, zeros = np.atleast_1d(handle(p)), 0
    if p.ndim != 1:
        raise with_note(ValueError, message("Input must be a rank-1 array.", locate()))
    while len(p) and not holds(p[0] != 0, "np.roots"):
        p = p[1:]
    if not len(p):
        return handle(np.array([]))
    while not holds(p[-1] != 0, "np.roots"):
        p, zeros = p[:-1], zeros + 1
    p = p if np.issubdtype(p.dtype, np.inexact) else p.astype(float)
    n = len(p) - 1
    if not n:
        return handle(np.zeros(zeros))
    companion = np.concatenate((np.reshape(-p[1:] / p[0], (1, n)), np.eye(n, dtype=p.dtype)[:-1]))
    found = real_eigvals(matrices(companion))
    return np.concatenate((found, np.zeros(zeros, found.dtype)))


@implements(np.polydiv)
def polydiv(u, v):
    """(quotient, remainder): the remainder without its leading zeros."""
    u, v = np.atleast_1d(handle(u)) + 0.0, np.atleast_1d(handle(v)) + 0.0
    m, n = len(u) - 1, len(v) - 1
    if m < 0 or n < 0:
        raise with_note(IndexError, message("a polynomial without coefficients", locate()))
    if m >= n and (u.ndim > 1 or v.ndim > 1):
        wide = np.result_type(u, v).kind == "c"
        raise (TypeError if wide else ValueError)(message("the coefficients of a polynomial have one axis", locate()))
    r = u.astype(np.result_type(u, v))
    scale, q = 1.0 / v[0], []
    for k in range(m - n + 1):  # each number rounded as NumPy has it: what is dropped below depends on it
        q.append(rounded_array(scale * r[k]))
        r[k : k + n + 1] -= rounded_array(q[-1] * v)
    quotient = np.stack(q).astype(r.dtype) if q else np.zeros_like(r, shape=1)
    while r.shape[-1] > 1 and not holds(np.logical_not(np.allclose(r[0], 0, rtol=1e-14)), "np.polydiv"):
        r = r[1:]
    return quotient, r


def rounded_array(x):
    return wrap(rounded(x.value))


def order(m, what):
    m = operator.index(m)
    if m < 0:
        raise ValueError(what)
    return m


@implements(np.polyder)
def polyder(p, m=1):
    p, m = handle(p), order(m, "Order of derivative must be positive (see polyint)")
    if p.ndim != 1 and (m or not p.ndim):
        raise (ValueError if p.ndim else TypeError)(
            message(f"the coefficients of a polynomial have one axis, these {p.ndim}", locate())
        )
    for _ in range(m):
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
    if not real:  # roots in conjugate pairs, as this call's data have it
        real = decide(np.all(np.sort(roots) == np.sort(np.conjugate(roots))))
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
        left *= w[:, None]
        right *= w[:, None] if right.ndim == 2 else w
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
