"""scipy.linalg of equations whose unknown is a matrix, or whose matrix is a band: SciPy solves them on the host.

Derivatives are those of the equation, in both modes and at all orders.
"""

import functools
import sys

import numpy as np

from ...backends.xla.external import HostFunction
from ...ir.ops import OPS
from ..api.custom import custom_jvp, custom_vjp
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import value_of
from ..numpy_api.linalg import as_real, demand_finite, working_dtype
from ..numpy_api.scipy_registry import captures, refuse
from ..values.array import fresh
from .linalg import LINALG, matrix, options, require_finite


def module():
    return sys.modules[LINALG]


def host_solver(function):
    """`function(*arrays)` on the host, NaN in the shape of the last one where it says that there is no solution."""

    def run(*arrays):
        try:
            return (np.asarray(function(*arrays), arrays[-1].dtype),)
        except (np.linalg.LinAlgError, ValueError):
            return (np.full_like(arrays[-1], np.nan),)

    return run


SYLVESTER = HostFunction(
    host_solver(lambda a, b, q: module().solve_sylvester(a, b, q)), lambda types: types[-1:], "solve_sylvester"
)


def on_host(function, *xs):
    """The one result of a host function of arrays."""
    return fresh(OPS["external"](*(x.value for x in xs), function=function)[0])


@custom_vjp
def sylvester(a, b, q):
    """The x with a x + x b = q, all of one dtype."""
    return on_host(SYLVESTER, a, b, q)


def sylvester_forward(a, b, q):
    x = sylvester(a, b, q)
    return x, (a, b, x)


def sylvester_backward(kept, g):
    a, b, x = kept
    y = sylvester(a.T, b.T, g)
    return -y @ x.T, -x.T @ y, y


sylvester.defvjp(sylvester_forward, sylvester_backward)


@captures(LINALG)
def solve_sylvester(a, b, q):
    a, b = matrix("solve_sylvester", a), matrix("solve_sylvester", b)
    q = matrix("solve_sylvester", q, square=False)
    if q.shape != (a.shape[0], b.shape[0]):
        text = f"scipy.linalg.solve_sylvester: matrices {a.shape} and {b.shape}, and a right-hand side {q.shape}"
        raise with_note(ValueError, message(text, locate()))
    dtype = np.result_type(a.dtype, b.dtype, q.dtype)
    x = sylvester(*(m.astype(dtype) for m in (a, b, q)))
    demand_finite(x.value, "the equation has no unique solution")
    return x


def complex_root(x):
    """SciPy's square root, whose imaginary part is 0 where it is real."""
    return (np.asarray(module().sqrtm(x), np.result_type(x.dtype, np.complex64)),)


ROOT = HostFunction(
    complex_root, lambda types: (types[0].like(dtype=np.result_type(types[0].dtype, np.complex64)),), "sqrtm"
)


@custom_jvp
def root(x):
    return on_host(ROOT, x)


@root.defjvp
def root_moves(primals, tangents):
    """s ds + ds s = dx."""
    s, t = root(*primals), tangents[0]
    return s, sylvester(s, s, t.astype(s.dtype))


@captures(LINALG)
def sqrtm(A):
    """Of a real matrix it is real where SciPy's is; in loops and in functions that are differentiated it is complex, as
    `eig` is."""
    x = matrix("sqrtm", A, check=False)
    return as_real(x.value, root(x).value)[0]


# -- bands -----------------------------------------------------------------------------------------


@functools.cache
def band_solver(lower, upper):
    """The host function of a band of that many diagonals below and above the main one."""

    def run(ab, b):
        return module().solve_banded((lower, upper), ab, b, check_finite=False)

    return HostFunction(host_solver(run), lambda types: types[-1:], "solve_banded")


def diagonals(ab, upper):
    """(offset k, the elements [j - k, j] of the matrix for the columns j that have one) for each row of the band."""
    n = ab.shape[1]
    for i, k in enumerate(range(upper, upper - ab.shape[0], -1)):
        yield k, ab[i, min(max(k, 0), n) : max(n + min(k, 0), 0)]


def offset_rows(x, k):
    """Rows of zeros around the first axis, for an offset k."""
    return np.pad(x, ((max(-k, 0), max(k, 0)), *((0, 0),) * (x.ndim - 1)))


def transposed_band(ab, upper):
    """The band of the transpose."""
    n = ab.shape[1]
    return np.stack([offset_rows(d, k) if abs(k) < n else np.zeros_like(ab[0]) for k, d in diagonals(ab, upper)][::-1])


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def band_solution(lower, upper, ab, b):
    """The x with that many diagonals times x = b, a matrix."""
    return on_host(band_solver(lower, upper), ab, b)


def band_forward(lower, upper, ab, b):
    x = band_solution(lower, upper, ab, b)
    return x, (ab, x)


def band_backward(lower, upper, kept, g):
    """That of the matrix is -y x^T, of which the band is read."""
    ab, x = kept
    y, n = band_solution(upper, lower, transposed_band(ab, upper), g), len(x)
    rows = [
        offset_rows(-(y[max(-k, 0) : n + min(-k, 0)] * x[max(k, 0) : n + min(k, 0)]).sum(1), -k)
        if abs(k) < n
        else np.zeros_like(ab[0])
        for k in range(upper, -lower - 1, -1)
    ]
    return np.stack(rows), y


band_solution.defvjp(band_forward, band_backward)


@captures(LINALG)
def solve_banded(l_and_u, ab, b, **given):
    check = options("solve_banded", given)
    lower, upper = (int(n) for n in l_and_u)
    ab, y = value_of(ab), value_of(b)
    if ab.type.ndim != 2 or y.type.ndim not in (1, 2) or not y.type.size:
        refuse(f"scipy.linalg.solve_banded of arrays of shapes {ab.type.shape} and {y.type.shape}")
    if ab.type.shape != (lower + upper + 1, y.type.shape[0]):
        text = (
            f"scipy.linalg.solve_banded: {lower} and {upper} diagonals of {y.type.shape[0]} equations in an array of "
            f"shape {ab.type.shape}"
        )
        raise with_note(ValueError, message(text, locate()))
    dtype = working_dtype(ab, y)
    ab, y = require_finite(ab, check).astype(dtype), require_finite(y, check).astype(dtype)
    x = band_solution(lower, upper, ab, y if y.ndim == 2 else y[:, None])
    demand_finite(x.value, "singular matrix")
    return x if y.ndim == 2 else x[:, 0]
