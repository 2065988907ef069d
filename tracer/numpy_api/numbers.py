"""Python numbers out of arrays: `x.item()`, `x.tolist()`."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.emit import cast_to, reshape_to
from ..common.errors import IntegerOverflow, UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.array import WEAK_DTYPES, TracedScalar
from ..values.elements import MANY, RowRun
from ..values.ranges import original
from ..values.storage import current_trace
from .handles import handle
from .registry import implements
from .ufunc_rules import everywhere

LISTED = 1 << 16  # elements that tolist() turns into numbers
KINDS = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def require_int(x):
    """Have the program check that numbers fit into Python ints as it has them."""
    if x.type.dtype == np.uint64:
        fits = OPS["le"](x.value, Lit(2**63 - 1, x.value.type))
        text = "a Python int of the compiled program exceeds 64 bits"
        current_trace().check(everywhere(fits), IntegerOverflow, message(text, locate()))


def python_number(x):
    """A NumPy scalar as the Python number that .item() makes of it."""
    kind = KINDS[x.type.kind]
    require_int(x)
    return TracedScalar(cast_to(reshape_to(x.value, ()), WEAK_DTYPES[kind]), kind)


@implements(method="item")
def item(x, *args):
    if x.known() is not None:
        return x.known().item(*args)
    if args:
        index = args[0] if len(args) == 1 else args
        if isinstance(index, tuple) and len(index) != x.ndim:
            raise with_note(ValueError, message("incorrect number of indices for array", locate()))
        x = handle(x)
        x = x[index] if isinstance(index, tuple) else x.reshape(-1)[index]
    elif x.type.size != 1:
        raise with_note(ValueError, message("can only convert an array of size 1 to a Python scalar", locate()))
    return python_number(x)


@implements(method="tolist")
def tolist(x):
    if x.known() is not None:
        return x.known().tolist()
    if not x.shape:
        return python_number(x)
    if x.size > LISTED:
        text = f"tolist() of an array of {x.size} elements would trace each by itself"
        raise UnsupportedError(message(text, locate(), "Keep it an array."))
    if x.size <= MANY:
        return [tolist(row) for row in x]
    kind, x = KINDS[x.type.kind], handle(x)
    require_int(x)
    line = reshape_to(cast_to(x.value, WEAK_DTYPES[kind]), (x.size,))
    trace = current_trace()
    return RowRun(original(line, trace.root), 0, x.shape, (list,) * x.ndim, kind, False).items(trace)


@implements(method="is_integer")
def is_integer(x):
    """float.is_integer(), of Python's floats and NumPy's."""
    value = x.value
    whole = value.type.kind in "iu" or OPS["and"](OPS["is_finite"](value), OPS["eq"](OPS["floor"](value), value))
    return whole if whole is True else TracedScalar(whole, bool)
