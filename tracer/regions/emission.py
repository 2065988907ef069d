"""A rolled loop closed and appended to the trace around it; then every place and memory as it is afterwards."""

from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, TRUTH
from ..common import pytree
from ..common.emit import cast_to
from ..common.errors import NoTrip, message, shown
from ..guards.container_phis import stand_for
from ..guards.state import UNBOUND
from ..rewriter import completion
from ..rewriter.completion import Completion
from ..values.array import TracedArray, TracedScalar
from ..values.mixed import Mixed, mixed_in
from ..values.poison import Poison
from ..values.speculate import on_demand
from ..values.status import passed
from ..values.storage import Storage, UnknownAlias, current_trace, memories
from ..values.variant import within_reach
from . import induction, merge
from .alias_selectors import LOST, Tags
from .array_object_phis import is_instance, is_made_within
from .births import Births, Member
from .builtins import require_one_thing, truth
from .escape import Leaving, handle, new
from .loop_containers import LoopContainers
from .loop_equation import LoopEquation
from .object_phis import depending, formed, is_closed, opened, require_fresh
from .phis import resolved
from .sharing import Sharing, arrays
from .variant_parts import without_trips


def also(a, b):
    """`a and b`, of which either may be known to hold."""
    return b if isinstance(a, Lit) and a.value else a if isinstance(b, Lit) and b.value else OPS["and"](a, b)


class Emission(LoopEquation):
    """What becomes of the last pass of a `Roll`: rows of (parameter, initial value, result), and plans for the
    places."""

    def __init__(self, roll, run):
        self.roll, self.run = roll, run
        self.params, self.inits, self.results, self.names = [], [], [], []
        self.plans, self.sharing, self.tags, self.births, self.containers = [], None, None, None, None
        self.leaving = Leaving(run, lambda value, name: self.row(Value(value.type), Lit(0, value.type), value, name))

    def row(self, param, init, result, name=None):
        self.params.append(param)
        self.inits.append(init)
        self.results.append(result)
        self.names.append(name)
        return len(self.params) - 1

    def emit(self):
        roll, run = self.roll, self.run
        self.sharing = Sharing(roll, run, self.leaving)
        self.sharing.check()
        finals = [*self.finals()]
        self.containers = LoopContainers(roll, run, finals)
        self.births = Births(self, self.members(finals))
        self.tags = Tags(self)
        idle = self.idle()
        for slot, c in roll.carried.items():
            firsts, lasts = c.leaves(roll.first(slot, run)), c.leaves(run.after(slot))
            for n, (s, value, x) in enumerate(zip(c.specs, c.values, firsts)):
                if value in self.params or value in idle:
                    continue  # shared with a leaf before it, or asked by nobody
                self.row(
                    value, merge.operand(x, s), self.result(lasts[n], s), slot.name if slot.kind == "cell" else None
                )
        for slot, after in finals:
            self.plans.append((slot, self.final(slot, after)))
        stores = [
            (s, self.row(p, current_trace().bring(s.value), run.written(s), roll.hint_of(s)))
            for s, p in roll.phis.items()
        ]
        going = self.going()
        code = self.code()
        self.births.finish()
        out = self.loop(going)
        for s, at in stores:
            s.write(out[at])
        if not roll.surely:
            self.ran(out)
        built = [(slot, plan(out)) for slot, plan in self.plans]
        for slot, value in built:
            slot.set(value)
        return code(out)

    def close(self):
        """Let go of all it holds."""
        self.run.close()
        for part in (self.sharing, self.leaving, self.tags, self.births, self.containers, self):
            if part is not None:
                vars(part).clear()

    def result(self, leaf, s):
        with self.run.ending():
            return self.run.array(leaf) if isinstance(leaf, TracedArray) else merge.operand(leaf, s)

    def finals(self):
        """(slot, value after a trip) of the places whose value changes."""
        roll, run = self.roll, self.run
        for slot in [*roll.slots, *(s for s in run.heap if s not in roll.slots)]:
            after, before = run.after(slot), roll.first(slot, run)
            alike = after is before or not roll.surely and merge.alike(before, after) and not merge.containers(after)
            if slot in roll.carried or not alike:
                yield slot, after

    def members(self, finals):
        """The arrays that places hold after the loop."""
        found, value = {}, None if self.run.code is None else self.run.code.value
        for slot, after in finals:
            c = self.roll.carried.get(slot)
            leaves = arrays(after) if c is None or after is UNBOUND or is_closed(after) else c.leaves(after)
            for n, x in enumerate(leaves if self.read(slot) else ()):
                if isinstance(x, TracedArray):
                    self.member(found, x, c.memory[n] if c is not None else None, self.before(slot, n))
        for x in arrays(value):
            self.member(found, x, None, ())
        return found

    def member(self, found, x, memory, before):
        found[memory, id(x)] = Member(x, memory, self.leaving.choices(x), self.others(x, memory, before))

    def before(self, slot, n):
        """The memories that others see, of which a place still holds one if there is no trip."""
        if self.roll.surely or slot not in self.roll.carried or self.roll.first(slot, self.run) is UNBOUND:
            return ()
        return self.sharing.visible(slot, n)

    def others(self, x, memory, before):
        """The memories from before the loop that an array may be after it, if the trips do not all end on the same
        ones."""
        bases, sharing = memories(x.storage), self.sharing
        kept = [b for b in bases if b in sharing.stands]
        others = list(dict.fromkeys([*before, *(s for b in kept for s in sharing.stands[b])]))
        # it may be what it was before the loop: then any array from outside
        if kept or before or memory is not None and not self.roll.surely:
            others += [b for b in bases if not self.run.owns(b) and b not in others]
        return others

    def read(self, slot):
        """Whether a place may be read after the loop."""
        return slot.kind != "cell" or slot.name in self.roll.site.middle

    def final(self, slot, after):
        """A plan for what a place holds after the loop."""
        roll = self.roll
        if not self.read(slot):
            return lambda out: Poison(f"{slot.name} was not thought to be read after the loop at {roll.where}")
        if after is UNBOUND or is_closed(after):
            return lambda out: within_reach(after)
        first = roll.first(slot, self.run)
        if is_closed(first) and not roll.surely:
            return lambda out: first
        if (known := self.containers.known(slot, after, first)) is not None:
            return known
        c, left = roll.carried.get(slot), after
        require_fresh(self.run, after)
        after = opened(after) if c is None else formed(after, c.model)
        leaves, tree = pytree.flatten(after)
        specs = c.whole if c is not None else [merge.spec(x) for x in leaves]
        plans, at = [], 0
        for x, s in zip(leaves, specs):
            plans.append(self.leaf(slot, x, s, at) if s[0] != "mixed" else self.mixed(slot, x, s, at))
            at += len(merge.part_specs(s))
        if pytree.is_leaf(tree):
            return plans[0]
        order, candidates = pytree.key_order(after), self.containers.candidates(slot)

        def plan(out):
            made = stand_for(pytree.unflatten(tree, [p(out) for p in plans], order), candidates)
            return made if after is left else depending(made, left, *([first] if c is not None else []))

        return plan

    def leaf(self, slot, x, s, n):
        roll, run, still = self.roll, self.run, without_trips(self.roll, self.run, slot, x, n)
        if still is not None:
            return lambda out: still
        if isinstance(x, TracedArray):
            carried = lambda: self.params.index(roll.carried[slot].values[n])
            memory = roll.carried[slot].memory[n] if slot in roll.carried else None
            return self.array(x, slot.name, carried if slot in roll.carried else None, memory)
        if s[0] == "object" or slot not in roll.carried and not isinstance(x, TracedScalar):
            if slot not in roll.carried and not roll.surely and roll.first(slot, run) is not UNBOUND:
                return lambda out: Poison(f"{slot.name} is what it was, or {shown(x)}, as data decides at {roll.where}")
            if is_instance(x) and is_made_within(x, run):
                return lambda out: Poison(f"{slot.name} is an instance that the loop at {roll.where} has made")
            return lambda out: x
        if slot in roll.carried:
            value, last = roll.carried[slot].values[n], merge.spec(x)
            # of the last trip
            kind = last if roll.surely and last[0] != "object" and merge.type_of(last) is merge.type_of(s) else s
            return lambda out: self.number(slot, n, out[self.params.index(value)], kind)
        at = self.row(self.fresh(s), merge.absent(s), self.result(x, s), slot.name)
        return lambda out: merge.made(out[at], s)

    def mixed(self, slot, x, s, n):
        """A plan for a number of several kinds: of the last trip's, where there is one."""
        c, last = self.roll.carried.get(slot), merge.spec(x)
        if c is None:
            wide, tag = self.rows(x, s, slot.name)
            return lambda out: merge.mixed(out[wide], out[tag], s, self.roll.where)
        (value, tag), roll = c.values[n : n + 2], self.roll
        wide = lambda out: out[self.params.index(value)]
        if roll.surely and last[0] != "mixed":
            return lambda out: merge.made(cast_to(wide(out), merge.dtype_of(last)), last)
        if tag in self.params:
            return lambda out: merge.mixed(wide(out), out[self.params.index(tag)], s, roll.where)
        first = merge.operand(c.leaves(roll.first(slot, self.run))[n + 1], ("strong", tag.type.dtype))
        tagged = lambda: OPS["select"](self.begun(), merge.tag_of(x), first)
        return lambda out: merge.mixed(wide(out), tagged(), s, roll.where)

    def idle(self):
        """The tags of numbers that a trip gives one kind, and whose kind before it nobody asks: the loop need not carry
        them."""
        run, roll = self.run, self.roll
        asked = {x for e in run.trace.build.eqns for x in e.operands}
        left = [*run.values.values(), *run.heap.values(), run.code.value if run.code is not None else None]
        asked |= {m.tag for value in left for m in mixed_in(pytree.leaves(opened(value)))}
        found = set()
        for slot, c in roll.carried.items():
            tags = iter(c.values)
            for x, s in zip(pytree.leaves(formed(run.after(slot), c.model)), c.whole):
                *_, tag = [next(tags) for _ in merge.part_specs(s)]
                if s[0] == "mixed" and type(x) is not Mixed and tag not in asked:
                    found.add(tag)
        return found

    def begun(self):
        """Whether there is a first trip, as an operand of the trace around the loop."""
        if self.roll.limit is None:
            return truth(self.roll.going).value
        return (
            OPS["gt"](self.roll.limit, Lit(0, COUNTER))
            if isinstance(self.roll.limit, Value)
            else Lit(self.roll.limit.value > 0, TRUTH)
        )

    def rows(self, x, s, name=None):
        """The rows of what a leaf is carried as, one that nobody reads before the loop."""
        pairs = zip(merge.part_specs(s), merge.component_leaves(x, s))
        return [self.row(self.fresh(p), merge.absent(p), self.result(leaf, p), name) for p, leaf in pairs]

    def number(self, slot, n, value, s):
        if s == induction.INT:
            c = self.roll.carried[slot]
            induction.note_exit_value(
                c.shown[n], c.leaves(self.roll.first(slot, self.run))[n], value, current_trace().root
            )
        return merge.made(value, s)

    def fresh(self, s):
        return Value(merge.type_of(s))

    def array(self, x, name, carried=None, memory=None):
        """A plan for an array that a place holds after the last trip. carried: -> its row, if it goes from trip to
        trip."""
        member = self.births.members[memory, id(x)]
        if (plan := self.births.plan(member, name, carried)) is not None:
            return plan
        others, choices = member.others, member.choices
        if (
            not others
            and len(member.kin) == 1
            and all(self.run.owns(b) and type(b) is Storage for b in memories(x.storage))
        ):
            return self.own(x, name, carried)
        if not others:
            parts = self.leaving.parts(choices, name)
            return lambda out: handle(resolved(parts, out), x.type, seen=x._shadow)
        if (told := self.told(choices, memory)) is not None:
            return self.tagged(x, told, carried or self.result_row(x, name))
        at = carried or self.result_row(x, name)
        return lambda out: TracedArray(UnknownAlias(out[at()], others), (), x.type, x._shadow)

    def told(self, choices, memory):
        """(row of the number that says which window it is, the numbers it can be); None where no number says."""
        tags = self.tags
        if memory is not None:
            return None if memory in tags.unknown else (tags.carried(memory), tags.may[memory])
        may = tags.numbered(choices)
        if None in may:
            return None
        return self.row(self.fresh(("weak", int)), Lit(0, COUNTER), tags.result(choices)), may

    def tagged(self, x, told, at):
        row, may = told
        windows = [(n, *self.tags.windows[n]) for n in sorted(may - self.tags.own(may) - {LOST})]
        windows = [
            (Lit(n, COUNTER), self.leaving.memory(memory, None), self.leaving.chain(chain))
            for n, memory, chain in windows
        ]

        def plan(out):
            which = out[row]
            choices = [(OPS["eq"](which, n), memory(out), chain(out)) for n, memory, chain in windows]
            own = Storage(out[at()], current_trace())
            return handle([*choices, (None, own, ())], x.type, out[at()], mixed=any(chain for _, _, chain in choices))

        return plan

    def own(self, x, name, carried):
        at = carried or self.result_row(x, name)
        readonly = not x.writeable
        return lambda out: TracedArray(new(out[at()], [x], readonly), (), x.type, x._shadow)

    def result_row(self, x, name):
        s = merge.spec(x)
        at = self.row(self.fresh(s), merge.absent(s), self.result(x, s), name)
        return lambda: at

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
        outs = {completion.BREAKS: completion.LEFT, completion.RETURNS: completion.RETURNS}
        may = {outs[m] for m in completion.may(code) if m in outs}
        may |= set() if self.roll.endless and may else {completion.FALLS}
        if may == {completion.FALLS}:
            return lambda out: None
        status, plans = self.status(), []
        leaves, tree = pytree.flatten(opened(code.value))
        for leaf in leaves:
            s = merge.spec(leaf)
            if s[0] == "object":
                require_one_thing(leaf)
                if is_instance(leaf) and is_made_within(leaf, self.run):
                    leaf = Poison(f"what is returned is an instance that the loop at {self.roll.where} has made")
                plans.append(lambda out, leaf=leaf: leaf)
                continue
            if isinstance(leaf, TracedArray):
                plans.append(self.array(leaf, "what is returned"))
                continue
            rows = self.rows(leaf, s)
            plans.append(lambda out, rows=rows, s=s: merge.assembled([out[at] for at in rows], [s], merge.made)[0])
        order, candidates = pytree.key_order(code.value), self.containers.returned(code.value)

        def plan(out):
            value = plans[0](out) if pytree.is_leaf(tree) else pytree.unflatten(tree, [p(out) for p in plans], order)
            value = stand_for(value, candidates)
            ends = TracedScalar(out[status], int)
            falls = merge.pick(ends == completion.RETURNS, completion.RETURNS, completion.FALLS)
            ends = merge.pick(ends == completion.BREAKS, completion.LEFT, falls)
            return Completion(ends if len(may) > 1 else min(may), may, value)

        return plan

    def status(self):
        s = ("weak", int)
        with self.run.trace:
            last = merge.operand(self.run.code.status, s)
        return self.row(Value(merge.type_of(s)), Lit(completion.FALLS, merge.type_of(s)), last)

    def ran(self, out):
        """A name that only the body binds is unbound where no trip came: checked if it turns out to be read."""
        roll = self.roll
        new = [
            slot
            for slot, _ in self.plans
            if slot.kind == "cell" and roll.first(slot, self.run) is UNBOUND and slot.name in roll.site.middle
        ]
        needed = []
        for slot in new:
            read = ("read", roll.loop.number, slot.name)
            if on_demand(read):
                reason = f"{slot.name} is bound only where the loop at {roll.where} runs a trip"
                self.plans = [
                    (s, (lambda out, read=read, reason=reason: Poison(reason, read)) if s is slot else plan)
                    for s, plan in self.plans
                ]
            else:
                needed.append(slot.name)
        if not needed:
            return
        ok = self.begun()
        text = (
            f"cannot access local variable '{needed[0]}' where it is not associated with a value: the loop ran no trip"
        )
        current_trace().check(ok, NoTrip, message(text, roll.where))
