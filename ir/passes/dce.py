"""Dead code."""

from __future__ import annotations

from ..core import Builder, Func
from ..rewrite import is_live, readers


def dce(func: Func) -> Func:
    """Every equation is read by another one or by the results, or has an effect. Regions too."""
    return _dce(func, {})


def _dce(func, done):
    if func not in done:
        build, reads, env = Builder.again(func), readers(func), {}
        for eqn in func.eqns:
            if is_live(eqn, reads):
                build.replay(eqn, env, attrs=eqn.mapped(lambda region: _dce(region, done)))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]
