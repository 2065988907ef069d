"""Long elementwise chains with several readers: which of their values are computed once.

XLA fuses what is cheap to compute into every reader of it, and so computes it again for each. Where a chain runs
through a whole program, as the sum that a residual network carries from layer to layer, each of n layers computes all
before it once more: n^2 code to compile and to run. So a value that several equations read, and that takes many fusable
equations to compute, is computed in a branch that is always taken: nothing is fused into or out of a branch.
`optimization_barrier` does not do it, for XLA's CPU compiler drops barriers before it fuses.

Source of what is cheap: InstructionFusion::IsExpensive of XLA.
"""

import itertools
import math

import numpy as np
from jax import lax
from jax import numpy as jnp

from ...ir.core import Value
from ...ir.op import Cost
from ...ir.ops import OPS
from .platforms import by_platform
from .reduction import before_exponentials, quicker_as_products
from .write_after_read import Fence

MOVES = {op for op in OPS.values() if op.traits & {"moves", "joins"}}  # cheap, at other indices
CHEAP = {op for op in OPS.values() if "elementwise" in op.traits and op.cost <= Cost.DIVISION} | MOVES
# equations that a value with several readers may take; with fewer, its readers compute it again; measured by
# benchmarks/tune.py
LONG = 64
SEVERAL = 16  # equations computed again for a sum rather than passed into its branch; measured by benchmarks/tune.py
LEAST = 32  # elements of a value from which computing it again costs more than a branch; measured by benchmarks/tune.py
MOST = 1 << 20  # bound: equations counted behind a move at most
GROWTH = 16384  # bound: equations computed again, in all, from which XLA's time matters


def materialized(func):
    """`func.eqns` in an order in which they can run, those that compute a long shared value, or sums before
    exponentials, together as a Fence."""
    users = readers(func)
    place = {eqn: k for k, eqn in enumerate(func.eqns)}
    chosen = (
        {eqn for eqn, _, made in roots(func, users, LONG) if made}
        if len(func.eqns) >= LONG and grows(func, users)
        else set()
    )
    sums = before_exponentials(func, users)
    sums = {*sums} - {*quicker_as_products(sums)} - chosen
    if not chosen and not sums:
        return func.eqns
    alone = {eqn: only_for(eqn, users, chosen | sums) for eqn in chosen | sums}
    inside = {e for eqns in alone.values() for e in eqns}
    fences = {eqn: alone[eqn] | (cheap_for(eqn, chosen) if eqn in sums else set()) for eqn in alone}
    fences = {eqn: Fence(sorted(eqns, key=place.get), list(eqn.results), []) for eqn, eqns in fences.items()}
    return tuple(fences.get(e, e) for e in func.eqns if e in fences or e not in inside)


def materialized_count(func):
    """How many long shared values of `func` are so computed."""
    return sum(isinstance(item, Fence) and item.eqns[-1].op in CHEAP for item in materialized(func))


def readers(func):
    """{value: the equations that read it, in order}; None stands for the results of the function."""
    found = {}
    for eqn in func.eqns:
        for x in dict.fromkeys(eqn.operands):
            found.setdefault(x, []).append(eqn)
    for x in func.results:
        found.setdefault(x, []).append(None)
    return found


def roots(func, users, long):
    """(equation, how many equations XLA runs for it, whether it was made a root) for each that XLA computes once.

    What is read at other indices is not the same to XLA: behind each move of a value, all it takes is counted again.
    Those are what is not cheap, what nothing reads but the caller, and what has several readers and takes `long`
    equations.
    """
    # value: the equations it takes, but for what is computed once, as bits by their places
    behind, moved, moves = {}, {}, 0
    for place, eqn in enumerate(func.eqns):
        own, bits = 1 << place, 0
        for x in dict.fromkeys(eqn.operands):
            bits |= behind.get(x, 0)
            if users[x][-1] is eqn:
                behind.pop(x, None)
        size = 1 + bits.bit_count() + sum(moved[k] for k in set_bits(bits & moves))
        result, *others = eqn.results or (None,)
        if others or eqn.op not in CHEAP or users.get(result, (None,)) == [None]:
            yield eqn, size, False
        elif size >= long and len(users[result]) > 1 and result.type.size >= LEAST:
            yield eqn, size, True
        elif eqn.op in MOVES:
            behind[result], moved[place], moves = own, min(size - 1, MOST), moves | own
        else:
            behind[result] = bits | own


def set_bits(bits):
    """The places of the bits that are set."""
    while bits:
        last = bits & -bits
        yield last.bit_length() - 1
        bits ^= last


def grows(func, users):
    """Whether XLA would run many more equations than there are, were all that is cheap fused into its readers."""
    most = len(func.eqns) + GROWTH
    return any(total > most for total in itertools.accumulate(size for _, size, _ in roots(func, users, math.inf)))


def only_for(eqn, users, others):
    """The cheap equations whose results nothing but `eqn` needs, and `eqn`; not those of `others`, which have a branch
    of their own."""
    found, todo = {eqn}, [eqn]
    while todo:
        for x in todo.pop().operands:
            e = x.eqn if isinstance(x, Value) else None
            if e is not None and e.op in CHEAP and e not in found and e not in others and found.issuperset(users[x]):
                found.add(e)
                todo.append(e)
    return found


def cheap_for(eqn, others):
    """The cheap equations that are computed for `eqn`, whoever else reads them, up to SEVERAL; not those of
    `others`."""
    found, todo = set(), [eqn]
    while todo and len(found) < SEVERAL:
        for x in todo.pop(0).operands:
            e = x.eqn if isinstance(x, Value) else None
            if e is not None and e.op in CHEAP and e not in others and e not in found:
                found.add(e)
                todo.append(e)
    return found


def on_cpus(operands):
    """`always` of some operand, on CPUs; elsewhere, and without operands, just True: then XLA sees that there is no
    choice."""
    known = next((x for x in operands if x.size and x.dtype != bool), None)
    return np.True_ if known is None else by_platform(known, cpu=always, default=lambda x: np.True_)


def always(x):
    """True, in a way that XLA does not see: the bits of a number are not more than there are."""
    first = lax.real(x.ravel()[0]) if jnp.iscomplexobj(x) else x.ravel()[0]
    width = 8 * first.dtype.itemsize
    return lax.population_count(lax.bitcast_convert_type(first, f"uint{width}")) <= width
