"""Programs on jax arrays begin through XLA, and are generated NumPy where that turns out to be faster.

To hand results over takes NumPy's form some 10 us, and its machine code is compiled in as long as XLA's. So nothing
waits for it where XLA's form takes little: calls are counted in front of XLA's until they have paid for it, it is made
on the thread that `jit(tier="background")` uses, and then some calls are answered by it and some by XLA
(`deferred.EngineTrial`). The faster has the others.
"""

import functools

from ...backends.xla import dispatch, host_arrays
from ...ir.types import type_of
from ..program import backend_choice, trap
from ..program.clock import BRIEF, woken
from ..program.numpy_call import MISS
from ..program.trace_tree import Trees
from ..values.storage import current_trace
from .contest import array_shapes
from .deferred import ASKED, HOPELESS, WAITS, Deferred, EngineTrial, may_be_copied
from .worker import paced

# bound: seconds of a run through XLA from which NumPy's form is made: some times what it takes to hand arrays over
LEAST = 2.5e-5
CLEARLY = 1.25  # bound: times as long as NumPy's form that XLA's takes, which depends on how often it is called


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
        xla = functools.partial(self.waited_for, trap.with_status(self.here.call), *leaves)
        raw = xla()
        if host_arrays.gave_weak(raw if isinstance(raw, tuple) else (raw,)):
            return False
        self.each = woken(xla, BRIEF)
        return self.each >= LEAST

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

    def wait(self, raw, program):
        dispatch.wait(raw)  # who waits for jax arrays sleeps meanwhile

    # -- on the thread -----------------------------------------------------------------------------
    def make(self):
        """Write the form as NumPy and compile its machine code, unless XLA's takes too little time."""
        entry, version, leaves, program = self.entry, self.version, self.leaves, self.choice().program
        xla = functools.partial(self.waited_for, program)
        seconds = woken(lambda: xla(*leaves))
        if seconds < LEAST:
            return
        with paced():
            form = backend_choice.form_beside_xla(entry, version, leaves, seconds)
        if form is not None and version.tried < HOPELESS * seconds:
            form(*leaves)  # what hands its results over is compiled
            self.trial = EngineTrial(form, xla, (woken(lambda: dispatch.wait(form(*leaves))), seconds))

    # -- on the thread of a call -------------------------------------------------------------------
    def is_ahead(self):
        ours, xla = self.version.times
        return CLEARLY * ours <= xla

    def form_without(self):
        return None

    def keep_xla(self, leaves):
        here, call = self.replaced
        if self.here is here and not self.choice().found:
            here.call = call

    def made(self):
        return "generated NumPy was compared with it"


class Countdown:
    """The calls through XLA that a BesideXLA waits for, which are answered as if there were none. arrays: as
    `array_shapes` has them."""

    def __init__(self, here, version):
        self.waiting, self.arrays = version.deferred, array_shapes(here, version)

    def is_next(self):
        """Whether a call is to go the long way, to it."""
        waiting = self.waiting
        if waiting.state is not WAITS or waiting.is_due():
            return True
        waiting.calls, waiting.seconds = waiting.calls + 1, waiting.seconds + waiting.each
        return False

    def __call__(self, callee, /, *args, **kwargs):
        """The answer of a Callee's function."""
        return callee(callee.compiled.slow, args, kwargs)


def countdowns(here):
    """A Countdown of each version that waits for its calls to pay."""
    return [Countdown(here, version) for version in here.versions if awaits_calls(version)]


def awaits_calls(version):
    made = version.deferred
    return isinstance(made, BesideXLA) and made.state is WAITS
