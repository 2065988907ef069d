"""A loop captured as one: its body traced on placeholders until what it carries no longer changes its type.

Carried are the names, attributes and items that a trip changes and a later one may read, and the memory
it writes. A name that a trip rebinds to another array gets memory of its own for each trip; where that
could be told apart from Python's sharing (a placeholder written while others may see it, two names that
trade places) the loop is refused.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ..common import pytree
from ..common.errors import CannotRoll, message, shown
from ..common.frames import locate
from ..guards.container_phis import candidates_within, stand_for
from ..guards.state import UNBOUND, note
from ..rewriter import completion
from ..values.array import TracedArray, TracedScalar
from ..values.capturing import capturing
from ..values.layout import layout_storages
from ..values.ranges import interval
from ..values.storage import UNKNOWN, AliasSet, Storage, current_trace
from . import fixpoint_memo, induction, merge, selections
from .branch import choose, decided, either_way
from .builtins import truth
from .emission import Emission
from .jax_arrays import is_rebound
from .lending import Lent
from .object_phis import Parts, depending, formed, is_closed, paired, require_fresh
from .raised import Escaped, answers
from .run import Run
from .sharing import arrays
from .variant_parts import VariantParts, holds_variants

PASSES = 12
REPEATED = 2  # bound: passes that each change places of other objects than the one before, under the same names
LAST = object()  # the key under which a loop has the last item of a list that it appends to
FAR = 2**57  # what counters are first taken to reach; none does


class Lying:
    """How an array lies in memory, and whether it may be written; the array itself is let go of."""

    def __init__(self, x):
        traced = isinstance(x, TracedArray)
        self.writeable = x.writeable if traced else x.flags.writeable
        self.lies = layout_storages(x) if traced else ()
        self.by_jax = is_rebound(x)
        seen = x._shadow if traced else x
        self.shadow = None if seen is None or seen.ndim < 2 or seen.flags.c_contiguous else np.empty_like(seen)

    def strides(self):
        """None where it is in row-major order."""
        return None if self.shadow is None or self.shadow.flags.c_contiguous else self.shadow.strides


class Carried:
    """A place whose value goes from trip to trip: the structure of the value and a spec a leaf.

    whole: these specs. specs: of the values that the loop carries for them, two for a number of several kinds.
    """

    def __init__(self, value, tree, whole):
        self.model = value if type(value) in (Parts, VariantParts) else None
        self.tree, self.whole, self.order = tree, whole, pytree.key_order(value)
        self.specs = [p for s in whole for p in merge.part_specs(s)]
        self.values = None  # the placeholders of the present pass
        self.memory = None  # Storage of each placeholder that is an array
        leaves = self.leaves(value)
        self.guesses = [induction.guess(x) for x in leaves]  # what those that are Python ints are taken to be
        self.shown = [(None, None) for _ in self.specs]  # what has been shown of them
        self.firsts = [Lying(x) if isinstance(x, TracedArray | np.ndarray) else None for x in leaves]
        self.parted = set()  # those that lie in memory otherwise after a trip
        self.shared = selections.keys(leaves)  # what leaves have in common with those of other places

    def leaves(self, value):
        """A value of the place as the loop carries it, leaf by leaf."""
        value = formed(value, self.model) if type(value) not in (Parts, VariantParts) else value
        if value is None and self.model is not None:
            raise CannotRoll(message("what an object has, or a name may hold, changes from trip to trip", locate()))
        return [p for x, s in zip(pytree.leaves(value), self.whole) for p in merge.component_leaves(x, s)]

    def placeholders(self, trace, name, shared):
        fresh = [
            trace.param(merge.type_of(s), name) if k is None or k not in shared else shared[k]
            for s, k in zip(self.specs, self.shared)
        ]
        self.values = [v if k is None else shared.setdefault(k, v) for v, k in zip(fresh, self.shared)]
        held = [
            self.array(n, v, trace) if s[0] == "array" else v for n, (v, s) in enumerate(zip(self.values, self.specs))
        ]
        self.memory = [x.storage if isinstance(x, TracedArray) else None for x in held]
        trace.standing.update(m for m in self.memory if m is not None)
        leaves = merge.assembled(held, self.whole, lambda x, s: x if s[0] == "array" else merge.made(x, s))
        return pytree.unflatten(self.tree, leaves, self.order)

    def array(self, n, value, trace):
        """A placeholder, which lies in memory and may be written as what the place held before the loop."""
        first, storage = self.firsts[n], Storage(value, trace)
        storage.readonly, storage.by_jax = not first.writeable, first.by_jax
        storage.lies = UNKNOWN if n in self.parted else first.lies
        return TracedArray(storage, (), None, first.shadow)

    def differ(self, n, after):
        """Note how an array that a trip leaves differs from the one before the loop -> whether more differs than was
        known."""
        first = self.firsts[n]
        if first is None or n in self.parted or not isinstance(after, TracedArray | np.ndarray):
            return False
        if first.strides() == Lying(after).strides():
            return False
        self.parted.add(n)
        return True


class Roll:
    """loop: whose body this is; turn(counter) runs it. turns: how often, or `limit`, an operand, or while `going` and
    then `test()`."""

    def __init__(self, loop, turn, turns=None, limit=None, going=True, test=None):
        self.loop, self.site, self.turn, self.test = loop, loop.site, turn, test
        known = decided(going)
        self.turns, self.limit, self.going = turns, limit, going if known is None else known
        self.slots = loop.slots
        self.before = {s: s.get() for s in self.slots}
        for x in [x for value in self.before.values() for x in arrays(value) if isinstance(x.storage, AliasSet)]:
            x.storage.settle()
        self.carried, self.stores, self.rounds = {}, [], 0
        self.where = locate()
        self.surely = turns is not None or known and limit is None  # whether there is a first trip

    # -- passes ------------------------------------------------------------------------------------
    def emit(self):
        """Capture the loop -> how it ended."""
        if fixpoint_memo.begin(self):
            try:
                run = self.settle()
                if fixpoint_memo.needed(self, run):
                    return self.emitted(run)
                run.close()
            except CannotRoll:
                pass
            self.carried, self.stores, self.rounds = {}, [], 0
        try:
            code = self.emitted(self.settle())
        except Escaped as escaped:
            if self.surely or self.carried or self.stores or not answers(escaped.error):
                raise
        else:
            fixpoint_memo.keep(self)
            return code
        return self.ends()

    def ends(self):
        """The loop whose first trip, if there is one, raises."""

        def first():
            self.turn(Lit(0, COUNTER))
            raise self.refused("some of its trips raise an exception")

        going = truth(self.going) if self.limit is None else TracedScalar(OPS["gt"](self.limit, Lit(0, COUNTER)), bool)
        with capturing(going):
            return either_way(
                going,
                first,
                lambda: None,
                self.slots,
                self.site.middle | self.site.head,
                self.loop.named,
            )

    def emitted(self, run):
        emission, lent = Emission(self, run), Lent(self, run)
        try:
            code = emission.emit()
        finally:
            emission.close()
        lent.mark()
        return code

    def settle(self):
        """The pass that assumes all that it shows."""
        self.latest, self.repeated = [], 0  # the places that the last pass came to carry, see `must_grow`
        for _ in range(PASSES):
            run = self.passed()
            known = set(self.carried)
            if not self.learn(run) and induction.ints_settled(self, run):
                break
            self.must_grow(known, run)
            run.close()
        else:
            raise self.refused("what it carries does not settle")
        return run

    def passed(self):
        """One trip on placeholders for all that is carried so far."""

        def prepare(trace):
            trace.looped = True
            self.counter = trace.param(COUNTER, self.hint())
            trace.root.bounds[self.counter] = (0, self.last())
            self.leaving, shared, self.standing, self.placed = None, {}, [], {}
            for slot, c in self.carried.items():
                if slot.kind != "cell":
                    note(slot)
                first = slot.get()
                held = c.placeholders(trace, slot.name if slot.kind == "cell" else None, shared)
                slot.set(stand_for(held, candidates_within(held, first)))
                self.placed[slot] = merge.containers(held)
                if type(c.model) is Parts:
                    self.standing.append(depending(slot.get(), first))
                induction.assume(c, trace.root.bounds)
            for slot in self.slots:
                if slot not in self.carried and slot.name not in self.site.head:
                    slot.set(UNBOUND)
            self.phis = {}
            for s in self.stores:
                self.phis[s] = trace.param(s.value.type, self.hint_of(s))
                s.write(self.phis[s])

        root = current_trace().root
        before = root.unproven
        run = Run(
            "body", self.step, [*self.slots, *(s for s in self.carried if s.kind != "cell")], prepare, self.loop.held
        )
        self.unproven = root.unproven - before
        return run

    def step(self):
        """A trip, and the question whether another follows -> how it ended; `self.leaving` is the answer."""
        self.endless = self.test is not None and self.going is True
        code = self.turn(self.counter)
        may = completion.may(code)
        stays = [m for m in may if m in (completion.FALLS, completion.CONTINUES)]
        if not stays:
            self.leaving = False
        elif len(stays) == len(may):
            self.leaving = self.asked() if self.test is not None else True
        else:
            status = code.status
            named = [s for s in self.slots if s.name in self.site.targets]  # by `:=` in the test
            going_on = lambda: choose(status < completion.BREAKS, self.asked, lambda: False, named, self.site.head)
            goes = (status < completion.BREAKS) if self.test is None else going_on()
            self.leaving = goes
        if not isinstance(self.leaving, bool):
            known = decided(self.leaving)
            self.leaving = truth(self.leaving) if known is None else known
        return code

    def asked(self):
        """The answer of the test; where it is no question, only trips end the loop."""
        answer = self.test()
        self.endless = self.endless and answer is True
        return answer

    def last(self):
        """What the counter is at most."""
        if self.turns is not None:
            return self.turns - 1
        bounds = self.limit is not None and interval(self.limit)
        return bounds[1] - 1 if bounds else 2**62

    def hint(self):
        names = sorted(self.site.targets)
        return names[0] if len(names) == 1 and self.test is None else None

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
        if any(x.stale for x in self.standing):
            raise self.refused("a trip changes an object that a name may hold since before it")
        for slot in [
            *self.slots,
            *(s for s in run.heap if s not in self.slots),
            *(s for s in self.carried if s.kind != "cell"),
        ]:
            after = run.after(slot)
            if slot in self.carried:
                more |= self.widen(slot, after, run)
            elif self.begins(slot, run, after):
                more |= self.carry(slot, self.first(slot, run), after, run)
        more = more or selections.parted(self.carried, run.after)
        for s in run.writes if not more else ():  # what is carried now may be written in place of the memory it was
            if s not in self.phis:
                self.stores.append(s)
                more = True
        return more

    def must_grow(self, known, run):
        """Refuse a loop whose passes each change other objects, made anew in each: what the one before came to carry
        stays as it was, and as many places of the same names are carried instead."""
        fresh = [s for s in self.carried if s not in known and s.kind != "cell"]
        stay = not any(fixpoint_memo.is_changed(run, s, self.carried[s]) for s in self.latest)
        same = self.latest and sorted(s.name for s in fresh) == sorted(s.name for s in self.latest)
        self.repeated = self.repeated + 1 if same and stay else 0
        self.latest = fresh
        if self.repeated == REPEATED:
            raise self.refused("what it carries does not settle")

    def first(self, slot, run):
        return self.before[slot] if slot in self.before else run.before[slot]

    def begins(self, slot, run, after):
        """Whether a later trip, or one that never comes, could see what the place held before."""
        before = self.first(slot, run)
        if before is UNBOUND and after is not UNBOUND and slot.kind in ("attribute", "item") and slot.key is not LAST:
            raise self.refused(f"{slot.name} is there after the first trip only")
        if before is UNBOUND or after is before or slot.kind == "cell" and slot.name not in self.site.head:
            return False
        if is_closed(before):
            return False
        return after is UNBOUND or not merge.alike(before, after)

    def carry(self, slot, before, after, run):
        self.must_be_bound(slot, after)
        require_fresh(run, after)
        # what is another thing in each trip is so no more once the first is written out, where that can be
        varies = holds_variants((before, after)) or self.limit is not None
        before, after = paired(before, after, slot.name, varies)
        (xs, tree), (ys, other) = pytree.flatten(before), pytree.flatten(after)
        if tree != other:
            raise self.refused(f"{slot.name} changes from {merge.described(before)} to {merge.described(after)}")
        specs = [self.joined(slot, merge.spec(x), merge.spec(y), x, y) for x, y in zip(xs, ys)]
        if any(s[0] == "object" for s in specs):
            raise self.refused(f"{slot.name} changes from {shown(before)} to {shown(after)}")
        self.start(slot, before, tree, specs)
        return True

    def start(self, slot, value, tree, specs):
        self.carried[slot] = Carried(value, tree, specs)

    def must_be_bound(self, slot, after):
        if is_closed(after):
            after.demand()
            raise self.refused(after.reason)
        if after is UNBOUND:
            raise self.refused(f"{slot.name} may be unbound after a trip")

    def joined(self, slot, a, b, x=None, y=None):
        if merge.equal(x, y) and a[0] == "object":
            return a
        found = merge.join(a, b, x, y)
        if found is None or merge.int_beyond_float(x, found, FAR) or merge.int_beyond_float(y, found, FAR):
            raise self.refused(f"{slot.name} changes from {merge.spelled(a)} to {merge.spelled(b)}")
        return found

    def widen(self, slot, after, run):
        c = self.carried[slot]
        self.must_be_bound(slot, after)
        if c.model is not None:
            require_fresh(run, after)
            like = formed(after, c.model)
            if like is None:
                return self.carry(slot, self.first(slot, run), after, run)
            after = like
        ys, other = pytree.flatten(after)
        if other != c.tree:
            raise self.refused(f"{slot.name} changes its structure from {c.tree} to {other}")
        specs = [self.joined(slot, s, merge.spec(y), None, y) for s, y in zip(c.whole, ys)]
        changed = False
        for n, y in enumerate(c.leaves(after) if specs == c.whole else ()):
            changed |= c.differ(n, y)
            if (
                c.specs[n][0] == "array"
                and n < len(c.memory or ())
                and c.memory[n] is not None
                and c.memory[n].readonly == Lying(y).writeable
            ):
                raise self.refused(f"{slot.name} may be written before a trip or after it, not both")
        if specs == c.whole:
            return changed
        self.start(slot, formed(self.first(slot, run), c.model), c.tree, specs)
        return True
