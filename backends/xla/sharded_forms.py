"""Operations on arrays that may lie over several devices, in forms that XLA's partitioner takes.

jax 0.10 and XLA's CPU client, without these: a reduction whose function is not one of a few raises UNIMPLEMENTED, a pad
between elements and a transform along a spread axis end the process, windows with strides give wrong numbers, and
one element of a spread array is cut out of all of it, gathered.
"""

import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental.layout import Layout, with_layout_constraint

from ...ir.exactness import ONLY_EXACT
from ...ir.ops import OPS
from .reduction import SCANS
from .sharding import LAYOUT, made_whole
from .table import XLA


def in_parts(reduce, x, axis):
    """A reduction along one axis as that of the parts on the devices, then of what these give."""
    n = LAYOUT.devices
    if x.shape[axis] % n:
        return reduce(made_whole(x, [axis]), axis)
    parts = lax.reshape(x, (*x.shape[:axis], n, x.shape[axis] // n, *x.shape[axis + 1 :]))
    return reduce(made_whole(reduce(parts, axis + 1), [axis]), axis)


def bitwise(reduce):
    """Of bools across devices as they stand, but for `xor`, of integers in parts."""

    def run(x, *, axes):
        if x.dtype == bool and reduce is not lax.reduce_xor:
            return reduce(x, axes)
        for axis in sorted(axes, reverse=True):
            x = in_parts(lambda x, axis: reduce(x, (axis,)), x, axis)
        return x

    return run


def nan_extreme(reduce):
    """The greatest or least, and NaN where one is."""

    def run(x, *, axes):
        z = reduce(x, axes)
        if x.dtype.kind != "f" or not axes or not x.size:
            return z
        return lax.select(lax.reduce_or(lax.ne(x, x), axes), lax.full_like(z, np.nan), z)

    return run


def sum_in_single(x, *, axes):
    """float16 is added up in float32, as NumPy does."""
    half = x.dtype == np.float16
    return lax.reduce_sum(x.astype(np.float32), axes).astype(x.dtype) if half else lax.reduce_sum(x, axes)


def scanned(op, combine, start):
    """A scan along an axis as those of the parts on the devices, each begun with what lies before it."""
    plain = XLA[op]

    def run(x, *, axis, reverse):
        if x.dtype == bool:
            return run(x.astype(np.uint8), axis=axis, reverse=reverse).astype(bool)
        n, size = LAYOUT.devices, x.shape[axis]
        if not x.size or size % n or size == n or ONLY_EXACT.get():
            return plain(made_whole(x, [axis]), axis=axis, reverse=reverse)
        parts = lax.reshape(x, (*x.shape[:axis], n, size // n, *x.shape[axis + 1 :]))
        own = plain(parts, axis=axis + 1, reverse=reverse)
        ends = made_whole(lax.index_in_dim(own, 0 if reverse else -1, axis + 1, keepdims=False), [axis])
        before, first = plain(ends, axis=axis, reverse=reverse), np.asarray(start(x.dtype), x.dtype)[()]
        edge = [(0, 0, 0)] * ends.ndim
        edge[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        before = lax.expand_dims(lax.pad(before, first, edge), (axis + 1,))
        return lax.reshape(combine(own, jnp.broadcast_to(before, own.shape)), x.shape)

    return run


def arg_search(search):
    return lambda x, *, axis, dtype: search(x.astype(np.uint8) if x.dtype == bool else x, axis, dtype)


def sorted_whole(*xs, axis, num_keys, stable):
    """Of whole rows."""
    return tuple(lax.sort([made_whole(x, [axis]) for x in xs], axis, is_stable=True, num_keys=num_keys))


def cut_out(x, *starts, sizes):
    """One element along an axis is the sum along it of what is nothing but there: each device has its part."""
    alone = [a for a, (k, n) in enumerate(zip(sizes, x.shape, strict=True)) if k == 1 < n]
    if len(alone) != sum(k != n for k, n in zip(sizes, x.shape, strict=True)) or x.dtype.kind not in "fiub":
        return XLA[OPS["dynamic_slice"]](x, *starts, sizes=sizes)
    z = x.astype(np.uint8) if x.dtype == bool else x
    nothing = np.asarray(-0.0 if x.dtype.kind == "f" else 0, z.dtype)[()]
    for a in alone:
        at = lax.clamp(np.int64(0), starts[a].astype(np.int64), np.int64(x.shape[a] - 1))
        here = lax.broadcasted_iota(np.int64, z.shape, a) == at
        z = lax.expand_dims(lax.reduce(jnp.where(here, z, nothing), nothing, lax.add, (a,)), (a,))
    return z.astype(x.dtype)


def slice_whole_ones(x, *, start, stop, stride):
    """What is cut to one element along an axis is whole there: of one element over several devices some operations make
    what ends the process."""
    out = lax.slice(x, start, stop, stride)
    return made_whole(out, [a for a, (k, n) in enumerate(zip(out.shape, x.shape, strict=True)) if k == 1 < n])


def uneven(shape, axes):
    """Those of the axes that do not part evenly over the devices, which XLA fills up."""
    return [a for a in axes if shape[a] % LAYOUT.devices]


def at_whole_indices(op):
    """A gather whose index vectors are whole."""
    return lambda x, indices, **attrs: XLA[op](x, made_whole(indices, [-1]), **attrs)


def scatter_of_whole(op):
    """Index vectors are whole, and so are axes of many of them that XLA would fill up: with what is not of the type of
    the indices, and ends the process."""

    def run(x, indices, updates, **attrs):
        batch = [a for a in range(updates.ndim) if a not in attrs["offset_dims"]]
        updates = made_whole(updates, uneven(updates.shape, batch))
        indices = made_whole(indices, [-1, *uneven(indices.shape, range(indices.ndim - 1))])
        return XLA[op](x, indices, updates, **attrs)

    return run


def with_whole(op, axes):
    """An op whose first operand and result are whole along `axes(attributes, ndim)`: where the result is spread because
    of what reads it, the partitioner takes the operand apart again."""

    def run(x, *rest, **attrs):
        along = axes(attrs, x.ndim)
        return made_whole(XLA[op](made_whole(x, along), *rest, **attrs), along)

    return run


def fft_in_order(x, *, kind, lengths):
    """Of rows that are whole and lie in order: XLA's transform takes no other, and nothing else holds it to that."""
    along, in_order = range(x.ndim - len(lengths), x.ndim), Layout(tuple(range(x.ndim)))
    z = XLA[OPS["fft"]](with_layout_constraint(made_whole(x, along), in_order), kind=kind, lengths=lengths)
    return made_whole(with_layout_constraint(z, in_order), along)


def cut_and_padded(x, value, *, low, high, interior):
    """Whole along axes with gaps. Along others what is cut is cut before: an array that is whole, padded on one side
    and cut as much on the other, is left unmoved by XLA's partitioner where a spread one is wanted."""
    axes = [a for a, gap in enumerate(interior) if gap]
    low, high, n = list(low), list(high), x.shape
    for a in range(x.ndim):
        if a not in axes and min(low[a], high[a]) < 0 < max(low[a], high[a]):
            x = lax.slice_in_dim(x, min(max(-low[a], 0), n[a]), n[a] - min(max(-high[a], 0), n[a]), axis=a)
            low[a] += n[a] - x.shape[a] if low[a] < 0 else 0
            high[a] += n[a] - x.shape[a] if high[a] < 0 else 0
    z = XLA[OPS["pad"]](made_whole(x, axes), value, low=tuple(low), high=tuple(high), interior=interior)
    return made_whole(z, axes)


def conv_by_batch(x, w, **attrs):
    """Each device has some of the batch, unless it is a convolution as XLA's partitioner can take apart."""
    spread = {*attrs["strides"], *attrs["lhs_dilation"], *attrs["rhs_dilation"]} - {1}
    cut = any(side < 0 for sides in attrs["padding"] for side in sides)
    apart = attrs["groups"] * attrs["batch_groups"] > 1
    if not spread and not cut and not apart:
        return XLA[OPS["conv_general"]](x, w, **attrs)
    (batch, *_), _, (to, *_) = attrs["dimension_numbers"]
    but = lambda axis: [a for a in range(x.ndim) if a != axis or attrs["batch_groups"] > 1]
    z = XLA[OPS["conv_general"]](made_whole(x, but(batch)), made_whole(w, range(w.ndim)), **attrs)
    return made_whole(z, but(to))


def made_forms():
    """{op: its form}."""
    windowed = lambda attrs, ndim: [a for a, k in enumerate(attrs["window"]) if k > 1 or attrs["strides"][a] > 1]
    forms = {f"reduce_window_{name}": windowed for name in ("sum", "max", "min", "argmax", "argmin")}
    found = {OPS[name]: with_whole(OPS[name], axes) for name, axes in forms.items()}
    found |= {OPS[f"reduce_{name}"]: bitwise(getattr(lax, f"reduce_{name}")) for name in ("and", "or", "xor")}
    found |= {OPS[f"reduce_{name}"]: nan_extreme(getattr(lax, f"reduce_{name}")) for name in ("max", "min")}
    found |= {OPS[name]: scatter_of_whole(OPS[name]) for name in OPS if name.startswith("scatter")}
    found[OPS["gather"]] = at_whole_indices(OPS["gather"])
    found |= {op: scanned(op, *how) for op, how in SCANS.items()}
    found[OPS["fft"]] = fft_in_order
    found |= {OPS["pad"]: cut_and_padded, OPS["conv_general"]: conv_by_batch}
    found |= {OPS["argmax"]: arg_search(lax.argmax), OPS["argmin"]: arg_search(lax.argmin)}
    found |= {OPS["reduce_sum"]: sum_in_single, OPS["reduce_prod"]: lambda x, *, axes: lax.reduce_prod(x, axes)}
    return found | {OPS["sort"]: sorted_whole, OPS["slice"]: slice_whole_ones}


FORMS = made_forms()
CUT = {OPS["dynamic_slice"]: cut_out}  # not in loops, where an array that is whole would be read all through


def forms_of(func, counted):
    """{equation: its form} of what is lowered for several devices; counted: as the body of a loop."""
    if LAYOUT.mesh is None:
        return {}
    forms = FORMS if counted else FORMS | CUT
    return {eqn: forms[eqn.op] for eqn in func.eqns if eqn.op in forms}
