"""Long rows sorted digit by digit: the same order as NumPy's stable one, on every kind of number."""

import importlib.util

import jax
import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends.xla import XLA, radix_sort
from wengert.ir.ops.sorting import sort

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -5e-324, 1.0, -1.0]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]


def drawn(dtype, shape, kind, rng):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        x = (rng.normal(size=shape) * 10.0 ** rng.integers(-9 if dtype.itemsize > 2 else -2, 4, shape)).astype(dtype)
        chosen = rng.random(shape) < (0.0, 0.3, 0.9)[kind]
        x[chosen] = rng.choice(np.array(SPECIAL).astype(dtype), int(chosen.sum()))
        return x
    info = np.iinfo(dtype)
    low, high = ((info.min, info.max), (max(info.min, -3), 3), (info.max - 2, info.max))[kind]
    return rng.integers(low, high, shape, dtype, endpoint=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders(dtype):
    rng = np.random.default_rng(len(dtype))
    run = jit(lambda x: (np.sort(x, kind="stable"), np.argsort(x, kind="stable")), engine="xla")
    for n in (radix_sort.LEAST, 777):
        for kind in range(3):
            x = drawn(dtype, n, kind, rng)
            values, order = run(x)
            np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
            assert values.tobytes() == np.take(x, order).tobytes() and values.dtype == x.dtype


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_along_every_axis_and_what_is_carried_along(axis):
    rng = np.random.default_rng(3)
    shape = [3, 2, 4]
    shape[axis] = 600
    x, y, z = drawn("f8", shape, 1, rng), rng.normal(size=shape).astype("f4"), rng.random(shape) < 0.5
    order = np.argsort(x, axis, kind="stable")
    with jax.enable_x64(True):
        found = jax.jit(lambda *xs: XLA[sort](*xs, axis=axis, num_keys=1, stable=True))(x, y, z)
    for got, a in zip(found, (x, y, z), strict=True):
        np.testing.assert_array_equal(got, np.take_along_axis(a, order, axis))


def test_wide_digits():
    x = drawn("f8", radix_sort.MANY + 5, 1, np.random.default_rng(0))
    np.testing.assert_array_equal(jit(lambda x: np.argsort(x, kind="stable"), engine="xla")(x), np.argsort(x, kind="stable"))


def test_other_orders_are_left_to_xla():
    """Several keys, short rows, and no machine code."""
    x = np.random.default_rng(1).normal(size=700).round(1)
    keys, short, plain = (lambda x: np.lexsort((x, x > 0.0))), (lambda x: np.argsort(x[:9], kind="stable")), lambda x: np.argsort(x, kind="stable")
    for function, native in ((keys, True), (keys, False), (short, True), (plain, False)):
        np.testing.assert_array_equal(jit(function, engine="xla", native=native)(x), function(x))


def test_derivatives():
    """Ours are of the op; those that JAX takes of the program are of its own sort."""
    x, w = np.random.default_rng(2).normal(size=600), np.linspace(0.0, 1.0, 600)
    loss = lambda x: (np.sort(x) * w).sum()
    want = w[np.argsort(np.argsort(x))]
    np.testing.assert_allclose(jit(grad(loss), engine="xla")(x), want)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(lambda x: (XLA[sort](x, axis=0, num_keys=1, stable=True)[0] * w).sum())(x), want)
