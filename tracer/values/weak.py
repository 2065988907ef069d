"""Python's ints that the program computes, where they meet NumPy's numbers.

NumPy gives a Python int the dtype beside it, and raises OverflowError where it does not fit (NEP 50). A literal is
asked while tracing; of an int that data decides the interval is known: where that does not show it to fit, the program
asks when it runs. `promote.read` makes a `PythonInt` of such an int, so that nothing computes with it that has not
asked for a dtype here.
"""

import contextvars
import functools

import numpy as np

from ...ir.setting import set_within
from ...ir.types import SMALL, ir_kind
from ..common.emit import cast_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from .overflow import HIGH, LOW, between
from .ranges import interval
from .storage import current_trace

INT, DOUBLE = np.dtype(np.int64), np.dtype(np.float64)
EXACT = 2**53  # floats hold all ints up to here
PROMOTIONS = "numpy", "weak"  # how dtypes are promoted: by NumPy's rules, or so that arrays of floats keep their width
WIDE = {np.dtype(np.float64): float, np.dtype(np.complex128): complex}  # dtypes of Python's numbers
WEAK_NUMBERS = contextvars.ContextVar("promote", default=False)


def promoting(how):
    """Within: the one of PROMOTIONS by which a trace promotes dtypes."""
    return set_within(WEAK_NUMBERS, how == "weak")


def number_key(dtype):
    """What a number of NumPy's, which has no axes, counts for among operands: its dtype, or under "weak" the Python
    type whose numbers it holds."""
    return WIDE.get(dtype, dtype) if WEAK_NUMBERS.get() else dtype


def keys_kept(keys):
    """Keys of operands as promotion is asked for them: under "weak" integers beside floats of fewer than 64 bits count
    as Python's ints, and Python's floats beside bfloat16 and the like as those."""
    if not WEAK_NUMBERS.get():
        return keys
    floats = [k for k in keys if isinstance(k, np.dtype) and ir_kind(k) in "fc"]
    if not floats or WIDE.keys() & set(floats):
        return keys
    small = floats[0] if set(floats) <= SMALL else float
    alike = lambda k: int if isinstance(k, np.dtype) and k.kind in "iu" else small if k is float else k
    return type(keys)(map(alike, keys))


def dtype_one_by_one(keys):
    """The dtype of an array of values of these dtypes, which np.array takes one after the other: small floats have none
    in common with whole numbers, but with what those and a float have."""
    try:
        return functools.reduce(np.promote_types, keys)
    except TypeError:
        text = f"a list of {' and '.join(map(str, dict.fromkeys(keys)))}, of which NumPy makes an array of objects"
        raise UnsupportedError(message(text, locate(), "Cast what is in it to one dtype by .astype.")) from None


def literal_within(n, dtype):
    """A literal int for an integer dtype: OverflowError where it does not fit, raised by the program where data decide
    whether it comes there."""
    info, trace = np.iinfo(dtype), current_trace()
    if info.min <= n <= info.max:
        return n
    text = message(too_large(n, dtype), locate())
    if trace is None or not trace.repeated:
        raise with_note(OverflowError, text)
    trace.fail(OverflowError, text)
    return 0


def too_large(n, dtype):
    """What NumPy says of an int that the dtype has not."""
    try:
        dtype.type(n)
    except OverflowError as error:
        return str(error)
    return f"Python integer {n} out of bounds for {dtype}"


class PythonInt:
    """An operand without a dtype: an int64 scalar of the program that stands for one of Python's ints."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def within(self, low, high):
        """Whether it is known to lie in an interval."""
        least, most = interval(self.value) or (LOW, HIGH)
        return low <= least and most <= high

    def fits(self, dtype):
        """Whether it is known to fit an integer dtype."""
        info = np.iinfo(dtype)
        return self.within(int(info.min), int(info.max))

    def given(self, dtype):
        """It in a dtype; the program raises OverflowError where an integer dtype cannot hold it."""
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            self.require(int(info.min), int(info.max), dtype)
        elif dtype.kind in "fc" and dtype not in (DOUBLE, np.complex128) and not self.within(-EXACT, EXACT):
            return cast_to(cast_to(self.value, DOUBLE), dtype)  # by way of a Python float, as NumPy goes
        return cast_to(self.value, dtype)

    def require(self, low, high, dtype):
        """Have the program raise what NumPy raises where it is not in [low, high]."""
        if not self.within(low, high):
            trace = current_trace()
            trace.root.unproven += 1
            ok = between(self.value, max(low, LOW), min(high, HIGH))
            trace.check(
                ok, OverflowError, message(f"Python integer {{}} out of bounds for {dtype}", locate()), self.value
            )

    def compared(self, dtype):
        """(operand, key) where it is compared with integers of a dtype: by their values, whatever the dtype holds."""
        return (self, int) if self.fits(dtype) else (self.value, INT)
