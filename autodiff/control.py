"""Derivatives and batching of choice, independent iterations, calls and Python; loops have a file of their own.

The derivative of an op that runs regions is the same op on differentiated regions. In reverse mode
each region is cut in two (`split`): the early half takes the region's place and gives residuals too.
"""

from collections import Counter

from ..ir.core import Builder, Func, Lit, zeros_like
from ..ir.ops.control import call, cond, host, map_, region
from ..ir.ops.elementwise import lt, select
from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import broadcast, transpose
from ..ir.types import IRTypeError
from .batch import BATCH, batch, batch_into, spread
from .forms import explicit, joint
from .jvp import jvp
from .split import Split
from .vjp import vjp


def where(flags):
    return [i for i, flag in enumerate(flags) if flag]


def is_zero(x):
    return isinstance(x, Lit) and not x.value


def place(values, indices, count):
    """`values` at `indices` of a tuple of `count`, None elsewhere."""
    found = dict(zip(indices, values, strict=True))
    return tuple(found.get(i) for i in range(count))


def drop_zeros(funcs, first):
    """`funcs` without the results from `first` on that are zero in all of them -> (funcs, offsets kept)."""
    kept = [k for k in range(len(funcs[0].results) - first) if not all(is_zero(f.results[first + k]) for f in funcs)]
    return [
        Func(f.name, f.params, f.eqns, (*f.results[:first], *(f.results[first + k] for k in kept))) for f in funcs
    ], kept


def cotangents(gs, indices, results):
    """The cotangents at `indices`, zeros for those that never came."""
    return [zeros_like(results[i]) if gs[i] is None else gs[i] for i in indices]


# -- forward mode ----------------------------------------------------------------------------------


def tangent_regions(bodies, tangents):
    """`bodies` with the tangents of their operands as further parameters and those of their results as further results.

    -> (functions, result indices that have a tangent)
    """
    count = len(bodies[0].results)
    inexact = where(r.type.inexact for r in bodies[0].results)
    funcs, kept = drop_zeros([jvp(b, where(t is not None for t in tangents)) for b in bodies], count)
    return funcs, [inexact[k] for k in kept]


def _present(tangents):
    return [t for t in tangents if t is not None]


def cond_jvp(operands, tangents, *, branches):
    funcs, moving = tangent_regions(branches, tangents[1:])
    out = cond(*operands, *_present(tangents), branches=tuple(funcs))
    n = len(branches[0].results)
    return out[:n], place(out[n:], moving, n)


def map_jvp(operands, tangents, *, body, mapped, size):
    (func,), moving = tangent_regions([body], tangents)
    flags = [flag for flag, t in zip(mapped, tangents, strict=True) if t is not None]
    out = map_(*operands, *_present(tangents), body=func, mapped=(*mapped, *flags), size=size)
    n = len(body.results)
    return out[:n], place(out[n:], moving, n)


def call_jvp(operands, tangents, *, body, name, inline, rule):
    if rule is not None:
        return rule.jvp(operands, tangents, body)
    (func,), moving = tangent_regions([body], tangents)
    out = call(*operands, *_present(tangents), body=func, name=f"t_{name}", inline=inline)
    n = len(body.results)
    return out[:n], place(out[n:], moving, n)


# -- reverse mode ----------------------------------------------------------------------------------


def split_body(body, needs, gives):
    """The derivative program of `body`, cut; every parameter of the body is at hand behind the cut."""
    func = vjp(body, where(needs), where(gives))
    return Split(func, len(body.params), len(body.results), func.params[: len(body.params)], free=False)


def early_half(half):
    """A function like the primal, with the residuals as further results."""
    primal = half.func.params[: half.known]

    def early(*xs):
        results, saved = half.append_early(Builder.current(), dict(zip(primal, xs, strict=True)))
        return results + saved

    return region(early, [p.type for p in primal], half.func.name, [p.hint for p in primal])


def late_half(half, read, slots=None, mine=None):
    """A function of the parameters at `read`, residuals in `slots` (types, of which those at `mine` are ours), and the
    cotangents."""
    slots = [x.type for x in half.saved] if slots is None else slots
    mine = range(len(half.saved)) if mine is None else mine
    params, gs, first = [half.func.params[i] for i in read], half.func.params[half.known :], len(read)

    def late(*xs):
        env = dict(zip((*params, *gs), (*xs[:first], *xs[first + len(slots) :]), strict=True))
        env.update({r: xs[first + k] for r, k in zip(half.saved, mine, strict=True)})
        return half.append_late(Builder.current(), env)

    types = [*(p.type for p in params), *slots, *(g.type for g in gs)]
    return region(late, types, half.func.name, [*(p.hint for p in params), *(None for _ in (*slots, *gs))])


def reads(halves):
    """Indices of the primal parameters that a late half reads."""
    return sorted({half.func.params.index(p) for half in halves for p in half.reads})


def cond_vjp(operands, needs, gives, *, branches):
    """Residuals of the branches share slots by type; a branch fills the slots it does not use with zeros."""
    index, *xs = operands
    n, seeds = len(branches[0].results), where(gives)
    halves = [split_body(b, needs[1:], gives) for b in branches]
    slots = Counter()
    for half in halves:
        slots |= Counter(x.type for x in half.saved)
    slots = list(slots.elements())
    ours = [_assign(half, slots) for half in halves]
    if slots:
        branches = tuple(_fill(early_half(half), n, slots, mine) for half, mine in zip(halves, ours, strict=True))
    out = cond(*operands, branches=branches)
    z, residuals = out[:n], out[n:]

    def pull(gs):
        read = reads(halves)
        lates, kept = drop_zeros(
            [late_half(half, read, slots, mine) for half, mine in zip(halves, ours, strict=True)], 0
        )
        cts = cond(index, *(xs[i] for i in read), *residuals, *cotangents(gs, seeds, z), branches=tuple(lates))
        wrt = where(needs)
        return place(cts, [wrt[k] for k in kept], len(operands))

    return z, pull


def _assign(half, slots):
    """For each residual of a branch, the slot it goes to."""
    free, found = list(enumerate(slots)), []
    for x in half.saved:
        entry = next(s for s in free if s[1] is x.type)
        free.remove(entry)
        found.append(entry[0])
    return found


def _fill(early, n, slots, mine):
    """`early` with its residuals moved to their slots."""
    places = [Lit(0, t) for t in slots]
    for k, r in zip(mine, early.results[n:], strict=True):
        places[k] = r
    return Func(early.name, early.params, early.eqns, (*early.results[:n], *places))


def map_vjp(operands, needs, gives, *, body, mapped, size):
    """Cotangents of operands that went whole to every run are summed over the runs."""
    n, seeds = len(body.results), where(gives)
    half = split_body(body, needs, gives)
    out = map_(*operands, body=early_half(half) if half.saved else body, mapped=mapped, size=size)
    z, residuals = out[:n], out[n:]

    def pull(gs):
        read = reads([half])
        (late,), kept = drop_zeros([late_half(half, read)], 0)
        flags = (*(mapped[i] for i in read), *(True for _ in (*residuals, *seeds)))
        cts = map_(
            *(operands[i] for i in read), *residuals, *cotangents(gs, seeds, z), body=late, mapped=flags, size=size
        )
        wrt = [where(needs)[k] for k in kept]
        return place(
            [ct if mapped[i] else reduce_sum(ct, axes=(0,)) for i, ct in zip(wrt, cts, strict=True)], wrt, len(operands)
        )

    return z, pull


def call_vjp(operands, needs, gives, *, body, name, inline, rule):
    if rule is not None:
        return rule.vjp(operands, needs, body)
    n, seeds = len(body.results), where(gives)
    half = split_body(body, needs, gives)
    out = call(*operands, body=early_half(half) if half.saved else body, name=name, inline=inline)
    z, residuals = out[:n], out[n:]

    def pull(gs):
        read = reads([half])
        (late,), kept = drop_zeros([late_half(half, read)], 0)
        cts = call(
            *(operands[i] for i in read),
            *residuals,
            *cotangents(gs, seeds, z),
            body=late,
            name=f"d_{name}",
            inline=inline,
        )
        wrt = where(needs)
        return place(cts, [wrt[k] for k in kept], len(operands))

    return z, pull


def no_derivative(z, function):
    if any(r.type.inexact for r in z):
        name = getattr(function, "__name__", type(function).__name__)
        gives = ", ".join(repr(r.type) for r in z)
        raise IRTypeError(
            f"host: {name} is Python called at run time and has no derivative; it gives {gives} from values being "
            "differentiated"
        )


def host_jvp(z, operands, tangents, *, function, results, ordered):
    no_derivative(z, function)
    return (None,) * len(z)


def host_vjp(z, operands, cotangents, needs, *, function, results, ordered):
    if any(needs):
        no_derivative(z, function)
    return (None,) * len(operands)


# fmt: off
#         op      forward           reverse
joint(    cond,   jvp=cond_jvp,     vjp=cond_vjp)
joint(    map_,   jvp=map_jvp,      vjp=map_vjp)
joint(    call,   jvp=call_jvp,     vjp=call_vjp)
explicit( host,   jvp=host_jvp,     vjp=host_vjp)
# fmt: on


# -- batching --------------------------------------------------------------------------------------


def batched_results(func, batched):
    """Which results of `func` depend on the parameters flagged, or come from an effect: what `batch_into` will find."""
    found = {p for p, b in zip(func.params, batched, strict=True) if b}
    for eqn in func.eqns:
        if eqn.effect or any(x in found for x in eqn.operands):
            found.update(eqn.results)
    return tuple(r in found for r in func.results)


def batch_as(func, batched, size, wanted):
    """`func` batched on the parameters flagged, its results spread only where `wanted` (all that are batched must
    be)."""
    types = [p.type.like((size, *p.type.shape)) if b else p.type for p, b in zip(func.params, batched, strict=True)]

    def body(*xs):
        results, flags = batch_into(Builder.current(), func, xs, batched, size)
        return tuple(
            spread(r, size) if want and not flag else r for r, flag, want in zip(results, flags, wanted, strict=True)
        )

    return region(body, types, func.name, [p.hint for p in func.params])


def along(mask, x):
    """A mask over lanes at every position of x, whose leading axis is the lanes."""
    return broadcast(mask, shape=x.type.shape, dims=(0,))


@BATCH.rule(cond)
def batch_cond(lanes, batched, index, *operands, branches):
    """One choice for all lanes is a choice still; where lanes choose apart, all branches run and each lane selects.

    Branches with effects may not run for lanes that did not choose them: those go lane by lane.
    """
    if batched[0] and any(eqn.effect for b in branches for eqn in b.eqns):
        return one_by_one(cond, lanes, batched, (index, *operands), branches=branches)
    branches = tuple(batch(b, batched[1:], lanes) for b in branches)
    if not batched[0]:
        return cond(index, *operands, branches=branches)
    runs = [Builder.current().inline(b, operands) for b in branches]
    if index.type.kind == "b":
        return tuple(select(along(index, x), x, y) for y, x in zip(*runs, strict=True))
    chosen = runs[-1]
    for k in reversed(range(len(runs) - 1)):
        here = lt(index, k + 1)
        chosen = tuple(select(along(here, x), x, y) for x, y in zip(runs[k], chosen, strict=True))
    return chosen


@BATCH.rule(map_)
def batch_map(lanes, batched, *operands, body, mapped, size):
    """The lanes go inside: the runs stay independent, each on all lanes."""
    xs = [swap(x) if b and m else x for x, b, m in zip(operands, batched, mapped, strict=True)]
    return tuple(swap(z) for z in map_(*xs, body=batch(body, batched, lanes), mapped=mapped, size=size))


def swap(x):
    """The two leading axes exchanged."""
    return transpose(x, perm=(1, 0, *range(2, x.type.ndim)))


@BATCH.rule(call)
def batch_call(lanes, batched, *operands, body, name, inline, rule):
    rule = rule and rule.batch(lanes, batched, len(body.results))
    return call(*operands, body=batch(body, batched, lanes), name=f"batch_{name}", inline=inline, rule=rule)


@BATCH.rule(host)
def batch_host(lanes, batched, *operands, **attrs):
    return one_by_one(host, lanes, batched, operands, **attrs)


def one_by_one(op, lanes, batched, operands, **attrs):
    """`op` on each lane in turn."""
    types = [x.type.like(x.type.shape[1:]) if b else x.type for x, b in zip(operands, batched, strict=True)]
    return map_(*operands, body=region(lambda *xs: op(*xs, **attrs), types, op.name), mapped=tuple(batched), size=lanes)
