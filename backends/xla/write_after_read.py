"""Read fences: how a loop body is kept from copying an array it writes a part of.

XLA updates a carried array in place if all reads of its former state come before the store. But it fuses the
computation of a value into every reader of it, loads included, so that a value read before a store and used
after it is loaded again after it: then the whole array is copied in every trip. The same happens where an update
is computed from other elements than those it replaces. Both are prevented by computing the update, and what is used
after it, inside a branch that is always taken: nothing is fused into or out of a branch.
"""

from ...ir.core import Value
from ...ir.ops.control import call, cond, host, loop, map_
from ...ir.ops.flow import apart
from ...ir.ops.shape import dynamic_slice, dynamic_update_slice, reshape

LEAST = 512  # elements of an array from which a copy costs more than a branch; measured by benchmarks/tune.py
# parts of the array an update is computed from, other than the one it replaces, from which a branch is the faster code;
# measured by benchmarks/tune.py
MANY = 3
SHARE = 4  # an update of more than one part in so many is no less work than a copy; measured by benchmarks/tune.py
REGIONS = (apart, call, cond, host, loop, map_)


class Fence:
    """Equations to be run inside one branch, the values that leave it, and the stores that wait for it."""

    def __init__(self, eqns, results, stores):
        self.eqns, self.results, self.stores = eqns, results, stores

    @property
    def source(self):
        """Of the last of its equations that has one."""
        return next((eqn.source for eqn in reversed(self.eqns) if eqn.source), None)


def schedule(body, carried):
    """The equations of a loop body in an order in which they can run, those to be fenced together as a Fence."""
    if any(eqn.effect for eqn in body.eqns):
        return body.eqns
    found, order = [], body.eqns
    for fence in Body(body, carried).fences():
        others = [f for f in found if not {*f.eqns} & {*fence.eqns}]
        for f in found:
            if f not in others:
                eqns = [e for e in body.eqns if e in {*f.eqns, *fence.eqns}]
                fence = Fence(eqns, list(dict.fromkeys([*f.results, *fence.results])), [*f.stores, *fence.stores])
        tried = fenced_order(body, [*others, fence])
        if tried is not None:
            found, order = [*others, fence], tried
    return order


def fenced_order(body, fences):
    """`body.eqns` with every fence as one item, producers first; None if that cannot be."""
    item_of = {eqn: eqn for eqn in body.eqns} | {eqn: f for f in fences for eqn in f.eqns}
    made = {r: eqn for eqn in body.eqns for r in eqn.results}
    waits = {eqn: f for f in fences for eqn in f.stores}  # what is stored may be a literal, which nothing makes
    out, state = [], {}
    for eqn in body.eqns:
        stack = [item_of[eqn]]
        while stack:
            item = stack[-1]
            if item in state:
                stack.pop()
                if state[item] == "open":
                    state[item] = "done"
                    out.append(item)
                continue
            state[item] = "open"
            reads = (
                [x for e in item.eqns for x in e.operands] + item.results if isinstance(item, Fence) else item.operands
            )
            needed = [item_of[made[x]] for x in reads if x in made]
            if item in waits:
                needed.append(waits[item])
            for before in needed:
                if before is not item and before not in state:
                    stack.append(before)
                elif before is not item and state[before] == "open":
                    return None
    return out


class Body:
    """Who reads what in a loop body, as far as its carried arrays matter."""

    def __init__(self, body, carried):
        self.body = body
        self.users = {}
        for eqn in body.eqns:
            for x in dict.fromkeys(eqn.operands):
                self.users.setdefault(x, []).append(eqn)
        self.ends = set(body.results)
        self.params = {p for p in body.params[len(body.params) - carried :] if p.type.size >= LEAST}
        self.states = set(self.params)  # the carried arrays, and what stores make of them
        self.walls = {eqn for eqn in body.eqns if eqn.op in REGIONS}  # nothing is fused across these
        for eqn in body.eqns:
            if eqn.op is dynamic_update_slice and self.memory(eqn.operands[0]) in self.states:
                self.states.update(eqn.results)
                self.walls.add(eqn)
            elif eqn.op is loop:
                state = eqn.operands[len(eqn.operands) - eqn.attrs["carried"] :]
                self.states.update(r for r, x in zip(eqn.results, state) if self.memory(x) in self.states)

    def memory(self, x):
        while isinstance(x, Value) and x.eqn is not None and x.eqn.op is reshape:
            x = x.eqn.operands[0]
        return x

    def fences(self):
        for eqn in self.body.eqns:
            if eqn.op is dynamic_update_slice and self.memory(eqn.operands[0]) in self.states:
                found = self.fence(eqn)
                if found is not None:
                    yield found

    def fence(self, store):
        """What must be fenced for a store to be in place, or None."""
        x, u = self.memory(store.operands[0]), store.operands[1]
        if u.type.size * SHARE > x.type.size:
            return None
        after = self.below(store, through=True)
        loads = [eqn for eqn in self.loads(x) if eqn not in after and eqn not in self.walls and eqn is not store]
        if not loads:
            return None
        feeding = self.above([u])
        before = self.above(store.operands, through=True)
        crossing = [eqn for eqn in loads if self.outlives(eqn, store, before)]
        elsewhere = [eqn for eqn in loads if eqn in feeding and not self.replaced(eqn, store)]
        if (
            not crossing
            and not (elsewhere and self.fused(x))
            and sum(eqn.results[0].type.size > 1 for eqn in elsewhere) < MANY
        ):
            return None
        derived = set(loads).union(*map(self.below, loads))
        inside = (feeding & derived) | {*crossing}
        inside = [eqn for eqn in self.body.eqns if eqn in inside]
        results = self.leaving(inside)
        if u not in results:
            results.append(u)  # even a number: the store is to wait for the branch
        if sum(r.type.size for r in results) * SHARE > x.type.size * 2:
            return None
        return Fence(inside, results, [store])

    def leaving(self, inside):
        """The results of equations that others read."""
        return [
            r
            for eqn in inside
            for r in eqn.results
            if r in self.ends or any(e not in inside for e in self.users.get(r, ()))
        ]

    def loads(self, x):
        """The equations that read the array x, under any shape."""
        for eqn in self.users.get(x, ()):
            if eqn.op is reshape:
                yield from self.loads(eqn.results[0])
            else:
                yield eqn

    def replaced(self, load, store):
        """Whether a load reads the very elements that the store replaces."""
        at = load.op is dynamic_slice and load.operands[1:] == store.operands[2:]
        return at and load.results[0].type is store.operands[1].type and load.operands[0] is store.operands[0]

    def fused(self, x):
        """Whether x is made by another store of the same trip, which XLA would make again for its readers."""
        return x.eqn is not None and x.eqn.op is dynamic_update_slice

    def outlives(self, load, store, before):
        """Whether what a load gives is used by something that need not come before the store."""
        reached = {load} | self.below(load)
        if any(r in self.ends for eqn in reached for r in eqn.results):
            return True
        walls = {e for eqn in reached for r in eqn.results for e in self.users.get(r, ()) if e in self.walls}
        return any(e is not store and e not in before for e in walls)

    def above(self, values, through=False):
        """The equations that values are computed by; walls are passed only `through`."""
        found, todo = set(), [x.eqn for x in values if isinstance(x, Value)]
        while todo:
            eqn = todo.pop()
            if eqn is not None and eqn not in found and (through or eqn not in self.walls):
                found.add(eqn)
                todo += [x.eqn for x in eqn.operands if isinstance(x, Value)]
        return found

    def below(self, eqn, through=False):
        """The equations that read what an equation makes, directly or not."""
        found, todo = set(), list(eqn.results)
        while todo:
            for e in self.users.get(todo.pop(), ()):
                if e not in found and (through or e not in self.walls):
                    found.add(e)
                    todo += e.results
        return found
