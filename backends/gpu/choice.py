"""The kernels that a loop could be on a GPU."""

import functools

from ...ir.ops.control import loop
from ..native.values import NotNative
from .estimate import CLOCK, CORE, PROCESSORS, WARP
from .kernel import Kernel
from .ptx import ptx, stand_ins
from .spread import width
from .waves import in_waves

MOST = 1024  # fact: threads of a block
SMALL = 128  # bound: threads of a block whose threads have trips of their own


class KernelChoice:
    """kernel: what runs, with its name and text; seconds: expected; launches, through_xla: launches and seconds of
    XLA's own kernels; core: expected seconds of one core of a CPU."""

    def __init__(self, kernel, launches, through_xla):
        self.kernel, self.launches, self.through_xla = kernel, launches, through_xla
        self.seconds, self.core = kernel.code.cycles / CLOCK, kernel.code.work / CORE
        self.wanted = stand_ins(kernel)

    @functools.cached_property
    def made(self):
        """(name, text, None), or (None, None, why LLVM refuses)"""
        try:
            return *ptx(self.kernel, self.wanted), None
        except RuntimeError as problem:
            return None, None, f"LLVM refuses the kernel: {problem}"

    name, text, refusal = (property(lambda self, n=n: self.made[n]) for n in range(3))

    @property
    def serial(self):
        """Whether there is nothing that two threads could do at once."""
        return self.kernel.threads * self.kernel.blocks == 1

    def told(self):
        """What it is, in words."""
        k = self.kernel
        shape = f"{k.blocks} x {k.threads} threads" if k.blocks > 1 else f"{k.threads} thread{'s' * (k.threads > 1)}"
        text = f"a kernel of {shape}, about {brief(self.seconds)}"
        text += f", for {self.launches:,} launches, {brief(self.through_xla)}"
        return f"{text}; serial: a CPU core takes about {brief(self.core)}" if self.serial else text


def brief(seconds):
    """A time in two digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.2g} {unit}"
    return f"{seconds * 1e6:.2g} us"


def forms(types, attrs, exact):
    """The kernels that a loop could be; NotNative where there is none."""
    try:
        first = Kernel(loop, types, attrs, exact, MOST)
    except NotNative:  # perhaps a trip wants more memory than a thread has
        first = Kernel(loop, types, attrs, exact, MOST, inner=False)
    threads = fitting(first.code.widest)
    found = [first] if threads == MOST else kernels_made(types, attrs, exact, threads, inner=first.inner)
    if 1 < threads <= SMALL:
        found += kernels_made(types, attrs, exact, 1)
    waves = in_waves(types, attrs)
    if waves is not None:
        new, sure = waves
        wide = kernels_made(types, new, exact, MOST, sure=sure)
        found += kernels_made(types, new, exact, fitting(wide[0].code.widest), sure=sure) if wide else []
    count = attrs["trips"] or attrs["bound"] or 1
    for form, size, blocks in (
        ("threads", SMALL, min(-(-count // SMALL), 8 * PROCESSORS)),
        ("blocks", fitting(width(attrs["body"])), min(count, PROCESSORS)),
    ):
        if blocks > 1 and attrs["test"] is None and size > 1:
            found += kernels_made(types, attrs, exact, size, form, blocks)
    return found


def kernels_made(types, attrs, exact, threads, form="block", blocks=1, **options):
    """[the kernel], or [] where there is none."""
    try:
        return [Kernel(loop, types, attrs, exact, threads, form, blocks, **options)]
    except NotNative:
        return []


def fitting(widest):
    """How many threads have something to do: a power of two; one where nothing is done at once."""
    threads = WARP
    while threads < min(widest, MOST):
        threads *= 2
    return threads if widest > 1 else 1
