"""The transpose of a program that is linear in some of its parameters."""

from ..ir.core import Builder, Lit
from ..ir.ops.control import call
from ..ir.passes import dce
from .vjp import vjp


def transposed(func, count, refuse=None):
    """(xs, others) -> zs, linear in the first `count` parameters xs, becomes (cotangents of zs, others) -> cotangents of xs.

    refuse: called, to raise, where the transpose would depend on xs: the program is not linear in them.
    """
    twice = vjp(func, tuple(range(count)), tuple(range(len(func.results))), keep=False)  # (xs, others, cotangents) -> cotangents of xs
    twice = dce(written_out(twice))
    xs, others, seeds = twice.params[:count], twice.params[count : len(func.params)], twice.params[len(func.params) :]
    read = {*(x for e in twice.eqns for x in e.operands), *twice.results}
    if refuse is not None and any(x in read for x in xs):
        refuse()
    build = Builder(f"{func.name}_transposed")
    with build:
        gs = [build.param(p.type, p.hint) for p in seeds]
        rest = [build.param(p.type, p.hint) for p in others]
        out = build.inline(twice, [*(Lit(0, x.type) for x in xs), *rest, *gs])
    return dce(build.finish(out))


def written_out(func):
    """`func` with calls to be inlined in place, so that what they read for results that nobody wants is not read; those with a rule stay."""
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
