"""Derivative rules that a `call` brings along: given by hand in either mode, or the body computed again.

A call with a rule asks it in place of its body, `jvp`, `vjp` and `batch` as in `control`. What is given
for one mode gives the other: a rule by hand is linear in tangents or cotangents, so it has a transpose.
"""

import functools

from ..ir.core import Builder, Func, Lit
from ..ir.ops.control import call, region
from ..ir.ops.flow import apart
from ..ir.ops.reduction import reduce_sum
from ..ir.passes import dce
from .batch import batch, batch_into, spread
from .control import cotangents, drop_zeros, place, tangent_regions, where
from .split import halves
from .transpose import transposed
from .vjp import vjp


class ByHand:
    """A rule whose functions `make` gives when they are first asked for, as a rule may stand in its own functions.

    closed: the operands that are values the functions close over; the backward half of a rule reads them as they are.
    moving: the operands that have tangents and cotangents; the others are not floating, or values that the function
    closes over. refuse: `refuse(why)` raises: "closed", an operand that is not moving varies; "jvp" or "vjp", the rule
    is not linear, and has no transpose.
    """

    def __init__(self, name, moving, refuse, make=None, closed=()):
        self.name, self.moving, self.refuse, self.make, self.closed = name, tuple(moving), refuse, make, closed

    @functools.cached_property
    def functions(self):
        return self.make()

    def check(self, varies):
        if any(v and i not in self.moving for i, v in enumerate(varies)):
            self.refuse("closed")

    def batch(self, lanes, batched, count):
        """The rule of the call on `lanes` lanes, all of whose `count` results carry them."""
        return type(self)(
            f"batch_{self.name}",
            self.moving,
            self.refuse,
            lambda: self.batched(lanes, tuple(batched), count),
            self.closed,
        )

    def held(self, operands):
        return [operands[i] for i in self.closed]

    def run(self, func, operands, prefix=""):
        return call(*operands, body=func, name=f"{prefix}{self.name}", inline=True)


def inexact(body):
    """Which results have tangents and cotangents."""
    return where(r.type.inexact for r in body.results)


class Pushed(ByHand):
    """functions: jvp, (operands, tangents of the moving ones) -> (results, tangents of the inexact results)."""

    def jvp(self, operands, tangents, body):
        self.check(t is not None for t in tangents)
        (func,), kept = drop_zeros([self.functions], len(body.results))
        out = self.run(func, [*operands, *cotangents(tangents, self.moving, operands)], "t_")
        n, at = len(body.results), inexact(body)
        return out[:n], place(out[n:], [at[k] for k in kept], n)

    @functools.cached_property
    def cut(self):
        """(early, backward): the results and residuals, and the transpose of the tangents in terms of residuals."""
        known = len(self.functions.params) - len(self.moving)
        early, late = halves(untied(self.functions, known, self.count), known, self.count)
        return early, transposed(late, len(self.moving), lambda: self.refuse("vjp"))

    def vjp(self, operands, needs, body):
        self.check(needs)
        self.count = n = len(body.results)
        early, back = self.cut
        out = self.run(early, operands)
        pull = lambda gs: place(
            self.run(back, [*cotangents(gs, inexact(body), out), *out[n:]], "d_"), self.moving, len(operands)
        )
        return out[:n], pull

    def batched(self, lanes, flags, count):
        return batch(self.functions, (*flags, *(flags[i] for i in self.moving)), lanes)


def untied(func, known, count):
    """`func` whose first `count` results do not read the parameters behind the `known` ones, the tangents: where an
    equation that does, such as a loop over both, gives one of them (the status among them), they are what it gives for
    tangents of 0."""
    waits = {*func.params[known:]}
    for eqn in func.eqns:
        if any(x in waits for x in eqn.operands):
            waits.update(eqn.results)
    if not any(r in waits for r in func.results[:count]):
        return func
    build = Builder(func.name)
    with build:
        xs = [build.param(p.type, p.hint) for p in func.params]
        out = build.inline(func, xs)
        still = build.inline(func, [*xs[:known], *(Lit(0, x.type) for x in xs[known:])])
    return build.finish((*still[:count], *out[count:]))


class Pulled(ByHand):
    """functions: forward, operands -> (results, residuals); backward, (residuals, closed, cotangents of the results) ->
    those of the moving."""

    @functools.cached_property
    def push(self):
        """(tangents, residuals, closed) -> tangents of the results."""
        forward, backward = self.functions
        kept = len(backward.params) - self.gives
        build = Builder(backward.name)
        with build:  # the cotangents first
            gs = [build.param(p.type, p.hint) for p in backward.params[kept:]]
            residuals = [build.param(p.type, p.hint) for p in backward.params[:kept]]
            turned = build.finish(build.inline(backward, [*residuals, *gs]))
        return transposed(turned, self.gives, lambda: self.refuse("jvp"))

    def jvp(self, operands, tangents, body):
        self.check(t is not None for t in tangents)
        n, at = len(body.results), inexact(body)
        self.gives = len(at)
        out = self.run(self.functions[0], operands)
        return out[:n], place(
            self.run(self.push, [*cotangents(tangents, self.moving, operands), *out[n:], *self.held(operands)], "t_"),
            at,
            n,
        )

    def vjp(self, operands, needs, body):
        self.check(needs)
        n = len(body.results)
        forward, backward = self.functions
        out = self.run(forward, operands)
        (backward,), kept = drop_zeros([backward], 0)
        at = [self.moving[k] for k in kept]
        read = [*out[n:], *self.held(operands)]
        return out[:n], lambda gs: place(
            self.run(backward, [*read, *cotangents(gs, inexact(body), out)], "d_"), at, len(operands)
        )

    def batched(self, lanes, flags, count):
        """Residuals that all lanes share stay shared; cotangents of operands that they share are summed."""
        forward, backward = self.functions
        shared = []

        def ahead(*xs):
            out, carried = batch_into(Builder.current(), forward, xs, flags, lanes)
            shared[:] = [not c for c in carried[count:]]
            return (*(x if c else spread(x, lanes) for x, c in zip(out[:count], carried, strict=False)), *out[count:])

        types = lambda func, flags: [
            p.type.like((lanes, *p.type.shape)) if f else p.type for p, f in zip(func.params, flags, strict=True)
        ]
        early = region(ahead, types(forward, flags), forward.name, [p.hint for p in forward.params])
        held = (*(not s for s in shared), *self.held(flags))
        held = (*held, *(True for _ in backward.params[len(held) :]))

        def back(*xs):
            out, carried = batch_into(Builder.current(), backward, xs, held, lanes)
            out = [x if c else spread(x, lanes) for x, c in zip(out, carried, strict=True)]
            return tuple(x if flags[i] else total(x) for i, x in zip(self.moving, out, strict=True))

        return early, region(back, types(backward, held), backward.name, [p.hint for p in backward.params])


def total(x):
    """The sum over lanes."""
    if isinstance(x, Lit) and not x.value:
        return Lit(0, x.type.like(x.type.shape[1:]))
    return reduce_sum(x, axes=(0,))


class Again:
    """`checkpoint`: nothing is kept for the way back but the operands; what the adjoint reads is computed from them
    again, apart."""

    def jvp(self, operands, tangents, body):
        return again_forward(self.run, operands, tangents, body)

    def vjp(self, operands, needs, body):
        return self.run(*operands, body=body), recomputing_pull(operands, needs, body)

    def batch(self, lanes, batched, count):
        return self

    def run(self, *operands, body):
        return call(*operands, body=body, name=body.name, inline=True, rule=self)


AGAIN = Again()


def again_forward(run, operands, tangents, body):
    """Results and their tangents, by `run` on the body with its tangents."""
    (func,), moving = tangent_regions([body], tangents)
    n = len(body.results)
    out = run(*operands, *(t for t in tangents if t is not None), body=func)
    return out[:n], place(out[n:], moving, n)


def recomputing_pull(operands, needs, body):
    """The pull of a body of which nothing was kept but its operands."""

    def pull(gs):
        seeds, wrt = where(g is not None for g in gs), where(needs)
        (func,), kept = drop_zeros([dce(vjp(body, wrt, seeds, keep=False))], 0)
        read = {*(x for e in func.eqns for x in e.operands), *func.results}
        xs = [*operands, *(gs[k] for k in seeds)]
        held = where(p in read for p in func.params)
        narrow = Func(func.name, [func.params[i] for i in held], func.eqns, func.results)
        return place(apart(*(xs[i] for i in held), body=narrow), [wrt[k] for k in kept], len(operands))

    return pull
