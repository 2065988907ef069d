"""For which platform programs are lowered: that of the device which was asked for, else the one on which jax runs by
default.

A device need not be here: `jax.experimental.topologies` describes devices for which XLA compiles and nothing runs.
"""

import contextlib
import threading

import jax
from jax import lax

from .forked import Process

SEVERAL = "several"


class Target(threading.local):
    """platform: "cpu", "gpu" or "tpu", where a lowering of this thread is for a device that was asked for; SEVERAL,
    where it is for more than one, or to be run by others."""

    platform = None


TARGET = Target()


@contextlib.contextmanager
def lowering_for(device):
    """Within, programs of this thread are lowered for a jax device; for the default platform where it is None and
    nothing around says otherwise."""
    before = TARGET.platform
    TARGET.platform = before if device is None else device.platform
    try:
        yield
    finally:
        TARGET.platform = before


@contextlib.contextmanager
def lowering_for_others(platforms):
    """Within, programs of this thread are lowered for platforms, by their names in jax.export."""
    before = TARGET.platform
    TARGET.platform = "cpu" if set(platforms) == {"cpu"} else SEVERAL
    try:
        yield
    finally:
        TARGET.platform = before


def platform(device=None):
    """The platform of a device that was asked for, else that which is lowered for; to ask for `jax.default_backend()`
    starts XLA."""
    if device is not None:
        return device.platform
    if TARGET.platform is not None:
        return TARGET.platform
    Process.started = True
    return jax.default_backend()


def per_platform(*operands, cpu, default):
    """`cpu(*operands)` on CPUs and `default(*operands)` elsewhere; both are lowered where no device was asked for, and
    XLA takes one."""
    if TARGET.platform in (None, SEVERAL):
        return lax.platform_dependent(*operands, cpu=cpu, default=default)
    return cpu(*operands) if TARGET.platform == "cpu" else default(*operands)
