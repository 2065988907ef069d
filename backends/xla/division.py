"""Division as NumPy divides, where a last digit decides something.

XLA's algebraic simplifier turns x / c, with c a constant or a broadcast scalar, into x * (1 / c): one digit off
for a third of all x, so that `rmax * 6 / 6 > rmax` comes out otherwise than in NumPy. Scalars, which decide
branches and loops, are divided truly; so are arrays whose quotient reaches a comparison or a rounding.
Elsewhere the product, which is faster and as accurate, may stay, but in exact programs.
"""

from jax import lax
from jax import numpy as jnp

from ...ir.core import Lit, Value
from ...ir.exactness import ONLY_EXACT
from ...ir.ops import OPS

div, broadcast, cast = OPS["div"], OPS["broadcast"], OPS["cast"]
DECISIONS = {op for op in OPS.values() if "stepwise" in op.traits} | {OPS["rounded"]}
STEPS = 24  # bound: equations looked through on the way from a decision back to a quotient


def exact_divisions(func):
    """The equations `x / c` of a function that must not become products."""
    all_of_them = {e for e in func.eqns if e.op is div and e.results[0].type.kind == "f"}
    if ONLY_EXACT.get():
        return all_of_them
    found = {e for e in all_of_them if not e.results[0].type.shape}
    wide = {e for e in all_of_them - found if is_uniform(e.operands[1])}
    if not wide:
        return found
    for eqn in func.eqns:
        if (
            eqn.op in DECISIONS
            or eqn.op is cast
            and eqn.results[0].type.kind in "iu"
            and eqn.operands[0].type.kind == "f"
        ):
            found |= wide & upstream(eqn)
    return found


def is_uniform(x):
    """Whether all elements are one number to the simplifier."""
    return isinstance(x, Lit) or x.eqn is not None and x.eqn.op is broadcast


def upstream(eqn):
    """The elementwise and structural equations whose results reach `eqn`, the nearest ones."""
    seen, todo = set(), [eqn]
    while todo and len(seen) < STEPS:
        for x in todo.pop(0).operands:
            e = x.eqn if isinstance(x, Value) else None
            if e is not None and e not in seen and e.op.traits & {"moves", "joins", "elementwise"}:
                seen.add(e)
                todo.append(e)
    return seen


def divide(x, y):
    """x / y for floats, rounded once."""
    if not x.shape:
        return lax.div(x, lax.optimization_barrier(y))
    zero = jnp.zeros_like(x)
    # y, a signed zero too, in a form nothing takes for a scalar
    return lax.div(x, y - zero * lax.min(lax.abs(x), zero))
