"""What NumPy's own tests found to differ (`benchmarks/correctness/numpy_tests.py`), a line each."""

import functools
import re

import numpy as np
import pytest
from compare import agree, check_same
from table import check

from wengert import Fallback, jit, vmap
from wengert.backends.numpy import callable_of
from wengert.tracer.common.errors import ConcretizationError, UnsupportedError


class Place:
    def __index__(self):
        return 1


class Places:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, 0])


KEYS = """
x[True], x[False], x[np.True_], x[False, True, ...], x[..., True], x[1, True, :, 2], x[True, [0, 1], True, True, [1], [[2]]]
x[False, [0, 1], ...]  # IndexError
x[i], x[i, 1], x[i, 1, 2], x[i, ..., 1, 2], x[[[0]], i], x[0, 1, i]
x[place], x[place, i, 2], x[places], x[places, i, 2]
x[((1, 0),)], x[((1, 0), (0, 1))], x[[]], x[:, []]
x[..., np.array([True, False, True, True])], x[:, np.array([True, False, True])], x[..., np.array([True, False, True]), :]
x[..., np.array([True, False, True])]  # IndexError
x[[0, 1], [0, 1, 2]]  # IndexError
x[..., ...]  # IndexError
x[[True] * 4]  # IndexError
x[0, 0, 0, 0]  # IndexError
x[[0], [0], [0], [0]]  # IndexError
x["a"]  # IndexError
x[[0.5]]  # IndexError
x[np.zeros(0)]  # IndexError
x[0, np.zeros((0, 2))]  # IndexError
x[np.zeros(0, int)], x[0, np.zeros((0, 2), int)]
x[0.0:, 0.0]  # IndexError
x[0.0:, 0]  # TypeError
"""

MASKS = """
x[m, [1]], x[m, places], x[m, :, places], x[[[0], [1]], :, few], x[:, wide[0]][m, :, [1]], x[m, None, [1]]
x[m, :, 0], x[m, ..., 0], x[0, :, few], x[:, wide[0], :][..., 0], x[None, m, :, 0], x[m, 0, :1], x[wide, 0], x[wide, [2, 1]]
x[true], x[false], x[true, 0], x[..., false], x[0, true, 1], x[0, 0, 0][true], x[m, True, :, [1]], x[m][[1], :, few], x[m][true]
x[few, :, [1]]  # IndexError
x[m, 3, [1]]  # IndexError
"""

FLAT = """
x.flat[3], x.flat[(3,)], x.flat[()], x.flat[...], x.flat[::-5], x.flat[[[1, 2], [3, 4]]], x.flat[True], x.flat[False], x.flat[[True, 5]]
x.flat[x[0, 0].astype(int).flat], x.flat[places]
x.flat[None]  # IndexError
x.flat[1, 2]  # IndexError
x.flat[[True, False]]  # IndexError
x.flat[24]  # IndexError
x.flat[np.ones(3, bool)]  # IndexError
x.flat[m]  # IndexError
x.flat["a"]  # IndexError
"""

NUMBERS = """
[1, 2] * n, n * (1, 2), "ab" * n, n == "a", n != None
[1, 2] * v  # TypeError
v * (1, 2)  # TypeError
(1, 2) * np.True_  # TypeError
len(v)  # TypeError
x == None, None != x, x == "a", v == "a", x[0, 0, 0] == None, i == None
np.argwhere(v), np.argwhere(i == 0), np.argwhere(i)
np.isclose(s, 2, atol=0, rtol=0.4999999999999999), np.isclose(s, 2.0), np.isclose(2, s, atol=1.0)
np.correlate(x[0, 0], x[0, 1], 0), np.convolve(x[0, 0], x[0, 1], "same")
np.correlate(x[0, 0], x[0, 1], None)  # TypeError
np.convolve(x[0, 0], x[0, 1], None)  # TypeError
np.convolve(x[0, 0], x[0, 1], 3)  # ValueError
"""


UFUNCS = """
abs(z), abs(-z)
np.power(zero, 0.5), np.power(zero, 0), np.power(zero, -1), np.power(zero, 1j), np.power(zero, -1 + 0.2j), np.power(zero, [-0.5, -2, 0, 3])
np.sign(c), np.sign(far), np.sign(c * 1e200), np.sign(zero)
np.power(zero, c), np.power(c, zero), np.float_power(zero, c), c**2, c**-1, zero**-1, c**0
np.add.reduceat(x[0], [], axis=0), np.add.reduceat(x[0], [0, 2])
np.delete(c, i), np.delete(c, -i), np.delete(x, i, 1), np.delete(c, c == 0), np.delete(x[0], x[0, 0] > 1, 1), np.delete(c, i.reshape(1))
np.delete(c, i + 5)  # IndexError
np.interp([0.0, 0.5, 1.5, 2.5, 4.0, np.nan], [0, 1, 2, 3], half), np.interp(1.5, [0, 1, 2, 3], half[::-1])
np.interp(0, x[0, 0], x[0, 1]), np.interp(1.5, x[0, 0], x[0, 1]), np.interp(0, x[0, 0], x[0, 1], period=2.0)
np.quantile(x[0] > 1, x[0, 0] > 1), np.quantile(x[0, 0], True)
1j * v, z + v, v * 1j, z / v, z - v, 1j * s, z == v, 1j ** v
"""


@pytest.mark.parametrize("table", [KEYS, MASKS, FLAT, NUMBERS, UFUNCS], ids=["keys", "masks", "flat", "numbers", "ufuncs"])
def test_tables(table):
    numbers = {"n": 2, "v": np.float64(2.5), "p": 0.5, "s": np.float32(1), "inf": np.inf, "z": 2 - 3j}
    i, nan = np.inf, np.nan
    numbers["far"] = np.array([complex(*p) for p in ((i, 0), (-i, 3), (0, i), (2, -i), (i, i), (nan, 1), (i, nan), (nan, -i))])
    numbers["half"] = np.array([0, complex(1, i), complex(i, 3), complex(i, -i)])
    numbers |= {"zero": np.array([0j]), "c": np.array([1.5 - 2j, 0, -1, 2j])}
    numbers |= {"true": np.array(True), "false": np.False_, "m": np.array([True, True]), "few": np.array([True, False, True, True])}
    numbers["wide"] = np.array([[True, False, True], [False] * 3])
    check(table, x=np.arange(24.0).reshape(2, 3, 4), i=np.array(1), place=Place(), places=Places(), **numbers)


def test_stores():
    def fill(key, x):
        x[key] = 70
        return x

    def flat(key, x):
        x.flat[key] = 70
        return x

    x = np.arange(24.0).reshape(2, 3, 4)
    for key in (True, False, (0, True, [1, 2]), (Ellipsis, True), ((1, 0),), [], Place(), (Place(), [1])):
        check_same(functools.partial(fill, key), x)
    for key in (5, (5,), (), None, (1, 2), True, False, [[1, 2], [3, 4]], np.array([3, 4]), Ellipsis):
        check_same(functools.partial(flat, key), x)
    mask, wide, true = np.array([True, False]), np.arange(8.0).reshape(2, 4) % 3 > 1, np.True_
    for store in (
        lambda x, m: x.__setitem__((m, [2]), 7.0),
        lambda x, m: x.__setitem__((m, slice(None), 0), [[1.0, 2.0, 3.0]]),
        lambda x, m: x.__setitem__((m, slice(None), [2, 1]), x[m, :, :1]),
        lambda x, m: x.__setitem__((wide[m][0], slice(None), m), 0.0),  # IndexError
    ):
        check_same(lambda x, m, store=store: store(x, m), x, mask)
    for other in (np.array([True, True, False]), np.array([0, 1, 2]), [0, 1, 1], [0, 5]):
        check_same(lambda x, m, other=other: x[m, other], x, np.array([True, True]))  # IndexError but for the first
    for key in (..., (0, ...), (slice(None), 1)):
        check_same(lambda x, b, key=key: x[key].__setitem__(b, x[key] * 2), x, true)
    words = "value array of shape (9,) could not be broadcast to indexing result of shape (2,1,4)"
    with pytest.raises(ValueError, match=re.escape(words)):
        jit(lambda x, v: x.__setitem__((slice(None), [1]), v))(x, np.ones(9))
    with pytest.raises(IndexError, match="flat iterator along axis 0; size of axis is 24 but size of corresponding boolean axis is 2"):
        jit(lambda x, m: x.flat[m])(x, mask)
    with pytest.raises(UnsupportedError, match="a single bool"):
        jit(lambda x, b: x[b, [0, 1]])(x, true)
    with pytest.raises(UnsupportedError, match="floats as indices"):
        jit(lambda x: flat([1.0], x))(x)


def test_eigenvalues_and_residuals_are_as_this_calls_data_have_them():
    turn, stretch = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([[2.0, 1.0], [1.0, 3.0]])
    f, g, h = jit(np.linalg.eigvals), jit(np.linalg.eig), jit(lambda a, b: np.linalg.lstsq(a, b, rcond=None))
    for a in (turn, stretch, turn, np.stack([stretch, turn]), np.stack([stretch, stretch]), np.ones((3, 0, 0))):
        assert f(a).dtype == np.linalg.eigvals(a).dtype
        assert [v.dtype for v in g(a)] == [v.dtype for v in np.linalg.eig(a)]
    for a in (np.ones((3, 2)), np.arange(6.0).reshape(3, 2), np.ones((3, 0)), np.ones((2, 3))):
        b = np.arange(float(len(a)))
        want = np.linalg.lstsq(a, b, rcond=None)
        assert [(v.shape, v.dtype) for v in h(a, b)] == [(v.shape, v.dtype) for v in want]


def test_a_copy_that_would_be_a_view_of_an_argument_in_column_order():
    f = jit(lambda x: x.reshape((3, 2), order="F"))
    x = np.arange(6.0).reshape(2, 3)
    assert not np.shares_memory(f(x), x)
    x = np.asfortranarray(x)
    with pytest.warns(Fallback, match="row-major"):
        assert np.shares_memory(f(x), x)


def test_einsum_casts_into_out_as_it_is_told():
    def f(x, y, out):
        return np.einsum("ij,j", x, y, out=out, dtype="f8", casting="unsafe")

    check_same(f, np.full((4, 1), 3, np.int8), np.ones(1, np.int8), np.zeros(4, np.int8))


def test_a_ufunc_made_of_a_function_is_refused_aloud():
    with pytest.raises(UnsupportedError, match="not captured"):
        jit(np.frompyfunc(lambda a, b: a + b, 2, 1).reduce)(np.ones((2, 2)))


def test_quantiles_and_bins_in_lists():
    x = np.arange(12.0).reshape(3, 4)
    check_same(lambda x, p: (np.quantile(x, [0.5, p]), np.percentile(x[0], [50, p])), x, 0.25)
    check_same(lambda x, p: np.quantile(x, [0.5, p]), x, 7.5)  # ValueError
    check_same(lambda x, z: np.digitize([1, 2, 3], [1, 2, z]), x, 2 - 3j)  # TypeError


def test_complex_of_parts():
    def f(p, inf, z):
        return complex(0, inf), complex(inf, p), complex(p, inf), complex(inf, -inf), complex(z, p), complex(p, z), complex(z, z), complex(z)

    check_same(f, 0.5, np.inf, 2 - 3j)


def test_generated_numpy_takes_one_element_of_a_vector():
    x = np.linspace(0.0, 1.0, 5)
    func = jit(lambda x, y: np.interp(0.3, x, y)).ir(x, x * 2)
    assert callable_of(func)(x, x * 2)[0] == np.interp(0.3, x, x * 2)


def test_methods_of_ufuncs_take_lists():
    def f(p, v, x):
        return np.maximum.reduce([p, v]), np.logaddexp2.reduce([p, v]), np.add.accumulate([p, v, 1.0]), np.add.outer((p, v), x)

    check_same(f, 0.5, np.float64(2.5), np.ones(3))


def test_a_numpy_integer_may_be_a_size():
    f = jit(lambda n, x: np.resize(x, n))
    for n in (np.int32(5), np.int32(2), np.int32(5)):
        assert (f(n, np.arange(3.0)) == np.resize(np.arange(3.0), n)).all()


def test_windows_identities_and_counts_have_lengths_by_value():
    x = np.arange(3.0)
    windows = np.hanning, np.hamming, np.blackman, np.bartlett, lambda n: np.kaiser(n, 2.5)
    f = jit(lambda n, x: [window(n) for window in windows] + [x * 2])
    for n in (np.int8(5), np.uint16(7), np.int8(5), 4, 4.0, np.float32(3), np.int8(0), np.int64(1)):
        for got, window in zip(f(n, x), windows):
            np.testing.assert_allclose(got, window(n), rtol=1e-13, err_msg=f"{window} {n!r}")
    check_same(lambda n, x: (np.eye(n) * x, np.tri(n, k=n)), np.int64(3), x)
    check_same(lambda n: np.eye(n), 3.0)  # TypeError
    check_same(lambda x: np.hanning(x[2] + 3), x)
    with pytest.raises(ConcretizationError, match="a shape depends on data"):
        vmap(lambda x: np.hanning(x))(x)


@pytest.mark.as_numpy
def test_counts_are_as_long_as_the_data_say():
    f, g = jit(np.bincount), jit(lambda x, w: np.bincount(x % 6, w) + 1)
    for x in ([1, 2], [7, 7, 0], [0], [300], [5], [], [6, 6]):
        x = np.array(x, np.int64)
        agree(f(x), np.bincount(x), 0)
        agree(g(x, x * 0.5), np.bincount(x % 6, x * 0.5) + 1, 0)
    f = jit(lambda x: np.bincount(x))
    for k in range(500, 1000, 9):
        assert len(f(np.array([k]))) == k + 1
    assert f.explain().splitlines()[0].endswith(": 2 trace(s)")  # of 512 and of 1024
    check_same(lambda x: np.bincount(x), np.array([1, 2, 255], np.uint8))
    check_same(lambda x: np.bincount(x), np.array([3, -1]))  # ValueError
    with pytest.raises(UnsupportedError, match="depends on data"):
        f(np.array([2**40]))


@pytest.mark.as_numpy
def test_repeats_are_as_many_as_the_data_say():
    f = lambda x, n: (np.repeat(x, n), np.repeat(x[:, None] * 2, n, 0), x.repeat(n) + 1)
    g = jit(f)
    for n in ([1, 2, 0], [0, 0, 0], [9, 0, 7], [100, 3, 2], 3):
        check_same(f, np.arange(3.0), np.array(n))
        agree(g(np.arange(3.0), np.array(n)), f(np.arange(3.0), np.array(n)), 0)
    for n in ([1, -1, 0], [1, 2], [0.5, 1, 1]):
        check_same(f, np.arange(3.0), np.array(n))  # ValueError, ValueError, TypeError


def test_places_to_delete_are_integers_and_a_number_has_no_ends_to_trim():
    for places in (np.array([1.0, 2.0]), np.array([]), np.array(1.0)):
        check_same(lambda x, i: np.delete(x, i), np.arange(3), places)  # IndexError
    check_same(lambda x: np.trim_zeros(x, axis=None), np.array(1.0))


@pytest.mark.parametrize("func", [False, True])
def test_signs_of_nan_and_zero(func):
    def signs(x, zero, one):
        x[::2] = -np.nan
        clipped = np.clip(np.array([-0.0, 0.0, 2.0, -1.0], x.dtype) * one, zero, one)
        return np.signbit(x), np.signbit(clipped), clipped, np.array([complex(-0.0, 1), complex(np.inf, np.nan)]) * one

    for kind in (np.float16, np.float32, np.float64):
        arguments = np.ones(4, kind), kind(0), kind(1)
        want = signs(*(a.copy() for a in arguments))
        got = callable_of(jit(signs).ir(*arguments))(*arguments) if func else jit(signs)(*arguments)
        for w, g in zip(want, got):
            assert np.array_equal(w, g, equal_nan=w.dtype.kind in "fc") and (np.signbit(w.real) == np.signbit(g.real))[~np.isnan(w)].all()
    check_same(lambda x, low, high: np.clip(x, low, high), np.arange(-2, 3), np.float16(-0.0), np.float16(0.0))


@pytest.mark.as_numpy
def test_weighted_quantiles_are_compared_in_the_dtype_of_q():
    x, w = np.arange(5.0), np.ones(5)
    f = lambda x, w, q: np.quantile(x, q, method="inverted_cdf", weights=w)
    for q in (np.array([0.2, 0.4, 0.6], np.float32), np.float32(0.4), np.array([0.2, 0.4]), 0.4):
        check_same(f, x, w, q)
        check_same(f, x.astype(np.float32), w, q)
    g = jit(f)
    for v in (x, np.where(x > 2, np.nan, x), x):  # an array for a number, a scalar for NaN
        assert type(g(v, w, 0.5)) is type(f(v, w, 0.5))


def test_einsum_gives_its_optimized_last_product_with_the_casts_of_matmul():
    def f(text, options, x, out):
        return np.einsum(text, *[x] * (text.count("i,") + 1), out=out, **options)

    for path in (False, True, "optimal"):
        for text, kind, options in (("i,i->", int, {}), ("i,i,i->", int, {}), ("i,i->i", int, {}), ("i,i->", np.float32, {"dtype": "f8"})):
            x, out = np.arange(7.0), np.zeros(7 if text[-1] == "i" else (), kind)
            check_same(functools.partial(f, text, {"optimize": path, **options}), x, out)
    check_same(lambda x: np.einsum(x, [0, 52], x, [52, 2], [0, 2]), np.ones((2, 2)))  # ValueError


def test_choose_casts_into_out_as_it_likes():
    check_same(lambda i, x, out: i.choose((x, -x), out=out), np.array([0, 1, 1]), np.arange(3, dtype=np.int32), np.zeros(3))


def test_no_coordinates_are_within_any_array():
    check_same(lambda i, j: np.ravel_multi_index([i, j], (3, 0)), np.array(5), np.zeros((0, 1), int))


def test_numpys_complex_numbers_in_real_arrays_are_refused_under_a_mask_too():
    def f(x, m, z):
        x[m] = z
        return x

    x = np.zeros(3)
    for z in (np.array([1 + 2j]), np.complex64(1)):
        with pytest.raises(UnsupportedError, match="complex value"):
            jit(f)(x, x == 0, z)
    check_same(f, x, x == 0, 2j)  # TypeError


def test_more_axes_than_are_captured():
    with pytest.raises(UnsupportedError, match="33 axes"):
        jit(np.negative)(np.ones([1] * 33))


def test_what_is_looked_up_by_a_traced_number():
    assert jit(lambda x: {1.0: 2}[x])(1.0) == 2
    with pytest.raises(ConcretizationError):
        jit(np.einsum)(np.ones((1, 1)), np.array([0, 0]))


def test_upper_cholesky_factors_have_no_negative_zeros():
    a = np.array([[4, 1 + 2j], [1 - 2j, 9]])
    f = lambda a: np.linalg.cholesky(a, upper=True)
    for x in (a, np.triu(a), a.astype(np.complex64)):
        check_same(f, x, rtol=1e-14)
        assert not np.signbit(jit(f)(x).imag).any()


def a_row(f):
    def changed(x):
        y = f(x)
        y[0] = 50.0
        return y

    return changed


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
@pytest.mark.parametrize("f", [
    np.ravel, np.ascontiguousarray, lambda x: x.ravel("K"), lambda x: x.ravel("F"), lambda x: x[::2].ravel(), lambda x: x[::-1].ravel("A"),
    lambda x: x[..., :1].ravel(), lambda x: x[..., :1].ravel("F"), lambda x: x.T.ravel("K"), lambda x: np.asarray(x, order="F"),
    lambda x: x[::-1].reshape(-1), lambda x: np.require(x, None, "CA"), lambda x: np.require(x[::2], None, "F"), lambda x: np.require(x, None, "W"),
])  # fmt: skip
def test_what_does_not_lie_in_one_run_is_copied(f):
    unaligned = lambda: np.arange(97, dtype=np.int8)[1:].view(np.float64)
    views = [lambda x: x, lambda x: x[::2], lambda x: x[::-1], *(lambda x, v=v: v(x.reshape(3, 4)) for v in (np.asarray, np.transpose, np.flipud))]
    f, g = a_row(f), jit(a_row(f))
    for made in (lambda: np.arange(12.0), unaligned):
        for view in views:
            x, z = view(made()), view(made())
            want, got = f(x), g(z)
            assert np.array_equal(got, want, equal_nan=True) and np.array_equal(z, x, equal_nan=True)
            assert np.shares_memory(got, z) == np.shares_memory(want, x)


def test_a_copy_in_another_order_is_no_view_of_what_is_written_later():
    def f(x):
        y = x.T.reshape(-1)
        x[0, 0] = 100.0
        return y.sum()

    x, z = (np.asfortranarray(np.ones((2, 3))) for _ in range(2))
    with pytest.warns(Fallback, match="row-major"):
        assert jit(f)(z) == f(x)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_flags_and_strides_are_those_of_the_argument():
    f = lambda x: (x.flags.c_contiguous, x.flags.f_contiguous, x.flags.aligned, x.strides, np.zeros(3).flags.owndata)
    g = jit(f)
    for x in (np.arange(6.0), np.arange(6.0)[::2], np.arange(17, dtype=np.int8)[1:].view(np.float64)):
        assert g(x) == f(x)


def test_a_need_that_np_require_does_not_know():
    check_same(lambda x: np.require(x, None, ["no"]), np.ones(3))  # KeyError
    check_same(lambda x: np.require(x, None, ["C", "F"]), np.ones(3))  # ValueError
    with pytest.raises(UnsupportedError, match="OWNDATA"):
        jit(lambda x: np.require(x, None, "O"))(np.ones(3))


def test_correlations_with_a_longer_one_have_no_negative_zeros():
    x, y = np.array([1, 2, 3 + 1j]), np.array([-1, -2j, 3 + 1j, 1])
    got, want = jit(np.correlate)(x, y, "full"), np.correlate(x, y, "full")
    agree(got, want)
    assert np.array_equal(np.signbit(got.imag), np.signbit(want.imag))
    for mode in ("same", "valid"):
        check_same(lambda x, y, mode=mode: np.correlate(x, y, mode), x, y)


@pytest.mark.as_numpy
def test_types_called_with_lists():
    def f(p, i, z):
        return np.float64([p, 10]), np.complex64((p, z)), np.int32([[p], [i]]), np.bool_([i, 0]), np.float32([i, p])

    check_same(f, 0.5, np.int64(3), 2 - 3j)
    check_same(lambda p: np.int8([300, p]), np.int8(1))  # OverflowError
    for x in (300, -1, 300.7, np.nan, 5, np.int64(300), np.int64(-1), np.float32(-1.5), np.float64(7.9)):
        for kind in (np.int8, np.uint8, np.int64):
            check_same(lambda x, kind=kind: np.array([[1, 2], [x, x]], kind), x)  # OverflowError, ValueError, or what fits


def test_subscripts_of_einsum_in_arrays():
    check_same(lambda x: np.einsum(x, np.array([0, 0])) + np.einsum(x, np.array([1, 0]), np.array([0, 1])), np.arange(9.0).reshape(3, 3))
    check_same(lambda x: np.einsum_path(x, np.array([0, 1]), x, [1, 2], np.array([0, 2]))[0], np.ones((3, 3)))
    with pytest.raises(ConcretizationError, match="np.einsum takes subscripts"):
        jit(np.einsum)(np.ones((1, 1)), np.array([0, 0]))


def test_places_to_insert_at_are_integers():
    for places in (np.array([1.0, 2.0]), np.array([]), np.array([1.0]), np.array(1.0)):
        check_same(lambda x, i: np.insert(x, i, 5.0), np.arange(3.0), places)  # IndexError, TypeError


def test_a_view_is_another_object_and_nothing_to_squeeze_is_the_same():
    x = np.arange(6.0)
    views = [lambda x: x.view(), lambda x: x.view(float), lambda x: x.view(np.ndarray), lambda x: x[...]]
    for f in (np.squeeze, lambda x: np.squeeze(x, axis=()), *views):
        for view in (x, x.reshape(1, 6), x.reshape(2, 3)[:, :1]):
            got, want = jit(f)(view), f(view)
            assert (got is view) == (want is view) and np.shares_memory(got, view)
            agree(got, want)
    s = np.float64(3.0)
    check_same(lambda s: (np.squeeze(s), s.squeeze(), s.view()), s)


def test_complex_numbers_of_parts_keep_the_signs_of_zeros():
    f = jit(lambda p: (complex(0, p), complex(p, 0), complex(-0.0, p), complex(p, -0.0)))
    for p in (np.inf, 0.0, -0.0, 1.0):
        for got, x, y in zip(f(p), (0, p, -0.0, p), (p, 0, p, -0.0)):
            assert str(got) == str(complex(x, y))


def test_numbers_beside_arrays_under_the_narrowest_casting():
    for ufunc in (np.maximum, np.divide, np.ldexp, np.less):
        for x in (np.ones(2), np.ones(2, np.int64), np.ones(2, np.float32)):
            for number in (1.0, 1, 1j):
                check_same(lambda x, u=ufunc, n=number: u(x, n, casting="equiv"), x)  # TypeError, for most


def test_a_step_of_quantiles_must_fit_into_out():
    x = np.linspace(0, 1, 6).reshape(2, 3)
    for kind in (np.int64, np.float32, np.complex128):
        check_same(lambda x, out: np.quantile(x, 0.5, axis=0, out=out), x, np.zeros(3, kind))
        check_same(lambda x, out: np.nanpercentile(x, [50, 20], axis=1, out=out, method="nearest"), x, np.zeros((2, 2), kind))


def test_arguments_that_decide_nothing_are_still_looked_at():
    check_same(lambda b: np.packbits(b, axis=()), np.array(True))  # TypeError
    check_same(lambda p: np.polyder(p, m=0), np.ones((2, 2)))
    check_same(lambda p: np.polyder(p, m=0), np.array(1.0))  # TypeError


@pytest.mark.skipif(np.ulonglong is np.uint64, reason="one type")
def test_a_number_that_is_no_argument_of_xla():
    with pytest.raises(UnsupportedError, match="np.uint64"):
        jit(lambda x: x + 1)(np.ulonglong(5))


@pytest.mark.as_numpy
def test_einsum_adds_up_in_the_dtype_of_out():
    for kind in (np.float32, np.int64, np.complex128):
        for x in (np.array([[True, True], [True, False]]), np.full((2, 2), 100, np.int8)):
            check_same(lambda x, out: np.einsum("ij->", x, out=out), x, np.zeros((), kind))
            check_same(lambda x, out: np.einsum("ij,ij->i", x, x, out=out), x, np.zeros(2, kind))
            check_same(lambda x, out: np.einsum("ij,jk->ik", x, x, out=out, optimize=True), x, np.zeros((2, 2), kind))


def test_words_about_orders_and_axes():
    for order in ("X", "CF", "f", None, 3):
        check_same(lambda x, o=order: x.astype(bool, order=o), np.float64(3.0))
        for x in (np.ones((2, 2)), np.array(True), np.zeros((0, 3))):
            check_same(lambda x, o=order: x.flatten(order=o), x)
            check_same(lambda x, o=order: np.ravel(x, o), x)
    for f in (np.packbits, np.unpackbits):
        for axis in (5, -2, 0, -1):
            check_same(lambda x, f=f, a=axis: f(x, axis=a), np.array(3, np.uint8))
    for ord in (None, 1, np.inf, 0):
        check_same(lambda x, o=ord: np.linalg.norm(x, o, axis=0), np.array(3.0))


def test_fft_axes_that_are_none():
    for axes in ("x", 0, (0, 0, 1), (0.5,), (5, 6), [-1, -2]):
        for s in (None, (4, 4), (4,)):
            check_same(lambda x, a=axes, s=s: np.fft.ifft2(x, s=s, axes=a), np.ones((1, 4), complex))


def test_nothing_of_nothing():
    for shape, reps in (((2, 0), -1), ((2, 0), (2, -1)), ((0, 2), (2, -1)), ((0, 2), (3, 1, 2)), ((2, 2), -1)):
        check_same(lambda x, r=reps: np.tile(x, r), np.zeros(shape))
    check_same(lambda c, x: np.select([c], [x], default=10**20), np.zeros((2, 0), bool), np.zeros((2, 0), int))
    check_same(lambda x, v: np.insert(x, slice(0, 2), v), np.zeros((0, 3)), np.zeros((0, 3)))
    for empty in (np.zeros(0), np.zeros((1, 0)), np.zeros((0, 1))):
        check_same(lambda x, v: np.insert(x, [], v), np.zeros(3), empty)


def test_exact_comparisons_under_any_casting():
    for casting in ("no", "equiv", "safe"):
        check_same(lambda x, c=casting: (np.equal(x, 10**12, casting=c), np.less(x, -(10**30), casting=c)), np.array([1, 2], np.uint16))


def test_more_of_numbers_and_casts():
    check_same(np.squeeze, 2.0 + 1j)
    check_same(lambda x, v: (np.put(x, [0, 2], v), x), np.zeros(3, np.int32), np.array([2**40 + 3, -(2**35)]))
    check_same(lambda x, w: np.cov(x, fweights=w, dtype=np.float32), np.linspace(0, 1, 12).reshape(3, 4).astype(np.float32) ** 2, np.arange(4))


@pytest.mark.as_numpy
def test_one_number_is_no_array():
    for x in (-0.5, np.float64(-0.5), np.float32(np.nan), np.array(-0.5), 3):
        for where in (np.array(False), np.array(True)):
            for f in (np.nanmin, np.nanmax):
                check_same(lambda x, w, f=f: f(x, initial=1, where=w), x, where)
        check_same(lambda x: (np.median(x, keepdims=True), np.median(x), np.nanmedian(x, keepdims=True)), x)
        check_same(lambda x: (np.quantile(x, 0.5, keepdims=True), np.percentile(x, [20], keepdims=True), np.quantile(x, 0.5)), x)
    check_same(lambda x: np.linalg.vector_norm(x, axis=1.0), np.ones((2, 3)))
    check_same(lambda x: np.linalg.vector_norm(x, axis=1.0, keepdims=True), np.ones((2, 3)))  # TypeError


def test_complex_numbers_are_rounded_part_by_part():
    z = np.array([4 - 3.25j, complex(1, np.inf), complex(np.nan, 15.5), complex(-0.0, -0.0)])
    for decimals in (0, 1, -1):
        check_same(lambda z, d=decimals: (np.round(z, d), z[1].round(d)), z)


def test_a_number_that_does_not_fit_comes_before_the_cast():
    check_same(lambda x: np.add(x, -200, dtype=np.int8), np.zeros((0, 3), np.float16))  # OverflowError
    check_same(lambda x: np.heaviside(x, -1, dtype=np.uint8), np.zeros(3, np.float32))  # no loop


@pytest.mark.as_numpy
def test_real_coefficients_of_complex_roots():
    f = jit(np.poly)
    for roots in ([2 + 0j], [1 + 2j, 1 - 2j], [1 + 2j, 3.0]):
        for kind in (complex, np.complex64):
            agree(f(np.array(roots, kind)), np.poly(np.array(roots, kind)), 1e-6)


@pytest.mark.as_numpy
def test_values_are_stored_alike_everywhere():
    stores = (
        lambda a, v: np.put_along_axis(a, np.zeros((a.shape[0], 1), int), v, 1),
        lambda a, v: a.__setitem__(slice(None), v),
        lambda a, v: a.__setitem__(np.zeros(0, int), v),
        lambda a, v: np.putmask(a, a > 0, v),
        lambda a, v: np.put(a, [0], v),
    )
    for f in stores:
        for a in (np.ones((2, 3), np.uint8), np.ones((2, 3), np.int16)):
            for value in (-1.5, 1.5, np.nan, 70000, [-1.5], [2.5], [70000.0], [70000]):
                check_same(lambda a, v=value, f=f: f(a, v), a)
            for value in (-1.5, 1.5):
                check_same(lambda a, p, f=f: (f(a, [p]), a), a, value)


def test_products_of_numbers_and_counts_of_truth():
    check_same(lambda x, y: np.linalg.vecdot(x, y, axis=None), np.array(1.0), np.array(2.0))
    check_same(lambda x, y: np.linalg.vecdot(x, y, axis=()), np.array(1.0), np.array(2.0))
    check_same(lambda x, out: np.matmul(x, x[:, None][:1], out=out), np.ones(1), np.zeros(3))  # ValueError
    check_same(lambda x, out: np.matmul(x, x, out=out), np.eye(2), np.zeros((3, 2, 2)))
    check_same(lambda x, w, out: np.nanmax(x, initial=-3, where=w, out=out), -1.5, np.array(False), np.zeros(()))
    for where in (np.array([[True, False]]), np.array([[True, True]])):
        check_same(lambda x, w: np.power.reduce(x, initial=2, where=w), np.array([[2, -1], [1, 3]]), where)
    check_same(lambda x: np.fmin(x, 10**20, dtype=bool), np.float16(1))
    for bins in (2, [0.0, 0.5, 4.0]):
        for n in (0, 3):
            check_same(lambda x, w, b=bins: np.histogram(x, b, weights=w), np.ones(n), np.ones(n, bool))


def test_more_axes_than_the_array_has():
    check_same(lambda y, x: np.trapezoid(y, x, axis=-1), np.ones(1), np.ones((2, 0)))
    check_same(lambda y, x: np.trapezoid(y, x, axis=0), np.ones(3), np.ones((3, 2)))
    for order in "CFAK":
        check_same(lambda x, o=order: (x.flatten(order=o), x.ravel(order=o)), np.uint64(3))
    check_same(lambda x, w: np.histogram2d(x, x, weights=w), np.zeros(0), np.ones(1, complex))


def test_no_element_is_looked_up():
    for shape, axis in (((0, 3), 1), ((3, 0), 0), ((2, 0, 3), 2), ((2, 3, 0), 1), ((0,), 0)):
        for out in (False, True):
            made = np.zeros([1 if d == axis else n for d, n in enumerate(shape)]) if out else None
            check_same(lambda x, o, a=axis: np.take(x, [3], axis=a, out=o), np.zeros(shape), made)
            check_same(lambda x, o, i, a=axis: np.take(x, i, axis=a, out=o), np.zeros(shape), made, np.array([3]))
    check_same(lambda x: np.interp(x, [], [1, 2, 3]), 1 + 1j)  # TypeError
    check_same(lambda x: np.linalg.vecdot(x, x, axis=None), np.ones(3))  # TypeError


@pytest.mark.as_numpy
def test_copies_of_numbers_under_every_rule():
    for kind in (float, np.float32, int, np.int8, bool, complex):
        for value in (300, 1.0, 1j, 1, True):
            for casting in ("equiv", "safe", "same_kind"):
                check_same(lambda x, v=value, c=casting: np.copyto(x, v, casting=c), np.zeros(1, kind))


def test_outputs_of_another_shape():
    for shape in ((2, 3), (3,), (2,), (1,)):
        check_same(lambda x, c, out: x.compress(c, out=out), np.ones(3), np.array([1, 0, 1]), np.zeros(shape))

    check_same(lambda x, out: np.fft.ihfft(x, out=out), np.array([2]), np.ones((2, 3), complex))  # ValueError
    check_same(lambda x: x.copy(order="X"), np.int8(1))
    check_same(lambda x: np.cumulative_prod(x, axis=(-1, 0), include_initial=True), np.ones((3, 2)))
    for n in (0, 1):
        check_same(lambda x, w: np.histogram2d(x, x, bins=[2, 3], weights=w), np.ones(n), np.ones(2))


@pytest.mark.as_numpy
def test_squares_of_booleans_are_bytes():
    for x in (np.array([True, False]), np.array(True), np.bool_(True), np.zeros(0, bool)):
        for n in (2, 1, 3, 2.0, np.int64(2), True):
            check_same(lambda x, n=n: (x**n, np.power(x, n)), x)


def test_reductions_begin_once():
    for x in (np.zeros(0, np.float16), np.array([True]), np.array([1.0, 0.0, 2.0])):
        for start in (300, 0):
            check_same(lambda x, i=start: np.not_equal.reduce(x, dtype=bool, keepdims=True, initial=i), x)
            check_same(lambda x, m, i=start: np.not_equal.reduce(x, dtype=bool, initial=i, where=m), x, x > 0)
    check_same(lambda x: np.cumulative_prod(x, axis=(-1,), include_initial=True), np.ones(3))
    check_same(lambda x: np.cumulative_sum(x, axis=-1, include_initial=True), np.ones((2, 3)))
    check_same(lambda x, w: np.nanmin(x, axis=-1, initial=-3, where=w), 1 + 1j, np.array(False))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_complex_number_is_looked_up_by_its_real_part():
    for x in (np.complex128(1 + 2j), np.complex64(1), np.array(1j), np.array([1j]), 1 + 1j):
        check_same(lambda x: np.interp(x, [0.0, 1.0, 2.5], [1j, 2, 3], right=7), x)


@pytest.mark.as_numpy
def test_ends_of_lists():
    for trim in ("fb", "f", "b"):
        for values in ([0.0, 3.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0, 1.0]):
            check_same(lambda x, t=trim: np.trim_zeros([x[0], x[1], x[2], x[3], x[4]], t), np.array(values))
            check_same(lambda x, t=trim: np.trim_zeros((x[0], x[1]), t), np.array(values))


def test_a_reduction_without_identity_leaves_a_number_as_it_is():
    for ufunc in (np.hypot, np.gcd, np.lcm):
        x = np.array([[-3.0, 2.0]]) if ufunc is np.hypot else np.array([[-3, 2]])
        check_same(lambda x, u=ufunc: (u.reduce(x, initial=None), u.reduce(x), u.reduce(x, axis=1, initial=None)), x)


def test_convolutions_meet_nothing_beyond_their_ends():
    def both(x, w):
        return [f(x, w, mode) for f in (np.convolve, np.correlate) for mode in ("full", "same")]

    rng = np.random.default_rng(0)
    for n, m in ((5, 3), (40, 36), (3, 6), (4096, 4), (5000, 1)):
        compiled = jit(both)
        for i, odd in ((0, np.inf), (-1, np.nan), (0, 1.0)):
            x, w = rng.normal(size=n), rng.normal(size=m)
            (w if m < n else x)[i] = odd
            agree(compiled(x, w), both(x, w))


def test_a_quantile_that_is_infinite_is_no_integer():
    for x in (np.array([1.0, np.inf]), np.array([1.0, 7.0])):
        for kind in (np.int16, float):
            check_same(lambda x, out: np.nanquantile(x, 1, out=out), x, np.zeros((), kind))


def test_complex_numbers_of_python_have_no_order():
    for z in (1 + 2j, np.complex128(1 + 2j), np.array(1 + 2j)):
        check_same(lambda z: z < 2, z)
        check_same(lambda z: 2.0 >= z, z)
        check_same(lambda z: z == 2, z)
        check_same(lambda z: z > np.float64(2), z)


def test_rounding_of_booleans():
    for decimals in (-1, 0, 1):
        for out in (bool, np.int8, np.float16, np.float32, np.float64):
            check_same(lambda x, out, d=decimals: np.round(x, decimals=d, out=out), np.array([True, False]), np.zeros(2, out))
        check_same(lambda x, d=decimals: np.round(x, d), np.array([True, False]))


def test_a_zero_times_one_infinity():
    for kind in (float, complex, np.float32):
        for shape in ((), (1,), (1, 1), (2,), (2, 2)):
            check_same(lambda x, y: (x.dot(y), np.dot(y, x)), np.array(0, kind), np.full(shape, np.inf, kind))


@pytest.mark.as_numpy
def test_common_multiples_that_wrap_are_taken_in_turn():
    rng = np.random.default_rng(2)
    for kind in (np.uint8, np.int8, np.int64):
        for shape in ((4,), (7,), (3, 5)):
            x = rng.integers(np.iinfo(kind).min + 1, np.iinfo(kind).max, shape).astype(kind)
            check_same(lambda x: (np.lcm.reduce(x), np.lcm.reduce(x, axis=-1, keepdims=True), np.lcm.accumulate(x)), x)
            check_same(lambda x: np.lcm.reduce(x, axis=None, initial=6), x)
    check_same(lambda x: np.lcm.reduce(x, initial=1, where=x > 2), np.array([4, 6, 1, 10]))


def test_exponents_are_asked_where_numpy_computes():
    """Under where=, and of a selection by what it selects: a negative exponent that no element meets is no mistake."""
    i, x = np.array([-3, 2]), np.array([1.5, 2])
    for f in (
        lambda i, x: i[x > 5] ** i[0], lambda i, x: i[x > 1] ** i[0], lambda i, x: np.zeros(0, int) ** i[0],
        lambda i, x: np.zeros(2, int) ** i[x > 5].sum(),
        lambda i, x: np.power(i, i, where=np.array([False, True]), out=np.zeros(2, int)),
        lambda i, x: np.power(i, i, where=x < 2, out=np.zeros(2, int)),
        lambda i, x: np.power(i, np.int64(-1), where=x > 5, out=np.zeros(2, int)), lambda i, x: np.power(i, -1, where=x > 1, out=np.zeros(2, int)),
    ):  # fmt: skip
        check_same(f, i, x)
    for exponent in (lambda y: -1, lambda y: y[0]):
        for limit in (1, 5):

            def raised(i, x, exponent=exponent, limit=limit):
                y = i.copy()
                y[x > limit] **= exponent(y)
                return y

            check_same(raised, i, x)


def test_lists_with_ints_beyond_64_bits():
    """Between 2**63 and 2**64 such an int is uint64, beside others float64, as NumPy has it; beyond that arrays hold objects, and are refused."""
    x = np.array([1, 2, 3], np.int8)
    for f in (
        lambda x: np.array([int(x[0]), 2**63]), lambda x: np.array([x[0], 2**63, 2**64 - 1]), lambda x: np.array([float(x[0]), 2**63]),
        lambda x: np.array([bool(x[0]), 2**63]), lambda x: np.prod([int(x[0]), 2**63]), lambda x: np.array([[int(x[0])], [2**63]]),
    ):  # fmt: skip
        check_same(f, x)
    for f in (lambda x: np.array([int(x[0]), 2**64]), lambda x: np.isin(x, [int(x[0]), -(2**100)])):
        with pytest.raises(UnsupportedError, match="dtype object"):
            jit(f)(x)
    check_same(lambda x: np.roll(x, np.uint64(2**64 - 2) * np.uint64(x[0])), x)
    check_same(lambda x: np.array([complex(x[0], 1), 2.0], dtype="f8"), x)  # TypeError


def set_places(x, a, u):
    b = a.copy()
    b[[0, 1]] = [x[0], a[1]]
    b[1:] = [2, b[1]]
    return b


@pytest.mark.parametrize("f", [
    set_places, lambda x, a, u: np.array([x[0], a[1], u[2]], "i8"), lambda x, a, u: np.insert(u, 0, float(x[1])),
    lambda x, a, u: np.insert(u, 0, float(x[0])),
    lambda x, a, u: np.insert(a, [0, 1], [x[0], a[1]]), lambda x, a, u: np.array([[x[0], a[1]], [u[0], 7]], "i8"),
    lambda x, a, u: np.array([a[:2], [x[0], a[1]]], "i8"), lambda x, a, u: np.array([x[0], a[0]], "i1"), lambda x, a, u: np.roll(a, x[0] - np.inf),
])  # fmt: skip
def test_numbers_of_a_list_become_integers_one_by_one(f):
    """Not by way of the float that they have in common, which does not hold all."""
    check_same(f, np.array([1.5, -7.0, 2.0**40]), np.array([5, 2**63 - 2, 3]), np.array([1, 2, 3], "u8"))
