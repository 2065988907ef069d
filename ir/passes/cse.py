"""Common subexpressions."""

from ..core import Builder, map_regions


def cse(func):
    """No two equations compute the same op of the same operands, except those with effects. Regions too."""
    return _cse(func, {})


def _cse(func, done):
    if func not in done:
        build = Builder(func.name)
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            build.replay(eqn, env, attrs=map_regions(eqn.attrs, lambda region: _cse(region, done)))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]
