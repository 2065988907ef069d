"""Calls that ask to be written out."""

from __future__ import annotations

from ..core import Builder, Func, has
from ..ops.control import call


def inline(func: Func) -> Func:
    """No call is flagged `inline=True`: the body stands in its place. Regions too.

    Derivative rules go with the calls, so this is for programs that are not differentiated any more.
    """
    return _inline(func, {}) if has(func, lambda eqn: eqn.op is call and eqn.attrs["inline"]) else func


def _inline(func, done):
    if func not in done:
        build, env = Builder.again(func), {}
        for eqn in func.eqns:
            if eqn.op is call and eqn.attrs["inline"]:
                out = build.inline(_inline(eqn.attrs["body"], done), [env.get(x, x) for x in eqn.operands])
                env.update(zip(eqn.results, out, strict=True))
            else:
                build.replay(eqn, env, attrs=eqn.mapped(lambda region: _inline(region, done)))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]
