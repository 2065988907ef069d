"""np.vectorize: the function on Python numbers, its first results, on NumPy's scalars, decide the dtypes."""

import math

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError

X = np.arange(6.0).reshape(2, 3) - 2


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@np.vectorize
def between(t):
    return min(max(t, 0.0), 1.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t * 2 + 1,
        lambda t: (t + 1, t > 0, abs(t)),
        lambda t, k=2: t**k,
        lambda t: 0.0 if t < 0 else math.sqrt(t),
        lambda t: not t,
        math.exp,
        np.cos,
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i1", "?"])
def test_elements(function, dtype):
    check_same(lambda x: np.vectorize(function)(x), X.astype(dtype))


def test_operands_broadcast_and_loops_are_batched():
    check_same(lambda x, y: np.vectorize(gcd)(x, y), np.arange(1, 7), np.arange(3, 9)[:, None])
    check_same(lambda x: np.vectorize(lambda t, u: t > u)(x, x[0]), X)
    check_same(lambda x: np.vectorize(lambda t, u: t + u)(x, 2), X)
    check_same(lambda x: between(x), X)
    check_same(lambda x: between(x[0, 0]), X)
    check_same(lambda x: np.vectorize(lambda t: t)(3.0 * x.sum()), X)
    check_same(lambda x: np.vectorize(lambda t: t.imag)(x), X + 1j)


def test_elements_are_python_numbers():
    check_same(lambda x: np.vectorize(lambda t: 1 / t)(x), X[:, ::-1])  # ZeroDivisionError
    check_same(lambda x: np.vectorize(lambda t: t * 100)(x), np.arange(3, dtype=np.int8))  # OverflowError
    check_same(lambda x: np.vectorize(lambda t: t * 50)(x), np.arange(3, dtype=np.int8))


def test_types_and_nothing():
    check_same(lambda x: np.vectorize(lambda t: 0 if t < 0 else t * 1.5, otypes=[float])(x), X)
    check_same(lambda x: np.vectorize(lambda t: (t, 2), otypes="fi")(x), X)
    check_same(lambda x: np.vectorize(lambda t: t, otypes="d")(x[:0]), X)
    check_same(lambda x: np.vectorize(lambda t: t)(x[:0]), X)  # ValueError


def test_derivatives_and_code_that_is_not_called():
    f = lambda x: np.vectorize(lambda t: t**3 if t > 0 else -t)(x).sum()
    assert np.array_equal(grad(f)(X), np.where(X > 0, 3 * X**2, -1.0))


def test_what_is_refused():
    for f in (
        lambda x: np.vectorize(lambda t: 0 if t < 0 else t * 1.5)(x),  # NumPy makes ints of all, for the first is one
        lambda x: np.vectorize(lambda t: t * 1.5, otypes=[int])(x),
        lambda x: np.vectorize(lambda t: t + 1, excluded=[1])(x),
        lambda x: np.vectorize(lambda t: t + 1, cache=True)(x),
        lambda x: np.vectorize(lambda t: t + 1)(t=x),
        lambda x: np.vectorize(np.sum, signature="(n)->()")(x),
        lambda x: np.vectorize(lambda t: t + 1)(x.astype(np.uint64)),
        lambda x: np.vectorize(lambda t: "no")(x),
    ):
        with pytest.raises(UnsupportedError):
            jit(f)(X)
