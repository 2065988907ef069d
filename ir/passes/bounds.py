"""Comparisons of integers that the intervals of what is compared decide."""

from __future__ import annotations

from typing import Any

from ..affine import OUTCOMES
from ..core import Builder, Func, Lit, has, map_regions, regions
from ..intervals import comparison_outcome, of_result, told_by_nan
from ..ops.control import cond, groups, loop, map_
from ..ops.elementwise import eq, ne
from ..rewrite import is_live, readers


def bounds(func: Func, known: Any = ()) -> Func:
    """No comparison of integers whose outcome is the same whatever the data are; one that tells where floats were NaN
    asks that. Regions too.

    Elements of constants, counters and of what is gathered from bounded arrays are bounded, and so is what is computed
    from them. So an index array made with np.arange or np.nonzero's likes is not asked at run time whether it is in
    range.

    known: {position of a parameter: (least, greatest) of its elements}
    """
    compares = lambda eqn: eqn.op.name in OUTCOMES and eqn.operands[0].type.kind in "iu"
    return _bounds(func, tuple(dict(known).items()), {}) if has(func, compares) else func


def _bounds(func, known, done):
    """known: (position of a parameter, its interval), in pairs."""
    if (func, known) not in done:
        done[func, known] = _decided(func, known, done)
    return done[func, known]


def _decided(func, known, done):
    found = {func.params[k]: interval for k, interval in known}

    def get(x):
        if isinstance(x, Lit):
            return (int(x.value),) * 2 if x.type.kind in "iu" else None
        if x not in found:
            found[x] = of_result(x, get, nothing_known) if x.eqn is not None and x.type.kind in "iu" else None
        return found[x]

    build, reads, changed = Builder(func.name), readers(func), False
    env = {p: build.param(p.type, p.hint) for p in func.params}
    for eqn in func.eqns:
        if not is_live(eqn, reads):
            continue
        if not eqn.regions():  # in order: looked up from behind, a long chain of minima is too deep for Python's stack
            for r in eqn.results:
                if r.type.kind in "iu":
                    get(r)
        outcome = comparison_outcome(eqn, get)
        if outcome is not None:
            env[eqn.results[0]], changed = Lit(outcome, eqn.results[0].type), True
            continue
        if (found_by := told_by_nan(eqn, get)) is not None:
            y, outcome, moves = found_by
            y = env.get(y, y)
            with build:
                test = (ne if outcome else eq)(y, y)
                for move in moves:
                    test = move.op(test, *(env.get(x, x) for x in move.operands[1:]), **move.attrs)
            env[eqn.results[0]], changed = test, True
            continue
        attrs = eqn.attrs
        if eqn.regions():
            told = known_within(eqn, get)
            attrs = map_regions(attrs, lambda region, told=told: _bounds(region, told, done))
            changed |= any(a is not b for a, b in zip(regions(attrs), eqn.regions(), strict=True))
            found.update(invariant_intervals(eqn, get))
        build.replay(eqn, env, attrs=attrs)
    return build.finish(tuple(env.get(r, r) for r in func.results)) if changed else func


def nothing_known(_):
    """What is known of the results of a branch."""
    return None


def known_within(eqn, get):
    """What is known of the parameters of an equation's regions: (position, interval), in pairs."""
    if eqn.op is loop:
        limit, invariants, state = groups(eqn.operands, **eqn.attrs)
        most = next((eqn.attrs[name] for name in ("trips", "bound") if eqn.attrs[name] is not None), None)
        same = unchanged(eqn.attrs["body"], state)
        parts = [
            (0, most - 1) if most else None,
            *map(get, invariants),
            *(get(x) if k in same else None for k, x in enumerate(state)),
        ]
    elif eqn.op in (cond, map_):
        parts = [get(x) for x in eqn.operands[eqn.op is cond :]]
    else:
        parts = ()
    told = tuple((k, interval) for k, interval in enumerate(parts) if interval is not None)
    return told


def unchanged(body, state):
    """The positions of carried values that every trip leaves as they are."""
    first = len(body.params) - len(state)
    return {k for k in range(len(state)) if body.results[k] is body.params[first + k]}


def invariant_intervals(eqn, get):
    """{result: interval} of what a loop carries and never changes."""
    if eqn.op is not loop:
        return {}
    state = groups(eqn.operands, **eqn.attrs)[2]
    return {eqn.results[k]: get(state[k]) for k in unchanged(eqn.attrs["body"], state)}
