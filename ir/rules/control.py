"""Choices and iterations whose course is known, and marks that have done their duty."""

from ..core import Builder, Func, Lit, effectful
from ..ops.control import cond, groups, loop
from ..ops.flow import stop_gradient
from ..pattern import holes
from ..rewrite import RuleSet

CHOICES = RuleSet("choices")
CONTROL = RuleSet("control")
rule = CONTROL.rule
x = holes("x")

EITHER = """
    func either(%i: bool[], %x: f64[]) -> f64[] {
      %0 = cond %i, %x : f64[]
        branches[0]: func(%x: f64[]) -> f64[] {
          %0 = exp %x : f64[]
          return %0
        }
        branches[1]: func(%x: f64[]) -> f64[] {
          %0 = log %x : f64[]
          return %0
        }
      return %0
    }"""

rule(stop_gradient(x), x)  # programs are simplified when all that is to be differentiated has been


@rule(None, fits=lambda op, heads: op is cond and heads[0] is Lit, grows=True, never=[EITHER])
def known_choice(operands, attrs):
    """The branch that is taken, written out."""
    branches = attrs["branches"]
    return Builder.current().inline(branches[min(max(int(operands[0].value), 0), len(branches) - 1)], operands[1:])


@rule(None, fits=lambda op, heads: op is loop, where=lambda attrs: attrs["trips"] == 0, never=["""
    func one(%x: f64[]) -> f64[] {
      %0 = loop %x carried=1 trips=1 : f64[]
        body: func(%i: i64[], %x: f64[]) -> f64[] {
          %0 = exp %x : f64[]
          return %0
        }
      return %0
    }"""])  # fmt: skip
def no_trips(operands, attrs):
    """The carried values as they are."""
    return groups(operands, **attrs)[2]


@CHOICES.rule(None, fits=lambda op, heads: op is cond, where=lambda op, attrs: not effectful(op, attrs), never=[EITHER])
def same_either_way(operands, attrs):
    """What all branches give alike, an operand or a number, is no result of the choice; nor is what two of its results
    always are."""
    (index, *given), branches = operands, attrs["branches"]
    columns = list(zip(*(b.results for b in branches)))
    outside = [dict(zip(b.params, given)) for b in branches]
    found = [
        {names.get(r, r if isinstance(r, Lit) else None) for names, r in zip(outside, column)} for column in columns
    ]
    alike = [next(iter(values)) if len(values) == 1 else None for values in found]
    left = [k for k, x in enumerate(alike) if x is None and columns.index(columns[k]) == k]
    if len(left) == len(columns):
        return None
    narrow = tuple(Func(b.name, b.params, b.eqns, tuple(b.results[k] for k in left)) for b in branches)
    chosen = dict(zip([columns[k] for k in left], cond(index, *given, branches=narrow) if left else ()))
    return tuple(chosen[column] if x is None else x for column, x in zip(columns, alike))
