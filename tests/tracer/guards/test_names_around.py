"""What names from around a function hold is read as such wherever they stand: as keywords of the same name, and beside
parameters of inner functions and variables of comprehensions that are called alike."""

import numpy as np
import pytest

from wengert import jit

axis, w, keys, opts = (0,), np.ones(3), [1, 2], {"a": 1.0}


def weighed(x, axis=None, w=None, keys=None, opts=None):
    return (x * w).sum(axis) + len(keys) + opts["a"]


def keywords(x):
    return weighed(x, axis=axis, w=w, keys=keys, opts=opts)


def beside_a_lambda(x):
    same = lambda axis: axis
    return same(axis), weighed(x, axis=axis, w=w, keys=keys, opts=opts), [w + 0 for w in keys]


def beside_parameters(x):
    def inner(w, keys):
        axis = (0,)
        return w, keys, axis

    return inner(keys, w), x.sum(axis=axis), [axis + 0 for axis in keys], w * 2


def declared(x):
    def inner():
        global axis
        return x.sum(axis=axis), w

    return inner()


@pytest.mark.parametrize("f", [keywords, beside_a_lambda, beside_parameters, declared])
def test_globals_are_those_of_the_call(f, monkeypatch):
    space, compiled = globals(), jit(f)
    for name in ("axis", "w", "keys", "opts"):
        monkeypatch.setitem(space, name, space[name])
    for t in range(4):
        space.update(axis=[(0,), (1,), 0, (0, 1)][t], w=np.arange(3.0) + t, keys=[*keys, t] if t % 2 else keys)
        space["opts"] = {"a": opts["a"] + 1.5}
        if t == 2:
            keys.append(9)
            w[0] = 7
        x = np.arange(6.0).reshape(2, 3)
        np.testing.assert_equal(compiled(x), f(x))


@pytest.mark.parametrize("by", [lambda x, axis: np.max(x, axis=axis), lambda x, axis: x.sum(axis=axis)])
def test_tuples_of_functions_made_alike(by):
    def made(axis):
        return lambda x: by(x, axis=axis)

    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in ((0, 1), (1, 2), (0, 2), 0, None, (1, 2)):
        np.testing.assert_array_equal(jit(made(axis))(x), made(axis)(x))
