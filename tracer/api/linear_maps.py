"""Linear maps of a program at a point: `vjp`, `jvp`, and the two halves of a linearisation as values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

import numpy as np

from ...autodiff import remat
from ...autodiff.checkpoints import note
from ...autodiff.jvp import pushforward
from ...autodiff.split import halves
from ...autodiff.vjp import vjp as adjoint
from ...ir.core import Lit
from ...ir.exactness import PRECISIONS
from ...ir.pipeline import ready
from ..capture.capture import kind_of
from ..capture.handover import ARRAY
from ..capture.signature import kind_for
from ..common import pytree
from ..common.errors import DerivativeError, message, shown
from ..common.frames import locate
from ..values.array import Traced, TracedArray, fresh
from ..values.storage import current_trace
from .compiled import Compiled, signature_of
from .differentiable import check_floating, check_function, compiled_once
from .inner import Inner, as_traced, like_type, wrapped
from .jit import asked_precision, debug_of, wrapper
from .typed import Aux, R, Ts


@overload
def vjp(
    function: Callable[[*Ts], R], *primals: *Ts, has_aux: Literal[False] = False
) -> tuple[R, Callable[[Any], tuple[*Ts]]]: ...


@overload
def vjp(
    function: Callable[[*Ts], tuple[R, Aux]], *primals: *Ts, has_aux: Literal[True]
) -> tuple[R, Callable[[Any], tuple[*Ts]], Aux]: ...


def vjp(function: Callable[[*Ts], Any], *primals: *Ts, has_aux: bool = False) -> tuple[Any, ...]:
    """(f(*primals), pullback): `pullback(cotangent)` is the tuple of cotangents of the primals.

    cotangent: the structure, shapes and dtypes of f's result. Source: Griewank & Walther (2008), ch. 3.
    has_aux: f returns (result, anything); the call returns (result, pullback, anything).

    >>> import numpy as np
    >>> from wengert import vjp
    >>> y, back = vjp(np.sin, np.array([0.0, 1.0]))
    >>> back(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    check_function(function, "vjp")
    traced = any(isinstance(x, Traced) for x in pytree.leaves(primals))
    value, *packed = (
        _vjp(function, signature_of(function), primals, has_aux) if traced else _forward_of(function, has_aux)(*primals)
    )
    pull = Pull(*packed)
    return (value[0], pull, value[1]) if has_aux else (value, pull)


class TracedPullback:
    """The linear half of a derivative: IR from (cotangents, residuals) to the cotangents of the primals, or from
    tangents to tangents."""

    def __init__(self, func, seeds, kinds, tree, order, what="cotangent", debug=None, precision=None):
        """seeds: leaf -> its type; tree, order: of what it gives, the order being that of the keys of dicts; debug:
        what its calls are watched for; precision: of its products."""
        self.func, self.seeds, self.kinds, self.tree, self.order, self.what = func, seeds, kinds, tree, order, what
        made = Compiled(self.run, name="pullback", debug=debug, precision=precision or PRECISIONS[0])
        self.compiled = wrapper(made.front.own, made.front.call, self.run)

    def run(self, cotangents, residuals):
        """Inline the backward half in the current trace."""
        given = [like_type(cotangents[i], t, self.what) for i, t in self.seeds.items()]
        results = current_trace().build.inline(
            self.func, [*given, *(as_traced(r, "residual").value for r in residuals)]
        )
        return pytree.unflatten(self.tree, [wrapped(g, k) for g, k in zip(results, self.kinds)], self.order)


def _vjp(function, signature, primals, has_aux):
    """-> (what f returned, structure of the differentiated part, Pullback, residuals) in the current trace."""
    leaves, tree = pytree.flatten(primals)
    inner = Inner(function, primals, {}, signature, range(len(leaves)))
    check_floating(inner, range(len(leaves)))
    outs = pytree.unflatten(inner.captured.tree, [*range(len(inner.shown))])
    main, main_tree = pytree.flatten(outs[0] if has_aux else outs)
    shown = [inner.shown[n] for n in main]
    inexact = {i: k for i, k in enumerate(shown) if k is not None and inner.func.results[k].type.inexact}
    seeds = {i: inner.func.results[k].type for i, k in inexact.items()}
    wrt = [inner.places[i] for i in range(len(leaves))]
    seen = tuple(inexact.values())
    joint = adjoint(remat.within_budget(ready(inner.func, note), wrt, seen), wrt, seen)
    known, rest = halves(joint, len(inner.func.params), len(inner.func.results))
    results = current_trace().build.inline(known, inner.operands)
    inner.settle(results)
    residuals = [fresh(r) for r in results[len(inner.func.results) :]]
    kinds, order = [kind_of(x).kind for x in inner.leaves], pytree.key_order(primals)
    said = {"debug": debug_of(function), "precision": asked_precision(function)}
    back = TracedPullback(rest, seeds, kinds, tree, order, **said)
    return inner.returned(results), main_tree, back, residuals


class LinearMap:
    """The linear half of a derivative at a point. It is a container of its residuals: a compiled function can return
    it."""

    def __init__(self, tree, half, residuals):
        self.tree, self.half, self.residuals = tree, half, residuals  # tree: the structure of what it is applied to

    def apply(self, given, said):
        leaves, tree = pytree.flatten(given)
        if tree != self.tree:
            raise DerivativeError(message(said.format(tree, self.tree), locate()))
        if any(isinstance(x, Traced) for x in (*leaves, *self.residuals)):
            return self.half.run(leaves, self.residuals)
        return self.half.compiled(leaves, self.residuals)


class Pull(LinearMap):
    """Cotangent of the result -> cotangents of the primals."""

    def __call__(self, cotangent):
        return self.apply(cotangent, "the cotangent has the structure {}, the result has {}")


class Push(LinearMap):
    """Tangents of the primals -> tangent of the result."""

    def __call__(self, *tangents):
        return self.apply(tangents, "the tangents have the structure {}, the primals {}\n  Write push(dx, dy).")


for _kind in (Pull, Push):
    pytree.register(
        _kind,
        lambda x: (x.residuals, (x.tree, x.half)),
        lambda known, residuals, kind=_kind: kind(*known, list(residuals)),
    )


def _forward_of(function, has_aux):
    """The compiled forward half of a top-level vjp."""
    return compiled_once(_with_pullback, function, "vjp", has_aux)


def _with_pullback(function, signature, has_aux, primals, _):
    return _vjp(function, signature, primals, has_aux)


def jvp(function: Callable[..., R], primals: Iterable[Any], tangents: Iterable[Any]) -> tuple[R, R]:
    """(f(*primals), tangent of the result) for tangents of the primals; one pass, no storage.

    tangents: one per primal, with its structure, shapes and dtypes.

    >>> import numpy as np
    >>> from wengert import jvp
    >>> jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    check_function(function, "jvp")
    primals, tangents = tuple(primals), tuple(tangents)
    if pytree.structure(primals) != pytree.structure(tangents):
        raise DerivativeError(
            message(
                f"primals have the structure {pytree.structure(primals)}, tangents {pytree.structure(tangents)}",
                locate(),
                "Write jvp(f, (x, y), (dx, dy)).",
            )
        )
    if any(isinstance(x, Traced) for x in pytree.leaves((primals, tangents))):
        return _jvp(function, signature_of(function), primals, tangents)
    return _jvp_of(function)(primals, tangents)


def _jvp_of(function):
    return compiled_once(_along, function, "jvp")


def _along(function, signature, pair, _):
    return _jvp(function, signature, *pair)


def _jvp(function, signature, primals, tangents):
    selected = list(range(len(pytree.leaves(primals))))
    inner = Inner(function, primals, {}, signature, selected)
    check_floating(inner, selected)
    moving = {
        inner.places[i]: like_type(t, inner.leaves[i].type, "tangent")
        for i, t in zip(selected, pytree.leaves(tangents))
    }
    results, out = pushforward(current_trace().build, inner.func, inner.operands, moving)
    inner.settle(results)
    value = inner.returned(results)
    leaves = []
    for o, k in zip(inner.captured.outs, inner.shown):
        if k is None and (still := constant_kind(o.object)) is not None:
            leaves.append(wrapped(Lit(0, still.type), still.kind))
            continue
        if k is None or out[k] is None:
            what = shown(o.object) if k is None else f"{results[k].type}"
            text = f"{inner.func.name} returns {what}, which has no tangent"
            raise DerivativeError(message(text, locate(), "Return floating values that it computes."))
        leaves.append(wrapped(out[k], o.kind or ARRAY))
    return value, inner.captured.rebuild(leaves)


def constant_kind(x):
    """What the tangent of a result that is no part of the program is: zero where it is floating, else None."""
    if isinstance(x, TracedArray | np.ndarray | np.inexact | float | complex):
        kind = kind_of(x) if isinstance(x, TracedArray) else kind_for(x, "result")
        return kind if kind.type.inexact else None
    return None
