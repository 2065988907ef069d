"""Loops of arrays that lie over several devices: each device runs the trips of its rows, as machine code where it can.

Rows that a trip reads beside its own come from the neighbours once, before the loop. A loop whose trips depend on each
other runs whole on every device where it goes through arrays element by element, and is XLA's where it computes with
arrays, which XLA's partitioner takes apart.
"""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import AxisType, PartitionSpec

from ...ir.exactness import ONLY_EXACT
from ...ir.split import in_parts_within, way_of
from .sharding import LAYOUT, lowering, mesh_sizes


def over_parts(operands, attrs, through_lax, on_each):
    """The results of a loop on values that may lie over several devices; None where it runs as on one.

    through_lax(*operands): as XLA has it; on_each(operands, attrs): what a device runs.
    """
    if LAYOUT.mesh is None or any(kind is not AxisType.Auto for kind in LAYOUT.mesh.axis_types):
        return None
    if not any(x.shape for x in operands):
        return None
    sizes, exact = mesh_sizes(LAYOUT.mesh), ONLY_EXACT.get()
    split, axis, _ = way_of(attrs, sizes, exact)
    if split is not None:
        return run_split(split, axis, operands, attrs, on_each)
    return through_lax(*operands) if in_parts_within(attrs, sizes, exact) else None


def run_split(split, axis, operands, attrs, on_each):
    n = mesh_sizes(LAYOUT.mesh)[axis]
    m, first = split.parts(n), split.count
    spec = lambda k: PartitionSpec(*[None] * split.axes[k], axis) if k in split.axes else PartitionSpec()
    inside = attrs | {"body": split.body(m), "trips": m if split.trips == split.rows else None}

    def part(*operands):
        here = lax.axis_index(axis).astype(np.int64)
        begin = jnp.maximum(here * m - split.first, 0)
        count = jnp.maximum(jnp.minimum(np.int64(split.trips), (here + 1) * m - split.first) - begin, 0)
        given = [jnp.where(here == 0, x, 0) if k in split.sums else x for k, x in enumerate(operands)]
        for k, place in split.axes.items():
            given[k] = with_halo(given[k], place, split.halo[k], axis, n)
        limit = [] if inside["trips"] is not None else [count]
        with lowering(None, None):
            out = on_each([*limit, begin + split.first - here * m, begin, *given], inside)
        return tuple(lax.psum(x, axis) if k in split.sums else x for k, x in enumerate(out, first))

    given = [jnp.asarray(x) for x in operands]
    run = jax.shard_map(
        part,
        mesh=LAYOUT.mesh,
        in_specs=tuple(map(spec, range(len(given)))),
        out_specs=tuple(map(spec, range(first, len(given)))),
        check_vma=False,
    )
    return run(*given)


def with_halo(x, axis, halo, name, n):
    """The rows of a device, with those of its neighbours before and behind."""
    low, high = halo
    rows = x.shape[axis]
    before = lax.slice_in_dim(x, rows - low, rows, axis=axis)
    behind = lax.slice_in_dim(x, 0, high, axis=axis)
    parts = [lax.ppermute(before, name, [(k, k + 1) for k in range(n - 1)])] if low else []
    parts += [x] + ([lax.ppermute(behind, name, [(k + 1, k) for k in range(n - 1)])] if high else [])
    return lax.concatenate(parts, axis) if len(parts) > 1 else x
