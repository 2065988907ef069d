"""Reverse mode: the adjoint of each equation, appended in reverse order.

Source: Griewank & Walther, Evaluating Derivatives (2008), ch. 3 and 4; the list of equations is the
Wengert list the project is named after (R. E. Wengert, CACM 7(8), 1964).
"""

from ..ir.core import Builder, Lit, Value
from ..ir.types import IRTypeError
from .forms import DERIVATIVE, add_tangents


def vjp(func, wrt=None, cotangents=None, keep=True):
    """(x...) -> z...  becomes  (x..., g...) -> (z..., cotangent of x[i] for i in wrt).

    wrt: indices of the parameters to differentiate; all inexact ones when None.
    cotangents: indices of the results that receive one, in order; all inexact ones when None.
    keep: whether the primal results come first.
    """
    wrt = tuple(i for i, p in enumerate(func.params) if p.type.inexact) if wrt is None else tuple(wrt)
    cotangents = tuple(i for i, r in enumerate(func.results) if r.type.inexact) if cotangents is None else tuple(cotangents)
    for i in wrt:
        if not func.params[i].type.inexact:
            raise IRTypeError(f"{func.name}: parameter {i} is {func.params[i].type}; only floating and complex values have derivatives")
    build = Builder(f"d_{func.name}")
    with build:
        operands = [build.param(p.type, p.hint) for p in func.params]
        seeds = [build.param(func.results[i].type) for i in cotangents]
        results, grads = pullback(build, func, operands, wrt, dict(zip(cotangents, seeds, strict=True)))
    return build.finish((*(results if keep else ()), *grads))


def pullback(build, func, operands, wrt, seeds):
    """Append `func` on `operands`, then its adjoint for `seeds` (result index -> cotangent).

    -> (results, cotangents of the parameters `wrt`, a zero splat where there is none).
    """
    env = dict(zip(func.params, operands, strict=True))
    for eqn in func.eqns:
        build.replay(eqn, env)
    results = tuple(env.get(r, r) for r in func.results)
    active = activity(func, wrt)
    pending = {}
    for i, g in seeds.items():
        r = func.results[i]
        if isinstance(r, Value) and r in active:
            pending[r] = add_tangents(pending.get(r), g)
    locate, build.locate = build.locate, None
    for eqn in reversed(func.eqns):
        gs = [pending.pop(r, None) for r in eqn.results]
        if all(g is None for g in gs):
            continue
        needs = tuple(isinstance(x, Value) and x in active for x in eqn.operands)
        build.source = eqn.source.marked("vjp") if eqn.source else None
        z = tuple(env[r] for r in eqn.results)
        xs = tuple(env.get(x, x) for x in eqn.operands)
        for x, need, ct in zip(eqn.operands, needs, DERIVATIVE[eqn.op].vjp(eqn.op, z, xs, gs, needs, eqn.attrs), strict=True):
            if need and ct is not None:
                pending[x] = named(add_tangents(pending.get(x), ct), "d_", x)
    build.locate, build.source = locate, None
    return results, tuple(pending.get(func.params[i], Lit(0, func.params[i].type)) for i in wrt)


def named(value, prefix, of):
    """Let a derived value be printed as `d_z` when it has no better name."""
    if isinstance(value, Value) and value.hint is None and value.eqn is not None and value.eqn.source is not None and value.eqn.source.mark:
        value.hint = (prefix, of)
    return value


def activity(func, wrt):
    """The values of `func` that depend on the parameters `wrt` through inexact types."""
    active = {func.params[i] for i in wrt}
    for eqn in func.eqns:
        if any(isinstance(x, Value) and x in active for x in eqn.operands):
            active.update(r for r in eqn.results if r.type.inexact)
    return active
