"""jax arrays of the CPU as ndarrays and back, for programs that run as NumPy."""

import functools

import jax
import numpy as np

from ..forked import Process
from ..target import has_only_cpu

# bytes from which a result is handed to XLA by itself, which takes it as it is where it is aligned; below, a program
# that copies all of them takes less; measured by benchmarks/tune.py
BY_ITSELF = 1 << 16


def can_be_ndarrays(types):
    """Whether arguments of these Python types can be given to NumPy: jax arrays among them lie on the one CPU that
    there is, and stand in no trace of jax's."""
    if Process.forked or any(issubclass(t, jax.core.Tracer) for t in types):
        return False
    return has_only_cpu() and jax.local_device_count() == 1 and jax.process_count() == 1


def are_plain(leaves):
    """Whether all jax arrays of a call have what NumPy's have: they lie on a device and no mesh, and their dtype is
    their own, not that of a number of Python's. And JAX is not asked to look for bad numbers."""
    config, single = jax.config, jax.sharding.SingleDeviceSharding
    return not (config.jax_debug_nans or config.jax_debug_infs) and not any(
        x.weak_type or type(x.sharding) is not single for x in leaves if isinstance(x, jax.Array)
    )


def gave_weak(results):
    """Whether a program gave an array whose dtype is that of a number of Python's."""
    return any(getattr(x, "weak_type", False) for x in results)


def as_ndarrays(leaves):
    """Leaves of a call with ndarrays, not to be written, for the jax arrays among them. Waits for these."""
    return [np.asarray(x) if isinstance(x, jax.Array) else x for x in leaves]


def committed_to(leaves):
    """The device to which jax arrays among the leaves of a call are committed, None where none is."""
    return next((x.device for x in leaves if isinstance(x, jax.Array) and getattr(x, "committed", False)), None)


def as_jax_arrays(results, device=None):
    """A list of ndarrays that nobody else holds, nor will write, as jax arrays of the same dtypes, committed to a
    device if to any. To be called where 64-bit types are on."""
    made = _handed_over(results, device)
    if any(isinstance(x, jax.core.Tracer) for x in made):  # a trace of jax's is under way, which they are no part of
        with jax.ensure_compile_time_eval():
            return _handed_over(results, device)
    return made


def _handed_over(results, device):
    small = [x for x in results if x.nbytes < BY_ITSELF]
    copied = copier(device)(*small) if small else []
    if len(small) == len(results):
        return copied
    copied = iter(copied)
    return [next(copied) if x.nbytes < BY_ITSELF else jax.device_put(x, device, may_alias=True) for x in results]


@functools.cache
def copier(device):
    """A program that copies its arguments, to be committed to a device, or to none; XLA may not be started before it is
    asked for."""
    copied = lambda *arrays: [jax.numpy.copy(x) for x in arrays]
    if device is None:
        return jax.jit(copied)
    beside = jax.jit(lambda _, *arrays: copied(*arrays), keep_unused=True)
    return functools.partial(beside, jax.device_put(np.False_, device))  # results are committed if one argument is
