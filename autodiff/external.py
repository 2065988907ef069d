"""Derivatives and batching of functions the IR cannot see into: they answer for themselves."""

from ..ir.core import Builder
from ..ir.ops.external import external, pointwise
from ..ir.types import IRTypeError
from .batch import BATCH
from .control import cotangents, place, where
from .forms import Scalar, explicit, joint


def types_of(operands):
    return tuple(x.type for x in operands)


def foreign_answer(question, *args):
    """The answer of a foreign function, or its refusal with the line that called it."""
    try:
        return question(*args)
    except IRTypeError as error:
        source = Builder.current().source
        raise IRTypeError(
            f"{error}\n  at {source.file}:{source.line}\n    {source.text}" if source else str(error)
        ) from error


def external_jvp(operands, tangents, *, function):
    types, moving = types_of(operands), tuple(where(t is not None for t in tangents))
    results = function.types(types)
    out = external(*operands, *(tangents[i] for i in moving), function=foreign_answer(function.tangent, types, moving))
    n = len(results)
    return out[:n], place(out[n:], where(t.inexact for t in results), n)


def external_vjp(operands, needs, gives, *, function):
    wrt, seeds = where(needs), where(gives)
    early, late = foreign_answer(function.reverse, types_of(operands), tuple(wrt), tuple(seeds))
    out = external(*operands, function=early)
    n = len(gives)
    z, residuals = out[:n], out[n:]

    def pull(gs):
        return place(external(*residuals, *cotangents(gs, seeds, z), function=late), wrt, len(operands))

    return z, pull


joint(external, jvp=external_jvp, vjp=external_vjp)


def partials(function):
    """The form of a pointwise function: an operand without a slope refuses to be differentiated."""

    def refused(i):
        raise IRTypeError(f"the derivative of {function.__name__} by argument {i} is not known")

    slopes = [slope or (lambda *_, i=i: foreign_answer(refused, i)) for i, slope in enumerate(function.slopes)]
    return Scalar(slopes, singular=True)


def pointwise_jvp(z, operands, tangents, *, function):
    return partials(function).jvp(pointwise, z, operands, tangents, {})


def pointwise_vjp(z, operands, cotangents, needs, *, function):
    return partials(function).vjp(pointwise, z, operands, cotangents, needs, {})


explicit(pointwise, jvp=pointwise_jvp, vjp=pointwise_vjp)


@BATCH.rule(external)
def batch_external(lanes, batched, *operands, function):
    return external(*operands, function=function.batched(batched, lanes))
