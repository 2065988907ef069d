"""Derivatives and batching of loops.

The adjoint of a loop is a loop run backwards. The forward loop writes what the adjoint of one trip
reads, and that only (`split`), to the slot of the trip in stacks; the backward loop reads the slots
last to first. Invariants are read as they are, linear steps save nothing.
Source: Griewank & Walther, Evaluating Derivatives (2008), ch. 12 (store-all reversal).
"""

from ..ir.core import Builder, Lit, effectful, zeros_like
from ..ir.ops.control import COUNTER, groups, loop, region
from ..ir.ops.elementwise import add, lt, select
from ..ir.ops.reduction import reduce_or
from ..ir.ops.shape import with_element
from ..ir.source import hint_name
from . import checkpoints, remat, undo_log
from .batch import BATCH, spread
from .control import along, batch_as, batched_results, one_by_one, place, where
from .forms import add_tangents, joint
from .jvp import jvp
from .split import Split, weight
from .tape import ONE, ZERO, backwards, empty, hints_of, split_by_counts, types_of
from .vjp import activity, useful, vjp


class UnboundedLoopError(TypeError):
    """Reverse mode through a loop whose trips nothing bounds, so that its stacks have no size."""


def with_more_parameters(func, types, pick, hints):
    """`func` as a function of more parameters, of which it reads those `pick` finds."""
    return region(lambda *xs: Builder.current().inline(func, pick(xs)), types, func.name, hints)


# -- forward mode ----------------------------------------------------------------------------------


def grown(flags, step):
    """The least fixed point of `step` above `flags`."""
    while True:
        more = tuple(a or b for a, b in zip(flags, step(flags), strict=True))
        if more == flags:
            return flags
        flags = more


def varied(body, outer, carried):
    """Which carried values depend on the parameters flagged: `outer` for counter and invariants, `carried` at the
    start."""

    def step(flags):
        active = activity(body, where((*outer, *flags)))
        return tuple(r in active for r in body.results)

    return grown(carried, step)


def loop_jvp(operands, tangents, *, body, carried, test, trips, bound):
    """Each trip moves values and tangents together."""
    limit, invariants, state = groups(operands, test=test, trips=trips, carried=carried)
    _, t_inv, t_state = groups(tangents, test=test, trips=trips, carried=carried)
    moves_inv = where(t is not None for t in t_inv)
    flags = varied(body, (False, *(t is not None for t in t_inv)), tuple(t is not None for t in t_state))
    moves = where(flags)
    first = 1 + len(invariants)
    func = jvp(body, [1 + k for k in moves_inv] + [first + j for j in moves])
    inexact = where(r.type.inexact for r in body.results)
    sizes = 1, len(invariants), len(moves_inv), carried, len(moves)

    def both(*xs):
        i, inv, tinv, now, tnow = split_by_counts(xs, *sizes)
        out = Builder.current().inline(func, (*i, *inv, *now, *tinv, *tnow))
        return (*out[:carried], *(out[carried + inexact.index(j)] for j in moves))

    def primal(xs):
        i, inv, _, now, _ = split_by_counts(xs, *sizes)
        return (*i, *inv, *now)

    xs = (
        (*invariants, *(t_inv[k] for k in moves_inv)),
        (*state, *(zeros_like(state[j]) if t_state[j] is None else t_state[j] for j in moves)),
    )
    types = [COUNTER, *types_of(*xs[0], *xs[1])]
    ps = body.params
    hints = [
        *hints_of(ps[:first]),
        *(("t_", ps[1 + k]) for k in moves_inv),
        *hints_of(ps[first:]),
        *(("t_", ps[first + j]) for j in moves),
    ]
    still = None if test is None else with_more_parameters(test, types, primal, hints)
    out = loop(
        *limit,
        *xs[0],
        *xs[1],
        body=region(both, types, func.name, hints),
        test=still,
        trips=trips,
        carried=len(xs[1]),
        bound=bound,
    )
    return out[:carried], place(out[carried:], moves, carried)


# -- reverse mode ----------------------------------------------------------------------------------


def loop_vjp(operands, needs, gives, *, body, carried, test, trips, bound):
    """The forward loop fills the stacks and, under a test, counts its trips; or it keeps snapshots (`checkpoints`)."""
    limit, invariants, state = groups(operands, test=test, trips=trips, carried=carried)
    _, needs_inv, needs_state = groups(needs, test=test, trips=trips, carried=carried)
    first = 1 + len(invariants)
    primal = first + carried

    flows = _flows(body, needs_inv, needs_state, gives)
    wrt = [1 + k for k in where(needs_inv)] + [first + j for j in flows]
    slots = trips if trips is not None else bound
    half = _cut_within(body, first, wrt, flows, slots)
    arrays = [c.position for c in half.chains] if isinstance(half, undo_log.UndoLog) else []

    def before(totals):
        return [totals[len(limit) + k] for k in where(needs_inv)]

    def placed(cts, totals):
        """Cotangents of the invariants needed, on top of their totals, then of what is carried at `flows`, as those of
        all operands."""
        found = dict(enumerate(totals)) | {len(limit) + k: ct for k, ct in zip(where(needs_inv), cts, strict=False)}
        for j, ct in zip(flows, cts[sum(needs_inv) :], strict=True):
            found[len(operands) - carried + j] = add_tangents(found[len(operands) - carried + j], ct)
        return tuple(found.values())

    if checkpoints.wanted(half.saved, slots):
        if not effectful(loop, {"body": body, "test": test}):  # what has an effect runs once only
            levels = checkpoints.nest(half.saved, body, trips, carried) if trips is not None and test is None else None
            if levels is not None:
                more, trips = levels
                return loop_vjp(operands, needs, gives, body=more, carried=carried, test=None, trips=trips, bound=None)
            kept = checkpoints.Checkpointed(half, body, test, trips, bound, limit, invariants, state)
            results, pull = kept.vjp(where(needs_inv), flows)
            return results, lambda gs, totals: placed(pull(gs, before(totals)), totals)
        if slots is None:
            raise UnboundedLoopError(_unbounded(half.saved))
    if half.saved:
        checkpoints.tell(f"keeps {checkpoints.size_text(slots * sum(map(weight, half.saved)))}, for {slots} trips")
    counting = test is not None
    depth = max(slots or 0, 1)
    stacks = [empty(x.type, depth) for x in half.saved]

    def forward(*xs):
        (i,), _, _, _, full = split_by_counts(xs, 1, len(invariants), carried, int(counting), len(stacks))
        results, saved = half.append_early(Builder.current(), dict(zip(half.func.params[:primal], xs, strict=False)))
        return (
            *results,
            *([add(i, ONE)] if counting else []),
            *(with_element(s, x, i) for s, x in zip(full, saved, strict=True)),
        )

    now = (*state, *([ZERO] if counting else []), *stacks)
    types = [COUNTER, *types_of(*invariants, *now)]
    hints = [
        *hints_of(body.params),
        *(["trips"] if counting else []),
        *(("saved_", x) if hint_name(x) else "saved" for x in half.saved),
    ]
    still = None if test is None else with_more_parameters(test, types, lambda xs: xs[:primal], hints)
    ahead = region(forward, types, body.name, hints) if stacks or counting else body
    out = loop(*limit, *invariants, *now, body=ahead, test=still, trips=trips, carried=len(now), bound=bound)
    results, (count, *full) = (
        out[:carried],
        (out[carried:] if counting else (limit[0] if limit else trips, *out[carried:])),
    )

    def pull(gs, totals):
        left = [out[j] for j in arrays]
        cts = backwards(
            half, invariants, count, full, where(needs_inv), flows, gs, totals=before(totals), bound=slots, left=left
        )
        for j, found in zip(arrays, cts[len(cts) - len(arrays) :]):
            undo_log.note_restored(state[j], found)
        return placed(cts[: len(cts) - len(arrays)], totals)

    return results, pull


def _flows(body, needs_inv, needs_state, gives):
    """The carried values through which a cotangent flows: they depend on what is needed, and what is given depends on
    them."""
    moving = varied(body, (False, *needs_inv), needs_state)
    active = activity(body, where((False, *needs_inv, *moving)))
    carried = body.params[1 + len(needs_inv) :]
    heard = grown(gives, lambda flags: tuple(p in useful(body, active, where(flags)) for p in carried))
    return where(m and h for m, h in zip(moving, heard, strict=True))


def _cut_within(body, first, wrt, flows, slots):
    """As `_cut`, with no more kept of one trip, and of all, than there is room for."""
    half = _cut(body, first, wrt, flows, slots)
    budget = checkpoints.LIMIT.get()
    if budget is not None and sum(map(weight, half.saved)) > budget:
        half = _cut(remat.within_budget(body, wrt, flows, "one trip of a loop"), first, wrt, flows, slots)
    return half.plain if isinstance(half, undo_log.UndoLog) and checkpoints.wanted(half.saved, slots) else half


def _cut(body, first, wrt, flows, slots):
    """The derivative of one trip, cut in two; the counter and the invariants, the parameters before `first`, are there
    on the way back.

    Loops within it that restore arrays only because this one is to restore them too are done again if it does not.
    """
    for restores in (True, False):
        with checkpoints.nested(), undo_log.noting(restores) as (inner, around):
            func = vjp(body, wrt, flows, onto=sum(i < first for i in wrt))
        half = Split(func, len(body.params), len(body.results), func.params[:first], free=True)
        half = undo_log.restoring(half, func.params[first : len(body.params)], func.params[:first], inner, slots)
        if isinstance(half, undo_log.UndoLog) or not around.relied:
            break
    return half


def _unbounded(saved):
    outer = Builder.current().source
    kept = ", ".join(repr(x.type) for x in saved)
    return (
        f"reverse mode through a loop whose trip count is known at run time only{f', at {outer}' if outer else ''}: "
        f"each trip must keep {kept}, "
        "nothing bounds the number of trips, and it cannot run again, since it prints, draws numbers or calls Python. "
        "Take that out of the loop, bound its trips (for k in range(1000): ... break), or use forward mode (jvp)"
    )


joint(loop, jvp=loop_jvp, vjp=loop_vjp, adds=True)


# -- batching --------------------------------------------------------------------------------------


@BATCH.rule(loop)
def batch_loop(lanes, batched, *operands, body, carried, test, trips, bound):
    """The lanes go inside. Where they stop apart, the loop runs until the last has stopped; stopped lanes keep their
    values.

    A stopped lane must not repeat its effects, so loops that have some go lane by lane.
    """
    limit, invariants, state = groups(operands, test=test, trips=trips, carried=carried)
    b_limit, b_inv, b_state = groups(batched, test=test, trips=trips, carried=carried)
    flags = grown(b_state, lambda flags: batched_results(body, (False, *b_inv, *flags)))
    inner = (False, *b_inv, *flags)
    attrs = {"body": body, "carried": carried, "test": test, "trips": trips, "bound": bound}
    if any(b_limit) or (test is not None and batched_results(test, inner)[0]):
        if effectful(loop, attrs):
            return one_by_one(loop, lanes, batched, operands, **attrs)
        return _until_all_stop(lanes, inner, limit, invariants, state, batched, body, test, trips, bound)
    state = spread_state(state, b_state, flags, lanes)
    still = None if test is None else batch_as(test, inner, lanes, (False,))
    out = loop(
        *limit,
        *invariants,
        *state,
        body=batch_as(body, inner, lanes, flags),
        test=still,
        trips=trips,
        carried=carried,
        bound=bound,
    )
    return spread_state(out, flags, (True,) * carried, lanes)


def spread_state(state, have, want, lanes):
    return tuple(spread(x, lanes) if w and not h else x for x, h, w in zip(state, have, want, strict=True))


def _until_all_stop(lanes, inner, limit, invariants, state, batched, body, test, trips, bound):
    """A further carried value flags the lanes still going."""
    carried, first = len(state), 1 + len(invariants)
    inner = (*inner[:first], *(True for _ in state))
    step = batch_as(body, inner, lanes, (True,) * carried)
    if test is None:
        outer = (*limit, *invariants)
        going = lambda i, limit, *xs: lt(spread(i, lanes), limit)
    else:
        outer = invariants
        asked = batch_as(test, inner, lanes, (True,))
        going = lambda i, *xs: Builder.current().inline(asked, (i, *xs))[0]
    skip = len(outer) - len(invariants)

    def again(i, *xs):
        held, live, old = xs[: len(outer)], xs[len(outer)], xs[len(outer) + 1 :]
        new = Builder.current().inline(step, (i, *held[skip:], *old))
        new = [select(along(live, x), x, y) for x, y in zip(new, old, strict=True)]
        still = going(add(i, ONE), *held, *new)
        return (select(live, still, Lit(False, still.type)), *new)

    def any_live(i, *xs):
        return reduce_or(xs[len(outer)], axes=(0,))

    state = spread_state(state, batched[len(batched) - carried :], (True,) * carried, lanes)
    start = (going(ZERO, *outer, *state), *state)
    types = [COUNTER, *types_of(*outer, *start)]
    hints = [
        *hints_of(body.params[:1]), *(None for _ in limit), *hints_of(body.params[1:first]), None,
        *hints_of(body.params[first:]),
    ]
    again, any_live = region(again, types, body.name, hints), region(any_live, types, "any_live", hints)
    return loop(*outer, *start, body=again, test=any_live, trips=trips, carried=1 + carried, bound=bound)[1:]
