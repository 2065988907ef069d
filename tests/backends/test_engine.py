"""Programs on ndarrays that run as NumPy: the same results, memory of their own, other signatures beside them, and what is said of it."""

import numpy as np
import pytest
from compare import agree, check_same

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import build
from wengert.tracer.call import shared
from wengert.tracer.program import autotune, backend_choice

X, V = np.random.default_rng(0).normal(size=(4, 3)), np.arange(3.0)


def runs_as_numpy(f):
    """How many of its traces do."""
    return sum(v.engine is not None for e in f.compiled.entries.values() for w in e.worlds for v in w.versions)


def several(x, v, s):
    x[0] = v * s
    return x @ v, x.T, v + 1, v.sum(), s * 2.0, v.reshape(3, 1), v, np.float32(2) * s


def test_results_kinds_and_writes():
    f = jit(several, engine="numpy")
    for s in (2.0, -1.0):
        ours, theirs = X.copy(), X.copy()
        agree(f(ours, V.copy(), s), several(theirs, V.copy(), s), 1e-12)
        agree(ours, theirs, 1e-12)
    assert runs_as_numpy(f) == 1


FUNCTIONS = {
    "product": lambda x: x @ x.T,
    "float32": lambda x: np.tanh(x.astype(np.float32)) * 2,
    "bools": lambda x: (x > 0) & (x < 1),
    "scalar": lambda x: x.mean(),
    "index": lambda x: x[1, 2],
    "integers": lambda x: np.argsort(x, axis=1),
    "complex": lambda x: np.exp(1j * x),
    "where": lambda x: np.where(x > 0, np.log(np.abs(x)), 1 / x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_returned(name):
    f = jit(FUNCTIONS[name], engine="numpy")
    agree(f(X), FUNCTIONS[name](X), 1e-6 if name == "float32" else 1e-12)
    agree(f(X), FUNCTIONS[name](X), 1e-6 if name == "float32" else 1e-12)
    assert runs_as_numpy(f) == 1


def test_results_share_no_memory():
    f = jit(lambda x: (x.T + 0, x[1:].reshape(-1) + 0, np.broadcast_to(x[0] * 1.0, (2, 3)).copy(), np.zeros(3)), engine="numpy")
    g = jit(lambda x: np.reshape(x, (3, 4)).copy(), engine="numpy")
    x = X.copy()
    for made in (*f(x), g(x)):
        assert not np.may_share_memory(made, x) and made.flags.writeable
        made[...] = 7
    agree(x, X, 0)
    agree(f(x)[3], np.zeros(3), 0)
    same = jit(lambda x: x, engine="numpy")
    assert same(x) is x


def test_other_types_run_beside_it():
    f = jit(lambda x, s: x * s + 1, engine="numpy")
    for x in (X, X[:2], X.astype(np.float32), X, X[0]):
        for s in (2.0, np.float64(3), np.float32(3)):
            agree(f(x, s), x * s + 1, 0)
    assert runs_as_numpy(f) == 12  # four types of arrays, three of numbers


def test_outside_arrays_are_read_anew():
    table = np.ones(3)

    @jit(engine="numpy")
    def f(x):
        return x + table

    agree(f(V), V + 1, 0)
    table[0] = 5
    agree(f(V), V + table, 0)
    assert runs_as_numpy(f) == 1


def looped(x):
    for k in range(5):
        x = x * 0.5 + k
    return x


def test_loops_run_in_python_where_xla_is_not_to_be_asked(monkeypatch):
    asked = lambda *args, **options: pytest.fail("XLA is asked")
    monkeypatch.setattr("wengert.backends.xla.dispatch.Program.__call__", asked)
    f, half = jit(looped, engine="numpy", native=False), jit(lambda x: (x * np.float16(3)).sum(), engine="numpy")
    for _ in range(2):
        agree(f(X), looped(X), 1e-12)
        agree(half(X.astype(np.float16)), (X.astype(np.float16) * np.float16(3)).sum(), 1e-2)


def test_effects_stay_with_xla(capfd):
    g = jit(lambda x: print(x.sum()) or x + 1, engine="numpy")
    g(V)
    assert runs_as_numpy(g) == 0 and capfd.readouterr().out == "3.0\n"


def test_checks_raise():
    f = jit(lambda x, i: x[i] * 2, engine="numpy")
    agree(f(V, np.int64(2)), V[2] * 2, 0)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        f(V, np.int64(3))


def test_the_faster_is_taken_and_told(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)
    for cost, said in ((1e-6, "as NumPy: 1 us as NumPy, 100 us through XLA"), (1.0, "through XLA: 1 s as NumPy, 100 us through XLA")):
        monkeypatch.setattr(backend_choice, "turns", lambda forms, n, ready=0, cost=cost: (cost, 1e-4)[-len(forms) :])
        shared.forget_shared()
        f = jit(lambda x: np.tanh(x) * 2)
        agree(f(X), np.tanh(X) * 2, 1e-12)
        agree(f(X), f(X), 0)
        assert f"runs         {said}, when they were timed" in f.explain()
        assert runs_as_numpy(f) == (cost < 1e-4)


def test_what_would_need_much_memory_is_not_timed(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "turns", lambda forms, n, ready=0: (0.0,))
    monkeypatch.setattr(backend_choice, "quickest", None)
    f = jit(lambda x: (x[:, None] * x[None, :]).sum())
    x = np.ones(4000)
    agree(f(x), np.float64(16e6), 1e-12)
    assert runs_as_numpy(f) == 0


def test_transforms_and_methods():
    agree(grad(lambda x: (x**2).sum())(X), 2 * X, 1e-12)
    check_same(lambda x: np.linalg.inv(x @ x.T + np.eye(4)), X)


SQUARE, LONG = np.random.default_rng(0).normal(size=(4, 4)), np.random.default_rng(1).normal(size=(3, 300))
SPD = SQUARE @ SQUARE.T + np.eye(4)
CALLS = {
    "partition": (lambda x: (np.sort(x, 1)[:, :4], np.sort(x, 1)[:, -3:], np.median(x, 1), np.sort(x.T, 0)[5:8], np.sort(x)[:, 7]), LONG),
    "long convolution": (lambda x, k: [np.convolve(x.ravel(), k[i:], mode) for i in range(3) for mode in ("same", "full")],
                         np.tile(LONG, 5), np.arange(5.0)),
    "convolution": (lambda x, k: (np.convolve(x[0], k), np.convolve(x[1], k, "valid"), np.correlate(x[2], k[::-1])), LONG, np.arange(5.0)),
    "products": (lambda x, y: (np.einsum("ijk,ik->j", x, y), np.tensordot(x, y, ([1, 0], [1, 0])), np.einsum("ijk,jl->lik", x, y)),
                 np.arange(64.0).reshape(4, 4, 4), SQUARE),
    "integers": (lambda x: np.einsum("ij,ijk->k", x, np.stack([x, x], 2)), np.arange(100, dtype=np.int8).reshape(10, 10)),
    "transforms": (lambda x: (np.fft.rfft(x), np.fft.ifft(x, axis=0), np.fft.irfft(np.fft.rfft(x), 300)), LONG),
    "running": (lambda x: (np.maximum.accumulate(x, 1), np.cumsum(x, 0), np.minimum.accumulate(x[:, ::-1], 1)), LONG),
    "matrices": (lambda a: (np.linalg.eigvalsh(a), np.linalg.eigh(a)[0], np.linalg.svd(a)[1], np.linalg.cholesky(a), np.linalg.pinv(a)), SPD),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_numpy(name):
    f, *args = CALLS[name]
    g = jit(f, engine="numpy")
    for _ in range(2):
        agree(g(*args), f(*args), 1e-9)
    assert runs_as_numpy(g)


def test_matrices_that_numpy_refuses():
    for f in (np.linalg.cholesky, np.linalg.eigvalsh, lambda a: np.linalg.svd(a)[1]):
        g = jit(f, engine="numpy")
        agree(g(SPD), f(SPD), 1e-9)
        for bad in (np.full((4, 4), np.nan), -SPD) if f is np.linalg.cholesky else (np.full((4, 4), np.nan),):
            with pytest.raises(np.linalg.LinAlgError):
                g(bad)
        agree(g(SPD * 2), f(SPD * 2), 1e-9)


def test_ways_that_data_takes(monkeypatch):
    def f(x, y):
        if x.sum() > 0:
            y *= 2
            return x * 2 + y
        return x[:2] - 1, x.size

    g = jit(f, engine="numpy")
    for sign in (1, -1, 1, 1, -1, -1, 1):
        mine, theirs = np.ones(3), np.ones(3)
        agree(g(sign * V - 0.5, mine), f(sign * V - 0.5, theirs), 1e-12)
        agree(mine, theirs, 0)
    assert runs_as_numpy(g) == 2


def test_no_such_engine():
    with pytest.raises(ValueError, match="engine='xla' or 'numpy', not 'tpu'"):
        jit(looped, engine="tpu")


def test_scatters_of_one_number_read_no_array(monkeypatch):
    """The number stands in the machine code: nothing is copied for it."""

    def refused(nest, call):
        def again(*objects):
            raise AssertionError("a nest was given arrays that it cannot take")

        return again

    monkeypatch.setattr(native, "again", refused)

    def counted(at, x):
        counts, signs, last = np.zeros(4, np.int64), np.full(4, 0.0), np.full(4, 9.0)
        np.add.at(counts, at, 1)
        signs[at] = -0.0
        np.maximum.at(last, at, np.nan)
        np.add.at(last, at, x)
        return counts, signs, np.signbit(signs), last

    f, at, x = jit(counted, engine="numpy"), np.arange(5000) % 3, np.arange(5000.0)
    with np.errstate(invalid="ignore"):
        expected = counted(at, x)
    for _ in range(2):
        for got, want in zip(f(at, x), expected, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("dtype", ["i8", "u1", "i2", "f8", "?"])
@pytest.mark.parametrize("n", [5, 20000])
def test_limits(dtype, n):
    x = (np.arange(n) % 50).astype(dtype)
    low, high = np.array([3, 20]).astype(dtype) if dtype != "?" else (False, True)
    f = jit(lambda x: np.minimum(np.maximum(x, low), high), engine="numpy")
    np.testing.assert_array_equal(f(x), np.minimum(np.maximum(x, low), high), strict=True)
    if dtype != "?":
        np.testing.assert_array_equal(jit(lambda x: np.clip(x, low, high), engine="numpy")(x), np.clip(x, low, high), strict=True)


def test_nests_for_large_arrays_are_compared_with_calls_of_numpy(monkeypatch):
    """What writes too much to be tried before XLA has been is not taken untried in its other form."""
    asked, quickest = [], backend_choice.quickest

    def seen(entry, version, everything, most):
        asked.append((most, version.fused))
        return quickest(entry, version, everything, most)

    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "quickest", seen)
    monkeypatch.setattr(backend_choice, "cheap", lambda *_: False)  # as on a machine that is slower than the fastest
    monkeypatch.setattr(autotune, "CHEAP", 1000)
    f, x = jit(lambda x: np.where(x > 0, x * x + 1, x**3)[::2].sum()), np.arange(100000.0)
    f(x)
    assert [fused for _, fused in asked] == [None, None] and asked[1][0] > 1000


COPIES = {
    "ascontiguousarray": lambda a: np.ascontiguousarray(a.T),
    "copy": lambda a: a.T.copy(),
    "array": lambda a: np.array(a.T, order="C"),
    "part": lambda a: a.T[:2].copy(),
}


@pytest.mark.parametrize("engine", ["xla", "numpy", None])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_a_transpose_is_in_row_major_order(name, engine):
    a, run = np.arange(12.0).reshape(4, 3), jit(COPIES[name], engine=engine)
    for _ in range(3):
        assert run(a).strides == COPIES[name](a).strides


def test_small_programs_with_nests_are_compiled_in_one_form(monkeypatch):
    def f(x):
        y = np.tanh(x) + x.T * 2
        for i in range(1, len(y)):
            y[i] = y[i - 1] * 0.5 + y[i]
        return np.exp(-y) * x

    seconds, x = [], np.linspace(0.1, 1.0, 1600).reshape(40, 40)
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "nothing_to_win", lambda *_: True)  # XLA has nests of its own
    monkeypatch.setattr(build, "WATCHERS", [seconds.append])
    agree(jit(f)(x), f(x), 1e-10)
    assert len(seconds) == 1
