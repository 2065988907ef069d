"""What traces at several sizes have told of sizes, resolved: names of arguments in place of sizes that were only read,
and which facts a call has to share."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

from ...ir.dims import Dim, Quotient, is_whole_everywhere
from ..values.asked import Fact, Pin
from .shape_relations import fitter, is_told_by_ranges, related_sizes
from .size_names import LEAST

COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq}
SPELLED = {("<", False): ">=", ("<=", False): ">", ("==", False): "!="}
ORDERS = {
    frozenset(signs): facts
    for signs, facts in [
        ((-1,), [("<", True)]),
        ((0,), [("==", True)]),
        ((1,), [("<=", False)]),
        ((-1, 0), [("<=", True)]),
        ((0, 1), [("<", False)]),
        ((-1, 1), [("==", False)]),
        ((-1, 0, 1), []),
    ]
}
FARTHEST_TURN = 256  # bound: of the sizes at which a polynomial is computed to know where it is least
TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class Unresolved(Exception):
    """What traces have told of sizes says of no others. Its text says why."""


def substituted(dim, known):
    """A Dim with expressions in place of some of its names."""
    found = Dim.of(0)
    for monomial, coefficient in dim.terms.items():
        product = Dim({(): coefficient})
        for unknown in monomial:
            if isinstance(unknown, str):
                product = product * known.get(unknown, Dim.symbol(unknown))
            else:
                product = product * (Dim.of(substituted(unknown.of, known)) // unknown.divisor)
        found = found + product
    return found


def reads_of(samples):
    """{`r0`: what it is} of sizes that were read; None for what no expression is."""
    fitted = fitter([s.sizes for s in samples])
    reads = enumerate(zip(*(s.asked.reads for s in samples), strict=True))
    return {f"r{k}": fitted(numbers) for k, numbers in reads}


def difference(a, b):
    """Why two traces did not ask the same of sizes; None where they did."""
    x, y = a.asked, b.asked
    mine, other = [e.key() for e in x.events], [e.key() for e in y.events]
    where = f"at {shown_sizes(a.sizes)} and at {shown_sizes(b.sizes)}"
    if mine == other and len(x.reads) == len(y.reads):
        alike = [r.what for r in x.relations] == [r.what for r in y.relations]
        return None if alike else f"the arrays that it makes, or their number, are not of the same kind {where}"
    for k, (p, q) in enumerate(zip(mine, other)):
        if p != q:
            event = x.events[k]
            what = shown_fact(event) if isinstance(event, Fact) and p[0] == q[0] else "what it asks of sizes"
            return f"{what} is not the same {where}"
    return f"it asks sizes, or goes through items, not as often {where}"


def resolved_facts(samples):
    """The facts that all samples share, as [Fact] of names alone, those that always hold left out.

    Unresolved where a size is pinned, or is no expression of the names.
    """
    known = reads_of(samples)
    unknown = {name for name, d in known.items() if d is None}
    known = {name: Dim.of(d) for name, d in known.items() if d is not None}

    def put(dim, what):
        if dim.names & unknown:
            raise Unresolved(f"{what}: a size it is of is no expression of the arguments' sizes")
        return substituted(dim, known)

    found = {}
    for event in samples[0].asked.events:
        if isinstance(event, Pin) and not isinstance(put(event.dim, event.why).simplified(), int):
            raise Unresolved(f"{shown_dim(put(event.dim, event.why))} is used as a mere number: {event.why}")
        if isinstance(event, Fact):
            left, right = (put(d, "a comparison") for d in (event.left, event.right))
            fact = Fact(left, event.name, right, event.holds)
            if always_holds(fact) is False:
                raise Unresolved(f"{shown_fact(fact)} was said by a trace, and never holds")
            if always_holds(fact) is None:
                found[shown_fact(fact)] = fact
    for dim in samples[0].asked.params:
        put(dim, "a computation")
    return list(found.values())


def facts_of_shapes(samples):
    """[Fact] of what decides within handlers, and in rules of equations, where the ranges of sizes do not tell it.
    Unresolved likewise."""
    known = {name: Dim.of(d) for name, d in reads_of(samples).items() if d is not None}
    put = lambda dim: substituted(dim, known)
    found = {}
    for what, left, right, outcomes in related_sizes(samples, put):
        if left is None or right is None:
            raise Unresolved("an array that it makes has a size that is no expression of the arguments' sizes")
        names = [("==", True)] if what == "equal" else facts_of_order(outcomes)
        names = [] if is_told_by_ranges(left - right) else names
        facts = [Fact(left, name, right, holds) for name, holds in names]
        facts += [f for d in (left, right) for f in wholeness(d)]
        found |= {shown_fact(f): f for f in facts if not always_holds(f)}
    return list(found.values())


def facts_of_order(outcomes):
    """[(name, holds)] of the Fact that pairs of numbers have in common: programs are alike for each order that they
    have."""
    signs = {(m > n) - (m < n) for m, n in outcomes}
    return ORDERS[frozenset(signs)]


def wholeness(dim):
    """The fact that a Dim with fractions is whole, where its range does not tell that."""
    scale = math.lcm(*(c.denominator for c in dim.terms.values()))
    if scale == 1 or is_told_by_ranges(dim) or is_whole_everywhere(dim):
        return []
    return [Fact(dim * scale % scale, "==", Dim.of(0), True)]


def moduli(samples):
    """{(name, number)}: the remainders of names by which sizes are told apart that show in the programs."""
    known = {name: Dim.of(d) for name, d in reads_of(samples).items() if d is not None}
    put = lambda dim: substituted(dim, known)
    dims = [*map(put, samples[0].asked.used), *known.values()]
    dims += [d for _, *sides, _ in related_sizes(samples, put) for d in sides if d is not None]
    return {(name, k) for d in dims for k in [modulus(d)] if k > 1 for name in d.names & samples[0].sizes.keys()}


def modulus(dim):
    """What the names of a Dim are a remainder of, where it divides."""
    quotients = [u for m in dim.terms for u in m if isinstance(u, Quotient)]
    return math.lcm(1, *(q.divisor * modulus(q.of) for q in quotients))


def always_holds(fact):
    """Whether a fact holds at all sizes of two and more; None where that hangs on them."""
    low, high = dim_bounds(fact.left - fact.right)
    edge = -1 if fact.name == "<" else 0  # of the difference, from below
    if high <= edge and (fact.name != "==" or low == high == 0):
        return fact.holds
    if low > edge or fact.name == "==" and high < 0:
        return not fact.holds
    return None


def dim_bounds(dim):
    """(least, greatest) of a Dim at sizes of two and more, infinite where it has no such end or it is not known."""
    rest = {m: c for m, c in dim.terms.items() if m}
    if not all(isinstance(u, str) for m in rest for u in m):
        return -math.inf, math.inf
    if len(dim.names) == 1:
        return polynomial_bounds(dim)
    end = dim.terms.get((), Fraction(0)) + sum(c * LEAST ** len(m) for m, c in rest.items())
    low = end if all(c > 0 for c in rest.values()) else -math.inf
    return low, end if all(c < 0 for c in rest.values()) else math.inf


def polynomial_bounds(dim):
    """The same of a polynomial of one name, which beyond Cauchy's bound for the roots of its derivative only rises or
    only falls."""
    degree = max(map(len, dim.terms))
    leading = next(c for m, c in dim.terms.items() if len(m) == degree)
    steep = (abs(c * len(m) / (leading * degree)) for m, c in dim.terms.items())
    last = LEAST + math.ceil(max(steep))
    if last > FARTHEST_TURN:
        return -math.inf, math.inf
    values = [sum(c * n ** len(m) for m, c in dim.terms.items()) for n in range(LEAST, last + 1)]
    return (min(values), math.inf) if leading > 0 else (-math.inf, max(values))


def fact_holds(fact, sizes):
    """Whether what a fact says is so at these sizes."""
    try:
        return COMPARE[fact.name](fact.left.at(sizes), fact.right.at(sizes)) is fact.holds
    except ArithmeticError:  # there is no such size
        return False


def told_already(sample):
    """The facts of a trace that name nothing but sizes of arguments."""
    facts = [e for e in sample.asked.events if isinstance(e, Fact)]
    return [f for f in facts if (f.left.names | f.right.names) <= sample.sizes.keys()]


# -- as text ---------------------------------------------------------------------------------------


def shown_sizes(sizes):
    return ", ".join(f"{name} = {n}" for name, n in sizes.items())


def shown_fact(fact):
    """`n % 4 == 0`, `n >= 2`, `n != m`."""
    left, right = fact.left, fact.right
    sign = SPELLED.get((fact.name, fact.holds), fact.name)
    if isinstance(left.simplified(), int):
        left, right, sign = right, left, TURNED[sign]
    return f"{shown_dim(left)} {sign} {shown_dim(right)}"


def shown_dim(dim):
    """A Dim as a reader would write it: a remainder as `n % 4`."""
    for monomial, c in dim.terms.items():
        if len(monomial) == 1 and isinstance(q := monomial[0], Quotient) and c == -q.divisor:
            rest = dim + Dim({monomial: q.divisor}) - q.of
            inner = str(q.of) if str(q.of).isidentifier() else f"({q.of})"
            return f"{inner} % {q.divisor}" + (f" + {rest}" if rest.terms else "")
    return str(dim)
