"""Derivatives and batching of functions the IR cannot see into: they answer for themselves."""

from ..ir.core import Builder
from ..ir.ops.external import external
from ..ir.types import IRTypeError
from .batch import BATCH
from .control import cotangents, place, where
from .forms import joint


def types_of(operands):
    return tuple(x.type for x in operands)


def asked(question, *args):
    """The answer of a foreign function, or its refusal with the line that called it."""
    try:
        return question(*args)
    except IRTypeError as error:
        source = Builder.current().source
        raise IRTypeError(f"{error}\n  at {source.file}:{source.line}\n    {source.text}" if source else str(error)) from error


def external_jvp(operands, tangents, *, function):
    types, moving = types_of(operands), tuple(where(t is not None for t in tangents))
    results = function.types(types)
    out = external(*operands, *(tangents[i] for i in moving), function=asked(function.tangent, types, moving))
    n = len(results)
    return out[:n], place(out[n:], where(t.inexact for t in results), n)


def external_vjp(operands, needs, gives, *, function):
    wrt, seeds = where(needs), where(gives)
    early, late = asked(function.reverse, types_of(operands), tuple(wrt), tuple(seeds))
    out = external(*operands, function=early)
    n = len(gives)
    z, residuals = out[:n], out[n:]

    def pull(gs):
        return place(external(*residuals, *cotangents(gs, seeds, z), function=late), wrt, len(operands))

    return z, pull


joint(external, jvp=external_jvp, vjp=external_vjp)


@BATCH.rule(external)
def batch_external(lanes, batched, *operands, function):
    return external(*operands, function=function.batched(batched, lanes))
