"""`jit(exact=True)`: arithmetic has NumPy's bits, and no pass changes one, on any engine."""

import numpy as np
import pytest
from random_exact import engine_of, outcome

from wengert import jit

RNG = np.random.default_rng(0)
X, Y, Z = RNG.normal(size=(3, 1001))


def fused(x, y, z):
    return x * y + z, x * y - z * x, (x - y) * 0.1 + z, x * x + 1.0, y - np.abs(x * y) * z * z


def quotients(x, y, z):
    return x / 3.0, x / y / z, (x + 1.0) / x.shape[0], 0.3 / (x / y), x / np.sqrt(y * y + 1.0)


def factors(x, y, z):
    return 1.7 * (0.3 * x), 0.1 * x + 0.1 * y, (x * 0.7) / 0.3, -(x - y) + 0.0, (x + 0.1) + 0.2


def stencil(x, y, z):
    x = x.copy()
    for i in range(1, 1000):
        x[i] = (x[i - 1] * 0.3 + y[i] * z[i]) / 1.7
    return x


@pytest.mark.parametrize("kind", ["xla", "native"])
def test_arithmetic_has_the_bits_of_NumPy(kind):
    f = lambda *xs: [*fused(*xs), *quotients(*xs), *factors(*xs), stencil(*xs)]
    with engine_of(kind):
        got, want = jit(f, exact=True)(X, Y, Z), f(X, Y, Z)
    assert [np.array_equal(a, b) for a, b in zip(got, want)] == [True] * len(want)


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_of_narrow_floats(dtype):
    x, y, z = (a.astype(dtype) for a in (X, Y, Z))
    for got, want in zip(jit(fused, exact=True)(x, y, z), fused(x, y, z)):
        assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("kind, seeds", [("numpy", 12), ("straight", 3), ("native", 1), ("xla", 1)])
def test_passes_change_no_bit(kind, seeds):
    with engine_of(kind):
        assert {outcome(seed, slopes=seed > 8) for seed in range(seeds)} == {"agree"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numpy", "straight", "native", "xla"])
@pytest.mark.parametrize("written", ["sums", "flow", "wide"])
def test_many_passes_change_no_bit(kind, written):
    with engine_of(kind):
        found = {seed: outcome(seed, written, seed % 2 == 0) for seed in range(1000, 1040)}
    assert {seed: text for seed, text in found.items() if text not in ("agree", "raises")} == {}


def test_complex_arithmetic_has_the_bits_of_NumPy():
    """Arrays, which NumPy multiplies by other instructions than numbers, and numbers; in rows of loops and by themselves."""

    def rows(w, v):
        for i in range(1, 5):
            w[i] = w[i - 1] * v[i] / v[0] + v[i] * v[1]
        return w

    def numbers(w, v):
        s = w[0]
        for i in range(1, 200):
            s = s * w[i] / (v[i] + w[3]) + w[i]
        return s, w[3] * v[4], w[5] / v[6], w[7] ** 2

    def arrays(w, v):
        powers = [w**n for n in (-2, -1, 2, 3, 4, 5)]
        return [w * v, w / v, w * v + v, w * v[0], w / v[0], 2.5 * w, w * np.conj(v), np.square(w), 1 / w, w * v - w / v, v * (w * v), *powers]

    for dtype in ("c16", "c8"):
        w, v = (X + 1j * Y).astype(dtype), (Y - 1j * Z).astype(dtype)
        big = w[:1000].reshape(40, 25), v[:1000].reshape(40, 25)
        for f, args in ((arrays, (w, v)), (arrays, (big[0].T, big[1].T)), (numbers, (w, v)), (rows, big)):
            for engine in ("xla",) if f is arrays else ("xla", "numpy"):
                ours, theirs = ([a.copy() for a in args] for _ in range(2))
                got, want = jit(f, exact=True, engine=engine)(*ours), f(*theirs)
                for k, (a, b) in enumerate(zip(got, want, strict=True)):
                    assert a.dtype == b.dtype and np.array_equal(a, b), (f.__name__, k, dtype, engine)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("exact", [False, True])
def test_complex_numbers_by_a_zero_that_is_known(dtype, exact):
    z = np.array([1 + 1j, 2 - 1j, 0j, -3j, complex(0, np.inf)], dtype)
    for f in (lambda z: z / 0.0, lambda z: z / np.float32(0.0), lambda z: z / 0j, lambda z: z[0] / dtype(0)):
        for engine in ("xla", "numpy"):
            with np.errstate(all="ignore"):
                got, want = jit(f, exact=exact, engine=engine)(z), f(z)
            np.testing.assert_array_equal(got.real, want.real)
            np.testing.assert_array_equal(got.imag, want.imag)


def test_complex_quotients_at_the_edges():
    x = np.array([complex(a, b) for a in (0.0, 1.0, -2.0, np.inf, np.nan) for b in (0.0, -0.0, 3.0, -np.inf)])
    w, v = (a.ravel() for a in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        for f in (lambda w, v: w / v, lambda w, v: w * v, lambda w, v: 1 / v):
            got, want = jit(f, exact=True, engine="xla")(w, v), f(w, v)
            for a, b in ((got.real, want.real), (got.imag, want.imag)):
                assert np.array_equal(a, b, equal_nan=True)
