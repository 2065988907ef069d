"""JAX's functions called with traced values are part of the program, without `from_jax`: the numbers are those of plain
Python, and what the functions read outside is read anew where it has changed."""

import functools

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

from wengert import UnsupportedError, from_jax, grad, jit
from wengert.tests.helpers.draws import function

X = np.arange(1.0, 4.0)
C = jnp.array([1.0, 2.0, 3.0])
silu = jax.jit(lambda x: x * jax.nn.sigmoid(x))


@jax.custom_jvp
def sine(x):
    return jnp.sin(x)


sine.defjvp(lambda p, t: (jnp.sin(p[0]), 3 * t[0] * jnp.cos(p[0])))

CALLS = {
    "jnp": lambda x: jnp.where(x > 1, jnp.sin(x), 0) * np.cos(x),
    "jax.nn": lambda x: jax.nn.softmax(x),
    "lax": lambda x: lax.mul(x, jnp.asarray(x)),
    "jax.scipy": lambda x: jax.scipy.special.logsumexp(x) + jnp.linalg.norm(x),
    "jitted": lambda x: silu(x),
    "with a rule of its own": lambda x: sine(x),
    "grad": lambda x: jax.grad(lambda y: (y**2).sum())(x),
    "over a traced value": lambda x: jax.grad(lambda y: (y * x).sum())(2.0),
    "vmap over a traced value": lambda x: jax.vmap(lambda y: y * x[0])(x),
    "scan": lambda x: lax.scan(lambda c, y: (c + y, c * y), 0.0, x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, y: y * 2 + i, x),
    "cond": lambda x: lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x),
    "a constant": lambda x: jnp.dot(C, x) + C.dot(x) + C * x,
    "in a loop": lambda x: [x := jnp.tanh(x) for _ in range(3)][-1],
    "trees": lambda x: jax.tree.map(jnp.sin, {"a": x, "b": [x[0]]}),
    "partial": lambda x: functools.partial(jnp.power, x)(2),
    "einsum": lambda x: jnp.einsum("i,i->", x, x),
    "without traced values": lambda x: x + jnp.zeros(3) + jax.random.uniform(jax.random.key(3), (3,)),
}


def agree(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f = CALLS[name]
    agree(jit(f)(jnp.asarray(X)), f(jnp.asarray(X)))
    agree(jit(f)(X), f(jnp.asarray(X)))


def test_they_are_differentiated_with_their_own_rules():
    np.testing.assert_allclose(grad(lambda x: (sine(x) * x).sum())(X), 3 * np.cos(X) * X + np.sin(X))
    np.testing.assert_allclose(grad(lambda x: lax.scan(lambda c, y: (c * y, c), 1.0, x)[0])(X), [6.0, 3.0, 2.0])


def test_32_bits_stay_where_jax_has_no_others():
    with jax.enable_x64(False):
        x = jnp.arange(3.0)
        f = lambda key, x: x + jax.random.normal(key, (3,)) * jnp.linspace(0, 1, 3)
        key = jax.random.PRNGKey(7)
        out = jit(f)(key, x)
        assert out.dtype == np.float32
        np.testing.assert_array_equal(out, f(key, x))
        assert from_jax(lambda x: x * jnp.linspace(0, 1, 3))(X).dtype == np.float64  # as it says


def test_keys_are_arguments():
    def noisy(key, x):
        for _ in range(3):
            key, now = jax.random.split(key)
            x = x + jax.random.normal(now, x.shape)
        return x

    f = jit(noisy)
    for seed in (0, 1):
        key = jax.random.PRNGKey(seed)
        np.testing.assert_allclose(f(key, C), noisy(key, C), rtol=1e-6)
    with pytest.raises(UnsupportedError, match="PRNGKey"):
        f(jax.random.key(0), C)


def test_what_acts_is_refused_with_the_line():
    with pytest.raises(UnsupportedError, match="has effects") as error:
        jit(lambda x: (jax.debug.print("{}", x), x)[1])(X)
    assert "test_jax_calls.py" in str(error.value)


SCALE, TABLE, COUNTS = 2.0, {"w": jnp.array(2.0)}, [np.array([2.0])]


class Settings:
    scale = 2.0


settings = Settings()


def scaled(y):
    return helper(y)


def helper(y):
    return y * SCALE * settings.scale


OUTSIDE = {
    "a global of a helper": (lambda x: jax.vmap(scaled)(x), lambda v: globals().update(SCALE=v)),
    "an attribute": (lambda x: lax.scan(lambda c, y: (c + y * settings.scale, c), 0.0, x)[0],
                     lambda v: setattr(settings, "scale", v)),
    "a dict": (lambda x: jax.vmap(lambda t, y: t["w"] * y, (None, 0))(TABLE, x),
               lambda v: TABLE.update(w=jnp.array(v))),
    "an ndarray in a list": (lambda x: jax.vmap(lambda y: y * COUNTS[0][0])(x), lambda v: COUNTS[0].fill(v)),
}  # fmt: skip


@pytest.mark.parametrize("what", OUTSIDE)
def test_what_is_read_outside_is_read_again(what):
    f, change = OUTSIDE[what]
    g = jit(f)
    before = [np.asarray(g(X)) for _ in range(3)][-1]
    change(3.0)
    try:
        np.testing.assert_allclose(g(X), before * 1.5)
    finally:
        change(2.0)


AT = {
    "set": lambda x: x.at[0].set(5.0),
    "where indices repeat": lambda x: x.at[jnp.array([0, 2, 0])].add(x),
    "a slice": lambda x: x.at[1:].multiply(3.0),
    "a place that data decide": lambda x: x.at[jnp.argmin(x)].set(x[1] * 9),
    "out of range": lambda x: x.at[17].set(3.0) + x.at[17].get(mode="fill", fill_value=-1.0),
    "a mask": lambda x: x.at[x > 2].set(0.0) + x.at[x > 2].add(1.0),
    "a function": lambda x: x.at[0].apply(jnp.sin),
    "of what was computed": lambda x: (x * 2).at[None].min(3.0),
    "isinstance": lambda x: x * isinstance(x, jax.Array) + hasattr(x, "at"),
    "block_until_ready": lambda x: (x + 1).block_until_ready(),
}


@pytest.mark.parametrize("name", AT)
def test_arrays_answer_as_those_of_jax_where_such_are_given(name):
    f = AT[name]
    out, expected = jit(f)(C), f(C)
    np.testing.assert_allclose(out, expected)
    assert out.dtype == expected.dtype


def test_in_place_operators_make_new_arrays():
    def f(x):
        y = x
        x += 1.0
        return x, y

    out = jit(f)(C)
    np.testing.assert_allclose(out, [C + 1, C])


def test_ndarrays_have_what_ndarrays_have():
    with pytest.raises(AttributeError, match="no attribute 'at'"):
        jit(lambda x: x.at[0].set(1.0))(X)
    assert jit(lambda x: x * isinstance(x, jax.Array))(X).sum() == 0.0


def test_a_scatter_with_a_function_is_imported_as_it_is():
    f = from_jax(lambda x: x.at[1].apply(jnp.exp))
    np.testing.assert_allclose(jit(f)(X), [1.0, np.exp(2.0), 3.0])


@pytest.mark.parametrize("name", ["WEIGHTS", "d['w']"])
@pytest.mark.parametrize("call", ["sum()", "reshape(2, 2).T", "copy()", "max()", "astype(np.float32)", "ravel()[1]", "item(2)", "take(1)"])
def test_methods_of_arrays_outside(name, call):
    text = "import numpy as np\nfrom jax import numpy as jnp\nWEIGHTS = jnp.arange(4.0)\nd = {'w': WEIGHTS}\n"
    f = function(text + f"def f(x): return x.sum() + np.asarray({name}.{call}).sum()\n", f"{name}.{call}")
    compiled = jit(f)
    for x in (np.ones(3), jnp.ones(3)):
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-6)


def stored(x, n):
    x[0] = 5.0
    return x


def stored_into_a_part(x, n):
    row = x[1:]
    row[0] = 5.0
    return x


def added_to_a_part(x, n):
    x[1:] += 5.0
    return x


def stored_into_what_jax_made(x, n):
    y = jnp.sin(n)
    y[:] = 5.0
    return y


def stored_as_data_decide(x, n):
    y = x if n[0] > 1 else n
    y[0] = 5.0
    return y


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "f", [stored, stored_into_a_part, added_to_a_part, stored_into_what_jax_made, stored_as_data_decide]
)
def test_stores_into_arrays_of_jax_are_refused_as_jax_does(f, whole):
    compiled, x, n = jit(f, whole=whole), jnp.asarray(X), X + 1
    for call in (f, compiled, compiled):
        with pytest.raises(TypeError, match="JAX arrays are immutable and do not support in-place item assignment") as told:
            call(x, n)
    assert any("x.at[index].set(value)" in note for note in told.value.__notes__)
    assert n.tolist() == [2.0, 3.0, 4.0]


def test_arrays_of_numpy_are_stored_into_beside_those_of_jax():
    def f(x, n):
        n[0] = 5.0
        y = x if n[1] > 100 else n
        y[1] = 7.0
        return n

    n = X + 1
    jit(f)(jnp.asarray(X), n)
    assert n.tolist() == [5.0, 7.0, 4.0]
