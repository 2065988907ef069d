"""np.linalg's sizes of vectors and matrices: norms, condition, rank. At zero the derivative of a 2-norm is 0, one of
its subgradients."""

import numpy as np

from ...ir.ops.elementwise import gt, select
from ..values.array import TracedScalar, fresh, wrap
from .handles import handle
from .linalg import LinAlgError, dense, identity_like, matrices, svd
from .registry import implements
from .shaping import moveaxis

normalize_axis_index, normalize_axis_tuple = (
    np.lib.array_utils.normalize_axis_index,
    np.lib.array_utils.normalize_axis_tuple,
)


def squared(x):
    """|x|^2, real."""
    return (np.conj(x) * x).real


def root(total):
    """The square root of a sum of squares; where that is 0, so is its derivative."""
    value = total.value
    size = select(gt(value, 0.0), np.sqrt(total).value, value)
    return TracedScalar(size) if isinstance(total, TracedScalar) else fresh(size)


@implements(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = handle(x)
    x = x if np.issubdtype(x.dtype, np.inexact) else x.astype(float)
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        total = root(np.sum(squared(x)))
        return total.reshape((1,) * x.ndim) if keepdims else total
    if axis is None:
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        try:
            axis = (int(axis),)
        except Exception as error:
            raise TypeError("'axis' must be None, an integer or a tuple of integers") from error
    if len(axis) == 1:
        normalize_axis_index(axis[0], x.ndim)
        return vector_sizes(x, ord, axis[0], keepdims)
    if len(axis) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = (normalize_axis_index(a, x.ndim) for a in axis)
    if row == column:
        raise ValueError("Duplicate axes given.")
    total = matrix_sizes(moveaxis(x, (row, column), (-2, -1)), ord)
    return total.reshape([1 if d in (row, column) else n for d, n in enumerate(x.shape)]) if keepdims else total


def vector_sizes(x, ord, axis, keepdims):
    over = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return root(np.sum(squared(x), **over))
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord == np.inf:
        return np.max(np.abs(x), **over, initial=0)
    if ord == -np.inf:
        return np.min(np.abs(x), **over)
    if ord == 0:
        return np.sum((x != 0).astype(x.real.dtype), **over)
    if ord == 1:
        return np.sum(np.abs(x), **over)
    return np.sum(np.abs(x) ** ord, **over) ** np.reciprocal(ord, dtype=x.real.dtype)


def matrix_sizes(x, ord):
    if ord in (None, "f", "fro"):
        return root(np.sum(squared(x), axis=(-2, -1)))
    if ord in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(x), axis=-2 if abs(ord) == 1 else -1)
        return np.max(sums, axis=-1, initial=0) if ord > 0 else np.min(sums, axis=-1)
    if ord in (2, -2, "nuc"):
        s = svd(x, compute_uv=False)
        return np.max(s, axis=-1, initial=0) if ord == 2 else np.min(s, axis=-1) if ord == -2 else np.sum(s, axis=-1)
    raise ValueError("Invalid norm order for matrices.")


@implements(np.linalg.matrix_norm)
def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = handle(x)
    if axis is not None and not isinstance(axis, tuple) and not keepdims:
        return norm(x, ord, axis)
    axes = normalize_axis_tuple(range(x.ndim) if axis is None else axis, x.ndim)
    rest = [d for d in range(x.ndim) if d not in axes]
    flat = np.transpose(x, (*axes, *rest)).reshape(
        (int(np.prod([x.shape[d] for d in axes], dtype=object)), *[x.shape[d] for d in rest])
    )
    total = norm(flat, ord, 0)
    return total.reshape([1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else total


@implements(np.linalg.cond)
def cond(x, p=None):
    x = handle(x)
    if x.size == 0 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        ratio = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        m = fresh(matrices(x))
        ratio = norm(m, p, (-2, -1)) * norm(fresh(dense.solve(m.value, identity_like(m.value))), p, (-2, -1))
        ratio = np.where(regular(m), ratio, np.nan)
    known = ~np.any(np.isnan(x), axis=(-2, -1))
    out = np.where(np.logical_and(np.isnan(ratio), known), np.inf, ratio)
    return wrap(out.value)


def regular(m):
    """Whether no pivot of a matrix is zero."""
    packed = fresh(dense.lu(m.value)[0])
    return np.all(np.diagonal(packed, 0, -2, -1) != 0, axis=-1)


@implements(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = handle(A)
    if x.ndim < 2:
        return TracedScalar(np.any(x != 0).astype(np.int64).value, int)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        share = max(x.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
        tol = np.max(s, axis=-1, keepdims=True, initial=0) * share
    else:
        tol = np.asarray(tol)[..., None]
    return np.count_nonzero(s > tol, axis=-1)


