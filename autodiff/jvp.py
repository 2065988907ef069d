"""Forward mode: each equation followed by its tangent."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.core import Builder, Func, Lit
from .forms import DERIVATIVE, Joint
from .vjp import named, same_name


def jvp(func: Func, wrt: Sequence[int] | None = None, keep: bool = True) -> Func:
    """(x...) -> z...  becomes  (x..., t...) -> (z..., tangent of every inexact z), with t for the parameters `wrt`."""
    wrt = tuple(i for i, p in enumerate(func.params) if p.type.inexact) if wrt is None else tuple(wrt)
    build = Builder(f"t_{func.name}")
    with build:
        operands = [build.param(p.type, p.hint) for p in func.params]
        tangents = {i: build.param(func.params[i].type, ("t_", func.params[i])) for i in wrt}
        results, out = pushforward(build, func, operands, tangents)
    return build.finish((*(results if keep else ()), *(t for t in out if t is not None)))


def pushforward(build, func, operands, tangents):
    """Append `func` on `operands` with `tangents` (parameter index -> tangent).

    -> (results, tangents: a zero splat where there is none, None where the result is not inexact).
    """
    env = dict(zip(func.params, operands, strict=True))
    moving = {func.params[i]: t for i, t in tangents.items()}
    locate = build.locate
    for eqn in func.eqns:
        ts = tuple(moving.get(x) for x in eqn.operands)
        if all(t is None for t in ts):
            build.replay(eqn, env)
            continue
        rule, xs = DERIVATIVE[eqn.op], tuple(env.get(x, x) for x in eqn.operands)
        if isinstance(rule, Joint):
            build.locate, build.source = None, eqn.source
            z, out = rule.jvp(xs, ts, eqn.attrs)
            env.update({r: same_name(new, r) for r, new in zip(eqn.results, z, strict=True)})
        else:
            build.replay(eqn, env)
            build.locate, build.source = None, eqn.source.marked("jvp") if eqn.source else None
            out = rule.jvp(eqn.op, tuple(env[r] for r in eqn.results), xs, ts, eqn.attrs)
        for r, t in zip(eqn.results, out, strict=True):
            if t is not None and r.type.inexact:
                moving[r] = named(t, "t_", r)
        build.locate = locate
    build.source = None
    results = tuple(env.get(r, r) for r in func.results)
    return results, tuple(moving.get(r, Lit(0, r.type)) if r.type.inexact else None for r in func.results)
