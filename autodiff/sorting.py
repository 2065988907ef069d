"""Derivatives and batching of sorting: tangents follow their elements, cotangents go back the same way."""

from ..ir.core import Lit
from ..ir.ops.indexing import put_along_axis, take_along_axis
from ..ir.ops.sorting import sort, sort_with_order, top_k
from .batch import BATCH, every
from .forms import explicit, joint


def reordered(t, order, axis):
    return take_along_axis(t, order, axis, mode="promise", unique=True)


def moved_back(g, x, order, axis):
    return put_along_axis(Lit(0, x.type), order, g, axis, kind="add", mode="promise", unique=True)


def sort_jvp(operands, tangents, *, axis, **attrs):
    results, order = sort_with_order(*operands, axis=axis, **attrs)
    return results, tuple(None if t is None else reordered(t, order, axis) for t in tangents)


def sort_vjp(operands, needs, gives, *, axis, **attrs):
    """One sort finds the permutation and applies it."""
    results, order = sort_with_order(*operands, axis=axis, **attrs)

    def pull(cotangents):
        return tuple(
            moved_back(g, x, order, axis) if need and g is not None else None
            for g, x, need in zip(cotangents, operands, needs)
        )

    return results, pull


def top_k_jvp(z, operands, tangents, **attrs):
    return reordered(tangents[0], z[1], operands[0].type.ndim - 1), None


def top_k_vjp(z, operands, cotangents, needs, **attrs):
    return (moved_back(cotangents[0], operands[0], z[1], operands[0].type.ndim - 1),)


joint(sort, jvp=sort_jvp, vjp=sort_vjp)
explicit(top_k, jvp=top_k_jvp, vjp=top_k_vjp)

BATCH.add({
    sort: lambda n, b, *xs, axis, **attrs: sort(*every(n, b, xs), axis=axis + 1, **attrs),
    top_k: lambda n, b, x, **attrs: top_k(x, **attrs),
})  # fmt: skip
