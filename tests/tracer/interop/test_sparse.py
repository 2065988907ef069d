"""Matrices of scipy.sparse: products, sums and gradients in programs, one program for all matrices of as many entries."""

import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit, jvp

sp = pytest.importorskip("scipy.sparse")
DATA = np.array([1.0, 2, 3, 4, 5, 6])
ROWS, COLUMNS = np.array([0, 0, 3, 3, 3, 4]), np.array([1, 1, 2, 0, 3, 3])  # a duplicate, empty rows, columns unsorted
X, Y = np.arange(1.0, 5.0), np.arange(1.0, 6.0)
KINDS = [f"{form}_{kind}" for form in ("csr", "csc", "coo") for kind in ("array", "matrix")]


def matrix(kind, data=DATA):
    """5 by 4, duplicates as they are."""
    make = getattr(sp, kind)
    if kind.startswith("coo"):
        return make((data.copy(), (ROWS, COLUMNS)), shape=(5, 4))
    major, minor, count = (ROWS, COLUMNS, 5) if kind.startswith("csr") else (COLUMNS, ROWS, 4)
    order = np.argsort(major, kind="stable")
    starts = np.searchsorted(major[order], np.arange(count + 1))
    return make((data[order], minor[order], starts), shape=(5, 4))


PRODUCTS = {
    "A @ x": lambda A: A @ np.sin(X),
    "A @ X": lambda A: A @ np.sin(X.reshape(4, 1) * X[:2]),
    "A.dot": lambda A: A.dot(X) + A.dot(2.0) @ X,
    "A.T @": lambda A: A.T @ np.sin(A @ X),
    "x @ A": lambda A: np.sin(Y) @ A,
    "X @ A": lambda A: np.cos(Y * np.ones((3, 1))) @ A,
    "x @ A.T": lambda A: X @ A.T,
    "numbers": lambda A: (-(2 * A / 3.0) * 1.5) @ X,
    "ints": lambda A: A @ np.arange(4),
    "float32": lambda A: A @ np.arange(4, dtype=np.float32),
    "complex": lambda A: (A * 1j).conj() @ X,
    "sum": lambda A: A.sum() + A.T.sum(),
    "toarray": lambda A: np.tanh(A.toarray()),
    "shape": lambda A: A.shape[0] * A.T.shape[1] * A.nnz + A.ndim + (A.dtype == np.float64),
    "entries": lambda A: np.sin(A.data).sum(),
    "kinds": lambda A: isinstance(A, sp.csr_array) + 2 * sp.issparse(A) + X,
}
MATRICES = ("A @ x", "X @ A", "numbers", "kinds")  # of the older classes, which multiply likewise


CASES = [(kind, name) for kind in KINDS for name in PRODUCTS if kind.endswith("array") or name in MATRICES]


@pytest.mark.parametrize("kind, name", CASES)
def test_in_programs(kind, name):
    f = jit(PRODUCTS[name])  # which raises where it cannot capture
    for factor in (1.0, -2.0):
        got, meant = f(matrix(kind, factor * DATA)), PRODUCTS[name](matrix(kind, factor * DATA))
        assert type(got) is type(meant) and getattr(got, "dtype", None) == getattr(meant, "dtype", None)
        np.testing.assert_allclose(got, meant, rtol=1e-14)
    assert f.explain().split()[1] == "1"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_by_row_and_column(axis):
    for kind in KINDS:
        f, A = lambda A: A.sum(axis=axis) * 2, matrix(kind)
        if kind.endswith("array"):
            np.testing.assert_allclose(jit(f)(A), f(A))
        else:  # np.matrix, which is SciPy's to give
            with pytest.warns(match="left to SciPy"):
                assert type(jit(f, whole=False)(A)) is np.matrix


def test_another_structure_is_an_input_too():
    """As many entries elsewhere: nothing is traced again."""
    f = jit(lambda A, x: A @ x)
    rng = np.random.default_rng(1)
    for _ in range(4):
        A = sp.coo_array((rng.normal(size=6), (rng.integers(0, 5, 6), rng.integers(0, 4, 6))), shape=(5, 4))
        np.testing.assert_allclose(f(A, X), A @ X)
    assert f.explain().split()[1] == "1"
    B = sp.csr_array(rng.normal(size=(3, 4)))
    np.testing.assert_allclose(f(B, X), B @ X)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind):
    def loss(A, x):
        return (np.sin(A @ x) ** 2).sum() + (x @ A.T @ Y)

    A = matrix(kind)
    by_entries, by_x = grad(loss, (0, 1))(A, X)
    dense = A.toarray()
    by_dense, meant = grad(loss, (0, 1))(dense, X)
    np.testing.assert_allclose(by_x, meant)
    assert type(by_entries) is type(A)
    places = matrix(kind, np.arange(1.0, 7.0))  # which entry stands where
    for form, entry in zip(by_entries.data, places.data, strict=True):
        k = int(entry) - 1
        np.testing.assert_allclose(form, by_dense[ROWS[k], COLUMNS[k]])
    slope = jvp(lambda x: A @ np.sin(x), (X,), (Y[:4],))[1]
    np.testing.assert_allclose(slope, A @ (np.cos(X) * Y[:4]))


def test_by_name_among_others():
    def loss(x, A, scale):
        return scale * ((A @ x) ** 2).sum()

    A = matrix("csr_array")
    got = grad(loss, ("A", "scale"))(X, A=A, scale=2.0)
    np.testing.assert_allclose(got[1], ((A @ X) ** 2).sum())
    np.testing.assert_allclose(got[0] @ X, grad(loss, "A")(X, A, 2.0) @ X)


def test_made_of_traced_entries():
    def loss(d):
        return ((sp.csr_array((d * 2, (ROWS, COLUMNS)), shape=(5, 4)) @ X) ** 2).sum()

    np.testing.assert_allclose(jit(loss)(DATA), loss(DATA))
    step = 1e-6
    numeric = [(loss(DATA + e) - loss(DATA - e)) / (2 * step) for e in step * np.eye(6)]
    np.testing.assert_allclose(grad(loss)(DATA), numeric, rtol=1e-6)


def test_results_and_identity():
    A = matrix("csr_array")
    assert jit(lambda A: A)(A) is A and jit(lambda d: d["A"])({"A": A}) is A
    for f in (lambda A: A * 2, lambda A: A.T, lambda A: (A, A.data)[0]):
        got, meant = jit(f)(A), f(A)
        assert type(got) is type(meant)
        np.testing.assert_array_equal(got.toarray(), meant.toarray())


def test_entries_are_written():
    def doubled(A):
        A.data[:] = A.data * 2
        A.data *= 1.5
        return A @ X

    A, B = matrix("csr_array"), matrix("csr_array")
    np.testing.assert_array_equal(jit(doubled)(A), doubled(B))
    np.testing.assert_array_equal(A.data, B.data)


def test_room_for_more_entries():
    A = matrix("csr_array")
    A.data, A.indices = np.append(A.data, [7.0, 7.0]), np.append(A.indices, [99, 99]).astype(A.indices.dtype)
    np.testing.assert_allclose(jit(lambda A: A @ X)(A), A @ X)


def test_from_outside():
    """Globals, attributes and enclosing variables: the entries are read at every call."""
    A = matrix("csr_array")
    f = jit(lambda x: A.T @ (A @ np.sin(x)) + A.sum(axis=0))
    for _ in range(2):
        np.testing.assert_allclose(f(X), A.T @ (A @ np.sin(X)) + A.sum(axis=0))
        A.data[1] += 3.0
    np.testing.assert_allclose(grad(lambda x: (A @ x).sum())(X), A.sum(axis=0))


LEFT = {
    "element by element": lambda A: A * X,
    "sum of two": lambda A: (A + A) @ X,
    "product of two": lambda A: (A @ A.T) @ Y,
    "rows": lambda A: A[[0, 3]] @ X,
    "converted": lambda A: A.tocsc() @ X,
    "asked for": lambda A: abs(A).max() * X,
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_scipy(name):
    A, f = matrix("csr_array"), LEFT[name]
    with pytest.warns(match="left to SciPy"):
        got = jit(f, whole=False)(A)
    dense = lambda x: x.toarray() if sp.issparse(x) else x
    np.testing.assert_allclose(dense(got), dense(f(A)))


def test_wrong_shapes_raise_what_scipy_raises():
    with pytest.warns(match="left to SciPy"), pytest.raises(ValueError, match="dimension mismatch"):
        jit(lambda A: A @ Y, whole=False)(matrix("csr_array"))


def test_calls_told_inline():
    """Other matrices and classes are told from the one before, and an argument given back is itself."""
    f = jit(lambda given: (given["A"], given["A"] @ given["x"]), whole=True)
    for kind in 2 * KINDS:
        for factor in (1.0, 2.0, 3.0):
            A = matrix(kind, factor * DATA)
            back, product = f({"A": A, "x": X})
            assert back is A
            np.testing.assert_allclose(product, A @ X)
    A = sp.csr_array(matrix("csr_array"))
    A.data, A.indices = np.append(A.data, 7.0), np.append(A.indices, 0)  # room for more
    np.testing.assert_allclose(f({"A": A, "x": X})[1], A @ X)
    wide = sp.csr_array((A.data, A.indices, A.indptr), shape=(5, 6))
    np.testing.assert_allclose(f({"A": wide, "x": np.arange(6.0)})[1], wide @ np.arange(6.0))


@pytest.mark.parametrize("starts", [[0, 2, 2, 1, 5, 6], [0, 2, 2, 2, 5, 7], [1, 2, 2, 2, 5, 6]])
def test_rows_that_are_none(starts):
    """Of arrays that make no matrix there is no product."""
    f = jit(lambda data, starts: sp.csr_array((data, COLUMNS, starts), shape=(5, 4)) @ X, whole=True)
    with pytest.raises(UnsupportedError, match="none of the matrix"):
        f(DATA, np.array(starts))


def test_columns_that_are_none():
    f = jit(lambda data, columns: sp.csr_array((data, columns, [0, 2, 2, 2, 5, 6]), shape=(5, 4)) @ X, whole=True)
    for column in (-1, 4):
        with pytest.raises(UnsupportedError, match="none of the matrix"):
            f(DATA, np.array([*COLUMNS[:5], column]))


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_quotient_is_the_product_that_scipy_makes_of_it(dtype):
    A, f = sp.csr_array(3 * np.eye(2, dtype=dtype)), lambda A, by: A / by
    for by in (7.0, np.float32(7)):
        got, wanted = jit(f)(A, by), f(A, by)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.data, wanted.data)
    with pytest.raises(ZeroDivisionError):
        jit(f)(A, 0.0)
