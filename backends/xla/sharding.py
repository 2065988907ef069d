"""Programs of arrays that lie over several devices: the mesh that a program is traced for, and where values lie.

jax traces a program once for each mesh of its arguments, so the mesh is known while a program is lowered. Over which
axes of it the arguments lie is known of explicit axes, and where `laid_out` says so; else programs are right for all.
Explicit axes of a mesh are automatic within a program: there XLA chooses, and results lie as `ir.spread` says.
"""

import contextlib
import math
import threading

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from ...ir.spread import Spread
from . import processes

FREE = PartitionSpec.UNCONSTRAINED


class Layout(threading.local):
    """mesh: that of the values which are lowered now, None on one device; specs: how the parameters of the program lie
    over it, None where that is not known; devices: along its automatic axes; given: specs of a program to be traced."""

    mesh = specs = given = None
    devices = 1


LAYOUT = Layout()


@contextlib.contextmanager
def laid_out(specs):
    """Programs that are traced within, for arrays on an automatic mesh, may take it that their leaves lie like this."""
    before, LAYOUT.given = LAYOUT.given, specs
    try:
        yield
    finally:
        LAYOUT.given = before


def mesh_of(leaves):
    """The mesh of jax values in a trace, with axes that are not manual; None where there is none."""
    for x in leaves:
        if isinstance(x, jax.Array) and not (mesh := jax.typeof(x).sharding.mesh).empty and mesh.size > 1:
            if not all(kind is AxisType.Manual for kind in mesh.axis_types):
                return mesh
    return None


def explicit_spec(x):
    """The spec of a jax value along explicit axes, an entry for each axis of it."""
    spec = tuple(jax.typeof(x).sharding.spec) if isinstance(x, jax.Array) else ()
    return (*spec, *[None] * (np.ndim(x) - len(spec)))


def mesh_sizes(mesh):
    return dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))


def read_leaves(func, leaves, places):
    """Those that the program reads: jax leaves out the others, and with them the devices on which they lie."""
    read = {x for eqn in func.eqns for x in eqn.operands} | {*func.results}
    return [leaves[i] for i, p in zip(places, func.params, strict=True) if p in read]


def over_devices(run, func, leaves, places, count=None):
    """`run(leaves)`, where some leaves may lie over several devices: those at `places` are the parameters of `func`,
    whose first `count` results it gives, None all."""
    mesh = mesh_of(read_leaves(func, leaves, places))
    if mesh is None:
        return run(leaves)
    explicit = [n for n, kind in zip(mesh.axis_names, mesh.axis_types, strict=True) if kind is AxisType.Explicit]
    if not explicit:
        specs = LAYOUT.given and [LAYOUT.given[i] for i in places]
        with lowering(mesh, specs):
            return run(leaves)
    specs = [explicit_spec(leaves[i]) for i in places]
    results = Spread(func, specs, mesh_sizes(mesh)).results[:count]

    def automatic(*leaves):
        with lowering(mesh_of(leaves), specs):
            return tuple(run(leaves))

    out = tuple(NamedSharding(mesh, PartitionSpec(*spec)) for spec in results)
    leaves = [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in leaves]
    return list(jax.sharding.auto_axes(automatic, axes=tuple(explicit), out_sharding=out)(*leaves))


@contextlib.contextmanager
def lowering(mesh, specs):
    before = LAYOUT.mesh, LAYOUT.specs, LAYOUT.devices
    kinds = () if mesh is None else zip(mesh.axis_sizes, mesh.axis_types, strict=True)
    LAYOUT.mesh, LAYOUT.specs = mesh, specs
    LAYOUT.devices = math.prod(n for n, kind in kinds if kind is AxisType.Auto)
    try:
        yield
    finally:
        LAYOUT.mesh, LAYOUT.specs, LAYOUT.devices = before


def is_spread():
    """Whether what is lowered now may lie over several devices."""
    return LAYOUT.mesh is not None


def made_whole(x, axes):
    """x, of which each device has all along some axes."""
    axes = [a % x.ndim for a in axes]
    spec = PartitionSpec(*[None if a in axes else FREE for a in range(x.ndim)])
    return lax.with_sharding_constraint(x, NamedSharding(LAYOUT.mesh, spec)) if axes else x


def is_explicit(x):
    """Whether x is a jax array along explicit axes of a mesh."""
    return isinstance(x, jax.Array) and AxisType.Explicit in jax.typeof(x).sharding.mesh.axis_types


def viewed(x, view):
    """`view(x)`, indexing of some kind, of an array along explicit axes, where jax asks for the sharding of what is cut
    out: it lies as XLA chooses."""
    if isinstance(x, jax.core.Tracer):
        return jax.sharding.auto_axes(view, out_sharding=PartitionSpec())(x)
    mesh = x.sharding.mesh
    out = view(jax.device_put(x, lying_so(automatic_mesh(mesh_sizes(mesh), mesh.devices), x.sharding.spec)))
    spec = out.sharding.spec if isinstance(out.sharding, NamedSharding) else ()
    return jax.device_put(out, lying_so(mesh, spec))


# -- arrays of the user's ------------------------------------------------------------------------------------------


def all_devices():
    return jax.devices()


def is_mesh(x):
    return isinstance(x, Mesh)


def automatic_mesh(sizes, devices=None):
    """A mesh of {axis: devices along it}, over which XLA chooses; devices: an array of them, or those there are."""
    shape, names = tuple(sizes.values()), tuple(sizes)
    found = np.array(jax.devices()[: math.prod(shape)]).reshape(shape) if devices is None else devices
    return Mesh(found, names, axis_types=(AxisType.Auto,) * len(names))


def lying_so(mesh, spec=()):
    """The sharding of an array whose axes lie so; of all of it on all devices."""
    return NamedSharding(mesh, PartitionSpec(*spec))


def spread_arrays(leaves, mesh, specs):
    """Arrays as jax arrays that lie over a mesh; of one of several processes, each puts its part there."""
    if processes.spans_processes(mesh):
        return [processes.laid_over(x, lying_so(mesh, spec)) for x, spec in zip(leaves, specs, strict=True)]
    return jax.device_put(list(leaves), [lying_so(mesh, spec) for spec in specs])


def spec_entries(spec):
    """A jax PartitionSpec as a tuple; what is none, as it is."""
    return tuple(spec) if isinstance(spec, PartitionSpec) else spec
