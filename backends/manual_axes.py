"""Values in `jax.shard_map`: over which axes of the mesh they differ is part of their types there, and the branches of
a choice and what a loop carries must agree on it. What depends on such values differs as they do."""

import jax
from jax import lax


def manual_axes_of(values):
    """The axes of a mesh along which some of the values differ; none outside `jax.shard_map`."""
    found = frozenset()
    for x in values:
        t = jax.typeof(x)
        held = getattr(t, "mat", None)  # what jax has from 0.10 on
        found |= held.varying if held is not None else getattr(t, "vma", frozenset())
    return found


def all_varying(values, axes):
    """The values as such that differ along `axes` too, as a tuple."""
    return tuple([made_varying(x, axes) for x in values]) if axes else tuple(values)


def made_varying(x, axes):
    more = tuple(sorted(axes - manual_axes_of([x])))
    if not more:
        return x
    return lax.pcast(x, more, to="varying") if hasattr(lax, "pcast") else lax.pvary(x, more)  # the name before 0.9


def varying_as(operands, function):
    """`function(*values) -> values`, its results such that differ as the operands do."""
    axes = manual_axes_of(operands)
    return (lambda *xs: all_varying(function(*xs), axes)) if axes else function
