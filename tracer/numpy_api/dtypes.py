"""Questions about dtypes, which are known while tracing, and bits packed into bytes."""

import operator

import numpy as np

from ...ir.ops import OPS
from ..common.emit import cast_to, constant_of, filled, reshape_to, spread_to
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.array import WEAK_DTYPES, Traced, fresh
from ..values.speculate import decide
from ..values.storage import current_trace
from .arguments import axis_of
from .handles import cut, handle, value_of
from .registry import implements
from .shaping import moveaxis


@implements(np.result_type)
def result_type(*arrays_and_dtypes):
    """Python numbers, traced or not, are weak; any zero of their type stands for them."""
    return np.result_type(*[promotion_operand(x) for x in arrays_and_dtypes])


def promotion_operand(x):
    if not isinstance(x, Traced):
        return x
    weak = getattr(x, "weak", None)
    return x.dtype if weak is None else WEAK_DTYPES[weak].type(0).item()


@implements(np.can_cast)
def can_cast(from_, to, casting="safe"):
    return np.can_cast(promotion_operand(from_), promotion_operand(to), casting)


@implements(np.common_type)
def common_type(*arrays):
    return np.common_type(*[np.empty(0, x.dtype) for x in arrays])


@implements(np.min_scalar_type)
def min_scalar_type(a, /):
    a = a if isinstance(a, Traced) else handle(a)
    if not a.ndim and a.dtype.kind != "b":
        raise UnsupportedError(
            message("np.min_scalar_type of a traced number depends on the number", locate(), "Use x.dtype.")
        )
    return a.dtype


@implements(np.real_if_close)
def real_if_close(a, tol=100):
    x = handle(a)
    if x.dtype.kind != "c":
        return x
    if tol > 1:
        tol = np.finfo(x.dtype).eps * tol
    close = np.all(np.absolute(x.imag) < tol)
    real = decide(close)
    if real is None:  # complex, then, which the program checks
        text = "np.real_if_close of a complex array is real here, in a place where data cannot choose a dtype"
        current_trace().check(
            (~close).value,
            UnsupportedError,
            message(text, locate(), "Use x.real where the imaginary part is known to vanish."),
        )
    return x.real if real else x


# -- bits ------------------------------------------------------------------------------------------

# place of each bit in its byte
ORDER = {"big": 7 - np.arange(8, dtype=np.uint8), "little": np.arange(8, dtype=np.uint8)}


@implements(np.unpackbits)
def unpackbits(a, /, axis=None, count=None, bitorder="big"):
    x = handle(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    x, axis = one_axis(x, axis)
    bytes_ = moveaxis(x, axis, -1).value
    shape = (*bytes_.type.shape, 8)
    places = spread_to(constant_of(bit_order(bitorder)), shape)
    shifted = OPS["shift_right"](spread_to(reshape_to(bytes_, (*shape[:-1], 1)), shape), places)
    bits = reshape_to(OPS["and"](shifted, filled(1, shape, np.uint8)), (*shape[:-2], shape[-2] * 8))
    last, n = bits.type.ndim - 1, bits.type.shape[-1]
    if count is not None:
        count = operator.index(count)
        if count < -n:
            raise ValueError("-count larger than number of elements")
        count = n + count if count < 0 else count
        bits = padded(cut(bits, last, 0, min(count, n)), count)
    return moveaxis(fresh(bits), -1, axis)


@implements(np.packbits)
def packbits(a, /, axis=None, bitorder="big"):
    x = handle(a)
    if x.dtype.kind not in "iub":
        raise TypeError("Expected an input array of integer or boolean data type")
    x, axis = one_axis(x, axis)
    bits = cast_to(value_of(moveaxis(x, axis, -1), bool), np.dtype(np.uint8))
    *lead, n = bits.type.shape
    shape = (*lead, -(-n // 8), 8)
    bits = reshape_to(padded(bits, shape[-2] * 8), shape)
    worth = spread_to(constant_of(np.left_shift(np.uint8(1), bit_order(bitorder))), shape)
    return moveaxis(fresh(OPS["reduce_sum"](OPS["mul"](bits, worth), axes=(len(shape) - 1,))), -1, axis)


def one_axis(x, axis):
    """x and the axis of its bits: all of it in a row for None."""
    axis = None if axis is None else axis_of(operator.index(axis), max(x.ndim, 1))
    return (x.ravel(), 0) if axis is None or not x.ndim else (x, axis)


def bit_order(bitorder):
    if bitorder not in ORDER:
        raise ValueError("'order' must be either 'little' or 'big'")
    return ORDER[bitorder]


def padded(x, n):
    """x with zeros behind it to length n along its last axis."""
    zeros = (0,) * x.type.ndim
    high = (*zeros[:-1], n - x.type.shape[-1])
    return OPS["pad"](x, filled(0, (), x.type.dtype), low=zeros, high=high, interior=zeros) if high[-1] else x
