"""For which platform programs are lowered: that of the device which was asked for, else the one on which jax runs by
default.

A device need not be here: `jax.experimental.topologies` describes devices for which XLA compiles and nothing runs.
"""

import contextlib
import functools
import importlib.util
import os
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
    """The platform of a device that was asked for, else that which is lowered for."""
    if device is not None:
        return device.platform
    if TARGET.platform is not None:
        return TARGET.platform
    return "cpu" if not Process.started and has_only_cpu() else started_platform()


def started_platform():
    """The platform on which jax runs by default; XLA is started."""
    Process.started = True
    return jax.default_backend()


def has_only_cpu():
    """Whether JAX has nothing but the CPU to run on, as far as can be told without starting XLA, which takes some
    10 ms: it was told so, or knows no other device.

    A plugin outside the package `jax_plugins` is seen only when XLA has started. Until then programs run on the CPU.
    """
    told = jax.config.jax_platforms
    return told == "cpu" if told else not may_find_devices()


@functools.cache
def may_find_devices():
    """Whether something that is installed, or named in the environment, is a plugin of JAX's for other devices."""
    installed = any(importlib.util.find_spec(name) is not None for name in ("jax_plugins", "libtpu"))
    return installed or any(map(os.environ.get, ("PJRT_NAMES_AND_LIBRARY_PATHS", "TPU_LIBRARY_PATH")))


def per_platform(*operands, cpu, default):
    """`cpu(*operands)` on CPUs and `default(*operands)` elsewhere; both are lowered where no device was asked for, and
    XLA takes one."""
    if TARGET.platform in (None, SEVERAL):
        return lax.platform_dependent(*operands, cpu=cpu, default=default)
    return cpu(*operands) if TARGET.platform == "cpu" else default(*operands)
