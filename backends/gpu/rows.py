"""A loop whose body is statements on rows and then one loop: what a trip of both counters does, cell by cell.

`a[i, 1:-1] += a[i - 1, 1:-1]` before `for j: ...` is taken into the loop over j: element j is stored just before trip
j. That is the same where no trip before j stores what the statement reads or stores at j, or reads what it stores
there.
"""

from ...ir.affine import affine_constant, plus
from ...ir.core import Builder, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, groups, loop
from ...ir.types import Tensor
from ..native.independent import PART, STORE, Accesses, Together
from ..native.interrupts import trips

RESHAPE, BROADCAST, IOTA, CAST, ADD = (OPS[name] for name in ("reshape", "broadcast", "iota", "cast", "add"))


class Cells:
    """counters: the two, as values; count: the most trips of the inner loop; accesses: {position of a carried array:
    [(affine forms of the indices, whether it is a store)]}; local: values that may differ from trip to trip.

    known: `ir.affine.Affine`, which has been told of the outer loop. Together where the body is something else, or its
    order matters.
    """

    def __init__(self, known, body, carried):
        self.known, self.body, self.carried = known, body, carried
        self.state = body.params[len(body.params) - carried :]
        inner = [eqn for eqn in body.eqns if eqn.op is loop]
        if len(inner) != 1 or any(eqn.regions() for eqn in body.eqns if eqn.op is not loop):
            raise Together
        (self.inner,) = inner
        attrs = self.inner.attrs
        limit, self.invariants, entering = groups(self.inner.operands, **attrs)
        self.count = trips(attrs)
        if attrs["test"] is not None or self.count is None or attrs["carried"] != carried:
            raise Together
        self.bound = limit[0] if limit else Lit(attrs["trips"], COUNTER)
        self.core, self.j = attrs["body"], attrs["body"].params[0]
        self.counters = body.params[0], self.j
        self.read_rows(entering)
        self.accesses = {k: [] for k in range(carried)}
        self.collect()
        self.check_rows()

    # -- what there is -----------------------------------------------------------------------------
    def read_rows(self, entering):
        """The row statements, in order, and which array each of the inner loop's states is."""
        version = {p: (k, 0) for k, p in enumerate(self.state)}  # value -> (array, stores so far)
        self.rows, self.numbers, known = [], [], set(self.body.params) - set(self.state)
        for eqn in self.body.eqns:
            if eqn is self.inner:
                continue
            if eqn.op is STORE and eqn.operands[0] in version:
                k, n = version[eqn.operands[0]]
                version[eqn.results[0]] = k, n + 1
                self.rows.append((k, n, eqn))
            elif all(isinstance(x, Lit) or x in known for x in eqn.operands):
                self.numbers.append(eqn)
                known.update(eqn.results)
            elif any(r.type.size == 1 for r in eqn.results):
                raise Together  # of what is stored into meanwhile
        self.version = version
        stored = {k: sum(j == k for j, _, _ in self.rows) for k in range(self.carried)}
        self.order = []
        for x in entering:
            if x not in version or version[x][1] != stored[version[x][0]]:
                raise Together
            self.order.append(version[x][0])
        if any(not isinstance(x, Lit) and x not in known for x in (self.bound, *self.invariants)):
            raise Together
        out = dict(zip(self.inner.results, self.order))
        if [out.get(r) for r in self.body.results] != list(range(self.carried)):
            raise Together

    def collect(self):
        """Fill `accesses`; the rows' are in `own`, statement by statement."""
        known, core = self.known, self.core
        known.counter(self.j, self.bound)
        for p, x in zip(core.params[1:], self.invariants):
            known.same(p, x)
        if any(not p.type.shape for p in self.state) or any(x in self.version for x in self.invariants):
            raise Together
        found = {k: [] for k in range(self.carried)}
        states = core.params[len(core.params) - self.carried :]
        self.local = {*self.body.params, *core.params, *(r for eqn in self.body.eqns for r in eqn.results)}
        Accesses(known, found, self.local).function(core, dict(zip(states, self.order)), self.order)
        self.last = []
        for k, accesses in found.items():
            for starts, sizes, shape, stored in accesses:
                if any(n != 1 for n in sizes):
                    raise Together
                self.last.append((k, self.within(starts, shape, affine_constant(0), 0), stored))
        self.own = []
        for k, _, eqn in self.rows:
            self.own.append(self.row_accesses(k, eqn))
        for k, forms, stored in (*self.last, *(access for own in self.own for access in own)):
            self.accesses[k].append((forms, stored))

    def row_accesses(self, k, eqn):
        _, update, *starts = eqn.operands
        found = [(k, self.along(starts, update.type.shape, eqn.results[0].type.shape), True)]
        todo, seen = [update], set()
        while todo:
            x = todo.pop()
            if isinstance(x, Lit) or x in seen or x.type.size == 1:
                continue
            seen.add(x)
            if x.eqn is None:
                raise Together
            if x.eqn.op is PART:
                source, *at = x.eqn.operands
                if source in self.version:
                    there = self.version[source]
                    if there != (there[0], sum(j == there[0] for j, _, e in self.before(eqn))):
                        raise Together
                    found.append((there[0], self.along(at, x.type.shape, source.type.shape), False))
            else:
                todo += x.eqn.operands
        return found

    def before(self, eqn):
        """The row statements before one."""
        return self.rows[: next(n for n, (_, _, e) in enumerate(self.rows) if e is eqn)]

    def along(self, starts, sizes, shape):
        """The forms of the indices of element j of a row of the inner loop's length."""
        axes = [a for a, n in enumerate(sizes) if n != 1]
        if len(axes) != 1 or sizes[axes[0]] != self.count or not isinstance(self.bound, Lit):
            raise Together
        return self.within(starts, shape, self.known.form(self.j), axes[0])

    def within(self, starts, shape, more, axis):
        """The forms of indices, which lie within the array: others would be clamped."""
        forms = []
        for a, (x, n) in enumerate(zip(starts, shape)):
            low, high = self.known.interval(x)
            form = plus(self.known.form(x), more) if a == axis else self.known.form(x)
            if low is None or high is None or low < 0 or self.known.between(form)[1] >= n:
                raise Together
            forms.append(form)
        return forms

    def check_rows(self):
        """Together where a row statement is not the same when its element j comes just before trip j."""
        for n, own in enumerate(self.own):
            later = [access for other in self.own[n + 1 :] for access in other] + self.last
            stores = [access for access in own if access[2]]
            for mine, others in ((own, later), ([a for a in own if not a[2]], stores)):
                for k, forms, stored in mine:
                    for other, there, stores_too in others:
                        if k == other and (stored or stores_too) and self.meets_before(forms, there):
                            raise Together

    def meets_before(self, forms, there):
        """Whether the cell of a row's element j may be met by a trip before j."""
        for a, b in zip(forms, there):
            n, m = a[0].get(self.j, 0), b[0].get(self.j, 0)
            low, high = self.known.between(plus(plus(b, ({self.j: m}, 0), -1), plus(a, ({self.j: n}, 0), -1), -1))
            if n == m == 0 and (low > 0 or high < 0):
                return False
            if n == m == 1 and high <= 0 or n == m == -1 and low >= 0:
                return False
        return True

    # -- what is made of it ------------------------------------------------------------------------
    def outer(self, i, invariants):
        """{value: what stands for it} of the numbers of the outer body, emitted for trip i."""
        env = dict(zip(self.body.params, (i, *invariants)))
        for eqn in self.numbers:
            Builder.current().replay(eqn, env)
        return env

    def limit(self, i, invariants):
        """How many trips the inner loop makes in trip i."""
        return self.outer(i, invariants).get(self.bound, self.bound)

    def cell(self, i, j, invariants, arrays):
        """Trip (i, j) -> the arrays."""
        env, arrays = self.outer(i, invariants), list(arrays)
        store = Builder.current().emit
        for k, _, eqn in self.rows:
            _, update, *starts = eqn.operands
            at = [ADD(env.get(x, x), j) if n != 1 else env.get(x, x) for x, n in zip(starts, update.type.shape)]
            value = RESHAPE(self.element(update, j, env, arrays), shape=(1,) * update.type.ndim)
            arrays[k] = store(STORE, (arrays[k], value, *at), {})
        given = [env.get(x, x) for x in self.invariants]
        out = Builder.current().inline(self.core, [j, *given, *(arrays[k] for k in self.order)])
        return tuple(out[self.order.index(k)] for k in range(self.carried))

    def element(self, x, j, env, arrays):
        """Element j of a row, as a number."""
        number = Tensor((), x.type.dtype)
        if isinstance(x, Lit):
            return Lit(x.value, number)
        if x.type.size == 1 and x in env:
            return RESHAPE(env[x], shape=()) if x.type.shape else env[x]
        eqn = x.eqn if isinstance(x, Value) else None
        if eqn is None:
            raise Together
        again = lambda y: self.element(y, j, env, arrays)
        if eqn.op is PART:
            source, *starts = eqn.operands
            there = arrays[self.version[source][0]] if source in self.version else env.get(source, source)
            at = [ADD(env.get(y, y), j) if n != 1 else env.get(y, y) for y, n in zip(starts, x.type.shape)]
            found = Builder.current().emit(PART, (there, *at), {"sizes": (1,) * len(at)})
            return RESHAPE(found, shape=())
        if eqn.op is IOTA:
            return CAST(j, dtype=x.type.dtype)
        if eqn.op in (RESHAPE, BROADCAST) and eqn.operands[0].type.size in (1, x.type.size):
            return again(eqn.operands[0])
        if "elementwise" in eqn.op.traits:
            return Builder.current().emit(eqn.op, [again(y) for y in eqn.operands], eqn.attrs)
        raise Together
