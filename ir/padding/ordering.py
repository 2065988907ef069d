"""Sorting in room: what is in the tail stays last."""

import numpy as np

from ..dims import Dim
from ..ops.sorting import sort, top_k
from .building import ROOM, refuse
from .summing import greatest, least


def last_of_all(dtype):
    """A number before which all others come, NaN too where those that come first are kept first."""
    return np.nan if dtype.kind == "f" else greatest(dtype)


@ROOM.rule(sort)
def ordered(scope, eqn, *xs):
    axis, keys = eqn.attrs["axis"], eqn.attrs["num_keys"]
    for x in xs:
        scope.plain(eqn, x)
    if xs[0].axes[axis] is None:
        out = sort(*[x.value for x in xs], **scope.attrs(eqn))
        return scope.made(eqn, out)
    xs = [scope.fill(x, [axis], last_of_all(x.value.type.dtype), eqn) if k < keys else x for k, x in enumerate(xs)]
    stable = eqn.attrs["stable"] or len(xs) > 1
    out = sort(*[x.value for x in xs], **scope.attrs(eqn, stable=stable))
    return scope.made(eqn, out, {axis: xs[0].ends[axis]} if axis in xs[0].ends else {})


@ROOM.rule(top_k)
def greatest_ones(scope, eqn, x):
    axis, k = len(x.axes) - 1, scope.attr(eqn, "k")
    scope.plain(eqn, x)
    if isinstance(k, Dim) and x.axes[axis] is None:
        refuse(eqn, f"{k} of {x.value.type.shape[axis]}")
    x = scope.fill(x, [axis], least(x.value.type.dtype), eqn)
    return scope.made(eqn, top_k(x.value, **scope.attrs(eqn)))
