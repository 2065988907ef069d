"""Straight lines of a program of symbolic sizes as machine code.

The one function for all sizes (`program/size_free.py`) has its loops as machine code, and calls NumPy for the rest:
that is written at once, and machine code takes as long to compile as it does at one size. Where calls have paid for
that, another function with nests for straight lines, too, is made on the thread of `jit(tier="background")`, and both
are timed there on copies of a call's arguments. The faster has the calls from then on.
"""

import contextvars
import time

import numpy as np

from ...ir.amounts import in_time
from ..common import events
from ..program import backend_choice
from ..program.numpy_function import MISS
from ..program.size_free import SizeFree
from .deferred import EQUATION, copies, may_be_copied
from .laddered import timed
from .worker import WORKER, paced

SHARE = 0.5  # bound: of the estimated seconds that it takes to make one, that calls take before
WAITS, ASKED, READY, DONE = "waits", "being compiled", "ready", "done"


class FamilyNests:
    """The way to that function, for a Symbolic. calls, seconds: how many calls there were, and what they took; free:
    the SizeFree, once it is made; times: seconds of a call (without, with it); why: there is none."""

    def __init__(self, entry, symbolic):
        self.entry, self.symbolic, self.calls, self.seconds, self.state = entry, symbolic, 0, 0.0, WAITS
        self.estimate = symbolic.seconds + EQUATION * symbolic.family.generic.func.count()
        self.numpy = self.given = self.context = self.free = self.times = self.why = None

    @classmethod
    def of(cls, entry, symbolic):
        """None where straight lines are not to be machine code, or are it already, or results are not to change in the
        last bit from one call to another."""
        compiled = entry.compiled
        is_left = backend_choice.asked(compiled) is not None or not compiled.native or compiled.exact
        return None if is_left or symbolic.free.in_nests else cls(entry, symbolic)

    def took(self, seconds, numpy, given, in_row):
        """Note what a call of a NumPyCall took, and have the other made where that pays. in_row: calls in a row of its
        sizes, for which they have a program of their own if there are no others."""
        if self.state is WAITS:
            self.calls, self.seconds = self.calls + 1, self.seconds + seconds
            if self.seconds >= SHARE * self.estimate and self.calls > in_row:
                self.ask(numpy, given)

    def hopes(self):
        """Whether it is about to answer calls that would have programs of their own otherwise."""
        return self.state in (ASKED, READY)

    def ask(self, numpy, given):
        if not may_be_copied(given):
            self.state = DONE
            return
        self.state, self.numpy, self.context = ASKED, numpy, contextvars.copy_context()
        self.given = copies(given)
        if not WORKER.ask(self):
            self.state = WAITS

    # -- on the thread -----------------------------------------------------------------------------
    def run(self):
        compiled, start = self.entry.compiled, time.perf_counter()
        try:
            with events.making(compiled):
                self.context.run(self.make)
        except BaseException as error:
            self.free, self.why = None, events.first_line(error)
        if self.free is not None and not self.is_faster():
            self.free = None
        self.state = DONE if self.free is None else READY
        self.numpy = self.given = self.context = None
        text = lambda: f"straight lines of all sizes as machine code: {self.told() or self.why}"
        events.report("compile", "nests", text, time.perf_counter() - start, of=compiled)

    def make(self):
        symbolic = self.symbolic
        family, old = symbolic.family, symbolic.free
        with paced(), backend_choice.as_asked(self.entry):
            sizes = [s.sizes for s in family.samples]
            self.free = SizeFree(family.specialisations, old.types, sizes, family.names.names, nests=True)
            if not self.free.nests.keys() - old.nests.keys():
                raise LookupError("they are no nests")
            call = self.free.call(symbolic.tests())
        with np.errstate(all="ignore"):
            if call.again(*self.given) is MISS:
                raise LookupError("it answers no such call")
            self.times = timed(lambda: self.numpy.again(*self.given)), timed(lambda: call.again(*self.given))

    def is_faster(self):
        numpy, ours = self.times
        return ours < backend_choice.BETTER * numpy

    # -- on the thread of a call -------------------------------------------------------------------
    def taken(self):
        """The SizeFree that has won, once; None where it does not serve the sizes by which the family has been widened
        meanwhile."""
        if self.state is not READY:
            return None
        self.state, family = DONE, self.symbolic.family
        with backend_choice.as_asked(self.entry):
            wider = [sizes for sizes in family.verified if sizes not in self.free.samples]
            serves = all(self.free.agrees(family.version(sizes), sizes) for sizes in wider)
        return self.free if serves else None

    def told(self):
        """What `explain` says of it, None where nothing was compared."""
        if self.times is None:
            return None
        numpy, ours = map(in_time, self.times)
        return f"{ours} where NumPy's calls take {numpy}"
