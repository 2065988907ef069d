"""Shapes that wait for a program, and come again and again: plain Python has their calls without a way to it.

To find that a shape has no program as yet takes some tens of microseconds, several times what many a function takes. So
once plain Python has answered a few calls of one, the function in front asks for it by name. What these calls take
counts as that of the others does, and one of some goes the long way, where it is decided whether programs are to be
made.
"""

import time

import numpy as np

from .contest import may_answer
from .fallback import left_to_python
from .trace_costs import cost_of, telling

MOST = 4  # bound: shapes that the function in front asks for
ONE_IN = 32  # bound: of so many calls one goes the long way
UNSERVED = "there is no program for its shapes as yet"
PLAIN = "plain Python"


class InFront:
    """The calls of one ShapeTally. arrays: as `contest.array_shapes` has them."""

    def __init__(self, entry, here, shape, cost):
        self.compiled, self.sizing, self.shape, self.cost = entry.compiled, here.sizing, shape, cost
        self.arrays = [(n, t.shape, np.dtype(t.dtype.name)) for n, t in enumerate(shape.types) if t.shape]
        self.left = ONE_IN

    def is_next(self):
        """Whether plain Python is to answer a call."""
        self.left -= 1
        if self.left < 0:
            self.left = ONE_IN
            return False
        return not self.shape.is_due(self.cost, self.compiled)

    def __call__(self, callee, /, *args, **kwargs):
        """The answer of a Callee's function."""
        start = time.perf_counter()
        try:
            with left_to_python(self.compiled, UNSERVED):
                return callee.given(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - start
            self.compiled.patience.answered(seconds)
            self.shape.answered(PLAIN, seconds, self.sizing, 0.0)


def put_in_front(entry, here, shape):
    """Have the function in front ask for a shape, unless it asks for many."""
    if not knows_shapes(here) or not may_answer(entry) or len(fronted_shapes(here)) >= MOST:
        return
    with entry.compiled.lock:
        shape.front = InFront(entry, here, shape, cost_of(telling(here)))
        entry.compiled.front.install(entry)


def in_front(entry, here):
    """The InFront of each such shape that no program of all sizes answers."""
    count = len(entry.dynamic)
    return [s.front for s in fronted_shapes(here) if here.sizing.answering(s.types[:count]) is None]


def fronted_shapes(here):
    return [shape for shape in list(here.shapes.values()) if shape.front is not None]


def knows_shapes(here):
    """Whether the programs of a set say at once that a shape is another's, as those of jax do not."""
    return bool(here.straight) or all(v.engine for v in here.versions)
