"""Loops of two counters in which a cell needs some of its neighbours, made waves: cells of which none needs another.

In `for i: for j: a[i, j] = f(a[i - 1, j + 1], a[i, j - 1], ...)` all cells with one j + d * i may be computed at once,
if every cell that one needs, or that needs what it overwrites, lies in another wave on the right side: d * di + dj
keeps the sign of the order in which the loops meet the two. The loop becomes `for s: for i, at once: j = s - d * i; if
it is a trip of the inner loop: the body`, a program of the IR that gives the same where the trips are run in order.
[Lamport, The parallel execution of DO loops, CACM 17 (1974)]

Row statements before the inner loop are taken into it first (`rows.py`).
"""

from ...ir.affine import Affine, affine_constant, plus
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, groups, loop, region
from ..native.independent import Together
from ..native.interrupts import trips
from .rows import Cells

SLOPES = range(5)  # bound: trips that a row stays behind the one before
COND, GE, LT, AND, SUB = (OPS[name] for name in ("cond", "ge", "lt", "and", "sub"))


def in_waves(types, attrs):
    """(attributes of a loop that does the same, the bodies whose trips may be run at once), or None where there are no
    waves in it."""
    waves = Waves()
    build = Builder("waves")
    with build:
        params = [build.param(t) for t in types]
        waves.loop(build, params, attrs)
    made = build.finish(())
    eqn = made.eqns[-1]
    if not waves.sure or eqn.operands != tuple(params):
        return None
    return eqn.attrs, frozenset(waves.sure)


class Waves:
    def __init__(self):
        self.known, self.sure = Affine(), set()

    def loop(self, build, operands, attrs):
        """Emit a loop on operands, in waves where it or one within it has any -> its results."""
        limit, invariants, state = groups(operands, **attrs)
        bound = limit[0] if limit else None if attrs["trips"] is None else Lit(attrs["trips"], COUNTER)
        body = attrs["body"]
        self.known.counter(body.params[0], bound)
        for p, x in zip(body.params[1:], invariants):
            self.known.same(p, x)
        if attrs["test"] is None:
            found = self.nest(build, attrs, operands)
            if found is not None:
                return found
        return build.emit(loop, operands, {**attrs, "body": self.within(body)})

    def within(self, func):
        """A function of which the loops are in waves."""
        if not any(eqn.op is loop for eqn in func.eqns):
            return func
        build, before = Builder(func.name), len(self.sure)
        with build:
            params = [build.param(p.type, p.hint) for p in func.params]
            env = dict(zip(func.params, params))
            for p, q in zip(func.params, params):
                self.known.same(q, p)
            for eqn in func.eqns:
                if eqn.op is loop:
                    out = self.loop(build, [env.get(x, x) for x in eqn.operands], eqn.attrs)
                    env.update(zip(eqn.results, out))
                else:
                    build.replay(eqn, env)
        return build.finish([env.get(r, r) for r in func.results]) if len(self.sure) > before else func

    def nest(self, build, attrs, operands):
        """The results of a loop whose body is rows and one loop, emitted in waves; None where that is not so."""
        count, (limit, invariants, state) = trips(attrs), groups(operands, **attrs)
        if count is None or count < 2 or limit or any(not x.type.shape for x in state):
            return None
        try:
            cells = Cells(self.known, attrs["body"], attrs["carried"])
            slope = self.slope(cells)
        except Together:
            return None
        if slope is None:
            return None
        types = [x.type for x in (*invariants, *state)]
        lane = region(
            lambda i, s, *xs: self.lane(cells, slope, i, s, xs, len(state)), [COUNTER, COUNTER, *types], "lane"
        )
        self.sure.add(lane)
        given = {"test": None, "carried": len(state), "bound": None}

        def wave(s, *xs):
            return Builder.current().emit(loop, (s, *xs), {**given, "trips": count, "body": lane})

        waves = region(wave, [COUNTER, *types], "wave")
        return build.emit(
            loop, operands, {**attrs, "body": waves, "trips": cells.count + slope * (count - 1), "bound": None}
        )

    def lane(self, cells, slope, i, s, xs, carried):
        """The cell of row i in wave s, if there is one -> the arrays."""
        build = Builder.current()
        j = SUB(s, plus_times(i, slope))
        limit = cells.limit(i, xs[: len(xs) - carried])
        inside = AND(GE(j, Lit(0, COUNTER)), LT(j, limit))
        types = [COUNTER, COUNTER, *(x.type for x in xs)]
        split = lambda xs: (xs[: len(xs) - carried], xs[len(xs) - carried :])
        yes = region(lambda i, j, *xs: cells.cell(i, j, *split(xs)), types, "cell")
        no = region(lambda i, j, *xs: tuple(split(xs)[1]), types, "none")
        return tuple(build.emit(COND, (inside, i, j, *xs), {"branches": (no, yes)}))

    def slope(self, cells):
        """By how many trips a row is to stay behind the one before; None if no number will do."""
        i, j = cells.counters
        pairs = []
        for found in cells.accesses.values():
            stores = [forms for forms, stored in found if stored]
            if not stores:
                continue
            turn = trip_of_cell(stores[0], i, j)
            for store in stores:
                other = any(name in cells.local and name not in (i, j) for terms, _ in store for name in terms)
                if other or trip_of_cell(store, i, j) != turn:  # where another trip stores would not be known
                    raise Together
                for forms, _ in found:
                    apart = [plus(a, b, -1) for a, b in zip(forms, store)]
                    pairs.append([combined(apart, row) for row in turn])
        return next((d for d in SLOPES if all(self.ordered(di, dj, d) for di, dj in pairs)), None)

    def ordered(self, di, dj, slope):
        """Whether waves keep two accesses in order: one is in the trip (di, dj) after, or before, the other."""
        low, high = self.known.between(di)
        if low == high == 0:
            return True  # one row is computed in order
        first, last = self.known.between(plus(dj, di, slope))
        return low > 0 and first > 0 or high < 0 and last < 0


def plus_times(i, slope):
    return i if slope == 1 else OPS["mul"](i, Lit(slope, COUNTER))


def combined(forms, row):
    out = affine_constant(0)
    for form, n in zip(forms, row):
        out = plus(out, form, n)
    return out


def trip_of_cell(forms, i, j):
    """The matrix that takes a cell of a plane to its trip: ((a, b), (c, d)); Together where there is none of whole
    numbers."""
    if len(forms) != 2:
        raise Together
    (a, b), (c, d) = ([terms.get(name, 0) for name in (i, j)] for terms, _ in forms)
    determinant = a * d - b * c
    if determinant not in (1, -1):
        raise Together
    return (d * determinant, -b * determinant), (-c * determinant, a * determinant)
