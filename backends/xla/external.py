"""Functions the IR does not look into: those of JAX, which lowering calls, and for which jax.jvp, jax.vjp and jax.vmap
answer the transforms; and those that run in Python on the host."""

import functools

import jax
import numpy as np
from jax import numpy as jnp
from jax import tree_util
from jax.extend.core import jaxpr_as_fun

from ...ir.ops.external import Foreign, external, pointwise
from ...ir.types import IRTypeError, type_of
from ..forked import refuse_forked, under_jit
from .callbacks import callback
from .dispatch import wide
from .table import XLA


def shapes(types):
    return [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]


def remembered(method):
    """One answer per question, kept by the function itself: the same derivative is the same object."""

    def ask(self, *question):
        key = method.__name__, question
        if key not in self.known:
            self.known[key] = method(self, *question)
        return self.known[key]

    return functools.wraps(method)(ask)


def inexact(results):
    return [i for i, z in enumerate(results) if jnp.issubdtype(z.dtype, jnp.inexact)]


class JaxFunction(Foreign):
    """`function(*jax values) -> tuple of them`, pure, traced with 64-bit types on."""

    def __init__(self, function, name):
        self.function, self.__name__, self.known = function, name, {}
        self.compiled = under_jit(function)

    @remembered
    def types(self, types):
        with wide():
            return tuple(map(type_of, jax.eval_shape(self.function, *shapes(types))))

    def __call__(self, *arrays):
        refuse_forked()
        with wide():
            return tuple(map(np.asarray, self.compiled(*arrays)))

    def lower(self, *values):
        return tuple(self.function(*values))

    @remembered
    def tangent(self, types, moving):
        n = len(types)

        def tangent(*operands):
            xs = operands[:n]

            def moved(*some):
                z = self.function(*exchanged(xs, moving, some))
                return {i: z[i] for i in inexact(z)}, {i: x for i, x in enumerate(z) if i not in inexact(z)}

            z, t, rest = jax.jvp(moved, tuple(xs[i] for i in moving), operands[n:], has_aux=True)
            z |= rest
            return (*(z[i] for i in range(len(z))), *(t[i] for i in sorted(t)))

        with self.refusals("forward"), wide():
            program = jax.make_jaxpr(tangent)(*shapes((*types, *(types[i] for i in moving))))
            # a custom_vjp is refused only here
            if any(e.primitive.name.startswith("custom_lin") for e in program.jaxpr.eqns):
                jax.jit(jaxpr_as_fun(program)).lower(*(v.aval for v in program.jaxpr.invars))
        run = jaxpr_as_fun(program)
        return JaxFunction(lambda *xs: tuple(run(*xs)), f"t_{self.__name__}")

    @remembered
    def reverse(self, types, needs, gives):
        def early(*xs):
            def moved(*some):
                z = self.function(*exchanged(xs, needs, some))
                return tuple(z[i] for i in gives), tuple(z)

            _, pull, z = jax.vjp(moved, *(xs[i] for i in needs), has_aux=True)
            return z, pull

        with self.refusals("reverse"), wide():
            program, (_, pull) = jax.make_jaxpr(early, return_shape=True)(*shapes(types))
        kept, tree = tree_util.tree_flatten(pull)

        def late(*operands):
            return tree_util.tree_unflatten(tree, operands[: len(kept)])(tuple(operands[len(kept) :]))

        run = jaxpr_as_fun(program)
        backward = JaxFunction(late, f"d_{self.__name__}")
        with self.refusals("reverse"):
            backward.types((*map(type_of, kept), *(self.types(types)[i] for i in gives)))
        return JaxFunction(lambda *xs: tuple(run(*xs)), self.__name__), backward

    @remembered
    def batched(self, flags, size):
        axes = tuple(0 if flag else None for flag in flags)
        return JaxFunction(jax.vmap(self.function, axes, axis_size=size), f"batch_{self.__name__}")

    def refusals(self, mode):
        return Refusals(f"{self.__name__} has no {mode}-mode derivative in JAX")


class Refusals:
    """What JAX raises inside, as the IR's error."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, TypeError | ValueError | NotImplementedError) and not isinstance(error, IRTypeError):
            raise IRTypeError(f"{self.text}: {error}") from error


def exchanged(xs, places, some):
    """xs with those at `places` replaced."""
    xs = list(xs)
    for i, x in zip(places, some, strict=True):
        xs[i] = x
    return xs


class HostFunction(Foreign):
    """`function(*NumPy arrays) -> tuple of them`, pure, called on the host; `given(types)` are the types of its
    results.

    It has no derivative: it stands in functions that bring a rule.
    """

    on_host = True

    def __init__(self, function, given, name):
        self.function, self.given, self.__name__, self.known = function, given, name, {}

    def types(self, types):
        return self.given(types)

    def __call__(self, *arrays):
        return tuple(map(np.asarray, self.function(*map(np.asarray, arrays))))

    def lower(self, *values):
        return callback(
            jax.pure_callback,
            self,
            tuple(shapes(self.given(tuple(map(type_of, values))))),
            values,
            vmap_method="sequential",
        )

    def tangent(self, types, moving):
        raise IRTypeError(f"{self.__name__} runs on the host, and has no derivative there")

    def reverse(self, types, needs, gives):
        self.tangent(types, needs)

    @remembered
    def batched(self, flags, size):
        """One lane after another."""

        def lane(x, k, flag):
            return x[k] if flag else x

        def every(*arrays):
            return tuple(
                map(np.stack, zip(*(self(*(lane(x, k, f) for x, f in zip(arrays, flags))) for k in range(size))))
            )

        def given(types):
            single = self.given(tuple(t.like(t.shape[1:]) if f else t for t, f in zip(types, flags)))
            return tuple(t.like((size, *t.shape)) for t in single)

        return HostFunction(every, given, f"batch_{self.__name__}")


def lower_pointwise(*xs, function):
    def run(*xs):
        return (pointwise.body(*xs, function=function),)

    return callback(
        jax.pure_callback, run, [jax.ShapeDtypeStruct(xs[-1].shape, xs[-1].dtype)], xs, vmap_method="broadcast_all"
    )[0]


XLA[pointwise] = lower_pointwise
XLA[external] = lambda *xs, function: function.lower(*xs)
