"""`x is y` of what may be traced, or one of several things as data decide."""

import numpy as np

from ...ir.ops import OPS
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..guards.container_phis import same_container
from ..values.array import Traced, TracedArray, TracedScalar
from ..values.identity import same_object
from ..values.mixed import Mixed
from ..values.object_phi import ObjectPhi, kind_of_object
from ..values.storage import current_trace
from ..values.variant import Variant
from .backing import same_row
from .builtins import truth
from .convert import CELL
from .growing import list_behind
from .variants import of_each

STILL = (bool, int, float, complex, str, bytes, type(None))


def is_same(x, y):
    """`x is y`."""
    if current_trace() is None:
        return x is y
    if Variant in (type(x), type(y)):
        return of_each(x, lambda side: is_same(side, y)) if type(x) is Variant else is_same(y, x)
    if ObjectPhi in (type(x), type(y)) and x is not y:
        alike = kind_of_object(x) is kind_of_object(y)
        return (x if type(x) is ObjectPhi else y).fail() if alike else False
    if any(isinstance(z, Mixed) for z in (x, y)) and x is not y:
        return Traced.apart(is_same, (x, y))
    if TracedScalar in (type(x), type(y)) and x is not y:
        return same_number(x, y)
    if (found := same_row(x, y)) is not None:
        return found
    if isinstance(x, tuple) and isinstance(y, tuple) and x is not y:
        return same_tuple(x, y)
    x, y = list_behind(x), list_behind(y)
    return same_object(x, y) if TracedArray in (type(x), type(y)) else same_container(x, y)


def same_number(x, y):
    """`x is y` of two numbers, one of them traced: there is one True and one False, of Python's and of NumPy's each."""
    kinds = [(x.weak or x.dtype.type) if type(x) is TracedScalar else type(x) for x in (x, y)]
    if kinds[0] is not kinds[1]:
        return False
    if kinds[0] is int:
        text = "whether two ints are one object is asked: of small ones Python has one each, of others several"
        raise UnsupportedError(message(text, locate(), "Compare them: a == b."))
    return truth(CELL.cell_contents.Eq(x, y)) if kinds[0] in (bool, np.bool_) else False


def same_tuple(x, y):
    """`x is y` of two tuples, of which a choice or a loop hands on others of the same items: False where these tell."""
    if may_hold_alike(x, y):
        text = "whether two tuples are one object is asked, which a choice or a loop may have made anew"
        error = UnsupportedError(message(text, locate(), "Compare them: a == b."))
        error.divides = False
        raise error
    return False


def may_hold_alike(x, y):
    """Whether two items of tuples may be one, as far as is known while tracing."""
    if x is y:
        return True
    if isinstance(x, tuple) and isinstance(y, tuple):
        return type(x) is type(y) and len(x) == len(y) and all(map(may_hold_alike, x, y))
    if any(isinstance(z, Traced | Variant | ObjectPhi | Mixed) for z in (x, y)):
        return True
    if isinstance(x, STILL) and isinstance(y, STILL):
        return type(x) is type(y) and x == y
    return type(x) is type(y)


def is_other(x, y):
    """`x is not y`."""
    found = is_same(x, y)
    return not found if type(found) is bool else TracedScalar(OPS["not"](found.value), bool)
