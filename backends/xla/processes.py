"""Several processes that run one program together, each on devices of its own (`jax.distributed`): what they have to
read and to decide alike.

An array may have parts that only other processes hold. Its elements are read by gathering them on all of them, which
all have to do in the same order, as with whatever they compute together.
"""

import functools

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ..target import started_platform

KNOWN = 64  # bound: shardings of which the function that gathers is kept


def is_one_of_several():
    """Whether this process is one of several that `jax.distributed.initialize` has joined."""
    if not jax.distributed.is_initialized():
        return False
    started_platform()
    return jax.process_count() > 1


def is_spread(x):
    """Whether x is a jax array of which only other processes hold some part."""
    return (
        isinstance(x, jax.Array)
        and not isinstance(x, jax.core.Tracer)
        and not x.is_fully_addressable
        and not x.is_fully_replicated
    )


def is_shared(x):
    """Whether x is a jax array on devices of several processes."""
    return isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer) and not x.is_fully_addressable


def host_array(x, dtype=None):
    """The elements of x as an ndarray; of an array that is spread, gathered on every process that has a part."""
    if is_spread(x):
        with jax.enable_x64(True):
            x = replicating(whole_sharding(x))(x)
    return np.asarray(x, dtype)


def replicated_host_array(array, like):
    """An ndarray that is the same in all processes as a jax array, whole on each device of the jax array `like`."""
    with jax.enable_x64(True):
        return jax.make_array_from_callback(array.shape, whole_sharding(like), lambda index: array[index])


def gathered_rows(row, devices):
    """{number of a process: the row that it gives} of those that have some of the devices.

    row: uint8 vector, as long in each of them.
    """
    devices = np.array(sorted(devices, key=lambda d: d.id))
    along = NamedSharding(Mesh(devices, "rows"), PartitionSpec("rows"))
    shape = len(devices), len(row)
    told = jax.make_array_from_callback(shape, along, lambda index: row[None])
    rows = host_array(told)
    first = {}
    for device, found in zip(devices, rows):
        first.setdefault(device.process_index, found)
    return {process: first[process] for process in sorted(first)}


def spans_processes(mesh):
    """Whether a mesh has devices of several processes."""
    return len({d.process_index for d in mesh.devices.flat}) > 1


def laid_over(x, sharding):
    """An array that each process has in full, or one that is spread already, as a jax array that lies so."""
    if is_shared(x):
        return jax.device_put(x, sharding)
    x = np.asarray(x)
    return jax.make_array_from_callback(x.shape, sharding, lambda index: x[index])


def made_whole_everywhere(results):
    """Results of a program, a jax array or a tuple of them, each of them whole on all its devices."""
    gather = lambda x: replicating(whole_sharding(x))(x) if is_spread(x) else x
    return tuple(map(gather, results)) if isinstance(results, tuple) else gather(results)


def whole_sharding(x):
    """The sharding of a jax array that is whole on each device of x."""
    sharding = x.sharding
    if not isinstance(sharding, NamedSharding):
        devices = list(sharding.devices_indices_map(x.shape))
        sharding = NamedSharding(Mesh(np.array(devices), "devices"), PartitionSpec())
    return NamedSharding(sharding.mesh, PartitionSpec())


@functools.lru_cache(KNOWN)
def replicating(sharding):
    return jax.jit(lambda x: x, out_shardings=sharding)
