"""Views: how a window is read out of an array's value, and written back into it.

Each step knows four things: `apply` (the same step on a real ndarray: NumPy itself decides shape,
strides and IndexError), `get` (read), `put` (write), and its text. A view of a view is a chain.
"""

import numpy as np

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import TRUTH
from ...ir.ops.shape import reshape, transpose
from ...ir.setting import OF_ALL_SIZES
from ..common.emit import constant_of, index_start, spread_to
from .storage import current_trace

slice_, reverse, pad = OPS["slice"], OPS["reverse"], OPS["pad"]
dynamic_slice, dynamic_update_slice = OPS["dynamic_slice"], OPS["dynamic_update_slice"]


class Permute:
    """Axes in another order."""

    def __init__(self, perm):
        self.perm = tuple(perm)

    def apply(self, array):
        return np.transpose(array, self.perm)

    def text(self, x):
        return f"{x}.transpose{self.perm}"

    def get(self, x):
        return transpose(x, perm=self.perm)

    def put(self, x, new):
        return transpose(new, perm=tuple(self.perm.index(i) for i in range(len(self.perm))))


class Reshape:
    """The same elements in row-major order; made only where NumPy makes a view of the shadow."""

    rearranges = True

    def __init__(self, shape):
        self.shape = tuple(shape)

    def apply(self, array):
        return np.reshape(array, self.shape)  # of an argument in another memory order: a copy, as NumPy makes

    def text(self, x):
        return f"{x}.reshape({self.shape})"

    def get(self, x):
        return reshape(x, shape=self.shape)

    def put(self, x, new):
        return reshape(new, shape=x.type.shape)


class Repeat:
    """broadcast_to: readable, never writable."""

    def __init__(self, shape):
        self.shape = tuple(shape)

    def apply(self, array):
        return np.broadcast_to(array, self.shape)

    def text(self, x):
        return f"np.broadcast_to({x}, {self.shape})"

    def get(self, x):
        return spread_to(x, self.shape)


class Padded:
    """The array at the front of a larger one: what is written beyond it is lost, and nobody reads it."""

    def __init__(self, shape):
        self.shape = tuple(shape)

    def apply(self, array):
        return array  # the caller's side cuts what is meant out of it, which lies within the array

    def text(self, x):
        return x

    def get(self, x):
        high = tuple(n - m for n, m in zip(self.shape, x.type.shape))
        none = (0,) * x.type.ndim
        return pad(x, Lit(0, x.type.like(())), low=none, high=high, interior=none)

    def put(self, x, new):
        return slice_(new, start=(0,) * x.type.ndim, stop=x.type.shape, stride=(1,) * x.type.ndim)


class ComplexPart:
    """real or imag of a complex array."""

    def __init__(self, part):
        self.part = part

    def apply(self, array):
        return getattr(array, self.part)

    def text(self, x):
        return f"{x}.{self.part}"

    def get(self, x):
        return OPS[self.part](x)

    def put(self, x, new):
        re, im = (new, OPS["imag"](x)) if self.part == "real" else (OPS["real"](x), new)
        return OPS["make_complex"](re, im)


class Diagonal:
    """The main diagonal of the last two axes (after `np.diagonal` moved them there); read-only in NumPy."""

    def __init__(self, offset, axis1, axis2):
        self.args = offset, axis1, axis2

    def apply(self, array):
        return np.diagonal(array, *self.args)

    def text(self, x):
        return f"np.diagonal({x}, {', '.join(map(str, self.args))})"

    def get(self, x):
        offset, a, b = self.args
        n, m = x.type.shape[a], x.type.shape[b]
        count = max(min(n + min(offset, 0), m - max(offset, 0)), 0)
        rest = [i for i in range(x.type.ndim) if i not in (a % x.type.ndim, b % x.type.ndim)]
        x = transpose(x, perm=(*rest, a % x.type.ndim, b % x.type.ndim))
        shape = tuple(x.type.shape[:-2])
        # element k of the diagonal lies (m + 1) k from the first, in the flattened matrix
        flat = reshape(x, shape=(*shape, n * m))
        start = max(offset, 0) + max(-offset, 0) * m
        if count == 0:
            return reshape(
                slice_(flat, start=(0,) * flat.type.ndim, stop=(*shape, 0), stride=(1,) * flat.type.ndim),
                shape=(*shape, 0),
            )
        stop = start + (count - 1) * (m + 1) + 1
        lead = (0,) * len(shape)
        return slice_(flat, start=(*lead, start), stop=(*shape, stop), stride=(*(1 for _ in lead), m + 1))


class IndexView:
    """Basic indexing: one entry an axis of the operand, then the shape after dropped and new axes.

    axes: per operand axis a static `(start, count, step)` or a traced start and a static length `(Value, count, None)`.
    """

    def __init__(self, axes, shape, key):
        self.axes, self.shape, self.key = tuple(axes), tuple(shape), key

    def apply(self, array):
        return array[self.key]

    def text(self, x):
        return f"{x}[{', '.join(map(spelled, self.key))}]"

    @property
    def dynamic(self):
        return any(isinstance(start, Value) for start, _, _ in self.axes)

    def _window(self, x):
        """x cut along its traced axes, and the static axes that remain to be cut."""
        starts = [index_start(current_trace().bring(s) if isinstance(s, Value) else 0) for s, _, _ in self.axes]
        sizes = tuple(count if isinstance(s, Value) else n for (s, count, _), n in zip(self.axes, x.type.shape))
        static = [(0, a[1], 1) if isinstance(a[0], Value) else a for a in self.axes]
        return starts, sizes, static

    def get(self, x):
        static = self.axes
        if self.dynamic:
            starts, sizes, static = self._window(x)
            x = dynamic_slice(x, *starts, sizes=sizes)
        return _fit(_read(x, static), self.shape)

    def put(self, x, new):
        cut = tuple(count for _, count, _ in self.axes)
        new = _fit(new, cut)
        if self.dynamic:
            starts, sizes, static = self._window(x)
            if cut != sizes:
                new = _write(dynamic_slice(x, *starts, sizes=sizes), static, new)
            return dynamic_update_slice(x, new, *starts)
        return _write(x, self.axes, new)


def dynamic(chain):
    """Whether data decide where a window lies."""
    return any(isinstance(step, IndexView) and step.dynamic for step in chain)


def spelled(k):
    """One part of a static key."""
    if isinstance(k, slice):
        start, stop = ("" if p is None else p for p in (k.start, k.stop))
        return f"{start}:{stop}" + ("" if k.step is None else f":{k.step}")
    return "..." if k is Ellipsis else str(k)


def _fit(x, shape):
    return x if x.type.shape == tuple(shape) else reshape(x, shape=tuple(shape))


def _bounds(axes):
    """Ascending (start, stop, stride) of every axis, and the axes that run backwards."""
    start, stop, stride, back = [], [], [], []
    for a, (first, count, step) in enumerate(axes):
        if step < 0 and count > 1:
            back.append(a)
            first, step = first + (count - 1) * step, -step
        step = max(step, 1) if count > 1 else 1
        first = first if count else 0
        start.append(first)
        stop.append(first + (count - 1) * step + 1 if count else first)
        stride.append(step)
    return tuple(start), tuple(stop), tuple(stride), tuple(back)


def _read(x, axes):
    start, stop, stride, back = _bounds(axes)
    if (start, stop, stride) != ((0,) * x.type.ndim, x.type.shape, (1,) * x.type.ndim):
        x = slice_(x, start=start, stop=stop, stride=stride)
    return reverse(x, axes=back) if back else x


def _write(x, axes, new):
    start, stop, stride, back = _bounds(axes)
    if back:
        new = reverse(new, axes=back)
    if new.type.shape == x.type.shape:
        return new
    if new.type.size == 0:
        return x
    if all(s == 1 for s in stride):
        return dynamic_update_slice(x, new, *(index_start(s) for s in start))
    # strided: spread the new elements to their places, and choose them by a static mask
    high = tuple(n - b for n, b in zip(x.type.shape, stop))
    places = {"low": start, "high": high, "interior": tuple(s - 1 for s in stride)}
    placed = pad(new, Lit(0, new.type.like(())), **places)
    if not OF_ALL_SIZES.get():
        mask = np.zeros(x.type.shape, bool)
        mask[tuple(np.s_[a:b:c] for a, b, c in zip(start, stop, stride))] = True
        mask = constant_of(mask)
    else:  # of all sizes it is made in the program
        mask = pad(Lit(True, new.type.like(dtype=bool)), Lit(False, TRUTH), **places)
    return OPS["select"](mask, placed, x)
