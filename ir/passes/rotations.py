"""Loops that hand arrays on from one name to another: leapfrog steps, double buffers, what was before kept beside.

    for _ in range(n):                    for _ in range(n // 2):
        a, b = b, f(a, b)                     a = f(a, b)
                                              b = f(b, a)

Each trip would copy an array, or have none that it may overwrite. As many trips written as one as bring each array back
to its name, every one of them stays where it lies, and the next one is stored where nobody reads any more.
"""

from __future__ import annotations

import math

from ..core import Builder, Func, Lit, Value, has
from ..ops.control import COUNTER, groups, loop
from ..ops.elementwise import add, mul
from ..ops.indexing import SCATTERS
from ..ops.shape import dynamic_update_slice
from ..sample import SAMPLE
from .loops import acting

STORES = {dynamic_update_slice, *SCATTERS.values()}
WRITTEN = 256  # bound: equations of the trips that are written as one


def rotations(func: Func) -> Func:
    """No loop of a known number of trips gives an array that it carries the place of another one, where the trips that
    bring each back to its own are few and short. Regions too."""
    if SAMPLE.get() is not None or not has(func, lambda eqn: eqn.op is loop):  # how many are left hangs on the number
        return func
    return _rotations(func, {})


def _rotations(func, done):
    if func not in done:
        build, env = Builder.again(func), {}
        for eqn in func.eqns:
            attrs = eqn.mapped(lambda region: _rotations(region, done))
            period = period_of(attrs) if eqn.op is loop else 1
            if period == 1:
                build.replay(eqn, env, attrs=attrs)
                continue
            build.source = eqn.source
            operands = [env.get(x, x) for x in eqn.operands]
            out = written_together(build, attrs, operands, period, tuple(r.hint for r in eqn.results))
            env.update(zip(eqn.results, out, strict=True))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def period_of(attrs):
    """How many trips of a loop bring each array back to its name; 1 where they are not written as one."""
    body, trips = attrs["body"], attrs["trips"]
    if trips is None or attrs["test"] is not None or acting(body):
        return 1
    places = places_of(body, attrs["carried"])
    period = math.lcm(*(len(cycle) for cycle in cycles(places)))
    return period if 2 * period <= trips and period * body.count() <= WRITTEN else 1


def places_of(body, carried):
    """{position of a carried array: that of the one in whose place the trip leaves it}"""
    state = body.params[len(body.params) - carried :]
    arrays = [k for k, p in enumerate(state) if p.type.shape]
    position, found = {state[k]: k for k in arrays}, {}
    free = lambda k, j: j is not None and j not in found.values() and state[j].type == state[k].type
    handed_on = lambda k: position.get(body.results[k])
    changed = lambda k: position.get(stored_into(body.results[k]))
    own = lambda k: k  # of what is new
    any_left = lambda k: next((j for j in arrays if free(k, j)), None)
    for place in (handed_on, changed, own, any_left):
        for k in arrays:
            if k not in found and free(k, j := place(k)):
                found[k] = j
    return found if len(found) == len(arrays) else {}


def stored_into(x):
    """The value in whose place an array is made by stores and inner loops."""
    while isinstance(x, Value) and x.eqn is not None:
        eqn = x.eqn
        if eqn.op in STORES:
            x = eqn.operands[0]
        elif eqn.op is loop:
            x = groups(eqn.operands, **eqn.attrs)[2][eqn.results.index(x)]
        else:
            break
    return x


def cycles(places):
    """The cycles of a permutation."""
    left = dict(places)
    while left:
        k, j = left.popitem()
        cycle = [k]
        while j != k:
            cycle.append(j)
            j = left.pop(j)
        yield cycle


def written_together(build, attrs, operands, period, hints):
    """A loop of which each trip is `period` trips of another, and the trips that are left over -> its results."""
    body, trips = attrs["body"], attrs["trips"]
    _, invariants, state = groups(operands, **attrs)
    inner = Builder(body.name)
    counter, *params = [inner.param(p.type, p.hint) for p in body.params]
    fixed, carried = params[: len(invariants)], params[len(invariants) :]
    with inner:
        inner.source = build.source
        first = mul(counter, Lit(period, COUNTER))
        for k in range(period):
            carried = inner.inline(body, (add(first, Lit(k, COUNTER)) if k else first, *fixed, *carried))
    new = attrs | {"body": inner.finish(tuple(carried)), "trips": trips // period}
    state = build.emit(loop, (*invariants, *state), new, None, hints)
    for k in range(trips - trips % period, trips):
        state = build.inline(body, (Lit(k, COUNTER), *invariants, *state))
    return state
