"""Programs as functions that JAX's own transforms take: `jax.jit`, `vmap`, `grad`, `jvp`, `scan` and all others, at any
order, with derivatives that are programs too.

JAX cannot reverse a loop of which data say how often it runs, and has no public primitive of a linear function with a
transpose of one's own that batches and differentiates. `lax.custom_linear_solve` is one in effect. With L the
derivative of a program at x and B = [[1, 0], [-L, 1]], the matrix A = [[0, B^T], [B, 0]] is symmetric, and its inverse
is known: B^-1 = [[1, 0], [L, 1]]. So `A v = b` for b = (0, 0, t, 0) is solved by v = (t, L t, 0, 0), and its
transposition, which is the same solve, gives L^T of a cotangent. What JAX differentiates at the next order is A, in
which L and L^T are embedded programs again. Of the two products of a solve, the one that nobody reads is dropped by
XLA, or skipped for it is of zeros.
"""

import functools
import math

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.custom_batching import custom_vmap
from jax.custom_derivatives import SymbolicZero, zero_from_primal

from ...ir.core import has
from ...ir.ops.control import host
from ...ir.setting import set_within
from ..forked import refuse_forked, under_jit
from ..manual_axes import all_varying, made_varying, manual_axes_of
from .callbacks import words
from .dispatch import NARROW, lowering_as, wide
from .failing import custom_vmap_keeps_effects, fail_where_moved
from .indexing import SHORT
from .lower import lower
from .numbers import numbers_in_nests
from .sharding import over_devices

SCALAR = np.dtype(np.float32)  # of the empty arrays through which a value depends on others


class Embedded:
    """`embedded(*jax values) -> tuple of jax values`: the results of `func`.

    derived(func, moving): the programs of the derivative by these parameters, a `Derived`; finished(func): what is
    lowered; short: whether 64-bit types are off where it is called, so that the results have 32; options: as of
    `lowering_as`; checked: whether the last result is a status, which is given as words of 32 bits.
    """

    def __init__(self, func, derived, finished, short, options, checked=False, origin=None):
        self.func, self.derived, self.finished, self.short = func, derived, finished, short
        self.options, self.checked = options, checked
        self.origin = origin or self  # that of which this gives residuals besides
        self.parts = {}
        self.compiled = under_jit(self.named())
        self.once = self.alone if has(func, lambda eqn: eqn.op is host and eqn.attrs["ordered"]) else self.compiled
        self.call = jax.custom_jvp(self.run)
        self.call.defjvp(self.rule, symbolic_zeros=True)

    def __call__(self, *xs):
        with wide():  # explicit axes of a mesh are automatic from here on, in derivatives too
            return tuple(over_devices(lambda xs: self.call(*xs), self.func, xs, range(len(xs))))

    def named(self):
        def run(*xs):
            xs = [lax.convert_element_type(x, p.type.dtype) for x, p in zip(xs, self.func.params, strict=True)]
            func = self.finished(self.func)
            with set_within(SHORT, self.short), lowering_as(**self.options):
                out = over_devices(functools.partial(lower, numbers_in_nests(func)), func, xs, range(len(xs)))
            if self.checked:
                k = len(self.origin.func.results) - 1
                out[k] = words(out[k])
            return all_varying([lax.convert_element_type(z, self.dtype(z)) for z in out], manual_axes_of(xs))

        run.__name__ = run.__qualname__ = self.func.name
        return run

    def dtype(self, x):
        """Of a result, as those have it that call."""
        return NARROW.get(x.dtype.name, x.dtype) if self.short else x.dtype

    def run(self, *xs):
        refuse_forked()
        with wide():
            return self.once(*xs)

    @functools.cached_property
    def alone(self):
        """What acts on the world in order, and has none among the lanes of a batch."""
        if not custom_vmap_keeps_effects():  # then jax refuses the batch itself
            return self.compiled
        run = custom_vmap(self.compiled)

        @run.def_vmap
        def refuse(size, batched, *xs):
            raise ActsInOrder

        return run

    def rule(self, xs, ts):
        """Results and tangents, for JAX."""
        with wide():
            xs = [strong(x, self.dtype(p.type)) for x, p in zip(xs, self.func.params)]
            ts = [t if isinstance(t, SymbolicZero) else strong(t, x.dtype) for x, t in zip(xs, ts)]
            zs = self.call(*xs)
            moving = tuple([i for i, t in enumerate(ts) if moves(t)])
            flows = [k for k, r in enumerate(self.origin.func.results) if r.type.inexact]
            tangents = [zero_from_primal(z, symbolic_zeros=True) for z in zs]
            if moving and flows:
                part = self.origin.part(moving)
                saved = () if part.late is None else zs if part.early is self else part.early(*xs)
                saved = saved[len(self.origin.func.results) :]
                moved = tangents_through(part, xs, [ts[i] for i in moving], [zs[k] for k in flows], saved)
                for k, t in zip(flows, moved, strict=True):
                    tangents[k] = made_varying(t, manual_axes_of([zs[k]]))
            return zs, tuple(tangents)

    def part(self, moving):
        """What the derivative by some of the parameters is made of."""
        if moving not in self.parts:
            self.parts[moving] = Derivative(self, self.derived(self.func, moving), moving)
        return self.parts[moving]


class ActsInOrder(Exception):
    """A program that acts on the world was batched."""


class Derivative:
    """A derivative by the parameters `moving`, as functions of jax values.

    push(*xs, *ts), pull(*xs, *gs): tangents of the inexact results, cotangents of those parameters; early(*xs): the
    results, and residuals; late(*gs, *residuals): the same cotangents. There is no `late` where residuals would have
    64 bits and nothing else there has.
    """

    def __init__(self, whole, derived, moving):
        self.moving, more = moving, (whole.derived, whole.finished, whole.short, whole.options)
        self.pull, self.refusal = Embedded(derived.pull, *more), derived.push
        if not isinstance(derived.push, str):
            self.push, self.refusal = Embedded(derived.push, *more), None
        kept = derived.early.results[len(whole.func.results) :]
        self.late = None
        if not (whole.short and any(x.type.dtype.name in NARROW for x in kept)):
            self.early = Embedded(derived.early, *more, whole.checked, whole)
            self.late = Embedded(derived.late, *more)

    def pushed(self, run, xs, ts, zs):
        """Tangents by `run`, a form of push. Where there is none, whatever moves fails the program."""
        if self.refusal is None:
            return cast_like(zs, run(self.push)(*xs, *ts))
        fail_where_moved(ts, self.refusal)
        return [jnp.zeros_like(z) for z in zs]

    def pulled(self, xs, gs, saved):
        return self.pull.run(*xs, *gs) if self.late is None else self.late.run(*gs, *saved)


def strong(x, dtype):
    """A jax value that counts for no Python number; one that jax has left a number, with its dtype or this one."""
    return lax.convert_element_type(x, getattr(x, "dtype", dtype))


def moves(t):
    return not isinstance(t, SymbolicZero) and jnp.issubdtype(t.dtype, jnp.inexact)


def tangents_through(part, xs, ts, zs, saved):
    """The tangents of results zs at xs, which JAX may evaluate, transpose, batch and differentiate."""
    inexact = [x for x in xs if jnp.issubdtype(x.dtype, jnp.inexact)]

    def symmetric(v):
        (p, pz), (q, qz) = v
        back = cast_like(ts, part.pull(*xs, *qz))
        there = part.pushed(lambda push: push, xs, p, zs)
        out = (differences_of(q, back), qz), (p, differences_of(pz, there))
        # as a derivative, all of it depends on what the operands do: JAX transposes nothing of which a part is known
        return jax.tree_util.tree_map(lambda x: x + zeros_through(inexact, x), out)

    def solve(_, b):
        (p, pz), (q, qz) = b
        there = unless_zero(lambda *q: part.pushed(lambda push: push.run, xs, q, zs), q, zs)
        back = unless_zero(lambda *pz: cast_like(ts, part.pulled(xs, pz, saved)), pz, ts)
        return (q, sums_of(qz, there)), (sums_of(p, back), pz)

    still = [zeros_through(ts, z) for z in zs]
    b = ([zeros_through(ts, t) for t in ts], still), (ts, still)
    solved = lax.custom_linear_solve(symmetric, b, solve, transpose_solve=solve, symmetric=True)
    return solved[0][1]


def cast_like(like, values):
    return [lax.convert_element_type(v, x.dtype) for v, x in zip(values, like, strict=True)]


def sums_of(xs, ys):
    return [x + y for x, y in zip(xs, ys, strict=True)]


def differences_of(xs, ys):
    return [x - y for x, y in zip(xs, ys, strict=True)]


def zeros_through(values, like):
    """Zeros in the shape and dtype of `like`, which depend linearly on values."""
    empty = [lax.slice(lax.reshape(x, (x.size,)), (0,), (0,)) for x in values]
    empty = [lax.convert_element_type(lax.real(x) if x.dtype.kind == "c" else x, SCALAR) for x in empty]
    row = lax.convert_element_type(lax.concatenate(empty, 0) if len(empty) > 1 else empty[0], like.dtype)
    return lax.reshape(lax.pad(row, like.dtype.type(0), [(math.prod(like.shape), 0, 0)]), like.shape)


def unless_zero(function, values, results):
    """`function(*values)`, a linear one, where a value is not zero: then nothing is computed."""
    some = functools.reduce(lax.bitwise_or, [jnp.any(lax.ne(x, lax.full_like(x, 0))) for x in values], np.False_)
    return lax.cond(some, function, lambda *_: [jnp.zeros_like(z) for z in results], *values)
