"""A loop captured as one: its body traced on placeholders until what it carries no longer changes its type.

Carried are the names, attributes and items that a trip changes and a later one may read, and the memory
it writes. A name that a trip rebinds to another array gets memory of its own for each trip; where that
could be told apart from Python's sharing (a placeholder written while others may see it, two names that
trade places) the loop is refused.
"""

import sys

from ...ir.core import Builder, Func, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, TRUTH
from .. import pytree
from ..array import TracedArray, TracedScalar
from ..errors import CannotRoll, message
from ..frames import locate
from ..storage import Blend, Storage, current_trace
from ..unmerged import Unmerged
from ..views import Index
from . import codes, merge
from .branch import choose, decided
from .builtins import truth
from .codes import Code
from .run import Run, closed, emit
from .state import UNBOUND, note

PASSES = 12


class Carried:
    """A place whose value goes from trip to trip: the structure of the value and a spec a leaf."""

    def __init__(self, value, tree, specs):
        self.tree, self.specs, self.order = tree, specs, pytree.key_order(value)
        self.values = None  # the placeholders of the present pass
        self.memory = None  # Storage of each placeholder that is an array

    def placeholders(self, trace, name):
        self.values = [trace.param(merge.type_of(s), name) for s in self.specs]
        leaves = [TracedArray(Storage(v, trace)) if s[0] == "array" else merge.made(v, s) for v, s in zip(self.values, self.specs)]
        self.memory = [x.storage if isinstance(x, TracedArray) else None for x in leaves]
        return pytree.unflatten(self.tree, leaves, self.order)


class Roll:
    """loop: whose body this is; turn(counter) runs it. turns: how often, or `limit`, an operand, or while `going` and then `test()`."""

    def __init__(self, loop, turn, turns=None, limit=None, going=True, test=None):
        self.loop, self.site, self.turn, self.test = loop, loop.site, turn, test
        self.turns, self.limit, self.going = turns, limit, going
        self.slots = loop.slots
        self.before = {s: s.get() for s in self.slots}
        self.carried, self.stores = {}, []
        self.where = locate()
        self.surely = turns is not None or decided(going) and limit is None  # whether there is a first trip

    # -- passes ------------------------------------------------------------------------------------
    def emit(self):
        """Capture the loop -> how it ended."""
        for _ in range(PASSES):
            run = self.passed()
            if not self.learn(run):
                break
        else:
            raise self.refused("what it carries does not settle")
        if self.check_kinds(run):
            run = self.passed()
        return Emission(self, run).emit()

    def passed(self):
        """One trip on placeholders for all that is carried so far."""

        def prepare(trace):
            self.counter = trace.param(COUNTER, self.hint())
            trace.root.bounds[self.counter] = (0, 2**62 if self.turns is None else self.turns - 1)
            self.leaving = None
            for slot, c in self.carried.items():
                if slot.kind != "cell":
                    note(slot)
                slot.set(c.placeholders(trace, slot.name if slot.kind == "cell" else None))
            for slot in self.slots:
                if slot not in self.carried and slot.name not in self.site.head:
                    slot.set(UNBOUND)
            self.phis = {}
            for s in self.stores:
                self.phis[s] = trace.param(s.value.type, self.hint_of(s))
                s.write(self.phis[s])

        return Run("body", self.step, [*self.slots, *(s for s in self.carried if s.kind != "cell")], prepare, self.loop.held)

    def step(self):
        """A trip, and the question whether another follows -> how it ended; `self.leaving` is the answer."""
        code = self.turn(self.counter)
        may = codes.may(code)
        stays = [m for m in may if m in (codes.FALLS, codes.CONTINUES)]
        if not stays:
            self.leaving = False
        elif len(stays) == len(may):
            self.leaving = self.test() if self.test is not None else True
        else:
            status = code.status
            goes = (status < codes.BREAKS) if self.test is None else choose(status < codes.BREAKS, self.test, lambda: False)
            self.leaving = goes
        if not isinstance(self.leaving, bool):
            known = decided(self.leaving)
            self.leaving = truth(self.leaving) if known is None else known
        return code

    def hint(self):
        names = sorted(self.site.targets)
        return names[0] if len(names) == 1 else None

    def hint_of(self, storage):
        for name, slot in self.loop.named.items():
            value = self.before.get(slot)
            value = slot.get() if value is None else value
            if isinstance(value, TracedArray) and value.storage is storage:
                return name
        return None

    def refused(self, why):
        return CannotRoll(message(f"the loop cannot be captured as one: {why}", self.where))

    # -- what is carried ---------------------------------------------------------------------------
    def learn(self, run):
        """Compare a pass with what it assumed -> whether more is carried now, or other types."""
        more = False
        for slot in [*self.slots, *(s for s in run.heap if s not in self.slots), *(s for s in self.carried if s.kind != "cell")]:
            after = run.after(slot)
            if slot in self.carried:
                more |= self.widen(slot, after)
            elif self.begins(slot, run, after):
                more |= self.carry(slot, self.first(slot, run), after, run)
        for s in run.writes:
            if s not in self.phis and run.writes[s] is not run.trace.journal[s]:
                self.stores.append(s)
                more = True
        return more

    def first(self, slot, run):
        return self.before[slot] if slot in self.before else run.before[slot]

    def begins(self, slot, run, after):
        """Whether a later trip, or one that never comes, could see what the place held before."""
        before = self.first(slot, run)
        if before is UNBOUND or after is before or slot.kind == "cell" and slot.name not in self.site.head:
            return False
        if isinstance(before, Unmerged):
            return False
        (xs, tree), (ys, other) = pytree.flatten(before), pytree.flatten(after) if after is not UNBOUND else ((), None)
        return tree != other or not all(map(merge.equal, xs, ys))

    def carry(self, slot, before, after, run):
        if after is UNBOUND or isinstance(after, Unmerged):
            raise self.refused(f"{slot.name} may be unbound after a trip: {after!r}")
        (xs, tree), (ys, other) = pytree.flatten(before), pytree.flatten(after)
        if tree != other:
            raise self.refused(f"{slot.name} changes from {merge.described(before)} to {merge.described(after)}")
        for x, y in zip(xs, ys):
            if isinstance(y, TracedArray) and not run.owns(y.storage) and not self.surely:
                raise self.refused(f"{slot.name} is another array after a trip than before it")
        specs = [self.joined(slot, merge.spec(x), merge.spec(y), x, y) for x, y in zip(xs, ys)]
        if any(s[0] == "object" for s in specs):
            raise self.refused(f"{slot.name} changes from {before!r:.40} to {after!r:.40}")
        self.carried[slot] = Carried(before, tree, specs)
        return True

    def joined(self, slot, a, b, x=None, y=None):
        if merge.equal(x, y) and a[0] == "object":
            return a
        found = merge.join(a, b, x, y)
        if found is None:
            raise self.refused(f"{slot.name} changes from {merge.spelled(a)} to {merge.spelled(b)}")
        return found

    def widen(self, slot, after):
        c = self.carried[slot]
        if after is UNBOUND or isinstance(after, Unmerged):
            raise self.refused(f"{slot.name} may be unbound after a trip: {after!r}")
        ys, other = pytree.flatten(after)
        if other != c.tree:
            raise self.refused(f"{slot.name} changes its structure from {c.tree} to {other}")
        specs = [self.joined(slot, s, merge.spec(y), None, y) for s, y in zip(c.specs, ys)]
        changed = specs != c.specs
        c.specs = specs
        return changed

    def check_kinds(self, run):
        """Numbers of another kind before the first trip than after it must make no difference to it -> whether there are any."""
        narrow = {}
        for slot, c in self.carried.items():
            xs = pytree.leaves(self.first(slot, run))
            firsts = [merge.spec(x) for x in xs]
            if firsts != c.specs:
                narrow[slot] = c.specs, firsts
        if not narrow:
            return False
        wide = self.signature(run)
        for slot, (_, firsts) in narrow.items():
            self.carried[slot].specs = firsts
        again = self.passed()
        exact = wide == self.signature(again)
        for slot, (specs, _) in narrow.items():
            ys = pytree.leaves(again.after(slot))
            same = [merge.join(s, merge.spec(y), None, y) == s for s, y in zip(specs, ys)]
            widths = all(a[0] == b[0] == "weak" for a, b in zip(*narrow[slot]) if a != b)
            if not all(same) or not (exact or widths):
                raise self.refused(f"{slot.name} is another kind of number in the first trip than in later ones")
            self.carried[slot].specs = specs
        return True

    def signature(self, run):
        return [(e.op.name, tuple(r.type for r in e.results)) for e in run.trace.build.eqns if e.op.name != "cast"]


class Emission:
    """The loop, closed and appended to the trace around it; then every place and memory as it is afterwards."""

    def __init__(self, roll, run):
        self.roll, self.run = roll, run
        self.params, self.inits, self.results, self.names = [], [], [], []
        self.plans = []

    def row(self, param, init, result, name=None):
        self.params.append(param)
        self.inits.append(init)
        self.results.append(result)
        self.names.append(name)
        return len(self.params) - 1

    def emit(self):
        roll, run = self.roll, self.run
        self.check_memory()
        finals = self.finals()
        self.bases(finals)
        for slot, c in roll.carried.items():
            firsts = pytree.leaves(roll.first(slot, run))
            for n, (s, value, x) in enumerate(zip(c.specs, c.values, firsts)):
                y = pytree.leaves(run.after(slot))[n]
                self.row(value, merge.operand(x, s), self.result(y, s), slot.name if slot.kind == "cell" else None)
        for slot, after in finals:
            self.plans.append((slot, self.final(slot, after)))
        stores = [(s, self.row(p, run_outer(s), run.written(s), roll.hint_of(s))) for s, p in roll.phis.items()]
        going = self.going()
        code = self.code()
        out = self.loop(going)
        for s, at in stores:
            s.write(out[at])
        if not roll.surely:
            self.ran(out)
        built = [(slot, plan(out)) for slot, plan in self.plans]
        for slot, value in built:
            slot.set(value)
        return code(out)

    def result(self, leaf, s):
        with self.run.trace:
            return self.run.array(leaf) if isinstance(leaf, TracedArray) else merge.operand(leaf, s)

    # -- memory ------------------------------------------------------------------------------------
    def check_memory(self):
        """Refuse what one memory a trip cannot show: placeholders written in place while another name may see the same array."""
        roll, run = self.roll, self.run
        mine = {m: slot for slot, c in roll.carried.items() for m in c.memory if m is not None}
        holders = {}
        for slot in [*roll.slots, *(s for s in roll.carried if s.kind != "cell")]:
            after = run.after(slot)
            for leaf in pytree.leaves(after) if after is not UNBOUND and not isinstance(after, Unmerged) else ():
                if isinstance(leaf, TracedArray):
                    holders.setdefault(leaf.storage, []).append((slot, leaf))
        for memory, slot in mine.items():
            written = memory.value is not roll.carried[slot].values[roll.carried[slot].memory.index(memory)]
            for other, leaf in holders.get(memory, ()):
                if other is not slot and other in roll.carried:
                    raise roll.refused(f"{other.name} holds after a trip the array that {slot.name} held before it")
            if not written:
                continue
            if not self.alone(slot) or any(len(h) > 1 for h in holders.values() if any(s is slot for s, _ in h)):
                raise roll.refused(f"{slot.name} is written in place while other names may hold the same array, then bound to another")
            for leaf in (x for x in pytree.leaves(run.after(slot)) if isinstance(x, TracedArray)):
                if not run.owns(leaf.storage) or leaf.chain:
                    raise roll.refused(f"{slot.name} is written in place, and may be a part of another array")
        for slot in roll.carried:
            for leaf in pytree.leaves(run.after(slot)):
                if isinstance(leaf, TracedArray) and not run.owns(leaf.storage) and leaf.storage in roll.phis:
                    raise roll.refused(f"{slot.name} is a part of an array that the loop writes")
                if isinstance(leaf, TracedArray) and isinstance(leaf.storage, Blend) and any(not run.owns(s) for s in leaf.storage.alive()):
                    if any(s in roll.phis for s in leaf.storage.alive()):
                        raise roll.refused(f"{slot.name} may be an array that the loop writes")

    def alone(self, slot):
        """Whether nobody but the place itself sees the array it held before the loop."""
        roll = self.roll
        value = roll.before.pop(slot, None) if slot.kind == "cell" else None
        if not isinstance(value, TracedArray):
            return False
        self.run.before.pop(slot, None)
        slot.set(UNBOUND)
        seen = sys.getrefcount(value) > 2 or sys.getrefcount(value.storage) > 2
        slot.set(value)
        roll.before[slot] = self.run.before[slot] = value
        return not seen

    def finals(self):
        """[(slot, value after a trip)] of the places whose value changes."""
        roll, run = self.roll, self.run
        out = []
        for slot in [*roll.slots, *(s for s in run.heap if s not in roll.slots)]:
            after, before = run.after(slot), roll.first(slot, run)
            if slot in roll.carried or after is not before:
                out.append((slot, after))
        return out

    def bases(self, finals):
        """Memory made in a trip that several places show after it."""
        self.shown, self.made = {}, {}
        for _, after in finals:
            for leaf in pytree.leaves(after) if after is not UNBOUND and not isinstance(after, Unmerged) else ():
                if isinstance(leaf, TracedArray):
                    self.shown.setdefault(leaf.storage, []).append(leaf)

    def final(self, slot, after):
        """A plan for what a place holds after the loop."""
        roll = self.roll
        if slot.kind == "cell" and slot.name not in roll.site.middle:
            return lambda out: Unmerged(f"{slot.name} was not thought to be read after the loop at {roll.where}")
        if after is UNBOUND or isinstance(after, Unmerged):
            return lambda out: after
        leaves, tree = pytree.flatten(after)
        c = roll.carried.get(slot)
        specs = c.specs if c is not None else [merge.spec(x) for x in leaves]
        plans = [self.leaf(slot, x, s, n) for n, (x, s) in enumerate(zip(leaves, specs))]
        if pytree.is_leaf(tree):
            return plans[0]
        order = pytree.key_order(after)
        return lambda out: pytree.unflatten(tree, [p(out) for p in plans], order)

    def leaf(self, slot, x, s, n):
        roll, run = self.roll, self.run
        if isinstance(x, TracedArray):
            return self.array(slot, x, n)
        if s[0] == "object" or slot not in roll.carried and not isinstance(x, TracedScalar):
            if slot not in roll.carried and not roll.surely and roll.first(slot, run) is not UNBOUND:
                return lambda out: Unmerged(f"{slot.name} is what it was, or {x!r:.40}, as data decides at {roll.where}")
            return lambda out: x
        if slot in roll.carried:
            value = roll.carried[slot].values[n]
            return lambda out: merge.made(out[self.params.index(value)], s)
        at = self.row(self.fresh(s), merge.absent(s), self.result(x, s), slot.name)
        return lambda out: merge.made(out[at], s)

    def fresh(self, s):
        return Value(merge.type_of(s))

    def array(self, slot, x, n):
        roll, run = self.roll, self.run
        base = x.storage
        if not run.owns(base):  # memory from before the loop, or a view of it
            steps = [self.outside(step) for step in x.chain]
            return lambda out: TracedArray(base, tuple(step(out) for step in steps), x.type)
        if any(isinstance(step, Index) and step.dynamic for step in x.chain) and len(self.shown[base]) > 1:
            raise roll.refused(f"{slot.name} is a part, chosen in the trip, of an array that another name holds too")
        alone_here = len(self.shown[base]) == 1
        if alone_here and slot in roll.carried:
            value = roll.carried[slot].values[n]
            return lambda out: TracedArray(self.memory(slot, base, out[self.params.index(value)]))
        if base not in self.made:
            whole = x if alone_here else TracedArray(base)
            s = merge.spec(whole)
            with run.trace:
                value = run.array(x) if alone_here else base_value(run, base)
            self.made[base] = [self.row(self.fresh(s), merge.absent(s), value, slot.name), None]
        found = self.made[base]

        def plan(out):
            if found[1] is None:
                found[1] = self.memory(slot, base, out[found[0]])
            return TracedArray(found[1], () if alone_here else x.chain, x.type)

        return plan

    def memory(self, slot, base, value):
        """New memory for the time after the loop; where no trip need have come, it may be what was there before."""
        roll = self.roll
        others = base.alive() if isinstance(base, Blend) else []
        others = [s for s in others if not self.run.owns(s)]
        first = roll.first(slot, self.run)
        if not roll.surely or isinstance(base, Blend):
            others += [x.storage for x in (pytree.leaves(first) if first is not UNBOUND else ()) if isinstance(x, TracedArray)]
        storage = Blend(value, current_trace(), others) if others else Storage(value, current_trace())
        if isinstance(base, Blend) and base.ambiguous:
            storage.ambiguous = True
        return storage

    def outside(self, step):
        """A view of outer memory, its traced starts carried out of the loop."""
        if not (isinstance(step, Index) and step.dynamic):
            return lambda out: step
        axes = []
        for start, size, stride in step.axes:
            if isinstance(start, Value):
                with self.run.trace:
                    start = self.run.trace.bring(start)
                at = self.row(Value(start.type), Lit(0, start.type), start)
                axes.append((at, size, stride, True))
            else:
                axes.append((start, size, stride, False))
        return lambda out: Index([(out[a] if carried else a, n, stride) for a, n, stride, carried in axes], step.shape, step.key)

    # -- the end -----------------------------------------------------------------------------------
    def going(self):
        """The row that says whether another trip follows; None where the count alone does."""
        roll = self.roll
        if roll.leaving is True and roll.test is None:
            return None
        if roll.leaving is True:
            raise roll.refused("nothing in the trip can end it")
        first = truth(roll.going).value if not isinstance(roll.going, bool) else Lit(roll.going, TRUTH)
        with self.run.trace:
            last = Lit(False, TRUTH) if roll.leaving is False else roll.leaving.value
            status = current_trace().root.status
            if roll.turns is None and status in self.run.writes:  # a loop that has failed goes on no longer
                last = OPS["and"](last, OPS["eq"](self.run.writes[status], Lit(0, status.value.type)))
        return self.row(Value(TRUTH), first, last)

    def code(self):
        """A plan for how the loop ended."""
        code = self.run.code
        outs = {codes.BREAKS: codes.LEFT, codes.RETURNS: codes.RETURNS}
        may = {codes.FALLS} | {outs[m] for m in codes.may(code) if m in outs}
        if len(may) == 1:
            return lambda out: None
        status = self.status()
        leaves, tree = pytree.flatten(code.value)
        plans = []
        for leaf in leaves:
            s = merge.spec(leaf)
            if s[0] == "object":
                plans.append(lambda out, leaf=leaf: leaf)
                continue
            if isinstance(leaf, TracedArray) and not self.run.owns(leaf.storage):
                raise self.roll.refused("an array from outside it is returned from within")
            at = self.row(self.fresh(s), merge.absent(s), self.result(leaf, s))
            plans.append(lambda out, at=at, s=s: merge.made(out[at], s))
        order = pytree.key_order(code.value)

        def plan(out):
            value = plans[0](out) if pytree.is_leaf(tree) else pytree.unflatten(tree, [p(out) for p in plans], order)
            ends = TracedScalar(out[status], int)
            ends = merge.pick(ends == codes.BREAKS, codes.LEFT, merge.pick(ends == codes.RETURNS, codes.RETURNS, codes.FALLS))
            return Code(ends, may, value)

        return plan

    def status(self):
        code = self.run.code
        s = ("weak", int)
        with self.run.trace:
            last = merge.operand(code.status, s)
        return self.row(Value(merge.type_of(s)), Lit(codes.FALLS, merge.type_of(s)), last)

    def ran(self, out):
        """A name that only the body binds is unbound where no trip came."""
        roll = self.roll
        only = [slot.name for slot, _ in self.plans if roll.first(slot, self.run) is UNBOUND and slot.name in roll.site.middle and slot.kind == "cell"]
        if not only:
            return
        if roll.limit is not None:
            ok = OPS["gt"](roll.limit, Lit(0, COUNTER)) if isinstance(roll.limit, Value) else Lit(roll.limit.value > 0, TRUTH)
        else:
            ok = truth(roll.going).value
        text = f"cannot access local variable '{only[0]}' where it is not associated with a value: the loop ran no trip"
        current_trace().check(ok, UnboundLocalError, message(text, roll.where))

    def loop(self, going):
        roll, run = self.roll, self.run
        lifted = list(run.trace.lifted)
        body = closed(run, self.results, lifted, (roll.counter,))
        body = Func(body.name, (*body.params, *self.params), body.eqns, body.results)
        operands = [current_trace().bring(v) for v in lifted]
        test, limit = None, []
        if going is not None:
            extra = [roll.limit] if roll.limit is not None else []
            if extra:
                body = Func(body.name, (body.params[0], Value(COUNTER), *body.params[1:]), body.eqns, body.results)
            operands = [*extra, *operands]
            test = self.test(body, going, bool(extra))
        elif roll.limit is not None:
            limit = [roll.limit]
        return emit("loop", [*limit, *operands, *self.inits], self.names, body=body, carried=len(self.inits), test=test, trips=roll.turns)

    def test(self, body, going, limited):
        build = Builder("test")
        with build:
            params = [build.param(p.type, p.hint) for p in body.params]
            result = params[len(params) - len(self.params) + going]
            if limited:
                result = OPS["and"](OPS["lt"](params[0], params[1]), result)
        return build.finish((result,))


def run_outer(storage):
    return current_trace().bring(storage.value)


def base_value(run, base):
    """The whole of a memory made in the body, at its end."""
    return base.value
