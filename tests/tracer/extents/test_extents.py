"""Arrays whose length the running program decides: the same values, stores, aliases, errors and gradients as in NumPy."""

import contextlib
import gc

import numpy as np
import pytest
import random_extents
from collected import collect
from compare import agree, check_same
from sweep import by_xla

from wengert import Fallback, grad, jit
from wengert.tracer.common.errors import UnsupportedError

RNG = np.random.default_rng(7)
X = RNG.standard_normal(9)
M = RNG.standard_normal((6, 4))
I = np.int64  # traced, where an int would be static


def lower(n, junk=np.nan):
    """A lower triangle, the rest of it junk."""
    L = np.tril(RNG.random((n, n))) + 3 * np.eye(n)
    L[np.triu_indices(n, 1)] = junk
    return L


# -- windows ---------------------------------------------------------------------------------------

SLICES = "x[:k] x[k:] x[:-k] x[-k:] x[k:k + 3] x[k - 2:k + 1] x[k::-1] x[:k:-1] x[k - 1::-1] x[::2][:k] x[k::3] x[:k:2] x[:k][1:] x[k:][::-1]"


@pytest.mark.parametrize("text", SLICES.split(" x"))
def test_slices_mean_what_they_mean_in_numpy(text):
    space = {}
    exec(f"import numpy as np\ndef f(x, k):\n    w = x{text.removeprefix('x')}\n    return w, w.shape[0], w.sum(), w * 2 + w", space)
    f = jit(space["f"])
    for k in (*range(-11, 12), 100):
        agree(f(X.copy(), I(k)), space["f"](X, I(k)))


@pytest.mark.parametrize("k", [0, 1, 4, 9, 12, -2, -20])
def test_stores_reach_the_array(k):
    def f(x, y, k):
        x[:k] = 1.5
        x[k:] += y[k:]
        v = y[: k + 1]
        v *= 2
        v[...] = v[::-1].copy()
        w = y[k::2]
        w -= x[k::2]
        return x, v

    check_same(f, X.copy(), X[::-1].copy(), I(k))


def test_overlapping_windows():
    def f(x, k):
        x[1:k] = x[: k - 1]
        x[:k][::-1] += x[:k]
        return x

    check_same(f, X.copy(), I(5))


def test_a_window_of_an_argument_is_returned_as_a_view():
    f = jit(lambda x, i: x[2 : i + 2])
    x = X.copy()
    got = f(x, I(3))
    assert np.shares_memory(got, x)
    agree(got, x[2:5])


def test_elements_of_windows():
    def f(x, k):
        w = x[k : k + 4]
        w[0], w[-1] = 5.0, 6.0
        return w[1], w[-2], x

    check_same(f, X.copy(), I(2))
    with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
        jit(lambda x, k: x[:k][2])(X, I(2))


def test_lengths_are_integers():
    def f(x, k):
        w = x[k:]
        n = 0
        while n < len(w) and w.size > 0:
            n += 2
        return n, w.shape, w.ndim, len(w) // 2, [w.shape[0] > 3, bool(len(w))]

    check_same(f, X, I(4))


def test_loops_over_windows():
    def f(x, k):
        s = 0.0
        for v in x[k:]:
            s = s * 0.5 + v
        for a, b in zip(x[:k], x[::-1]):
            s += a * b
        return s

    check_same(f, X, I(3))


def test_triangular_loops_roll():
    def cholesky(A):
        A[0, 0] = np.sqrt(A[0, 0])
        for i in range(1, A.shape[0]):
            for j in range(i):
                A[i, j] -= np.dot(A[i, :j], A[j, :j])
                A[i, j] /= A[j, j]
            A[i, i] -= np.dot(A[i, :i], A[i, :i])
            A[i, i] = np.sqrt(A[i, i])

    f = jit(cholesky)
    S = M @ M.T + 9 * np.eye(6)
    big = np.eye(80) * 90 + np.ones((80, 80))
    for A in (S, big):
        want, got = A.copy(), A.copy()
        cholesky(want)
        f(got)
        agree(got, want)
    assert "written out" not in f.explain()


def test_rows_of_a_sparse_matrix():
    def spmv(row, col, val, x):
        y = np.zeros(row.size - 1)
        for i in range(row.size - 1):
            cols = col[row[i] : row[i + 1]]
            y[i] = val[row[i] : row[i + 1]] @ x[cols]
        return y

    row, col = np.array([0, 2, 2, 5, 6]), np.array([0, 3, 1, 2, 8, 4])
    check_same(spmv, row, col, X[:6], X)
    with pytest.raises(IndexError):
        jit(spmv)(row, col + 1, X[:6], X)


def test_junk_is_never_read():
    def solve(L, b):
        x = np.zeros_like(b)
        for i in range(b.shape[0]):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return x

    for junk in (np.nan, np.inf):
        check_same(solve, lower(6, junk), X[:6])
    check_same(lambda L: [[L[i, : i + 1].max(), L[i, : i + 1].mean(), np.sort(L[i, : i + 1]).prod()] for i in range(6)], lower(6))

    def rows(L):
        out = np.zeros((6, 9))
        for i in range(6):
            r = L[i, : i + 1]
            out[i] = np.stack([r.sum(), r.min(), r.std(), r.argmax(), np.linalg.norm(r), (r > 0).all(), r.cumsum()[-1], np.median(r), r @ r])
        return out

    check_same(rows, lower(6))


def test_lengths_that_differ_raise_as_in_numpy():
    check_same(lambda x, j, k: x[:j] + x[:k], X, I(3), I(3))
    check_same(lambda x, j, k: x[:j] + x[:k], X, I(3), I(4))
    check_same(lambda x, k: x[:k] * np.arange(4.0), X, I(4))
    check_same(lambda x, k: x[:k] @ np.arange(4.0), X, I(5))

    def store(x, k):
        x[0] = 7.0
        x[:k] = np.ones(3)

    check_same(store, X.copy(), I(3))
    check_same(store, X.copy(), I(4))
    with pytest.raises(UnsupportedError, match="one element"):
        jit(lambda x, j, k: x[:j] + x[:k])(X, I(1), I(4))


def test_matrices_cut_both_ways():
    def f(A, k):
        B = A[:k, :k]
        B[0] = 1.0
        C = B @ B.T
        return C, B.sum(axis=1), np.outer(B[0], B[:, 0]), np.einsum("ij,kj->ik", B, B), A, A[:k].max(axis=0), B.mean()

    for k in (1, 2, 3, 4, 6):
        check_same(f, M.copy(), I(k))


def test_sizes_with_a_bound():
    def f(x):
        out = np.zeros(9)
        for i in range(9):
            t = np.zeros(i)
            t += np.arange(i) * x[i]
            out[i] = t.sum() + len(t) + np.ones((i, 2)).sum() + np.full(i, 0.5).sum()
        return out

    check_same(f, X)
    check_same(lambda n: np.arange(np.minimum(n, 5)), I(3))


# -- masks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [0.0, 9.0, -9.0])
@pytest.mark.parametrize("f", [
    lambda x, b: x[x > b], lambda x, b: {"a": x[x > b], "b": [x[x < b][::-1], 3]}, lambda x, b: np.nonzero(x > b),
    lambda x, b: np.argwhere(x.reshape(3, 3) > b), lambda x, b: (np.where(x > b)[0].sum(), np.flatnonzero(x < b)),
    lambda x, b: x[np.flatnonzero(x > b)], lambda x, b: (np.compress(x > b, x), np.extract(x > b, x)), lambda x, b: np.unique(x > b),
    lambda x, b: np.unique(x[x > b]), lambda x, b: np.concatenate([x[x > b], x, x[x < b]]), lambda x, b: np.append(x[x > b], 3.0),
    lambda x, b: np.sort(x[x > b]), lambda x, b: (x[x > b].sum(), x[x > b].mean(), len(x[x > b]), x[x > b].size, np.median(x[x > b])),
    lambda x, b: x[x > b].max(), lambda x, b: x[x > b].min(initial=2.0), lambda x, b: x[x > b].argmin(), lambda x, b: x[x > b][x[x > b] < 1],
    lambda x, b: x[x > b] - x[x > b].mean(), lambda x, b: x[x > b][1:3], lambda x, b: x[x > b][0], lambda x, b: x[x > b].astype("f4") * 2,
    lambda x, b: x[x > b] + x[::-1][x[::-1] > b], lambda x, b: np.where(x[x > b] > 0.5, x[x > b], 0).cumsum(), lambda x, b: np.diff(x[x > b]),
    lambda x, b: np.clip(x[x > b], 0, 1).std(), lambda x, b: x[x > b] @ x[x > b], lambda x, b: x.reshape(3, 3)[x.reshape(3, 3) > b],
    lambda x, b: x.reshape(3, 3)[x[:3] > b].sum(axis=0), lambda x, b: x.reshape(3, 3)[:, x[:3] > b], lambda x, b: x.reshape(3, 3)[x[:3] > b, 1],
])  # fmt: skip
def test_selections(f, bound):
    check_same(f, X, np.float64(bound))


def test_stores_under_masks():
    def f(x, C, m, v):
        x[x > 0] = x[x > 0] ** -1.5 + C[x > 0]
        C[x < 0] *= 2
        m[m[:, 0] > 0, 1] = 5.0
        m[m[:, 0] < 0] = np.arange(4.0)
        m[m > 2] = m[m > 2] - 1
        y = x[x > 0]
        y += 1.0
        y[:2] = 0.5
        y[-1] = 0.25
        return x, y

    check_same(f, X.copy(), X[::-1].copy(), M.copy(), X)

    def filled(x, v):
        x[x > 0] = v

    n = int((X > 0).sum())
    check_same(filled, X.copy(), np.arange(1.0 * n))
    check_same(filled, X.copy(), np.arange(n + 1.0))


def test_two_masks_meet_by_their_elements():
    check_same(lambda x, y: x[x > 0] * y[y > 0], X, X[::-1].copy())
    check_same(lambda x, y: x[x > 0] * y[y < 0], X, np.abs(X))

    def f(x, y):
        x[x > 0] = y[y > 0]
        return x

    check_same(f, X.copy(), X[::-1].copy())


def test_compaction_loop():
    def escape(C):
        n, Z, at = np.zeros(C.shape, int), np.zeros_like(C), np.arange(C.size)
        for i in range(20):
            if not len(Z):
                break
            np.multiply(Z, Z, Z)
            np.add(Z, C, Z)
            out = abs(Z) > 2
            n[at[out]] = i + 1
            np.logical_not(out, out)
            Z, C, at = Z[out], C[out], at[out]
        return n, Z

    check_same(escape, X + 1j * X[::-1])
    check_same(escape, X[:3] * 0 + 2j)


def test_who_else_sees_an_array_is_no_matter_of_garbage():
    collect()
    gc.disable()
    try:
        test_compaction_loop()
    finally:
        gc.enable()


def test_selections_through_branches():
    def f(x, k):
        y = x[x > 0]
        for _ in range(5):
            if y.sum() > 1:
                y = y * 0.5
            else:
                y = y + x[x > 0]
        z = x[:k] if x[0] > 0 else x[1 : k + 1]
        return y, z

    check_same(f, X, I(4))
    check_same(f, -X, I(4))


def test_what_does_not_know_of_lengths_takes_them_by_value():
    """Where there is no plain Python to go on as; where there is, each length would be a program that it does not need."""
    for f in (lambda x: np.fft.fft(x[x > 0]), lambda x: np.linalg.inv(x[:, x[0] > 0]), lambda x: float(x[x > 0]), lambda x: list(x[x > 0])):
        check_same(f, M)
        with pytest.warns(Fallback, match="length is known only|length known only"), contextlib.suppress(Exception):
            jit(f, whole=False)(M)


# -- gradients -------------------------------------------------------------------------------------


def numerical(f, x, h=1e-6):
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = h
        out[i] = (f(x + d) - f(x - d)) / (2 * h)
    return out


def shift(x):
    s = 0.0
    for i in range(1, 8):
        s += (np.sin(x[i:]) * x[:-i] * np.sqrt(np.abs(np.flip(x[: 9 - i])))).sum() / (1 + x[i : i + 2].max() ** 2)
    return s


def solve(b):
    L, x = np.tril(np.cos(np.arange(81.0).reshape(9, 9))) + 4 * np.eye(9), np.zeros_like(b)
    for i in range(9):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return (x**2).sum()


@pytest.mark.parametrize("f", [
    lambda x: x[x > 0].sum(), lambda x: (x[x > 0] ** 1.5).sum() * x[x < 0].mean(), lambda x: np.log(x[x > 0]).prod(), lambda x: x[x > 0].std(),
    lambda x: np.sort(x[x < 0])[0] * x[x > 0].max(), lambda x: np.linalg.norm(x[x > 0]) / (x[x < 0] @ x[x < 0]), shift, solve,
])  # fmt: skip
def test_gradients(f):
    agree(grad(f)(X), numerical(f, X), 1e-5)


def test_junk_does_not_spoil_gradients():
    def f(L):
        s = 0.0
        for i in range(5):
            s += np.sqrt(L[i, : i + 1]).sum() * np.log(L[i, i])
        return s

    g = grad(f)(lower(5, junk=np.nan))
    assert np.isfinite(g).all() and (g[np.triu_indices(5, 1)] == 0).all()
    x = np.array([0.0, 1.0, 4.0, -1.0])
    agree(grad(lambda x: (x[x > 0] ** -1.5).sum())(x), np.array([0.0, -1.5, -1.5 * 4**-2.5, 0.0]))


@pytest.mark.parametrize("seed", by_xla(range(8), *range(25)))
def test_random_programs(seed):
    result = random_extents.outcome(seed)
    assert result == "agree" or result.startswith("refused"), result


def test_a_condition_of_another_length():
    """np.compress and np.extract choose places, which a longer condition may hold too."""
    functions = [lambda x, y: np.compress(y > 0, x[x > 0]), lambda x, y: np.extract(y > 0, x[x > 0]), lambda x, y: x[x > 0].compress(y > 0),
                 lambda x, y: np.compress((y > 0)[y > -5], x), lambda x, y: np.compress(y[y > -5] > 0, x[x > 0])]  # fmt: skip
    for f in functions:
        run = jit(f)
        for y in ([1, -1, -1], [-1, 1, -1], [1, 1, 1], [-1, -1, 1], [1, 1], [1], [1, -1, -1, -9, -9]):
            x, y = np.array([1.0, -1.0, 2.0]), np.array(y, float)
            try:
                want = f(x, y)
            except IndexError as error:
                with pytest.raises(IndexError) as raised:
                    run(x, y)
                assert str(raised.value) == str(error)
            else:
                np.testing.assert_array_equal(run(x, y), want)


def test_words_of_a_mask_that_does_not_fit():
    for f in (lambda x, y: x[x > 0][y > 0], lambda x, y: x[(y > 0)[y > -5]], lambda x, y: x[x > 0][y[y > -5] > 0]):
        with pytest.raises(IndexError) as plain:
            f(np.array([1.0, -1.0, 2.0]), np.array([1.0, -9.0, 1.0, 1.0, 1.0]))
        with pytest.raises(IndexError) as raised:
            jit(f)(np.array([1.0, -1.0, 2.0]), np.array([1.0, -9.0, 1.0, 1.0, 1.0]))
        assert str(raised.value) == str(plain.value)
