"""Straight lines as nests: what NumPy computes call by call, an array each, becomes a few functions of machine code.

Equations are told apart into those that machine code does well, which are put together, and those that are left to
NumPy: products, sorting, rows of calls of the C library, of which it has vectors. `native/stages.py` has the stages.
"""

from ...ir.core import Builder, Value, map_regions
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.control import loop
from ...ir.ops.elementwise import select
from ...ir.ops.linalg import dot_general
from ...ir.ops.reduction import cummax, cummin, cumprod, cumsum
from ...ir.ops.shape import iota
from ...ir.sample import SAMPLE, decide
from ..native.reduce import REDUCTIONS, is_tiny, multiplications, read_once
from ..native.stages import free, in_stages, sources, stands_alone
from .looped import FUSED, looped
from .nests import nest_of
from .pretty import product_call
from .trips import by_python

LEAST = 2  # NumPy calls that a nest has to stand for; measured by benchmarks/tune.py
NUMBER = 0.4  # of a call that an equation on numbers counts as; measured by benchmarks/tune.py
# what is a nest by itself: NumPy adds up one number in 4 ns, of which the addition is 1, chooses one in 5 where it
# cannot foresee which, and begins each of many reductions anew
BY_THEMSELVES = {cumsum, cumprod, cummax, cummin, select, *REDUCTIONS}
# multiplications from which a product that NumPy has a call for is better done by it; measured by benchmarks/tune.py
PRODUCT = 1 << 11


def fused(func, most=None):
    """`func` with its straight lines in loops of one trip each, which are nests; None where nothing is put together.
    most: multiplications up to which products are put into them, PRODUCT unless it is said."""
    if SAMPLE.get() is None:  # such ops are for small matrices
        func = expanded(func)
    inside = {eqn for eqn in func.eqns if inner(eqn, most)}
    if not inside and not any(map(by_python, func.eqns)):
        return None
    return in_stages(
        func,
        inside,
        lambda eqns: sum(map(weight, eqns)) >= LEAST,
        lambda eqn: map_regions(eqn.attrs, lambda body: fused(body, most) or body) if by_python(eqn) else None,
    )


def expanded(func):
    """Ops that NumPy has only a spelling with loops for, written with those."""
    while any(eqn.op in FUSED and looped(eqn) is not None for eqn in func.eqns):
        build = Builder(func.name)
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            known = looped(eqn) if eqn.op in FUSED else None
            if known is None:
                build.replay(eqn, env)
            else:
                env.update(zip(eqn.results, build.inline(known, [env.get(x, x) for x in eqn.operands]), strict=True))
        func = build.finish(tuple(env.get(r, r) for r in func.results))
    return func


def views(eqn):
    """Whether NumPy has the result of an equation without writing it."""
    return free(eqn) and eqn.op is not iota


def inner(eqn, most=None):
    """Whether machine code does an equation well. most: as of `fused`."""
    if eqn.op is loop:
        return nest_of(eqn) is not None
    if free(eqn) or eqn.effect:
        return False
    if eqn.op is dot_general and "@" in (product_call(eqn, "", "") or ""):
        many = multiplications(eqn) > (PRODUCT if most is None else most)
        if decide("a product by NumPy", many) and not in_passing(eqn):
            return False
    return stands_alone(eqn)


def in_passing(eqn):
    """Whether machine code makes a product where its elements are computed or read, in another order than NumPy."""
    return not ONLY_EXACT.get() and (is_tiny(eqn) or of_computed(eqn))


def of_computed(eqn):
    """Whether a product multiplies a vector with what machine code computes, whose elements need not be written to be
    read once. Complex numbers it does not add up along a row in vectors."""
    made = lambda x: isinstance(x, Value) and x.eqn is not None and x.eqn.op is not dot_general and inner(x.eqn)
    rows = {x: x.type.ndim - 1 in axes for x, axes in zip(eqn.operands, eqn.attrs["contract"], strict=True)}
    matrices = [x for x in read_once(eqn) if x.type.kind != "c" or not rows[x]]
    return any(made(x) for matrix in matrices for x in sources(matrix))


def weight(eqn):
    """NumPy calls that an equation is worth."""
    (r, *_) = eqn.results
    if r.type.shape and eqn.op in BY_THEMSELVES:
        return LEAST
    return 1 if any(x.type.shape for x in (*eqn.operands, *eqn.results)) else NUMBER
