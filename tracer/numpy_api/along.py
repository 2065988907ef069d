"""np.apply_along_axis and np.apply_over_axes: a function traced once on one line of an array, then batched over all lines."""

import operator

import numpy as np

from ...autodiff.batch import batch
from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from .. import pytree
from ..array import bring, fresh
from ..capture import ARRAY, Kind, capture
from ..emit import reshape_to
from ..errors import UnsupportedError, message
from ..frames import locate
from ..storage import current_trace
from .arguments import traced
from .handles import handle, value_of
from .registry import implements
from .shaping import expand_dims, moveaxis


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    x = handle(arr)
    axis = np.lib.array_utils.normalize_axis_index(operator.index(axis), x.ndim)
    lead = x.shape[:axis] + x.shape[axis + 1 :]
    size = int(np.prod(lead, dtype=object))
    if not size:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = reshape_to(moveaxis(x, axis, -1).value, (size, x.shape[axis]))
    found = on_every(lambda line: fresh(value_of(func1d(line, *args, **kwargs))), lines)
    rest = found.type.shape[1:]
    whole = fresh(reshape_to(found, (*lead, *rest)))
    return moveaxis(whole, range(len(lead), whole.ndim), range(axis, axis + len(rest)))


def on_every(function, lines):
    """`function` of every row of `lines`, stacked: traced on one of them, and batched."""
    row = Kind(Tensor(lines.type.shape[1:], lines.type.dtype), ARRAY, True)
    leaves, tree = pytree.flatten(((row,), {}))
    trace = current_trace()
    captured = capture(function, leaves, tree, [row], "along", parent=trace)
    status = trace.root.status
    if any(storage is not status for storage in captured.effects):
        text = "the function given to np.apply_along_axis writes into an array outside it"
        raise UnsupportedError(message(text, locate(), "Return what it computes instead."))
    func = batch(captured.func, (True, *(False for _ in captured.lifted)), lines.type.shape[0])
    result, *failed = trace.build.inline(func, (lines, *map(bring, captured.lifted)))
    if failed:  # the status of the whole is that of the first line that failed
        bad = OPS["ne"](failed[0], Lit(0, failed[0].type))
        first = OPS["dynamic_slice"](failed[0], OPS["argmax"](bad, axis=0), sizes=(1,))
        status.write(reshape_to(first, ()))
    return result


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    x = traced(a)
    for axis in (axes,) if isinstance(axes, int | np.integer) else axes:
        axis = axis + x.ndim if axis < 0 else axis
        found = traced(func(x, axis))
        found = found if found.ndim == x.ndim else expand_dims(found, axis)
        if found.ndim != x.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = found
    return x
