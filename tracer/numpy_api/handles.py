"""What handlers share: any operand as an array handle, results in NumPy's kinds, and static gathers."""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.indexing import index_arrays
from ...ir.types import Tensor
from ..common.emit import INDEX, cast_to, constant_of, spread_to
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar, fresh
from ..values.layout import layout_storages
from ..values.promote import checked, nested_items, operand_as, read
from ..values.storage import Storage, current_trace
from ..values.weak import PythonInt

concatenate, slice_, reverse = OPS["concatenate"], OPS["slice"], OPS["reverse"]
RUNS = 6  # a static gather of at most so many evenly spaced runs is written as slices


def handle(x):
    """np.asanyarray: x itself if it is a traced array, else a new one holding it."""
    return x if type(x) is TracedArray else fresh(value_of(x))


def value_of(x, dtype=None):
    """The operand np.asarray(x, dtype) would be."""
    operand, key = read(x)
    if type(operand) is PythonInt:
        return operand.value if dtype is None else operand.given(np.dtype(dtype))
    if not isinstance(operand, Value | Lit):
        found = np.asarray(operand)
        operand = Lit(found, Tensor((), checked(found.dtype)))
    return operand if dtype is None else operand_as(operand, np.dtype(dtype))


def dtype_of(x):
    """The dtype of np.asarray(x): Python numbers count as the dtypes they become."""
    _, key = read(x)
    return WEAK_DTYPES.get(key, key)


def is_traced(x):
    """Whether x is traced, or a list or tuple with something traced in it."""
    return isinstance(x, Traced) or isinstance(x, list | tuple) and any(isinstance(i, Traced) for i in nested_items(x))


def as_given(x, result):
    """`result`, a scalar where x is a NumPy scalar: their methods give scalars back."""
    return TracedScalar(result.value) if type(x) is TracedScalar and x.weak is None and not result.shape else result


def laid_out(value, shadow, like=None):
    """A new array holding `value`, in memory as `shadow` is, which is as `like` lies."""
    out = TracedArray(Storage(value, current_trace()), (), None, shadow)
    if like is not None and len(out.type.shape) > 1:  # a new row lies as rows do
        out.storage.lies = layout_storages(like)
    return out


def stand_in(x):
    """An ndarray of x's shape and dtype that occupies no memory: for functions asked about shapes alone."""
    return np.broadcast_to(np.empty((), x.dtype), x.shape)


def joined(values, axis):
    """Values one after another along an axis."""
    values = [v for v in values if v.type.shape[axis]] or list(values[:1])
    return concatenate(*values, axis=axis) if len(values) > 1 else values[0]


def cut(x, axis, start, stop, step=1):
    """Elements start, start + step, ... before stop > start along an axis; step > 0."""
    n = x.type.shape[axis]
    if (start, stop, step) == (0, n, 1):
        return x
    if isinstance(x, Lit):
        return Lit(
            x.value, x.type.like(len(range(start, stop, step)) if d == axis else m for d, m in enumerate(x.type.shape))
        )
    low, high, steps = [0] * x.type.ndim, list(x.type.shape), [1] * x.type.ndim
    low[axis], high[axis], steps[axis] = start, max(start, stop), step
    return slice_(x, start=tuple(low), stop=tuple(high), stride=tuple(steps))


def picked(x, indices, axis):
    """np.take of static, non-negative indices: slices where they make few evenly spaced runs, else a gather."""
    indices = np.asarray(indices, INDEX)
    if isinstance(x, Lit) or not indices.size:
        return cut(x, axis, 0, 0) if not indices.size else spread_along(cut(x, axis, 0, 1), axis, len(indices))
    runs = evenly_spaced(indices)
    if runs is None:
        distinct = len(np.unique(indices)) == len(indices)
        return index_arrays(x, [(axis, constant_of(indices))], axis, mode="promise", unique=distinct)
    return joined([run_of(x, axis, *run) for run in runs], axis)


def evenly_spaced(indices):
    """[(first, count, step)] covering the indices, or None where there would be more than RUNS."""
    steps = np.diff(indices)
    runs, at = [], 0
    while at < len(indices):
        if len(runs) == RUNS:
            return None
        if at == len(indices) - 1:
            runs.append((int(indices[at]), 1, 1))
            break
        changes = np.nonzero(steps[at:] != steps[at])[0]
        count = (int(changes[0]) if len(changes) else len(steps) - at) + 1
        count = 1 if count == 2 and abs(steps[at]) > 1 else count
        runs.append((int(indices[at]), count, int(steps[at])))
        at += count
    return runs


def run_of(x, axis, first, count, step):
    """Elements first, first + step, ... `count` of them, along an axis."""
    if step == 0:
        return spread_along(cut(x, axis, first, first + 1), axis, count)
    last = first + (count - 1) * step
    part = cut(x, axis, min(first, last), max(first, last) + 1, abs(step) if count > 1 else 1)
    return reverse(part, axes=(axis,)) if step < 0 and count > 1 else part


def spread_along(x, axis, count):
    """x, of size one along an axis, repeated along it."""
    return spread_to(x, tuple(count if d == axis else n for d, n in enumerate(x.type.shape)))


def cast_like(x, y):
    return cast_to(x, y.type.dtype)
