"""Whole Jacobians: `jacfwd`, `jacrev`, `hessian`, and products with them: `hvp`, `linearize`.

A Jacobian is one forward or backward half, batched over the unit tangents or cotangents; what does not
depend on those, the function itself among it, is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np

from ...autodiff.batch import batch_into, spread
from ...autodiff.jvp import jvp as tangents_of
from ...autodiff.split import halves
from ...autodiff.transpose import transposed
from ...autodiff.vjp import vjp as adjoint
from ...ir.core import Lit
from ...ir.ops import OPS
from ..call.pickled import remembered
from ..capture.handover import ARRAY, SCALAR
from ..common import pytree
from ..common.emit import cast_to, counted, reshape_to
from ..common.errors import DerivativeError, message, shown
from ..common.frames import locate
from ..numpy_api.handles import cut
from ..values.array import Traced
from ..values.storage import current_trace
from .compiled import signature_of
from .differentiable import check_floating, check_function, compiled, compiled_once
from .inner import Inner, wrapped
from .jit import asked_precision, debug_of
from .linear_maps import Push, TracedPullback, jvp
from .transforms import as_key, selection, slope_of
from .typed import Argnums, CompiledFunction, P, R


@overload
def jacfwd(function: np.ufunc, argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[..., Any]: ...
@overload
def jacfwd(function: Callable[P, Any], argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[P, Any]: ...
def jacfwd(function: Callable[..., Any], argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[..., Any]:
    """The Jacobian by forward mode, a pass for every element of the arguments: for few inputs and many outputs.

    Of a result of shape s by an argument of shape t it has shape s + t, in the dtype of the result; of
    containers it has a container of the argument's structure for each leaf of the result's.
    argnums, holomorphic: as in `grad`. Source: Griewank & Walther (2008), ch. 3.

    >>> import numpy as np
    >>> from wengert import jacfwd
    >>> jacfwd(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    return _jacobian(function, argnums, holomorphic, "jacfwd", _forward)


@overload
def jacrev(function: np.ufunc, argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[..., Any]: ...
@overload
def jacrev(function: Callable[P, Any], argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[P, Any]: ...
def jacrev(function: Callable[..., Any], argnums: Argnums = 0, holomorphic: bool = False) -> CompiledFunction[..., Any]:
    """The Jacobian by reverse mode, a pass for every element of the results: for many inputs and few outputs.

    Shapes and arguments are those of `jacfwd`.

    >>> import numpy as np
    >>> from wengert import jacrev
    >>> jacrev(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return _jacobian(function, argnums, holomorphic, "jacrev", _reverse)


@overload
def hessian(function: np.ufunc, argnums: Argnums = 0) -> CompiledFunction[..., Any]: ...
@overload
def hessian(function: Callable[P, Any], argnums: Argnums = 0) -> CompiledFunction[P, Any]: ...
def hessian(function: Callable[..., Any], argnums: Argnums = 0) -> CompiledFunction[..., Any]:
    """The second derivatives: forward mode over reverse mode. Shapes are those of jacfwd(jacrev(function)).

    >>> import numpy as np
    >>> from wengert import hessian
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    check_function(function, "hessian")
    return jacfwd(jacrev(function, argnums), argnums)


def hvp(function: Callable[..., Any], primals: Iterable[Any], tangents: Iterable[Any]) -> tuple[Any, ...]:
    """The Hessian of a scalar-valued function times a vector, without the Hessian: one cotangent a primal.

    primals, tangents: tuples of the same structure, shapes and dtypes.

    The cost is that of a few gradients. Source: Pearlmutter, Fast exact multiplication by the Hessian (1994).

    >>> import numpy as np
    >>> from wengert import hvp
    >>> hvp(lambda x: (x**3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    (array([6., 0.]),)
    """
    check_function(function, "hvp")
    primals = tuple(primals)
    return jvp(_gradient_of(function, len(primals)), primals, tangents)[1]


def _gradient_of(function, count):
    return compiled_once(slope_of, function, "grad", tuple(range(count)), False, False)


def linearize(function: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """(f(*primals), push): `push(*tangents)` is the tangent of the result, without computing f again.

    >>> import numpy as np
    >>> from wengert import linearize
    >>> y, push = linearize(lambda x: x * x, np.array([1.0, 3.0]))
    >>> push(np.array([1.0, 1.0]))
    array([2., 6.])
    """
    check_function(function, "linearize")
    traced = any(isinstance(x, Traced) for x in pytree.leaves(primals))
    value, push, residuals = (
        _linearized(function, signature_of(function), primals) if traced else _linearized_of(function)(*primals)
    )
    return value, Push(pytree.structure(primals), push, residuals)


def _linearized_of(function):
    return compiled_once(_early, function, "linearize")


def _early(function, signature, primals, _):
    return _linearized(function, signature, primals)


def _linearized(function, signature, primals):
    selected = range(len(pytree.leaves(primals)))
    inner = Inner(function, primals, {}, signature, selected)
    check_floating(inner, selected)
    late, residuals, results = _halved(inner, selected)
    seeds = {i: inner.leaves[i].type for i in selected}
    captured = inner.captured
    kinds = [o.kind or ARRAY for o in captured.outs]
    said = debug_of(function), asked_precision(function)
    push = TracedPullback(late, seeds, kinds, captured.tree, captured.order, "tangent", *said)
    return inner.returned(results), push, [wrapped(r, ARRAY) for r in residuals]


def _halved(inner, selected):
    """Append the primal half of a captured function -> (its tangent half, the residuals that half takes, the function's
    results)."""
    func, shown = inner.func, floating_results(inner)
    early, back = halves(
        adjoint(func, [inner.places[i] for i in selected], tuple(shown)), len(func.params), len(func.results)
    )
    results = current_trace().build.inline(early, inner.operands)
    count = len(func.results)
    inner.settle(results[:count])
    return transposed(back, len(shown)), results[count:], results[:count]


def floating_results(inner):
    """Which result of the captured function each leaf of what it returned is, all floating or complex."""
    for out, k in zip(inner.captured.outs, inner.shown):
        if k is None or not inner.func.results[k].type.inexact:
            what = (
                f"{shown(out.object)}, which does not depend on the arguments"
                if k is None
                else f"{inner.func.results[k].type}"
            )
            text = (
                f"{inner.func.name} returns {what}: only floating and complex results that are computed have "
                "derivatives"
            )
            raise DerivativeError(
                message(text, locate(), "Return the others apart from them, or make them floats: y.astype(np.float64).")
            )
    return inner.shown


def _tangents(inner, selected):
    """The captured function, and behind its results the tangents of what it returned for those of the selected
    leaves."""
    func, shown = inner.func, floating_results(inner)
    inexact = [k for k, r in enumerate(func.results) if r.type.inexact]
    joint = tangents_of(func, [inner.places[i] for i in selected])
    count = len(func.results)
    joint.results = (*joint.results[:count], *(joint.results[count + inexact.index(k)] for k in shown))
    return joint


# -- Jacobians -------------------------------------------------------------------------------------


def _jacobian(function, argnums, holomorphic, name, mode):
    check_function(function, name)
    front = compiled(_blocks, function, name, as_key(argnums), holomorphic, name, mode)
    return remembered(front, name, argnums=argnums, holomorphic=holomorphic)


def _blocks(function, signature, argnums, holomorphic, name, mode, args, kwargs):
    selected, spans, single = selection(signature, argnums, args, kwargs)
    inner = Inner(function, args, kwargs, signature, selected)
    check_floating(inner, selected)
    _check_complex(inner, selected, holomorphic, name)
    blocks = mode(inner, selected)  # [result leaf][argument leaf] -> value of shape s + t
    rows = []
    for row in blocks:
        at, parts = iter(row), []
        for span, made in spans:
            parts.append(made([wrapped(x, ARRAY if x.type.shape else SCALAR) for _, x in zip(span, at)]))
        rows.append(parts[0] if single else tuple(parts))
    return inner.captured.rebuild(rows)


def _check_complex(inner, selected, holomorphic, name):
    results = [inner.func.results[k] for k in inner.shown if k is not None] if name == "jacrev" else []
    if any(x.type.kind == "c" for x in (*(inner.leaves[i] for i in selected), *results)) and not holomorphic:
        text = (
            f"{name} of {inner.func.name}: complex values have a Jacobian of complex numbers only where the function "
            "is holomorphic"
        )
        raise DerivativeError(
            message(text, locate(), "Pass holomorphic=True if it is; else differentiate the real and imaginary parts.")
        )


def _forward(inner, selected):
    build, count, params = current_trace().build, len(inner.func.results), len(inner.func.params)
    types = [inner.leaves[i].type for i in selected]
    total = sum(t.size for t in types)
    units = _units(types, total)
    if any(e.effect for e in inner.func.eqns):  # what prints or draws does so once, not for every column
        late, residuals, _ = _halved(inner, selected)
        columns = _batched(build, late, units, residuals, total)
    else:
        flags = [False] * params + [True] * len(types)
        out, carried = batch_into(build, _tangents(inner, selected), [*inner.operands, *units], flags, total)
        inner.settle([_first(x) if b else x for x, b in zip(out[:count], carried)])
        columns = [x if b else spread(x, total) for x, b in zip(out[count:], carried[count:])]
    blocks = []
    for x in columns:  # of shape (total, *s)
        order = (*range(1, x.type.ndim), 0)
        blocks.append(_cut(OPS["transpose"](x, perm=order) if x.type.ndim > 1 else x, types, x.type.ndim - 1))
    return blocks


def _first(x):
    """The first of equal lanes."""
    return reshape_to(cut(x, 0, 0, 1), x.type.shape[1:])


def _reverse(inner, selected):
    build, func, shown = current_trace().build, inner.func, floating_results(inner)
    joint = adjoint(func, [inner.places[i] for i in selected], tuple(shown))
    early, late = halves(joint, len(func.params), len(func.results))
    results = build.inline(early, inner.operands)
    count = len(func.results)
    inner.settle(results[:count])
    types = [func.results[k].type for k in shown]
    total = sum(t.size for t in types)
    # one an argument leaf, of shape (total, *t)
    rows = _batched(build, late, _units(types, total), results[count:], total)
    columns = [_cut(x, types, 0) for x in rows]
    return [list(row) for row in zip(*columns)]


def _units(types, total):
    """Unit vectors of the space of all the types together: for each a value of shape (total, *shape)."""
    made, at = [], 0
    for t in types:
        places = counted((total, t.size), axis=1)
        hit = OPS["eq"](counted((total, t.size)), places + Lit(at, places.type)) if t.size else places
        made.append(reshape_to(cast_to(hit, t.dtype), (total, *t.shape)))
        at += t.size
    return made


def _batched(build, late, units, residuals, total):
    flags = [True] * len(units) + [False] * len(residuals)
    out, carried = batch_into(build, late, [*units, *residuals], flags, total)
    return [x if b else spread(x, total) for x, b in zip(out, carried)]


def _cut(x, types, axis):
    """The parts of x along an axis that belong to each type, that axis in the type's shape."""
    parts, at = [], 0
    for t in types:
        shape = (*x.type.shape[:axis], *t.shape, *x.type.shape[axis + 1 :])
        parts.append(reshape_to(cut(x, axis, at, at + t.size), shape))
        at += t.size
    return parts
