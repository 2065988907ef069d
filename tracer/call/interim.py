"""Plain Python in the place of a program that waits for XLA, where its calls take less time so.

What such a program runs as (`deferred.py`) is generated NumPy, which is reached by the way of calls that no code was
generated for, and whose machine code may not be optimised yet. A short program takes less time as the user wrote it.
Both are timed on calls, each of which runs once. The seconds of plain calls pay for XLA as the others do.
"""

import math
import time

from .contest import HOPELESS, array_shapes, expected, is_timed, is_worth_trying, may_answer
from .deferred import ASKED, WAITS, WAY, is_deferred

TRIES = 2  # bound: calls that each is given before one of them has the others


class Interim:
    """The calls of a Deferred that plain Python may answer. least: the seconds of the shortest so far."""

    def __init__(self, here, version):
        self.deferred = version.deferred
        self.arrays, self.expected = array_shapes(here, version), expected(version.captured.func)
        self.calls, self.least = 0, math.inf

    def is_next(self):
        """Whether plain Python is to answer a call."""
        made = self.deferred
        if made.state not in (WAITS, ASKED) or made.is_due() or made.calls <= TRIES:
            return False
        if not self.calls:
            return is_worth_trying(self.expected, made.least)
        return self.least < (HOPELESS if self.calls < TRIES else 1) * (made.least + WAY)

    def __call__(self, callee, /, *args, **kwargs):
        """The answer of a Callee's function."""
        self.deferred.pause()
        start = time.perf_counter()
        out = callee.given(*args, **kwargs)
        spent = time.perf_counter() - start
        self.calls, self.least = self.calls + 1, min(spent, self.least)
        self.deferred.seconds += spent
        return out


def interims(entry, here):
    """An Interim of each deferred version that plain Python may answer for."""
    for version in filter(is_deferred, here.versions) if may_answer(entry) else ():
        made = version.deferred
        if made.interim is None and is_timed(version):
            made.interim = Interim(here, version)
        if made.interim is not None:
            yield made.interim
