"""Loops whose trips can be shared out: trip i touches row i + c of arrays, and no other row of those that it writes.

`split_of` looks for the rows: of each array that a loop reads or carries, whether every access takes one row along one
axis, at the counter and a constant. What is carried may be such an array, read and written in the same row alone, or a
number to which each trip adds. `SharedLoop.body` is the body for a part of the rows: it counts from the first row of
the part, arrays begin where the part does, and the user's counter is computed from that.
"""

from .affine import Affine
from .core import Builder, Lit, Value
from .cost import cost
from .ops.control import COUNTER, call, cond, loop
from .ops.elementwise import add, maximum, minimum, select, sub
from .ops.flow import apart
from .ops.reduction import reduce_sum
from .ops.shape import dynamic_slice, dynamic_update_slice

PLAIN_CALLS = (call, apart)
LEAST = 2048  # bound: operations of a loop from which it is shared out by itself in each trip of one that is not


class Stuck(Exception):
    """Why the trips of a loop cannot be shared out."""


class SharedLoop:
    """.axes: {position of an operand that is an array of rows: the axis of these}; .halo: {the same: (rows before, rows
    behind) that a part needs beside its own}; .rows: of how many the parts are; .first: the first row that is
    taken; .step: 1, or -1 where the rows are taken from the last on; .sums: positions of carried numbers that are sums.
    Positions are of invariants and then what is carried.
    """

    def __init__(self, attrs):
        if attrs["test"] is not None or attrs["trips"] is None:
            raise Stuck("how often it runs is known only when it does")
        if any(e.effect for e in attrs["body"].eqns):
            raise Stuck("it acts on the world")
        self.source, params = attrs["body"], attrs["body"].params[1:]
        self.trips, self.count = attrs["trips"], len(params) - attrs["carried"]
        self.known, self.offsets, self.wholes = Affine(), {}, {}
        self.known.counter(self.source.params[0], Lit(self.trips, COUNTER))
        self.counter = self.source.params[0]
        self.roots = {p: n for n, p in enumerate(params)}
        self.axis_of, self.constants, self.stored = {}, {}, {}
        self.walk(self.source)
        self.settle(params)

    # -- what is touched ---------------------------------------------------------------------------
    def walk(self, func):
        """Note every access of an array of the loop's within a function; `self.roots` says which values are one."""
        for eqn in func.eqns:
            if eqn.op is dynamic_slice and eqn.operands[0] in self.roots:
                self.access(eqn, eqn.operands[1:], eqn.attrs["sizes"], "constants")
            elif eqn.op is dynamic_update_slice and eqn.operands[0] in self.roots:
                self.access(eqn, eqn.operands[2:], eqn.operands[1].type.shape, "stored")
                self.roots[eqn.results[0]] = self.roots[eqn.operands[0]]
                self.touch_whole(eqn.operands[1:2])
            elif eqn.regions():
                self.enter(eqn)
            else:
                self.touch_whole(eqn.operands)

    def touch_whole(self, values):
        for x in values:
            if x in self.roots and x.type.shape:
                self.wholes[self.roots[x]] = True

    def enter(self, eqn):
        """The regions of an equation, whose parameters stand for its operands."""
        attrs, given = eqn.attrs, list(eqn.operands)
        if eqn.op is loop:
            head = int(attrs["trips"] is None and attrs["test"] is None)
            limit, given = given[:head], given[head:]
            for region in (attrs["body"], attrs["test"]):
                if region is not None:
                    most = attrs["trips"] if attrs["trips"] is not None else attrs["bound"]
                    bound = limit[0] if limit else None if most is None else Lit(most, COUNTER)
                    self.bind(region.params[1:], given)
                    self.known.counter(region.params[0], bound)
                    self.walk(region)
            first = len(given) - attrs["carried"]
            self.given_back(eqn, attrs["body"].results, given[first:])
        elif eqn.op is cond or eqn.op in PLAIN_CALLS:
            given = given[1:] if eqn.op is cond else given
            for region in eqn.regions():
                self.bind(region.params, given)
                self.walk(region)
                self.given_back(eqn, region.results, None)
        else:
            self.touch_whole(given)

    def bind(self, params, given):
        for p, x in zip(params, given, strict=True):
            if x in self.roots:
                self.roots[p] = self.roots[x]
            self.known.same(p, x)

    def given_back(self, eqn, results, given):
        """Results of a region that are an array of the loop's are that behind it too."""
        for n, (r, inner) in enumerate(zip(eqn.results, results, strict=True)):
            root = self.roots.get(inner)
            if given is not None and self.roots.get(given[n]) != root:
                self.touch_whole([given[n], inner])
            elif self.roots.get(r, root) != root:
                self.touch_whole([r, inner])
            elif root is not None:
                self.roots[r] = root

    def access(self, eqn, starts, sizes, kind):
        root, shape = self.roots[eqn.operands[0]], eqn.operands[0].type.shape
        rows = {}
        for axis, (start, k, n) in enumerate(zip(starts, sizes, shape, strict=True)):
            terms, c = self.known.form(start) if k == 1 else (None, 0)
            step = terms.get(self.counter) if terms and len(terms) == 1 else None
            c -= self.trips - 1 if step == -1 else 0  # the row of the last trip then
            if step in (1, -1) and 0 <= c and c + self.trips <= n:
                rows[axis] = step, c
        before = self.axis_of.get(root)
        self.axis_of[root] = {*rows} if before is None else before & {*rows}
        self.offsets.setdefault(eqn, {}).setdefault(root, rows)
        if self.offsets[eqn][root] != rows:
            self.axis_of[root] = set()
        getattr(self, kind).setdefault(root, []).append(rows)

    # -- what follows ------------------------------------------------------------------------------
    def settle(self, params):
        """Choose the axes, the rows and the halos; Stuck where the trips depend on each other."""
        self.axes, self.halo, self.sums, self.rows, self.step, self.first = {}, {}, set(), None, 1, 0
        for n in range(self.count, len(params)):
            self.carried(n, params[n])
        for n in range(self.count):
            if params[n].type.shape and n not in self.wholes and self.axis_of.get(n):
                self.read(n, params[n])
        if self.rows is None:
            raise Stuck("no array is taken row by row along its trips")

    def carried(self, n, p):
        result = self.source.results[n - self.count]
        if not p.type.shape and added(self.source, p, result) and p.type.kind in "iuf":
            self.sums.add(n)
            return
        name = said_name(p)
        if self.roots.get(result) != n or n in self.wholes or not self.axis_of.get(n):
            raise Stuck(f"a trip needs what another one leaves in {name}")
        for axis in sorted(self.axis_of[n]):
            at = {rows[axis] for rows in (*self.constants.get(n, ()), *self.stored.get(n, ()))}
            if len(at) == 1:
                self.row_axis(n, axis, p.type.shape[axis], *at.pop(), name)
                return
        raise Stuck(f"a trip reads rows of {name} that another one writes")

    def row_axis(self, n, axis, rows, step, first, name):
        if self.rows is not None and (rows, step, first) != (self.rows, self.step, self.first):
            raise Stuck(f"rows of {name} are not those of another array that it writes")
        self.axes[n], self.halo[n] = axis, (0, 0)
        self.rows, self.step, self.first = rows, step, first

    def read(self, n, p):
        for axis in sorted(self.axis_of[n]):
            steps, at = ([rows[axis][k] for rows in self.constants[n]] for k in (0, 1))
            if self.rows is None:
                self.row_axis(n, axis, p.type.shape[axis], steps[0], min(at), p.hint)
            if p.type.shape[axis] == self.rows and {*steps} == {self.step}:
                self.axes[n] = axis
                self.halo[n] = max(self.first - min(at), 0), max(max(at) - self.first, 0)
                return

    # -- the part of one device --------------------------------------------------------------------
    def parts(self, n):
        """Rows of each of n equal parts, or None where there are none or the halo is wider than a part."""
        m = self.rows // n
        return m if self.rows % n == 0 and all(max(h) <= m for h in self.halo.values()) else None

    def local_types(self, m):
        """Types of the operands behind the limit, in a part of m rows."""
        out = []
        for n, p in enumerate(self.source.params[1:]):
            shape = list(p.type.shape)
            if n in self.axes:
                shape[self.axes[n]] = m + sum(self.halo[n])
            out.append(p.type.like(tuple(shape)))
        return out

    def body(self, m):
        """The body on a part of m rows: (trip, the first row of the part that it takes, what trip 0 is for the user,
        invariants, carried)."""
        build = Builder(self.source.name)
        with build:
            trip, shift, base = (build.param(COUNTER, hint) for hint in ("trip", "shift", "base"))
            params = [build.param(t, p.hint) for t, p in zip(self.local_types(m), self.source.params[1:], strict=True)]
            row = trip
            if self.trips != self.rows:  # it lies within the part, of which `Affine` is told so
                row = maximum(minimum(add(trip, shift), Lit(m - 1, COUNTER)), Lit(0, COUNTER))
            number = add(trip, base)  # the trips of a loop that counts down are taken upwards
            number = number if self.step == 1 else sub(Lit(self.trips - 1, COUNTER), number)
            env = dict(zip(self.source.params, (number, *params), strict=True))
            self.rebuilt(build, self.source, env, row)
        return build.finish([env.get(r, r) for r in self.source.results])

    def rebuilt(self, build, func, env, row):
        for eqn in func.eqns:
            given = [env.get(x, x) for x in eqn.operands]
            if eqn in self.offsets:
                ((root, rows),) = self.offsets[eqn].items()
                if root in self.axes:
                    axis = self.axes[root]
                    at = axis + len(given) - eqn.operands[0].type.ndim
                    given[at] = add(row, Lit(rows[axis][1] - self.first + self.halo[root][0], COUNTER))
                    out = build.emit(eqn.op, given, eqn.attrs, eqn.source, [r.hint for r in eqn.results])
                    env[eqn.results[0]] = out
                    continue
            if any(self.roots.get(x) in self.axes for x in eqn.operands if isinstance(x, Value)) and eqn.regions():
                self.region(build, eqn, given, env, row)
            else:
                build.replay(eqn, env)

    def region(self, build, eqn, given, env, row):
        """An equation that runs functions, of which each is told the row."""
        attrs, inner = eqn.attrs, eqn.op is loop
        lead = int(inner and attrs["trips"] is None and attrs["test"] is None) if inner else int(eqn.op is cond)
        types = [x.type for x in given[lead:]]

        def changed(func):
            made = Builder(func.name)
            with made:
                counter = [made.param(COUNTER, func.params[0].hint)] if inner else []
                own = made.param(COUNTER, "row")
                params = [made.param(t, p.hint) for t, p in zip(types, func.params[inner:], strict=True)]
                within = dict(zip(func.params, (*counter, *params), strict=True))
                self.rebuilt(made, func, within, own)
            return made.finish([within.get(r, r) for r in func.results])

        out = build.emit(
            eqn.op, [*given[:lead], row, *given[lead:]], eqn.mapped(changed), eqn.source, [r.hint for r in eqn.results]
        )
        env.update(zip(eqn.results, out, strict=True))


def added(func, start, result):
    """Whether a result is a number that comes in, plus what does not depend on it, which nothing else reads."""
    chain = {start}
    for eqn in func.eqns:
        used = [n for n, x in enumerate(eqn.operands) if x in chain]
        if not used:
            continue
        if eqn.op is add and len(used) == 1 or eqn.op is sub and used == [0] or eqn.op is select and used == [1, 2]:
            chain.add(eqn.results[0])
        elif eqn.op is select and len(used) == 1 and used != [0]:
            return False
        elif not through_regions(eqn, used, chain):
            return False
    return result in chain and not any(r in chain for r in func.results if r is not result)


def through_regions(eqn, used, chain):
    """The same of what runs functions: whether each adds to what it is given."""
    if eqn.op is loop and len(used) == 1 and eqn.attrs["test"] is None:
        body, carried = eqn.attrs["body"], eqn.attrs["carried"]
        place = used[0] - (len(eqn.operands) - carried)
        if place >= 0 and added(body, body.params[len(body.params) - carried + place], body.results[place]):
            chain.add(eqn.results[place])
            return True
    if (eqn.op is cond and used[0] > 0 or eqn.op in PLAIN_CALLS) and len(used) == 1:
        place = used[0] - int(eqn.op is cond)
        for n, r in enumerate(eqn.results):
            if all(added(f, f.params[place], f.results[n]) for f in eqn.regions()):
                chain.add(r)
                return True
    return False


def said_name(x):
    """What a value is called, for a text."""
    hint = x.hint[1].hint if isinstance(x.hint, tuple) else x.hint
    return hint if isinstance(hint, str) else "what it carries"


def split_of(attrs):
    """(SharedLoop, None) of the attributes of a loop, or (None, why its trips cannot be shared out)."""
    try:
        return SharedLoop(attrs), None
    except Stuck as why:
        return None, str(why)


def row_axis(split, sizes):
    """The longest mesh axis along which a loop has equal parts, of {axis: devices}."""
    fits = [name for name, n in sizes.items() if n > 1 and split.parts(n)]
    return max(fits, key=sizes.get, default=None)


def way_of(attrs, sizes, exact=False):
    """How a loop over arrays runs on a mesh of {axis: devices}: (its SharedLoop, the axis, None) where each device has
    the trips of its rows, (None, None, why not) else. exact: sums keep their order."""
    split, why = split_of(attrs)
    if split is None:
        return None, None, why
    if split.sums and exact:
        return None, None, "the order of its sums is to be kept"
    axis = row_axis(split, sizes)
    if axis is None:
        return None, None, f"its {split.rows} rows are not shared out evenly, or less than what a trip looks back"
    return split, axis, None


def in_parts_within(attrs, sizes, exact=False):
    """Whether a loop that runs whole has something in it that does not: work with arrays, which XLA takes apart, or a
    loop whose rows are shared out."""
    inner = [e for e in attrs["body"].eqns if e.op is loop]
    pays = lambda e: cost(e).flops >= LEAST and way_of(e.attrs, sizes, exact)[0] is not None
    return array_work(attrs["body"]) or any(pays(e) or in_parts_within(e.attrs, sizes, exact) for e in inner)


def array_work(func):
    """Whether a function computes with arrays as such, outside of loops that take them element by element: a product, a
    sum, arithmetic of rows."""
    for eqn in func.eqns:
        if eqn.op is loop or eqn.op is cond:
            if any(array_work(f) for f in eqn.regions()):
                return True
        elif eqn.op is reduce_sum or "elementwise" in eqn.op.traits or "reduction" in eqn.op.traits:
            if max((x.type.size for x in eqn.operands), default=0) > 1:
                return True
        elif eqn.op.name in ("dot_general", "sort", "gather", "scatter_add", "fft", "conv_general"):
            return True
    return False
