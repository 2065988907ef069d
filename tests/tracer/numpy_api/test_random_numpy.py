"""A sample of `random_numpy.py`: calls of every name of the registry, and what its draws have found."""

import inspect
from unittest import mock

import numpy as np
import pytest
import random_numpy
from calls import names
from compare import check_same
from random_numpy import Worker, outcome, quick

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError


@pytest.mark.parametrize("part", range(8))
def test_every_name(part):
    """One call of each, as generated NumPy; a name of whose parameters nothing is known raises KeyError."""
    run = Worker()
    found = [(name, run(name, 5000)) for name in list(names())[part::8]]
    run.stop()
    wrong = [f"{name}: {call}\n    {detail}" for name, (verdict, detail, call) in found if verdict == "different"]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["add", "floor_divide", "sum", "argmax", "sort", "linalg.solve", "ndarray.astype", "clip"])
def test_values_by_xla(name):
    verdict, detail, call = outcome(name, 5001, by_xla=True)
    assert verdict in ("agree", "refused", "explained"), f"{call}: {detail}"


def test_where_takes_booleans_only():
    x, m = np.arange(3.0), np.array([1, 0, 1])
    for f in (lambda x, m: np.sum(x, where=m), lambda x, m: np.add(x, 1, where=m, out=x), lambda x, m: x.mean(where=m), lambda x, m: np.copyto(x,
        1.0, where=m)):
        check_same(f, x, m)
    check_same(lambda x, m: np.sum(x, where=[1, 0, 1]), x, m)
    check_same(lambda x, m: np.sum(x, where=m[:2] > 0), x, m)


def test_methods_along_one_axis():
    x = np.arange(6.0).reshape(2, 3)
    check_same(lambda x: np.add.accumulate(x[0], axis=None), x)
    check_same(lambda x: np.add.accumulate(x, axis=(-1,)), x)
    check_same(lambda x: np.add.accumulate(x, axis=None), x)
    check_same(lambda x: np.add.reduceat(x, [], axis=(1,)), x)
    check_same(lambda x: np.add.reduceat(x, [0], axis=(0, 1)), x)
    check_same(lambda x: np.multiply.reduceat(x[0, 0], [0]), x)
    check_same(lambda x: np.cumsum(x, axis=(0,)), x)


def test_at_takes_numbers_for_arrays():
    """No operand of `at` is weak, and one that meets no element is no error."""
    check_same(lambda x: (np.add.at(x, np.array([0, 0]), -1), x), np.ones(3, np.uint8))
    check_same(lambda x, i: (np.fmin.at(x, i, 2), x), np.ones(3), np.zeros(0, int))
    check_same(lambda x, i: np.gcd.at(x, i, 2), np.ones(3), np.array([9]))


def test_scalars_stored_among_integers():
    """A float scalar becomes an int as Python makes one; an array's elements are cast."""

    def store(x, v):
        x[1] = v
        return x

    for v in (np.nan, np.inf, 1e30, -1e30, 300.7, np.float64(np.nan), np.float32(2.5), np.array([np.nan])[:1]):
        check_same(store, np.zeros(3, np.int64), v if not isinstance(v, np.ndarray) else v[0])
    check_same(lambda x: store(x, np.inf), np.zeros(3, np.int32))
    with pytest.raises(UnsupportedError):
        jit(store)(np.zeros(3), np.complex64(1j))


def test_unsigned_numbers_beyond_python_ints_raise():
    with pytest.raises(OverflowError):
        jit(lambda x: x.tolist())(np.array([2**64 - 1], np.uint64))
    with pytest.raises(OverflowError):
        jit(lambda x: x.item())(np.array([2**63], np.uint64))
    check_same(lambda x: (x.tolist(), x[0].item()), np.array([2**63 - 1], np.uint64))


def test_a_start_alone_stays_as_it_is():
    x, none = np.array([3, -4]), np.zeros(2, bool)
    for ufunc in (np.hypot, np.gcd, np.lcm):
        check_same(lambda x, m, u=ufunc: u.reduce(x, initial=-3, where=m), x, none)


def test_kinds():
    x = np.arange(3.0)
    check_same(lambda x: np.unstack(x), x)
    check_same(lambda x: (x.conj(), x.conjugate()), np.array(1j))
    check_same(lambda x: (np.float64(2) * x[0]).argsort(), x)
    check_same(lambda x: np.sum(x[0], out=np.zeros_like(x[:1]).reshape(())), x)
    check_same(lambda x: np.isposinf([x[0], x[1]]), x)
    check_same(lambda x: x.round(), 1.5)
    check_same(lambda x: x.is_integer(), np.array(1.5))
    check_same(lambda x: x.std(correction=1), x)
    check_same(lambda x, m: np.mean(x, where=m, axis=0), np.array(1.0), np.array(True))
    check_same(lambda x: np.mean(x, axis=0), np.array(1.0))
    check_same(lambda x, i: np.put(x, i, 10**12), np.zeros(3, np.uint32), np.array([1]))


@pytest.mark.as_numpy
def test_out_is_cast_by_NumPys_rules():
    x = np.array([1.5, 2.5, -1.0])
    for f in (
        lambda x, o: np.argmin(x, out=o),
        lambda x, o: np.round(x[:1].reshape(()), out=o),
        lambda x, o: np.std(x, out=o),
        lambda x, o: np.ptp(x, out=o),
        lambda x, o: np.take(x, 1, out=o),
    ):
        for dtype in (np.uint16, np.int32, np.float32, np.float64, complex):
            check_same(f, x, np.zeros((), dtype))


@pytest.mark.skipif("descending" not in inspect.signature(np.sort).parameters, reason="since NumPy 2.5")
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint64, np.float16, float, complex])
def test_the_other_order(dtype):
    x = np.array([1, 3, 0, 3, 200, 1, 0]).astype(dtype)
    if x.dtype.kind in "fc":
        x[1] = np.nan
    for f in (
        lambda x: np.sort(x, descending=True),
        lambda x: x.argsort(descending=True, stable=True),
        lambda x: np.argsort(x, descending=False, kind="stable"),
        lambda x: (x.sort(descending=True), x),
        lambda x: np.sort(x[x > 0], descending=True),
    ):
        check_same(f, x)


def test_out_of_transforms_that_some_NumPys_leave_alone():
    x = np.arange(6.0).reshape(2, 3)
    for f in (np.fft.hfft, np.fft.ifft2, np.fft.irfft2):
        out = np.zeros_like(f(x))
        check_same(lambda x, out, f=f: (f(x, out=out), out), x, out)


def test_wrong_arguments():
    x = np.arange(6.0).reshape(2, 3)
    check_same(lambda x: np.full_like(x, -200, dtype=np.int8), x)
    check_same(lambda x: x.item(0, 0, 0), x)
    check_same(lambda x: np.array(x, order="X"), x)
    check_same(lambda x: np.histogram2d(x, x), x)
    check_same(lambda x: np.histogram_bin_edges(x, weights=x[0]), x)
    check_same(lambda x: np.cov(x, dtype=int), x)
    check_same(lambda x: np.isin(x, x, kind="table"), x)
    check_same(lambda x: np.compress(x, x), x)
    check_same(lambda x: np.polyder(x[0, 0]), x)
    check_same(lambda x: np.take_along_axis(x, 0, 0), x)
    check_same(lambda x: np.put_along_axis(x, np.array([[0]]), x[0], 0), x)
    check_same(lambda x, v: np.place(x, x > 1, v), np.ones(3, np.float32), np.ones(2))
    check_same(lambda x: np.choose(x, [1, 2]), np.array([5]))
    check_same(lambda x: np.partition(x, 9), np.zeros((0, 3)))


def test_points_of_rows_as_generated_NumPy():
    """np.take of more axes than the array has: the plain spelling of a gather is not np.take_along_axis."""
    with quick():
        check_same(lambda x, i: (x.take(i), np.interp(i * 0.5, [0.0, 1.0], [1.0, 3.0])), np.arange(4.0), np.array([[0, 3], [1, 2]]))


@pytest.mark.as_numpy
def test_scalars_of_NumPy_stored_among_integers():
    """Python's floats must fit, and NumPy's own where the integers are signed; unsigned ones take the cast."""

    def store(x, v):
        x[0] = v
        return x

    for dtype in (np.int8, np.int32, np.uint8, np.uint64):
        for v in (-1.5, 300.7, 1e300, np.float64(-1.5), np.float64(300.7), np.int64(200), np.int64(-3)):
            check_same(store, np.zeros(2, dtype), v)
            check_same(lambda x, v=v: (x.fill(v), x), np.zeros((2, 0), dtype))
    check_same(store, np.zeros(2, np.int8), np.uint8(200))
    check_same(lambda x: store(x, np.array(200)), np.zeros(2, np.int8))
    check_same(lambda x: (x.__setitem__(slice(None), [1, 2]), x), np.zeros(2, np.int32))
    check_same(lambda x, y: (x.__setitem__(slice(None), y), x), np.zeros(2, np.int8), np.array([300, -300]))
    check_same(lambda x: (x.fill(1j), x), np.zeros(2, bool))
    check_same(lambda x: (np.fill_diagonal(x, 10**12), x), np.zeros((2, 2), np.int8))
    check_same(lambda x: np.array(2j, np.uint8), np.zeros(1))
    check_same(lambda x: np.asarray(x, np.uint8), -2.5)


def test_casts_out_of_range_by_xla():
    x = np.array([300.7, -300.2, 1e10, -1e10, 1e19, 1e300, np.nan, np.inf, -np.inf, -1.5])
    for have in (np.float64, np.float32, np.float16):
        for want in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
            with np.errstate(all="ignore"):
                alone = np.array([v.astype(want)[0] for v in x.astype(have)[:, None]])  # of many NumPy takes another way for uint32
            assert np.array_equal(jit(lambda x, want=want: x.astype(want))(x.astype(have)), alone), (have, want)


def test_masks_as_factors_by_xla():
    x, m = np.array([np.nan, np.inf, -3.0, np.nan]), np.array([False, False, False, True])
    for f in (lambda x, m: x * m, lambda x, m: x * m.astype(np.int32), lambda x, m: x * (x < 5)):
        check_same(f, x, m)
        with np.errstate(all="ignore"):
            assert np.array_equal(np.signbit(jit(f)(x, m)), np.signbit(f(x, m)))


def test_choices_and_conditions():
    x, m = np.arange(5.0), np.array([True, False, True, False, False, False])
    check_same(lambda x, m: np.compress(m, x), x, m)
    check_same(lambda x, m: np.compress(m, x[:2]), x, m)
    check_same(lambda x, m: np.compress(m[:1], x[0], axis=0), x, m)
    check_same(lambda x, m: np.extract(m, x[:4]), x, m)
    check_same(lambda i: np.choose(i, [np.uint8(1), -200, np.array([3, 3, 3], np.uint8)]), np.array([0, 1, 2]))
    check_same(lambda x: np.where(x > 1, x, -200), np.arange(3, dtype=np.uint16))
    check_same(lambda x: np.clip(x, 10**20, 1j * x), np.ones(2, np.uint32))
    check_same(lambda x, m: (np.putmask(x, m, 1.0), x), np.zeros((0, 3)), m)
    for v in (np.int64(-2), np.float64(2.5), 300, -1.5):
        check_same(lambda x, v=v: (np.putmask(x, x > 0, v), np.place(x, x > 0, v), x), np.ones(2, np.uint8))
    check_same(lambda x, m: (np.place(x, m, x), x), np.zeros((0, 3)), m)
    check_same(lambda x, i: np.take_along_axis(x, i, axis=0), np.zeros((2, 0)), np.array([[7]]))
    check_same(lambda x: np.repeat(x, -1), np.zeros(0))
    check_same(lambda x: np.insert(x, 0, 1j), np.zeros(2))
    check_same(lambda x, i: np.ravel_multi_index((i, i), (3, 4), mode="clip", order="X"), x, np.array([1]))


def test_kinds_of_what_has_no_axes():
    x = np.array(2.5)
    for f in (
        lambda x: np.apply_over_axes(np.sum, x, 0),
        lambda x: np.moveaxis(x[()], (), ()),
        lambda x: np.fft.fftshift(x),
        lambda x: np.nanmedian(x, keepdims=True),
        lambda x: np.nansum(x, out=np.zeros(())),
        lambda x: np.nanargmin(x, axis=0),
        lambda x: x.item(9),
        lambda x: x[()].sort(),
        lambda x: (x.sort(axis=None), x),
    ):
        check_same(f, x)
    check_same(lambda x: np.unpackbits(x, axis=()), np.array(3, np.uint8))
    check_same(np.isreal, 2j)
    check_same(np.trim_zeros, 2.5)
    check_same(lambda x: np.trim_zeros(x), np.zeros((2, 0)))
    check_same(lambda x: np.unstack(x, axis=(0,)), np.zeros((2, 3)))
    check_same(lambda x: np.intersect1d(x, x[:, :0], return_indices=True), np.zeros((1, 0)))
    check_same(lambda x: np.intersect1d(x, x[:0], return_indices=True), np.ones(3))
    check_same(lambda x: np.intersect1d(x, x[:0], assume_unique=True), np.ones(3))
    check_same(lambda x: np.union1d(2.5, x), np.ones(2, np.float32))


def test_out_as_it_would_be_made():
    x = np.arange(6.0).reshape(2, 3)
    for f in (
        lambda x: np.dot(x[0], x[0], out=np.zeros_like(x[0, :1].reshape(()), dtype=np.int8)),
        lambda x: np.trace(x, out=np.zeros_like(x[0])),
        lambda x: np.modf(x[0], out=(np.zeros_like(x), np.zeros_like(x[0]))),
        lambda x: np.modf(x[0], out=(np.zeros_like(x), None)),
        lambda x: np.left_shift.reduceat(np.array([1, 2], np.uint8), [0], out=np.zeros_like(x[0, :1])),
        lambda x: np.fft.fftn(x, s=(4, 4), axes=(0, 1), out=np.zeros_like(x, shape=(4, 4), dtype=complex)),
        lambda x: np.round(x.astype(int), -2, out=np.zeros_like(x, dtype=int)),
    ):
        check_same(f, x)


def test_layouts_of_copies():
    for f in (
        lambda x: np.asarray(x, order="F").ravel("K"),
        lambda x: np.array(x, order="F").ravel("K"),
        lambda x: np.asanyarray(x, order="X"),
        lambda x: np.array(x, ndmin=3, ndmax=1),
    ):
        check_same(f, np.arange(6.0).reshape(2, 3))


def test_means_and_quantiles():
    z, i = np.array([1j, complex(np.nan, 1), 2 - 1j]), np.array([-32768, 1], np.int16)
    check_same(lambda z: np.nanmedian(z), z)
    check_same(lambda z: np.nanpercentile(z[:0], 50), z)
    check_same(lambda z: np.median(z[:0]), z)
    check_same(lambda i: (np.percentile(i, 50), np.nanquantile(i, [0.1, 0.5])), i)
    check_same(lambda x, m: np.var(x, mean=m), np.arange(3.0), np.array([1 + 1j]))
    check_same(lambda x: np.hypot.reduce(x), np.array([-3]))
    check_same(lambda x: np.bincount(x, weights=x), np.zeros(0, int))
    check_same(lambda x: np.linalg.pinv(x), np.zeros((0, 0), np.float16))
    check_same(lambda x, y: np.trapezoid(y, x), np.ones((2, 2)), np.ones((2, 2, 2)))
    check_same(lambda x: np.cov(x, dtype=np.uint8), np.zeros((0, 3)))


def test_float16_transforms():
    """Their factors are rounded to float16 along the first axis."""
    x = (np.arange(15.0) / 7).astype(np.float16).reshape(3, 5)
    for f in (
        lambda x: np.fft.rfft(x, norm="ortho"),
        lambda x: np.fft.ifft2(x),
        lambda x: np.fft.irfftn(x, norm="forward"),
        lambda x: np.fft.fftn(x, norm="forward"),
    ):
        check_same(f, x, rtol=1e-6)


def test_polynomials_of_other_shapes():
    p = np.array([1.0, 2.0])
    check_same(lambda p: np.polymul(p[:0], p), p)
    check_same(lambda p: np.polymul(p[None], p), p)
    check_same(lambda p: np.polydiv(p[:0], p), p)
    check_same(lambda p: np.polydiv(p, p[:1, None]), p)
    check_same(lambda p, y, w: np.polyfit(p, y, 0, w=w), p, p.astype(np.float16), p)
    check_same(lambda p: np.linspace(p, p + 1, 3, axis=()), p)
    check_same(lambda p, v: np.polydiv(p, v), p, np.array([False, True]))


def test_equiv_takes_no_Python_numbers():
    """Which NumPy's resolve_dtypes ends the process over."""
    check_same(lambda x: np.add(x, 3, casting="equiv"), np.ones(2))
    check_same(lambda x: np.logical_and(x, 3, casting="equiv"), np.ones(2))


def test_a_call_that_never_ends_is_ended():
    run = Worker(seconds=1)
    with mock.patch("random_numpy.serve", random_numpy.spin):
        assert run("add", 0)[0] == "unanswered"
    assert run.process is None


def test_grids_are_numpys_to_the_last_bit_by_xla():
    """XLA takes one rounding for a product and a sum, unless told; counts, casts and comparisons hang on the last bit."""
    rng = np.random.default_rng(3)
    for dtype in "efdFD":
        x, y = rng.integers(-8, 9, (2, 40)) / 3
        y[::9] = x[::9]  # a step of zero changes NumPy's formula for all
        a, b = (v.astype(dtype) for v in (x, y))
        for pair in ((a, b), (a[1:8], b[1:8]), (a[3], b[3])):
            f = lambda a, b: [np.linspace(a, b, 11, endpoint=end) for end in (True, False)]
            assert all(map(np.array_equal, jit(f, engine="xla")(*pair), f(*pair))), (dtype, pair)
    counts = jit(lambda x: np.histogram(x, 7), engine="xla")
    for seed in range(8):
        x = np.random.default_rng(seed).integers(-8, 9, 50) / 3
        assert all(map(np.array_equal, counts(x), np.histogram(x, 7)))
    f = lambda a: np.linspace(a, 2 * a, 5).sum()
    assert grad(f)(1.0) == 7.5 and grad(f)(np.zeros(1)[0]) == 7.5 and np.array_equal(grad(lambda a: f(a).sum())(np.array([0.0, 1.0])), [7.5, 7.5])


def test_remainders_of_float16_are_rounded_at_each_step():
    rng, divided = np.random.default_rng(4), jit(np.polydiv, engine="xla")
    for _ in range(10):
        u, v = (rng.normal(size=n).astype(np.float16) for n in (5, 2))
        for got, want in zip(divided(u, v), np.polydiv(u, v)):
            assert np.array_equal(got, want, equal_nan=True)


@pytest.mark.as_numpy
def test_choices_of_python_numbers_are_cast_as_arrays():
    """np.select makes arrays of them once the dtype is known; only the default is cast whatever it is."""
    c, x = np.array([True, False]), np.array([1, 2], np.uint8)
    for kind, choice in (("u1", 5), ("u1", -5), ("i1", 9**9), ("f8", 10**20), ("i8", 2**63), ("u8", 2**63), ("f2", 1e300), ("c8", 1j), ("i4", True)):
        check_same(lambda c, x, n=choice: np.select([c], [n], x), c, x.astype(kind))
        check_same(lambda c, x, n=choice: np.select([c], [x], n), c, x.astype(kind))
        check_same(lambda c, x, n=choice: np.concatenate((x, n), axis=None), c, x.astype(kind))
        check_same(lambda c, x, n=choice: np.setxor1d(x, n, assume_unique=True), c, x.astype(kind))
    check_same(lambda c, x: np.select([c], [int(x.sum())], x), c, x)
    for f in (np.logical_and, np.logical_or, np.logical_xor):
        check_same(lambda c, x, f=f: f(x, 10**20), c, x)
        check_same(lambda c, x, f=f: f(10**12, c), c, x)


@pytest.mark.as_numpy
def test_out_of_numpys_scalars():
    """Methods of a NumPy scalar give a scalar, whatever `out`; ufuncs, and functions of Python numbers, give `out`."""
    o = np.zeros(())
    for f in (np.sum, np.max, np.mean, np.std, np.var, np.round, np.ptp, np.median, np.nansum, np.add.reduce):
        for x in (np.float64(1.5), 1.5, np.array(1.5)):
            check_same(lambda x, o, f=f: f(x, out=o), x, o)
    check_same(lambda x, o: (np.clip(x, 0, 1, out=o), x.take(0, out=o), x.max(out=o)), np.float64(1.5), o)
    check_same(lambda x: np.dot(x, x, out=np.zeros_like(x[:1]).reshape(())), np.arange(3.0))
    check_same(lambda x, m: np.std(x, mean=m), np.array(1.5), np.array(1 + 1j))


def test_out_that_overlaps():
    def into(f):
        def run(x):
            f(x)
            return x

        return run

    x = np.arange(6.0).reshape(2, 3) ** 2
    for f in (
        lambda x: np.ptp(x, axis=0, out=x[0]),
        lambda x: np.ptp(x[:, ::-1], axis=1, out=x[:, 0]),
        lambda x: np.add(x[0, :-1], x[0, 1:], out=x[0, 1:]),
        lambda x: np.cumsum(x[0, ::-1], out=x[0]),
        lambda x: np.matmul(x, x.T, out=x[:, :2]),
        lambda x: np.clip(x[0], 1, 2, out=x),
        lambda x: x[0].clip(1, 2, out=x[::-1]),
    ):
        check_same(into(f), x)
    for f in (lambda x: np.place(x, x > 1, x[::-1]), lambda x: np.divmod(x, 2, out=(x, x)), lambda x: np.modf(x[0, :2], out=(x[0, :2], x[0, 1:]))):
        with pytest.raises(UnsupportedError, match="memory"):
            jit(f)(x.copy())
    check_same(into(lambda x: np.divmod(x[0], 2, out=(x[0], x[1]))), x)


def test_places_are_looked_at_before_values():
    check_same(lambda x: np.insert(x, 9, -1.5), np.ones(3, np.uint64))
    check_same(lambda x: np.insert(x, slice(0, 2), x), np.ones((2, 0)))
    check_same(lambda x: np.insert(x, [0, 1], [7, 8], axis=0), np.ones((2, 2)))
    check_same(lambda x: np.unravel_index(x, (2, 2), order="A"), 1.5)


def test_logarithms_of_sums_to_the_base_2():
    x, y = np.meshgrid(np.arange(10, dtype=np.float32) / 3, np.arange(10, dtype=np.float32) / 2)
    with quick():
        got = jit(np.logaddexp2)(x, y)
    assert np.max(np.abs(got - np.logaddexp2(x, y)) / np.spacing(np.abs(got))) <= 1


def test_complex_functions_near_their_branch_points_by_xla():
    near = [-1, 1, 1e-200, -1e-200, 1e-9, 0.0, 1 + 2**-52, 0.9999999, 2, 1e200, np.nan, np.inf]
    z = np.array([complex(x, y) for x in near for y in near])
    for f in (np.arctan, np.arctanh):
        want, got = f(z), jit(f, engine="xla")(z)
        with np.errstate(all="ignore"):
            for w, g in ((want.real, got.real), (want.imag, got.imag)):
                assert np.all((w == g) | np.isnan(w) & np.isnan(g) | ~np.isfinite(want) & ~np.isfinite(got) | (abs(w - g) <= 8 * np.spacing(abs(w))))
    lost = jit(np.arctanh, engine="xla")(np.array([complex(np.nan, 1), complex(np.nan, -0.5)]))
    assert np.all(np.isnan(lost.real) & np.isnan(lost.imag))
    assert abs(jit(np.log1p, engine="xla")(-1 + 1e-200j).real - np.log(1e-200)) < 1e-12


def test_complex_infinities_to_negative_powers_vanish_by_xla():
    x = np.array([complex(1, np.inf), complex(-np.inf, 2), complex(np.inf, 0), 2 - 1j])[:, None]
    y = np.array([-1 + 2j, -2 - 0.5j, -0.5, -1, 2 + 1j, 1j])
    for f in (np.power, np.float_power):
        with np.errstate(all="ignore"):
            want, got = f(x, y), jit(f, engine="xla")(x, y)
        finite = np.isfinite(want)
        assert np.array_equal(finite, np.isfinite(got)) and np.allclose(got[finite], want[finite], rtol=1e-14, atol=0)


def test_interpolation_at_places_that_come_several_times():
    rng, line = np.random.default_rng(0), lambda x, xp, fp: np.interp(x, xp, fp)
    compiled = jit(line)
    for n in (1, 2, 3, 5, 5, 5, 6, 6):
        xp, fp, x = np.sort(rng.integers(0, 4, n)) * 1.0, rng.random(n), np.arange(-1.0, 5.0, 0.5)
        np.testing.assert_array_equal(compiled(x, xp, fp), line(x, xp, fp))


def test_edges_that_are_no_numbers_come_last():
    x, edges = np.array([0.5, 1.5, 3.0]), np.array([1.0, 2.0, np.nan])
    np.testing.assert_array_equal(jit(lambda x, b: np.digitize(x, b))(x, edges), np.digitize(x, edges))


def test_interpolation_with_a_period_takes_real_parts():
    z = np.array([1 + 2j, 3.5 - 1j])
    check_same(lambda z: np.interp(z, [0, 2, 3], [1j, 2, 3], left=0.5, period=4.0), z)
    check_same(lambda z: np.interp(z[0], [0, 2, 3], [1, 2, 3], period=4), z)
    check_same(lambda z: np.interp(z, [0, 2, 3], [1, 2, 3]), z)  # TypeError


def test_put_into_what_has_no_memory():
    """A NumPy scalar has a copy written, once the index is right; Python's numbers and lists are no arrays."""
    for x in (np.float64(1), 1.5):
        for i in (0, -1, 3):
            check_same(lambda x, i=i: np.put(x, i, 5.0), x)
            check_same(lambda x, i=i: (x.put(i, 5.0), x), np.float64(1))
    check_same(lambda x: np.put([x[0], x[1]], 0, 5.0), np.ones(2))
    check_same(lambda x: np.put_along_axis(x, np.array([0]), 1.0, 0), np.float64(1))


def test_zero_factors_of_infinities():
    """np.dot adds nothing of them; the derivative by the factor stays."""
    for dtype in "fdFDe":
        x = np.array([[np.inf, 1], [np.nan, 2]]).astype(dtype)
        for a in (x, x[0], x[None], x[0, 0]):
            check_same(lambda a: (np.dot(a, 0), np.dot(0, a), np.dot(a, 2)), a)
    assert grad(lambda s: np.dot(np.ones(3), s).sum())(0.0) == 3


def test_more_that_fresh_draws_found():
    check_same(lambda x: np.linalg.pinv(x), np.zeros((0, 2, 2), int))
    check_same(lambda x, o: np.fft.fft(x, out=o), np.ones(1), np.zeros(3, complex))
    check_same(lambda x, w: np.histogram2d(x, x, weights=w), np.arange(3.0), np.ones(3, complex))
    check_same(lambda x, o: np.amin(x, out=o), np.int8(3), np.zeros((), np.int8))
    check_same(lambda x: np.std(x, axis=-1, dtype=np.int8), np.array([2.5 - 3j]))
    check_same(lambda x, o: x.std(out=o), np.array(3), np.array(0))
    check_same(lambda x: x.conjugate(), 1 + 2j)
    check_same(lambda x: x.repeat(2, axis=-1), np.uint64(3))
    check_same(lambda x: (np.repeat(x, 2, axis=0), np.repeat(x, [2], axis=0)), np.array(1.5))
    check_same(lambda x: np.repeat(x, 2, axis=1), np.array(1.5))  # AxisError
