"""NumPy's functions and classes that ask no protocol: those with a meaning on traced values get it here, the others say
what to write.

`np.polynomial` and `np.emath` are Python functions of NumPy's: on traced values they are traced through, as the user's
are.
"""

import copy
import os
import types

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle, is_traced
from ..numpy_api.registry import HANDLERS, call_function
from ..values.array import TracedArray
from ..values.storage import current_trace
from .builtins import REPLACED, replaces
from .convert import convert
from .foreign import ADVICE, hooked

HOME = os.path.dirname(np.__file__)
# files that are traced through
OWN = (os.path.join(HOME, "polynomial") + os.sep, os.path.join(HOME, "lib", "_scimath_impl.py"))


def traced_through(code):
    """Whether a function of NumPy's own is traced by its source."""
    return code.co_filename.startswith(OWN)


def numpy_source_call(f):
    """What is called in place of a function of NumPy's that has a source of this kind; f itself for all others."""
    if not traced_through(f.__code__):
        return f
    return lambda *args, **kwargs: (convert(f) if is_traced([*args, *kwargs.values()]) else f)(*args, **kwargs)


def by_source(function):
    """The Python function behind one that dispatches, with hooks, or None."""
    found = getattr(function, "__wrapped__", None)
    return convert(found) if hasattr(found, "__code__") and traced_through(found.__code__) else None


# -- memory of others ------------------------------------------------------------------------------


def on_traced(real):
    """Register what stands for `real` where its first argument is traced."""

    def register(stand_in):
        REPLACED[real] = lambda x, *args, **kwargs: (stand_in if is_traced(x) else real)(x, *args, **kwargs)
        return stand_in

    return register


@on_traced(np.from_dlpack)
def from_dlpack(x, /, *, device=None, copy=None):
    """The same memory, or a copy of it."""
    if device not in (None, "cpu"):
        raise with_note(
            ValueError, message(f'Device not understood. Only "cpu" is allowed, but received: {device}', locate())
        )
    return x.copy() if copy else handle(x)[...]


@on_traced(np.frombuffer)
def frombuffer(x, dtype=float, count=-1, offset=0):
    """The same memory as a row."""
    if type(x) is not TracedArray or not x.shadow.flags.c_contiguous:
        raise with_note(ValueError, message("ndarray is not C-contiguous", locate()))
    row = x.reshape(-1).view(np.dtype(dtype))
    start, rest = divmod(offset, row.itemsize)
    if rest:
        raise UnsupportedError(message("np.frombuffer begins inside an element of a traced array", locate()))
    if count != -1 and start + count > row.size:
        raise with_note(ValueError, message("buffer is smaller than requested size", locate()))
    return row[start:] if count == -1 else row[start : start + count]


NEEDS = {n: n[0] for n in "C C_CONTIGUOUS CONTIGUOUS A ALIGNED W WRITEABLE O OWNDATA E ENSUREARRAY".split()}
NEEDS |= dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F")


@on_traced(np.require)
def require(a, dtype=None, requirements=None, *, like=None):
    wanted = {NEEDS[r.upper()] for r in requirements or ()}
    if "O" in wanted:
        text = "np.require of OWNDATA is not captured on traced values"
        raise UnsupportedError(message(text, locate(), "Write x.copy() for memory of its own."))
    if {"C", "F"} <= wanted:
        raise with_note(ValueError, message('Cannot specify both "C" and "F" order', locate()))
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    out = call_function(np.asarray, (a,), {"dtype": dtype, "order": order})
    if "A" in wanted:
        current_trace().rely_on_layout(out.storage, row=True)
    return out if out.writeable or "W" not in wanted else out.copy(order)


@on_traced(np.asarray_chkfinite)
def asarray_chkfinite(a, dtype=None, order=None):
    a = call_function(np.asarray, (a,), {"dtype": dtype, "order": order})
    if a.dtype.kind in "fc":
        current_trace().check(
            np.all(np.isfinite(a)).value, ValueError, message("array must not contain infs or NaNs", locate())
        )
    return a


# -- what is not there -----------------------------------------------------------------------------

MATRIX = "Use arrays: a @ b is their product, np.block joins them."
MASKED = "Keep the mask beside the array: x.mean(where=~mask), np.where(mask, fill, x)."
MASKS = [
    f
    for f in map(np.ma.__dict__.get, np.ma.__all__)
    if isinstance(f, type | types.FunctionType) and f.__module__.startswith("numpy.ma")
]
SERIES = [
    np.polynomial.Polynomial, np.polynomial.Chebyshev, np.polynomial.Legendre, np.polynomial.Laguerre,
    np.polynomial.Hermite,
]
CHECKS = [
    np.format_float_positional,
    np.format_float_scientific,
    np.testing.assert_allclose,
    np.testing.assert_array_equal,
]
STEPS = "Write `for v in x.flat`, `for i, v in np.ndenumerate(x)`, or `for i in np.ndindex(x.shape)`."
# functions and classes, what they make, what to write instead
ABSENT = [
    ((np.matrix, np.asmatrix, np.bmat), "matrices, whose operators mean other things", MATRIX),
    (MASKS, "masked arrays", MASKED),
    (
        (np.rec.fromarrays, np.rec.array, np.rec.fromrecords),
        "records",
        "Keep the fields as arrays, in a dict or a tuple.",
    ),
    ((np.nditer, np.nested_iters), "iterators over memory", STEPS),
    ((np.longdouble, np.clongdouble), "extended precision, which no compiled program has", "Use np.float64."),
    ((np.timedelta64,), "dates", "Convert them to numbers."),
    ((np.longlong, np.ulonglong), "numbers of a type apart from np.int64", "Use np.int64, which has the same numbers."),
    ((np.poly1d,), "an object of coefficients", "np.polyval(p, x), np.polymul(p, q) take them as arrays."),
    (SERIES, "an object of coefficients", "np.polynomial.polynomial.polyval(x, c) and its like take them as arrays."),
    ((np.object_,), "Python objects", "Keep the number."),
    (
        (np.lib.stride_tricks.as_strided,),
        "windows of memory without bounds",
        "np.lib.stride_tricks.sliding_window_view(x, shape) has windows.",
    ),
    ((np.lib.array_utils.byte_bounds, np.ctypeslib.as_ctypes), "addresses", "A traced array has none."),
    (CHECKS, "something of the numbers themselves", "Do it outside the compiled function."),
]


def absent(real, what, instead):
    home = (
        real.__module__.replace("numpy", "np", 1).replace("np.ma.core", "np.ma").replace("_impl", "").replace("._", ".")
    )
    name = f"{home}.{real.__name__}"

    def stand_in(*args, **kwargs):
        if is_traced([*args, *kwargs.values()]):
            raise UnsupportedError(message(f"{name} {what}, and is not captured on traced values", locate(), instead))
        return real(*args, **kwargs)

    return stand_in


REPLACED |= {f: absent(f, f"makes {what}", instead) for functions, what, instead in ABSENT for f in functions}


@replaces(np.datetime64)
def datetime64(*args, **kwargs):
    if args and args[0] in ("now", "today"):
        text = (
            f"np.datetime64({args[0]!r}) gives another answer each time; traced, it would be asked once for all calls"
        )
        raise UnsupportedError(message(text, locate(), ADVICE))
    return DATES(*args, **kwargs)


def with_hooks(vectorized):
    """An np.vectorize whose function has hooks."""
    made = copy.copy(vectorized)
    made.pyfunc = hooked(made.pyfunc)
    return made


DATES = absent(np.datetime64, "makes dates, which no compiled program has", "Convert them to numbers.")


def numpy_object_call(f):
    """What is called in place of an object of NumPy's that is a function: None for all others."""
    kind = type(f)
    if kind is np.vectorize:
        return lambda *args, **kwargs: (HANDLERS[kind](f) if is_traced([*args, *kwargs.values()]) else with_hooks(f))(
            *args, **kwargs
        )
    return absent(f, "makes masked arrays", MASKED) if kind.__module__ == "numpy.ma.core" else None
