"""Functions that Numba has compiled, called in a trace: the Python they were made of is captured, as the user's own is;
ufuncs that Numba has made are called by the program.

Numba hands numbers back as Python's, whatever the function computed with: a float, an int, a bool, a complex.
"""

import functools
import types

import numpy as np

from ..numpy_api.handles import is_traced
from ..values.array import WEAK_DTYPES, Traced, TracedScalar
from ..values.mixed import Mixed
from ..values.storage import current_trace
from .convert import CELL
from .host_calls import host_call

UFUNCS = ("DUFunc", "GUFunc")  # of numba.vectorize and numba.guvectorize
NUMBERS = {"f": float, "c": complex, "i": int, "u": int, "b": bool}


def numba_call(f):
    """What to call for a function of Numba's in a trace; None for all else."""
    kind = type(f)
    if current_trace() is None or not str(kind.__module__).startswith("numba."):
        return None
    if kind.__name__ in UFUNCS:
        return lambda *args, **kwargs: called_by_program(f, args, kwargs)
    if kind.__name__ != "CPUDispatcher" or type(f.py_func) is not types.FunctionType:
        return None
    if f.targetoptions.get("forceobj"):
        return f.py_func
    raises = f.targetoptions.get("error_model", "python") == "python"
    return functools.partial(captured_python, f.py_func, raises)


def called_by_program(f, args, kwargs):
    return host_call(f, args, kwargs) if is_traced([*args, *kwargs.values()]) else f(*args, **kwargs)


def captured_python(f, raises, /, *args, **kwargs):
    """The function that Numba was given, called. raises: whether a division of numbers by zero does."""
    root = current_trace().root
    before, root.zero_raises = root.zero_raises, raises
    try:
        return handed_back(CELL.cell_contents.call(f)(*args, **kwargs))
    finally:
        root.zero_raises = before


def handed_back(x):
    """What a compiled function hands to Python."""
    if type(x) is tuple:
        return tuple(map(handed_back, x))
    if type(x) is Mixed:  # a number of NumPy's or one of Python's: either is Python's now
        return Traced.apart(handed_back, (x,), {})
    if isinstance(x, TracedScalar):
        number = NUMBERS.get(np.dtype(x.dtype).kind) if x.weak is None else None
        return x if number is None else TracedScalar(x.astype(WEAK_DTYPES[number]).value, number)
    return x.item() if isinstance(x, np.generic) and not isinstance(x, Traced) else x
