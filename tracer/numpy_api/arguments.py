"""What handlers do with their arguments: traced twins of np.asarray, of axes and of `out=`, and NumPy's own verdict.

`sample_of` gives a small real array of the same dtype and number of axes (each axis empty or of size one).
A handler first calls NumPy itself on it: that raises NumPy's own errors, and gives its result dtype.
"""

import operator
import warnings

import numpy as np

from ...ir.core import Lit
from ...ir.ops.shape import transpose
from ..common.emit import reshape_to
from ..common.errors import ConcretizationError, ShapeError, message, with_note
from ..common.frames import locate
from ..values.array import TracedArray, TracedScalar, fresh, wrap
from ..values.layout import laid_as
from ..values.promote import PYTHON_NUMBERS
from .handles import value_of
from .ufunc_calls import write_out

NOTHING = np._NoValue


def index_of(x, text):
    """operator.index(x); TypeError with NumPy's `text` for what is no integer. An int that keeps changing has to be
    known here, which its own error says."""
    try:
        return operator.index(x)
    except ConcretizationError:
        raise
    except TypeError:
        raise TypeError(text) from None


def traced(x):
    """np.asarray(x): an array, or where that has no axes a scalar, neither of them weak."""
    if isinstance(x, TracedArray):
        return x
    if isinstance(x, TracedScalar):
        return x if x.weak is None else TracedScalar(x.value)
    return wrap(value_of(x))


def weak_or_traced(x):
    """Python numbers as they are, weak; anything else by np.asarray."""
    return x if type(x) in PYTHON_NUMBERS or isinstance(x, TracedScalar) else traced(x)


def sample_of(x):
    """See the module."""
    return np.ones(tuple(min(n, 1) for n in x.shape), x.dtype)


def verdict(function, *args, **kwargs):
    """What NumPy says of stand-ins: its result, or its exception with the user's line."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)
    except (ValueError, TypeError, ZeroDivisionError, IndexError) as error:
        error.add_note(message("", locate()).lstrip())
        raise


def given(value, default=None):
    """A keyword, or its default where it was not given."""
    return default if value is NOTHING else value


def axes_of(axis, ndim):
    """Normalised axes, rising; all of them for None."""
    return tuple(range(ndim)) if axis is None else tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))


def axis_of(axis, ndim):
    return np.lib.array_utils.normalize_axis_index(axis, ndim)


def reduced_shape(shape, axes, keepdims=False):
    """`shape` after a reduction over `axes`."""
    return tuple(1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes)


def flat(x):
    """A value with one axis, in row-major order."""
    return reshape_to(x, (x.type.size,))


def last(x, axes):
    """A value with `axes` moved behind the others and merged into one."""
    others = [a for a in range(x.type.ndim) if a not in axes]
    perm = (*others, *axes)
    if perm != tuple(range(x.type.ndim)):
        x = Lit(x.value, x.type.like(x.type.shape[p] for p in perm)) if isinstance(x, Lit) else transpose(x, perm=perm)
    shape = x.type.shape[: len(others)]
    return reshape_to(x, (*shape, int(np.prod(x.type.shape[len(others) :], dtype=int))))


def castable_out(out, dtype, name):
    """`out` of a function that fills a buffer of its own dtype: NumPy asks that `out` may be cast to that, and then
    casts back."""
    if isinstance(out, TracedArray) and not np.can_cast(out.dtype, dtype, "safe"):
        raise with_note(
            TypeError,
            message(
                f"np.{name}: cannot cast array data from {out.dtype!r} to {dtype!r} according to the rule 'safe'",
                locate(),
            )
        )
    return out


def give(value, out=None, name="result", casting="unsafe", array=False, like=None):
    """A value as the result: wrapped, or stored into `out`, whose shape must be the same. like: an array that it lies
    as in memory."""
    out = out[0] if isinstance(out, tuple) else out
    if out is None and like is not None:
        return laid_as(value, [like])
    if out is None:
        return fresh(value) if array else wrap(value)
    if isinstance(out, TracedArray) and out.shape != value.type.shape:
        raise ShapeError(
            message(f"output parameter of np.{name} has shape {out.shape}, the result has {value.type.shape}", locate())
        )
    return write_out(name, out, value, casting=casting)
