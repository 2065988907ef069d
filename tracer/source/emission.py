"""A rolled loop closed and appended to the trace around it; then every place and memory as it is afterwards."""

import sys

from ...ir.core import Builder, Func, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, TRUTH
from .. import pytree
from ..array import TracedArray, TracedScalar
from ..errors import message
from ..extents.bounded import Bounded
from ..status import passed
from ..storage import Blend, Storage, current_trace
from ..unmerged import Unmerged
from ..views import Index
from . import codes, merge
from .builtins import truth
from .codes import Code
from .run import closed, emit
from .state import UNBOUND


def arrays(value):
    """The array leaves of what a place holds."""
    return [] if value is UNBOUND or isinstance(value, Unmerged) else [x for x in pytree.leaves(value) if isinstance(x, TracedArray)]


def also(a, b):
    """`a and b`, of which either may be known to hold."""
    return b if isinstance(a, Lit) and a.value else a if isinstance(b, Lit) and b.value else OPS["and"](a, b)


class Emission:
    """What becomes of the last pass of a `Roll`: rows of (parameter, initial value, result), and plans for the places."""

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
                if value in self.params:
                    continue  # shared with a leaf before it
                y = pytree.leaves(run.after(slot))[n]
                self.row(value, merge.operand(x, s), self.result(y, s), slot.name if slot.kind == "cell" else None)
        for slot, after in finals:
            self.plans.append((slot, self.final(slot, after)))
        stores = [(s, self.row(p, current_trace().bring(s.value), run.written(s), roll.hint_of(s))) for s, p in roll.phis.items()]
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
            for leaf in arrays(run.after(slot)):
                holders.setdefault(leaf.storage, []).append(slot)
        for memory, slot in mine.items():
            written = memory.value is not roll.carried[slot].values[roll.carried[slot].memory.index(memory)]
            for other in holders.get(memory, ()):
                if other is not slot and other in roll.carried:
                    raise roll.refused(f"{other.name} holds after a trip the array that {slot.name} held before it")
            if not written:
                continue
            if not self.alone(slot) or any(len(h) > 1 and slot in h for h in holders.values()):
                raise roll.refused(f"{slot.name} is written in place while other names may hold the same array, then bound to another")
            for leaf in arrays(run.after(slot)):
                if not run.owns(leaf.storage) or leaf.chain:
                    raise roll.refused(f"{slot.name} is written in place, and may be a part of another array")
        for slot in roll.carried:
            for leaf in arrays(run.after(slot)):
                if not run.owns(leaf.storage) and leaf.storage in roll.phis:
                    raise roll.refused(f"{slot.name} is a part of an array that the loop writes")
                if isinstance(leaf.storage, Blend) and any(s in roll.phis for s in leaf.storage.alive()):
                    raise roll.refused(f"{slot.name} may be an array that the loop writes")

    def alone(self, slot):
        """Whether nobody but the place itself sees the array it held before the loop."""
        roll = self.roll
        value = roll.before.pop(slot, None) if slot.kind == "cell" else None
        if not isinstance(value, TracedArray | Bounded):
            return False
        self.run.before.pop(slot, None)
        slot.set(UNBOUND)
        seen = sys.getrefcount(value) > 2
        if type(value) is Bounded:
            seen = seen or sys.getrefcount(value.array) > 2 or sys.getrefcount(value.array.storage) > 2
        else:
            seen = seen or sys.getrefcount(value.storage) > 2
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
            for leaf in arrays(after):
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
                value = run.array(x) if alone_here else base.value
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
            others += [x.storage for x in arrays(first)]
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
        if roll.turns is None:
            first = also(first, current_trace().passed())
        with self.run.trace:
            last = Lit(False, TRUTH) if roll.leaving is False else roll.leaving.value
            status = current_trace().root.status
            if roll.turns is None and status in self.run.writes:  # a loop that has failed goes on no longer
                last = OPS["and"](last, passed(self.run.writes[status]))
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
        new = (slot.name for slot, _ in self.plans if slot.kind == "cell" and roll.first(slot, self.run) is UNBOUND)
        only = [name for name in new if name in roll.site.middle]
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
            sound = current_trace().passed()
            limit = [roll.limit if isinstance(sound, Lit) else OPS["select"](sound, roll.limit, Lit(0, COUNTER))]
        return emit("loop", [*limit, *operands, *self.inits], self.names, body=body, carried=len(self.inits), test=test, trips=roll.turns)

    def test(self, body, going, limited):
        build = Builder("test")
        with build:
            params = [build.param(p.type, p.hint) for p in body.params]
            result = params[len(params) - len(self.params) + going]
            if limited:
                result = OPS["and"](OPS["lt"](params[0], params[1]), result)
        return build.finish((result,))
