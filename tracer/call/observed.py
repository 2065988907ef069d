"""Types of calls that a program of all sizes is learnt from, and those that `dynamic=` says there will be."""

from ...ir.types import Tensor
from .size_names import LEAST


def without_small(observed):
    """Of types of several calls, those without sizes 0 and 1 where a size changes."""
    columns = [(k, a) for k, t in enumerate(observed[0]) for a in range(t.ndim)]
    moving = [(k, a) for k, a in columns if len({types[k].shape[a] for types in observed}) > 1]
    return [types for types in observed if all(types[k].shape[a] >= LEAST for k, a in moving)]


def larger(observed):
    """Of types of several calls, the half that is larger: small sizes may lead to another program."""
    ordered = sorted(observed, key=lambda types: sum(t.size for t in types))
    return ordered[len(ordered) // 2 :] if len(ordered) > 3 else ordered[1:]


def as_if_changed(types, names, asked):
    """Types of a second call, in which sizes differ: all of two and more, equal ones alike, or the axes asked for.
    asked: True, or ((name of an argument, axes), ...); names: of the leaves."""
    steps, wanted = {}, dict(() if asked is True else asked)

    def changed(k, axis, n):
        axes = range(types[k].ndim) if asked is True else asked_axes(names[k], wanted)
        if n < LEAST or axis not in [a % types[k].ndim for a in axes]:
            return n
        return n + steps.setdefault(n, 1 + 2 * len(steps))

    return tuple(Tensor(tuple(changed(k, a, n) for a, n in enumerate(t.shape)), t.dtype) for k, t in enumerate(types))


def asked_axes(name, wanted):
    """The axes that are asked for of a leaf: by its own name, or that of the argument it is in."""
    return wanted.get(name, wanted.get(name.partition("[")[0].partition(".")[0], ()))
