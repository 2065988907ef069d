"""Arrays that JAX's functions have made in a trace are what they are outside: nobody writes into them, their methods
are JAX's, and what JAX answers with the numbers in hand alone is left to plain Python."""

import warnings

import jax
import numpy as np
import pytest
from jax import numpy as jnp

from wengert import Fallback, jit

X = np.array([1.0, 3.0, 2.0])
TABLE = jnp.array([3.0, 1.0, 2.0])


def kept(x):
    y = jnp.sin(x)
    before = y
    y += 1.0
    return before, y


def kept_of_an_operator(x):
    y = -(jnp.sin(x) * 2.0)
    before = y
    y *= x
    return before, y


def kept_of_a_constant(x):
    y = TABLE * x
    before = y
    y -= 1.0
    return before, y


def kept_in_a_loop(x):
    y, moved = jnp.asarray(x), 0.0
    for _ in range(5):
        before = y
        y += jnp.cos(y)
        moved = moved + (y - before).sum()
    return y, moved


def kept_in_a_branch(x):
    y = jnp.asarray(x)
    if x[0] > 0:
        y = y * 2.0
    before = y
    y += 1.0
    return before, y


def kept_of_a_row(x):
    y = jnp.outer(x, x)
    row = y[0]
    row += 1.0
    return y, row


MADE = {
    "+=": kept,
    "+= of an operator's result": kept_of_an_operator,
    "+= of a constant's product": kept_of_a_constant,
    "+= in a loop": kept_in_a_loop,
    "+= after a branch": kept_in_a_branch,
    "+= of a row": kept_of_a_row,
    "sort": lambda x: (-jnp.asarray(x)).sort(),
    "argsort": lambda x: jnp.asarray(x).argsort(descending=True),
    "astype of nan": lambda x: (jnp.asarray(x) * jnp.nan).astype(jnp.int32),
    "astype of what is too large": lambda x: (jnp.asarray(x) * 1e30).astype(jnp.int32),
    "isinstance": lambda x: x * 2.0 if isinstance(jnp.sin(x), jax.Array) else x,
    "isinstance of ndarray": lambda x: x * 2.0 if isinstance(jnp.sin(x), np.ndarray) else x,
    "hasattr": lambda x: x * 2.0 if hasattr(jnp.sin(x), "at") else x,
    "at": lambda x: jnp.sin(x).at[0].set(5.0),
    "at a mask of a constant": lambda x: (x + TABLE).at[jnp.array([True, False, False])].set(jnp.array([7.0])),
}


def agree(got, wanted):
    assert jax.tree.structure(got) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("given", [np.array, jnp.array])
def test_what_jax_makes_is_as_outside(name, given):
    f = MADE[name]
    agree(jit(f)(given(X)), f(jnp.array(X)))


LEFT = {
    "nonzero": lambda x: jnp.nonzero(x > 1.5),
    "unique": lambda x: jnp.unique(x),
    "a mask": lambda x: jnp.sin(x).at[jnp.asarray(x) > 1.5].get(),
    "a size": lambda x: jnp.arange(jnp.argmax(x)),
    "a key": lambda x: jax.random.normal(jax.random.fold_in(jax.random.key(0), jnp.argmax(x)), (3,)),
    "isinstance of a number": lambda x: isinstance(jnp.sum(x), jax.Array),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_needs_the_numbers_is_left_to_python(name):
    f = LEFT[name]
    with pytest.warns(Fallback):
        agree(jit(f, whole=False)(X), f(X))


def test_what_is_no_array_of_jax_is_written_in_place():
    def f(x):
        y = x * 2.0
        jnp.sin(y)
        z = y
        z += 1.0
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        agree(jit(f)(X), f(X))


def test_plain_python_hands_jax_arrays_to_what_is_written_with_jax():
    def f(x):
        names = x.tobytes()
        y = x.at[0].set(5.0)
        y += len(names)
        return y

    x = jnp.array(X)
    with pytest.warns(Fallback):
        agree(jit(f, whole=False)(x), f(x))
