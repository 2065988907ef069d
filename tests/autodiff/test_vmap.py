"""vmap against a Python loop that stacks: functions, axes, containers, writes, nesting, derivatives, errors."""

import numpy as np
import pytest
from compare import agree

from wengert import UnsupportedError, grad, hessian, jit, vmap

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(5, 6)), RNG.normal(size=6)


def branches(x):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0:
            total = total + x[k] ** 2
        elif x[k] < -1:
            break
    return total


def halving(x):
    n = 0
    while np.abs(x).sum() > 1:
        x = x * 0.5
        n += 1
    return x, n


def stores(x):
    y = np.zeros((3, 2))
    y[:, 0] = x[::2]
    y[1:, 1] += x[:2]
    return y.T @ y, x[x > 0].sum()


LANES = [
    branches, halving, stores, np.sort, np.cumsum, np.tanh, np.argmax, np.fft.rfft, np.median, np.linalg.norm,
    lambda x: x.reshape(2, 3) @ x.reshape(3, 2), lambda x: np.linalg.solve(np.outer(x, x) + 9 * np.eye(6), x), lambda x: x[np.argsort(-x)],
    lambda x: np.where(x > 0, x, 0.0).mean(), lambda x: np.convolve(x, np.array([1.0, -1.0])), lambda x: (x[1:], {"first": x[0], "same": x}),
    lambda x: np.einsum("i,j->ij", x, x)[1], lambda x: 3.0, lambda x: np.searchsorted(np.sort(x), 0.5), lambda x: np.interp(0.3, np.arange(6.0), x),
]  # fmt: skip


def stacked(results):
    if isinstance(results[0], tuple):
        return tuple(stacked(list(part)) for part in zip(*results))
    if isinstance(results[0], dict):
        return {k: stacked([r[k] for r in results]) for k in results[0]}
    return np.stack([np.asarray(r) for r in results])


@pytest.mark.parametrize("f", LANES, ids=[f"{n}-{getattr(f, '__name__', f)}" for n, f in enumerate(LANES)])
def test_lanes_are_what_a_loop_gives(f):
    agree(vmap(f)(X.copy()), stacked([f(x.copy()) for x in X]), 1e-12)


def test_axes_of_arguments_and_results():
    f = lambda w, x, scale=1.0: (np.outer(w, x) * scale).sum(axis=0)
    want = np.stack([f(W[:5], x) for x in X.T])
    agree(vmap(f, in_axes=(None, 1))(W[:5], X), want, 1e-12)
    agree(vmap(f, in_axes=(None, -1), out_axes=1)(W[:5], X), want.T, 1e-12)
    agree(vmap(lambda x, scale: x * scale)(X, scale=np.arange(5.0)), X * np.arange(5.0)[:, None], 0)
    agree(vmap(lambda p, x: p["w"] @ x + p["b"], in_axes=({"w": None, "b": 0}, 0))({"w": W, "b": np.arange(5.0)}, X), X @ W + np.arange(5.0), 1e-12)


def test_nested_and_with_derivatives():
    agree(vmap(vmap(lambda a, b: a * b, in_axes=(None, 0)), in_axes=(0, None))(W, X[0]), np.outer(W, X[0]), 0)
    agree(vmap(grad(branches))(X), np.stack([grad(branches)(x) for x in X]), 1e-12)
    agree(grad(lambda X: vmap(branches)(X).sum())(X), np.stack([grad(branches)(x) for x in X]), 1e-12)
    agree(vmap(hessian(branches))(X[:2]), np.stack([hessian(branches)(x) for x in X[:2]]), 1e-12)
    agree(jit(lambda X: vmap(np.sum)(X) * 2)(X), X.sum(1) * 2, 1e-12)


def writes(x, t):
    x[1:] *= t
    x[0] = 7
    return x.sum()


def test_lanes_of_an_argument_are_written():
    a, b = X.copy(), X.copy()
    found = vmap(writes, in_axes=(0, None))(a, 2.0)
    agree((found, a), (np.array([writes(x, 2.0) for x in b]), b), 1e-12)
    a = X.copy()
    vmap(writes, in_axes=(1, None))(a, 2.0)
    b = X.T.copy()
    [writes(x, 2.0) for x in b]
    agree(a, b.T.copy(), 1e-12)


def test_an_index_that_is_out_of_range_in_one_lane():
    at = np.array([0, 1, 9, 3, 4])
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 6"):
        vmap(lambda x, i: x[i])(X, at)
    agree(vmap(lambda x, i: x[i])(X, at % 6), X[np.arange(5), at % 6], 0)


def test_what_lanes_share_is_not_written():
    def sums(X):
        total = np.zeros_like(X[0])

        def adds(x):
            total[:] = total + x

        vmap(adds)(X)
        return total

    with pytest.raises(UnsupportedError, match="lanes have no order"):
        jit(sums)(X)
    with pytest.raises(UnsupportedError, match="writes argument x, which all lanes share"):
        vmap(lambda t, x: x.__setitem__(0, t), in_axes=(0, None))(W, np.zeros(3))


def test_errors_say_which_axes():
    with pytest.raises(ValueError, match="x has 5, i has 3"):
        vmap(lambda x, i: x[i])(X, np.arange(3))
    with pytest.raises(ValueError, match=r"argument x is f64\[6\], and is mapped over axis 1"):
        vmap(lambda x: x, in_axes=1)(W)
    with pytest.raises(ValueError, match="in_axes=\\(0, 0\\) does not match"):
        vmap(lambda x: x, in_axes=(0, 0))(X)
    with pytest.raises(ValueError, match="out_axes is None for a result"):
        vmap(lambda x: x, out_axes=None)(X)
    with pytest.raises(ValueError, match="no argument is mapped"):
        vmap(lambda x: x, in_axes=None)(X)


def test_each_lane_draws_its_own_numbers():
    np.random.seed(0)
    want = np.random.rand(3)
    np.random.seed(0)
    agree(np.sort(vmap(lambda x: x + np.random.rand())(np.zeros(3))), np.sort(want), 0)


def test_what_an_example_has_not_is_told_in_pythons_words():
    with pytest.raises(AttributeError, match="'list' object has no attribute 'sum'"):
        vmap(lambda x: x.sum())([np.zeros(3), np.zeros(3)])
