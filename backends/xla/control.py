"""XLA lowering of the ops that run functions."""

import functools

import jax
import numpy as np
from jax import lax

from ...ir.exactness import ONLY_EXACT
from ...ir.for_devices import for_devices
from ...ir.ops.control import call, cond, groups, host, loop, map_
from .. import native
from .callbacks import callback
from .lower import lower
from .sharding import is_spread
from .split_loops import over_parts
from .table import XLA
from .write_after_read import schedule


def jax_callable(func):
    """`func` as a function from jax values to a tuple of them."""
    return lambda *xs: tuple(lower(func, xs))


@XLA.rule(cond)
def lower_cond(index, *operands, branches):
    if index.dtype == bool:
        return lax.cond(index, jax_callable(branches[1]), jax_callable(branches[0]), *operands)
    last = min(len(branches) - 1, np.iinfo(index.dtype).max)
    index = lax.convert_element_type(lax.clamp(index.dtype.type(0), index, index.dtype.type(last)), np.int32)
    return lax.switch(index, list(map(jax_callable, branches)), *operands)


@XLA.rule(loop)
def lower_loop(*operands, **attrs):
    found = over_parts(operands, attrs, functools.partial(loop_through_lax, attrs), lower_here)
    return lower_here(operands, attrs) if found is None else found


def lower_here(operands, attrs):
    """A loop on one device, or on each of several."""
    through_lax = functools.partial(loop_through_lax, attrs)
    found = native.lowered(loop, operands, attrs, through_lax)
    return through_lax(*operands) if found is None else found


def loop_through_lax(attrs, *operands):
    """A loop as jax.lax has them."""
    body, test, trips = attrs["body"], attrs["test"], attrs["trips"]
    body = for_devices(body) if is_spread() else body
    limit, invariants, state = groups(operands, **attrs)
    n = limit[0] if limit else None if trips is None else np.int64(trips)
    order = schedule(body, attrs["carried"])
    if test is None:
        return lax.fori_loop(
            np.int64(0), n, lambda i, now: tuple(lower(body, (i, *invariants, *now), order)), tuple(state)
        )

    def goes(carry):
        i, *now = carry
        ask = lambda: lower(test, (i, *invariants, *now))[0]
        if n is None:
            return ask()
        if any(eqn.effect for eqn in test.eqns):
            return lax.cond(i < n, ask, lambda: np.False_)
        return (i < n) & ask()

    def step(carry):
        i, *now = carry
        return (i + 1, *lower(body, (i, *invariants, *now), order))

    return lax.while_loop(goes, step, (np.int64(0), *state))[1:]


@XLA.rule(map_)
def lower_map(*operands, body, mapped, size):
    rows = tuple(x for x, flag in zip(operands, mapped, strict=True) if flag)

    def run(_, row):
        row = iter(row)
        return None, tuple(lower(body, [next(row) if flag else x for x, flag in zip(operands, mapped, strict=True)]))

    return lax.scan(run, None, rows, length=size)[1]


@functools.lru_cache(1024)
def outlined(body, exact):
    """One jit a function, so that all its calls share one trace and one XLA computation. exact: as it is while that
    trace is made."""
    return jax.jit(jax_callable(body))


@XLA.rule(call)
def lower_call(*operands, body, name, inline, rule):
    return lower(body, operands) if inline else outlined(body, ONLY_EXACT.get())(*operands)


@XLA.rule(host)
def lower_host(*operands, function, results, ordered):
    run = functools.partial(host.body, function=function, results=results)
    if ordered:
        return callback(jax.experimental.io_callback, run, results, operands, ordered=True)
    return callback(jax.pure_callback, run, results, operands, vmap_method="sequential")
