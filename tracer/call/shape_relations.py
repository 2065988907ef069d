"""Relations of sizes by which handlers of NumPy's functions, and rules of equations, decide: of all arrays that a trace
makes, those that no result needs too, which the optimised program does not show."""

from __future__ import annotations

from ...ir.dims import Dim, Quotient, fit
from ...ir.walk import every_equation


def tell_shapes(asked, func):
    """Tell of the arrays of a captured program, before any pass."""
    for eqn in every_equation(func):
        for r in eqn.results:
            asked.array(r.type.shape)
        if eqn.op.name == "reshape":
            asked.relate("equal", eqn.operands[0].type.size, eqn.results[0].type.size)
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
    known = {}

    def expression(numbers, sides):
        if isinstance(sides[0], Dim):
            found = put(sides[0])
            return found if found.names <= at[0].keys() else None
        if numbers not in known:
            found = fit(numbers, at)
            known[numbers] = None if found is None else Dim.of(found)
        return known[numbers]

    columns = {}
    for row in zip(*(s.asked.relations for s in samples), strict=True):
        left, right = (tuple(getattr(r, k) for r in row) for k in ("m", "n"))
        key = (row[0].what, left, right, row[0].left if isinstance(row[0].left, Dim) else None)
        columns.setdefault(key, row)
    found = []
    for (what, left, right, _), row in columns.items():
        sides = expression(left, [r.left for r in row]), expression(right, [r.right for r in row])
        found.append((what, *sides, list(zip(left, right))))
    return found


def is_told_by_ranges(rest):
    """Whether the sign of a difference of sizes is a matter of thresholds and remainders: it is of one name, without
    products."""
    return len(rest.names) <= 1 and is_affine(rest)


def is_affine(dim):
    units = [u for m in dim.terms for u in m]
    return all(len(m) <= 1 for m in dim.terms) and all(is_affine(u.of) for u in units if isinstance(u, Quotient))
