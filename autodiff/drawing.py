"""Derivatives and batching of draws: for a state that stays the same, numbers move with their parameters where those
move and scale a standard draw (the pathwise derivative, Mohamed et al., JMLR 21, 2020); each lane has
a state of its own.
"""

from ..ir.ops.drawing import draw
from ..ir.ops.elementwise import div, sub
from ..ir.ops.reduction import reduce_sum
from ..ir.ops.shape import broadcast
from ..ir.types import IRTypeError
from .batch import BATCH
from .control import one_by_one
from .forms import add_tangents, explicit

# kind -> the slopes of numbers x by each parameter, (x, *parameters) -> slope; None where it is 1
SLOPES = {
    "normal": (None, lambda x, loc, scale: div(sub(x, loc), scale)),
    "uniform": (
        lambda x, low, high: div(sub(high, x), sub(high, low)),
        lambda x, low, high: div(sub(x, low), sub(high, low)),
    ),
    "exponential": (lambda x, scale: div(x, scale),),
}


def slopes(kind, x, parameters, needed):
    """The slopes of numbers by the parameters that are needed, None for 1."""
    if kind not in SLOPES:
        raise IRTypeError(
            f"draw: numbers of {kind}() have no derivative by its parameters, only those of {', '.join(SLOPES)} have"
        )
    parameters = [for_each(p, x.type) for p in parameters]
    return [slope and need and slope(x, *parameters) for slope, need in zip(SLOPES[kind], needed, strict=True)]


def for_each(x, t):
    """A parameter for each of the numbers."""
    return x if x.type.shape == t.shape else broadcast(x, shape=t.shape, dims=())


def draw_jvp(z, operands, tangents, *, kind, **attrs):
    tangents, x, out = tangents[2:], z[1], None
    needed = [t is not None for t in tangents]
    if any(needed):
        for t, slope in zip(tangents, slopes(kind, x, operands[2:], needed), strict=True):
            if t is not None:
                out = add_tangents(out, for_each(t, x.type) if slope is None else for_each(t, x.type) * slope)
    return None, out


def draw_vjp(z, operands, cotangents, needs, *, kind, **attrs):
    needs, x, g = needs[2:], z[1], cotangents[1]
    if g is None or not any(needs):
        return (None,) * len(operands)
    out = [None, None]
    for p, need, slope in zip(operands[2:], needs, slopes(kind, x, operands[2:], needs), strict=True):
        moved = (g if slope is None else g * slope) if need else None
        short = moved is not None and p.type.shape != x.type.shape
        out.append(reduce_sum(moved, axes=tuple(range(x.type.ndim))) if short else moved)
    return tuple(out)


explicit(draw, jvp=draw_jvp, vjp=draw_vjp)


@BATCH.rule(draw)
def batch_draw(lanes, batched, *operands, **attrs):
    return one_by_one(draw, lanes, batched, operands, **attrs)
