"""Whether two values of a checked program are the same but for rounding, and if not, where."""

import numpy as np

from ...ir.types import SMALL, ir_kind
from .errors import shown

PYTHON = {np.float64: float, np.int64: int, np.bool_: bool, np.complex128: complex}
TOLERANCE = {8: 1e-9, 4: 1e-4, 2: 2e-2, 1: 0.5}  # by bytes of a real number, relative to the largest of the array


def kinds_differ(x, y):
    """How the Python type, dtype or shape of two leaves differs, in words; None where they do not.

    A Python number and NumPy's scalar of it are taken for one: where data chooses between them, the program has
    NumPy's.
    """
    x, y = (PYTHON[type(v)](v) if type(v) in PYTHON else v for v in (x, y))
    if type(x) is not type(y):
        return f"is a {type(x).__name__}, where plain Python gives a {type(y).__name__}"
    if isinstance(y, np.ndarray | np.generic):
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"is {x.dtype}{list(x.shape)}, where plain Python gives {y.dtype}{list(y.shape)}"
    elif not isinstance(y, int | float | complex) and not hasattr(y, "dtype") and x is not y and not _equal(x, y):
        return f"is {shown(x, 60)}, where plain Python gives {shown(y, 60)}"
    return None


def _equal(x, y):
    try:
        return bool(x == y)
    except (TypeError, ValueError):
        return False


def difference(x, y):
    """The first element in which two arrays differ by more than rounding, in words; None where there is none."""
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape or x.dtype != y.dtype:
        return f"is {x.dtype}{list(x.shape)}, against {y.dtype}{list(y.shape)}"
    bad = np.atleast_1d(~close(x, y))
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0]) if x.shape else ()
    where = f" at index {at[0] if len(at) == 1 else at}" if at else ""
    return f"gives {x[at].item()!r}{where}, against {y[at].item()!r}"


def close(x, y):
    """Element by element."""
    if ir_kind(x.dtype) not in "fc":
        return x == y
    size = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)
    if x.dtype in SMALL:
        x, y = x.astype(np.float32), y.astype(np.float32)
    with np.errstate(all="ignore"):
        finite = np.abs(y[np.isfinite(y)])
        scale = float(finite.max()) if finite.size else 0.0
        near = np.abs(x - y) <= TOLERANCE[size] * scale
        return near | (x == y) | (np.isnan(x) & np.isnan(y))
