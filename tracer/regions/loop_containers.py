"""Lists and dicts that places hold after a captured loop: which of those that are seen elsewhere too each may be.

What a trip makes, and leaves in one place, is a new list after the loop. What stood there before, or in two places at
once, is one object of which the names are several (`guards/container_phis.py`).
"""

import collections
import sys

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards.container_phis import candidates_within, stand_for
from ..guards.state import UNBOUND, regions
from . import merge
from .merge import containers
from .object_phis import is_poison
from .sharing import put_back, taken_out

OWN_REFERENCES = 4  # by the one who holds it, and by what counts here


class LoopContainers:
    """finals: the places whose values a loop changes, and what a trip leaves in each."""

    def __init__(self, roll, run, finals):
        self.roll, self.run = roll, run
        held = [(slot, after) for slot, after in finals if self.holds(after)]
        self.unseen = {at for slot, _ in held for at in self.unseen_before(slot)}
        self.inside = {*run.trace.region.owned, *run.trace.container_phis}  # ids of what the body has made
        self.found = {slot: self.may_be(slot, after) for slot, after in held}
        self.follow_trips()
        self.places = collections.Counter([at for of in self.found.values() for at in {at for c in of for at in c}])

    @staticmethod
    def holds(x):
        return x is not UNBOUND and not is_poison(x) and bool(containers(x))

    def may_be(self, slot, after):
        """For each list and dict in what a trip leaves, id -> those that it may be after the loop."""
        found = candidates_within(after, after, self.run.trace)
        first = self.roll.first(slot, self.run)
        if not self.roll.surely and self.holds(first):
            found = [{**of, **others} for of, others in zip(found, candidates_within(after, first), strict=True)]
        return found

    def follow_trips(self):
        """What a place holds that another held before a trip may be all that this one may be after one, but for what
        each trip makes: `t = p; p = a` leaves a in t after two trips."""
        placed = self.roll.placed.items()
        before = {id(x): of for slot, held in placed for x, of in zip(held, self.found.get(slot, ()))}
        todo = [of for found in self.found.values() for of in found]
        while todo:
            todo = [of for of in todo if self.followed(of, before)]

    def followed(self, of, before):
        """Add to the candidates of a list or dict those of the places that it may come from -> whether there are new
        ones. before: id of what a place holds before a trip -> its candidates after one."""
        count, made = len(of), self.run.trace.region.owned
        for others in [before[at] for at in of if at in before]:
            of.update({at: x for at, x in others.items() if at not in made})
        return len(of) > count

    def candidates(self, slot):
        """Likewise, of those that are seen elsewhere too."""
        return [{at: x for at, x in of.items() if self.is_seen(at)} for of in self.found.get(slot, ())]

    def returned(self, value):
        """Likewise, of what a trip returns."""
        self.require_unchanged("what is returned", value)
        found = candidates_within(value, value, self.run.trace) if self.holds(value) else []
        return [{at: x for at, x in of.items() if at not in self.inside or self.places[at]} for of in found]

    def is_seen(self, at):
        return self.places[at] > 1 or at not in self.inside and at not in self.unseen

    def known(self, slot, after, first):
        """A plan for a place that needs no row of the loop for its lists and dicts, else None. first: what is there
        before."""
        if self.stays(slot, after):
            return lambda out: after
        self.require_unchanged(slot.name, after)
        if slot in self.roll.carried or self.roll.surely or not merge.alike(first, after):
            return None
        candidates = self.candidates(slot)  # the same items, in another list
        return lambda out: stand_for(after, candidates)

    def stays(self, slot, after):
        """Whether a place holds the very list or dict from before the loop that each trip leaves in it, if it holds
        anything."""
        if not isinstance(after, list | dict) or slot in self.roll.carried:
            return False
        if not self.roll.surely and self.roll.first(slot, self.run) is not UNBOUND:
            return False
        held = zip(containers(after), self.found[slot])
        return all(list(of) == [id(c)] and id(c) not in self.inside for c, of in held)

    def require_unchanged(self, name, after):
        """Refuse what a trip leaves where it holds a list or dict from before the loop, whose items the loop changes:
        these are as before by now, and what the program has for them is the other name's."""
        changed = {id(s.owner) for s in self.run.heap if s.kind == "item"} | set(self.roll.loop.growing)
        may_be = [at for of in candidates_within(after, after, self.run.trace) for at in of]
        if any(at in changed and at not in self.inside for at in may_be):
            text = f"{name} may be, after a loop, a list or dict from before it whose items it changes"
            raise CannotRoll(message(text, locate(), "Use one name for it, and bind it before the loop."))

    def unseen_before(self, slot):
        """The ids of the lists and dicts that a variable held before the loop, if nobody else sees any of them."""
        value = taken_out(self.roll, self.run, slot)
        if value is None:
            return ()
        try:
            kept = collections.Counter(id(x) for x in self.kept())
            alone = type(value) is not tuple or sys.getrefcount(value) == 2
            alone = alone and all(sys.getrefcount(c) - kept[id(c)] <= OWN_REFERENCES for c in containers(value))
            return {id(c) for c in containers(value)} if alone else ()
        finally:
            put_back(self.roll, self.run, slot, value)

    def kept(self):
        """What the records of traces and of the loop hold, as often as they do."""
        yield from self.roll.loop.held
        trace = self.run.trace
        while trace is not None:
            for phi in trace.container_phis.values():
                yield phi.container
                yield from phi.sources.values()
            trace = trace.parent
        for region in regions():
            yield from region.owned.values()
