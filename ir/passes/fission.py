"""Products taken out of loops: those of all trips are one product before the loop, or one behind it.

Loop fission, of R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures (2001), section 5.2, for the two
places where it makes a product of matrices of many with vectors. Gradients of recurrences are made of both.
"""

from __future__ import annotations

import math

from ..core import Builder, Func, Lit, Value, has
from ..op import Cost
from ..ops.control import groups, loop
from ..ops.elementwise import add, div, mul, sub
from ..ops.linalg import dot_general
from ..ops.shape import broadcast, element_at, reverse, transpose, with_element
from ..pattern import made_by
from ..rewrite import is_live, readers
from ..setting import OF_ALL_SIZES
from ..trips import Trips, is_turned, known_counters, reshaped

# multiplications of all trips from which products that are added up are one; measured by benchmarks/gates.py
OUTER = 1 << 13
# elements of an invariant from which its products with parts are one; measured by benchmarks/gates.py
MATRIX = 1 << 10
FEW = 16  # bound: elements of a product that is as well added in the loop
# bound: what is kept for all trips at once may be so many times as large as the largest array that the loop has anyway
ROOM = 4


def fission(func: Func, exact: bool = False) -> Func:
    """No loop adds up products of what each trip computes, such as outer products, where one product of what all trips
    computed, kept in rows, is the sum; none computes products of an invariant matrix with a part that the counter
    picks, where one product before the loop gives them all. Not where `exact`, since sums are added in another order,
    and not where sizes may change, since it is a matter of them whether it pays. Regions too.
    """
    left = exact or OF_ALL_SIZES.get() or not has(func, lambda eqn: eqn.op is loop)
    return func if left else _fission(func, {})


def _fission(func, done):
    if func not in done:
        build, reads, env = Builder.again(func), readers(func), {}
        for eqn in func.eqns:
            attrs = eqn.mapped(lambda region: _fission(region, done))
            if eqn.op is loop and is_live(eqn, reads):
                operands = [env.get(x, x) for x in eqn.operands]
                found = Fission(attrs, operands, [reads[r] > 0 for r in eqn.results])
                if found.pays():
                    build.source = eqn.source
                    hints = [r.hint for r in eqn.results]
                    env.update(zip(eqn.results, found.apply(build, hints), strict=True))
                    continue
            build.replay(eqn, env, attrs=attrs)
        done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


class Fission:
    """What of a loop of these attributes and operands may be one product each.

    sums: {place of a carried value: {equation of a trip: the OuterProduct that it adds to the value or takes away}};
    before: the products of an invariant; kept: the factors that are kept in rows.
    """

    def __init__(self, attrs, operands, wanted):
        self.attrs, self.body, self.trips = attrs, attrs["body"], attrs["trips"]
        self.sums, self.before, self.kept = {}, [], set()
        if attrs["test"] is not None or (self.trips or 0) < 2 or not any(map(multiplies, self.body.eqns)):
            return
        self.invariants, self.state = groups(operands, **attrs)[1:]
        self.first = 1 + len(self.invariants)
        self.reads = readers(self.body)
        self.room = ROOM * max(x.type.size for x in operands)
        self.find_trips()
        for k, w in enumerate(wanted):
            if w and (adding := self.adding(k)):
                self.sums[k] = adding

    def pays(self):
        return bool(self.sums or self.before)

    def find_trips(self):
        """Compute for all trips, in a builder of its own, what costs little of what the counter picks, and the products
        with it."""
        body, known = self.body, known_counters(self.body, self.trips)
        self.outside = Builder("all_trips")
        self.inputs = [x for x in self.invariants if not isinstance(x, Lit)]
        given = {
            p: x if isinstance(x, Lit) else self.outside.param(x.type, p.hint)
            for p, x in zip(body.params[1 : self.first], self.invariants)
        }
        self.given = dict(zip(body.params[1 : self.first], self.invariants))
        with self.outside:
            self.all = Trips(self.outside, body, given, known, self.trips, self.room, {})
            for eqn in body.eqns:
                if eqn.op is dot_general:
                    z = eqn.results[0]
                    if self.is_before(eqn):
                        self.all.run(eqn)
                        if self.all.get(z) is not None:
                            self.before.append(z)
                            self.room -= self.trips * z.type.size
                elif eqn.op.cost <= Cost.DIVISION:
                    self.all.run(eqn)

    def is_before(self, eqn):
        """Whether a product is of a large invariant, read again in every trip, and of a part that the counter picks."""
        found = [self.all.get(x) for x in eqn.operands]
        if None in found or [f for _, f in found].count(True) != 1:
            return False
        part, fixed = eqn.operands if found[0][1] else eqn.operands[::-1]
        least = max(MATRIX, part.type.size + eqn.results[0].type.size)
        fits = self.trips * eqn.results[0].type.size <= self.room
        return fits and fixed.type.kind in "fc" and fixed.type.size >= least

    def adding(self, k):
        """{equation of a trip: the OuterProduct that it adds to the carried value at k, or takes away}, if nothing else
        is done with that."""
        found = {}
        for eqn, term in self.terms(k):
            product = OuterProduct.of(term, self.reads, self.given)
            if product is not None and product.pays(self.trips):
                kept = {factor for factor in product.operands if self.known(factor) is None} | self.kept
                if self.trips * sum(x.type.size for x in kept) <= self.room:
                    self.kept, found[eqn] = kept, product
        return found

    def terms(self, k):
        """(equation, value that it adds or takes away) of each that makes the carried value at k what it is after a
        trip; none if anything else is done with it."""
        line, found = {self.body.params[self.first + k]}, []
        for eqn in self.body.eqns:
            if eqn.op in (add, sub) and (eqn.operands[0] in line or eqn.op is add and eqn.operands[1] in line):
                found += [(eqn, x) for x in eqn.operands if x not in line]
                line.update(eqn.results)
        alone = self.body.results[k] in line and all(self.reads[y] == 1 for y in line)
        return found if alone else []

    def known(self, x):
        """A factor of a product for all trips, where it is known without the loop; else None."""
        found = self.all.get(x)
        return found[0] if found is not None and found[1] else None

    # -- the loop in its new form ------------------------------------------------------------------
    def apply(self, build, hints):
        """Append the loop, and the products before and behind it, to `build` -> the results."""
        adding = {eqn: product for found in self.sums.values() for eqn, product in found.items()}
        factors = dict.fromkeys(factor for product in adding.values() for factor in product.operands)
        known = {factor: self.known(factor) for factor in factors}
        known = {factor: x for factor, x in known.items() if x is not None} | {r: self.known(r) for r in self.before}
        made = self.outside.finish(tuple(known.values()))
        with build:
            rows = dict(zip(known, build.inline(made, self.inputs), strict=True))
            kept = [factor for factor in factors if factor not in rows]
            # where what is known is read from the end, so is what is kept, and neither is turned around
            backwards = any(map(is_turned, rows.values()))
            out = self.emit_loop(build, adding, rows, kept, backwards, hints)
            for factor, stack in zip(kept, out[len(self.state) :], strict=True):
                rows[factor] = reverse(stack, axes=(0,)) if backwards else stack
            out = [*out[: len(self.state)]]
            for k, found in self.sums.items():
                for eqn, product in found.items():
                    build.source = product.eqns[-1].source
                    out[k] = eqn.op(out[k], product.of_all_trips(*(rows[factor] for factor in product.operands)))
        return out

    def emit_loop(self, build, adding, rows, kept, backwards, hints):
        """The loop without the products, which keeps the factors of `kept` in rows -> its results, then those rows."""
        body, dropped = self.body, {eqn for product in adding.values() for eqn in product.eqns}
        before = {r: rows[r] for r in self.before}
        inner = Builder(body.name)
        env = {p: inner.param(p.type, p.hint) for p in body.params[: self.first]}
        picked = {r: inner.param(x.type, r.hint) for r, x in before.items()}
        env |= {p: inner.param(p.type, p.hint) for p in body.params[self.first :]}
        stacks = [x.type.like((self.trips, *x.type.shape)) for x in kept]
        with inner:
            stores = [inner.param(t, x.hint) for t, x in zip(stacks, kept)]
            for eqn in body.eqns:
                if eqn in adding:
                    (rest,) = (x for x in eqn.operands if x is not adding[eqn].term)
                    env[eqn.results[0]] = env.get(rest, rest)
                elif eqn.results and eqn.results[0] in picked:
                    inner.source = eqn.source
                    env[eqn.results[0]] = element_at(picked[eqn.results[0]], env[body.params[0]])
                elif eqn not in dropped:
                    inner.replay(eqn, env)
            inner.source = build.source
            place = sub(self.trips - 1, env[body.params[0]]) if backwards else env[body.params[0]]
            stores = [with_element(s, env.get(x, x), place) for s, x in zip(stores, kept)]
            new = inner.finish((*(env.get(r, r) for r in body.results), *stores))
        attrs = self.attrs | {"body": new, "carried": len(self.state) + len(kept)}
        given = (*self.invariants, *before.values(), *self.state, *(Lit(0, t) for t in stacks))
        return build.emit(loop, given, attrs, None, (*hints, *(x.hint for x in kept)))


class OuterProduct:
    """A product that a trip adds to a carried value, of two factors.

    term: what is added; eqns: the equations that compute it of the factors, which nothing else reads; shapes, contract,
    batch: of the factors, and as in `dot_general`; axes: of the term, in the order in which the product has them;
    scales: (`mul` or `div`, a number that is the same in all trips) by which the product is then multiplied or divided,
    the last first. It is the product that is scaled, not a factor, which may be too large for that, or too small.
    """

    def __init__(self, term, operands, shapes, contract, batch, axes, eqns, scales):
        self.term, self.operands, self.shapes, self.eqns = term, operands, shapes, eqns
        self.contract, self.batch, self.axes, self.scales = contract, batch, axes, scales

    @classmethod
    def of(cls, term, reads, given):
        """That which a value of a body is, None where it is none; reads: how often each value is read; given: {the
        parameter that an invariant is: the invariant}."""
        x, scales, eqns = without_numbers(term, reads, given)
        if not is_alone(x, reads):
            return None
        eqns.append(x.eqn)
        if x.eqn.op is mul:
            return cls.of_broadcast(term, x.eqn, scales, eqns)
        if x.eqn.op is not dot_general:
            return None
        shapes, axes = [y.type.shape for y in x.eqn.operands], [*range(term.type.ndim)]
        return cls(term, x.eqn.operands, shapes, x.eqn.attrs["contract"], x.eqn.attrs["batch"], axes, eqns, scales)

    @classmethod
    def of_broadcast(cls, term, eqn, scales, eqns):
        """That which two factors spread over axes of their own are when they are multiplied."""
        found = [made_by(x, broadcast) for x in eqn.operands]
        if None in found:
            return None
        operands, axes = [x for (x,) in found], []
        for x, y in zip(operands, eqn.operands):
            axes.append([d for d, n in zip(y.eqn.attrs["dims"], x.type.shape) if n > 1])
        wide = [d for d, n in enumerate(term.type.shape) if n > 1]
        if sorted(axes[0] + axes[1]) != wide:
            return None
        shapes = [tuple(term.type.shape[d] for d in own) for own in axes]
        return cls(term, tuple(operands), shapes, ((), ()), ((), ()), axes[0] + axes[1], eqns, scales)

    def pays(self, trips):
        """Whether it is more than what it is made of, and that of all trips large."""
        made, rows = self.term.type.size, sum(map(math.prod, self.shapes))
        contracted = math.prod(self.shapes[0][a] for a in self.contract[0])
        return made >= max(rows, FEW) and trips * made * contracted >= OUTER

    def of_all_trips(self, x, y):
        """The sum over all trips, of the factors of all trips: these are one more axis that is contracted."""
        if is_turned(x) and is_turned(y):
            (x,), (y,) = x.eqn.operands, y.eqn.operands
        x, y = (reshaped(x, (x.type.shape[0], *shape)) for x, shape in zip((x, y), self.shapes))
        contract, batch = ([tuple(a + 1 for a in axes) for axes in pair] for pair in (self.contract, self.batch))
        z = dot_general(x, y, contract=tuple((0, *axes) for axes in contract), batch=tuple(batch))
        order = [self.axes.index(d) for d in sorted(self.axes)]
        if order != sorted(order):
            z = transpose(z, perm=tuple(order))
        z = reshaped(z, self.term.type.shape)
        for op, number in reversed(self.scales):
            literal = isinstance(number, Lit)
            z = op(z, Lit(number.value, z.type) if literal else broadcast(number, shape=z.type.shape, dims=()))
        return z


def multiplies(eqn):
    """Whether an equation may be such a product."""
    return eqn.op is dot_general or eqn.op is mul and all(made_by(x, broadcast) for x in eqn.operands)


def is_alone(x, reads):
    """Whether an array of floats is made in the body, and read once. Sums of small floats are rounded after each term,
    and soon too large."""
    made = isinstance(x, Value) and x.eqn is not None and reads[x] == 1
    return made and x.type.kind in "fc" and not x.type.small and x.type.dtype.itemsize >= 4


def without_numbers(x, reads, given):
    """-> (what x is before it is multiplied or divided by numbers that are the same in all trips, these as (`mul` or
    `div`, number), the equations that do so)."""
    scales, eqns = [], []
    while is_alone(x, reads) and x.eqn.op in (mul, div):
        y, number = x.eqn.operands
        if fixed_number(number, given) is None and x.eqn.op is mul:
            y, number = number, y
        if fixed_number(number, given) is None:
            break
        scales.append((x.eqn.op, fixed_number(number, given)))
        eqns.append(x.eqn)
        x = y
    return x, scales, eqns


def fixed_number(x, given):
    """The number that x has at every place in all trips, a value around the loop or a literal; None where it is not
    known to have one."""
    found = made_by(x, broadcast)
    number = found[0] if found else x
    if isinstance(number, Lit):
        return number
    return given.get(number) if found and not number.type.shape else None
