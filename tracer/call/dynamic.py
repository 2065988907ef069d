"""Sizes that change: a call of a new shape waits for no compiler.

The first shape of a function is traced and compiled in the call. Another shape under the same guard, of the same dtypes
and ranks, is answered at once: by plain Python, or where there is none (derivatives, `whole=True`) by a trace that runs
as generated NumPy. Nothing is compiled for a shape that has come once. One that comes again is compiled when such calls
have taken as long as its compilation would, as far as its siblings tell, or when it has come often and compilation is
short.

What may take much longer uncompiled than it takes to compile is not left waiting: programs of very many steps, and
loops whose trips data decide, are traced and compiled at first sight as ever. Such loops wait where they run through
XLA and the first run was short, until one call has taken as long as a compilation.
"""

import inspect
import logging
import time

from ...backends import forked
from ...backends.xla.processes import is_one_of_several
from ...ir.types import type_of
from ..common import events
from ..guards import isolation
from ..program import backend_choice
from ..program.numpy_function import MISS
from ..program.specialisation_set import SpecialisationSet, takes_now
from ..program.trace_tree import Untraced
from ..values.storage import current_trace
from . import baseline
from .deferred import WAY
from .fallback import left_to_python
from .families import SHORT, Generalising, Sizing
from .in_front import PLAIN, UNSERVED, put_in_front
from .observed import asked_axes
from .trace_costs import cost_of, telling

OFTEN = 8  # bound: calls of a shape after which it is compiled, where that takes few seconds
SHARE = 0.25  # bound: of the seconds that it takes, that these have taken
KEPT = 1024  # bound: shapes without a program that a set of traces remembers, the latest
NUMPY = "generated NumPy"


class NewShape(Exception):
    """A call of a shape that is not to be compiled as yet; `shape`: its ShapeTally; `here`: the set of
    traces that serves its guard; served: whether a program of all sizes answers it now."""

    def __init__(self, shape, here, served=False):
        super().__init__(shape)
        self.shape, self.here, self.served = shape, here, served


class ShapeTally:
    """The calls of one combination of types that no program has answered. by: who has, how often; seconds: how long
    they took, with the way to who has; due: whether it is to be compiled whatever they took; front: the InFront that
    answers them, once there is one."""

    __slots__ = ("types", "by", "seconds", "due", "front")

    def __init__(self, types):
        self.types, self.by, self.seconds, self.due, self.front = types, {}, 0.0, False, None

    def answered(self, who, seconds, sizing, way=WAY):
        sizing.spent, sizing.longest = sizing.spent + seconds, max(sizing.longest, seconds)
        self.by[who] = self.by.get(who, 0) + 1
        self.seconds += seconds + way

    def is_due(self, cost, compiled):
        """Whether it is to have a program of its own, which takes `cost` seconds to make: soon, unless there have been
        more of these than are kept, or plain Python takes no longer than to find one."""
        calls = sum(self.by.values())
        often = calls >= OFTEN and cost < SHORT and not compiled.kept.count and not compiled.slow_calls.plain
        return self.due or calls > 0 and self.seconds >= (SHARE if often else 1.0) * cost


class NewShapes(Generalising):
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
            and (compiled.dynamic is not None or backend_choice.asked(compiled) != "xla")
        )

    def hold_back(self, types, here):
        """Whether the trace of a call would differ from others under this guard in shapes alone, and is to be made now.
        Raises NewShape where it is not."""
        if not self.learns():
            return False
        self.refuse_axes(types)
        here = here or next((w for w in self.worlds if w.draws is not None and w.holds()), None)
        if here is None:
            return False
        full = types if here.draws is not None else (*types, *map(type_of, here.gather()))
        sibling = telling(here)
        if not differ_in_shape(full, sibling):
            sibling = next((v for v in reversed(here.versions) if differ_in_shape(full, v)), None)
        if sibling is None:
            return False
        here.sizing = here.sizing or Sizing(sibling.func)
        cost, eager = cost_of(sibling), not self.plain_serves(here)
        soon = here.sizing.ends_soon(sibling, full, cost)
        shape = tally(here, full)
        if (other := self.symbolic_set(types)) is not None and other is not self.current:
            self.current = other
            self.compiled.front.missed(self)
            raise NewShape(shape, other, served=True)
        shape.due = shape.due or here.sizing.is_exact(types)
        if self.generalised(here, types, sibling, eager or not soon):
            raise NewShape(shape, here, served=True)
        if soon and not shape.is_due(cost, self.compiled):
            raise NewShape(shape, here)
        here.served[full] = here.shapes.pop(full)
        here.sizing.spent += cost if soon else 0.0  # which a program of all sizes would have saved
        self.take_over(types, here)
        return soon

    def plain_serves(self, here):
        """Whether plain Python may answer new shapes: it gives what the programs of a set of traces give."""
        return self.falls_back() and not here.differs_from_plain

    def refuse_axes(self, types):
        """Raise where `dynamic=` names axes that arrays have not."""
        asked = self.compiled.dynamic
        for name, t in zip(self.names, types) if type(asked) is tuple else ():
            for axis in asked_axes(name, dict(asked)):
                if not -t.ndim <= axis < t.ndim:
                    raise ValueError(f"dynamic= asks for axis {axis} of {name}, which is {t}")

    def unserved(self, here, everything):
        """Why no program answers a call, None where one does: the NewShape of one that waits, else Untraced."""
        types = tuple(map(type_of, everything))
        if here.sizing is None:
            return Untraced() if here.version(types) is None else None
        shape = here.shapes.get(types)
        if shape is None and here.version(types) is not None:
            return None
        if not self.may_be_generalised(here):
            if shape is None and self.surely_waits(here, types):
                shape = tally(here, types)
            if shape is not None and not shape.is_due(cost_of(telling(here)), self.compiled):
                return NewShape(shape, here)
        return Untraced() if here.version(types) is None else None

    def surely_waits(self, here, types):
        """Whether `hold_back` would say of new types of arguments and inputs that they wait, for there is one set of
        traces and no program of all sizes: then plain Python has the call at once."""
        sibling, compiled = telling(here), self.compiled
        alone = len(self.worlds) == 1 and not self.old and not self.refused and not here.sizing.families
        return (
            alone
            and compiled.dynamic is None
            and not compiled.patience.refused
            and not isolation.is_answering()
            and self.plain_serves(here)
            and self.learns()
            and differ_in_shape(types, sibling)
            and here.sizing.ends_soon(sibling, types, cost_of(sibling))
        )

    def meanwhile(self, leaves, new, given):
        """The call, by what is there."""
        shape = new.shape
        for straight in new.here.straight if new.served else ():
            if (out := straight(*leaves, *new.here.gather())) is not MISS:
                return out
        start = time.perf_counter()
        if self.plain_serves(new.here):
            try:
                with isolation.calling(), left_to_python(self.compiled, UNSERVED):
                    return self.uncaptured(leaves, given)
            finally:
                seconds = time.perf_counter() - start
                self.compiled.patience.answered(seconds)
                shape.answered(PLAIN, seconds, new.here.sizing)
                new.here.sizing.spent += self.compiled.slow_calls.unseen()
                if shape.by[PLAIN] == OFTEN:
                    put_in_front(self, new.here, shape)
        with self.compiled.lock, events.making(self.compiled):
            found = baseline.interpreted(self, SpecialisationSet, leaves, new.here)
        if found is None:  # it acts on the world: it is compiled at once
            shape.due = True
            return self.first(*leaves, given=given)
        here, version, everything = found
        try:
            return self.settle(here, version, baseline.results(version, everything), everything, given)
        finally:
            seconds = time.perf_counter() - start
            shape.answered(NUMPY, seconds, new.here.sizing)
            text = lambda: f"ran as generated NumPy ({self.shown_types(version.types)}): {UNSERVED}"
            events.report("trace", "new shape", text, seconds, of=self.compiled, level=logging.DEBUG)

    def take_over(self, types, here):
        """Let the trace that has answered calls of these types be the one that is compiled."""
        known = next((w for w in self.interpreted if w.holds() and takes_now(w.versions[0], types)), None)
        if known is not None:
            self.interpreted.remove(known)
            self.ahead = known.versions[0]
            self.ahead.reason = self._reason(types, here)


def tally(here, types):
    """The ShapeTally of types of arguments and inputs that no program of a set of traces answers."""
    shape = here.shapes.get(types)
    if shape is None:
        shape = here.shapes[types] = ShapeTally(types)
        if len(here.shapes) > KEPT:
            here.sizing.forgotten += sum(here.shapes.pop(next(iter(here.shapes))).by.values())
    return shape


def differ_in_shape(types, version):
    """Whether these types and those that a version takes differ in shapes alone. What a version draws is not among
    these."""
    params = [p.type for p in version.captured.func.params]
    draws, last = version.captured.outside.draws, max(version.places, default=-1)
    if len(version.places) != len(params) or last >= len(types) and not draws:
        return False
    pairs = [(types[place], t) for place, t in zip(version.places, params) if place < len(types)]
    return all(a.dtype == b.dtype and len(a.shape) == len(b.shape) for a, b in pairs) and any(
        a is not b for a, b in pairs
    )


def asked_dynamic(function, asked=None):
    """What calls of new shapes do in what is made of `function`: as asked, else as in that. Axes by name are
    ((name, axes), ...)."""
    if asked is None:
        return getattr(getattr(function, "compiled", None), "dynamic", None)
    if isinstance(asked, bool):
        return asked
    if not isinstance(asked, dict):
        raise TypeError(
            f"jit takes dynamic=True, False, or axes by names of arguments, not {asked!r:.60}\n  Write "
            "dynamic={'x': 0}, or leave it out to have it learnt."
        )
    found = []
    for name, axes in asked.items():
        axes = (axes,) if type(axes) is int else axes
        if not isinstance(name, str) or not isinstance(axes, tuple | list) or not all(type(a) is int for a in axes):
            raise TypeError(
                f"dynamic={asked!r:.60} is to give axes of arguments by their names\n  Write an int or a tuple of "
                "them each: dynamic={'x': 0, 'y': (0, 1)}."
            )
        found.append((name, tuple(axes)))
    parameters = named_parameters(function)
    unknown = [name for name, _ in found if parameters is not None and name.partition("[")[0] not in parameters]
    if unknown:
        raise ValueError(
            f"dynamic={asked!r:.60} names {', '.join(unknown)}, which is no argument\n  The arguments are "
            f"{', '.join(parameters)}."
        )
    return tuple(found)


def named_parameters(function):
    """Names of what a function takes, None where it takes others too or does not tell."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    return None if any(p.kind is p.VAR_KEYWORD for p in found.values()) else list(found)
