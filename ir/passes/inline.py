"""Calls that ask to be written out."""

from ..core import Builder, map_regions


def inline(func):
    """No equation carries a function flagged `inline=True`: its body stands in its place. Regions too."""
    return _inline(func, {})


def _inline(func, done):
    if func not in done:
        build = Builder(func.name)
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            if eqn.attrs.get("inline") is True:
                (body,) = eqn.regions()
                out = build.inline(_inline(body, done), [env.get(x, x) for x in eqn.operands])
                env.update(zip(eqn.results, out, strict=True))
            else:
                build.replay(eqn, env, attrs=map_regions(eqn.attrs, lambda region: _inline(region, done)))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]
