"""Products grouped as they cost least, and systems solved in the place of inverses: which, and that derivatives have it too."""

import numpy as np
import pytest

from wengert import grad, jit

RNG = np.random.default_rng(0)
A, B, C = (RNG.normal(size=(40, 40)) for _ in range(3))
V, W = RNG.normal(size=(2, 40))
N = np.eye(40) + 0.1 * A


def products(func):
    """The shapes of what products of a program give, in order."""
    return [eqn.results[0].type.shape for eqn in func.eqns if eqn.op.name == "dot_general"]


@pytest.mark.inexact
@pytest.mark.parametrize("f, args, shapes", [
    (lambda a, b, c, v: a @ b @ c @ v, (A, B, C, V), [(40,)] * 3),
    (lambda a, b, c, v: v @ (a @ (b @ c)), (A, B, C, V), [(40,)] * 3),
    (lambda a, b, v: (a @ b).T @ v, (A, B, V), [(40,)] * 2),
    (lambda a, b, c: a @ (b @ c), (A[:4], B, C), [(4, 40)] * 2),
    (lambda a, b, c: a @ b @ c, (A, B[:, :3], C[:3]), [(40, 3), (40, 40)]),
    (lambda a, b, c: a @ b @ c, (A[:, :3], C[:3], B), [(3, 40), (40, 40)]),
    (lambda a, b, v: (p := a @ b) @ v + p[0], (A, B, V), [(40, 40), (40,)]),  # what is there already is not computed twice
    (lambda a, b, v: a @ b @ v, (A[:9, :9], B[:9, :9], V[:9]), [(9, 9), (9,)]),  # a product takes a microsecond anyway
])  # fmt: skip
def test_chains(f, args, shapes):
    compiled = jit(f)
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-9)
    assert products(compiled.ir(*args)) == shapes
    assert products(jit(f, exact=True).ir(*args)) == products(compiled.ir(*args, passes=False))


@pytest.mark.inexact
@pytest.mark.parametrize("f, args", [
    (lambda a, v: np.linalg.inv(a) @ v, (N, V)),
    (lambda a, b: np.linalg.inv(a).T @ b, (N, B[:, :3])),
    (lambda a, v: v @ np.linalg.inv(a), (N, V)),
    (lambda a, b: b @ np.linalg.inv(a), (N, B[:3])),
    (lambda a, b: b @ np.linalg.inv(a.T).T, (N, B[:3])),
    (lambda v, a, w: v @ np.linalg.inv(a) @ w, (V, N, W)),
])  # fmt: skip
def test_inverses(f, args):
    compiled, loss = jit(f), lambda *args: (f(*args) ** 2).sum()
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-9, atol=1e-11)
    matrices = [e.results[0].type.shape for e in compiled.ir(*args).eqns if e.op.name in ("solve", "dot_general")]
    assert (40, 40) not in matrices
    which = [x.shape for x in args].index((40, 40))
    d, step = RNG.normal(size=(40, 40)), 1e-6
    moved = lambda t: [x + t * d if i == which else x for i, x in enumerate(args)]
    want = (loss(*moved(step)) - loss(*moved(-step))) / (2 * step)
    assert (grad(loss, argnums=which)(*args) * d).sum() == pytest.approx(want, rel=1e-5)


def test_a_singular_matrix_raises_as_ever():
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jit(lambda a, v: np.linalg.inv(a) @ v)(np.ones((20, 20)), V[:20])


@pytest.mark.inexact
def test_inverses_that_stay():
    for f in (lambda a, b: np.linalg.inv(a) @ b, lambda a, b: (p := np.linalg.inv(a)) @ b[:, 0] + p[0]):
        assert "dot_general" in str(jit(f).ir(N, np.ones((40, 50))))


@pytest.mark.inexact
def test_derivatives_are_of_the_grouped_products():
    slope = grad(lambda a, b, v: (a @ b @ v).sum())
    assert products(slope.ir(A, B, V)) == [(40,), (40, 40)]  # b v, and its outer product with the cotangent
    np.testing.assert_allclose(slope(A, B, V), np.outer(np.ones(40), B @ V), rtol=1e-9)
