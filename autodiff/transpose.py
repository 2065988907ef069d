"""The transpose of a program that is linear in some of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.core import Builder, Func, Lit
from ..ir.ops.control import call, cond, groups, loop, map_
from ..ir.ops.flow import apart
from ..ir.passes import dce
from .vjp import vjp


def transposed(func: Func, count: int, refuse: Callable[..., Any] | None = None) -> Func:
    """(xs, others) -> zs, linear in the first `count` parameters xs, becomes (cotangents of zs, others) -> cotangents
    of xs.

    refuse: called, to raise, where the transpose would depend on xs: the program is not linear in them.
    """
    # (xs, others, cotangents) -> cotangents of xs
    twice = vjp(func, tuple(range(count)), tuple(range(len(func.results))), keep=False)
    twice = dce(written_out(twice))
    xs, others, seeds = twice.params[:count], twice.params[count : len(func.params)], twice.params[len(func.params) :]
    if refuse is not None and any(dependent_results(twice, [p in xs for p in twice.params])):
        refuse()
    build = Builder(f"{func.name}_transposed")
    with build:
        gs = [build.param(p.type, p.hint) for p in seeds]
        rest = [build.param(p.type, p.hint) for p in others]
        out = build.inline(twice, [*(Lit(0, x.type) for x in xs), *rest, *gs])
    return dce(build.finish(out))


def written_out(func):
    """`func` with calls to be inlined in place, so that what they read for results that nobody wants is not read; those
    with a rule stay."""
    build = Builder(func.name)
    with build:
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            if eqn.op is call and eqn.attrs["inline"] and eqn.attrs["rule"] is None:
                out = build.inline(written_out(eqn.attrs["body"]), [env.get(x, x) for x in eqn.operands])
                env.update(zip(eqn.results, out, strict=True))
            else:
                build.replay(eqn, env)
    return build.finish(tuple(env.get(r, r) for r in func.results))


def dependent_results(func, flags):
    """Which results are computed from the parameters flagged; in regions, value by value."""
    touched = {p for p, flag in zip(func.params, flags, strict=True) if flag}
    for eqn in func.eqns:
        here = [x in touched for x in eqn.operands]
        if any(here):
            touched.update(r for r, flag in zip(eqn.results, dependent_eqn_results(eqn, here), strict=True) if flag)
    return [r in touched for r in func.results]


def dependent_eqn_results(eqn, flags):
    """Which results of an equation depend on the operands flagged."""
    attrs = eqn.attrs
    if eqn.op in (call, apart, map_):
        return dependent_results(attrs["body"], flags)
    if eqn.op is cond and not flags[0]:
        return [any(found) for found in zip(*(dependent_results(branch, flags[1:]) for branch in attrs["branches"]))]
    if eqn.op is not loop:
        return [True] * len(eqn.results)
    limit, invariants, state = groups(flags, **attrs)
    before = None
    while state != before:
        before, given = state, (False, *invariants, *state)
        if any(limit) or (attrs["test"] is not None and any(dependent_results(attrs["test"], given))):
            return [True] * len(eqn.results)
        state = [a or b for a, b in zip(state, dependent_results(attrs["body"], given), strict=True)]
    return state
