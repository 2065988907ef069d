"""Arrays made while tracing: NumPy's functions of creation give traced arrays, into which traced values can be
stored."""

import array
import types

import numpy as np

from ...ir.types import SHORT
from ..common.emit import constant_of, counted
from ..common.errors import ConcretizationError, UnsupportedError, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards.static_arguments import is_getter
from ..numpy_api.extents import making
from ..numpy_api.handles import handle, is_traced, laid_out
from ..numpy_api.registry import HANDLERS, call_function
from ..values.array import Traced, TracedScalar, fresh
from ..values.outermost import concrete_number
from ..values.promote import is_device_array
from ..values.storage import current_trace
from .builtins import REPLACED, replaces
from .foreign import hooked
from .special import ArrayInterface, looked_up
from .user_functions import user


def lifted(made):
    """A plain array that was just made, as a traced one, so that traced values can be stored into it."""
    if isinstance(made, tuple | list):
        return type(made)(map(lifted, made))
    if (
        type(made) is not np.ndarray
        or made.dtype.name not in SHORT
        or not made.dtype.isnative
        or not made.flags.writeable
    ):
        return made
    value = (
        constant_of(made)
        if made.size <= 1 or made.strides == (0,) * made.ndim or uniform(made)
        else current_trace().constant(made)
    )
    return fresh(value) if made.flags.c_contiguous else laid_out(value, np.empty_like(made))


def uniform(array):
    first = array.flat[0]
    return bool((array == first).all()) and (
        first != 0 or not np.signbit(array).any() if array.dtype.kind == "f" else array.dtype.kind in "iub"
    )


def with_inputs(x):
    """Nested lists with their plain arrays as captured ones: those may change between calls."""
    if isinstance(x, list | tuple):
        return type(x)(map(with_inputs, x)) if type(x) in (list, tuple) else x
    return handle(x) if type(x) is np.ndarray and x.dtype.name in SHORT else x


def memory_of(x):
    """An object that has or makes an array, as that array, which is read again at every call; anything else as it
    is."""
    kind = type(x)
    if (
        kind in (list, tuple, str, bytes)
        or isinstance(x, Traced | np.ndarray | np.generic | int | float | complex | type)
        or is_device_array(x)
    ):
        return x
    looked_up(kind, "__array__")
    make = getattr(kind, "__array__", None)
    if type(make) is types.FunctionType and is_user(make.__code__):
        return user(make)(x)
    if make is not None:
        text = f"a {kind.__name__} becomes an array while tracing: what it makes may be another at the next call"
        raise UnsupportedError(message(text, locate(), "Make it outside, and pass the array."))
    told = getattr(kind, "__array_interface__", None)
    if is_getter(told):
        looked_up(kind, "__array_interface__")
        found = user(told.fget)(x)
        if type(found) is ArrayInterface:
            return found.array
        text = f"{kind.__name__}.__array_interface__ says what it is by a dict, whose memory is not known to a trace"
        raise UnsupportedError(message(text, locate(), "Pass the array."))
    if hasattr(kind, "__buffer__") or hasattr(x, "__array_interface__") or isinstance(x, BUFFERS):
        return np.asarray(x)
    return x


BUFFERS = (bytearray, memoryview, array.array)


def settled(x):
    """Sizes and bounds that are traced but known, as plain numbers."""
    if isinstance(x, list | tuple) and type(x) in (list, tuple):
        return type(x)(map(settled, x))
    if isinstance(x, TracedScalar) and x.known() is not None:
        return x.known()[()].item() if x.weak else x.known()[()]
    return x


def _creation(real):
    def stand_in(*args, **kwargs):
        if real in (np.ones, np.full):
            args = args or (kwargs.pop("shape"),)
            if is_traced(settled(args[0])):
                return making.sized(real, settled(args[0]), *args[1:], **kwargs)
        if real in HANDLERS and (is_traced(args) or is_traced(list(kwargs.values()))):
            return call_function(real, args, kwargs)
        return lifted(real(*map(hooked, map(settled, args)), **kwargs))

    return stand_in


def _conversion(real):
    def stand_in(x, *args, **kwargs):
        x = memory_of(x)
        if type(x) is np.ndarray and real is not np.array:
            made = real(x, *args, **kwargs)
            return made if made is x else call_function(real, (handle(x), *args), kwargs)
        x = with_inputs(x)
        return call_function(real, (x, *args), kwargs) if is_traced(x) else lifted(real(x, *args, **kwargs))

    return stand_in


for _f in (
    np.ones, np.full, np.linspace, np.logspace, np.geomspace, np.full_like, np.zeros_like, np.ones_like, np.empty_like,
):
    REPLACED[_f] = _creation(_f)


for _f in (np.diag, np.diagflat, np.tril, np.triu, np.meshgrid, np.indices, np.fromfunction, np.vander):
    REPLACED[_f] = _creation(_f)


for _f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.copy):
    REPLACED[_f] = _conversion(_f)


def static_size(x):
    """A size, which must be known: NumPy would take a traced number for no number at all."""
    x = settled(x)
    found = concrete_number(x) if isinstance(x, TracedScalar) else None
    if found is not None:
        return found
    if is_traced(x):
        text = "a shape depends on data: how large the array is would be known only when the program runs"
        hint = (
            "Make it as large as it can get and keep the count beside it: ys = np.zeros(len(x));\nor pass the size as "
            "an int, which is static."
        )
        raise ConcretizationError(message(text, locate(), hint))
    return x


def _sized(real):
    """Creation from sizes alone, which must be known, or bounded where `making` says so."""

    def stand_in(*args, **kwargs):
        args, kwargs = tuple(map(settled, args)), {k: settled(v) for k, v in kwargs.items()}
        if is_traced(args) or is_traced(list(kwargs.values())):
            if real is np.zeros:
                return making.sized(real, *((kwargs.pop("shape"),) if "shape" in kwargs else ()), *args, **kwargs)
            if real is np.eye or real is np.identity and len(args) == 1:
                return making.eye(*args, **kwargs)
        return lifted(real(*map(static_size, args), **{k: static_size(v) for k, v in kwargs.items()}))

    return stand_in


for _f in (np.zeros, np.eye, np.identity, np.tri, np.bartlett, np.blackman, np.hamming, np.hanning):
    REPLACED[_f] = _sized(_f)


@replaces(np.kaiser)
def kaiser(M, beta):
    M, beta = static_size(M), settled(beta)
    if not isinstance(beta, Traced) or M <= 1:
        return lifted(np.kaiser(M, 0.0 if isinstance(beta, Traced) else beta))
    alpha = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((np.arange(M) - alpha) / alpha) ** 2.0)) / np.i0(np.float64(1) * beta)


@replaces(np.empty)
def empty(*args, **kwargs):
    if is_traced([settled(x) for x in (*args, *kwargs.values())]):
        return REPLACED[np.zeros](*args, **kwargs)
    made = np.empty(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()})
    return lifted(np.zeros_like(made)) if made.dtype.name in SHORT else made


@replaces(np.ndarray)
def ndarray(*args, **kwargs):
    return (
        empty(*args, **kwargs)
        if not {"buffer", "offset", "strides"} & kwargs.keys() and len(args) < 3
        else np.ndarray(*args, **kwargs)
    )


@replaces(np.arange)
def arange(*args, **kwargs):
    args, kwargs = tuple(map(settled, args)), {k: settled(v) for k, v in kwargs.items()}
    if is_traced(args) or is_traced(list(kwargs.values())):
        return making.arange(*args, **kwargs)
    made = np.arange(*args, **kwargs)
    if len(args) == 1 and made.dtype == np.int64 and made.size > 1:
        return fresh(counted(made.shape))
    return lifted(made)
