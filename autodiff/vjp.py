"""Reverse mode: the adjoint of each equation, appended in reverse order.

Source: Griewank & Walther, Evaluating Derivatives (2008), ch. 3 and 4; the list of equations is the
Wengert list the project is named after (R. E. Wengert, CACM 7(8), 1964).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.core import Builder, Func, Lit, Value
from ..ir.types import IRTypeError
from .forms import DERIVATIVE, Joint, Zero, add_tangents


def vjp(
    func: Func,
    wrt: Sequence[int] | None = None,
    cotangents: Sequence[int] | None = None,
    keep: bool = True,
    onto: int = 0,
) -> Func:
    """(x...) -> z...  becomes  (x..., g..., t...) -> (z..., cotangent of x[i] for i in wrt).

    wrt: indices of the parameters to differentiate; all inexact ones when None.
    cotangents: indices of the results that receive one, in order; all inexact ones when None.
    keep: whether the primal results come first.
    onto: how many of `wrt`, from the first, have their cotangent added to a parameter t.
    """
    wrt = tuple(i for i, p in enumerate(func.params) if p.type.inexact) if wrt is None else tuple(wrt)
    cotangents = (
        tuple(i for i, r in enumerate(func.results) if r.type.inexact) if cotangents is None else tuple(cotangents)
    )
    for i in wrt:
        if not func.params[i].type.inexact:
            raise IRTypeError(
                f"{func.name}: parameter {i} is {func.params[i].type}; only floating and complex values have "
                "derivatives"
            )
    build = Builder(f"d_{func.name}")
    with build:
        operands = [build.param(p.type, p.hint) for p in func.params]
        seeds = [build.param(func.results[i].type) for i in cotangents]
        totals = {i: build.param(func.params[i].type) for i in wrt[:onto]}
        results, grads = pullback(build, func, operands, wrt, dict(zip(cotangents, seeds, strict=True)), totals=totals)
    return build.finish((*(results if keep else ()), *grads))


def pullback(build, func, operands, wrt, seeds, marks=None, totals=None):
    """Append `func` on `operands`, then its adjoint for `seeds` (result index -> cotangent).

    -> (results, cotangents of the parameters `wrt`, a zero splat where there is none).
    totals: {parameter index: what its cotangent is added to, contribution by contribution, so that stores into it can
    be in place}. marks: a list that is told, equation by equation, (how many equations `build` has by then, which of
    `func` made the last of them).
    """
    mark = (lambda k: None) if marks is None else lambda k: marks.append((len(build.eqns), k))
    pull = Pullback(build, func, operands, wrt, seeds)
    locate = build.locate
    for k, eqn in enumerate(func.eqns):
        pull.primal(eqn)
        mark(k)
    results = tuple(pull.env.get(r, r) for r in func.results)
    pull.pending.update((func.params[i], total) for i, total in (totals or {}).items())
    for i, g in seeds.items():
        pull.seed(func.results[i], g)
    build.locate = None
    for k, eqn in reversed([*enumerate(func.eqns)]):
        if pull.adjoint(eqn):
            mark(k)
    build.locate, build.source = locate, None
    return results, tuple(pull.pending.get(func.params[i], Lit(0, func.params[i].type)) for i in wrt)


class Pullback:
    """A function and its adjoint while they are appended to `build`."""

    def __init__(self, build, func, operands, wrt, seeds):
        self.build, self.env = build, dict(zip(func.params, operands, strict=True))
        self.active = activity(func, wrt)
        self.wanted = useful(func, self.active, seeds)
        self.pulls = {}  # equation whose rule makes primal and adjoint together -> its adjoint
        self.pending = {}  # value -> its cotangent so far

    def needs(self, eqn):
        return tuple(isinstance(x, Value) and x in self.active for x in eqn.operands)

    def primal(self, eqn):
        """Append an equation, by its own rule where that makes the adjoint with it."""
        build, env = self.build, self.env
        gives = tuple(r in self.wanted for r in eqn.results)
        rule = DERIVATIVE[eqn.op] if any(gives) else None
        if not isinstance(rule, Joint):
            build.replay(eqn, env)
            return
        locate, build.locate, build.source = build.locate, None, eqn.source
        z, self.pulls[eqn] = rule.vjp(tuple(env.get(x, x) for x in eqn.operands), self.needs(eqn), gives, eqn.attrs)
        for r, new in zip(eqn.results, z, strict=True):
            env[r] = same_name(new, r)
        build.locate, build.source = locate, None

    def seed(self, r, g):
        if isinstance(r, Value) and r in self.active:
            self.pending[r] = add_tangents(self.pending.get(r), g)

    def adjoint(self, eqn):
        """Append what pulls the cotangents of an equation's results back to its operands -> whether there are any."""
        gs = [self.pending.pop(r, None) for r in eqn.results]
        if all(g is None for g in gs):
            return False
        needs = self.needs(eqn)
        self.build.source = eqn.source.marked("vjp") if eqn.source else None
        for x, need, ct in zip(eqn.operands, needs, self.pulled(eqn, gs, needs), strict=True):
            if need and ct is not None:
                self.pending[x] = named(add_tangents(self.pending.get(x), ct), "d_", x)
        return True

    def pulled(self, eqn, gs, needs):
        """The cotangents of the operands of an equation."""
        env, rule = self.env, DERIVATIVE[eqn.op]
        if eqn not in self.pulls:
            return rule.vjp(
                eqn.op,
                tuple(env[r] for r in eqn.results),
                tuple(env.get(x, x) for x in eqn.operands),
                gs,
                needs,
                eqn.attrs,
            )
        if not rule.adds:
            return self.pulls[eqn](gs)
        first = {x: k for k, x in reversed([*enumerate(eqn.operands)])}
        before = [
            self.pending.pop(x, None) if need and first[x] == k else None
            for k, (x, need) in enumerate(zip(eqn.operands, needs))
        ]
        return self.pulls[eqn](gs, before)


def named(value, prefix, of):
    """Let a derived value be printed as `d_z` when it has no better name."""
    if (
        isinstance(value, Value)
        and value.hint is None
        and value.eqn is not None
        and value.eqn.source is not None
        and value.eqn.source.mark
    ):
        value.hint = (prefix, of)
    return value


def same_name(new, old):
    """Let the value that stands for `old` be printed under its name."""
    if isinstance(new, Value) and new.hint is None:
        new.hint = old.hint
    return new


def activity(func, wrt):
    """The values of `func` that depend on the parameters `wrt` through inexact types."""
    active = {func.params[i] for i in wrt}
    for eqn in func.eqns:
        if any(isinstance(x, Value) and x in active for x in eqn.operands) and not isinstance(DERIVATIVE[eqn.op], Zero):
            active.update(r for r in eqn.results if r.type.inexact)
    return active


def useful(func, active, seeds):
    """The `active` values of `func` on which a result with a seed depends: those that may have a cotangent."""
    wanted = {func.results[i] for i in seeds} & active
    for eqn in reversed(func.eqns):
        if any(r in wanted for r in eqn.results):
            wanted.update(x for x in eqn.operands if x in active)
    return wanted
