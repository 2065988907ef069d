"""Derivatives as functions of functions: `grad`, `value_and_grad`, `vjp`, `jvp`.

Each returns a compiled, guarded function, or when it meets traced values is applied to the inner
function's IR and inlined: so they nest in any order, with or without `jit` between.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal, overload

import numpy as np

from ...autodiff import remat
from ...autodiff.checkpoints import note
from ...autodiff.jvp import pushforward
from ...autodiff.split import halves
from ...autodiff.vjp import pullback
from ...autodiff.vjp import vjp as adjoint
from ...ir import collector
from ...ir.core import Lit
from ...ir.pipeline import ready
from ..call.inline_cache import named_of
from ..capture.capture import ARRAY, kind_of
from ..capture.signature import kind_for
from ..common import pytree
from ..common.errors import DerivativeError, message, shown
from ..common.frames import locate
from ..values.array import Traced, TracedArray, fresh
from ..values.storage import current_trace
from .inner import Inner, like_type, name_of, traced, wrapped
from .jit import Compiled, signature_of, wrapper
from .typed import Argnums, Aux, CompiledFunction, P, R, Ts


@overload
def value_and_grad(
    function: np.ufunc, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[..., Any]: ...
@overload
def value_and_grad(
    function: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[P, tuple[R, Any]]: ...
def value_and_grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[..., Any]:
    """(value, gradient) of a scalar-valued function with respect to the arguments `argnums`.

    argnums: position, parameter name, or a tuple of either; a tuple gives a tuple of gradients. An
    argument may be any container of floating or complex arrays; its gradient has the same structure,
    shapes and dtypes.
    has_aux: the function returns (loss, anything); the result is ((loss, anything), gradient).

    For a real loss of complex arguments the gradient is df/dx - i df/dy, as in JAX.
    holomorphic: the loss is a holomorphic function of complex arguments; its complex derivative is given.
    Raises DerivativeError where the loss is no real scalar, or an argument has no floating type.

    >>> import numpy as np
    >>> from wengert import value_and_grad
    >>> value_and_grad(lambda w: (w * w).sum())(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    check_function(function, "value_and_grad")
    signature = signature_of(function)

    def gradient(*args, **kwargs):
        return _gradient(function, signature, argnums, has_aux, holomorphic, args, kwargs)

    return compiled(gradient, function, "grad")


@overload
def grad(
    function: np.ufunc, argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[..., Any]: ...
@overload
def grad(
    function: Callable[P, tuple[Any, Aux]], argnums: Argnums = 0, *, has_aux: Literal[True], holomorphic: bool = False
) -> CompiledFunction[P, tuple[Any, Aux]]: ...
@overload
def grad(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[P, Any]: ...
def grad(
    function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> CompiledFunction[..., Any]:
    """The gradient of a scalar-valued function; see `value_and_grad`. With `has_aux`: (gradient, anything).

    >>> from wengert import grad
    >>> grad(grad(lambda x: x**3))(2.0)
    12.0
    """
    check_function(function, "grad")
    signature = signature_of(function)

    def gradient(*args, **kwargs):
        value, slope = _gradient(function, signature, argnums, has_aux, holomorphic, args, kwargs)
        return (slope, value[1]) if has_aux else slope

    return compiled(gradient, function, "grad")


def compiled(transformed, function, prefix):
    name = f"{prefix}_{name_of(function)}"
    own = inspect.signature(transformed) if prefix == "jvp" else None  # jvp takes (primals, tangents), whatever f takes
    transformed.__wrapped__ = function
    named = named_of(function) if prefix == "grad" else ()
    return wrapper(Compiled(transformed, name=name, signature=own, named=named), function)


def check_function(function, transform):
    if not callable(function):
        raise TypeError(
            f"{transform} takes a function, got {type(function).__name__}\n  Write {transform}(f)(x), not "
            f"{transform}(f(x))."
        )


# -- reverse mode ----------------------------------------------------------------------------------


def _gradient(function, signature, argnums, has_aux, holomorphic, args, kwargs):
    selected, spans, single = selection(signature, argnums, args, kwargs)
    inner = Inner(function, args, kwargs, signature, selected)
    check_floating(inner, selected)
    loss = _loss(inner, has_aux, function, holomorphic)
    check_complex(inner, selected, holomorphic)
    seeds = {} if loss is None else {loss: Lit(1, inner.func.results[loss].type)}
    wrt = [inner.places[i] for i in selected]
    func = remat.within_budget(ready(inner.func, note), wrt, tuple(seeds))
    with collector.waiting():
        results, slopes = pullback(current_trace().build, func, inner.operands, wrt, seeds)
    cotangents = dict(zip(selected, slopes))
    inner.settle(results)
    value = inner.returned(results)
    slopes = tuple(
        [made([wrapped(cotangents[i], kind_of(inner.leaves[i]).kind) for i in span]) for span, made in spans]
    )
    return value, slopes[0] if single else slopes


def selection(signature, argnums, args, kwargs):
    """-> (leaf indices to differentiate, [(leaf indices, a function that makes its containers) per argument], whether
    one was asked)."""
    single = isinstance(argnums, int | str)
    wanted = (argnums,) if single else tuple(argnums)
    ranges, start = {}, 0
    for key, value in [*enumerate(args), *kwargs.items()]:
        leaves, tree = pytree.flatten(value)
        made = functools.partial(pytree.unflatten, tree, order=pytree.key_order(value))
        ranges[key] = (range(start, start + len(leaves)), made)
        start += len(leaves)
    # kwargs are flattened in sorted order by the registry
    start = sum(len(r) for k, (r, _) in ranges.items() if isinstance(k, int))
    for key in sorted(kwargs):
        n = len(ranges[key][0])
        ranges[key] = (range(start, start + n), ranges[key][1])
        start += n
    parameters = list(signature.parameters) if signature else []
    spans = []
    for want in wanted:
        keys = [want]
        if isinstance(want, str) and want in parameters:
            keys.append(parameters.index(want))
        elif isinstance(want, int) and want < 0:
            keys = [len(args) + want]
        elif isinstance(want, int) and want < len(parameters):
            keys.append(parameters[want])
        found = next((k for k in keys if k in ranges), None)
        if found is None:
            given = ", ".join([*(parameters[i] if i < len(parameters) else str(i) for i in range(len(args))), *kwargs])
            raise DerivativeError(
                message(f"argnums={want!r} names no argument of this call; it was given ({given})", locate())
            )
        spans.append(ranges[found])
    return [i for span, _ in spans for i in span], spans, single


def check_floating(inner, selected):
    for i in selected:
        leaf = inner.leaves[i]
        if not leaf.type.inexact:
            raise DerivativeError(
                message(
                    f"argument {inner.names[i]} is {leaf.type}: only floating and complex values have derivatives",
                    locate(),
                    f"Pass a float, such as {'x.astype(np.float64)' if leaf.type.shape else '1.0 instead of 1'}, or "
                    "choose others with argnums=.",
                )
            )


def check_complex(inner, selected, holomorphic):
    if holomorphic and any(inner.leaves[i].type.kind != "c" for i in selected):
        name = next(inner.names[i] for i in selected if inner.leaves[i].type.kind != "c")
        text = (
            f"holomorphic=True, and argument {name} is "
            f"{next(inner.leaves[i].type for i in selected if inner.leaves[i].type.kind != 'c')}"
        )
        raise DerivativeError(message(text, locate(), "A holomorphic function takes complex arguments: pass x + 0j."))


def _loss(inner, has_aux, function, holomorphic):
    """The result index of the loss, or None where it does not depend on anything traced."""
    name = name_of(function)
    if has_aux:
        probe = pytree.unflatten(inner.captured.tree, list(range(len(inner.captured.outs))))
        if not isinstance(probe, tuple) or len(probe) != 2:
            raise DerivativeError(
                message(
                    f"{name} was to return (loss, aux) under has_aux=True",
                    locate(),
                    "Return a pair: return loss, other_results.",
                )
            )
        which = pytree.leaves(probe[0])
    else:
        which = range(len(inner.captured.outs))
    outs = [(inner.captured.outs[i], inner.shown[i]) for i in which]
    if len(outs) != 1 or not (has_aux or pytree.is_leaf(inner.captured.tree)):
        raise DerivativeError(
            message(
                f"grad needs a function with one scalar result; {name} returned {len(outs)} values",
                locate(),
                "Return the loss alone, or (loss, aux) with has_aux=True.",
            )
        )
    out, at = outs[0]
    if at is None:
        if isinstance(out.object, TracedArray):
            raise DerivativeError(
                message(
                    f"{name} returned an array of the enclosing function",
                    locate(),
                    "Return a new value, such as (x + 0).sum().",
                )
            )
        if isinstance(out.object, int | float) or (hasattr(out.object, "dtype") and not out.object.shape):
            return None
        raise DerivativeError(
            message(
                f"grad needs a scalar loss; {name} returned {type(out.object).__name__}", locate(), "Return a number."
            )
        )
    t = inner.func.results[at].type
    if t.shape:
        raise DerivativeError(
            message(
                f"grad needs a scalar loss; {name} returned {t}",
                locate(),
                f"Reduce it, for example {name}(...).sum(), or use vjp for other results.",
            )
        )
    if t.kind == "c" and not holomorphic:
        advice = "Take its real part or abs, pass holomorphic=True if it is, or use vjp."
        raise DerivativeError(message(f"grad needs a real loss; {name} returned {t}", locate(), advice))
    if t.kind not in "fc":
        raise DerivativeError(
            message(
                f"grad needs a floating loss; {name} returned {t}",
                locate(),
                "An integer or bool does not vary smoothly; return a float.",
            )
        )
    return at


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


class Pullback:
    """The linear half of a derivative: IR from (cotangents, residuals) to the cotangents of the primals, or from
    tangents to tangents."""

    def __init__(self, func, seeds, kinds, tree, order, what="cotangent"):
        """seeds: leaf -> its type; tree, order: of what it gives, the order being that of the keys of dicts."""
        self.func, self.seeds, self.kinds, self.tree, self.order, self.what = func, seeds, kinds, tree, order, what
        self.compiled = wrapper(Compiled(self.run, name="pullback"), self.run)

    def run(self, cotangents, residuals):
        """Inline the backward half in the current trace."""
        given = [like_type(cotangents[i], t, self.what) for i, t in self.seeds.items()]
        results = current_trace().build.inline(self.func, [*given, *(traced(r, "residual").value for r in residuals)])
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
    back = Pullback(rest, seeds, [kind_of(x).kind for x in inner.leaves], tree, pytree.key_order(primals))
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


@functools.lru_cache(512)
def _forward_of(function, has_aux):
    """The compiled forward half of a top-level vjp."""
    signature = signature_of(function)
    return compiled(lambda *primals: _vjp(function, signature, primals, has_aux), function, "vjp")


# -- forward mode ----------------------------------------------------------------------------------


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


@functools.lru_cache(512)
def _jvp_of(function):
    signature = signature_of(function)
    return compiled(lambda primals, tangents: _jvp(function, signature, primals, tangents), function, "jvp")


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
