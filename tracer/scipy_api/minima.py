"""scipy.optimize: minima and fits. SciPy searches on the host; the derivative is that of the point where the gradient
is zero, and of what stays at a bound, none."""

import inspect

import numpy as np

from ...autodiff import batch, jvp
from ...ir.core import Builder
from ...ir.ops import OPS
from ..api.flow import stop_gradient
from ..capture.handover import SCALAR
from ..common.emit import constant_of
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.scipy_registry import captures, refuse
from ..regions import hooks
from ..values.array import Traced, fresh
from .callbacks import (
    Callback,
    as_floats,
    count,
    plain_options,
    real,
    result_number,
    scalar_of_one,
    scalar_result,
    truth_result,
)
from .roots import OPTIMIZE, Search, evaluated, packed_arguments
from .solutions import gradient, half_squares, solved_within
from .solver_results import SolverResult

OWN = ("nelder-mead", "cobyla", "cobyqa")  # keep values in arrays of their own


@captures(OPTIMIZE, always=True)
def minimize(fun, x0, args=(), method=None, jac=None, hess=None, hessp=None, bounds=None, constraints=(), tol=None,
             callback=None, options=None):  # fmt: skip
    """What SciPy reports is known by its x, fun, success, status, nit and nfev."""
    if callback is not None or hessp is not None or jac is True:
        refuse("scipy.optimize.minimize with callback, hessp, or jac=True")
    if not isinstance(method, str | None):
        refuse("scipy.optimize.minimize with a method of the user's")
    given = plain_options("minimize", {"method": method, "bounds": bounds, "tol": tol, "options": options})
    start = np.atleast_1d(as_floats(x0)).reshape(-1)
    callbacks, shape = [Callback(fun, start.shape, packed_arguments(args), scalar_of_one)], start.shape
    for name, f in (("jac", jac), ("hess", hess)):
        if callable(f):
            callbacks.append(Callback(f, shape, packed_arguments(args)))
        elif f is not None:
            given[name] = f
    rows = [constraints] if isinstance(constraints, dict) else [*constraints]
    if not all(isinstance(row, dict) and callable(row.get("fun")) for row in rows):
        refuse("scipy.optimize.minimize with constraints that are no dicts of functions")
    for row in rows:
        given = packed_arguments(row.get("args", ()))
        callbacks += [Callback(row[k], shape, given) for k in ("fun", "jac") if callable(row.get(k))]

    def solve(numbers, functions):
        f, *functions = functions
        named = {k: functions.pop(0) for k, g in (("jac", jac), ("hess", hess)) if callable(g)}
        made = [
            {"type": r["type"], **{k: functions.pop(0) for k in ("fun", "jac") if callable(r.get(k))}} for r in rows
        ]
        more = {"constraints": made} if rows else {}
        found = real(OPTIMIZE, "minimize")(f, numbers[0], **given, **named, **more)
        return (found.x,), [found.success, found.status, found.get("nit") or 0, found.get("nfev") or 0]

    residual = None if rows else gradient(callbacks[0].values)
    if bounds is not None and residual is not None:
        residual = solved_within(residual, *limits(bounds, start.size))
    search = Search("minimize", solve, [start], callbacks, [shape], 4, [float], residual)
    x, told = search.results()
    how = str(method).lower()
    value = result_number(evaluated(callbacks[0], x).value, float if callbacks[0].python and how not in OWN else None)
    parts = {"x": x, "fun": value, "success": truth_result(told[0]), "status": count(told[1])}
    if how != "cobyla":  # which gives None and an int64
        parts |= {"nit": count(told[2]), "nfev": count(told[3])}
    return SolverResult("scipy.optimize.minimize", parts)


def limits(bounds, size):
    """The lower and upper bounds as arrays."""
    if hasattr(bounds, "lb"):
        return tuple(np.broadcast_to(np.asarray(b, float), (size,)) for b in (bounds.lb, bounds.ub))
    pairs = [[-np.inf if a is None else a, np.inf if b is None else b] for a, b in bounds]
    low, high = np.array(pairs, float).T
    return low, high


@captures(OPTIMIZE, always=True)
def minimize_scalar(fun, bracket=None, bounds=None, args=(), method=None, tol=None, options=None):
    """What SciPy reports is known by its x, fun, success, nit and nfev."""
    given = {"bracket": bracket, "bounds": bounds, "method": method, "tol": tol, "options": options}
    plain_options("minimize_scalar", given)
    callback = Callback(fun, SCALAR, packed_arguments(args), scalar_result)

    def solve(_, functions):
        found = real(OPTIMIZE, "minimize_scalar")(functions[0], **given)
        return (found.x,), (found.success, found.nit, found.nfev)

    residual = gradient(callback.values)
    if bounds is not None:
        residual = solved_within(residual, *(np.asarray(b, float) for b in bounds))
    search = Search("minimize_scalar", solve, [], [callback], [()], 3, [np.float64], residual)
    x, told = search.results()
    least = result_number(evaluated(callback, x).value)
    parts = {"x": result_number(x.value), "fun": least, "success": truth_result(told[0])}
    return SolverResult("scipy.optimize.minimize_scalar", {**parts, "nit": count(told[1]), "nfev": count(told[2])})


# -- least squares ---------------------------------------------------------------------------------


SQUARES = {ValueError: "the start is not within the bounds, or a residual is not finite"}


def vector_result(out):
    return out.reshape(-1)


@captures(OPTIMIZE, always=True)
def least_squares(fun, x0, jac="2-point", bounds=(-np.inf, np.inf), method="trf", ftol=1e-8, xtol=1e-8, gtol=1e-8,
                  x_scale=None, loss="linear", f_scale=1.0, diff_step=None, tr_solver=None, tr_options=None,
                  jac_sparsity=None, max_nfev=None, verbose=0, args=(), kwargs=None, **others):  # fmt: skip
    """What SciPy reports is known by its x, fun, cost, success, status and nfev."""
    given = {
        "bounds": bounds, "method": method, "ftol": ftol, "xtol": xtol, "gtol": gtol, "loss": loss, "f_scale": f_scale,
        "diff_step": diff_step, "tr_solver": tr_solver, "tr_options": tr_options, "max_nfev": max_nfev,
    }  # fmt: skip
    given |= {"x_scale": x_scale} if x_scale is not None else {}
    if others or verbose or jac_sparsity is not None:
        refuse(f"scipy.optimize.least_squares({', '.join(['verbose', 'jac_sparsity', *others])}=...)")
    given = {k: v for k, v in plain_options("least_squares", given).items() if v is not None}
    start = np.atleast_1d(as_floats(x0)).reshape(-1)
    callbacks = [Callback(fun, start.shape, packed_arguments(args), np.atleast_1d, kwargs)]
    if callable(jac):
        callbacks.append(Callback(jac, start.shape, packed_arguments(args), np.atleast_2d, kwargs))
    else:
        given["jac"] = jac

    def solve(numbers, functions):
        found = real(OPTIMIZE, "least_squares")(functions[0], numbers[0], *functions[1:], **given)
        return (found.x,), (found.success, found.status, found.nfev)

    free = not bounds_of_minimum(bounds) and loss == "linear"
    residual = gradient(half_squares(callbacks[0].values)) if free else None
    search = Search("least_squares", solve, [start], callbacks, [start.shape], 3, (), residual, SQUARES)
    x, told = search.results()
    parts = {"x": x, "success": truth_result(told[0]), "status": count(told[1]), "nfev": count(told[2])}
    parts["fun"] = r = evaluated(callbacks[0], x)
    if loss == "linear":
        parts["cost"] = 0.5 * np.dot(r, r)
    return SolverResult("scipy.optimize.least_squares", parts)


def bounds_of_minimum(bounds):
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    return bool(np.isfinite(low).any() or np.isfinite(high).any())


@captures(OPTIMIZE, always=True)
def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf),
              method=None, jac=None, *, full_output=False, nan_policy=None, **others):  # fmt: skip
    """The fit and its covariance; a fit without bounds has derivatives, by what f closes over and by the data."""
    if callable(jac) or full_output or nan_policy is not None or others:
        refuse("scipy.optimize.curve_fit with jac, full_output, nan_policy or further options")
    if sigma is not None and np.ndim(sigma) != 1:
        refuse("scipy.optimize.curve_fit with a matrix of covariances")
    options = {"absolute_sigma": absolute_sigma, "bounds": bounds, "method": method, "check_finite": check_finite}
    plain_options("curve_fit", options)
    size = parameters_of(f) if p0 is None else int(np.size(p0))
    y = as_floats(ydata).reshape(-1)
    xs = [as_floats(x) if isinstance(x, np.ndarray | list) or isinstance(x, Traced) else x for x in (xdata,)]
    spread = [] if sigma is None else [as_floats(sigma)]

    def left(p, x, y, *spread):
        found = hooks.call(f)(x, *[p[i] for i in range(size)])
        return (found - y) / spread[0] if spread else found - y

    start = [] if p0 is None else [as_floats(p0).reshape(-1)]
    callback = Callback(left, (size,), (*xs, y, *spread), vector_result)

    def solve(numbers, functions):
        return fitted_numbers(functions[0], numbers, signature, y.shape[0], options), ()

    # as SciPy counts the parameters, where it chooses the start
    names = ["x", *(f"p{k}" for k in range(size))]
    signature = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    residual = None if bounds_of_minimum(bounds) else gradient(half_squares(callback.values))
    search = Search("curve_fit", solve, start, [callback], [(size,), (size, size)], 0, (), residual, FIT)
    p, cov, _ = search.results()
    return p, with_slope(cov, callback, p, absolute_sigma)


FIT = {
    RuntimeError: "Optimal parameters not found",
    ValueError: "the data are not finite, or the start is not within the bounds",
}


def fitted_numbers(residuals, numbers, signature, size, options):
    """SciPy's fit of a function that gives residuals, to zeros."""

    def model(_, *p):
        return residuals(np.array(p))

    model.__signature__ = signature
    more = {"p0": numbers[0]} if numbers else {}
    return real(OPTIMIZE, "curve_fit")(model, np.zeros(size), np.zeros(size), **more, **options)


def with_slope(cov, callback, p, absolute):
    """The covariance that SciPy found, with the derivatives of (J^T J)^-1 and of the variance of the residuals, of
    which it is made."""
    func, size = jvp(callback.values, (0,)), p.shape[0]
    flags = (*(False for _ in callback.values.params), True)
    operands = [p.value, *callback.operands, constant_of(np.eye(size))]
    rows = fresh(Builder.current().inline(batch(func, flags, size), operands)[1])
    made = fresh(OPS["solve"]((rows @ rows.T).value, constant_of(np.eye(size)), transpose=False))
    if not absolute and rows.shape[1] > size:
        left = evaluated(callback, p)
        made = made * (np.dot(left, left) / (rows.shape[1] - size))
    moved = made - stop_gradient(made)
    return cov + np.where(np.isfinite(moved), moved, 0.0)


def parameters_of(f):
    """How many parameters a model takes besides the data."""
    found = inspect.signature(f).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in found):
        raise with_note(
            ValueError, message("scipy.optimize.curve_fit: unable to determine number of fit parameters", locate())
        )
    return len(found) - 1
