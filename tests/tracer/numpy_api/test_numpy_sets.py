"""Sets and other results whose length data decides: NumPy's values, places, counts, dtypes and errors, whole and of bounded arrays."""

import numpy as np
import pytest
from compare import check_same
from sweep import by_xla

from wengert import jit

X = np.array([3, 1, 3, 0, 2, 2, 3, 9])
Y = np.array([2, 7, 3, 3, 0])
NAN = np.array([np.nan, 1.0, -1.0, np.nan, 1.0, np.inf])
ROWS = np.array([[1, 2], [0, 5], [1, 2], [0, 4], [1, 2]])
BOUNDED = {"whole": lambda x: x, "cut": lambda x: x[x != 2], "window": lambda x: x[1 : 1 + (x == x[0]).sum()]}
SETS = [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d]
EMPTY = np.zeros(0)


def flags(x):
    return np.unique(x, True, True, True), np.unique(x, return_counts=True), np.unique(x, return_inverse=True), np.unique(x, return_index=True)


@pytest.mark.parametrize("cut", by_xla([BOUNDED["cut"]], *BOUNDED.values()), ids=BOUNDED)
@pytest.mark.parametrize("x", [X, X.astype(np.uint8), X * 1.5, X > 2, NAN, X * 1j, EMPTY, np.full(4, np.iinfo(np.int64).max)], ids=str)
def test_unique(x, cut):
    check_same(lambda x: flags(cut(x)) if len(x) else flags(x), x)


@pytest.mark.as_numpy
def test_unique_of_rows():
    for f in (lambda a: np.unique(a, axis=0), lambda a: np.unique(a, True, True, True, 0), lambda a: np.unique(a, True, True, True, axis=1)):
        for a in (ROWS, ROWS > 1, ROWS * 0.5, np.where(ROWS == 4, np.nan, ROWS), ROWS.reshape(5, 1, 2)):
            check_same(f, a)
    check_same(lambda a: np.unique(a, True, True), ROWS)
    check_same(lambda a: np.unique(a, axis=2), ROWS)


@pytest.mark.parametrize("equal", [True, False])
def test_nan_is_one_value_or_many(equal):
    check_same(lambda x: np.unique(x, return_counts=True, equal_nan=equal), NAN)
    check_same(lambda x: np.unique(x, equal_nan=equal), NAN)


def test_array_api():
    check_same(lambda x: (np.unique_all(x), np.unique_counts(x), np.unique_inverse(x), np.sort(np.unique_values(x))), X)
    check_same(lambda x: (np.unique_all(x), np.unique_counts(x), np.unique_inverse(x)), NAN)
    check_same(lambda x: np.unique_inverse(x).inverse_indices, ROWS)


@pytest.mark.parametrize("f", SETS)
@pytest.mark.parametrize("cut", by_xla([BOUNDED["cut"]], *BOUNDED.values()), ids=BOUNDED)
def test_two_arrays(f, cut):
    mixed = X.astype(np.int8), Y.astype(np.uint16)
    pairs = [(X, Y), (NAN, NAN[1:]), (X * 1.0, Y), (NAN, X), (X, EMPTY), (EMPTY, X), (ROWS, X), (X > 2, Y > 2), mixed]
    for x, y in pairs if cut is BOUNDED["whole"] else pairs[:2]:
        check_same(lambda x, y: f(cut(x) if x.ndim == 1 and x.size else x, y), x, y)
        check_same(lambda x, y: f(x, cut(y) if y.ndim == 1 and y.size else y), x, y)


@pytest.mark.parametrize("f", SETS[1:])
def test_assumed_unique(f):
    check_same(lambda x, y: f(np.unique(x), np.unique(y), assume_unique=True), X, Y)
    check_same(lambda x, y: f(x, y, assume_unique=True), np.array([3, 1, 5]), np.array([1, 9, 3]))


def test_places_of_an_intersection():
    check_same(lambda x, y: np.intersect1d(x, y, return_indices=True), X, Y)
    check_same(lambda x, y: np.intersect1d(x, y, assume_unique=True, return_indices=True), np.array([3, 1, 5]), np.array([1, 9, 3]))
    check_same(lambda x, y: np.intersect1d(x[x > 0], y, return_indices=True), X, Y)


def test_an_intersection_takes_nothing_on_trust():
    compiled = jit(lambda x, y: np.intersect1d(x, y))
    compiled(X, Y)
    assert "assumes" not in compiled.explain()


@pytest.mark.parametrize("invert", [False, True])
def test_isin_of_bounded(invert):
    check_same(lambda x, y: np.isin(x[x > 0], y, invert=invert), X, Y)
    check_same(lambda x, y: np.isin(x, y[y > 2], invert=invert), X, Y)
    check_same(lambda x, y: np.isin(x[x > 1], y[y < 3], invert=invert), X * 1.0, Y)
    check_same(lambda x, y: np.isin(x, y[y > 99], invert=invert), X, Y)


@pytest.mark.parametrize("trim", by_xla(["fb"], "fb", "f", "b", "BF", "x"))
def test_trim_zeros(trim):
    for x in (np.array([0, 0, 1, 0, 2, 0]), np.zeros(3), np.array([1.0, np.nan]), EMPTY, np.array([0, 0, 5])):
        check_same(lambda x: np.trim_zeros(x, trim), x)
    a = np.zeros((4, 5))
    a[1:3, 2] = 1
    check_same(lambda a: (np.trim_zeros(a, trim), np.trim_zeros(a, trim, axis=1), np.trim_zeros(a, trim, axis=())), a)


def test_a_trimmed_array_is_a_view():
    def f(x):
        np.trim_zeros(x)[...] = 7.0

    check_same(f, np.array([0.0, 1.0, 0.0, 2.0, 0.0]))


@pytest.mark.parametrize("k", by_xla([0, -1], 0, 2, -1, 3, 4, -5, 6))
def test_insert_and_delete_one(k):
    y, a, k = np.arange(4.0), np.arange(8.0).reshape(4, 2), np.int64(k)
    check_same(lambda y, k: np.insert(y, k, 9), y, k)
    check_same(lambda y, k: np.insert(y, k, [8, 9]), y, k)
    check_same(lambda a, k: np.insert(a, k, [8, 9], axis=0), a, k)
    check_same(lambda y, k: np.insert(y, k[None], 9), y, k)
    check_same(lambda y, k: np.delete(y, k), y, k)
    check_same(lambda a, k: np.delete(a, k, axis=0), a, k)
    check_same(lambda a, k: np.delete(a, k), a, k)


@pytest.mark.parametrize("i", by_xla([[1, 1, 3], [0, 9]], [1, 1, 3], [3, 0, -1], [2], [], [0, 9], [4, 4, 0]))
def test_insert_and_delete_several(i):
    y, a, i = np.arange(4.0), np.arange(8.0).reshape(2, 4), np.array(i, int)
    check_same(lambda y, i: np.insert(y, i, 9), y, i)
    check_same(lambda y, i: np.insert(y, i, np.arange(i.size) + 10.0), y, i)
    check_same(lambda a, i: np.insert(a, i, 9, axis=1), a, i)
    check_same(lambda y, i: np.delete(y, i), y, i)
    check_same(lambda a, i: np.delete(a, i, axis=1), a, i)


def test_delete_where():
    check_same(lambda y, b: np.delete(y, b), np.arange(4.0), np.array([True, False, False, True]))
    check_same(lambda y, b: np.delete(y, b), np.arange(4.0), np.array([True, False, False]))


def test_grids_of_masks():
    check_same(lambda a, b: a[np.ix_([0, 2], b)], np.arange(9.0).reshape(3, 3), np.array([True, False, True]))
    check_same(lambda b: np.ix_([0, 2], b), np.array([True, False, True]))
