"""Integrals of ordinary differential equations as calls with a rule: SciPy integrates on the host, and derivatives are
integrals again.

A `Flow` is what is closed under differentiation: an integration from time to time that, at each, keeps some numbers of
its state, drops the others, and adds a jump. Its tangents flow as states beside their tangents; its cotangents flow
back in time, where the state is set to what it was, and the cotangents of results are added to those that flow.
Source: Sengupta, Friston & Penny, Efficient gradient computation for dynamical models (2014).
"""

import functools
import sys

import numpy as np

from ...autodiff import batch, jvp, vjp
from ...autodiff.control import cotangents, place, where
from ...backends.numpy import quick_callable, quick_number
from ...backends.xla.external import HostFunction
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.ops.control import call, region
from ...ir.types import Tensor
from ..common.emit import constant_of

INTEGRATE = "scipy.integrate"


def numbers(*shape):
    return Tensor(shape, np.dtype(np.float64))


def zeros(*shape):
    return Lit(0.0, numbers(*shape))


def row_slice(x, start, stop):
    return OPS["slice"](x, start=(start, 0), stop=(stop, x.type.shape[1]), stride=(1, 1))


def columns(x, start, stop):
    return OPS["slice"](x, start=(0, start), stop=(x.type.shape[0], stop), stride=(1, 1))


def beside(*xs):
    """Matrices of as many rows as one."""
    return OPS["concatenate"](*(x for x in xs if x.type.size), axis=1)


def first_and_rest(first, rest):
    """The first row of one matrix, the others of another."""
    m = rest.type.shape[0]
    return OPS["concatenate"](row_slice(first, 0, 1), row_slice(rest, 1, m), axis=0) if m > 1 else first


def part(x, start, stop):
    return OPS["slice"](x, start=(start,), stop=(stop,), stride=(1,))


def repeated_vector(x, shape, axis):
    """A vector repeated to a matrix."""
    return OPS["broadcast"](x, shape=shape, dims=(axis,))


class Flow:
    """The states w of dw/dt = slope(w, t, *parameters) at the times t, each before it becomes kept * w + jump.

    slope: f64[n], f64[], *parameters -> f64[n]. Called as (times, jumps, *parameters), f64[m] and f64[m,n], of which
    the first row is the state at the first time, it appends a call, of which it is the rule, and gives f64[m,n], whose
    first row is that state. smooth: all is kept, and no other jump is made: one integration over all times. Otherwise
    it is one from each time to the next.
    """

    def __init__(self, slope, kept, options, smooth):
        self.slope, self.kept, self.options, self.smooth = slope, np.asarray(kept, float), options, smooth
        self.host = HostFunction(self.run, lambda types: (types[1],), slope.name)
        self.made = {}

    @functools.cached_property
    def function(self):
        return quick_callable(self.slope)

    def run(self, times, jumps, *parameters):
        """The numbers, by SciPy."""
        run, parameters = self.function, [quick_number(p) for p in parameters]

        def integrate(start, times):
            return sys.modules[INTEGRATE].odeint(
                lambda w, t: run(w, float(t), *parameters)[0], start, times, **self.options
            )

        if self.smooth:
            return (integrate(jumps[0], times),)
        found, w = [jumps[0]], jumps[0]
        for i in range(1, len(times)):
            found.append(integrate(w, times[i - 1 : i + 1])[1])
            w = self.kept * found[-1] + jumps[i]
        return (np.stack(found),)

    def __call__(self, *operands):
        body = region(lambda *xs: OPS["external"](*xs, function=self.host), [x.type for x in operands], self.slope.name)
        return call(*operands, body=body, name=self.slope.name, inline=True, rule=self)[0]

    def slopes(self, states, times, parameters):
        """The slope at each time."""
        many = batch(self.slope, (True, True, *(False for _ in parameters)), states.type.shape[0])
        return Builder.current().inline(many, [states, times, *parameters])[0]

    def keep(self, x):
        return x if self.kept.all() else x * repeated_vector(constant_of(self.kept), x.type.shape, 1)

    def behind(self, z, jumps):
        """The states that set out at each time."""
        return first_and_rest(jumps, z if self.smooth else self.keep(z) + jumps)

    def jvp(self, operands, tangents, body):
        """A time that moves lets a segment end later, and the next set out later."""
        times, jumps, *parameters = operands
        z, (m, n) = self(*operands), jumps.type.shape
        moving = tuple(i for i, t in enumerate(tangents[2:]) if t is not None)
        moved = zeros(m, n) if tangents[1] is None else tangents[1]
        starts, ends = moved, None
        if tangents[0] is not None:
            shift = repeated_vector(tangents[0], (m, n), 0)
            ends = shift * self.slopes(z, times, parameters)
            starts = first_and_rest(moved, moved + self.keep(ends)) - shift * self.slopes(
                self.behind(z, jumps), times, parameters
            )
        both = self.with_tangents(moving)(times, beside(jumps, starts), *parameters, *(tangents[2 + i] for i in moving))
        t = columns(both, n, 2 * n)
        return (z,), (first_and_rest(moved, t if ends is None else t + ends),)

    def vjp(self, operands, needs, body):
        times, jumps, *parameters = operands
        z, (m, n) = self(*operands), jumps.type.shape
        moving = tuple(i for i, need in enumerate(needs[2:]) if need)
        sizes = [parameters[i].type.size for i in moving]

        def pull(gs):
            (g,) = cotangents(gs, (0,), (z,))
            sources = OPS["reverse"](beside(z, g, zeros(m, sum(sizes))), axes=(0,))
            flown = self.with_cotangents(moving)(OPS["reverse"](times, axes=(0,)), sources, *parameters)
            flown = OPS["reverse"](flown, axes=(0,))
            found = {}
            # behind each jump
            out = (
                OPS["concatenate"](row_slice(columns(flown, n, 2 * n), 0, m - 1), zeros(1, n), axis=0)
                if m > 1
                else zeros(1, n)
            )
            found[1] = first_and_rest(g + out, out)
            if needs[0]:
                ends = first_and_rest(zeros(m, n), (g + self.keep(out)) * self.slopes(z, times, parameters))
                starts = out * self.slopes(self.behind(z, jumps), times, parameters)
                found[0] = OPS["reduce_sum"](ends - starts, axes=(1,))
            at = 2 * n
            for i, size in zip(moving, sizes):
                found[2 + i] = OPS["reshape"](
                    row_slice(columns(flown, at, at + size), 0, 1), shape=parameters[i].type.shape
                )
                at += size
            return tuple(found.get(i) if need else None for i, need in enumerate(needs))

        return (z,), pull

    def batch(self, lanes, batched, count):
        return Batched(self, lanes, tuple(batched))

    def with_tangents(self, moving):
        """The flow of states beside their tangents, those of the parameters `moving` being further parameters."""
        if ("t", moving) not in self.made:
            x, t, *parameters = (p.type for p in self.slope.params)
            n, count = x.shape[0], 2 + len(parameters)
            moved = jvp(self.slope, (0, *(2 + i for i in moving)))

            def slope(both, t, *rest):
                given = [part(both, 0, n), t, *rest[: count - 2], part(both, n, 2 * n), *rest[count - 2 :]]
                return (OPS["concatenate"](*Builder.current().inline(moved, given), axis=0),)

            types = [numbers(2 * n), t, *parameters, *(parameters[i] for i in moving)]
            made = region(slope, types, f"t_{self.slope.name}")
            self.made["t", moving] = Flow(made, np.tile(self.kept, 2), self.options, self.smooth)
        return self.made["t", moving]

    def with_cotangents(self, moving):
        """The flow back of states, their cotangents, and those of the parameters `moving` gathered so far, all in a
        row."""
        if ("d", moving) not in self.made:
            x, t, *parameters = (p.type for p in self.slope.params)
            n = x.shape[0]
            pulled = vjp(self.slope, (0, *(2 + i for i in moving)), (0,))

            def slope(both, t, *rest):
                z, *found = Builder.current().inline(pulled, [part(both, 0, n), t, *rest, part(both, n, 2 * n)])
                flat = [-OPS["reshape"](ct, shape=(ct.type.size,)) for ct in found if ct.type.size]
                return (OPS["concatenate"](z, *flat, axis=0),)

            size = sum(parameters[i].size for i in moving)
            made = region(slope, [numbers(2 * n + size), t, *parameters], f"d_{self.slope.name}")
            self.made["d", moving] = Flow(
                made, np.concatenate([np.zeros(n), self.kept, np.ones(size)]), self.options, False
            )
        return self.made["d", moving]


class Batched:
    """A rule on many lanes: those operands flagged carry them, and all results do."""

    def __init__(self, rule, lanes, flags):
        self.rule, self.lanes, self.flags = rule, lanes, flags

    def batch(self, lanes, batched, count):
        return Batched(self, lanes, tuple(batched))

    def singles(self, operands):
        return [x.type.like(x.type.shape[1:]) if flag else x.type for x, flag in zip(operands, self.flags, strict=True)]

    def all(self, function, operands, types, flags, more, name):
        """`function` of single operands and of `more` further ones on all lanes."""
        func = region(function, [*types, *(t for t, _ in more)], name)
        return Builder.current().inline(batch(func, (*flags, *(f for _, f in more)), self.lanes), operands)

    def jvp(self, operands, tangents, body):
        types, moving, n = self.singles(operands), where(t is not None for t in tangents), len(operands)
        have = []

        def function(*xs):
            z, ts = self.rule.jvp(xs[:n], place(xs[n:], moving, n), None)
            have[:] = where(t is not None for t in ts)
            return (*z, *(ts[i] for i in have))

        more = [(types[i], self.flags[i]) for i in moving]
        out = self.all(function, [*operands, *(tangents[i] for i in moving)], types, self.flags, more, "t_lanes")
        count = len(body.results)
        return out[:count], place(out[count:], have, count)

    def vjp(self, operands, needs, body):
        types, wrt, n = self.singles(operands), where(needs), len(operands)
        z = call(*operands, body=body, name="lanes", inline=True, rule=self)
        seeds = where(r.type.inexact for r in z)

        def function(*xs):
            found = self.rule.vjp(xs[:n], needs, None)[1](place(xs[n:], seeds, len(z)))
            return tuple(found[i] for i in wrt)

        def pull(gs):
            more = [(z[i].type.like(z[i].type.shape[1:]), True) for i in seeds]
            out = self.all(function, [*operands, *cotangents(gs, seeds, z)], types, self.flags, more, "d_lanes")
            return place([ct if self.flags[i] else OPS["reduce_sum"](ct, axes=(0,)) for i, ct in zip(wrt, out)], wrt, n)

        return z, pull
