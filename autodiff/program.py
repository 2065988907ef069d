"""A derivative stated as a program: what the op computes, spelled in ops that have derivatives of their own.

The program is differentiated in place of the op, so both modes and all orders follow. The op keeps
its own, faster way to compute the result.
"""

from ..ir.core import Builder
from .forms import DERIVATIVE
from .jvp import pushforward
from .vjp import pullback


class StatedProgram:
    """`program(*operands, **attrs) -> result`, in IR ops."""

    def __init__(self, program):
        self.program = program

    def func(self, operands, attrs):
        build = Builder("program")
        build.source = Builder.current().source
        with build:
            params = [build.param(x.type) for x in operands]
            result = self.program(*params, **attrs)
        return build.finish((result,))

    def jvp(self, op, z, operands, tangents, attrs):
        moving = {i: t for i, t in enumerate(tangents) if t is not None}
        return pushforward(Builder.current(), self.func(operands, attrs), operands, moving)[1]

    def vjp(self, op, z, operands, cotangents, needs, attrs):
        wrt = [i for i, need in enumerate(needs) if need]
        grads = pullback(Builder.current(), self.func(operands, attrs), operands, wrt, {0: cotangents[0]})[1]
        return tuple(grads[wrt.index(i)] if need else None for i, need in enumerate(needs))


def register_program(op, program):
    DERIVATIVE[op] = StatedProgram(program)
