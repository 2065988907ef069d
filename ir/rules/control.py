"""Choices and iterations whose course is known, and marks that have done their duty."""

from ..core import Builder, Lit
from ..ops.control import cond, groups, loop
from ..ops.flow import stop_gradient
from ..pattern import holes
from ..rewrite import RuleSet

CONTROL = RuleSet("control")
rule = CONTROL.rule
x = holes("x")

rule(stop_gradient(x), x)  # programs are simplified when all that is to be differentiated has been


@rule(None, where=lambda op, operands: op is cond and isinstance(operands[0], Lit), grows=True)
def known_choice(operands, attrs):
    """The branch that is taken, written out."""
    branches = attrs["branches"]
    return Builder.current().inline(branches[min(max(int(operands[0].value), 0), len(branches) - 1)], operands[1:])


@rule(None, where=lambda op, attrs: op is loop and attrs["trips"] == 0)
def no_trips(operands, attrs):
    """The carried values as they are."""
    return groups(operands, **attrs)[2]
