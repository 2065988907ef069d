"""Functions of leaves: a function whose arguments are containers, its linear maps and its batches, as compiled
functions of two tuples, the leaves that vary and the rest.

What another library differentiates is a list of tensors; which of them vary it says at each call.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...backends.xla.exchange import BFLOAT16
from ..api.differentiable import compiled
from ..api.linear_maps import jvp, vjp
from ..api.mapped import MappedFunction
from ..common import pytree
from ..regions import hooks
from ..values.array import Traced


@dataclasses.dataclass(frozen=True)
class LeafLayout:
    """The structure of (args, kwargs), the order of keys in it, and the leaves that vary."""

    tree: Any
    order: Any
    varied: tuple[int, ...]

    def parted(self, leaves):
        """(the leaves that vary, the rest)."""
        chosen = set(self.varied)
        return tuple([leaves[i] for i in self.varied]), tuple([x for i, x in enumerate(leaves) if i not in chosen])

    def joined(self, varied, rest):
        """(args, kwargs) of leaves."""
        places, others = dict(zip(self.varied, varied)), iter(rest)
        count = len(varied) + len(rest)
        leaves = [places[i] if i in places else next(others) for i in range(count)]
        return pytree.unflatten(self.tree, leaves, pytree.order_of(self.order))

    def function(self, function, rest):
        """The function of the leaves that vary alone."""

        def of_varied(*varied):
            args, kwargs = self.joined(varied, rest)
            return hooks.call(function)(*args, **kwargs)

        of_varied.__name__ = getattr(function, "__name__", type(function).__name__)
        return of_varied


def is_inexact(x):
    """Whether a value has derivatives: floating and complex arrays and numbers."""
    if isinstance(x, Traced):
        return x.type.inexact
    dtype = getattr(x, "dtype", None)
    return isinstance(x, float | complex) or dtype is not None and (dtype.kind in "fc" or dtype == BFLOAT16)


def forward(function, layout):
    """(varied, rest) -> (the result, its pullback)."""
    return compiled(_forward_half, function, "forward", layout)


def pulled(function, layout):
    """(varied, rest, cotangents of the floating results) -> cotangents of those that vary, as torch has them: of
    complex numbers the conjugates of ours."""
    return compiled(_cotangents, function, "backward", layout)


def pushed(function, layout):
    """(varied, rest, tangents) -> tangents of the floating results."""
    return compiled(_tangents, function, "forward", layout)


def batched(function, layout, axes):
    """(leaves,) -> results over the lanes of the leaves that have an axis, in front."""
    return compiled(_lanes, function, "vmap", layout, axes)


def _forward_half(function, signature, layout, args, kwargs):
    varied, rest = args
    return vjp(layout.function(function, rest), *varied)


def _cotangents(function, signature, layout, args, kwargs):
    varied, rest, slopes = args
    value, pull = vjp(layout.function(function, rest), *varied)
    leaves, tree = pytree.flatten(value)
    given = iter(slopes)
    full = [conjugated(next(given)) if is_inexact(x) else 0.0 for x in leaves]
    return tuple(map(conjugated, pull(pytree.unflatten(tree, full))))


def _tangents(function, signature, layout, args, kwargs):
    varied, rest, tangents = args
    of_varied = layout.function(function, rest)

    def floating(*varied):
        return tuple([x for x in pytree.leaves(of_varied(*varied)) if is_inexact(x)])

    return jvp(floating, varied, tangents)[1]


def _lanes(function, signature, layout, axes, args, kwargs):
    (leaves,) = args

    def of_leaves(*leaves):
        given, named = layout.joined((), leaves)
        return hooks.call(function)(*given, **named)

    lanes = MappedFunction(of_leaves, leaves, {}, None, axes)
    return lanes.returned(lanes.run(), 0)


def conjugated(x):
    return np.conj(x) if x.dtype.kind == "c" else x
