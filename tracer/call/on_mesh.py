"""A call under `jit(mesh=, shard=)`: its arguments spread over the devices, and results in the kind of the caller's."""

import numpy as np

from ...backends.xla import sharding
from ...ir.types import type_of
from ..program.trace_tree import SelectedResults, Untraced
from .agreement import agree_now_and_then


def run_on_mesh(entry, here, everything):
    """The raw results of all that a program takes; whole in each process where they are to be ndarrays."""
    device, version = entry.compiled.device, here.version(tuple([type_of(x) for x in everything]))
    if version is None:
        raise Untraced
    specs = device.specs(version.func, version.places, entry.names, [np.shape(x) for x in everything])
    if device.is_shared:
        agree_now_and_then(entry, here, version, everything)
    with sharding.laid_out(specs):
        raw = here.call(*sharding.spread_arrays(everything, device.mesh, specs))
    given = device.for_numpy if entry.numpy else lambda raw: raw
    return SelectedResults(raw.version, given(raw.raw)) if isinstance(raw, SelectedResults) else given(raw)
