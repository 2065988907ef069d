"""NumPy's functions that somebody has replaced: a trace computes with what stands in NumPy's namespace, and would run
the replacement as its own.

So where one is another than when this package was imported, calls that have no program run as plain Python, until it is
put back.
"""

import operator
import types

import numpy as np

from ..common.errors import UnsupportedError
from .purity import TABLES_OF_NUMPY

KINDS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc, type, type(np.sum))


def snapshot(module, names, short=""):
    """The functions of a module: (its namespace, their names, they, what comes before the names as users write
    them)."""
    space = vars(module)
    names = [n for n in names if isinstance(space.get(n), KINDS) and n not in TABLES_OF_NUMPY]
    return space, names, [space[n] for n in names], short


HELD = [
    snapshot(np, np.__all__, "np."),
    snapshot(np.linalg, np.linalg.__all__, "np.linalg."),
    snapshot(np.fft, np.fft.__all__, "np.fft."),
]


class Replaced(UnsupportedError):
    """A function of NumPy's is another than it was."""


def refuse_patched():
    """Raise where any of NumPy's functions is not its own."""
    for space, names, functions, short in HELD:
        if not all(map(operator.is_, map(space.get, names), functions)):
            found = ", ".join(short + n for n, f in zip(names, functions) if space.get(n) is not f)
            raise Replaced(
                f"{found} was replaced by another function, and what is traced computes with NumPy's own. Put it back "
                "before the call."
            )
