"""Products of bounded arrays: the summed axes brought to the same places, their junk set to zero."""

import numpy as np

from ...common.errors import UnsupportedError, message
from ...common.frames import locate
from ...extents.align import harmless, meeting, moved, shape_and_extents, value_of
from ...extents.bounded import BoundedArray, made, refused
from ...values.array import TracedArray, fresh
from ..handles import handle
from ..registry import HANDLERS
from .functions import handles, stored


def brought(x, y, pairs, text):
    """Both operands, the axes of `pairs` (axis of x, axis of y) where they meet and all junk zero -> (arrays, their
    extents)."""
    out = []
    values, own = [value_of(x), value_of(y)], [list(shape_and_extents(v)[1]) for v in (x, y)]
    for a, b in pairs:
        entries = [(values[0].type.shape[a], own[0][a]), (values[1].type.shape[b], own[1][b])]
        if entries[0][1] is None and entries[1][1] is None:
            continue
        size, target = meeting(entries, repeat=False, text=text)
        for which, axis in ((0, a), (1, b)):
            values[which] = moved(values[which], axis, own[which][axis], size, target)
            own[which][axis] = target
    for value, extents in zip(values, own):
        out.append(fresh(harmless(BoundedArray(fresh(value), extents), 0)))
    return out, own


def bounded_product(name, run, x, y, a, b, out=None):
    """`run` on operands that are summed along axis a of x and axis b of y; their other axes follow one another in the
    result."""
    text = f"{name}: shapes {np.shape(x)} and {np.shape(y)} not aligned: the axes that are summed differ in length"
    arrays, (p, q) = brought(x, y, [(a, b)], text)
    extents = [e for d, e in enumerate(p) if d != a] + [e for d, e in enumerate(q) if d != b]
    if len(p) == len(q) == 1 and arrays[0].dtype == arrays[1].dtype and arrays[0].dtype.kind == "f":
        result = HANDLERS[np.sum](np.multiply(*arrays))  # one pass over both, the junk left out on the way
    else:
        result = run(*arrays)
    return stored(name, made(result, extents) if isinstance(result, TracedArray) else result, out)


def ready(name, x, y):
    """Both as traced arrays of one or two axes."""
    x, y = (v if type(v) is BoundedArray else handle(v) for v in (x, y))
    if not 0 < x.ndim < 3 or not 0 < y.ndim < 3:
        refused(f"np.{name} of scalars or of more than two axes", x if type(x) is BoundedArray else y)
    return x, y


@handles(np.matmul)
def matmul(x, y, out=None, **kwargs):
    x, y = ready("matmul", x, y)
    run = lambda a, b: np.matmul(a, b, **kwargs)
    return bounded_product("matmul", run, x, y, x.ndim - 1, max(y.ndim - 2, 0), out)


@handles(np.dot, method="dot")
def dot(a, b, out=None):
    if not np.ndim(a) or not np.ndim(b):
        return stored("dot", np.multiply(a, b), out)
    x, y = ready("dot", a, b)
    return bounded_product("dot", HANDLERS[np.dot], x, y, x.ndim - 1, max(y.ndim - 2, 0), out)


@handles(np.inner)
def inner(a, b):
    x, y = ready("inner", a, b)
    return bounded_product("inner", HANDLERS[np.inner], x, y, x.ndim - 1, y.ndim - 1)


def raveled(name, x):
    return np.ravel(x if type(x) is BoundedArray else handle(x))


@handles(np.vdot)
def vdot(a, b):
    x, y = raveled("vdot", a), raveled("vdot", b)
    return bounded_product("vdot", HANDLERS[np.vdot], x, y, 0, 0)


@handles(np.vecdot)
def vecdot(a, b, axis=-1, **kwargs):
    if np.ndim(a) != 1 or np.ndim(b) != 1:
        refused("np.vecdot of several axes", a if type(a) is BoundedArray else b)
    return vdot(a, b)


@handles(np.outer)
def outer(a, b, out=None):
    x, y = raveled("outer", a), raveled("outer", b)
    return stored("outer", np.multiply(x[:, None], y[None, :]), out)


@handles(np.einsum)
def einsum(subscripts, *operands, out=None, **kwargs):
    """An explicit or implicit sum over labelled axes, without an ellipsis."""
    if not isinstance(subscripts, str) or "." in subscripts:
        raise UnsupportedError(
            message("np.einsum with an ellipsis or lists of axes is not captured on arrays of unknown length", locate())
        )
    left, _, right = subscripts.replace(" ", "").partition("->")
    labels = left.split(",")
    if "->" not in subscripts:
        right = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    if any(len(set(names)) < len(names) for names in labels):
        raise UnsupportedError(message("np.einsum of a diagonal is not captured on arrays of unknown length", locate()))
    values, own, found = [value_of(x) for x in operands], [list(shape_and_extents(x)[1]) for x in operands], {}
    for c in dict.fromkeys(left.replace(",", "")):
        holders = [(i, names.index(c)) for i, names in enumerate(labels) if c in names]
        entries = [(values[i].type.shape[axis], own[i][axis]) for i, axis in holders]
        if all(e is None for _, e in entries):
            continue
        size, found[c] = meeting(entries, repeat=False, text=f"einsum: axes labelled {c} differ in length")
        for i, axis in holders:
            values[i] = moved(values[i], axis, own[i][axis], size, found[c])
            own[i][axis] = found[c]
    arrays = [fresh(harmless(BoundedArray(fresh(v), e), 0)) for v, e in zip(values, own)]
    result = HANDLERS[np.einsum](f"{left}->{right}", *arrays, **kwargs)
    return stored(
        "einsum", made(result, [found.get(c) for c in right]) if isinstance(result, TracedArray) else result, out
    )
