"""Programs of symbolic sizes in the call path: when a function is generalised, and how its calls are then answered.

A `SizeFamily` (`family.py`) is looked for when calls of new shapes have taken as long as finding one takes, which the
traces that there are tell; where no plain Python answers such calls, at the third shape. Its one function for all sizes
(`program/size_free.py`) stands among those of the set of traces under whose guard it was found, behind tests of sizes
and facts. A call that it does not answer goes the way it would go without. Where there is no such function, the program
of a shape that has paid is made of the family's, without a trace.
"""

import math
import time

from ...ir import collector
from ...ir.amounts import in_time
from ...ir.generic import Unalike
from ..common import events
from ..program.specialisation_set import takes_now
from .contest import expected_in_plain
from .family import NoFamily, family
from .observed import as_if_changed, larger, without_small
from .receipt import loop_trip_counts
from .search import FamilySearch, SearchPaused
from .size_facts import shown_sizes
from .symbolic import Symbolic
from .trace_costs import warm_trace_cost

TRACES = 12  # bound: traces that finding a family costs, with all that is compared, as it is estimated
BEGUN = 3  # bound: those that calls have taken before, when it begins, and is shared by more of them
WIDER = 3  # bound: those that a larger range takes
TIMES = 1.0  # bound: times the estimated cost that calls have taken before
CALM = 3.0  # bound: times that again where there is no loop: a program saves little of what NumPy takes then
MOST = 4  # bound: families of one set of traces: other facts, or other axes that change
TRIES = 3  # bound: times that a family is looked for in vain
SHORT = 0.25  # bound: seconds of compilation, and of calls of plain Python, that are few
SHARE = 0.25  # bound: seconds of one call that go into a search which others share, at least
SEEN = 16  # bound: shapes of which names are learnt, the first and the latest


class Sizing:
    """What a set of traces knows of sizes. families: the Symbolics; spent: seconds that calls of new shapes have taken
    since one was last looked for; times: as many times what a search costs they have to take before; failed: how often
    there was none, and why. func: of a program of theirs."""

    def __init__(self, func):
        self.families, self.spent, self.failed, self.why = [], 0.0, 0, None
        self.search = None  # for a family, that calls share
        self.times = TIMES if next(loop_trip_counts(func), None) else CALM * TIMES
        self.forgotten = 0  # calls of shapes that are not remembered any more
        self.plain = {}  # version -> what `expected_in_plain` says of its program
        self.longest = 0.0  # seconds of the longest call that no program answered

    def fitting(self, types):
        """The Symbolic whose names and facts are those of these types, unless it was found to be another program at
        sizes of other remainders, which these leave."""
        for made in self.families:
            sizes = made.family.names.sizes_of(types)
            if sizes is not None and made.family.holds(sizes) and not made.is_another(tuple(sizes.values())):
                return made
        return None

    def working(self, types):
        """The same, where it has a function; None else: among larger sizes there may be one that has."""
        known = self.fitting(types)
        return known if known is not None and known.free is not None else None

    def ends_soon(self, version, types, cost):
        """Whether a call of other shapes than a version's takes no more, uncompiled, than to make a version takes, as
        far as is known. types: of its arguments and of what it takes in from outside."""
        if version not in self.plain:
            self.plain[version] = expected_in_plain(version)
        seconds, known = self.plain[version]
        if seconds is None or not known and self.longest > max(cost, SHORT):
            return False
        params = zip(version.places, version.captured.func.params)
        pairs = [(types[place].size, p.type.size) for place, p in params if place < len(types)]
        size, before = map(sum, zip(*pairs, (0, 0)))
        return seconds * max(1.0, size / max(before, 1)) <= max(cost, SHORT)

    def is_exact(self, types):
        """Whether a family leaves these sizes to a program of their own."""
        known = self.fitting(types)
        return known is not None and known.sizes(types) in known.exact

    def answering(self, types):
        """The Symbolic whose function answers calls of these types, None where there is none."""
        known = self.working(types)
        if known is None or known.sizes(types) in known.exact:
            return None
        return known if known.family.serves(types) is not None else None

    def allowed(self, eager):
        """Seconds that a search may take in one call; what follows one in vain is shared whatever answers calls."""
        share = max(self.spent, SHARE) if eager else self.spent / (self.times or 1.0)
        return max(share, self.search.due) if self.times and (self.failed or not eager) else math.inf

    def is_time(self, cost, traces, observed, eager):
        """Whether one is to be looked for, by so many traces. eager: there is no plain Python for such calls."""
        if self.failed >= TRIES:
            return False
        if self.search is not None and self.allowed(eager) < math.inf:
            return self.spent >= (TIMES if eager else self.times) * self.search.due
        if eager:
            return traces == WIDER or observed >= 3 * 2**self.failed
        return self.spent >= self.times * traces * cost * 4**self.failed


def may_be_family(here):
    """Whether a set of traces may have one: nothing is drawn, or chosen by value."""
    return here.draws is None and here.drawing is None and all(v.tree is None for v in here.versions)


class Generalising:
    """The part of `SignatureEntry` that finds families."""

    def symbolic_set(self, types):
        """The set of traces in which a program of symbolic sizes answers calls of these types now, or None."""
        answer = lambda here: here.sizing is not None and here.sizing.answering(types) is not None and here.holds()
        return next(filter(answer, self.worlds), None)

    def generalised(self, here, types, sibling, eager):
        """Whether a family answers calls of these types now that none answered before: of leaves of a call. sibling: a
        version that tells what a trace takes."""
        sizing, eager = here.sizing, eager or self.compiled.dynamic is not None
        cost = warm_trace_cost(here, sibling)
        if not may_be_family(here) or not sizing.is_time(cost, WIDER, 3 * 4**TRIES, eager):
            return False
        known = sizing.working(types)
        if known is not None and (sizing.is_exact(types) or known.family.serves(types) is not None):
            return False
        count = len(here.versions) + len(here.served) + len(here.shapes)  # no more than will be observed
        traces = TRACES if sizing.failed else BEGUN
        if known is None and not sizing.is_time(cost, traces, count + 1, eager):
            return False
        observed = self.observed(here, types)
        if types not in observed:
            return False
        if known is not None:
            return self.widen(known, here, types)
        observed = [t for t in observed if sizing.working(t) is None]
        if len(observed) < 2 or not sizing.is_time(cost, traces, len(observed), eager):
            return False
        made = self.searched(here, observed, eager)
        return made is not None and made.free is not None and made.family.serves(types) is not None

    def searched(self, here, observed, eager):
        """The Symbolic of calls of these types; None where there is none, or the search goes on in other calls."""
        sizing = here.sizing
        if sizing.search is None or not sizing.search.holds():
            sizing.search = FamilySearch(observed)
        search = sizing.search
        search.allowed = sizing.allowed(eager)
        made = None
        try:
            with search:
                if not search.larger:
                    made = self.generalise(here, search.observed, search)
                    search.larger, search.found = made is None, None
                made = made or self.generalise(here, larger(search.observed), search)
        except SearchPaused:
            events.report("trace", "searching", search.told, search.seconds, of=self.compiled)
            return None
        sizing.search, sizing.spent = None, 0.0
        sizing.failed += made is None or made.free is None
        if made is not None:
            made.seconds = search.seconds
            self.report_family(made, "symbolic", made.seconds)
        return made

    def widen(self, known, here, types):
        """Whether a family answers calls of these types from now on, which lie beyond its range."""
        sizes, start = known.sizes(types), time.perf_counter()
        if known.is_beyond(sizes):
            return False
        here.sizing.spent = 0.0
        try:
            wider = known.widened(self, here, types)
        except Exception as error:  # a call is answered all the same
            wider, here.sizing.why = False, f"{type(error).__name__}: {events.first_line(error)}"
        if not wider:
            known.beyond.append(sizes)
            text = lambda: f"is another program at {shown_sizes(known.family.names.sizes_of(types))}"
            events.report("trace", "not wider", text, time.perf_counter() - start, of=self.compiled)
            return False
        self.report_family(known, "wider", time.perf_counter() - start)
        return known.free is not None

    def generalise(self, here, observed, search):
        """The Symbolic of calls of these types, None where there is none."""
        if len(observed) < 2:
            return None
        sizing = here.sizing

        def find():
            if search.found is None:
                search.settle_on(family(self, observed, search))
            with collector.waiting():
                return Symbolic(self, here, search.found)

        found = self.sought(find, sizing)
        if found is not None:
            sizing.families = [found, *sizing.families][:MOST]
        return found

    def begin_sizes(self, here, version):
        """Find a family at the first trace, where `dynamic=` says what changes."""
        asked = self.compiled.dynamic
        if not asked or here.sizing is not None or not self.learns() or not may_be_family(here):
            return
        here.sizing = Sizing(version.func)
        other = as_if_changed(version.types, self.names, asked)
        if other != version.types:
            self.searched(here, [version.types, other], True)
            here.sizing.failed = 0

    def of_family(self, here, types, reason):
        """The Specialisation of a shape that has paid, of a family's and not traced; None where there is no family."""
        start = time.perf_counter()
        known = None if here is None or here.sizing is None else here.sizing.fitting(types)
        sizes = known and known.family.serves(types)
        if not sizes or self.compiled.cache.keeps:  # files are of traces
            return None
        try:
            version = known.family.version(sizes)
        except Exception as error:  # it is traced
            here.sizing.why = f"{type(error).__name__}: {events.first_line(error)}"
            return None
        if not takes_now(version, types):
            return None
        version.reason, version.trace_seconds = reason, time.perf_counter() - start
        return version

    def may_be_generalised(self, here):
        """Whether a family may be looked for at the next call that none answers."""
        eager = not self.plain_serves(here) or self.compiled.dynamic is not None
        cost = warm_trace_cost(here, here.versions[-1])
        return may_be_family(here) and here.sizing.is_time(cost, WIDER, 3 * 4**TRIES, eager)

    def sought(self, find, sizing):
        """What `find` gives, None where there is no family; that is remembered."""
        start = time.perf_counter()
        try:
            return find()
        except SearchPaused:
            raise
        except (NoFamily, Unalike) as error:
            sizing.why = str(error)
        except Exception as error:  # a call is answered all the same
            sizing.why = f"{type(error).__name__}: {events.first_line(error)}"
        text = f"has no program of all sizes: {sizing.why}"
        events.report("trace", "not symbolic", text, time.perf_counter() - start, of=self.compiled)
        return None

    def observed(self, here, types):
        """The types of the leaves of calls under a guard, of the same dtypes and ranks, without sizes below two where
        sizes change."""
        every = [v.types for v in here.versions if v.symbolic is None]
        every += [full[: len(types)] for full in (*here.served, *here.shapes)]
        alike = lambda t: all(a.dtype == b.dtype and a.ndim == b.ndim for a, b in zip(t, types))
        found = list(dict.fromkeys(t for t in (*every, types) if alike(t)))
        found = [*found[:2], *found[max(2, len(found) - SEEN) :]]
        return without_small(found)

    def report_family(self, made, kind, seconds):
        text, facts = lambda: f"{'; '.join(made.family.texts())}, found in {in_time(seconds)}", made.family.told_facts()
        events.report("trace", kind, text, seconds, of=self.compiled, facts=facts)
