"""Whether a loop is one kernel on a GPU, and of what form: the one that takes least time by estimate, if that is less
than what XLA's own kernels take."""

import functools

from ...ir.core import regions
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.control import loop
from ..native.values import NotNative
from .estimate import CLOCK, CORE, PROCESSORS, WARP, loop_seconds
from .kernel import Kernel
from .ptx import ptx, refusal, stand_ins
from .spread import width
from .waves import in_waves

MOST = 1024  # fact: threads of a block
SMALL = 128  # bound: threads of a block whose threads have trips of their own


ROUGH = 2  # bound: how much longer one kernel may take by estimate than those of loops within, of many launches


class KernelChoice:
    """kernel: what runs, with its name and text; seconds: expected; launches, through_xla: launches and seconds of
    XLA's own
    kernels; core: expected seconds of one core of a CPU."""

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


def kernel_for(types, attrs):
    """(KernelChoice, None) of a loop equation, or (None, why XLA's own kernels run it)."""
    reason = refusal()
    if reason is not None:
        return None, reason
    return decided(tuple(types), tuple(attrs.items()), ONLY_EXACT.get())


@functools.lru_cache(256)
def decided(types, attrs, exact):
    attrs = dict(attrs)
    acting = next((eqn for region in regions(attrs) for eqn in region.eqns if eqn.effect), None)
    if acting is not None:
        return None, f"{acting.op.name} may have an effect"
    launches, through_xla = loop_seconds(attrs)
    _, at_best = loop_seconds(attrs, seconds_as_kernel)
    try:
        best = min(forms(types, attrs, exact), key=lambda kernel: kernel.code.cycles)
        if best.code.cycles / CLOCK < min(through_xla, ROUGH * at_best):
            return KernelChoice(best, launches, through_xla), None
    except NotNative as why:
        return None, str(why)
    taken = f"XLA's {launches:,} launches {brief(through_xla)}"
    if at_best < through_xla:
        taken += f", and {brief(at_best)} with kernels for loops within"
    return None, f"one kernel would take about {brief(best.code.cycles / CLOCK)}, {taken}"


def seconds_as_kernel(eqn):
    """What a loop takes as a kernel of its own; None where it is none."""
    choice, _ = kernel_for([x.type for x in eqn.operands], eqn.attrs)
    return None if choice is None else choice.seconds


def kernel_forms(func):
    """(loop equation, KernelChoice or None, why there is none) of a program, outer loops first; those within a kernel
    are part of it."""
    for eqn in func.eqns:
        choice = None
        if eqn.op is loop:
            choice, reason = kernel_for([x.type for x in eqn.operands], eqn.attrs)
            if choice is not None and choice.refusal:
                choice, reason = None, choice.refusal
            yield eqn, choice, reason
        if choice is None:
            for inner in eqn.regions():
                yield from kernel_forms(inner)


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
