"""Run an IR function on jax values: inside a jax trace this is lowering, outside it is eager."""

import functools

from jax import lax
from jax import numpy as jnp

from ...ir.core import Lit, Value
from ...ir.for_devices import for_devices
from ...ir.ops.shape import dynamic_slice, dynamic_update_slice, reshape, transpose
from .complex import to_the_bit
from .constants import kept_apart
from .division import divide, exact_divisions
from .elementwise import lower_rounded
from .fusion_barrier import materialized, on_cpus, readers
from .linalg import computed_for, fused
from .nan_elision import restored
from .neutral import neutral
from .pads import margins
from .places import Line, by_line
from .powers import half_powers
from .reduction import PLAIN, WITHOUT_NAN, as_product, before_exponentials, dear_sums, quicker_as_products
from .sharded_forms import forms_of
from .sharding import is_spread
from .table import XLA
from .write_after_read import Fence

SAME_MEMORY = (reshape, transpose)


def marks(func):
    """(divisions that must not become products, results that are rounded before they are used): what a part of a
    function does not tell."""
    return exact_divisions(func), kept_apart(func)


def lower(func, operands, order=None, marked=(set(), set())):
    """The results of `func` on jax values, as a list. 64-bit types must be enabled by the caller.

    order: its equations as `fence.schedule` puts them; those of a fence are run in a branch that is always
    taken, which the counter of the loop, the first operand, decides in a way that XLA does not see. Without it, `func`
    is no body of a loop, and is fenced as `materialized` says, on CPUs: there some operand decides.
    marked: its equations that are among the `marks` of the function it is a part of.
    """
    if is_spread() and order is None:
        func = for_devices(func)
    env, counted = dict(zip(func.params, operands, strict=True)), order is not None
    order = order if counted else func.eqns if is_spread() else materialized(func)
    # nothing is fused with these, so their stores are safe
    ready = {r for item in order if isinstance(item, Fence) for r in item.results}
    stores = [eqn for eqn in overlapping_stores(func) if eqn.operands[1] not in ready]
    divisions, rounded = (own | more for own, more in zip(marks(func), marked))
    special = (
        dict.fromkeys(stores, store_apart) | dict.fromkeys(divisions, divide) | dict.fromkeys(computed_for(func), fused)
    )
    special |= {eqn: PLAIN[eqn.op] for eqn in dear_sums(func)}
    special |= dict.fromkeys(quicker_as_products(before_exponentials(func, readers(func))), as_product)
    special |= half_powers(func) | neutral(func) | to_the_bit(func) | forms_of(func, counted)
    special |= {eqn: WITHOUT_NAN[eqn.op] for eqn in restored(func)}
    around = margins(func)

    def read(x, env):
        found = env.get(x)
        if found is None:
            assert isinstance(x, Lit), f"{func.name}: an operand is not bound"
            found = env[x] = lax.full(x.type.shape, x.value, x.type.dtype)
        return found

    def run(eqn, env):
        if isinstance(eqn, Fence):
            behind(eqn)
            return
        rule, operands = special.get(eqn) or XLA[eqn.op], [read(x, env) for x in eqn.operands]
        if eqn in around:
            margin = around[eqn]
            if margin not in env:
                env[margin] = margin.wide(*operands)
            out = margin.part(env[margin], eqn)
        else:
            out = rule(*operands, **eqn.attrs)
        for r, value in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
            env[r] = lower_rounded(value) if eqn in rounded else value

    @functools.cache
    def taken():
        return operands[0] >= 0 if counted else on_cpus(operands)

    def fenced(fence):
        needed = {*fence.results, *(x for eqn in fence.eqns for x in (*eqn.operands, around.get(eqn)))}
        # numbers are made where they are used
        inner = {x: env[x] for x in needed if x in env and not isinstance(x, Lit)}
        for place, eqns in by_line(fence.eqns):
            with Line(place) as each:
                each(run, eqns, inner)
        return [read(r, inner) for r in fence.results]

    def behind(fence):
        nothing = lambda: [lax.full(r.type.shape, other(r), r.type.dtype) for r in fence.results]
        env.update(zip(fence.results, lax.cond(taken(), lambda: fenced(fence), nothing), strict=True))

    place = None
    for place, items in by_line(order):
        with Line(place) as each:
            each(run, items, env)
    with Line(place) as each:
        each(read, func.results, env)
    return [env[r] for r in func.results]


def other(x):
    """A number that a result of a fence is not, if it is a literal: what both branches give does not pass through
    them."""
    return int(x.value == 0) if isinstance(x, Lit) else 0


def overlapping_stores(func):
    """The stores whose update is computed from the array it is stored into, other than element by element.

    XLA's CPU compiler (jax 0.10) fuses such an update into the store and runs it in place where the
    array comes from a reduce-window or a gather, so that it reads elements it has already written.
    """
    place = {r: n for n, e in enumerate(func.eqns) for r in e.results}
    return {
        eqn
        for eqn in func.eqns
        if eqn.op is dynamic_update_slice and eqn.operands[1].type.size > 1 and _reads(eqn, place)
    }


def _reads(store, place):
    """Whether an update depends on the memory of the array, but for the elements replaced: only what was computed after
    it need be looked at."""
    array, update, *starts = store.operands
    whole = array
    while isinstance(array, Value) and array.eqn is not None and array.eqn.op in SAME_MEMORY:
        array = array.eqn.operands[0]
    if array not in place:
        return False  # a parameter is never overwritten in place
    first, todo, seen = place[array], [(update, True)], set()
    while todo:
        x, alike = todo.pop()
        if x is array:
            return True
        if isinstance(x, Value) and (x, alike) not in seen and place.get(x, -1) > first:
            seen.add((x, alike))
            own = (
                x.eqn.op is dynamic_slice
                and x.eqn.operands[0] is whole
                and list(x.eqn.operands[1:]) == starts
                and x.type is update.type
            )
            if not (own and alike):
                alike = alike and "elementwise" in x.eqn.op.traits and x.type.shape == update.type.shape
                todo += [(y, alike) for y in x.eqn.operands]
    return False


def store_apart(x, update, *starts):
    """dynamic_update_slice as a choice between x and the update put in its place in a fresh array."""
    store = XLA[dynamic_update_slice]
    placed = store(jnp.zeros_like(x), update, *starts)
    written = store(jnp.zeros(x.shape, bool), jnp.ones(update.shape, bool), *starts)
    return lax.select(written, placed, x)
