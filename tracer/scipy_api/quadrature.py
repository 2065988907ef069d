"""scipy.integrate: integrals of functions, and of samples.

`quad` runs on the host; its derivatives are integrals of their own, and the function at the ends. Those of samples are
sums.
"""

import functools

import numpy as np

from ...autodiff import jvp, vjp
from ...autodiff.control import place
from ...backends.numpy import quick_callable, quick_number
from ...backends.xla.external import HostFunction
from ...ir.core import Builder, zeros_like
from ...ir.ops import OPS
from ...ir.ops.control import call, region
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.scipy_registry import captures, refuse
from ..values.array import fresh
from .callbacks import (
    Callback,
    CallbackFailed,
    Told,
    as_floats,
    number_types,
    plain_options,
    real,
    result_number,
    scalar_result,
)
from .flows import INTEGRATE, Batched
from .roots import packed_arguments

SIMPLE = ("epsabs", "epsrel", "limit", "points", "maxp1", "limlst")
TEXTS = {ValueError: "the limits or options are not valid"}


class Integral:
    """(the integral, the status after it, the error SciPy estimates) of integrand(x, *parameters)[0] from a to b.

    integrand: gives f64[m] and a status. Called as (a, b, *parameters). The derivative by a parameter is the integral
    of the derivative; each of m numbers is an integral of its own to SciPy, which asks for mostly the same x.
    """

    def __init__(self, integrand, options):
        self.integrand, self.options, self.told = integrand, options, Told("scipy.integrate.quad", TEXTS, 1)
        self.size = integrand.results[0].type.size
        types = number_types(self.size), *self.told.types
        self.host = HostFunction(self.run, lambda _: types, f"quad_{integrand.name}")
        self.made = {}

    @functools.cached_property
    def function(self):
        """One number is given as such."""
        func = self.integrand
        if self.size == 1:

            def body(*xs):
                out, status = Builder.current().inline(func, xs)
                return OPS["reshape"](out, shape=()), status

            func = region(body, self.types(), func.name)
        return quick_callable(func)

    def run(self, a, b, *parameters):
        run, failures = self.function, []
        parameters = [quick_number(p) for p in parameters]

        def values(x):
            out, status = run(x, *parameters)
            if status:
                failures.append(int(status))
                raise CallbackFailed
            return out

        def solve():
            quad = real(INTEGRATE, "quad")
            kept = functools.lru_cache(4096)(values)
            parts = [values] if self.size == 1 else [lambda x, k=k: kept(x)[k] for k in range(self.size)]
            found = [quad(part, float(a), float(b), **self.options) for part in parts]
            return [np.array([z for z, *_ in found])], [max((e for _, e, *_ in found), default=0.0)]

        return self.told.run(failures, solve, [np.full(self.size, np.nan)])

    def __call__(self, *operands):
        name = self.integrand.name
        body = region(lambda *xs: OPS["external"](*xs, function=self.host), [x.type for x in operands], name)
        return call(*operands, body=body, name=name, inline=True, rule=self)

    def at(self, x, parameters):
        """The integrand at an end, where that is finite."""
        found = Builder.current().inline(self.integrand, [x, *parameters])[0]
        test = OPS["broadcast"](OPS["is_finite"](x), shape=found.type.shape, dims=())
        return OPS["select"](test, found, zeros_like(found))

    def ends(self, tangents, operands):
        """What moving ends add."""
        for sign, t, x in zip((-1.0, 1.0), tangents[:2], operands[:2]):
            if t is not None:
                f = self.at(x, operands[2:])
                yield f * OPS["broadcast"](t * sign, shape=f.type.shape, dims=())

    def jvp(self, operands, tangents, body):
        out = self(*operands)
        moving = tuple(i for i, t in enumerate(tangents[2:]) if t is not None)
        parts = [*self.ends(tangents, operands)]
        if moving:
            moved = self.derived("t", moving, lambda: self.tangent(moving))
            parts.append(moved(*operands, *(tangents[2 + i] for i in moving))[0])
        total = zeros_like(out[0])
        for part in parts:
            total = total + part
        return out, (total, None, zeros_like(out[2]))

    def vjp(self, operands, needs, body):
        out, (a, b, *parameters) = self(*operands), operands
        moving = tuple(i for i, need in enumerate(needs[2:]) if need)

        def pull(gs):
            g = zeros_like(out[0]) if gs[0] is None else gs[0]
            found = {}
            for i, sign in ((0, -1.0), (1, 1.0)):
                if needs[i]:
                    found[i] = OPS["reduce_sum"](self.at(operands[i], parameters) * g, axes=(0,)) * sign
            if moving:
                flat, at = self.derived("d", moving, lambda: self.cotangent(moving))(a, b, *parameters, g)[0], 0
                for i in moving:
                    type = parameters[i].type
                    cut = OPS["slice"](flat, start=(at,), stop=(at + type.size,), stride=(1,))
                    found[2 + i] = OPS["reshape"](cut, shape=type.shape)
                    if type.dtype != np.float64:
                        found[2 + i] = OPS["cast"](found[2 + i], dtype=type.dtype)
                    at += type.size
            wrt = sorted(found)
            return place([found[i] for i in wrt], wrt, len(operands))

        return out, pull

    def derived(self, kind, moving, make):
        if (kind, moving) not in self.made:
            self.made[kind, moving] = Integral(make(), self.options)
        return self.made[kind, moving]

    def types(self):
        return [p.type for p in self.integrand.params]

    def values(self):
        """The integrand without the status, which has no derivative."""
        return region(lambda *xs: Builder.current().inline(self.integrand, xs)[:1], self.types(), self.integrand.name)

    def tangent(self, moving):
        types = self.types()
        func = jvp(self.values(), tuple(1 + i for i in moving))

        def body(*xs):
            status = Builder.current().inline(self.integrand, xs[: len(types)])[1]
            return Builder.current().inline(func, xs)[1], status

        return region(body, [*types, *(types[1 + i] for i in moving)], f"t_{self.integrand.name}")

    def cotangent(self, moving):
        types = self.types()
        func = vjp(self.values(), tuple(1 + i for i in moving), (0,))

        def body(*xs):
            status = Builder.current().inline(self.integrand, xs[: len(types)])[1]
            cts = Builder.current().inline(func, xs)[1:]
            flat = [OPS["cast"](c, dtype=np.dtype(float)) if c.type.dtype != np.float64 else c for c in cts]
            return OPS["concatenate"](*(OPS["reshape"](c, shape=(c.type.size,)) for c in flat), axis=0), status

        return region(body, [*types, number_types(self.size)], f"d_{self.integrand.name}")

    def batch(self, lanes, batched, count):
        return Batched(self, lanes, tuple(batched))


@captures(INTEGRATE, always=True)
def quad(func, a, b, args=(), full_output=0, **options):
    """The integral and the error that SciPy estimates, which has no derivative."""
    if full_output or any(name not in SIMPLE for name in options):
        refuse(f"scipy.integrate.quad with full_output or {', '.join(options) or 'options'}")
    plain_options("quad", options)
    callback = Callback(func, float, packed_arguments(args), lambda out: scalar_result(out).reshape(1))
    rule = Integral(callback.func, options)
    ends = [as_floats(x) for x in (a, b)]
    if any(e.shape for e in ends):
        raise with_note(TypeError, message("scipy.integrate.quad takes numbers as limits", locate()))
    value, status, told = rule(*(e.value for e in ends), *callback.operands)
    rule.told.settle(status)
    return result_number(fresh(value)[0].value, float), result_number(fresh(told)[0].value, float)


# -- of samples ------------------------------------------------------------------------------------


@captures(INTEGRATE)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return np.trapezoid(handle(y), x, dx, axis)


@captures(INTEGRATE)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    y = np.moveaxis(handle(y), axis, -1)
    steps = dx if x is None else differences(x, axis)
    out = np.cumsum(steps * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        if isinstance(initial, int | float) and initial != 0:
            raise with_note(ValueError, message("`initial` must be 0.", locate()))
        out = np.concatenate([np.zeros_like(out[..., :1]), out], axis=-1)
    return np.moveaxis(out, -1, axis)


@captures(INTEGRATE)
def simpson(y, x=None, *, dx=1.0, axis=-1):
    """Simpson's rule; of an even number of samples the last interval by Cartwright's correction, as SciPy does.

    Source: Cartwright, Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data (2017).
    """
    y = np.moveaxis(handle(y), axis, -1)
    n = y.shape[-1]
    if x is None:
        h = np.full(n - 1, 1.0) * dx
    else:
        h = differences(x, axis)
    even = n % 2 == 0
    if n == 2:
        return (0.5 * h[..., 0]) * (y[..., 0] + y[..., 1])
    last = n - 1 if even else n
    out = composite(y[..., :last], h[..., : last - 1])
    if even:
        a, b = h[..., -2], h[..., -1]
        out = out + y[..., -1] * (2 * b**2 + 3 * a * b) / (6 * (b + a))
        out = out + y[..., -2] * (b**2 + 3 * a * b) / (6 * a) - y[..., -3] * b**3 / (6 * a * (a + b))
    return out


def differences(x, axis):
    """The steps between places, along the last axis."""
    x = handle(x)
    return np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1))


def composite(y, h):
    """The rule on pairs of intervals."""
    a, b = h[..., 0::2], h[..., 1::2]
    total, product, ratio = a + b, a * b, a / b
    terms = y[..., 0:-2:2] * (2.0 - 1.0 / ratio) + y[..., 1:-1:2] * (total * total / product)
    terms = terms + y[..., 2::2] * (2.0 - ratio)
    return np.sum(total / 6.0 * terms, axis=-1)

