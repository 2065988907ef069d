"""Modules of equinox and flax and transformations of optax, called in jitted functions, are part of the program."""

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from wengert import jit, value_and_grad

X = np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2)


@pytest.fixture(autouse=True)
def short():
    with jax.enable_x64(False):
        yield


def agree(f, *args):
    out, expected = jit(f)(*args), f(*args)
    assert jax.tree.structure(out) == jax.tree.structure(expected)
    for x, y in zip(jax.tree.leaves(out), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)
        assert x.dtype == y.dtype


def test_equinox():
    eqx = pytest.importorskip("equinox")
    key = jax.random.key(0)
    mlp = eqx.nn.MLP(2, 1, 8, 2, key=key)

    class Shifted(eqx.Module):
        inner: eqx.nn.Linear
        by: jax.Array

        def __call__(self, x):
            return jnp.tanh(self.inner(x)) + self.by

    net = Shifted(eqx.nn.Linear(2, 3, key=key), jnp.ones(3))
    agree(lambda x: jax.vmap(mlp)(x), X)
    agree(lambda net, x: net(x[0]), net, X)
    agree(lambda x: net(x[1]), X)


def test_flax_and_optax():
    linen, optax = pytest.importorskip("flax.linen"), pytest.importorskip("optax")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(1)(linen.relu(linen.Dense(5)(x)))

    net, tx, y = Net(), optax.adam(1e-2), X[:, :1] * 2
    params = net.init(jax.random.key(0), X)
    agree(lambda p, x: net.apply(p, x), params, X)

    @jit
    def train(params, state, x, y):
        loss, slopes = value_and_grad(lambda p: np.mean((net.apply(p, x) - y) ** 2))(params)
        updates, state = tx.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, loss

    def in_jax(params, state, x, y):
        loss, slopes = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, x) - y) ** 2))(params)
        updates, state = tx.update(slopes, state, params)
        return optax.apply_updates(params, updates), state, loss

    a = b = (params, tx.init(params))
    for _ in range(3):
        *a, loss = train(*a, X, y)
        *b, expected = in_jax(*b, X, y)
        np.testing.assert_allclose(loss, expected, rtol=1e-4)


def test_a_module_of_nnx_that_changes():
    nnx = pytest.importorskip("flax.nnx")
    net = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    f = jit(lambda x: net(x))
    first = f(X)
    net.kernel[...] = net.kernel[...] * 2
    np.testing.assert_allclose(f(X), net(X), rtol=1e-6)
    assert not np.allclose(first, f(X))
