"""Derivatives and batching of the ops that compute nothing themselves."""

from ..ir.ops.flow import apart, stop_gradient
from .batch import BATCH, batch
from .custom import again_forward, recomputing_pull
from .forms import joint, zero

zero(stop_gradient)


def apart_jvp(operands, tangents, *, body):
    return again_forward(apart, operands, tangents, body)


def apart_vjp(operands, needs, gives, *, body):
    return apart(*operands, body=body), recomputing_pull(operands, needs, body)


joint(apart, jvp=apart_jvp, vjp=apart_vjp)


@BATCH.rule(apart)
def batch_apart(lanes, batched, *operands, body):
    return apart(*operands, body=batch(body, batched, lanes))
