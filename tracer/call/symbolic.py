"""A program of symbolic sizes in use: which calls it answers, by what function, and which are left to others."""

import itertools
import time

from ..guards.guard import Guard
from ..program import backend_choice
from ..program.numpy_function import MISS, NumPyCall
from ..program.specialisation_set import input_key
from .deferred import is_deferred
from .family_nests import READY, FamilyNests
from .laddered import FASTER, Laddered
from .narrowing import function_for
from .trace_costs import own_cost

LEAST_COST = 0.05  # bound: seconds that calls of one size take before it has a program of its own, at least
FARTHEST = 16  # bound: sizes at which a family's program was found to be another, until it is widened no more


class Symbolic:
    """A family in use. version: the Specialisation that stands for it in its set; free: its SizeFree, or None and
    `why`; nests: a FamilyNests, which makes one of machine code; spent: {sizes: (calls, seconds)}; exact: sizes that
    are for programs of their own; seconds: that finding it took; beyond: sizes at which the program is another."""

    def __init__(self, entry, here, found):
        self.version = None
        self.spent, self.exact, self.seconds = {}, set(), 0.0
        self.laddered = self.nests = None
        self.beyond = []
        self.family, self.free, self.why = function_for(entry, found)
        self.join(entry, here)

    def join(self, entry, here):
        """Stand in a set of traces, with all that the samples have relied on."""
        for sample in self.family.specialisations:
            for place, read in sample.captured.outside.reads.items():
                if place not in here.reads or here.reads[place].weaker(read):
                    here.reads[place] = read
        if self.free is None:
            here.guard = Guard(here.reads.values())
            return
        known = {v.types for v in here.versions}
        ours = self.family.specialisations
        self.version = next((v for v in reversed(ours) if v.types not in known), ours[-1])
        inputs = list(map(input_key, self.version.captured.inputs))
        if list(map(input_key, here.inputs))[: len(inputs)] != inputs[: len(here.inputs)]:
            self.free, self.why = None, "what it takes in from outside comes in another order than in other traces"
            here.guard = Guard(here.reads.values())
            return
        self.version.symbolic, self.version.reason = self, "sizes change from call to call"
        here.add(self.version)
        backend_choice.stand_by(entry, here, self.version)
        self.exact = {self.sizes(v.types) for v in here.versions if not v.engine or is_deferred(v)}
        self.nests = FamilyNests.of(entry, self)
        self.settle(entry, here)

    def sizes(self, types):
        """The sizes of a call of these types, in the order of the names; None where they are not of these names."""
        found = self.family.names.sizes_of(types)
        return None if found is None else tuple(found.values())

    def is_beyond(self, sizes):
        """Whether the program is another at sizes of like remainders that are no farther from the range."""
        least, most = self.family.ranges.least.values(), self.family.ranges.largest.values()
        if len(self.beyond) >= FARTHEST:
            return True
        farther = lambda n, k, low, high: n <= k if k < low else n >= k if k > high else True
        like = [at for at in self.beyond if self.has_remainders(at) == self.has_remainders(sizes)]
        return any(all(map(farther, sizes, at, least, most)) for at in like)

    def has_remainders(self, sizes):
        return self.family.ranges.has_remainders(dict(zip(self.family.names.names, sizes)))

    def is_another(self, sizes):
        """Whether sizes leave remainders that no sample has, as some do at which the program is another."""
        return bool(self.beyond) and not self.has_remainders(sizes) and not all(map(self.has_remainders, self.beyond))

    def settle(self, entry, here):
        """Have the function for all sizes answer from the next call on."""
        with backend_choice.as_asked(entry):
            call = self.free.call(self.tests())
        if self.laddered is None:
            self.laddered = Laddered.of(entry, here, self.family, call, len(call.reads))
        else:
            self.laddered.numpy = call
        self.version.straight = self.counted(call, entry, here)
        here.straight = [v.straight for v in here.versions if v.straight is not None]
        entry.postponed = True

    def tests(self):
        """Conditions on the sizes of a call, beside those of its function."""
        return [*self.family.told_facts(), *order_tests(self.family.ranges.orders, list(self.family.names.names))]

    def take_nests(self, entry, here):
        """Have the function with machine code for straight lines answer, which was made on another thread."""
        with entry.compiled.lock:
            free = self.nests.taken()
            if free is not None:
                self.free = free
                if self.laddered is not None:
                    self.laddered.steps.clear()  # were compared with the other one
                self.settle(entry, here)

    def counted(self, made, entry, here):
        """A NumPyCall that does what another does, and knows which sizes recur: those of a step of the ladder that is
        faster are answered by that, and of those whose calls have taken as long as a program of their own would, it
        says MISS. Calls in a row of one size wait for nothing else that is made for many."""
        inner, spent, exact, laddered, nests = made.call, self.spent, self.exact, self.laddered, self.nests
        more = self.free.more
        at = [(len(made.reads) + leaf, axis, more[n]) for n, (leaf, axis) in self.family.names.names.items()]
        clock, steps = time.perf_counter, {}
        last, in_row, row_seconds = None, 0, 0.0  # sizes of the last call, calls in a row of them, and what they took

        def call(*given):
            nonlocal last, in_row, row_seconds
            try:
                sizes = tuple([given[place].shape[axis] - k for place, axis, k in at])
            except IndexError:  # of fewer axes
                return MISS
            if sizes in exact:
                return MISS
            if nests is not None and nests.state is READY:
                self.take_nests(entry, here)
                return MISS
            step = steps.get(sizes)
            if step is not None and step.state is FASTER and (out := laddered.answer(step, given)) is not MISS:
                return out
            start = clock()
            out = inner(*given)
            if out is not MISS:
                calls, seconds = spent.get(sizes, (0, 0.0))
                took = clock() - start
                spent[sizes] = calls + 1, seconds + took
                seconds += took
                if sizes != last:
                    last, in_row, row_seconds = sizes, 0, 0.0
                in_row, row_seconds = in_row + 1, row_seconds + took
                if laddered is not None:
                    step = step or steps.setdefault(sizes, laddered.step(sizes))
                    laddered.spent(step, sizes, took, given, in_row)
                if nests is not None:
                    nests.took(took, made, given, in_row)
                hopes = step and laddered.hopes(step) or nests and nests.hopes()
                if seconds >= LEAST_COST and (row_seconds if hopes else seconds) >= own_cost(here):
                    exact.add(sizes)
            return out

        return NumPyCall(call, False, made.function, made.reads, made.stores)

    def widened(self, entry, here, types):
        """Whether it serves these types, too, from now on."""
        verified, ranges = [*self.family.verified], self.family.ranges
        if not self.family.extended(types):
            return False
        if self.free is not None:
            for sizes in self.family.verified[len(verified) :]:
                with backend_choice.as_asked(entry):
                    agrees = self.free.agrees(self.family.version(sizes), sizes)
                if not agrees:  # it is another function there
                    self.family.verified, self.family.ranges = verified, ranges
                    return False
            self.settle(entry, here)
        return True


def order_tests(orders, names):
    """Conditions that each two sizes compare as in one of the samples; none where there is one size."""
    pairs = list(itertools.combinations(names, 2))
    sign = {1: ">", -1: "<", 0: "=="}
    ways = [" and ".join(f"{a} {sign[s]} {b}" for (a, b), s in zip(pairs, order)) for order in sorted(orders)]
    return [" or ".join(f"({way})" for way in ways)] if pairs else []
