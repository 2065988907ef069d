"""Products are spelled as XLA's CPU compiler is fast at them; every spelling gives the product."""

import jax
import numpy as np
import pytest

from wengert import grad, jit
from wengert.backends.xla.linalg import product, spelling
from wengert.backends.xla.lower import lower

CASES = [  # shapes of x and y, contracted axes, dtype, spelling
    ((64, 64), (64, 64), ((0,), (0,)), "f8", "left_turned"),
    ((8, 8, 70), (8, 8, 65), ((1, 0), (1, 0)), "f8", "left_turned"),
    ((64, 5, 13), (64, 70), ((0,), (0,)), "f8", "left_turned"),
    ((300, 200), (300, 9), ((0,), (0,)), "f8", "right_turned"),
    ((300, 200), (300, 3, 3), ((0,), (0,)), "f4", "right_turned"),
    ((70, 6), (5, 70), ((0,), (1,)), "f8", "swapped_product"),
    ((7, 10, 6), (5, 2, 10, 7), ((0, 1), (3, 2)), "f8", "swapped_product"),
    ((300, 40), (9, 300), ((0,), (1,)), "f4", "swapped_product"),
    ((64, 64), (64, 70), ((1,), (0,)), "c16", "in_real_parts"),
    ((64, 65), (70, 64), ((0,), (1,)), "c8", "in_real_parts"),
    ((6, 5), (6,), ((0,), (0,)), "c16", "the_other_way_round"),
    ((6, 5), (6, 1), ((0,), (0,)), "c16", None),
    ((64, 64), (64, 64), ((1,), (0,)), "f8", None),
    ((64, 64), (64,), ((0,), (0,)), "f8", None),
    ((64, 64), (64, 64), ((0,), (0,)), "i8", None),
]


def drawn(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 9, shape) if dtype == "i8" else rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


@pytest.mark.parametrize("left, right, contract, dtype, name", CASES)
def test_a_spelling_is_the_product(left, right, contract, dtype, name):
    x, y = drawn(left, dtype, 0), drawn(right, dtype, 1)
    with jax.enable_x64(True):
        a, b = jax.numpy.asarray(x), jax.numpy.asarray(y)
        how = spelling(a, b, contract, ((), ()))
        assert (how and how.__name__) == name
        got = np.asarray(jax.jit(lambda a, b: product(a, b, contract=contract, batch=((), ())))(a, b))
    want = np.tensordot(x, y, contract)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4 if dtype in ("f4", "c8") else 1e-11, atol=1e-4 if dtype in ("f4", "c8") else 1e-11)


def test_derivatives_of_products_that_are_spelled_otherwise():
    """The gradient by the weights is x^T g; JAX can still differentiate the program."""
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(80, 70)), rng.normal(size=(70, 66))
    loss = jit(lambda x, w: np.tanh(x @ w).sum(), engine="xla")
    g = 1 - np.tanh(x @ w) ** 2
    np.testing.assert_allclose(jit(grad(lambda w: np.tanh(x @ w).sum()), engine="xla")(w), x.T @ g, rtol=1e-11)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(loss, argnums=1)(jax.numpy.asarray(x), jax.numpy.asarray(w)), x.T @ g, rtol=1e-11)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("f, axis", [(lambda s, a, v: s * a @ v, 1), (lambda s, a, v: v @ (s * a), 0)])
def test_a_large_matrix_that_is_computed_for_one_product_is_not_put_down(f, axis, dtype):
    rng = np.random.default_rng(3)
    a, v = rng.normal(size=(1 << 10, 1 << 10)).astype(dtype), rng.normal(size=1 << 10).astype(dtype)
    run = jit(f, engine="xla")
    got = run(1.5, a, v)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, f(1.5, a, v), rtol=1e-3 if dtype == "f4" else 1e-10, atol=1e-3 if dtype == "f4" else 1e-10)
    if jax.__version_info__ < (0, 10, 2):  # whose XLA multiplies by a function of its own, which wants the matrix
        return
    with jax.enable_x64(True):
        func = run.ir(1.5, a, v)
        compiled = jax.jit(lambda *xs: lower(func, xs)).lower(*[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in func.param_types]).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < a.nbytes // 2
