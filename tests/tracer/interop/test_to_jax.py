"""`to_jax`: what JAX's users get of a NumPy function: jax arrays, pytrees, integer arguments, both modes at any order."""

import dataclasses

import jax
import numpy as np
import pytest
from jax import numpy as jnp

import wengert
from wengert import UnsupportedError, to_jax


def root(x, a):
    """sqrt(a) by Newton's steps, as many as it takes."""
    while abs(x * x - a) > 1e-6 * a:
        x = 0.5 * (x + a / x)
    return x


def power(x, n, kind):
    y = np.ones(len(x))
    for _ in range(n):
        y *= x
    return y if kind == "plain" else y[::-1]


def test_a_while_loop_has_derivatives_in_both_modes():
    f = to_jax(root)
    slope = 1 / (2 * np.sqrt(7.0))
    with pytest.raises(ValueError, match="[Rr]everse-mode"):  # what JAX itself says of such a loop
        jax.grad(lambda x: jax.lax.while_loop(lambda x: x > 1.0, lambda x: x / 2, x))(8.0)
    assert jax.grad(f, 1)(2.0, 7.0) == pytest.approx(slope, rel=1e-3)
    assert jax.jit(jax.grad(f, 1))(2.0, 7.0) == pytest.approx(slope, rel=1e-3)
    assert jax.jvp(f, (2.0, 7.0), (0.0, 1.0))[1] == pytest.approx(slope, rel=1e-3)
    value, push = jax.linearize(lambda a: f(2.0, a), 7.0)
    assert push(3.0) == pytest.approx(3 * slope, rel=1e-3) and value == pytest.approx(7**0.5, rel=1e-4)


@pytest.mark.parametrize("order", [(jax.jacfwd, jax.jacrev), (jax.jacrev, jax.jacrev), (jax.jacrev, jax.jacfwd)])
def test_a_hessian_of_a_loop_of_stores(order):
    f = to_jax(lambda x: power(x, 3, "plain").sum())
    outer, inner = order
    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jax.jit(jax.vmap(outer(inner(f))))(jnp.stack([x, x]))[1], np.diag([6.0, 12.0]))


def test_containers_static_arguments_and_integers():
    f = to_jax(lambda params, i, kind: {"y": power(params["w"], 2, kind)[i] * params["b"], "i": i * 2})
    params = {"w": jnp.array([1.0, 2.0, 3.0]), "b": jnp.float32(10.0)}
    out = f(params, np.int64(2), "plain")
    assert isinstance(out["y"], jax.Array) and out["y"] == 90.0 and out["i"] == 4
    slopes = jax.grad(lambda p, i: f(p, i, "plain")["y"])(params, jnp.int32(2))
    np.testing.assert_allclose(slopes["w"], [0.0, 0.0, 60.0])
    assert slopes["b"] == 9.0
    both = jax.grad(lambda p, i: f(p, i, "other")["y"], (0, 1), allow_int=True)(params, jnp.int32(2))
    assert both[0]["b"] == 1.0 and both[1].dtype == jax.dtypes.float0


def test_complex_numbers_have_jax_own_cotangents():
    f, g = to_jax(lambda z: (z * z).sum()), lambda z: (z * z).sum()
    z = jnp.array([1.0 + 2.0j, 0.5 - 1.0j])
    np.testing.assert_allclose(jax.grad(f, holomorphic=True)(z), jax.grad(g, holomorphic=True)(z))
    loss = lambda f: lambda z: jnp.abs(f(z)) ** 2
    np.testing.assert_allclose(jax.grad(loss(f))(z), jax.grad(loss(g))(z), rtol=1e-6)


def test_dtypes_follow_the_setting_of_jax():
    f = to_jax(lambda x: (x * np.arange(3.0), x.sum(), np.arange(3)))
    x = np.ones(3, np.float32)
    with jax.enable_x64(False):
        assert [y.dtype.name for y in f(x)] == ["float32", "float32", "int32"]
        assert [y.dtype.name for y in jax.jit(f)(x)] == ["float32", "float32", "int32"]
    with jax.enable_x64(True):
        assert [y.dtype.name for y in jax.jit(f)(x)] == [y.dtype.name for y in f(x)] == ["float64", "float32", "int64"]


def fails(x):
    assert x.sum() > 0, "must be positive"
    return np.log(x)


def test_checks():
    x = -jnp.ones(2)
    with pytest.raises(AssertionError, match="must be positive"):
        to_jax(fails)(x)
    with pytest.raises(Exception, match="must be positive"):
        jax.block_until_ready(jax.jit(to_jax(fails))(x))
    dropped = to_jax(fails, checks="drop")
    assert np.isnan(dropped(x)).all() and np.isnan(jax.jit(dropped)(x)).all()
    assert "callback" not in str(jax.make_jaxpr(dropped)(x)) and "callback" in str(jax.make_jaxpr(to_jax(fails))(x))
    with pytest.raises(ValueError, match="checks='raise' or checks='drop'"):
        to_jax(fails, checks="both")
    with pytest.raises(TypeError, match="takes a function"):
        to_jax(3.0)


def test_what_is_compiled_or_a_derivative_goes_too():
    cubed = lambda x: x**3
    assert jax.grad(to_jax(wengert.grad(cubed)))(2.0) == 12.0
    assert jax.jit(to_jax(wengert.jit(cubed)))(2.0) == 8.0
    np.testing.assert_allclose(jax.jit(to_jax(wengert.vmap(cubed)))(jnp.arange(3.0)), [0.0, 1.0, 8.0])


def test_own_rules_hold():
    @wengert.custom_vjp
    def clipped(x):
        return x * 2

    clipped.defvjp(lambda x: (x * 2, x), lambda x, g: (np.clip(g, -1, 1),))
    f = to_jax(lambda x: 10 * clipped(x))
    assert jax.grad(f)(3.0) == jax.jit(jax.vmap(jax.grad(f)))(jnp.ones(2))[1] == 1.0
    with pytest.raises(Exception, match="forward"):
        jax.block_until_ready(jax.jit(lambda x: jax.jvp(f, (x,), (x,))[1])(3.0))


def test_sizes_must_be_known():
    with pytest.raises(UnsupportedError, match="static_argnums"):
        jax.jit(to_jax(lambda x, n: np.zeros(n) + x))(1.0, 3)
    assert jax.jit(to_jax(lambda x, n: np.zeros(n) + x), static_argnums=1)(1.0, 3).shape == (3,)


def test_trees_of_registered_classes():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        x: jax.Array
        v: jax.Array

    def step(state, dt):
        return State(state.x + dt * state.v, state.v - dt * np.sin(state.x))

    f = to_jax(step)
    state = State(jnp.array([0.1]), jnp.array([0.0]))
    moved = jax.jit(f)(state, 0.5)
    assert type(moved) is State and moved.v == pytest.approx(-0.5 * np.sin(0.1))
    energy = lambda s: (f(s, 0.5).v ** 2).sum()
    assert type(jax.grad(energy)(state)) is State
    here = wengert.jit(step)(State(np.array([0.1]), np.array([0.0])), 0.5)
    assert type(here) is State and isinstance(here.v, np.ndarray)
