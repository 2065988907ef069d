"""Whether a loop is one kernel on a GPU, and of what form: the one that takes least time by estimate, if that is less
than what XLA's own kernels take."""

import functools

import jax
import numpy as np
from jax import lax

from ...ir.core import regions
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.control import loop
from ...ir.types import Tensor
from ..native.run import SETTINGS, asked
from ..native.values import NotNative
from ..target import platform
from .choice import KernelChoice, brief, forms
from .estimate import CLOCK, loop_seconds
from .launch import launcher
from .proof import refused_here
from .ptx import refusal

ROUGH = 2  # bound: how much longer one kernel may take by estimate than those of loops within, of many launches


def lowered_kernel(operands, attrs, other):
    """The results of a loop on jax values where they are lowered for a GPU: one kernel on those of NVIDIA, and
    `other(*operands)` elsewhere. None if XLA's own kernels are to run it."""
    if SETTINGS.least is None or platform() != "gpu":
        return None
    types = [Tensor(tuple(x.shape), np.dtype(x.dtype)) for x in operands]
    choice, reason = kernel_for(types, attrs)
    if choice is not None:
        reason = choice.refusal
        choice = None if reason else choice
    if SETTINGS.log is not None:
        SETTINGS.log.append((attrs, reason))
    if choice is None:
        return None

    def through_lax(*operands):
        with asked(None):
            return other(*operands)

    @jax.custom_jvp
    def run(*operands):
        return lax.platform_dependent(*operands, cuda=launcher(choice), default=through_lax)

    run.defjvp(lambda primals, tangents: jax.jvp(through_lax, primals, tangents))  # a kernel has no derivative
    return run(*operands)


def kernel_for(types, attrs):
    """(KernelChoice, None) of a loop equation, or (None, why XLA's own kernels run it)."""
    reason = refusal() or refused_here()
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
