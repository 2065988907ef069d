"""Compiled functions called while jax traces: the same values as outside in every transform, derivatives of all orders in
both modes, checks that fail the program, and a refusal with the line where only data could decide."""

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp
from jax.sharding import PartitionSpec

from wengert import UnsupportedError, jit, vmap

X = np.array([0.4, 1.5, 0.9, 1.2])


def halved(x):
    y = x.sum()
    while y > 1.0:
        y = np.sin(y) * y / 3 + 0.9
    return y


def stored(x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = np.sin(x[i]) * y[i - 1] + x[i - 1] ** 2
    return y.sum()


def checked(x):
    if x.min() < 0:
        raise ValueError("a negative length")
    i = int(x[1])
    return np.sqrt(x[i]) * x.sum()


def selected(x):
    return (x[x > 0.8] ** 2).sum()


def searched(x):
    for i in range(len(x)):
        if x[i] > 1.0:
            return x[i] * x[0]
    return x[0]


PROGRAMS = [halved, checked, selected, searched]


def in_numbers(f, x, steps):
    """The derivative of a function of an ndarray along `steps`, by differences."""
    h = 1e-6
    return (f(x + h * steps) - f(x - h * steps)) / (2 * h)


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_every_transform_gives_what_a_call_outside_gives(f):
    g, x, two = jit(f), jnp.asarray(X), jnp.asarray(np.stack([X, X[::-1]]))
    value, other = f(X), f(X[::-1].copy())
    slope = np.array([in_numbers(f, X, e) for e in np.eye(4)])
    mirrored = np.array([in_numbers(f, X[::-1].copy(), e) for e in np.eye(4)])
    close = lambda a, b: np.testing.assert_allclose(np.asarray(a), b, rtol=1e-6, atol=1e-8)
    close(jax.jit(g)(x), value)
    close(jax.jit(jax.vmap(g))(two), [value, other])
    close(lax.scan(lambda c, row: (c + g(row), None), 0.0, two)[0], value + other)
    close(jax.jit(lambda x: lax.cond(x[0] > 0, g, lambda x: 0.0, x))(x), value)
    close(lax.while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, g(c[2]), c[2]), (0, 0.0, x))[1], value)
    close(jax.grad(g)(x), slope)
    close(jax.jit(jax.vmap(jax.grad(g)))(two), [slope, mirrored])
    close(jax.jit(jax.grad(jax.checkpoint(g)))(x), slope)
    close(jax.jvp(g, (x,), (jnp.ones(4),))[1], slope.sum())
    twice = lambda x: lax.scan(lambda c, _: (c + g(x), None), 0.0, None, length=2)[0]
    close(jax.jit(jax.grad(twice))(x), 2 * slope)
    assert jax.eval_shape(g, x).dtype == np.float64
    assert jax.make_jaxpr(g)(x).out_avals[0].shape == ()


def test_second_derivatives_agree_whichever_modes_they_are_made_in():
    g, x = jit(stored), jnp.asarray(X)
    given = np.asarray(jax.jit(jax.jacfwd(jax.grad(g)))(x))
    np.testing.assert_allclose(jax.jit(jax.jacrev(jax.grad(g)))(x), given, rtol=1e-9, atol=1e-12)
    slope = jax.jit(jax.grad(g))
    np.testing.assert_allclose(given @ np.ones(4), in_numbers(slope, x, np.ones(4)), rtol=1e-5)


@pytest.mark.parametrize("f", [checked, stored], ids=lambda f: f.__name__)
def test_with_64_bit_types_off_results_have_32(f):
    with jax.enable_x64(False):
        x, g = jnp.asarray(X, np.float32), jit(f)
        out, slope = jax.jit(jax.value_and_grad(g))(x)
        twice = jax.jit(jax.vmap(jax.grad(g)))(jnp.stack([x, x]))
        doubled = jax.jit(jit(lambda x: x * np.arange(4.0)))(x)
    assert out.dtype == slope.dtype == twice.dtype == doubled.dtype == np.float32
    np.testing.assert_allclose(out, f(X), rtol=1e-5)
    np.testing.assert_allclose(twice[1], [in_numbers(f, X, e) for e in np.eye(4)], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("f", [halved, searched], ids=lambda f: f.__name__)
def test_shard_map(f):
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    g = jit(f)
    shared = jax.shard_map(
        lambda rows: g(rows[0])[None], mesh=mesh, in_specs=PartitionSpec("d"), out_specs=PartitionSpec("d")
    )
    rows = jnp.asarray(X)[None]
    np.testing.assert_allclose(jax.jit(shared)(rows), [f(X)])
    slope = jax.jit(jax.grad(lambda rows: shared(rows).sum()))(rows)[0]
    np.testing.assert_allclose(slope, jax.jit(jax.grad(g))(jnp.asarray(X)))


FAILING = {
    "jit": lambda g, x: jax.jit(g)(x),
    "dead code": lambda g, x: jax.jit(lambda x: (g(x), x + 1)[1])(x),
    "vmap": lambda g, x: jax.jit(jax.vmap(g))(jnp.stack([-x, x])),
    "grad": lambda g, x: jax.jit(jax.grad(g))(x),
    "scan": lambda g, x: lax.scan(lambda c, row: (c + g(row), None), 0.0, jnp.stack([x, x]))[0],
    "remat": lambda g, x: jax.jit(jax.grad(jax.checkpoint(g)))(x),
}


@pytest.mark.parametrize("transform", FAILING)
def test_a_failed_check_fails_the_program(transform):
    g, run = jit(checked), FAILING[transform]
    jax.block_until_ready(run(g, jnp.asarray(X)) if transform != "vmap" else jax.vmap(g)(jnp.stack([X, X])))
    with pytest.raises(Exception, match="a negative length") as failure:
        jax.block_until_ready(run(g, -jnp.asarray(X)))
        jax.effects_barrier()
    said = "\n".join([str(failure.value), *getattr(failure.value, "__notes__", ())])
    assert "if x.min() < 0:" in said


def test_without_compilation_it_is_the_exception_itself():
    g = jit(checked)
    with pytest.raises(ValueError, match="a negative length"):
        jax.grad(g)(-jnp.asarray(X))
    with pytest.raises(ValueError, match="a negative length"):
        jax.vmap(g)(jnp.stack([X, -X]))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        jax.grad(jit(lambda x, i: x[i]))(jnp.asarray(X), jnp.int64(9))


def test_a_check_on_the_side_that_is_not_taken_does_not_fail():
    g = jit(checked)
    out = jax.jit(lambda x: lax.cond(x[0] > 0, g, lambda x: x.sum(), x))(-jnp.asarray(X))
    assert out == -X.sum()


def by_value(x):
    return x if x[0] > 0 else None


def drawing(x):
    return x + np.random.normal()


KEPT = {}


def keeping(x):
    KEPT["x"] = x
    return x


def lasting(x, y):
    y[0] = x[0]
    return y


REFUSED = {
    "no value yet while jax traces": by_value,
    "draws random numbers": drawing,
    "stores outside itself": keeping,
    "changes an argument that is an ndarray": lasting,
    "how long a result is": lambda x: x[x > 1],
}
FIXED = np.zeros(3)


@pytest.mark.parametrize("reason", REFUSED)
@pytest.mark.parametrize("transform", [jax.jit, jax.vmap], ids=["jit", "vmap"])
def test_what_only_data_could_decide_is_refused(reason, transform):
    f = jit(REFUSED[reason])
    call = (lambda x: f(x, FIXED)) if REFUSED[reason] is lasting else f
    with pytest.raises(UnsupportedError, match=reason):
        transform(call)(jnp.asarray(X) if transform is jax.jit else jnp.stack([X, X]))
    assert not KEPT and not FIXED.any()


def test_arguments_that_jax_made_are_not_written():
    def change(x):
        x[0] = 3.0
        return x

    for called in (change, jit(change)):
        with pytest.raises(TypeError, match="JAX arrays are immutable"):
            jax.jit(called)(jnp.asarray(X))


def test_what_is_printed(capsys):
    def shown(x):
        print("it is", x)
        return x * x

    g = jit(shown)
    f = jax.jit(g)
    for _ in range(2):
        f(jnp.asarray(2.0)).block_until_ready()
    assert jax.grad(g)(3.0) == 6.0
    jax.effects_barrier()
    assert capsys.readouterr().out.split("it is ")[1:] == ["2.0\n", "2.0\n", "3.0\n"]
    with pytest.raises(UnsupportedError, match="no order in which its lanes print"):
        jax.vmap(g)(jnp.asarray(X))
    assert np.array_equal(vmap(shown)(X), X * X)


def test_a_call_of_what_jax_does_not_trace_is_made_at_once():
    g, there, other = jit(checked), jnp.asarray(X), -jnp.asarray(X)
    assert jax.jit(lambda x: x + g(there))(1.0) == 1.0 + checked(X)
    with pytest.raises(ValueError, match="a negative length"):
        jax.jit(lambda x: x + g(other))(1.0)


def test_values_of_a_trace_from_outside_are_told_of():
    with pytest.raises(UnsupportedError, match="read from outside the function"):
        jax.jit(lambda x: jit(lambda y: y * x)(x))(3.0)


def test_containers_and_objects():
    class Point:
        def __init__(self, x):
            self.x = x

    def f(given, kind):
        p = Point(given["a"])
        p.x = p.x * 2 if kind == "double" else p.x
        return {"out": [p.x, given["b"]], "kind": kind, "n": len(given)}

    g = jit(f)
    given = {"a": jnp.asarray(X), "b": (jnp.asarray(1.0), 3)}
    made = []
    jax.jit(lambda given: made.append(g(given, "double")) or made[0]["out"])(given)
    assert made[0]["kind"] == "double" and made[0]["n"] == 2
    out = jax.jit(lambda given: g({**given, "b": (given["b"][0], 3)}, "double")["out"])(given)
    assert np.array_equal(out[0], 2 * X) and out[1] == (1.0, 3)
