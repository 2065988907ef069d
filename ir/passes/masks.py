"""Masks on the operands of products."""

from __future__ import annotations

from ..core import Builder, Func, Value, has
from ..ops.elementwise import and_, select
from ..ops.linalg import dot_general
from ..ops.shape import broadcast
from ..pattern import head
from ..rewrite import is_live, readers
from ..walk import conjuncts


def masks(func: Func) -> Func:
    """No operand of a product is masked along an axis of the product where nobody reads what the mask leaves out.
    Regions too.

    In `z = x @ select(k, y, 0)`, k along a free or batch axis of y is k along an axis of z: an element of z where k is
    False is computed from masked elements alone, one where it is True from none of them. So where all readers leave out
    the former (the selects under k of z, and of what is computed from z element by element), z is as good as `x @ y`,
    whatever y holds there, NaN too. A mask along a contracted axis stays: there every element of z is computed from
    masked elements, and 0 * NaN is NaN. Of a mask that is the `and` of several, those are dropped that may be.
    """
    return (
        _masks(func, {}) if has(func, lambda eqn: eqn.op is dot_general and select in map(head, eqn.operands)) else func
    )


def _masks(func, done):
    if func not in done:
        build, users, env = Builder.again(func), users_of(func), {}
        for eqn in func.eqns:
            attrs = eqn.mapped(lambda region: _masks(region, done))
            if eqn.op is not dot_general:
                build.replay(eqn, env, attrs=attrs)
                continue
            build.source, z = eqn.source, eqn.results[0]
            if not any(head(x) is select for x in eqn.operands):
                build.replay(eqn, env)
                continue
            operands = [
                unmasked(build, env, x, result_axes(eqn, side), z, users) for side, x in enumerate(eqn.operands)
            ]
            env[z] = build.emit(dot_general, operands, attrs, eqn.source, (z.hint,))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def users_of(func):
    """{value: the live equations that read it}; a result of the function is read by None too."""
    reads, users = readers(func), {}
    for eqn in func.eqns:
        for x in dict.fromkeys(eqn.operands) if is_live(eqn, reads) else ():
            users.setdefault(x, []).append(eqn)
    for r in func.results:
        users.setdefault(r, []).append(None)
    return users


def result_axes(eqn, side):
    """{axis of one operand of a product: where it is in the result}, contracted axes left out."""
    (x, y), contract, batch = eqn.operands, eqn.attrs["contract"], eqn.attrs["batch"]
    free = [[n for n in range(v.type.ndim) if n not in c + b] for v, c, b in zip((x, y), contract, batch)]
    first = len(batch[0]) + (len(free[0]) if side else 0)
    return {n: i for i, n in enumerate(batch[side])} | {n: first + i for i, n in enumerate(free[side])}


def unmasked(build, env, x, places, result, users):
    """What a product may read for its operand x, by the equations of the old function; `places` as `result_axes` gives
    them."""
    while isinstance(x, Value) and x.eqn is not None and x.eqn.op is select:
        mask, y, z = x.eqn.operands
        parts = conjuncts(mask)
        rest = [m for m in parts if not droppable(m, places, result, users)]
        if len(rest) == len(parts):
            break
        if rest:
            kept = env.get(rest[0], rest[0])
            for m in rest[1:]:
                kept = build.emit(and_, (kept, env.get(m, m)), {})
            return build.emit(select, (kept, env.get(y, y), env.get(z, z)), {})
        x = y
    return env.get(x, x)


def broadcast_source(mask):
    """A mask as (what is repeated, the axes it lies along)."""
    eqn = mask.eqn if isinstance(mask, Value) else None
    return (
        (eqn.operands[0], eqn.attrs["dims"])
        if eqn is not None and eqn.op is broadcast
        else (mask, tuple(range(mask.type.ndim)))
    )


def droppable(mask, places, result, users):
    """Whether a mask of an operand runs along axes of the result, and all who read the result leave out what it leaves
    out."""
    k, dims = broadcast_source(mask)
    if not all(d in places for d in dims):
        return False
    same, todo, seen = (k, tuple(places[d] for d in dims)), [result], {result}
    while todo:
        x = todo.pop()
        for eqn in users.get(x, ()):
            if eqn is None:
                return False
            if (
                eqn.op is select
                and x not in (eqn.operands[0], eqn.operands[2])
                and any(broadcast_source(m) == same for m in conjuncts(eqn.operands[0]))
            ):
                continue
            if "elementwise" not in eqn.op.traits:
                return False
            todo += [r for r in eqn.results if r not in seen]
            seen.update(eqn.results)
    return True
