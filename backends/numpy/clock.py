"""When the statements of generated NumPy have run: what `Statements(clock=...)` tells of each equation."""

import time


class StatementClock:
    """eqns: the equations that have statements, those of bodies of loops and branches too, in the order they were
    written; spent, times, first: of each, the seconds it took in all, how often it ran, and when its first run began.

    An equation is given what has passed since the mark before it: one with a body what is left beside its body.
    """

    def __init__(self):
        self.eqns, self.spent, self.times, self.first, self.begun, self.last = [], [], [], [], 0.0, 0.0

    def begin(self):
        """Forget the run before; the next begins now."""
        count = len(self.eqns)
        self.spent, self.times, self.first = [0.0] * count, [0] * count, [0.0] * count
        self.begun = self.last = time.perf_counter()

    def mark(self, k):
        """The statements of the k-th equation have run."""
        now = time.perf_counter()
        if not self.times[k]:
            self.first[k] = self.last
        self.spent[k] += now - self.last
        self.times[k] += 1
        self.last = time.perf_counter()
