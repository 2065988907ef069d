"""Loops of which Python makes the trips: few ones, of NumPy's calls that take longer than Python does.

They are for what machine code leaves to libraries: products of large matrices, rows of calls of the C library, and
functions that run on the host.
"""

import numpy as np

from ...ir.ops.control import groups, loop
from ...ir.sample import decide
from .any_size import at_most
from .emit import is_hosted, is_loop_free
from .matrices import is_solved, is_substituted
from .nests import machine_code, nest_of
from .operand import NUMPY, ZERO, LazyOperand
from .rows import is_taken
from .templates import convolution

MOST = 1 << 11  # bound: equations of all trips together
ROW = 32  # elements of an array that is worth a call of NumPy's; measured by benchmarks/tune.py


def by_python(eqn):
    """Whether an equation is such a loop."""
    if eqn.op is not loop or eqn.attrs["trips"] is None or eqn.attrs["test"] is not None or nest_of(eqn) is not None:
        return False
    body = eqn.attrs["body"]
    rows = any(r.type.size >= ROW for e in body.eqns for r in e.results)
    rows = decide("rows of NumPy's", rows) or any(map(is_hosted, body.eqns))
    few = rows and decide("few trips", at_most(eqn.attrs["trips"] * body.count(), MOST))
    return few and is_loop_free(body, has_statements)


def has_statements(eqn):
    """Whether an equation that is no plain call of NumPy has statements of generated NumPy all the same."""
    return (
        is_solved(eqn)
        or is_substituted(eqn)
        or is_taken(eqn)
        or is_hosted(eqn)
        or convolution(eqn) is not None
        or by_python(eqn)
        or machine_code(eqn)
    )


def run_trips(writer, eqn):
    """The statements: names are carried from trip to trip, and assigned all at once."""
    body = eqn.attrs["body"]
    _, invariants, state = groups(eqn.operands, **eqn.attrs)
    first, texts = 1 + len(invariants), lambda values: [writer.whole(writer.full(x), x.type) for x in values]
    names = [writer.bind(r) for r in eqn.results]
    lines = [f"{name} = {text}" for name, text in zip(names, texts(state), strict=True)]
    counter, numbers = writer.fresh("i"), writer.constant(np.arange(eqn.attrs["trips"]), "trips")
    writer.recipes[numbers] = f"np.arange({eqn.attrs['trips']})"
    held = [
        LazyOperand(name, r.type.shape, frozenset(() if r.type.shape else (NUMPY, ZERO)))
        for name, r in zip(names, eqn.results, strict=True)
    ]
    writer.held[body.params[0]] = LazyOperand(counter, (), frozenset([NUMPY]))
    writer.held.update((p, writer.hold(x).shared()) for p, x in zip(body.params[1:first], invariants, strict=True))
    writer.held.update(zip(body.params[first:], held, strict=True))
    inside = [*writer.block(body)]
    inside.append(f"{', '.join(names)} = {', '.join(texts(body.results))}")
    writer.held.update(zip(eqn.results, held, strict=True))
    return [*lines, f"for {counter} in {numbers}:", *("    " + line for line in inside)]
