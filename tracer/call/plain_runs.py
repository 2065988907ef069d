"""Which functions plain Python runs now in this thread. A call of such a function by itself is plain Python's too.

Of a function that calls itself and is not captured, the calls within could be told apart, traced and refused one by
one: a search that takes plain Python milliseconds would take seconds, and any such call some ten times as long. What a
call in front knows is still answered by its program.
"""

import threading

from ..rules import rules
from ..values.storage import current_trace
from .patience import are_all_plain


class PlainRuns(threading.local):
    """depths: Compiled -> how many calls of it plain Python runs, one within the other."""

    def __init__(self):
        self.depths = {}


RUNS = PlainRuns()


class PlainRun:
    """A `with` around a call of a Compiled that plain Python answers."""

    __slots__ = ("compiled",)

    def __init__(self, compiled):
        self.compiled = compiled

    def __enter__(self):
        RUNS.depths[self.compiled] = RUNS.depths.get(self.compiled, 0) + 1

    def __exit__(self, *_):
        depths, compiled = RUNS.depths, self.compiled
        depths[compiled] -= 1
        if not depths[compiled]:
            del depths[compiled]


def calls_itself(compiled, args, kwargs):
    """Whether a call is made by the function itself, which plain Python runs, and may be plain Python's too."""
    if compiled not in RUNS.depths or compiled.debug is not None or current_trace() is not None:
        return False
    return are_all_plain(args, kwargs) and not rules.numbers_change()
