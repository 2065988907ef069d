"""Sizes that change: a call of a new shape waits for no compiler.

The first shape of a function is traced and compiled in the call. Another shape under the same guard, of the same dtypes
and ranks, is answered at once: by plain Python, or where there is none (derivatives, `whole=True`) by a trace that runs
as generated NumPy. Nothing is compiled for a shape that has come once. One that comes again is compiled when such calls
have taken as long as its compilation would, as far as its siblings tell, or when it has come often and compilation is
short.

What may take much longer uncompiled than it takes to compile is not left waiting: loops whose trips data decide, and
programs of very many steps, are traced and compiled at first sight as ever.
"""

import logging
import time

from ...backends import forked
from ...backends.xla.processes import is_one_of_several
from ...ir.types import type_of
from ..common import events
from ..guards import isolation
from ..program import backend_choice
from ..program.specialisation_set import SpecialisationSet
from ..values.storage import current_trace
from . import baseline
from .contest import expected
from .fallback import left_to_python
from .receipt import loop_trip_counts

OFTEN = 8  # bound: calls of a shape after which it is compiled, where that takes
SHORT = 0.25  # bound: no more seconds than this
KEPT = 1024  # bound: shapes without a program that a set of traces remembers, the latest
UNSERVED = "there is no program for its shapes as yet"
PLAIN, NUMPY = "plain Python", "generated NumPy"


class NewShape(Exception):
    """A call of a shape that is not to be compiled as yet; `shape`: its ShapeTally."""

    def __init__(self, shape):
        super().__init__(shape)
        self.shape = shape


class ShapeTally:
    """The calls of one combination of types that no program has answered. by: who has, how often; seconds: how long
    they took; due: whether it is to be compiled whatever they took."""

    __slots__ = ("types", "by", "seconds", "due")

    def __init__(self, types):
        self.types, self.by, self.seconds, self.due = types, {}, 0.0, False

    def answered(self, who, seconds):
        self.by[who] = self.by.get(who, 0) + 1
        self.seconds += seconds

    def is_due(self, cost):
        """Whether it is to have a program of its own, which takes `cost` seconds to make."""
        calls = sum(self.by.values())
        return self.due or calls > 0 and (self.seconds >= cost or calls >= OFTEN and cost < SHORT)


class NewShapes:
    """The part of `SignatureEntry` that answers them."""

    def learns(self):
        """Whether shapes may wait for their programs here."""
        compiled = self.compiled
        return (
            compiled.dynamic is not False
            and self.numpy
            and compiled.device is None
            and not forked.Process.forked
            and not is_one_of_several()
            and current_trace() is None
            and (compiled.dynamic is not None or backend_choice.asked(self) != "xla")
        )

    def hold_back(self, types, here):
        """Whether the trace of a call would differ from others under this guard in shapes alone, and is to be made now.
        Raises NewShape where it is not."""
        if not self.learns():
            return False
        here = here or next((w for w in self.worlds if w.draws is not None and w.holds()), None)
        if here is None:
            return False
        full = types if here.draws is not None else (*types, *map(type_of, here.gather()))
        sibling = next((v for v in reversed(here.versions) if differ_in_shape(full, v)), None)
        if sibling is None:
            return False
        cost = cost_of(sibling)
        if not ends_soon(sibling, full, cost):
            return False
        shape = here.shapes.get(full)
        if shape is None:
            shape = here.shapes[full] = ShapeTally(full)
            if len(here.shapes) > KEPT:
                del here.shapes[next(iter(here.shapes))]
        if not shape.is_due(cost):
            raise NewShape(shape)
        here.served[full] = here.shapes.pop(full)
        self.take_over(types, here)
        return True

    def unserved(self, here, everything):
        """The NewShape of a call of which it is known that nothing serves it, None where nothing is known."""
        shape = here.shapes.get(tuple(map(type_of, everything)))
        if shape is None or shape.is_due(cost_of(here.versions[-1])):
            return None
        return NewShape(shape)

    def meanwhile(self, leaves, new, given):
        """The call, by what is there."""
        shape, start = new.shape, time.perf_counter()
        if self.falls_back():
            try:
                with isolation.calling(), left_to_python(self.compiled, UNSERVED):
                    return self.uncaptured(leaves, given)
            finally:
                shape.answered(PLAIN, time.perf_counter() - start)
        with self.compiled.lock:
            found = baseline.interpreted(self, SpecialisationSet, leaves, aside=True)
        if found is None:  # it acts on the world: it is compiled at once
            shape.due = True
            return self.first(*leaves, given=given)
        here, version, everything = found
        try:
            return self.settle(here, version, baseline.results(version, everything), everything, given)
        finally:
            seconds = time.perf_counter() - start
            shape.answered(NUMPY, seconds)
            text = lambda: f"ran as generated NumPy ({self.shown_types(version.types)}): {UNSERVED}"
            events.report("trace", "new shape", text, seconds, of=self.compiled, level=logging.DEBUG)

    def take_over(self, types, here):
        """Let the trace that has answered calls of these types be the one that is compiled."""
        known = next((w for w in self.interpreted if w.versions[0].types == types), None)
        if known is not None:
            self.interpreted.remove(known)
            self.ahead = known.versions[0]
            self.ahead.reason = self._reason(types, here)


def differ_in_shape(types, version):
    """Whether these types and those that a version takes differ in shapes alone."""
    params = [p.type for p in version.captured.func.params]
    if len(version.places) != len(params) or max(version.places, default=-1) >= len(types):
        return False
    pairs = [(types[place], t) for place, t in zip(version.places, params)]
    return all(a.dtype == b.dtype and len(a.shape) == len(b.shape) for a, b in pairs) and any(
        a is not b for a, b in pairs
    )


def cost_of(version):
    """Seconds that it took to make a version."""
    compiled = max(version.first_seconds or 0.0, version.compile_seconds or 0.0)
    return version.trace_seconds + version.pass_seconds + compiled


def ends_soon(version, types, cost):
    """Whether a call of other shapes than a version's surely takes no more, uncompiled, than it takes to make a
    version."""
    func = version.captured.func
    if not all(times is not None and sure for times, sure in loop_trip_counts(func)):
        return False
    size = lambda found: sum(t.size for t in found)
    growth = max(1.0, size(types) / max(size(version.types), 1))
    return expected(func) * growth <= max(cost, SHORT)


def asked_dynamic(function, asked=None):
    """What calls of new shapes do in what is made of `function`: as asked, else as in that."""
    if asked is not None and not isinstance(asked, bool):
        raise TypeError(f"jit takes dynamic=True or False, not {asked!r:.60}\n  Leave it out to have it learnt.")
    inner = getattr(getattr(function, "compiled", None), "dynamic", None)
    return inner if asked is None else asked
