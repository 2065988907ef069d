"""Which functions plain Python runs now in this thread. A call of such a function by itself is plain Python's too.

Of a function that calls itself and is not captured, the calls within could be told apart, traced and refused one by
one: a search that takes plain Python milliseconds would take seconds, and any such call some ten times as long. What a
call in front knows is still answered by its program.
"""

import threading
from itertools import chain

from ...backends.xla import dispatch
from ..rules import rules
from ..values.storage import current_trace
from .patience import NUMBERS

CONTAINERS = {list, tuple, dict}


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
    """Whether a call is made by the function itself, which plain Python runs, and is given no arrays of jax's, nor
    anything but what plain Python would compute with."""
    if compiled not in RUNS.depths or compiled.debug is not None or current_trace() is not None:
        return False
    given = (*args, *kwargs.values()) if kwargs else args
    kinds = set(map(type, given)) - NUMBERS
    if kinds & CONTAINERS:
        held = [x.values() if type(x) is dict else x for x in given if type(x) in CONTAINERS]
        kinds |= set(map(type, chain(*held))) - NUMBERS
    return not any(map(dispatch.is_device_type, kinds)) and not rules.numbers_change()
