"""Division where a last digit decides: as NumPy's, in scalars, and in arrays whose quotient is compared or rounded."""

import subprocess
import sys

import numpy as np
import pytest

from wengert import jit

X = np.random.default_rng(0).random(5000) * 10
X[:4] = 0.0, -0.0, np.inf, np.nan


def halves(x, n):
    return x / n * n == x, np.floor(x / n), (x * 7.0 / n > x).sum()


def whole(x):
    return (x / 0.1).astype(np.int64)


def test_quotients_that_decide_are_rounded_as_numpys():
    with np.errstate(all="ignore"):
        for n in (6.0, 7.0, 49.0, 0.1):
            for got, want in zip(jit(halves)(X, n), halves(X, n)):
                np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(jit(whole)(X[4:]), whole(X[4:]))


@pytest.mark.parametrize("n", [6, 49, 1000])
def test_scalar_quotients_are_numpys(n):
    @jit
    def bins(top):
        edges = np.zeros(n)
        for i in range(n):
            edges[i] = top * (i + 1) / n
        return edges

    for top in X[4:40]:
        np.testing.assert_array_equal(bins(float(top)), np.array([float(top) * (i + 1) / n for i in range(n)]))


def test_signs_of_zero_divisors():
    with np.errstate(all="ignore"):
        for c in (0.0, -0.0, np.inf, -np.inf, np.nan):
            np.testing.assert_array_equal(jit(lambda x, c: np.sign(x / c))(X, c), np.sign(X / c))


KNOWN = """
import sys, numpy as np
from wengert import jit
dtype = np.dtype(sys.argv[1])

def f(c, a):
    a = a.copy()
    a[::-1] = dtype.type(0)
    y = z = a
    if c > 0:
        y = 7 % a
        z = 100 // a
    return y, z

for engine in ("xla", "numpy"):
    a = np.arange(4).astype(dtype)
    with np.errstate(all="ignore"):
        for c in (1.0, -1.0):
            got, want = jit(f, engine=engine, exact=sys.argv[2] == "exact")(c, a), f(c, a)
            assert all((x == y).all() and x.dtype == y.dtype for x, y in zip(got, want)), (got, want)
print("done")
"""


@pytest.mark.parametrize("exact", ["exact", "not"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_a_zero_that_is_known_when_xla_compiles_ends_no_process(dtype, exact):
    ran = subprocess.run([sys.executable, "-c", KNOWN, dtype, exact], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, "done"), ran.stderr
