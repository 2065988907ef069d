"""Differences, slopes, areas, and covariance."""

import numpy as np

from ..common.emit import cast_to
from ..common.errors import message, with_note
from ..common.frames import locate
from ..values.array import fresh
from .arguments import NOTHING, axis_of, traced
from .handles import dtype_of, is_traced, value_of
from .histograms import must
from .reductions import average
from .registry import implements
from .ufunc_calls import casting_error


def window(ndim, axis, start, stop):
    """The key of a slice along one axis."""
    return tuple(slice(start, stop) if d == axis else slice(None) for d in range(ndim))


@implements(np.diff)
def diff(a, n=1, axis=-1, prepend=NOTHING, append=NOTHING):
    """a[1:] - a[:-1], n times."""
    if n == 0:
        return a
    if n < 0:
        raise with_note(ValueError, message(f"order must be non-negative but got {n!r}", locate()))
    a = traced(a)
    if a.ndim == 0:
        raise with_note(ValueError, message("diff requires input that is at least one dimensional", locate()))
    axis = axis_of(axis, a.ndim)
    one = tuple(1 if d == axis else m for d, m in enumerate(a.shape))
    whole = lambda x: x if x.shape else np.broadcast_to(x, one)
    parts = [
        *([] if prepend is NOTHING else [whole(traced(prepend))]),
        a,
        *([] if append is NOTHING else [whole(traced(append))]),
    ]
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    step = np.not_equal if a.dtype.kind == "b" else np.subtract
    for _ in range(n):
        a = step(a[window(a.ndim, axis, 1, None)], a[window(a.ndim, axis, None, -1)])
    return a


@implements(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of the flat array, with other numbers around them."""
    a = np.ravel(traced(ary))
    parts = [a[1:] - a[:-1]]
    for name, extra in (("to_begin", to_begin), ("to_end", to_end)):
        if extra is None:
            continue
        extra = traced(extra)
        if not np.can_cast(extra.dtype, a.dtype, "same_kind"):
            raise with_note(
                TypeError,
                message(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.", locate())
            )
        extra = np.ravel(fresh(cast_to(extra.value, a.dtype)))
        parts = [extra, *parts] if name == "to_begin" else [*parts, extra]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The area under the broken line through (x, y) along an axis."""
    y = traced(y)
    d = dx
    if x is not None:
        x = traced(x)
        d = diff(x, axis=-1 if x.ndim == 1 else axis)
    asked, axis = axis, axis_of(axis, y.ndim)
    if x is not None:
        if x.ndim == 1:
            d = np.reshape(d, tuple(d.shape[0] if k == axis else 1 for k in range(y.ndim)))
    # x may have more axes
    return np.sum(d * (y[window(y.ndim, axis, 1, None)] + y[window(y.ndim, axis, None, -1)]) / 2.0, asked)


# -- gradient --------------------------------------------------------------------------------------


def spacings(f, axes, varargs):
    """The step along each axis: one number, or the differences of coordinates."""
    if not varargs:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return list(varargs) * len(axes)
    if len(varargs) != len(axes):
        raise with_note(TypeError, message("invalid number of arguments", locate()))
    steps = []
    for axis, distances in zip(axes, varargs):
        if np.ndim(distances) == 0:
            steps.append(distances)
            continue
        distances = traced(distances) if is_traced(distances) else np.asarray(distances)
        if distances.ndim != 1:
            raise with_note(ValueError, message("distances must be either scalars or 1d", locate()))
        if distances.shape[0] != f.shape[axis]:
            raise with_note(
                ValueError,
                message("when 1d, distances must match the length of the corresponding dimension", locate())
            )
        distances = distances.astype(np.float64) if distances.dtype.kind in "iu" else distances
        step = np.diff(distances)
        even = not is_traced(step) and (step == step[0]).all()
        steps.append(step[0] if even else step)
    return steps


@implements(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    """Second-order central differences inside, one-sided ones of `edge_order` at the ends."""
    f = traced(f)
    axes = tuple(range(f.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, f.ndim)
    steps = spacings(f, axes, varargs)
    if edge_order > 2:
        raise with_note(ValueError, message("'edge_order' greater than 2 not supported", locate()))
    dtype = f.dtype if np.issubdtype(f.dtype, np.inexact) else np.dtype(np.float64)
    if f.dtype.kind in "iu":
        f = fresh(cast_to(f.value, dtype))
    slopes = [fresh(cast_to(value_of(slope_along(f, d, h, edge_order)), dtype)) for d, h in zip(axes, steps)]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def slope_along(f, axis, h, edge_order):
    n = f.shape[axis]
    if n < edge_order + 1:
        situation = (
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are "
            "required."
        )
        raise with_note(ValueError, message(situation, locate()))
    part = lambda start, stop: f[window(f.ndim, axis, start, stop)]
    column = lambda x: np.reshape(x, tuple(-1 if d == axis else 1 for d in range(f.ndim)))
    uniform = np.ndim(h) == 0
    if uniform:
        inner = (part(2, None) - part(None, -2)) / (2.0 * h)
    else:
        h1, h2 = h[:-1], h[1:]
        a, b, c = -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))
        inner = column(a) * part(None, -2) + column(b) * part(1, -1) + column(c) * part(2, None)
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / (h if uniform else h[0])
        last = (part(n - 1, n) - part(n - 2, n - 1)) / (h if uniform else h[-1])
        return np.concatenate([first, inner, last], axis)
    a, b, c = (-1.5 / h, 2.0 / h, -0.5 / h) if uniform else one_sided(h[0], h[1])
    first = a * part(0, 1) + b * part(1, 2) + c * part(2, 3)
    c, b, a = (1.5 / h, -2.0 / h, 0.5 / h) if uniform else [-w for w in one_sided(h[-1], h[-2])]
    last = a * part(n - 3, n - 2) + b * part(n - 2, n - 1) + c * part(n - 1, n)
    return np.concatenate([first, inner, last], axis)


def one_sided(h1, h2):
    """Weights of f(0), f(h1), f(h1 + h2) in the second-order slope at 0."""
    return -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))


# -- covariance ------------------------------------------------------------------------------------


def rows(m, dtype, rowvar, tall):
    """Variables as rows of a matrix."""
    m = fresh(cast_to(m.value, dtype))
    m = m if m.ndim == 2 else np.reshape(m, (1, -1))
    return m.T if not rowvar and tall(m) else m


def observation_weights(weights, count, kind):
    w = traced(weights)
    if w.ndim > 1:
        raise with_note(RuntimeError, message(f"cannot handle multidimensional {kind}", locate()))
    if w.shape[0] != count:
        raise with_note(RuntimeError, message(f"incompatible numbers of samples and {kind}", locate()))
    must(np.greater_equal(weights, 0), ValueError, f"{kind} cannot be negative")
    return fresh(cast_to(w.value, np.dtype(np.float64)))


@implements(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """The covariance matrix of variables, each a row of observations."""
    if ddof is not None and ddof != int(ddof):
        raise with_note(ValueError, message("ddof must be integer", locate()))
    m, y = traced(m), None if y is None else traced(y)
    for name, x in (("m", m), ("y", y)):
        if x is not None and x.ndim > 2:
            raise with_note(ValueError, message(f"{name} has more than 2 dimensions", locate()))
    dtype = (
        np.dtype(dtype) if dtype is not None else np.result_type(m.dtype, np.float64, *([] if y is None else [y.dtype]))
    )
    flat_m = m.ndim == 1
    X = rows(m, dtype, rowvar, lambda x: not flat_m)
    if X.shape[0] == 0:
        return np.reshape(fresh(cast_to(value_of(np.zeros(0)), np.dtype(np.float64))), (0, 0))
    if dtype.kind in "biu":
        raise casting_error("subtract", np.dtype(np.float64), dtype, "same_kind")
    if y is not None:
        X = np.concatenate((X, rows(y, dtype, rowvar, lambda x: x.shape[0] != 1)), axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    w = None
    if fweights is not None:
        must(
            np.equal(fweights, np.rint(fweights)) if dtype_of(fweights).kind == "f" else True,
            TypeError,
            "fweights must be integer",
        )
        w = observation_weights(fweights, X.shape[1], "fweights")
    if aweights is not None:
        wa = observation_weights(aweights, X.shape[1], "aweights")
        w = wa if w is None else w * wa
    mean, total = average(X, axis=1, weights=w, returned=True)
    total = total[0]
    if w is None:
        freedom = float(max(X.shape[1] - ddof, 0))
    else:
        freedom = total if ddof == 0 else total - ddof if aweights is None else total - ddof * np.sum(w * wa) / total
        freedom = np.maximum(freedom, 0.0)
    X = (X - mean[:, None]).astype(X.dtype)
    c = np.matmul(X, np.conjugate(X if w is None else X * w).T)
    return np.squeeze((c * np.true_divide(1, fresh(cast_to(value_of(freedom), np.dtype(np.float64))))).astype(c.dtype))


@implements(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    """Covariances divided by both standard deviations, clipped to [-1, 1]."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    deviation = np.sqrt(np.diagonal(c).real)
    c = c / deviation[:, None] / deviation[None, :]
    clipped = np.clip(c.real, -1, 1)
    return clipped if c.dtype.kind != "c" else clipped + 1j * np.clip(c.imag, -1, 1)
