"""What a loop need not do in every trip."""

from __future__ import annotations

from ..core import Builder, Func, Lit, Value, has
from ..op import Cost
from ..ops.control import COUNTER, groups, loop
from ..ops.elementwise import and_, eq, select
from ..ops.shape import constant, iota
from ..rewrite import is_live, readers

FEW = 8  # trips written out, where the body is short and all of scalars; measured by benchmarks/tune.py
SHORT = 8  # equations of such a body; measured by benchmarks/tune.py
# elements of arrays that a loop had better pass over once than once a trip; re-measured by benchmarks/tune.py
WIDE = 1 << 16
WRITTEN = 64  # bound: equations that trips over such arrays may be


def in_place(op):
    """Whether results are cheaper computed where they are read than carried there."""
    return "moves" in op.traits or op is constant or op is iota


def loops(func: Func) -> Func:
    """No loop carries a value that never changes, that only the first trip changes or that nobody reads, or computes in
    every trip what is the same. Loops of one trip, short ones of scalars, and those of a few sweeps over large arrays,
    are written out. Regions too.
    """
    return _loops(func, {}) if has(func, lambda eqn: eqn.op is loop) else func


def _loops(func, done):
    if func not in done:
        build, reads, env = Builder.again(func), readers(func), {}
        for eqn in func.eqns:
            if not is_live(eqn, reads):
                continue
            attrs = eqn.mapped(lambda region: _loops(region, done))
            if eqn.op is not loop:
                build.replay(eqn, env, attrs=attrs)
                continue
            build.source = eqn.source
            operands = [env.get(x, x) for x in eqn.operands]
            wanted = [reads[r] > 0 for r in eqn.results]
            out = emitted(build, attrs, operands, wanted, tuple(r.hint for r in eqn.results))
            if out is None:
                build.replay(eqn, env, attrs=attrs)
                continue
            env.update((r, x) for r, x in zip(eqn.results, out) if x is not None)
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def emitted(build, attrs, operands, wanted, hints):
    """The loop appended to `build` in its new form -> its results, None for those not wanted; None where it is as good
    as it stands."""
    body, test, trips = attrs["body"], attrs["test"], attrs["trips"]
    limit, invariants, state = groups(operands, **attrs)
    if test is None and better_written_out(body, len(state), trips):
        for k in range(trips):
            state = build.inline(body, (Lit(k, COUNTER), *invariants, *state))
        return state
    first = 1 + len(invariants)
    fixed = invariant_flags(body, first, state)
    live = carried(body, test, first, [w and not f for w, f in zip(wanted, fixed)], fixed)
    out = invariant_values(fixed, state)
    keep = [k for k, alive in enumerate(live) if alive]
    if not keep and not acting(body, test):
        return out
    body, test, invariants = with_invariants(
        body, test, invariants, [(first + k, x) for k, x in enumerate(state) if fixed[k]], keep
    )
    state = [state[k] for k in keep]
    surely = test is None and bool(trips)
    body, test, invariants = hoisted(build, body, test, invariants, surely)
    if surely:
        body, decided = decided_once(build, body, invariants, state)
        for k, x in decided.items():
            out[keep[k]] = x
        keep, state = ([x for k, x in enumerate(xs) if k not in decided] for xs in (keep, state))
        if not keep and not acting(body):
            return out
    body, test, invariants = without_unread(body, test, invariants)
    new, given = attrs | {"body": body, "test": test, "carried": len(keep)}, (*limit, *invariants, *state)
    if loop_size(new, given) == loop_size(attrs, operands):
        return None
    results = build.emit(loop, given, new, None, tuple(hints[k] for k in keep))
    for k, r in zip(keep, results):
        out[k] = r
    return out


def acting(*functions):
    """Whether any equation of functions, None where there is none, has an effect."""
    return any(e.effect for f in functions if f for e in f.eqns)


def invariant_values(fixed, state):
    """What carried values stay, None for those that change."""
    return [x if f else None for f, x in zip(fixed, state)]


def loop_size(attrs, operands):
    """What is carried by a loop, its operands and equations: whatever changes a loop makes one of the three another."""
    return attrs["carried"], len(operands), sum(f.count() for f in (attrs["body"], attrs["test"]) if f)


def invariant_flags(body, first, state):
    """For each carried value whether it stays what it was before the loop."""
    return [r is p or isinstance(r, Lit) and r is x for r, p, x in zip(body.results, body.params[first:], state)]


def with_invariants(body, test, invariants, fixed, keep):
    """What carried values `fixed`, [(place of the parameter, value)], stay is made invariant, only those of `keep` are
    carried, and numbers are written where they are read -> (body, test, invariants).
    """
    first = 1 + len(invariants)
    wide = [*enumerate(invariants, 1), *fixed]
    same = {f.params[p]: x for f in (body, test) if f is not None for p, x in wide if isinstance(x, Lit)}
    order = [0, *(p for p, x in wide if not isinstance(x, Lit)), *(first + k for k in keep)]
    body = narrowed(body, order, [body.results[k] for k in keep], same)
    return body, test and narrowed(test, order, test.results, same), [x for _, x in wide if not isinstance(x, Lit)]


def better_written_out(body, carried, trips):
    """Whether trips, None where their number is unknown, are better written one after another."""
    if trips is None:
        return False
    return trips <= 1 or trips <= FEW and (is_scalar_body(body) or sweeps(body, carried, trips))


def is_scalar_body(body):
    """Whether a body is short, and all of scalars."""
    plain = all(not r.type.shape for e in body.eqns for r in e.results) and not any(
        e.regions() or e.effect for e in body.eqns
    )
    return plain and len(body.eqns) <= SHORT and all(not r.type.shape for r in body.results)


def sweeps(body, carried, trips):
    """Whether a trip computes large arrays of themselves element by element, in less time than memory takes: written
    out, all trips are one pass over them, which XLA divides among threads.
    """
    state = body.params[len(body.params) - carried :]
    if len(body.eqns) * trips > WRITTEN or any(x.type.size < WIDE for x in state):
        return False
    here = set(state)  # values whose elements are computed of those of the trip before in the same places
    for eqn in body.eqns:
        swept = any(x in here for x in eqn.operands)
        if eqn.effect or eqn.op.cost > Cost.DIVISION:
            return False
        if not ("elementwise" in eqn.op.traits or in_place(eqn.op) and not swept):
            return False
        here.update(eqn.results if swept else ())
    return all(x in here for x in body.results)


def carried(body, test, first, wanted, fixed):
    """Which carried values are to stay: those wanted, tested, written by effects, or needed for one that stays."""
    live = list(wanted)
    asked = needed(test, test.results) if test is not None else set()
    for k in range(len(live)):
        live[k] |= not fixed[k] and test is not None and test.params[first + k] in asked
    while True:
        used = needed(body, [r for r, alive in zip(body.results, live) if alive])
        more = [not fixed[k] and body.params[first + k] in used for k in range(len(live))]
        if all(alive or not m for alive, m in zip(live, more)):
            return live
        live = [alive or m for alive, m in zip(live, more)]


def needed(func, results):
    """The values that some results, and the effects, are computed from."""
    used = {r for r in results if isinstance(r, Value)}
    for eqn in reversed(func.eqns):
        if eqn.effect or any(r in used for r in eqn.results):
            used.update(x for x in eqn.operands if isinstance(x, Value))
    return used


def narrowed(func, order, results, same):
    """`func` on its parameters at `order`; those that are a number in `same` are that number."""
    used = needed(func, results)
    build = Builder(func.name)
    env = same | {func.params[k]: build.param(func.params[k].type, func.params[k].hint) for k in order}
    for eqn in func.eqns:
        if eqn.effect or any(r in used for r in eqn.results):
            build.replay(eqn, env)
    return build.finish(tuple(env.get(r, r) for r in results))


def without_unread(body, test, invariants):
    """(body, test, invariants) without the invariants that neither reads."""
    used = needed(body, body.results) | (needed(test, test.results) if test is not None else set())
    read = [any(f is not None and f.params[1 + k] in used for f in (body, test)) for k in range(len(invariants))]
    order = [0, *(1 + k for k, r in enumerate(read) if r), *range(1 + len(invariants), len(body.params))]
    pick = lambda f: f and narrowed(f, order, f.results, {})
    return pick(body), pick(test), [x for x, r in zip(invariants, read) if r]


def decided_once(build, body, invariants, state):
    """(body without them, {place: its value after any trip}) of the carried numbers that are set once at most, by what
    is the same in every trip.

    So is the status of a program: the first of its checks that fails.
    """
    first, found = 1 + len(invariants), {}
    env = dict(zip(body.params[1:first], invariants))
    for k, x in enumerate(state):
        zero = Lit(0, x.type)
        for test, new in set_while_0(body, body.params[first + k], body.results[k], {*body.params[1:first]}):
            test, new, before = env.get(test, test), env.get(new, new), found.get(k, x)
            with build:
                found[k] = select(test if before is zero else and_(test, eq(before, zero)), new, before)
    if not found:
        return body, found
    stay = [k for k in range(len(state)) if k not in found]
    return narrowed(body, [*range(first), *(first + k for k in stay)], [body.results[k] for k in stay], {}), found


def set_while_0(body, before, after, fixed):
    """(test, new) of each step that makes `after` of the integer `before`, `select(and(test, eq(x, 0)), new, x)`, first
    to last; none if anything else is done or is read, or if a test or a new number is not in `fixed`. What is not 0
    stays, and what is 0 again would be so the next time too.
    """
    steps, x, between, own = [], after, {before}, set()
    while x is not before:
        chosen = producer(x, select)
        both = producer(chosen.operands[0], and_) if chosen else None
        asks = {y: producer(y, eq) for y in both.operands} if both else {}
        asked = next((e for e in asks.values() if e and e.operands == (chosen.operands[2], Lit(0, x.type))), None)
        test = next((y for y, e in asks.items() if e is not asked), None)
        if (
            asked is None
            or test is None
            or not all(isinstance(y, Lit) or y in fixed for y in (test, chosen.operands[1]))
        ):
            return []
        steps.insert(0, (test, chosen.operands[1]))
        own |= {chosen, both, asked}
        between |= {*chosen.results, *both.results, *asked.results}
        x = chosen.operands[2]
    others = [y for e in body.eqns if e not in own for y in e.operands] + [r for r in body.results if r is not after]
    return [] if between & {*others} or body.results.count(after) > 1 or before.type.kind != "i" else steps


def producer(x, op):
    """The equation that makes a value, if it is of that op."""
    return x.eqn if isinstance(x, Value) and x.eqn is not None and x.eqn.op is op else None


def hoisted(build, body, test, invariants, surely):
    """What is the same in every trip computed before the loop -> (body, test, invariants).

    Parts and repetitions stay where they are read, and so does what is larger than all it is computed from, such as a
    mask. surely: there is a trip, so that loops may move too: elsewhere one might never end.
    """
    first = 1 + len(invariants)
    weight = {p: p.type.size for p in body.params[1:first]}  # elements behind a value that is known outside
    extra, moved = [], set()
    for eqn in body.eqns:
        if eqn.effect or not all(isinstance(x, Lit) or x in weight for x in eqn.operands):
            continue
        behind = sum(weight.get(x, 0) for x in eqn.operands)
        if in_place(eqn.op):
            weight[eqn.results[0]] = min(behind, eqn.results[0].type.size)
        elif surely if eqn.regions() else sum(r.type.size for r in eqn.results) <= max(behind, FEW):
            weight.update((r, r.type.size) for r in eqn.results)
            moved.add(eqn)
        else:
            continue
        extra.append(eqn)
    return computed_before(build, body, test, invariants, extra, moved) if moved else (body, test, invariants)


def computed_before(build, body, test, invariants, extra, moved):
    """As `hoisted`: the equations `extra` of the body computed before the loop, of which `moved` are left out of it."""
    first = 1 + len(invariants)
    env = dict(zip(body.params[1:first], invariants))
    for eqn in extra:
        build.replay(eqn, env)
    staying = [e for e in body.eqns if e not in moved]
    read = {x for e in staying for x in e.operands} | set(body.results)
    carry = [r for e in extra if e in moved for r in e.results if r in read]
    fresh = {r: Value(r.type, None, r.hint) for r in carry}
    inner = Builder(body.name)
    names = {p: inner.param(p.type, p.hint) for p in body.params[:first]}
    names.update({r: inner.param(r.type, r.hint) for r in carry})
    names.update({p: inner.param(p.type, p.hint) for p in body.params[first:]})
    for eqn in staying:
        inner.replay(eqn, names)
    body = inner.finish(tuple(names.get(r, r) for r in body.results))
    if test is not None:
        test = Func(test.name, (*test.params[:first], *fresh.values(), *test.params[first:]), test.eqns, test.results)
    return body, test, [*invariants, *(env[r] for r in carry)]
