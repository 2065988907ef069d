"""A function that SciPy or other code on the host calls many times, as the NumPy statements that cost least."""

import numpy as np

from ...ir.pipeline import run as simplified
from .emit import callable_of, is_loop_free
from .emit_fast import Statements
from .operand import NUMPY, PYTHON, LazyOperand
from .trips import has_statements

FLOAT = np.dtype(np.float64)


def quick_callable(func):
    """`func` as a function of arrays, numbers being Python's floats where they are float64 and NumPy's else; a
    tuple."""
    func = simplified(func)
    if not is_loop_free(func, has_statements):
        return callable_of(func)
    names = [f"a{k}" for k in range(len(func.params))]
    params = [
        LazyOperand(name, p.type.shape, frozenset([PYTHON if p.type.dtype == FLOAT else NUMPY] * (not p.type.shape)))
        for name, p in zip(names, func.params)
    ]
    made = Statements(func, params, names)
    if made.raises:  # NumPy refuses where a program gives NaN
        return callable_of(func)
    results = [made.whole(held, r.type) for held, r in zip(made.results, func.results)]
    lines = [*made.lines, f"return ({', '.join(results)},)"]
    return made.define("call", [f"def call({', '.join(names)}):", *("    " + line for line in lines)], {})


def quick_number(array):
    """An array as such a function takes it."""
    if array.ndim:
        return array
    return float(array) if array.dtype == FLOAT else array[()]
