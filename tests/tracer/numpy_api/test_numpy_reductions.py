"""Reductions, statistics, cumulative functions, sorting and counting: NumPy's results on traced arrays."""

import numpy as np
import pytest
from compare import check_same
from sweep import by_xla, check_sweep

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError

DTYPES = ["?", "u1", "i4", "i8", "f2", "f4", "f8", "c16"]
SORTED = [d for d in DTYPES if d != "c16"]


def matrix(dtype, shape=(3, 4)):
    x = np.array([[3, 1, 2, 5], [9, 7, 4, 2], [2, 6, 0, 1]]).astype(dtype)
    if x.dtype.kind == "c":
        x = x + 1j * np.array([[1, -2, 0, 3], [0, 1, 1, 2], [5, 1, 0, 0]])
    return np.asfortranarray(x) if shape == (3, 4) else x.ravel()[: int(np.prod(shape))].reshape(shape)


MASK = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], bool)

SUMS = """
    x.sum()
    x.sum(0)
    np.sum(x, axis=-1)
    np.sum(x, axis=(0, 1), keepdims=True)
    x.sum(axis=1, keepdims=True, dtype=np.float32)
    np.sum(x, initial=10)
    np.sum(x, where=m)
    x.sum(1, where=m[:, :1])
    np.sum(x, axis=3)
    np.sum(x[:, ::-1], 1)
    np.sum(x[0, 0])
    x[0].sum(0)
    np.prod(x)
    x.prod(1)
    np.prod(x, 0, where=m, initial=2)
    np.max(x)
    x.max(0)
    np.max(x, axis=1, keepdims=True)
    np.amax(x, 1, initial=4, where=m)
    np.amin(x)
    x.min(axis=-2)
    np.min(x, 1, where=m)
    np.ptp(x)
    np.ptp(x, 0)
    np.ptp(x, 1, keepdims=True)
    x.any()
    np.any(x, 1)
    np.any(x, axis=(0, 1), keepdims=True)
    np.any(x, 1, where=m)
    x.all(0)
    np.all(x)
    np.count_nonzero(x)
    np.count_nonzero(x, axis=1)
    np.count_nonzero(x, keepdims=True)
    x.mean()
    x.mean(0)
    np.mean(x, 1, keepdims=True)
    np.mean(x, axis=(0, 1))
    np.mean(x, dtype=np.float32)
    np.mean(x, dtype=int)
    np.mean(x, 1, where=m)
    x[0, 0].mean()
    x.var()
    x.var(0)
    np.var(x, axis=1, ddof=1, keepdims=True)
    np.var(x, axis=1, correction=1)
    np.var(x, 1, ddof=1, correction=1)
    np.var(x, where=m)
    np.var(x, 1, mean=np.mean(x, 1, keepdims=True))
    np.var(x, ddof=50)
    x.std(1)
    np.std(x, ddof=1.5)
    np.std(x, (0, 1))
    np.average(x)
    np.average(x, 1)
    np.average(x, weights=m)
    np.average(x, 1, weights=[1, 2, 3, 4])
    np.average(x, 0, weights=x.real, returned=True)
    np.average(x, axis=(1, 0), weights=m.T, keepdims=True)
    np.average(x, returned=True)
    np.average(x, weights=[1, 2, 3, 4])
    np.average(x, 1, weights=[1, 2, 3])
    np.argmax(x)
    x.argmax(0)
    np.argmax(x, axis=1, keepdims=True)
    x.argmin()
    np.argmin(x, -1)
    np.argmin(x, 7)
    np.cumsum(x)
    x.cumsum(1)
    np.cumsum(x, 0, dtype=np.float32)
    np.cumsum(x[0, 0])
    x.cumprod(0)
    np.cumprod(x)
    np.cumulative_sum(x, axis=1)
    np.cumulative_sum(x, axis=1, include_initial=True)
    np.cumulative_prod(x[0], include_initial=True)
    np.cumulative_sum(x)
"""


def rtol(dtype):
    return {"f2": 5e-3, "f4": 1e-5}.get(dtype, 1e-12)


@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f2", "f8", "c16"], *DTYPES))
def test_sums_and_means(dtype):
    check_sweep(SUMS, rtol(dtype), x=matrix(dtype), m=MASK)


EMPTY = """
    np.sum(x)
    np.sum(x, 0)
    np.prod(x, 1)
    np.max(x)
    np.max(x, 0)
    np.max(x, 1)
    np.max(x, 1, initial=3)
    np.min(x, axis=(0, 1))
    np.any(x, 1)
    np.all(x)
    np.mean(x)
    np.mean(x, 1)
    np.mean(x, 0)
    np.var(x, 1)
    np.std(x)
    np.median(x, 1)
    np.median(x)
    np.argmax(x)
    np.argmax(x, 0)
    np.argmin(x, 1)
    np.cumsum(x, 0)
    np.cumprod(x)
    np.sort(x)
    np.argsort(x, 1)
    np.count_nonzero(x)
    np.nansum(x)
    np.nanmax(x)
    np.nanmean(x)
    np.nanmedian(x)
    np.quantile(x, 0.5)
    np.diff(x)
    np.trapezoid(x)
    np.bincount(x.ravel().astype(int), minlength=2)
    np.histogram(x, 3)
    np.searchsorted(x.ravel(), [1.0, 2.0])
    np.average(x, 0)
    np.logical_or.reduce(x)
"""


@pytest.mark.parametrize("dtype", ["?", "i8", "f8", "c16"])
def test_empty(dtype):
    check_sweep(EMPTY, x=np.zeros((3, 0), dtype))


NAN = """
    np.max(x)
    np.min(x, 0)
    np.argmax(x, 1)
    np.argmin(x, 1)
    np.mean(x)
    np.sum(x, 1)
    np.nansum(x)
    np.nansum(x, 1, keepdims=True)
    np.nanprod(x, 0)
    np.nancumsum(x, 1)
    np.nancumprod(x)
    np.nanmean(x)
    np.nanmean(x, 0)
    np.nanmean(x, 1, where=m, keepdims=True)
    np.nanmean(x, dtype=int)
    np.nanmean(x, dtype=np.float32)
    np.nanvar(x)
    np.nanvar(x, 1, ddof=1)
    np.nanvar(x, 0, keepdims=True)
    np.nanvar(x, 1, correction=2)
    np.nanstd(x, 1)
    np.nanmax(x)
    np.nanmax(x, 1)
    np.nanmin(x, 0)
    np.nanmin(x, 1, where=m, initial=2)
    np.nanargmax(x[:2], 1)
    np.nanargmin(x)
    np.nanargmin(x[1:2], axis=1, keepdims=True)
    np.median(x)
    np.median(x, 1)
    np.nanmedian(x)
    np.nanmedian(x, 0)
    np.nanmedian(x, 1, keepdims=True)
    np.nanmedian(x, (0, 1))
    np.quantile(x, 0.3, axis=0)
    np.nanquantile(x, 0.3, axis=0)
    np.nanquantile(x, [0.25, 0.5, 1.0], axis=1)
    np.nanpercentile(x, 40, axis=1, keepdims=True)
    np.nanquantile(x, [[0.1, 0.9]])
    np.nanquantile(x, 0.5, method="nearest")
    np.nanquantile(x, 0.6, axis=1, method="averaged_inverted_cdf")
    np.sort(x, 1)
    np.argsort(x, 1, stable=True)
    np.searchsorted(np.sort(x[0]), x)
    np.nan_to_num(x)
    np.nan_to_num(x, nan=1.0, posinf=9, neginf=-9)
    np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, -np.inf])
    np.maximum.accumulate(x, 1)
    np.fmax.reduce(x, 1)
    np.digitize(x, [0.0, 1.0, 3.0])
    np.histogram(x, [0.0, 1.0, 3.0])
"""


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan(dtype):
    x = np.array([[1, np.nan, 3, -2], [np.nan, 0.5, np.inf, 2], [np.nan] * 4, [4, 1, -np.inf, 0]]).astype(dtype)
    check_sweep(NAN, rtol(dtype), x=x, m=np.array([1, 0, 1, 1], bool))


def test_nan_functions_of_integers():
    check_sweep("\n".join(line for line in NAN.splitlines() if "nan" in line and "x[" not in line), x=matrix("i8"), m=MASK[0])


def test_nan_slices_raise_when_the_program_runs():
    check_same(lambda x: np.nanargmax(x, 1), np.array([[1.0, 2.0], [np.nan, np.nan]]))
    check_same(lambda x: np.histogram(x, 4), np.array([1.0, np.nan]))
    check_same(lambda x, w: np.average(x, weights=w), np.ones(2), np.array([1.0, -1.0]))
    check_same(lambda x, q: np.quantile(x, q), np.ones(2), np.array([0.5, 1.5]))
    check_same(lambda x, b: np.digitize(x, b), np.ones(2), np.array([0.5, 1.5, 1.0]))
    check_same(lambda x: np.bincount(x, minlength=4), np.array([1, -1]))


METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen", "weibull", "linear"]
METHODS += ["median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]

QUANTILES = """
    np.median(x)
    np.median(x, 0)
    np.median(x, axis=(0, 1), keepdims=True)
    np.median(x[0, 0])
    np.median(x, 5)
    np.quantile(x, 0.4)
    np.quantile(x, 0.4, axis=1, keepdims=True)
    np.quantile(x, [0.0, 0.35, 1.0], axis=0)
    np.quantile(x, np.array([[0.2], [0.7]]), axis=(0, 1))
    np.quantile(x, np.float32(0.25), axis=1)
    np.quantile(x, 1)
    np.quantile(x, [0, 1])
    np.quantile(x, 2)
    np.quantile(x, 0.5, method="none")
    np.percentile(x, 30)
    np.percentile(x, [10, 99.5], 1)
    np.percentile(x, 101)
    np.quantile(x, 0.4, method="inverted_cdf", weights=m)
    np.quantile(x, [0.1, 0.5, 0.9], axis=1, method="inverted_cdf", weights=[1, 2, 0.5, 1])
    np.percentile(x, 0, axis=0, method="inverted_cdf", weights=m + 0.5)
"""


@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f2", "f8", "c16"], *DTYPES))
def test_quantiles(dtype):
    lines = QUANTILES + "".join(f'np.quantile(x, [0.0, 0.15, 0.25, 0.5, 0.77, 1.0], axis=1, method="{m}")\n' for m in METHODS)
    lines += "".join(f'np.percentile(x, 25, method="{m}")\n' for m in METHODS)
    check_sweep(lines, rtol(dtype), x=matrix(dtype), m=MASK)


def test_traced_quantiles():
    x = np.array([3.0, 1.0, 7.0, 4.0, 5.5])
    check_same(lambda x, q: [np.quantile(x, q, method=m) for m in METHODS], x, np.array([0.0, 0.1, 0.5, 0.93, 1.0]))
    check_same(lambda x, q: (np.quantile(x, q), np.percentile(x, q * 100)), x.astype("f4"), 0.3)
    slope = grad(lambda q: np.quantile(x, q))(0.3)
    np.testing.assert_allclose(slope, 4 * (4 - 3))


SORTING = """
    np.sort(x)
    np.sort(x, 0)
    np.sort(x, axis=None)
    np.sort(x, kind="stable")
    np.sort(x, 2)
    np.sort(x, order="a")
    np.argsort(x, kind="stable")
    np.argsort(x, 0, stable=True)
    x.argsort(None, "stable")
    np.lexsort((x[0], x[1]))
    np.lexsort(x)
    np.lexsort((x, x[::-1]), axis=0)
    np.sort_complex(x)
    np.partition(x, 2)[:, 2]
    np.partition(x, [1, 2], axis=0)[1]
    np.partition(x, 9)
    np.sort(x[0, 0])
    np.searchsorted(np.sort(x[0]), x)
    np.searchsorted(np.sort(x[0]), x, "right")
    np.searchsorted(np.sort(x[0]), 2)
    np.sort(x[0]).searchsorted([[1, 2]], side="left")
    np.searchsorted(x[0], x, sorter=np.argsort(x[0], stable=True))
    np.searchsorted(x, 1)
    np.searchsorted(x[0], 1, "up")
    np.searchsorted([1, 2, 3], x)
    np.searchsorted(np.sort(np.tile(x.ravel(), 3)), x)
    np.searchsorted(np.sort(np.tile(x.ravel(), 3)), x, "right")
"""


@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f2", "f8", "c16"], *DTYPES))
def test_sorting(dtype):
    check_sweep(SORTING, x=matrix(dtype))


def test_complex_nan_is_sorted_last():
    n = np.nan
    x = np.array([complex(n, 1), 3 + 1j, complex(2, n), 3 - 1j, complex(n, n), complex(1, n), -1, complex(n, -2)])
    check_same(lambda x: (np.sort(x), np.argsort(x, stable=True), np.argmax(x), np.argmin(x[:2])), x)


def test_sorting_in_place():
    def f(x, y):
        x.sort()
        row = y[1]
        row.sort()
        y[:, 2].partition(1)
        return x.sort(0), y.sum()

    check_same(f, matrix("f8"), np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]]))


COUNTING = """
    np.bincount(i, minlength=6)
    np.bincount(i, x, 6)
    np.bincount(i.astype("u1"), minlength=6)
    np.bincount([0, 2, 1, 1, 2, 5], x)
    np.bincount(x, minlength=3)
    np.bincount(i.reshape(2, 3), minlength=9)
    np.bincount(i, x[:2], minlength=9)
    np.digitize(x, [0.0, 1.0, 2.0])
    np.digitize(x, [2.0, 1.0, 0.0])
    np.digitize(x, [0.0, 1.0, 2.0], right=True)
    np.digitize(x, np.sort(x))
    np.digitize(x, np.sort(x)[::-1], right=True)
    np.digitize(1.0, x[:2])
    np.digitize(x, [0.0, 2.0, 1.0])
    np.digitize(x * 1j, [0.0, 2.0])
    np.histogram(x)
    np.histogram(x, 4, (0.0, 2.0))
    np.histogram(x, 4, range=(0.0, 2.0), density=True)
    np.histogram(x, 3, weights=w)
    np.histogram(x, 3, weights=i, density=True)
    np.histogram(x, [0.0, 0.5, 1.0, 3.0])
    np.histogram(x, [0.0, 0.5, 0.5, 3.0], weights=w * 1j)
    np.histogram(x, np.sort(x))
    np.histogram(i, 3)
    np.histogram(i > 1, 2)
    np.histogram(x[:1], 3)
    np.histogram(x, 0)
    np.histogram(x, 2.5)
    np.histogram(x, [0.0, 2.0, 1.0])
    np.histogram(x, 3, (2.0, 0.0))
    np.histogram(x, 3, weights=w[:2])
    np.histogram(x.astype("f4"), 5)
    np.histogram_bin_edges(x, 4)
    np.interp(1.2, np.sort(x), w)
    np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0])
    np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0], left=-5, right=w[0])
    np.interp(x.reshape(2, 3), [0.5], [1.0])
    np.interp(x, np.sort(x), w)
    np.interp(x, np.sort(x), w * 1j)
    np.interp(x * 100, np.array([10, 350, 190]), [1.0, 2.0, 3.0], period=360)
    np.interp(x, [], [])
    np.interp(x, [1.0, 2.0], [1.0])
    np.interp(i, [0, 5], [0, 50])
    np.interp(x, np.linspace(0, 3, 40), np.linspace(0, 3, 40) ** 2)
"""


def test_counting():
    check_sweep(COUNTING, x=np.array([0.1, 1.0, 2.5, 0.5, 1.0, 2.0]), i=np.array([0, 2, 1, 1, 2, 5]), w=np.array([1.0, 2.0, 0.5, 3.0, 1.0, 1.5]))


def test_lengths_that_depend_on_data_are_refused():
    for f in (lambda i: np.histogram(i, "auto"), lambda i: np.add.reduceat(i, i)):
        with pytest.raises(UnsupportedError, match="depend"):
            jit(f)(np.array([0, 1]))
    with pytest.raises(UnsupportedError, match="element of 2"):
        jit(lambda i: np.bincount(i, minlength=2))(np.array([0, 5]))


DIFFERENCES = """
    np.diff(x)
    np.diff(x, axis=0)
    np.diff(x, n=2)
    np.diff(x, n=0)
    np.diff(x, n=-1)
    np.diff(x, prepend=0)
    np.diff(x, append=x[:, :1], axis=1)
    np.diff(x[0, 0])
    np.ediff1d(x)
    np.ediff1d(x, to_end=[1, 2], to_begin=3)
    np.ediff1d(x, to_end=1.5j)
    np.trapezoid(x)
    np.trapezoid(x, dx=2, axis=0)
    np.trapezoid(x, x=[0, 1, 3, 4])
    np.trapezoid(x, x=x, axis=0)
    np.gradient(x)
    np.gradient(x, axis=1)
    np.gradient(x, 2.0, axis=0)
    np.gradient(x, 2.0, [0, 1, 2, 4.0])
    np.gradient(x, [0, 2, 4], [0, 1, 2, 4])
    np.gradient(x, edge_order=2)
    np.gradient(x, [0, 1, 4.0], axis=0, edge_order=2)
    np.gradient(x, np.cumsum(np.abs(x[0]) + [1, 2, 4, 3]), axis=1, edge_order=2)
    np.gradient(x[:1], axis=0)
    np.gradient(x, 1.0, 2.0, 3.0)
    np.gradient(x, edge_order=3)
    np.unwrap(x)
    np.unwrap(x, period=4)
    np.unwrap(x, axis=0, discont=3.5)
    np.cov(x)
    np.cov(x[0])
    np.cov(x, rowvar=False, bias=True)
    np.cov(x[0], x[1], ddof=0)
    np.cov(x, x[::-1], rowvar=False)
    np.cov(x, fweights=[1, 2, 1, 3])
    np.cov(x, aweights=[1.0, 0.5, 1.0, 3.0])
    np.cov(x, fweights=[1, 2, 1, 3], aweights=[1.0, 0.5, 1.0, 3.0], ddof=1)
    np.cov(x, aweights=[1.0, -0.5, 1.0, 3.0])
    np.cov(x, ddof=0.5)
    np.cov(x, fweights=[1, 2])
    np.corrcoef(x)
    np.corrcoef(x[0], x[1])
    np.corrcoef(x, rowvar=False)
"""


@pytest.mark.parametrize("dtype", by_xla(["?", "i4", "f2", "f8", "c16"], *DTYPES))
def test_differences(dtype):
    check_sweep(DIFFERENCES, {"f2": 1e-2, "f4": 1e-5}.get(dtype, 1e-11), x=matrix(dtype))


def test_outputs():
    def f(x, one, two, count, flat):
        a = np.sum(x, axis=1, out=one)
        b = x.mean(0, out=two)
        np.max(x, 1, out=one[:])
        np.argmax(x, 1, out=count)
        x.cumsum(out=flat)
        np.std(x, axis=0, out=two)
        np.median(x, axis=0, out=two)
        np.quantile(x, 0.25, axis=0, out=two)
        return a is one, b is two

    x = matrix("f8")
    check_same(f, x, np.zeros(3), np.zeros(4), np.zeros(3, int), np.zeros(12))
    check_same(lambda x, o: np.sum(x, out=o), x, np.zeros(2))
    check_same(lambda x, o: np.sum(x, axis=1, out=o), x, np.zeros(3, int))
    check_same(lambda x, o: np.mean(x, axis=1, out=o), x, np.zeros(3, "f4"), rtol=1e-6)


def test_derivatives():
    x = np.array([[0.3, 1.7, -0.4], [2.2, 0.9, 1.1]])
    w = np.array([[0.5, -1.0, 2.0], [1.0, 0.7, -0.3]])
    cases = [
        lambda x: (np.var(x, 0) * w[0]).sum(),
        lambda x: np.std(x),
        lambda x: (np.sort(x, None) * w.ravel()).sum(),
        lambda x: np.median(x),
        lambda x: np.quantile(x, [0.2, 0.7], axis=1).prod(),
        lambda x: np.ptp(x, 0).prod(),
        lambda x: (np.cumprod(x, 1) * w).sum(),
        lambda x: np.interp(0.8, np.sort(x[0]), x[1]),
        lambda x: np.interp(x, [-1.0, 0.5, 3.0], [1.0, 2.0, -1.0]).prod(),
        lambda x: np.cov(x)[0, 1],
        lambda x: (np.gradient(x)[1] ** 2).sum(),
        lambda x: np.trapezoid(x[0], x[1]),
        lambda x: np.average(x, weights=x**2),
        lambda x: np.nanvar(x),
        lambda x: np.histogram(x, 3, (-1.0, 3.0), weights=x**2)[0].prod(),
        lambda x: np.bincount([0, 1, 1], x[0], 2).prod(),
        lambda x: np.corrcoef(x)[0, 1],
        lambda x: np.nanmean(np.where(x > 0, x, np.nan) ** 2),
        lambda x: (np.partition(x, 1, axis=0) * w).sum(),
        lambda x: np.prod(x),
        lambda x: np.max(x) * np.min(x),
    ]
    h = 1e-6
    for k, f in enumerate(cases):
        want = np.array([(f(x + h * d.reshape(x.shape)) - f(x - h * d.reshape(x.shape))) / (2 * h) for d in np.eye(x.size)]).reshape(x.shape)
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-5, atol=1e-7, err_msg=f"case {k}")


@pytest.mark.parametrize("ufunc", [np.multiply, np.logaddexp])
def test_prefixes_have_the_derivatives_of_loops(ufunc):
    """Zeros and NaN among them; second derivatives too."""
    w = np.cos(np.arange(8.0))

    def whole(x):
        return (ufunc.accumulate(x) * w).sum()

    def by_loop(x):
        y = np.zeros_like(x)
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = ufunc(y[i - 1], x[i])
        return (y * w).sum()

    for x in ([2.0, 0.0, 3.0, 3.0, 0.0, 3.0, -1.0, 5.0], [1.0, 1.0, 0.5, 2.0, 2.0, np.nan, 3.0, 1.0]):
        np.testing.assert_allclose(grad(whole)(np.array(x)), grad(by_loop)(np.array(x)), rtol=1e-12)
    x = np.array([1.5, 0.5, 2.0, -1.0, 3.0, 0.25, 1.0, 2.5])
    second = [grad(lambda x, f=f: (grad(f)(x) * np.sin(x)).sum())(x) for f in (whole, by_loop)]
    np.testing.assert_allclose(*second, rtol=1e-12, atol=1e-14)
    two = np.array([x, x[::-1]])
    np.testing.assert_allclose(grad(lambda x: (ufunc.accumulate(x, 1) * w).sum())(two), [grad(by_loop)(row) for row in two], rtol=1e-12)
