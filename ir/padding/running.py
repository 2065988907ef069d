"""Ops that run functions, in room: their regions are functions in room too, which are told the true sizes.

Loops run as many trips as there truly are. What they carry is as little known at their end as after any of their trips.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import Builder, Eqn, Func, Lit, Value, has
from ..dims import Dim
from ..ops.control import COUNTER, call, cond, groups, loop, map_
from ..ops.elementwise import and_, lt
from ..ops.flow import apart
from .building import ROOM, Scope, refuse_in_room
from .tails import Roomy, Sizes, plain_axes, same_tail


def region_in_room(
    scope: Scope, func: Func, given: Sequence[Roomy], first: int = 0, trips: Any = None
) -> tuple[Func, list[Roomy]]:
    """A region on parameters that lie as what is given, the true sizes behind the `first` ones; what it gives.

    trips: of the test of a loop, the size that limits its trips.
    """
    names = list(scope.sizes.true)
    with Builder(func.name) as build:
        params = []
        for p, x in zip(func.params[:first], given[:first], strict=True):
            params.append(build.param(x.value.type, p.hint))
        true = {n: build.param(COUNTER, n) for n in names}
        for p, x in zip(func.params[first:], given[first:], strict=True):
            params.append(build.param(x.value.type, p.hint))
        inner = Scope(scope.generic, Sizes(scope.sizes.room, true), scope.masks)
        for p, value, x in zip(func.params, params, given, strict=True):
            inner.known[p] = Roomy(value, x.axes, x.ends)
        results = inner.run(func)
        if isinstance(trips, Dim):
            goes = and_(lt(params[0], inner.sizes.scalar(trips)), results[0].value)
            results = [Roomy(goes, ())]
    return build.finish(r.value for r in results), results


def true_sizes(scope: Scope) -> list[Value]:
    return list(scope.sizes.true.values())


def known_of_both(one: Roomy, other: Roomy) -> Roomy:
    """What is known of a value that is one or the other."""
    ends = {a: c for a, c in one.ends.items() if a in other.ends and same_tail(c, other.ends[a])}
    return Roomy(one.value, one.axes, ends)


def all_plain(scope: Scope, eqn: Eqn, xs: Sequence[Roomy]) -> None:
    for x in xs:
        scope.plain(eqn, x)


@ROOM.rule(cond)
def chosen(scope, eqn, index, *operands):
    made = [region_in_room(scope, f, operands) for f in eqn.attrs["branches"]]
    found = made[0][1]
    for _, results in made[1:]:
        all_plain(scope, eqn, results)
        found = [known_of_both(x, y) for x, y in zip(found, results, strict=True)]
    all_plain(scope, eqn, made[0][1])
    values = cond(index.value, *true_sizes(scope), *[x.value for x in operands], branches=tuple(f for f, _ in made))
    return [Roomy(v, x.axes, x.ends) for v, x in zip(values, found, strict=True)]


def called_in_room(scope, eqn, *operands):
    body, found = region_in_room(scope, eqn.attrs["body"], operands)
    values = eqn.op(*true_sizes(scope), *[x.value for x in operands], **scope.attrs(eqn, body=body))
    return [Roomy(v, x.axes, x.ends) for v, x in zip(values, found, strict=True)]


@ROOM.rule(call)
def called_by_name(scope, eqn, *operands):
    if eqn.attrs["rule"] is not None:
        refuse_in_room(eqn, "a function with a derivative of its own is one of its sizes")
    return called_in_room(scope, eqn, *operands)


ROOM[apart] = called_in_room


@ROOM.rule(loop)
def looped(scope, eqn, *operands):
    """Parts are read at counters, so carried arrays have to lie as they are."""
    attrs = {k: scope.attr(eqn, k) for k in ("trips", "bound")}
    kept = {"test": eqn.attrs["test"], "trips": eqn.attrs["trips"], "carried": eqn.attrs["carried"]}
    limit, invariants, state = groups(operands, **kept)
    all_plain(scope, eqn, state)
    counter = Roomy(Lit(0, COUNTER), ())
    state = [Roomy(x.value, x.axes, x.ends) for x in state]
    while True:
        marks = len(scope.masks.made), set(scope.masks.known)
        body, after = region_in_room(scope, eqn.attrs["body"], [counter, *invariants, *state], 1)
        all_plain(scope, eqn, after)
        met = [known_of_both(x, y) for x, y in zip(state, after, strict=True)]
        if all(len(x.ends) == len(y.ends) for x, y in zip(state, met, strict=True)):
            break
        state = met  # less is known of what is carried than was thought
        del scope.masks.made[marks[0] :]
        scope.masks.known = marks[1]
    test, trips, bound = eqn.attrs["test"], attrs["trips"], scope.roomy(attrs["bound"])
    if test is not None:
        if has(test, lambda e: e.effect) and isinstance(trips, Dim):
            refuse_in_room(eqn, "a test that acts would be asked once more")
        test, _ = region_in_room(scope, test, [counter, *invariants, *state], 1, trips)
    if isinstance(trips, Dim):
        limit = [] if test is not None else [Roomy(scope.sizes.scalar(trips), ())]
        trips, bound = None, max(scope.roomy(trips), 1)
    values = loop(
        *[x.value for x in limit], *true_sizes(scope), *[x.value for x in (*invariants, *state)],
        body=body, carried=eqn.attrs["carried"], test=test, trips=trips, bound=bound,
    )  # fmt: skip
    return [Roomy(v, x.axes, x.ends) for v, x in zip(values, state, strict=True)]


def endless(eqn: Eqn) -> bool:
    return eqn.op is loop and eqn.attrs["trips"] is None


@ROOM.rule(map_)
def mapped_over(scope, eqn, *operands):
    """Rows in the tail are computed of junk."""
    flags, body, size = eqn.attrs["mapped"], eqn.attrs["body"], scope.attr(eqn, "size")
    if isinstance(size, Dim) and has(body, endless):
        refuse_in_room(eqn, "a loop may run for ever on what is in the tail")
    if isinstance(size, Dim) and has(body, lambda e: e.effect):
        refuse_in_room(eqn, "an effect would happen for what is in the tail")
    for x, flag in zip(operands, flags, strict=True):
        scope.plain(eqn, x, [0] if flag else [])
    given = [_row(x) if flag else x for x, flag in zip(operands, flags, strict=True)]
    body, found = region_in_room(scope, body, given)
    names = true_sizes(scope)
    flags = (*[False] * len(names), *flags)
    values = map_(*names, *[x.value for x in operands], body=body, mapped=flags, size=scope.roomy(size))
    lies = lambda x: ((*plain_axes((size,)), *x.axes), {a + 1: c for a, c in x.ends.items()})
    return [Roomy(v, *lies(x)) for v, x in zip(values, found, strict=True)]


def _row(x: Roomy) -> Roomy:
    """A row of x; what stands for its value has its type."""
    ends = {a - 1: c for a, c in x.ends.items() if a}
    return Roomy(Lit(0, x.value.type.like(x.value.type.shape[1:])), x.axes[1:], ends)
