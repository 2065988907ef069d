"""Derivatives as functions of functions: `grad`, `value_and_grad`, `vjp`, `jvp`.

Each returns a compiled, guarded function, or when it meets traced values is applied to the inner
function's IR and inlined: so they nest in any order, with or without `jit` between.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from ...autodiff import remat
from ...autodiff.checkpoints import note
from ...autodiff.vjp import pullback
from ...ir import collector
from ...ir.core import Lit
from ...ir.pipeline import ready
from ..call.pickled import remembered
from ..capture.capture import kind_of
from ..common import pytree
from ..common.errors import DerivativeError, message
from ..common.frames import locate
from ..values.array import TracedArray
from ..values.sparse_matrix import SparseMatrix, with_entries
from ..values.storage import current_trace
from .differentiable import check_floating, check_function, compiled
from .inner import Inner, name_of, wrapped
from .typed import Argnums, Aux, CompiledFunction, P, R


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

    argnums: position, parameter name, or a tuple of either; a tuple gives a tuple of gradients.
    has_aux: the function returns (loss, anything); the result is ((loss, anything), gradient).
    holomorphic: the loss is a holomorphic function of complex arguments; its complex derivative is given.

    An argument may be any container of floating or complex arrays; its gradient has the same structure, shapes and
    dtypes. For a real loss of complex arguments the gradient is df/dx - i df/dy, as in JAX.
    Raises DerivativeError where the loss is no real scalar, or an argument has no floating type.

    >>> import numpy as np
    >>> from wengert import value_and_grad
    >>> value_and_grad(lambda w: (w * w).sum())(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    check_function(function, "value_and_grad")
    front = compiled(_gradient, function, "grad", as_key(argnums), has_aux, holomorphic)
    return remembered(front, "value_and_grad", argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)


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
    front = compiled(slope_of, function, "grad", as_key(argnums), has_aux, holomorphic)
    return remembered(front, "grad", argnums=argnums, has_aux=has_aux, holomorphic=holomorphic)


# -- reverse mode ----------------------------------------------------------------------------------


def slope_of(function, signature, argnums, has_aux, holomorphic, args, kwargs):
    value, slope = _gradient(function, signature, argnums, has_aux, holomorphic, args, kwargs)
    return (slope, value[1]) if has_aux else slope


def as_key(argnums):
    """`argnums` such that it can be part of a key."""
    return tuple(argnums) if isinstance(argnums, list | range) else argnums


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
        if type(value) is SparseMatrix:  # its entries vary, and where they stand does not
            ranges[key] = (range(start, start + 1), functools.partial(with_entries, value))
        start += len(leaves)
    # kwargs are flattened in sorted order by the registry
    start = sum(len(r) for k, (r, _) in ranges.items() if isinstance(k, int))
    for key in sorted(kwargs):
        n = len(ranges[key][0])
        ranges[key] = (range(start, start + n), ranges[key][1])
        start += len(pytree.leaves(kwargs[key]))
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
