"""Matrices of scipy.sparse in a trace: their arrays are traced, and a product is a gather, a product and a sum by row.

A matrix among the arguments is a container of its arrays in the structure of a call, so one program serves all matrices
of as many entries; one from outside is read as any object is (`regions/sparse_operands.py`). Rows of which there are
several entries in one place, or none, are what they are to SciPy. What is not stated here is left to SciPy, by plain
Python.
"""

import functools
import sys
import weakref

import numpy as np

from ...backends.xla.dispatch import is_device_array
from ...ir.core import Lit, splat
from ...ir.ops import OPS
from ...ir.ops.indexing import put_arrays, take_along
from ..common import pytree
from ..common.emit import constant_of
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from .array import Traced, fresh
from .asked import refuse_all_sizes
from .storage import current_trace

STORED = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
TURNED = {"csr": "csc", "csc": "csr", "coo": "coo"}
# what a trace answers itself
SETTLED = frozenset(("shape", "T", "transpose", "dot", "toarray", "todense", "conj", "conjugate"))


@functools.lru_cache(256)
def format_of(kind):
    """"csr", "csc" or "coo" for the classes of scipy.sparse that a trace knows, None for all others."""
    found = kind.__name__.partition("_")[0] if str(kind.__module__).startswith("scipy.sparse.") else None
    return found if found in STORED and kind.__name__.endswith(("_array", "_matrix")) else None


def taken_apart(x):
    """A matrix of SciPy's as the container of its arrays; one that has more axes or fewer, as it is."""
    form = format_of(type(x))
    if len(x.shape) != 2 or x.data.ndim != 1:
        return x
    if form == "coo":
        arrays = x.data, *x.coords
    else:
        count = int(x.indptr[-1])  # there may be room for more
        arrays = *(a if len(a) == count else a[:count] for a in (x.data, x.indices)), x.indptr
    _given[id(arrays[0])] = x
    return SparseMatrix(type(x), x.shape, form, arrays)


def arrays_within(x, kind, shape):
    """The arrays of a matrix of SciPy's of this class and shape; None of anything else."""
    apart = taken_apart(x) if type(x) is kind and x.shape == shape else x
    return apart.arrays if type(apart) is SparseMatrix else None


_given = weakref.WeakValueDictionary()  # id of the entries -> the matrix that was taken apart


class SparseMatrix:
    """kind: the class it is of to the user; stored: the format of `arrays`, which are (data, indices, indptr), or
    (data, row, col)."""

    __slots__ = ("kind", "shape", "stored", "arrays")
    ndim = 2

    def __init__(self, kind, shape, stored, arrays):
        self.kind, self.shape, self.stored, self.arrays = kind, tuple(shape), stored, tuple(arrays)
        refuse_all_sizes("a sparse matrix tells its sizes unseen")

    @property
    def __class__(self):
        return self.kind

    @property
    def format(self):
        return format_of(self.kind)

    @property
    def dtype(self):
        return self.arrays[0].dtype

    def __getattr__(self, name):
        if self.stored == format_of(self.kind):
            if name in STORED[self.stored]:
                return self.arrays[STORED[self.stored].index(name)]
            if name == "coords" and self.stored == "coo":
                return self.arrays[1:]
            if name == "nnz":
                return self.arrays[0].shape[0]
        raise self.refused(f"is asked for {name}")

    def __setattr__(self, name, value):
        if name in SparseMatrix.__slots__:
            object.__setattr__(self, name, value)
        elif getattr(self, name) is not value:  # which `A.data *= 2` stores again
            raise self.refused(f"is given another {name}")

    def refused(self, what):
        text = f"a {self.kind.__name__} of traced values {what}, which is left to SciPy"
        return UnsupportedError(message(text, locate(), "Products with arrays and numbers, .T and sums are captured."))

    def _like(self, data):
        return SparseMatrix(self.kind, self.shape, self.stored, (data, *self.arrays[1:]))

    def _places(self, *axes):
        """The rows of the entries, their columns, as `axes` ask: values of the IR that are known to lie within."""
        return [self._across(axis) if self._is_major(axis) else self._within(axis) for axis in axes]

    def _is_major(self, axis):
        """Whether it is along an axis that the pointers count."""
        return self.stored == ("csr", "csc")[axis]

    def _within(self, axis):
        """Places along an axis, as they are stored."""
        held, n = self.arrays[1 + axis if self.stored == "coo" else 1], self.shape[axis]
        if held.shape[0]:
            self._demand(np.all((held >= 0) & (held < n)), "of entries")
        return value_in(held)

    def _across(self, axis):
        """Places along the axis that the pointers count: how many rows end before an entry is its row."""
        starts, count = self.arrays[2], self.arrays[0].shape[0]
        in_order = np.all(starts[1:] >= starts[:-1])
        self._demand(in_order & (starts[0] == 0) & (starts[-1] == count), "of rows or columns")
        ends = value_in(starts[1:])
        begun = put_arrays(Lit(0, ends.type.like((count + 1,))), [(0, ends)], splat(1, ends), "add", mode="promise")
        return value_in(fresh(OPS["cumsum"](begun, axis=0))[:-1])

    def _demand(self, held, what):
        text = f"the places {what} in a {self.kind.__name__} are none of the matrix"
        trace = current_trace()
        if trace is not None:
            trace.check(value_in(held), UnsupportedError, message(text, locate()))

    def _summed(self, shape, places, values):
        """Values added up where their places say."""
        values, places = value_in(values), list(enumerate(places))
        return fresh(put_arrays(Lit(0, values.type.like(shape)), places, values, "add", mode="promise"))

    def _operand(self, x):
        """An array that a product takes."""
        known = isinstance(x, Traced | np.ndarray) and x.dtype.kind in "iufc" and self.dtype.kind in "iufc"
        if not known or x.ndim not in (1, 2) or np.float16 in (x.dtype, self.dtype):
            raise self.refused(f"is multiplied by a {type(x).__name__}")
        return x

    def __matmul__(self, x):
        x = self._operand(x)
        if x.shape[0] != self.shape[1]:
            raise self.refused(f"of shape {self.shape} is multiplied by an array of shape {x.shape}")
        (rows, columns), data = self._places(0, 1), self.arrays[0]
        taken = fresh(take_along(value_in(x), columns, 0, mode="promise"))
        values = data * taken if x.ndim == 1 else data[:, None] * taken
        return self._summed((self.shape[0], *x.shape[1:]), [rows], values)

    def __rmatmul__(self, x):
        return (self.T @ self._operand(x).T).T

    def dot(self, x):
        """The product with an array, or with a number."""
        return self * x if is_factor(x) else self @ x

    @property
    def T(self):
        """The transposed matrix, of the same arrays."""
        turned = TURNED[format_of(self.kind)]
        kind = getattr(sys.modules["scipy.sparse"], turned + "_" + self.kind.__name__.partition("_")[2])
        data, *held = self.arrays
        arrays = (data, *(held[::-1] if self.stored == "coo" else held))
        return SparseMatrix(kind, self.shape[::-1], TURNED[self.stored], arrays)

    def transpose(self, axes=None, copy=False):
        if axes is not None or copy is not False:
            raise self.refused("is transposed into a copy")
        return self.T

    def __mul__(self, x):
        if is_factor(x):
            return self._like(self.arrays[0] * x)
        if self.kind.__name__.endswith("_matrix"):
            return self @ x
        raise self.refused(f"is multiplied by a {type(x).__name__} element by element")

    def __rmul__(self, x):
        if is_factor(x) or not self.kind.__name__.endswith("_matrix"):
            return self * x
        return x @ self

    def __truediv__(self, x):
        if not is_factor(x) or self.dtype.kind not in "fc":
            raise self.refused(f"is divided by a {type(x).__name__}")
        data = self.arrays[0]  # SciPy multiplies, by what a number is divided by: 0.0 raises, 32 bits become 64
        return self._like((data.astype(np.float64) if np.can_cast(data.dtype, np.float64) else data) * (1.0 / x))

    def __neg__(self):
        return self._like(-self.arrays[0])

    def conj(self, copy=True):
        """The conjugate."""
        return self._like(np.conj(self.arrays[0]))

    conjugate = conj

    def copy(self):
        return SparseMatrix(self.kind, self.shape, self.stored, [np.copy(x) for x in self.arrays])

    def sum(self, axis=None, dtype=None, out=None):
        """The sum over both axes, or over one."""
        if dtype is not None or out is not None or self.kind.__name__.endswith("_matrix") and axis is not None:
            raise self.refused("is summed so")
        if axis not in (None, 0, 1, -1, -2):
            raise self.refused(f"is summed over axis {axis!r}")
        wide = np.sum(np.ones(1, self.dtype)).dtype if self.dtype.kind in "iub" else self.dtype
        data = self.arrays[0].astype(wide)
        if axis is None:
            return data.sum()
        along = axis % 2
        return self._summed((self.shape[1 - along],), self._places(1 - along), data)

    def toarray(self, order=None, out=None):
        """The dense array."""
        if order is not None or out is not None:
            raise self.refused("is spread out so")
        return self._summed(self.shape, self._places(0, 1), self.arrays[0])

    def todense(self, order=None, out=None):
        if self.kind.__name__.endswith("_matrix"):
            raise self.refused("becomes a matrix of NumPy's")
        return self.toarray(order, out)

    def _left(self, *args, **kwargs):
        raise self.refused("is used otherwise")

    __len__ = __iter__ = __getitem__ = __setitem__ = __contains__ = __array__ = __bool__ = _left
    __add__ = __radd__ = __sub__ = __rsub__ = __pow__ = __rtruediv__ = __abs__ = __eq__ = __ne__ = _left
    __lt__ = __le__ = __gt__ = __ge__ = __deepcopy__ = __reduce_ex__ = _left
    __hash__ = object.__hash__
    __array_ufunc__ = None


def with_entries(matrix, leaves):
    """A matrix with other entries in the same places."""
    return matrix._like(*leaves)


def value_in(x):
    """An array of a matrix, or one that it meets, as a value of the IR."""
    return x.value if isinstance(x, Traced) else constant_of(np.asarray(x))


def is_factor(x):
    return isinstance(x, int | float | complex | np.number) or isinstance(x, Traced) and x.ndim == 0


def put_together(told, arrays):
    """A matrix of SciPy's around arrays, or what stands for it while these are traced."""
    kind, shape, stored = told
    if not all(isinstance(x, np.ndarray) or is_device_array(x) for x in arrays):
        return SparseMatrix(kind, shape, stored, arrays)
    data, *held = map(np.asarray, arrays)
    before = _given.get(id(data))
    if before is not None and before.data is data and is_made_of(before, kind, stored, shape, held):
        return before  # a function that returns its argument returns that object
    return kind((data, tuple(held)) if stored == "coo" else (data, *held), shape=shape)


def is_made_of(x, kind, stored, shape, held):
    """Whether a matrix of SciPy's is one of this class and shape around these arrays."""
    own = x.coords if stored == "coo" else (x.indices, x.indptr)
    return type(x) is kind and x.shape == shape and all(a is b for a, b in zip(own, held, strict=True))


class ArrayName:
    """The key of an array in the path of a leaf."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f".{self.name}"


def with_names(x):
    return tuple([(NAMES[name], a) for name, a in zip(STORED[x.stored], x.arrays)]), (x.kind, x.shape, x.stored)


NAMES = {name: ArrayName(name) for names in STORED.values() for name in names}
pytree.register_with_keys(
    SparseMatrix, with_names, put_together, lambda x: (x.arrays, (x.kind, x.shape, x.stored))
)
