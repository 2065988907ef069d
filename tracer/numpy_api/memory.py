"""What an ndarray shows of its memory: other dtypes, real and imaginary parts, flat order, flags and strides."""

import numpy as np

from ..common.emit import cast_to, reshape_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import Traced, TracedArray, TracedScalar, fresh
from ..values.gathering import misfit
from ..values.identity import set_flags, share
from ..values.indexing import stored
from ..values.promote import checked
from ..values.storage import current_trace
from ..values.views import ComplexPart, Reshape
from .handles import handle
from .registry import implements
from .shaping import ravel, resize, swapaxes, transpose
from .steps import Bits
from .ufunc_calls import weak_kind

# -- another dtype ---------------------------------------------------------------------------------


@implements(method="view")
def view(x, dtype=None, type=None):
    """ndarray.view(dtype): the same memory read as another dtype."""
    if isinstance(x, TracedScalar):
        return TracedScalar(view(handle(x), dtype, type).value)
    if dtype is np.ndarray or dtype is None and type in (None, np.ndarray):
        return x[...]
    if type is not None or dtype in np.ndarray.__subclasses__():
        raise UnsupportedError(message("views as subclasses of ndarray are not captured", locate()))
    dtype = checked(np.dtype(dtype))
    if dtype == x.dtype:
        return x[...]
    x.shadow.view(dtype)  # NumPy's own words where sizes do not fit
    if not Bits.possible(x.dtype, dtype):
        hint = "Captured are views as a dtype of the same width, and of complex numbers as pairs of floats."
        raise UnsupportedError(message(f"an array of {x.dtype} cannot be viewed as {dtype}", locate(), hint))
    return x.window(Bits(dtype))


# -- parts -----------------------------------------------------------------------------------------


@implements(np.real)
def real(val):
    return complex_part(val if isinstance(val, Traced) else handle(val), "real")


@implements(np.imag)
def imag(val):
    return complex_part(val if isinstance(val, Traced) else handle(val), "imag")


def complex_part(x, name):
    """x.real or x.imag: views of a complex array; of a real one itself, and zeros."""
    if type(x) is TracedArray:
        if x.dtype.kind == "c":
            return x.window(ComplexPart(name))
        return x if name == "real" else zeros(x)
    weak = {complex: float, bool: int}.get(x.weak, x.weak)
    value = complex_part(fresh(x.value), name).value
    return TracedScalar(cast_to(value, np.dtype(np.int64)) if x.weak is bool else value, weak)


def zeros(x):
    out = np.zeros_like(x)
    out.storage.readonly = True
    return out


def set_real(x, value):
    real(x)[...] = value


def set_imag(x, value):
    if x.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    imag(x)[...] = value


def transposed(x):
    return transpose(x)


def matrix_transposed(x):
    if x.ndim < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return swapaxes(x, -1, -2)


# -- attributes ------------------------------------------------------------------------------------


class Flat:
    """x.flat: the elements in row-major order, read and written through the array."""

    def __init__(self, x):
        self.base = x

    def _line(self):
        return fresh(reshape_to(self.base.value, (self.base.size,)))

    def __len__(self):
        return self.base.size

    def __iter__(self):
        return iter(self.series())

    def series(self):
        """The elements as an array to go through: of one that lies so in memory a view, as NumPy's iterator is one."""
        return self.base.reshape(-1) if self.base.shadow.flags.c_contiguous else self._line()

    def __getitem__(self, key):
        out = self._line()[flat_index(key, self.base.size)]
        return fresh(out.value) if type(out) is TracedArray else out

    def __setitem__(self, key, value):
        """The values are used in turn, as often as there are places for them."""
        if isinstance(key, tuple) and not key:
            raise with_note(
                IndexError, message("Assigning to a flat iterator with a 0-D index is not supported", locate())
            )
        line, key = self._line(), flat_index(key, self.base.size)
        single = isinstance(key, int | np.integer | TracedScalar)
        if not single and (isinstance(value, np.generic) or type(value) is TracedScalar and value.weak is None):
            # cast like the elements of arrays, whatever it is
            value = fresh(stored(value, self.base.dtype, whole=False))
        values = ravel(fresh(stored(value, self.base.dtype)) if isinstance(value, list | tuple) else value)
        if single and self.base.dtype.kind != "b" and getattr(value, "ndim", 0):
            raise with_note(ValueError, message("Error setting single item of array.", locate()))
        places = line[key]
        if weak_kind(value) is not None:
            line[key] = value
        elif values.size:
            line[key] = values[0] if values.size == 1 else resize(values, places.shape)
        if values.size:
            self.base.write(reshape_to(line.value, self.base.shape))

    def copy(self):
        return self._line()


def flat_index(key, size):
    """The one index that x.flat, of this size, takes, as an array's: IndexError for what NumPy does not take there."""
    if isinstance(key, tuple):
        if len(key) > 1:
            text = f"too many indices for flat iterator: flat iterator is 1-dimensional, but {len(key)} were indexed"
            raise with_note(IndexError, message(text, locate()))
        key = key[0] if key else ...
    if isinstance(key, Flat):
        return key.copy()
    if key is None or isinstance(key, str):
        text = "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid indices"
        raise with_note(IndexError, message(text, locate()))
    if isinstance(key, bool | np.bool_):
        return 0 if key else slice(0, 0)
    if isinstance(key, list) and key and all(isinstance(k, bool | np.bool_) for k in key):
        raise with_note(IndexError, message("boolean indices for iterators are not supported", locate()))
    if isinstance(key, np.ndarray | TracedArray) and key.dtype == bool and key.ndim == 1 and len(key) != size:
        raise with_note(IndexError, message(misfit(len(key), size, 0, "flat iterator"), locate()))
    if not isinstance(key, Traced) and np.asarray(key).dtype.kind == "f" and np.size(key):
        raise UnsupportedError(
            message(
                "floats as indices of x.flat, which NumPy is to take no longer, are not captured",
                locate(),
                "Use integers.",
            )
        )
    return key


def set_flat(x, value):
    Flat(x)[:] = value


def strides(x):
    current_trace().rely_on_layout(x.storage, row=True)
    return x.shadow.strides


def set_shape(x, shape):
    """`x.shape = ...`: the same memory in another shape, never a copy; NumPy judges on the shadow."""
    if x.storage.origin is not None and not x.chain:
        text = "x.shape = ... would change the shape of the caller's own array"
        raise UnsupportedError(message(text, locate(), "Work on a view: x = x.reshape(...)."))
    trial = x.shadow.view()
    trial.shape = shape
    seen = x.window(Reshape(trial.shape))
    x.chain, x.type, x._shadow = seen.chain, seen.type, seen._shadow


def flat_of_number(x):
    """A number's `flat`: that of an array that holds it."""
    return Flat(handle(x))


@implements(np.may_share_memory)
def may_share_memory(a, b, /, max_work=None):
    return share(a, b, np.may_share_memory if max_work in (None, 0) else np.shares_memory)


@implements(np.shares_memory)
def shares_memory(a, b, /, max_work=None):
    return share(a, b, np.may_share_memory if max_work == 0 else np.shares_memory)


implements(method="setflags")(set_flags)
