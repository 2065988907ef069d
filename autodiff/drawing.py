"""Derivatives and batching of draws: numbers drawn are constants, and each lane has a state of its own."""

from ..ir.ops.drawing import draw
from ..ir.types import IRTypeError
from .batch import BATCH
from .control import one_by_one
from .forms import explicit


def no_derivative(kind):
    raise IRTypeError(
        f"draw: numbers of {kind}() have no derivative by its parameters: draw standard ones, and move and scale them, "
        "as in mean + width * rng.standard_normal()"
    )


def draw_jvp(z, operands, tangents, *, kind, **attrs):
    if any(t is not None for t in tangents):
        no_derivative(kind)
    return (None,) * len(z)


def draw_vjp(z, operands, cotangents, needs, *, kind, **attrs):
    if any(needs):
        no_derivative(kind)
    return (None,) * len(operands)


explicit(draw, jvp=draw_jvp, vjp=draw_vjp)


@BATCH.rule(draw)
def batch_draw(lanes, batched, *operands, **attrs):
    return one_by_one(draw, lanes, batched, operands, **attrs)
