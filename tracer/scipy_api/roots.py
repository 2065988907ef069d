"""scipy.optimize: roots of functions. SciPy searches on the host; the derivative is that of the root, by the implicit
function theorem."""

import inspect

import numpy as np

from ..capture.handover import SCALAR
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import dtype_of
from ..numpy_api.scipy_registry import captures, refuse
from ..values.array import fresh
from .callbacks import (
    Callback,
    Told,
    as_floats,
    count,
    number_types,
    plain_options,
    real,
    result_number,
    scalar_result,
    truth_result,
)
from .solutions import Solution
from .solver_results import SolverResult

OPTIMIZE = "scipy.optimize"
BRACKETING = ("brentq", "brenth", "bisect", "ridder", "toms748")


def bound_arguments(name, args, kwargs):
    """The arguments of one of SciPy's functions by name; TypeError where it does not take them."""
    found = inspect.signature(real(OPTIMIZE, name)).bind(*args, **kwargs)
    found.apply_defaults()
    return found.arguments


def packed_arguments(args):
    return tuple(args) if isinstance(args, tuple | list) else (args,)


class Search:
    """One solver on the host: `solve(given, functions)` -> ((x, *more), numbers told).

    given: arrays of float64 among its arguments; callbacks: the functions it is given, of which the first is the
    equation unless `residual` says otherwise.
    """

    def __init__(self, name, solve, given, callbacks, shapes, told, made=(), residual="first", texts=()):
        self.name, self.solve, self.callbacks, self.made = name, solve, callbacks, made
        self.told = Told(f"scipy.optimize.{name}", dict(texts), told)
        self.given, self.types = given, [number_types(*s) for s in shapes]
        equation = callbacks[0].values if isinstance(residual, str) else residual
        types = [*self.types, *self.told.types]
        self.rule = Solution(self.run, types, equation, len(given), name)

    def run(self, *arrays):
        given, rest, failures, functions = arrays[: len(self.given)], arrays[len(self.given) :], [], []
        for k, callback in enumerate(self.callbacks):
            n = len(callback.operands)
            functions.append(callback.on_host(rest[:n], failures, self.made[k] if k < len(self.made) else None))
            rest = rest[n:]
        empty = [np.full(t.shape, np.nan) for t in self.types]
        *found, status, told = self.told.run(failures, lambda: self.solve(given, functions), empty)
        found = [np.asarray(x, np.float64).reshape(t.shape) for x, t in zip(found, self.types)]
        return *found, np.asarray(status, np.int64), np.asarray(told, np.float64)

    def results(self):
        """-> (x, *more, numbers told)"""
        operands = [x.value for x in self.given] + [v for c in self.callbacks for v in c.operands]
        *found, status, told = self.rule(*operands)
        self.told.settle(status)
        return *map(fresh, found), fresh(told)


# -- of one number ---------------------------------------------------------------------------------

SIGNS = {
    ValueError: "f(a) and f(b) must have different signs, both ends be finite, and no value NaN",
    RuntimeError: "failed to converge",
}


def bracketed(name):
    def handler(*args, **kwargs):
        given = bound_arguments(name, args, kwargs)
        f, a, b, more = (given.pop(k) for k in ("f", "a", "b", "args"))
        full = given.pop("full_output")
        search = real(OPTIMIZE, name)
        plain_options(name, given)

        def solve(f, ends, _):
            return search(f, float(ends[0]), float(ends[1]), full_output=full, **given)

        return rooted(name, f, [a, b], packed_arguments(more), full, solve, (), SCALAR if name == "toms748" else float)

    return handler


def rooted(name, f, ends, more, full, solve, others=(), weak=float):
    """The root of a function of a number; `solve(f, ends, other functions)` -> the root, with SciPy's report where it
    is asked for."""
    callbacks = [Callback(g, weak, more, scalar_result) for g in (f, *others)]

    def run(given, functions):
        out = solve(functions[0], given, functions[1:])
        if not full:
            return (out,), ()
        x, report = out
        return (x,), (report.converged, report.iterations, report.function_calls)

    made = [float if weak is float else np.float64] * len(callbacks)
    ends = [as_floats(e) for e in ends]
    x, told = Search(name, run, ends, callbacks, [()], 3 if full else 0, made, texts=SIGNS).results()
    root = result_number(x.value, None if weak is SCALAR else float)
    if not full:
        return root
    counts = {"iterations": count(told[1]), "function_calls": count(told[2])}
    report = SolverResult(name, {"root": root, "converged": truth_result(told[0]), **counts})
    return report if full == "report" else (root, report)


for _name in BRACKETING:
    captures(OPTIMIZE, _name, always=True)(bracketed(_name))


@captures(OPTIMIZE, always=True)
def newton(func, x0, fprime=None, args=(), tol=1.48e-8, maxiter=50, fprime2=None, x1=None, rtol=0.0,
           full_output=False, disp=True):  # fmt: skip
    """By Newton, Halley or secants; the derivatives that are given steer the search alone."""
    options = plain_options("newton", {"tol": tol, "maxiter": maxiter, "rtol": rtol, "disp": disp})
    if dtype_of(x0).kind not in "iu" and dtype_of(x0) != np.float64:
        refuse(f"scipy.optimize.newton from a start of dtype {dtype_of(x0)}")
    start, slopes = as_floats(x0), [d for d in (fprime, fprime2) if d is not None]
    names = [n for n, d in (("fprime", fprime), ("fprime2", fprime2)) if d is not None]
    ends = [start] if x1 is None else [start, as_floats(x1)]

    def solve(f, given, others):
        more = dict(zip(names, others)) | ({"x1": given[1][()]} if len(given) > 1 else {})
        return real(OPTIMIZE, "newton")(f, given[0][()], full_output=full_output, **more, **options)

    if start.size == 1 and not start.ndim:
        return rooted("newton", func, ends, packed_arguments(args), full_output, solve, slopes, SCALAR)
    if full_output or x1 is not None:
        refuse("scipy.optimize.newton of several numbers, with full_output or x1,")
    shape = start.shape
    arguments, fitted = packed_arguments(args), lambda out: np.broadcast_to(out, shape)
    callbacks = [Callback(g, shape, arguments, fitted) for g in (func, *slopes)]

    def run(given, functions):
        more = dict(zip(names, functions[1:]))
        return (real(OPTIMIZE, "newton")(functions[0], given[0], **more, **options),), ()

    return Search("newton", run, ends, callbacks, [shape], 0, texts=SIGNS).results()[0]


@captures(OPTIMIZE, always=True)
def root_scalar(f, args=(), method=None, bracket=None, fprime=None, fprime2=None, x0=None, x1=None, xtol=None,
                rtol=None, maxiter=None, options=None):  # fmt: skip
    """What SciPy reports of it is known by its root, converged, iterations and function_calls."""
    given = {"method": method, "xtol": xtol, "rtol": rtol, "maxiter": maxiter, "options": options}
    plain_options("root_scalar", given)
    slopes = {n: d for n, d in (("fprime", fprime), ("fprime2", fprime2)) if d is not None}
    if not all(map(callable, slopes.values())):
        refuse("scipy.optimize.root_scalar of a function that gives its derivative too")
    ends = dict(zip(("a", "b"), bracket)) if bracket is not None else {}
    ends |= {n: x for n, x in (("x0", x0), ("x1", x1)) if x is not None}

    def solve(f, numbers, others):
        found = {n: float(x) for n, x in zip(ends, numbers)}
        if bracket is not None:
            found["bracket"] = [found.pop("a"), found.pop("b")]
        report = real(OPTIMIZE, "root_scalar")(f, **found, **dict(zip(slopes, others)), **given)
        return report.root, report

    newtons = bracket is None or method == "toms748"
    return rooted(
        "root_scalar", f, [*ends.values()], packed_arguments(args), "report", solve, [*slopes.values()],
        SCALAR if newtons else float,
    )  # fmt: skip


# -- of vectors ------------------------------------------------------------------------------------


def flat_length(shape):
    size = int(np.prod(shape))

    def finish(out):
        if out.size != size:
            text = f"a function of {size} numbers must give as many for a root to be found, and gives {out.size}"
            raise with_note(TypeError, message(text, locate()))
        return out.reshape(size)

    return finish


def vector_root(name, func, x0, args, jac, solve, told, options):
    """The root of as many functions as numbers. solve(f, x0, jac or None) -> (x, numbers told)"""
    start = np.atleast_1d(as_floats(x0)).reshape(-1)
    shape = start.shape
    callbacks = [Callback(func, shape, packed_arguments(args), flat_length(shape))]
    if callable(jac):
        callbacks.append(Callback(jac, shape, packed_arguments(args)))
    elif jac:
        refuse(f"scipy.optimize.{name} of a function that gives its derivative too")

    def run(given, functions):
        x, told = solve(functions[0], given[0], functions[1] if len(functions) > 1 else None)
        return (x,), told

    search = Search(name, run, [start], callbacks, [shape], told)
    x, told = search.results()
    return x, told, search


@captures(OPTIMIZE, always=True)
def fsolve(func, x0, args=(), fprime=None, full_output=0, col_deriv=0, xtol=1.49012e-8, maxfev=0, band=None,
           epsfcn=None, factor=100, diag=None):  # fmt: skip
    options = {
        "col_deriv": col_deriv, "xtol": xtol, "maxfev": maxfev, "band": band, "epsfcn": epsfcn, "factor": factor,
        "diag": diag,
    }  # fmt: skip
    plain_options("fsolve", options)
    if full_output:
        refuse("scipy.optimize.fsolve(full_output=True)", "Use scipy.optimize.root, and its x, success and fun.")

    def solve(f, start, jac):
        return real(OPTIMIZE, "fsolve")(f, start, fprime=jac, **options), ()

    return vector_root("fsolve", func, x0, args, fprime, solve, 0, options)[0]


@captures(OPTIMIZE, always=True)
def root(fun, x0, args=(), method="hybr", jac=None, tol=None, callback=None, options=None):
    """What SciPy reports is known by its x, fun, success, status and nfev."""
    if callback is not None:
        refuse("scipy.optimize.root(callback=...)")
    given = plain_options("root", {"method": method, "tol": tol, "options": options})

    def solve(f, start, jac):
        found = real(OPTIMIZE, "root")(f, start, jac=jac, **given)
        return found.x, (found.success, found.get("status", 0), found.get("nfev", 0))

    powell = str(method).lower() in ("hybr", "lm")
    if not powell and as_floats(x0).ndim != 1:
        refuse(f"scipy.optimize.root(method={method!r}) from a start that is no vector")
    x, told, search = vector_root("root", fun, x0, args, jac, solve, 3, given)
    parts = {"x": x, "fun": evaluated(search.callbacks[0], x), "success": truth_result(told[0])}
    if powell:
        parts |= {"status": count(told[1]), "nfev": count(told[2])}
    return SolverResult("scipy.optimize.root", parts)


def evaluated(callback, x):
    """What a function is where the solver ended."""
    return fresh(callback.inline(x.value))

