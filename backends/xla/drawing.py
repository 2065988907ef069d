"""Draws outside of nests: a nest of their own each, or NumPy's method, called on the host."""

import contextlib
import functools

import jax
from jax import numpy as jnp

from ...ir.ops.control import loop
from ...ir.ops.drawing import KINDS, draw
from ...ir.types import type_of
from .. import native
from .callbacks import callback
from .table import XLA


@XLA.rule(draw)
def lower_draw(state, going, *given, **attrs):
    numbers = jnp.zeros(attrs["shape"], KINDS[attrs["kind"]][1])
    types, made = native.alone([type_of(x) for x in (state, going, *given)], attrs)

    def by_python(*operands):
        going, *rest = operands
        return numpys_draw(attrs, rest[-2], going, *rest[:-2])

    operands = going, *given, state, numbers
    with native.asked(0) if native.allowed() else contextlib.nullcontext():
        found = native.lowered(loop, operands, made, by_python)
    return by_python(*operands) if found is None else found


def numpys_draw(attrs, *operands):
    results = [jax.ShapeDtypeStruct(operands[0].shape, operands[0].dtype)]
    results.append(jax.ShapeDtypeStruct(attrs["shape"], KINDS[attrs["kind"]][1]))
    run = functools.partial(draw.body, **attrs)
    return callback(jax.pure_callback, run, results, operands, vmap_method="sequential")
