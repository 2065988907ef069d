"""A function that SciPy or other code on the host calls many times, as the NumPy statements that cost least."""

import numpy as np

from ...ir.ops.control import loop
from ...ir.pipeline import run as simplified
from .emit import callable_of, is_loop_free
from .emit_fast import Statements
from .operand import NUMPY, PYTHON, LazyOperand
from .trips import has_statements

FLOAT = np.dtype(np.float64)
LONG = 50_000  # bound: equations, some 2 us each, above which machine code is made for them
MANY = 1000  # bound: trips that a loop is taken to make where its data end it


def quick_callable(func):
    """`func` as a function of arrays, numbers being Python's floats where they are float64 and NumPy's else; a
    tuple."""
    return statements_of(simplified(func), lambda type: PYTHON if type.dtype == FLOAT else NUMPY)


def once_callable(func):
    """`func` as a function of NumPy arrays that is to be called once: loops that would take Python long are machine
    code."""
    return statements_of(func, lambda type: NUMPY) if equations_run(func) > LONG else callable_of(func)


def equations_run(func):
    """Equations that a call runs, about: those of loops that data end are counted as of many trips."""
    found = len(func.eqns)
    for eqn in func.eqns:
        trips = (eqn.attrs["trips"] or MANY) if eqn.op is loop else 1
        found += trips * sum(map(equations_run, eqn.regions()))
    return found


def statements_of(func, kind):
    """`func` as a function of statements; kind(type): what a number among the parameters is."""
    if not is_loop_free(func, has_statements):
        return callable_of(func)
    names = [f"a{k}" for k in range(len(func.params))]
    params = [
        LazyOperand(name, p.type.shape, frozenset([kind(p.type)] * (not p.type.shape)))
        for name, p in zip(names, func.params)
    ]
    made = Statements(func, params, names)
    if made.raises:  # NumPy refuses where a program gives NaN
        return callable_of(func)
    results = [made.whole(held, r.type) for held, r in zip(made.results, func.results)]
    lines = [*made.lines, f"return ({', '.join(results)},)"]
    return made.define([f"def call({', '.join(names)}):", *("    " + line for line in lines)], {})


def quick_number(array):
    """An array as such a function takes it."""
    if array.ndim:
        return array
    return float(array) if array.dtype == FLOAT else array[()]
