"""scipy.stats: densities and distribution functions, frozen or not, computed in float64 as SciPy does.

A distribution states its functions on the standardised variable; `Continuous` and `Discrete` put SciPy's frame around
them: NaN where parameters are not valid, the value outside the support, location and scale.
"""

import math

import numpy as np

from ...ir.ops import OPS
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle
from ..numpy_api.linalg import LinAlgError
from ..numpy_api.scipy_registry import DISTRIBUTIONS, only, refuse
from ..values.array import fresh, wrap
from ..values.storage import current_trace
from . import special as sp

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
where, stop_gradient = np.where, OPS["stop_gradient"]
gammainc, gammaincc, betainc = (sp.op(name) for name in ("igamma", "igammac", "betainc"))


def filled(value, like):
    return np.full_like(like, value)


def positive(*shapes):
    """Whether all shape parameters are."""
    return np.all(np.stack([s > 0 for s in shapes]), axis=0) if shapes else True


def ordered_parameters(name, parameters, defaults, args, kwargs):
    """The parameters of a call in order, as float64 arrays."""
    found = dict(zip(parameters, args))
    if len(args) > len(parameters) or set(kwargs) - set(parameters) or found.keys() & kwargs.keys():
        raise with_note(
            TypeError, message(f"scipy.stats.{name} takes ({', '.join(parameters)}) besides the variable", locate())
        )
    found = {**defaults, **found, **kwargs}
    missing = [p for p in parameters if p not in found]
    if missing:
        raise with_note(TypeError, message(f"scipy.stats.{name} needs {', '.join(missing)}", locate()))
    return [found[p] for p in parameters]


def broadcast_floats(name, *xs):
    """Arrays of float64 in one shape."""
    xs = [handle(x) for x in xs]
    if any(x.dtype.kind not in "biuf" for x in xs):
        refuse(f"scipy.stats.{name} of {', '.join(str(x.dtype) for x in xs)}")
    return np.broadcast_arrays(*(x.astype(np.float64) for x in xs))


class Continuous:
    """shapes: names of the shape parameters; support: of them, as (low, high); inside: a number between; valid: of
    them."""

    def __init__(self, name, shapes=(), support=(-np.inf, np.inf), inside=0.5, valid=positive, **functions):
        self.name, self.shapes, self.support, self.inside, self.valid, self.functions = (
            name,
            shapes,
            support,
            inside,
            valid,
            functions,
        )
        DISTRIBUTIONS[name] = {how: self.handler(how) for how in ("pdf", *(h for h in functions if h != "pdf"))}

    def parameters(self, how, x, args, kwargs):
        names = (*self.shapes, "loc", "scale")
        parts = ordered_parameters(f"{self.name}.{how}", names, {"loc": 0.0, "scale": 1.0}, args, kwargs)
        x, *shapes, loc, scale = broadcast_floats(f"{self.name}.{how}", x, *parts)
        return x, shapes, loc, scale

    def handler(self, how):
        def run(x, *args, **kwargs):
            x, shapes, loc, scale = self.parameters(how, x, args, kwargs)
            fine = self.valid(*shapes) & (scale > 0)
            safe = [where(fine, s, 1.0) for s in shapes]
            size = where(scale > 0, scale, 1.0)
            return wrap(self.density(how, (x - loc) / size, fine, safe, size).value)

        return run

    def density(self, how, z, fine, shapes, scale):
        low, high = self.support
        whole = how in ("logpdf", "pdf")
        within = (z >= low) & (z <= high) if whole else (z > low) & (z < high)
        safe = where(within & fine, z, self.inside)
        if how == "logpdf":
            out, outside = self.functions["logpdf"](safe, *shapes) - np.log(scale), -np.inf
        elif how == "pdf":
            f = self.functions
            out, outside = (f["pdf"](safe, *shapes) if "pdf" in f else np.exp(f["logpdf"](safe, *shapes))) / scale, 0.0
        else:
            below, above = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-np.inf, 0.0), "logsf": (0.0, -np.inf)}[how]
            out, outside = self.functions[how](safe, *shapes), where(z >= high, above, below)
        return where(~fine | np.isnan(z), np.nan, where(within, out, outside))


class Discrete:
    """As `Continuous`, on whole numbers from `first` on, up to `last(shapes)` where there is an end."""

    def __init__(self, name, shapes, first=0, last=None, *, valid, **functions):
        self.name, self.shapes, self.first, self.last, self.valid, self.functions = (
            name,
            shapes,
            first,
            last,
            valid,
            functions,
        )
        DISTRIBUTIONS[name] = {
            how: self.handler(how) for how in ("logpmf", "pmf", *(("cdf", "sf") if "cdf" in functions else ()))
        }

    def handler(self, how):
        def run(k, *args, **kwargs):
            parts = ordered_parameters(f"{self.name}.{how}", (*self.shapes, "loc"), {"loc": 0.0}, args, kwargs)
            k, *shapes, loc = broadcast_floats(f"{self.name}.{how}", k, *parts)
            fine, k = self.valid(*shapes), k - loc
            safe = [where(fine, s, 1.0) for s in shapes]
            last = self.last(*safe) if self.last else np.inf
            if how in ("logpmf", "pmf"):
                within = (k >= self.first) & (k <= last) & (np.floor(k) == k)
                out = self.functions["logpmf"](where(within & fine, k, float(self.first)), *safe)
                out, outside = (out, -np.inf) if how == "logpmf" else (np.exp(out), 0.0)
            else:
                within = (k >= self.first) & (k < last)
                out = self.functions[how](np.floor(where(within & fine, k, float(self.first))), *safe)
                outside = where(k >= last, 1.0, 0.0) if how == "cdf" else where(k >= last, 0.0, 1.0)
            return wrap(where(~fine | np.isnan(k), np.nan, where(within, out, outside)).value)

        return run


HALF_LINE, UNIT = (0.0, np.inf), (0.0, 1.0)


def t_logpdf(x, df):
    """The normal density where df is infinite."""
    far = df == np.inf
    n = where(far, 1.0, df)
    front = -sp.betaln(n / 2, filled(0.5, n)) - 0.5 * np.log(n)
    return where(far, -x * x / 2 - LOG_ROOT_2PI, front - (n + 1) / 2 * np.log1p(x * x / n))


def t_cdf(x, df):
    tail = 0.5 * betainc(df / 2, filled(0.5, df), df / (df + x * x))
    return where(df == np.inf, sp.ndtr(x), where(x < 0, tail, 1 - tail))


def beta_logpdf(x, a, b):
    return sp.xlog1py(b - 1, -x) + sp.xlogy(a - 1, x) - sp.betaln(a, b)


def lognorm_logpdf(x, s):
    zero = x == 0
    log = np.log(where(zero, 1.0, x))
    return where(zero, -np.inf, -(log * log) / (2 * s * s) - np.log(s) - log - LOG_ROOT_2PI)


Continuous(
    "norm",
    logpdf=lambda x: -(x * x) / 2 - LOG_ROOT_2PI,
    pdf=lambda x: np.exp(-(x * x) / 2) / math.sqrt(2 * math.pi),
    cdf=sp.ndtr, sf=lambda x: sp.ndtr(-x), logcdf=sp.log_ndtr, logsf=lambda x: sp.log_ndtr(-x),
)  # fmt: skip
Continuous(
    "gamma", ("a",), HALF_LINE,
    logpdf=lambda x, a: sp.xlogy(a - 1, x) - x - sp.gammaln(a),
    cdf=lambda x, a: gammainc(a, x), sf=lambda x, a: gammaincc(a, x),
)  # fmt: skip
Continuous(
    "chi2", ("df",), HALF_LINE,
    logpdf=lambda x, df: sp.xlogy(df / 2 - 1, x) - x / 2 - sp.gammaln(df / 2) - math.log(2) * df / 2,
    cdf=lambda x, df: gammainc(df / 2, x / 2), sf=lambda x, df: gammaincc(df / 2, x / 2),
)  # fmt: skip
Continuous("beta", ("a", "b"), UNIT, logpdf=beta_logpdf, cdf=lambda x, a, b: betainc(a, b, x))
Continuous(
    "t", ("df",), logpdf=t_logpdf, cdf=t_cdf, sf=lambda x, df: t_cdf(-x, df),
    logcdf=lambda x, df: np.log(t_cdf(x, df)), logsf=lambda x, df: np.log(t_cdf(-x, df)),
)  # fmt: skip
Continuous(
    "expon", (), HALF_LINE,
    logpdf=lambda x: -x, cdf=lambda x: -np.expm1(-x), sf=lambda x: np.exp(-x), logsf=lambda x: -x,
)  # fmt: skip
Continuous("uniform", (), UNIT, logpdf=lambda x: x * 0, pdf=lambda x: x * 0 + 1, cdf=lambda x: x, sf=lambda x: 1 - x)
Continuous(
    "laplace",
    logpdf=lambda x: math.log(0.5) - np.abs(x),
    pdf=lambda x: 0.5 * np.exp(-np.abs(x)),
    cdf=lambda x: where(x > 0, 1 - 0.5 * np.exp(-np.abs(x)), 0.5 * np.exp(-np.abs(x))),
    sf=lambda x: where(x > 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
)
Continuous(
    "logistic",
    logpdf=lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
    cdf=sp.logistic, sf=lambda x: sp.logistic(-x), logcdf=sp.log_expit, logsf=lambda x: sp.log_expit(-x),
)  # fmt: skip
Continuous(
    "cauchy",
    logpdf=lambda x: -math.log(math.pi) - np.log1p(x * x),
    pdf=lambda x: 1 / math.pi / (1 + x * x),
    cdf=lambda x: np.arctan2(1.0, -x) / math.pi, sf=lambda x: np.arctan2(1.0, x) / math.pi,
)  # fmt: skip
Continuous(
    "lognorm",
    ("s",),
    HALF_LINE,
    logpdf=lognorm_logpdf,
    cdf=lambda x, s: sp.ndtr(np.log(x) / s),
    sf=lambda x, s: sp.ndtr(-np.log(x) / s),
)
Discrete(
    "poisson", ("mu",), valid=lambda mu: mu >= 0,
    logpmf=lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu,
    cdf=lambda k, mu: gammaincc(k + 1, mu), sf=lambda k, mu: gammainc(k + 1, mu),
)  # fmt: skip
Discrete(
    "binom", ("n", "p"), last=lambda n, p: n, valid=lambda n, p: (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1),
    logpmf=lambda k, n, p: sp.gammaln(n + 1) - (sp.gammaln(k + 1) + sp.gammaln(n - k + 1)) + sp.xlogy(k,
        p) + sp.xlog1py(n - k, -p),
)  # fmt: skip
Discrete(
    "bernoulli", ("p",), last=lambda p: 1.0, valid=lambda p: (p >= 0) & (p <= 1),
    logpmf=lambda k, p: sp.xlogy(k, p) + sp.xlog1py(1 - k, -p),
)  # fmt: skip
Discrete(
    "geom", ("p",), first=1, valid=lambda p: (p > 0) & (p <= 1),
    logpmf=lambda k, p: sp.xlog1py(k - 1, -p) + np.log(p), cdf=lambda k, p: -np.expm1(sp.xlog1py(k, -p)), sf=lambda k,
    p: np.exp(sp.xlog1py(k, -p)),
)  # fmt: skip


# -- of vectors ------------------------------------------------------------------------------------


def demand(ok, error, text):
    current_trace().check(ok.value, error, message(text, locate()))


def dirichlet_logpdf(x, alpha):
    """Components along the first axis; the last may be left out."""
    x, alpha = handle(x).astype(np.float64), handle(alpha).astype(np.float64)
    if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise with_note(ValueError, message(f"scipy.stats.dirichlet of x {x.shape} and alpha {alpha.shape}", locate()))
    if x.shape[0] != alpha.shape[0]:
        x = np.concatenate([x, 1 - x.sum(0, keepdims=True)])
    demand((alpha > 0).all(), ValueError, "All parameters must be greater than 0")
    demand(
        ((x >= 0) & (x <= 1)).all(),
        ValueError,
        "Each entry in 'x' must be greater than or equal to zero, and at most one.",
    )
    wide = alpha.reshape(-1, *(1,) * (x.ndim - 1))
    demand(
        ~((x == 0) & (wide < 1)).any(),
        ValueError,
        "Each entry in 'x' must be greater than zero if its alpha is less than one.",
    )
    demand(
        (np.abs(x.sum(0) - 1) <= 10e-10).all(), ValueError, "The input vector 'x' must lie within the normal simplex."
    )
    a, b = np.broadcast_arrays(wide - 1, x)
    return wrap((sp.xlogy(a, b).sum(0) - (sp.gammaln(alpha).sum() - sp.gammaln(fresh(alpha.sum().value)))).value)


def normal_parameters(name, mean, cov):
    """(mean, covariance matrix) of one dimension n; a number or a vector is a diagonal one."""
    cov = handle(cov).astype(np.float64)
    n = cov.shape[0] if mean is None and cov.ndim else 1 if mean is None else handle(mean).size
    mean = np.zeros(n) if mean is None else handle(mean).astype(np.float64).reshape(n)
    cov = cov * np.eye(n) if cov.ndim < 2 else cov
    if cov.shape != (n, n):
        raise with_note(
            ValueError,
            message(
                f"scipy.stats.multivariate_normal.{name} with a mean of shape {mean.shape} and a covariance "
                f"{cov.shape}",
                locate(),
            )
        )
    return mean, cov


def factored(cov, allow_singular):
    """(Cholesky factor, projector on the null space or None, rank, SciPy's bound of what is 0) of a covariance, whose
    lower triangle counts.

    Where it may be singular the factor is that of the covariance within its range, and of the identity on the null
    space. The null space has no derivative: along a change of the covariance that leaves the range, the density does
    not vary smoothly.
    """
    demand(np.isfinite(cov).all(), ValueError, "array must not contain infs or NaNs")
    n = cov.shape[0]
    held = fresh(stop_gradient(cov.value))
    spectrum, basis = np.linalg.eigh(held) if allow_singular else (np.linalg.eigvalsh(held), None)
    bound = 1e6 * np.finfo(float).eps * np.abs(spectrum).max()
    if not allow_singular:
        demand(spectrum[0] > bound, LinAlgError, "the input matrix must be symmetric positive definite")
        return np.linalg.cholesky(cov), None, n, bound
    demand(spectrum[0] >= -bound, ValueError, "The input matrix must be symmetric positive semidefinite.")
    small = spectrum <= bound
    null = (basis * small) @ basis.T
    lower = np.tril(cov) + np.tril(cov, -1).T
    within = np.eye(n) - null
    return np.linalg.cholesky(within @ lower @ within + null), null, n - small.sum(), bound


def normal_logpdf(x, mean=None, cov=1, allow_singular=False):
    """By the Cholesky factor of the covariance; -inf outside the support of a singular one."""
    only("scipy.stats.multivariate_normal.logpdf", allow_singular=(allow_singular, (False, True)))
    x = handle(x).astype(np.float64)
    mean, cov = normal_parameters("logpdf", mean, cov)
    n = mean.shape[0]
    x = x if x.ndim > 1 else x.reshape(-1, 1) if n == 1 or not x.ndim else x.reshape(1, -1)
    if x.shape[-1] not in (1, n):
        raise with_note(
            ValueError,
            message(f"scipy.stats.multivariate_normal of x {x.shape}, mean {mean.shape} and cov {cov.shape}", locate())
        )
    low, null, rank, bound = factored(cov, allow_singular)
    apart = x - mean
    flat = apart.reshape(-1, n)
    inside = flat if null is None else flat - flat @ null
    white = sp.op("triangular_solve", left=True, lower=True, transpose=False, conj=False, unit=False)(
        low, inside.T.copy()
    )
    out = -(rank * LOG_ROOT_2PI + np.log(np.diagonal(low)).sum() + 0.5 * (white * white).sum(0))
    if null is not None:
        residual = fresh(stop_gradient((flat @ null).value))
        out = where((rank < n) & ~(np.sqrt((residual * residual).sum(1)) < 1e3 * bound), -np.inf, out)
    return wrap(out.reshape(tuple([m for m in apart.shape[:-1] if m != 1])).value)


def normal_entropy(mean=None, cov=1):
    _, cov = normal_parameters("entropy", mean, cov)
    low, _, rank, _ = factored(cov, True)
    return wrap((rank * (LOG_ROOT_2PI + 0.5) + np.log(np.diagonal(low)).sum()).value)


def exponential(logarithm):
    return lambda *args, **kwargs: np.exp(logarithm(*args, **kwargs))


DISTRIBUTIONS["dirichlet"] = {"logpdf": dirichlet_logpdf, "pdf": exponential(dirichlet_logpdf)}
DISTRIBUTIONS["multivariate_normal"] = {
    "logpdf": normal_logpdf,
    "pdf": exponential(normal_logpdf),
    "entropy": normal_entropy,
}
