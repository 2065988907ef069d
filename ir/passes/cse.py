"""Common subexpressions."""

from __future__ import annotations

from ..core import Builder, Func, map_regions


def cse(func: Func) -> Func:
    """No two equations compute the same op of the same operands, except those with effects.

    Regions that say the same are one function, so that equations that run them can be one too.
    """
    return _cse(func, {}, {})


def _cse(func, done, alike):
    if func not in done:
        build, env = Builder.again(func), {}
        region = lambda f: alike.setdefault(structural_key(_cse(f, done, alike)), _cse(f, done, alike))
        for eqn in func.eqns:
            build.replay(eqn, env, attrs=eqn.mapped(region))
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def structural_key(func):
    """All that a function computes, names and sources aside: equal for functions that say the same."""
    number = {p: i for i, p in enumerate(func.params)}
    lines = []
    for eqn in func.eqns:
        lines.append(
            (
                eqn.op,
                tuple(number.get(x, x) for x in eqn.operands),
                tuple(map_regions(eqn.attrs, structural_key).items()),
            )
        )
        for r in eqn.results:
            number[r] = len(number)
    return func.param_types, tuple(lines), tuple(number.get(r, r) for r in func.results)
