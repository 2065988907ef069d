"""Calls that no program answers, by who does: plain Python, generated NumPy, or jax where it is at work itself."""

from ...backends import forked
from ...backends.xla import dispatch
from ..common.errors import Untold
from ..program.specialisation import Unfit
from ..program.specialisation_set import SpecialisationSet
from . import baseline
from .dynamic import NewShape
from .fallback import Refused
from .in_front import knows_shapes

UNANSWERED = (Refused, Untold, Unfit, NewShape, forked.Forked)  # say that no program answers a call


class Instead:
    """The part of `SignatureEntry` that knows who."""

    def instead(self, leaves, why, given):
        """The call that no program answers, by who does."""
        if isinstance(why, NewShape):
            self.ask_shapes_first(why.here)
            return self.meanwhile(leaves, why, given)
        if isinstance(why, Refused) and self.promoted and not self.falls_back():
            self.compiled.keep_static(self)
            return self.compiled.statically(self, leaves, given)
        if isinstance(why, Refused):
            self.ask_shapes_first(self.current)
            return self.refused_call(leaves, why, given)
        if isinstance(why, Untold):
            return self.retold(leaves, why, given)
        if isinstance(why, forked.Forked):
            return self.without_xla(leaves, why, given)
        if isinstance(why, dispatch.UNKNOWN):
            return self.at_once(leaves, why, given)
        return self.plainly(leaves, str(why).rstrip("."), given)

    def ask_shapes_first(self, here):
        """Have the function in front not try the programs of a set on one new shape after the other: where jax is
        asked whether it knows a shape, it says no by an exception, which takes a millisecond or two."""
        front = self.compiled.front
        callee = front.own or front.cell.callee
        if here is not None and not knows_shapes(here) and here in callee.hot:
            front.cool_one(callee)

    def at_once(self, leaves, why, given):
        """The call where jax is tracing, and none of its arguments stands for anything: it is made now, and what it
        gives is a constant there."""
        if dispatch.is_at_once() or any(map(dispatch.is_tracer_type, map(type, leaves))):
            raise why
        with dispatch.computed_at_once():
            return self.run(leaves, given)

    def without_xla(self, leaves, why, given):
        """The call where only XLA could run its program: by generated NumPy if it is a derivative, which plain Python
        has not, else plainly."""
        if (
            self.compiled.plain is None
            and self.numpy
            and (found := baseline.interpreted(self, SpecialisationSet, leaves)) is not None
        ):
            here, version, everything = found
            return self.settle(here, version, baseline.results(version, everything), everything, given)
        return self.plainly(leaves, why.reason, given, hint="")
