"""Walks over a program: its equations, and what values are computed from. There each value is met once, however many
read it, and no depth is too great for Python's stack."""

from .ops import OPS
from .pattern import made_by
from .source import code_place, encodable

AND = OPS["and"]
FEW = 64  # truths that are looked at for one: a chain of them is asked about as a whole, again at each of its parts


def every_equation(func):
    """The equations of a function and of its regions, those of a region behind the one that has it."""
    for eqn in func.eqns:
        yield eqn
        for region in eqn.regions():
            yield from every_equation(region)


def ops_of(func):
    """The ops of a function and of its regions, in that order."""
    return [eqn.op for eqn in every_equation(func)]


def own_lines(func):
    """{(file, line)} that the equations of a function and of its regions are of, as `encodable` texts."""
    places = [code_place(eqn.source) for eqn in every_equation(func)]
    return {(encodable(place[0]), place[2]) for place in places if place is not None}


def operands_first(values, below):
    """`values` and what is below them, each once, what is below a value before it. below(x): the values that x is told
    by."""
    met, pending = set(), [(x, None) for x in reversed(values)]
    while pending:
        x, rest = pending.pop()
        if rest is None:
            if x in met:
                continue
            met.add(x)
            rest = iter(below(x))
        for y in rest:
            if y not in met:
                pending += [(x, rest), (y, None)]
                break
        else:
            yield x


def conjuncts(truth):
    """Truths whose `and` a truth is, each once: all of them where they are not more than a few `and`s."""
    found, met, pending = [], set(), [truth]
    while pending:
        x = pending.pop()
        if x not in met:
            met.add(x)
            if len(met) <= FEW and (parts := made_by(x, AND)):
                pending += parts[::-1]
            else:
                found.append(x)
    return found
