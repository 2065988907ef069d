"""Matrices of scipy.sparse from outside, where captured code multiplies them with what is traced."""

from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import is_traced
from ..values.array import Traced
from ..values.sparse_matrix import SparseMatrix, format_of
from ..values.storage import current_trace
from .convert import CELL


def of_sparse(name, mirror, a, b):
    """What a matrix of SciPy's, or one made of traced values, gives with another operand; NotImplemented where neither
    is one, and where nothing is traced."""
    left, right = type(a), type(b)
    if left is not SparseMatrix and right is not SparseMatrix and format_of(left) is format_of(right) is None:
        return NotImplemented
    a, b = (x if not is_outside(x) or not is_open(other) else seen_matrix(x) for x, other in ((a, b), (b, a)))
    if type(a) is SparseMatrix:
        return getattr(a, name, a._left)(b)
    return getattr(b, mirror, b._left)(a) if type(b) is SparseMatrix else NotImplemented


def is_outside(x):
    """Whether a value is a matrix that SciPy has made, in a format that a trace knows."""
    return format_of(type(x)) is not None and len(x.shape) == 2


def is_open(x):
    return type(x) is SparseMatrix or is_traced([x])


def seen_matrix(x):
    """What stands for a matrix of SciPy's in a trace: its arrays are read as those of any object."""
    read, form = CELL.cell_contents.attribute, format_of(type(x))
    if form == "coo":
        coords = read(x, "coords")
        arrays = read(x, "data"), CELL.cell_contents.item(coords, 0), CELL.cell_contents.item(coords, 1)
    else:
        arrays = read(x, "data"), read(x, "indices"), read(x, "indptr")
    return SparseMatrix(type(x), read(x, "_shape"), form, arrays)


def matrix_made(kind, otherwise, /, *args, **kwargs):
    """`kind(*args, **kwargs)`, a matrix of SciPy's: of traced arrays (data, (row, col)), or (data, indices, indptr)."""
    if not any(isinstance(x, Traced) for x in pytree.leaves((args, kwargs))):
        return otherwise(*args, **kwargs)
    form = format_of(kind)
    given, shape = args[0] if len(args) == 1 else None, kwargs.get("shape")
    if type(given) is tuple and shape is not None and len(kwargs) == 1:
        if len(given) == 2 and type(given[1]) is tuple and len(given[1]) == 2:
            return SparseMatrix(kind, shape, "coo", (given[0], *given[1]))
        if len(given) == 3 and form != "coo":
            return SparseMatrix(kind, shape, form, given)
    text = f"{kind.__name__}() of traced values takes arrays and a shape"
    hint = f"Write {kind.__name__}((data, (row, col)), shape=(m, n)), or the arrays of that format."
    raise UnsupportedError(message(text, locate(), hint))


def of_matrix(x):
    """What to ask for an attribute that is SETTLED: of a matrix of SciPy's in a trace, what stands for it."""
    if current_trace() is None or not is_outside(x):
        return x
    return seen_matrix(x)
