"""Loops that compute a row of a matrix product in every trip."""

from __future__ import annotations

from ..core import Builder, Func, Lit, Value, has
from ..ops.control import TRUTH, groups, loop
from ..ops.elementwise import and_, ge, select
from ..ops.linalg import dot_general
from ..ops.shape import broadcast, dynamic_slice, dynamic_update_slice, pad, reshape, reverse
from ..rewrite import is_live, readers
from ..trips import TripPart, Trips, from_front, known_counters, reshaped
from .loops import carried, needed

# elements of a product from which one product is sought; below, a loop is as good; re-measured by benchmarks/tune.py
LEAST = 1024
# bound: what is computed for all trips at once may be so many times as large as the largest array that the loop has
# anyway
ROOM = 4


def products(func: Func, exact: bool = False, notes: list[str] | None = None) -> Func:
    """No loop fills an array in rows, or in rows and columns, with what products of an invariant array with a part that
    the counter picks give, where one product gives them all. Not where `exact`, since one product adds in another order
    than many. Regions too.

    The trips are independent: a trip reads of the array only what a store keeps of the elements that it replaces, or,
    where all stores go to one row and each trip has a row of its own, that row. So what is stored is computed for all
    trips at once. An element that several trips or stores write is the last one's; one that none writes stays. `notes`
    is told of each such loop.
    """
    return (
        func
        if exact or not has(func, lambda eqn: eqn.op is loop)
        else _products(func, {}, [] if notes is None else notes)
    )


def _products(func, done, notes):
    if func not in done:
        build, reads, env = Builder.again(func), readers(func), {}
        for eqn in func.eqns:
            attrs = eqn.mapped(lambda region: _products(region, done, notes))
            build.replay(eqn, env, attrs=attrs)
            build.source = eqn.source
            if eqn.op is loop and is_live(eqn, reads):
                operands = [env.get(x, x) for x in eqn.operands]
                filled = at_once(build, attrs, operands, [reads[r] > 0 for r in eqn.results], eqn.results)
                if filled:
                    env |= filled
                    note_product(notes, eqn)
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def note_product(notes, eqn):
    note = (
        f"{eqn.source}: " * (eqn.source is not None)
        + "the trips of the loop are independent, and are done at once, by one product"
    )
    if note not in notes:
        notes.append(note)


def at_once(build, attrs, operands, wanted, results):
    """{result of a loop: its value computed without the loop}, the equations appended to `build`."""
    body, n = attrs["body"], attrs["trips"]
    if attrs["test"] is not None or n is None or n < 2 or not any(eqn.op is dot_general for eqn in body.eqns):
        return {}
    first, known = 1 + len(groups(operands, **attrs)[1]), known_counters(body, n)
    found = {
        k: stores(body.params[first + k], body.results[k], known, body.params[0], n) for k, w in enumerate(wanted) if w
    }
    found = {k: ways for k, ways in found.items() if ways}
    return written_at_once(build, attrs, operands, wanted, results, found, known) if found else {}


def written_at_once(build, attrs, operands, wanted, results, found, known):
    """As `at_once`, of the carried values of which `found` has the stores; known: the counters of the body as affine
    forms."""
    body, n = attrs["body"], attrs["trips"]
    _, invariants, state = groups(operands, **attrs)
    first = 1 + len(invariants)
    inner = Builder("rows")
    inner.source = build.source
    env = {
        p: x if isinstance(x, Lit) else inner.param(x.type, p.hint)
        for p, x in zip(body.params[1:], (*invariants, *state))
    }
    own = own_parts(found.values())
    given = {p: x for p, x in env.items() if p in own or p in body.params[:first]}
    with inner:
        trips = Trips(inner, body, given, known, n, ROOM * max(x.type.size for x in operands), own)
        asked = needed(body, [x for ways in found.values() for s in ways for x in s.reads])
        for eqn in body.eqns:
            if any(r in asked for r in eqn.results):
                trips.run(eqn)
        inner.source = build.source
        found = exclusive_stores(
            body,
            first,
            wanted,
            {k: ways for k, ways in found.items() if all(trips.get(x) for s in ways for x in s.reads)},
            trips,
        )
        out = [after_stores(env[body.params[first + k]], ways, trips) for k, ways in found.items()]
    made = (
        build.inline(inner.finish(tuple(out)), [x for x in (*invariants, *state) if not isinstance(x, Lit)])
        if out
        else ()
    )
    return dict(zip((results[k] for k in found), made, strict=True))


def own_parts(stores):
    """{state: the part of it that each trip stores into}, of lists of stores each of which has one part."""
    return {s.state: s.part for ways in stores if all(s.part.same(ways[0].part) for s in ways) for s in ways}


class RowStore:
    """A store of a loop body: `value` where `mask`, at `part` of `state`; a mask of None is True everywhere."""

    def __init__(self, state, part, value, mask):
        self.state, self.part, self.value, self.mask = state, part, value, mask
        self.reads = [value] if mask is None else [value, mask]


def stores(before, after, known, counter, trips):
    """The stores, in order, that make a carried value what it is after a trip, if they do nothing else with it; else
    None."""
    found, x = [], after
    while x is not before:
        if not isinstance(x, Value) or x.eqn is None or x.eqn.op is not dynamic_update_slice:
            return None
        (x, u, *starts), shape = x.eqn.operands, x.type.shape
        part = TripPart(known, counter, trips, shape, starts, u.type.shape)
        if not part.there or part.axis is None:
            return None
        value, mask = as_written(u), None
        eqn = value.eqn if isinstance(value, Value) else None
        if eqn is not None and eqn.op is select:
            old = as_written(eqn.operands[2])
            load = old.eqn if isinstance(old, Value) else None
            if (
                load is not None
                and load.op is dynamic_slice
                and load.operands[0] is x
                and load.attrs["sizes"] == u.type.shape
            ):
                if part.same(TripPart(known, counter, trips, shape, load.operands[1:], u.type.shape)):
                    mask, value = eqn.operands[:2]
        found.append(RowStore(x, part, value, mask))
    return found[::-1]


def as_written(x):
    """x before it was brought to another shape."""
    while isinstance(x, Value) and x.eqn is not None and x.eqn.op is reshape:
        x = x.eqn.operands[0]
    return x


def exclusive_stores(body, first, wanted, found, trips):
    """Of the stores found, those of the carried values whose products, large enough to be worth it, nothing else in the
    loop needs."""
    while found:
        rest = carried(body, None, first, [w and k not in found for k, w in enumerate(wanted)], [False] * len(wanted))
        kept = needed(body, [r for r, alive in zip(body.results, rest) if alive])
        good = {}
        for k, ways in found.items():
            used = needed(body, [s.value for s in ways]) & trips.products
            if not used & kept and any(x.type.size * trips.trips >= LEAST for x in used):
                good[k] = ways
        if len(good) == len(found):
            break
        found = good
    return found


def after_stores(x, ways, trips):
    """x after all trips. Where two stores may meet, the later trip's is the one that stays, in one trip the later
    one."""
    shape, latest = x.type.shape, None
    meet = any(s.part.line() != ways[0].part.line() for s in ways)
    for s in ways:
        here = placed(s.part, trips.whole(Lit(True, TRUTH) if s.mask is None else s.mask), shape, False)
        if meet:
            trip = broadcast(trips.numbers, shape=(trips.trips, *s.part.rest), dims=(0,))
            trip = placed(s.part, trip, shape, -1)
            here = here if latest is None else and_(here, ge(trip, latest))
            latest = select(here, trip, Lit(-1, trip.type) if latest is None else latest)
        x = select(here, placed(s.part, trips.whole(s.value), shape, 0), x)
    return x


def placed(part, x, shape, junk):
    """x, which has the trips in front, where the trips' parts are in an array of this shape; `junk` elsewhere."""
    trips, axis, step = x.type.shape[0], part.axis, abs(part.step)
    x = reshaped(x, (trips, *part.rest))
    x = from_front(x if part.step > 0 else reverse(x, axes=(0,)), axis)
    low = [part.lowest if d == axis else a for d, a in enumerate(part.starts)]
    interior = [step - 1 if d == axis else 0 for d in range(len(shape))]
    high = [n - a - k - (k - 1) * i for n, a, k, i in zip(shape, low, x.type.shape, interior)]
    if not any((*low, *high, *interior)):
        return x
    return pad(x, Lit(junk, x.type.like(())), low=tuple(low), high=tuple(high), interior=tuple(interior))
