"""The search for a family, spread over calls: none makes all of its traces, and a trace begins only where that would
have the search take no longer than calls that no program answered.

Samples are kept by their sizes. A call goes on where the last one has stopped, with the comparisons made anew, which
for short programs take longer than their traces do. What all samples have relied on must hold to the end: else the
search begins anew.
"""

import math
import time

from ...ir.amounts import in_time
from ..common.terminal import several
from ..guards.guard import Guard
from ..rules import rules
from .sampling import Unsampled


class SearchPaused(Exception):
    """The rest of a search is another call's."""


class FamilySearch:
    """observed: the types of the calls that it learns from; seconds: what it has taken; allowed: what it may take;
    found: the SizeFamily, once there is one; larger: whether it is among the larger of the sizes observed."""

    def __init__(self, observed):
        self.observed, self.seconds, self.allowed = observed, 0.0, math.inf
        self.made, self.last, self.begun = {}, 0.0, None
        self.found, self.larger = None, False

    @property
    def due(self):
        """Seconds that calls have taken when it goes on."""
        return self.seconds + (self.last if self.found is None else self.seconds)

    def __enter__(self):
        self.begun = time.perf_counter()

    def __exit__(self, *raised):
        self.seconds, self.begun = self.taken(), None

    def taken(self):
        return self.seconds + (0.0 if self.begun is None else time.perf_counter() - self.begun)

    def told(self):
        """How far it is, as text."""
        traces = several(len(self.made), "trace")
        when = f"is looked for further when such calls have taken {in_time(self.due)} in all"
        return f"{traces} at other sizes, {in_time(self.seconds)} so far; {when}"

    def sample_of(self, sizes, make):
        """What `make` gives at these sizes, or raises, made once. SearchPaused where that is for another call."""
        key = tuple(sizes.items())
        if key not in self.made:
            start = time.perf_counter()
            if self.taken() + self.last > self.allowed:
                raise SearchPaused
            try:
                self.made[key] = make()
            except Unsampled as error:
                self.made[key] = error.with_traceback(None)
            self.last = time.perf_counter() - start
        found = self.made[key]
        if isinstance(found, Unsampled):
            raise found
        return found

    def settle_on(self, family):
        """Note the family. What is made of it takes about as long as it took, and is for another call where that is too
        long for this one."""
        self.found = family
        if 2 * self.taken() > self.allowed:
            raise SearchPaused

    def holds(self):
        """Whether all is as it was when the samples were made."""
        versions = [s.version for s in self.made.values() if not isinstance(s, Unsampled)]
        reads = {id(r): r for v in versions for r in v.captured.outside.reads.values()}
        return all(v.rules == rules.in_force() for v in versions) and Guard(reads.values()).holds()
