"""View steps beyond slices and axes: another dtype, windows that overlap, and einsum's diagonals."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.indexing import take_along
from ..common.emit import INDEX, cast_to, counted, reshape_to, spread_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.views import Diagonal

add, and_, eq, select, transpose = (OPS[n] for n in ("add", "and", "eq", "select", "transpose"))
bitcast, concatenate, slice_, real, imag, make_complex = (OPS[n] for n in (
    "bitcast", "concatenate", "slice", "real", "imag", "make_complex",
))


class Bits:
    """The same memory as another dtype: of one width, or complex numbers as pairs of floats and back."""

    def __init__(self, dtype):
        self.dtype = dtype

    @staticmethod
    def possible(a, b):
        """Whether the bits of dtype `a` are read as `b` by ops: floats, integers and bool of one width, complex as its
        parts."""
        if a.kind == "c" or b.kind == "c":
            return {a.kind, b.kind} == {"c", "f"} and 2 * min(a.itemsize, b.itemsize) == max(a.itemsize, b.itemsize)
        return a.itemsize == b.itemsize

    def apply(self, array):
        return array.view(self.dtype)

    def text(self, x):
        return f"{x}.view(np.{self.dtype.name})"

    def get(self, x):
        return bits(x, self.dtype)

    def put(self, x, new):
        return bits(new, x.type.dtype)


def bits(x, dtype):
    have, shape = x.type.dtype, x.type.shape
    if have.kind == "c":
        parts = [reshape_to(f(x), (*shape, 1)) for f in (real, imag)]
        return reshape_to(concatenate(*parts, axis=len(shape)), (*shape[:-1], 2 * shape[-1]))
    if dtype.kind == "c":
        n = len(shape)
        pairs = reshape_to(x, (*shape[:-1], shape[-1] // 2, 2))
        whole = pairs.type.shape[:-1]
        parts = [slice_(pairs, start=(0,) * n + (k,), stop=(*whole, k + 1), stride=(1,) * (n + 1)) for k in (0, 1)]
        return make_complex(*[reshape_to(p, whole) for p in parts])
    if dtype.kind == "b":
        return OPS["ne"](x, Lit(0, x.type))
    if have.kind == "b":
        return cast_to(x, dtype)
    return bitcast(x, dtype=dtype)


class Windows:
    """np.lib.stride_tricks.sliding_window_view: element i of window w is element w + i; read-only."""

    def __init__(self, shape, axis):
        self.args = shape, axis

    def apply(self, array):
        return np.lib.stride_tricks.sliding_window_view(array, *self.args)

    def text(self, x):
        return f"np.lib.stride_tricks.sliding_window_view({x}, {self.args[0]}, {self.args[1]})"

    def get(self, x):
        shape, axis = self.args
        shape = tuple(shape) if np.iterable(shape) else (shape,)
        axes = (
            range(x.type.ndim)
            if axis is None
            else np.lib.array_utils.normalize_axis_tuple(axis, x.type.ndim, allow_duplicate=True)
        )
        for d, k in zip(axes, shape, strict=True):
            count = x.type.shape[d] - k + 1
            places = add(counted((count, k), 0, INDEX), counted((count, k), 1, INDEX))
            x = take_along(x, places, d, mode="promise")
            x = transpose(x, perm=(*(i for i in range(x.type.ndim) if i != d + 1), d + 1))
        return x


class Labelled:
    """einsum of one operand that sums nothing: axes of equal labels meet in their diagonal, the rest change places."""

    def __init__(self, labels, out):
        self.labels, self.out = tuple(labels), tuple(out)

    def apply(self, array):
        return np.einsum(array, self.labels, self.out)

    def text(self, x):
        return f"np.einsum({x}, {self.labels}, {self.out})"

    def get(self, x):
        x, labels = diagonals(x, self.labels)
        return arranged(x, labels, self.out)

    def put(self, x, new):
        first = [self.labels.index(label) for label in self.out]
        if any(x.type.shape[d] != n for d, n in zip(first, new.type.shape)):
            raise UnsupportedError(
                message("writing through a diagonal of axes of unequal lengths is not captured", locate())
            )
        order = sorted(range(len(first)), key=first.__getitem__)
        new = transpose(new, perm=tuple(order))
        spread = OPS["broadcast"](new, shape=x.type.shape, dims=tuple(sorted(first)))
        mask = None
        for d, label in enumerate(self.labels):
            if self.labels.index(label) != d:
                here = eq(counted(x.type.shape, self.labels.index(label)), counted(x.type.shape, d))
                mask = here if mask is None else and_(mask, here)
        return spread if mask is None else select(mask, spread, x)


def diagonals(x, labels):
    """x with every repeated label replaced by the diagonal over its axes -> (x, labels without repeats)."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            a = labels.index(label)
            b = labels.index(label, a + 1)
            x = Diagonal(0, a, b).get(x)
            labels = [other for d, other in enumerate(labels) if d not in (a, b)] + [label]
    return x, labels


def arranged(x, labels, out):
    """x with its axes, named by `labels`, in the order `out`; names x lacks become axes of size one."""
    perm = tuple(labels.index(label) for label in out if label in labels)
    if perm != tuple(range(len(perm))):
        x = transpose(x, perm=perm)
    sizes = iter(x.type.shape)
    return reshape_to(x, [next(sizes) if label in labels else 1 for label in out])


def spread_labels(x, labels, out, shape):
    """x broadcast to `shape`, whose axes are named `out`."""
    return spread_to(arranged(x, labels, out), tuple(shape))
