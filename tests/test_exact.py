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


def test_complex_products():
    w, v = X + 1j * Y, Y - 1j * Z
    got = jit(lambda w, v: w * v + v, exact=True)(w, v)
    want = (X * Y - Y * -Z) + Y + 1j * ((X * -Z + Y * Y) - Z)
    assert np.array_equal(got, want)
