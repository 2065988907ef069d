"""Relations of sizes by which handlers of NumPy's functions, and rules of equations, decide: of all arrays that a trace
makes, those that no result needs too, which the optimised program does not show."""

from __future__ import annotations

import math

from ...ir.bounded import Limited
from ...ir.dims import Dim, Quotient, fit
from ...ir.walk import every_equation
from ..guards.guard import MISSING

FITS = Limited()  # (numbers, samples) -> what `fit` gives


def tell_shapes(asked, func):
    """Tell of the arrays of a captured program, before any pass."""
    for eqn in every_equation(func):
        for r in eqn.results:
            asked.array(r.type.shape)
        if eqn.op.name == "reshape":
            asked.relate("equal", eqn.operands[0].type.shape, eqn.results[0].type.shape)
        elif eqn.op.name == "concatenate":
            axis = eqn.attrs["axis"]
            total = sum(x.type.shape[axis] for x in eqn.operands)
            asked.relate("equal", total, eqn.results[0].type.shape[axis])
        elif eqn.op.name == "slice":
            for n, start, stop in zip(eqn.operands[0].type.shape, eqn.attrs["start"], eqn.attrs["stop"], strict=True):
                asked.relate("order", start, stop)
                asked.relate("order", stop, n)


def related_sizes(samples, put):
    """{(what, left, right, outcomes)} of the Relations of samples, each side as a Dim of names; a side is None where it
    is no expression of them. put: what a Dim is in which sizes were read."""
    at = [s.sizes for s in samples]
    fitted = fitter(at)

    def expression(numbers):
        found = fitted(numbers)
        return None if found is None else Dim.of(found)

    def side(sides):
        if isinstance(sides[0], Dim):
            found = put(sides[0])
            return found if found.names <= at[0].keys() else None
        if isinstance(sides[0], int):
            return expression(sides)
        if len(set(map(len, sides))) > 1:
            return None
        factors = [expression(numbers) for numbers in zip(*sides, strict=True)]
        return None if None in factors else math.prod(factors, start=Dim.of(1))

    columns = {}
    for row in zip(*(s.asked.relations for s in samples), strict=True):
        sides = tuple(tuple(side) for side in zip(*((r.left, r.right) for r in row)))
        columns.setdefault((row[0].what, *sides), row)
    return [(what, side(left), side(right), [(r.m, r.n) for r in row]) for (what, left, right), row in columns.items()]


def fitter(at):
    """-> `fit` at samples, remembered: one more sample, at which what is known holds, tells nothing else."""
    key = tuple(tuple(sizes.items()) for sizes in at)

    def fitted(numbers):
        found = FITS.get((numbers, key), MISSING)
        if found is MISSING:
            found = FITS.get((numbers[:-1], key[:-1]))
            if found is None or whole_at(Dim.of(found), at[-1]) != numbers[-1]:
                found = fit(numbers, at)
            FITS[numbers, key] = found
        return found

    return fitted


def whole_at(dim, sizes):
    try:
        return dim.at(sizes)
    except ArithmeticError:  # it is not whole there
        return None


def is_told_by_ranges(rest):
    """Whether the sign of a difference of sizes is a matter of thresholds and remainders: it is of one name, without
    products."""
    return len(rest.names) <= 1 and is_affine(rest)


def is_affine(dim):
    units = [u for m in dim.terms for u in m]
    return all(len(m) <= 1 for m in dim.terms) and all(is_affine(u.of) for u in units if isinstance(u, Quotient))
