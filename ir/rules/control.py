"""Choices and iterations whose course is known."""

from ..core import Builder, Lit
from ..ops.control import cond, groups, loop
from ..rewrite import RuleSet

CONTROL = RuleSet("control")
rule = CONTROL.rule


@rule(None, where=lambda op, operands: op is cond and isinstance(operands[0], Lit), grows=True)
def known_choice(operands, attrs):
    """The branch that is taken, written out."""
    branches = attrs["branches"]
    return Builder.current().inline(branches[min(max(int(operands[0].value), 0), len(branches) - 1)], operands[1:])


@rule(None, where=lambda op, attrs: op is loop and attrs["trips"] == 0)
def no_trips(operands, attrs):
    """The carried values as they are."""
    return groups(operands, **attrs)[2]
