"""Programs on jax arrays begin through XLA, and are generated NumPy where that turns out to be faster.

To hand results over takes NumPy's form some 10 us, and its machine code is compiled in as long as XLA's. So nothing
waits for it where XLA's form takes little: the calls pay for it, it is made on the thread that `jit(tier="background")`
uses, and then some calls are answered by it and some by XLA (`deferred.EngineTrial`). The faster has the others.
"""

import functools

from ...backends.xla import dispatch, host_arrays
from ...ir.types import type_of
from ..program import backend_choice, trap
from ..program.clock import turns
from ..program.numpy_call import MISS
from ..program.trace_tree import Trees
from ..values.storage import current_trace
from .deferred import ASKED, HOPELESS, WAITS, Deferred, EngineTrial, may_be_copied
from .worker import paced

# bound: seconds of a run through XLA from which NumPy's form is made: some times what it takes to hand arrays over
LEAST = 2.5e-5
RUNS = 5  # bound: of XLA's form, of which the one in the middle counts


def settle_engine(entry, here, version, everything):
    """`backend_choice.settle`, but that a version on jax arrays may be compared later."""
    if not may_be_beside(entry, here, version, everything):
        return backend_choice.settle(entry, here, version, everything)
    made = BesideXLA(entry, here, version)
    if made.promises(everything):
        made.begin()
    return False


def may_be_beside(entry, here, version, everything):
    """Whether a version on jax arrays, which runs through XLA, may run as generated NumPy later."""
    compiled = entry.compiled
    if entry.numpy or version.engine or version.tree is not None or here.draws or isinstance(here.call, Trees):
        return False
    stays = compiled.exact or compiled.cache.keeps or compiled.dynamic is False
    if stays or backend_choice.asked(compiled) is not None or current_trace() is not None:
        return False
    eligible = backend_choice.eligible(entry, here, version)
    return eligible and may_be_copied(everything) and host_arrays.are_plain(everything)


class BesideXLA(Deferred):
    """Stands for XLA's form among those of a `BackendChoice`, until the other one is ready and both are compared."""

    OTHER, MEANWHILE, UNMADE = "generated NumPy", "through XLA", "not written as NumPy"
    STATES = {WAITS: "generated NumPy waits until it pays", ASKED: "being written as NumPy"}

    def __init__(self, entry, here, version):
        super().__init__(entry, here, version, self.through_xla)
        self.replaced, self.each = (here, here.call), None

    def promises(self, leaves):
        """Whether a run through XLA takes so long that another form may be faster, and gives no weak types."""
        raw, self.each = self.timed_xla(trap.with_status(self.here.call), leaves, 1)
        return self.each >= LEAST and not host_arrays.gave_weak(raw)

    def begin(self):
        """Have it answer calls from now on."""
        self.version.deferred = self
        backend_choice.begin(self.here, self)
        self.entry.compiled.front.install(self.entry)

    def through_xla(self, *leaves):
        """The raw results of a call, which may not be there yet, MISS for other types."""
        if not self.version.fits([type_of(x) for x in leaves]):
            return MISS
        self.seconds += self.each
        with dispatch.wide():
            return self.choice().program(*leaves)

    def timed_xla(self, program, leaves, runs):
        """(raw results, seconds) of so many runs of a program through XLA."""
        raw = []

        def xla():
            raw[:] = [self.waited_for(program, *leaves)]

        (seconds,) = turns([xla], runs)
        return raw[0] if isinstance(raw[0], tuple) else (raw[0],), seconds

    # -- on the thread -----------------------------------------------------------------------------
    def make(self):
        """Write the form as NumPy and compile its machine code, unless XLA's takes too little time."""
        entry, version, leaves, program = self.entry, self.version, self.leaves, self.choice().program
        _, seconds = self.timed_xla(program, leaves, RUNS)
        if seconds < LEAST:
            return
        with paced():
            form = backend_choice.form_beside_xla(entry, version, leaves, seconds)
        if form is not None and version.tried < HOPELESS * seconds:
            self.trial = EngineTrial(form, functools.partial(self.waited_for, program))

    # -- on the thread of a call -------------------------------------------------------------------
    def form_without(self):
        return None

    def keep_xla(self, leaves):
        here, call = self.replaced
        if self.here is here and not self.choice().found:
            here.call = call

    def made(self):
        return "generated NumPy was compared with it"
