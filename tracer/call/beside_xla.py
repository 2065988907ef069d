"""Programs on jax arrays begin through XLA, and run in another form where that turns out to be faster.

One is XLA's with its straight lines as nests, so that a small program is one function of machine code where XLA runs
some dozens of kernels. The other is generated NumPy, which takes some 10 us to hand results over. Their machine code is
compiled in as long as XLA's. So nothing waits for them where XLA's form takes little: calls are counted in front of
XLA's until they have paid, the others are made on the thread that `jit(tier="background")` uses, and then some calls
are answered by the faster of them and some by XLA (`deferred.EngineTrial`). The faster has the others.
"""

import functools

from ...backends.numpy import fused
from ...backends.xla import dispatch, host_arrays
from ...ir.types import type_of
from ..program import backend_choice, trap
from ..program.clock import BRIEF, woken
from ..program.numpy_function import MISS
from ..program.trace_tree import Trees
from ..values.storage import current_trace
from .contest import array_shapes
from .deferred import ASKED, HOPELESS, WAITS, Deferred, EngineTrial, may_be_copied
from .worker import paced

# bound: seconds of a run through XLA from which NumPy's form is made: some times what it takes to hand arrays over
LEAST = 2.5e-5
# bound: likewise from which its straight lines are made nests, which a launch through XLA calls
LEAST_IN_NESTS = 1e-5
PRODUCT = 1 << 18  # fact: multiplications of a product from which OpenBLAS shares it among threads, beside those of XLA
CLEARLY = 1.25  # bound: times as long as NumPy's form that XLA's takes, which depends on how often it is called
AHEAD = 1.1  # bound: likewise as long as its form of nests, which is launched as it is


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

    OTHER, MEANWHILE, UNMADE = "other forms", "through XLA", "not made in another form"
    STATES = {WAITS: "other forms wait until they pay", ASKED: "being made in other forms"}

    def __init__(self, entry, here, version):
        super().__init__(entry, here, version, self.through_xla)
        self.replaced, self.each = (here, here.call), None
        self.nested = self.raising = None  # Programs of the form of nests, and where checks raise

    def promises(self, leaves):
        """Whether a run through XLA takes so long that another form may be faster, and gives no weak types."""
        xla = functools.partial(self.waited_for, trap.with_status(self.here.call), *leaves)
        raw = xla()
        if host_arrays.gave_weak(raw if isinstance(raw, tuple) else (raw,)):
            return False
        self.each = woken(xla, BRIEF)
        return self.each >= min(LEAST, LEAST_IN_NESTS)

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
        """Make the other forms, unless XLA's takes too little time, and have the faster of them compared with it."""
        entry, version, leaves, program = self.entry, self.version, self.leaves, self.choice().program
        xla = functools.partial(self.waited_for, program)
        seconds = woken(lambda: xla(*leaves))
        nested, least = self.in_nests(leaves, seconds), seconds
        if nested is not None and AHEAD * (ours := woken(lambda: nested(*leaves))) <= seconds:
            self.trial, least = EngineTrial(nested, xla, (ours, seconds)), ours
        if least < LEAST:
            return
        with paced():
            form = backend_choice.form_beside_xla(entry, version, leaves, least)
        if form is None or version.tried >= HOPELESS * least:
            return
        form(*leaves)  # what hands its results over is compiled
        ours = woken(lambda: dispatch.wait(form(*leaves)))
        if self.trial is None or CLEARLY * ours <= least:
            self.nested, self.trial = None, EngineTrial(form, xla, (ours, seconds))

    def in_nests(self, leaves, seconds):
        """XLA's program with its straight lines as nests, compiled; None where there is nothing to put together."""
        entry, here, version = self.entry, self.here, self.version
        if seconds < LEAST_IN_NESTS or version.chain is not None:
            return None
        with backend_choice.as_asked(entry):
            func = version.as_checked(fused(version.func, PRODUCT))
        if func is None:
            return None
        version.within_xla, find = func, lambda types: (func, version.places)
        made = functools.partial(dispatch.program, find, entry.compiled.name, least=0, **here.options)
        self.nested, self.raising = made(), made(raising=True) if here.raising is not None else None
        with paced():
            for program in filter(None, (self.nested, self.raising)):
                self.waited_for(program, *leaves)
        return functools.partial(self.waited_for, self.nested)

    # -- on the thread of a call -------------------------------------------------------------------
    def is_ahead(self):
        ours, xla = self.version.times
        return (CLEARLY if self.nested is None else AHEAD) * ours <= xla

    def use_faster(self, leaves):
        if self.nested is None:
            self.version.within_xla = None
            super().use_faster(leaves)
            return
        self.here.base.adopt(leaves, self.nested)
        if self.raising is not None and self.here.raising is not None:
            self.here.raising.quick.adopt(leaves, self.raising)
        self.put_back()

    def form_without(self):
        return None

    def keep_xla(self, leaves):
        self.version.within_xla = self.nested = self.raising = None
        self.put_back()

    def put_back(self):
        """Have XLA's program answer calls as before, if it is alone."""
        here, call = self.replaced
        if self.here is here and not self.choice().found:
            here.call = call

    def made(self):
        form = "other forms were" if self.trial is None else "its nests were" if self.nested else "generated NumPy was"
        return f"{form} compared with it"


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
