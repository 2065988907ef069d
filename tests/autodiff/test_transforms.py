"""`grad`, `value_and_grad`, `vjp`, `jvp` as users compose them: any order, any nesting, with or without jit."""

import jax.numpy as jnp
import numpy as np
import pytest
from compare import agree

from wengert import DerivativeError, grad, hessian, jit, jvp, value_and_grad, vjp

X = np.random.default_rng(0).normal(size=(4, 3))
W = np.random.default_rng(1).normal(size=3)
Y = np.array([0.0, 1.0, 1.0, 0.0])


def loss(w, X, y):
    z = X @ w
    return np.mean(np.logaddexp(0, z) - y * z)


def hand_gradient(w, X, y):
    z = X @ w
    return X.T @ (1 / (1 + np.exp(-z)) - y) / len(y)


def test_gradient_of_a_loss():
    agree(grad(loss)(W, X, Y), hand_gradient(W, X, Y))
    value, slope = value_and_grad(loss)(W, X, Y)
    agree(value, loss(W, X, Y))
    agree(slope, hand_gradient(W, X, Y))


def test_tanh_three_times():
    third = grad(grad(grad(np.tanh)))

    def exact(x):
        y, s = np.tanh(x), 1 / np.cosh(x) ** 2
        return float(-2 * s * s + 4 * y * y * s)

    for x in (0.3, -1.2):
        agree(third(x), exact(x))
        agree(jit(third)(x), exact(x))
        agree(jit(grad(jit(grad(jit(grad(jit(np.tanh)))))))(x), exact(x))
    batch = grad(lambda v: grad(lambda v: grad(lambda v: np.tanh(v).sum())(v).sum())(v).sum())
    agree(batch(W), np.array([exact(x) for x in W]))
    agree(grad(np.tanh)(np.float32(0.5)), np.float32(1 - np.tanh(0.5) ** 2), rtol=1e-6)


def hessian_vector_product(f, x, v):
    return jvp(grad(f), (x,), (v,))[1]


def test_forward_over_reverse_and_back():
    def f(x):
        return np.sum(np.exp(x) * x**2)

    v = np.array([1.0, -2.0, 0.5])
    want = np.exp(W) * (2 + 4 * W + W**2) * v
    agree(hessian_vector_product(f, W, v), want)
    agree(jit(lambda x, v: hessian_vector_product(f, x, v))(W, v), want)
    agree(grad(lambda x: np.sum(grad(f)(x) * v))(W), want)
    agree(grad(lambda x: jvp(f, (x,), (v,))[1])(W), want)
    y, pull = vjp(grad(f), W)
    agree(y, np.exp(W) * (2 * W + W**2))
    agree(pull(v), (want,))
    agree(jvp(jit(lambda x: vjp(np.sin, x)[1](v)[0]), (W,), (v,)), (np.cos(W) * v, -np.sin(W) * v * v))


def test_vjp_and_jvp_are_adjoint():
    def f(p, z):
        return {"a": p["w"] @ z, "b": (np.sin(z), z[0] * p["c"])}

    p, z = {"w": X, "c": 2.0}, W
    dp, dz = {"w": X * 0.3, "c": -1.0}, W[::-1].copy()
    out, tangent = jvp(f, (p, z), (dp, dz))
    agree(out, f(p, z))
    value, pull = vjp(f, p, z)
    agree(value, f(p, z))
    g = {"a": np.arange(4.0), "b": (W * 2, np.float64(3.0))}
    cp, cz = pull(g)
    left = (g["a"] * tangent["a"]).sum() + (g["b"][0] * tangent["b"][0]).sum() + g["b"][1] * tangent["b"][1]
    agree((cp["w"] * dp["w"]).sum() + cp["c"] * dp["c"] + (cz * dz).sum(), left)
    assert type(cp["c"]) is float


def test_argnums_names_aux_and_kinds():
    def f(a, b, *, scale=2.0):
        return np.sum(a * b) * scale, {"sum": a + b}

    a, b = np.arange(3.0), np.ones(3, np.float32)
    agree(grad(f, argnums=1, has_aux=True)(a, b), ((a * 2).astype(np.float32), {"sum": a + b}))
    agree(grad(f, argnums=("b", "scale"), has_aux=True)(a, b, scale=3.0)[0], ((a * 3).astype(np.float32), 3.0))
    (value, aux), slopes = value_and_grad(f, argnums=(0, -1), has_aux=True)(a, b)
    agree(value, np.float64(6.0))
    agree(slopes, (b.astype(float) * 2, (a * 2).astype(np.float32)))
    assert isinstance(grad(lambda x: jnp.sum(x) if False else (x * x).sum())(jnp.ones(3)), jnp.ndarray)
    agree(grad(lambda z: np.abs(z) ** 2)(1 + 2j), 2 - 4j)


def test_a_loss_that_does_not_depend_on_the_argument():
    agree(grad(lambda x: 3.0)(W), np.zeros(3))
    agree(grad(lambda x: np.sum(np.floor(x)))(W), np.zeros(3))
    agree(grad(lambda x, y: np.sum(y))(W, X), np.zeros(3))


def test_closures_over_traced_values():
    @jit
    def f(x, y):
        return grad(lambda a: np.sum(a * y) * np.sum(y))(x), grad(lambda a: np.sum(a * a * x))(y)

    x, y = W, W**2
    agree(f(x, y), (y * y.sum(), 2 * y * x))


def test_mutation_passes_through_a_gradient():
    def f(x, log):
        log[0] = x[0] * 2
        x = x * 1.0
        x[1:] *= log[0]
        return x.sum()

    log = np.zeros(2)
    agree(grad(f)(np.array([3.0, 2.0]), log), np.array([5.0, 6.0]))
    assert log.tolist() == [6.0, 0.0]


def test_in_place_program_against_differences():
    def f(x):
        a = np.zeros_like(x)
        a[0] = x[0]
        for i in range(1, 5):
            a[i] = np.sin(a[i - 1]) * x[i]
        a[::2] *= a[1::2].sum()
        return (a * a).sum()

    x, h, t = np.linspace(0.5, 1.5, 6), 1e-6, np.cos(np.arange(6.0))
    want = (f(x + h * t) - f(x - h * t)) / (2 * h)
    agree(np.float64(grad(f)(x) @ t), want, rtol=1e-8)


@pytest.mark.inexact
def test_gradient_reads_like_mathematics():
    def nll(w, X, y):
        z = X @ w
        return np.sum(np.log1p(np.exp(z)) - y * z) / 4

    text = str(value_and_grad(nll).ir(W, X, Y))
    assert len(text.splitlines()) < 20 and "logistic" in text and "softplus" in text


BAD = [
    (lambda: grad(np.tanh)(W), "scalar loss"),
    (lambda: grad(np.tanh)(3), "1.0 instead of 1"),
    (lambda: grad(lambda x: x.sum())(np.arange(3)), "i64"),
    (lambda: grad(lambda x: (x.sum(), 1))(W), "returned 2 values"),
    (lambda: grad(lambda x: x.sum() > 0)(W), "floating loss"),
    (lambda: grad(lambda x: x.sum() * 1j)(W), "real loss"),
    (lambda: grad(lambda x: x.sum(), argnums=2)(W), "argnums=2"),
    (lambda: grad(lambda x: x.sum(), argnums="w")(W), "argnums='w'"),
    (lambda: vjp(np.sin, W)[1](np.ones(2)), "cotangent has shape"),
    (lambda: jvp(np.sin, (W,), (np.ones(2),)), "tangent has shape"),
    (lambda: jvp(np.sin, (W,), ()), "structure"),
]


@pytest.mark.parametrize("call, text", BAD, ids=range(len(BAD)))
def test_derivatives_that_do_not_exist(call, text):
    with pytest.raises(DerivativeError, match=text):
        call()


def test_transforms_of_numbers_that_are_known_inside_a_trace():
    def by_grad(x):
        return x * grad(lambda y: x * y * y)(2.0)

    def by_vjp(x):
        return x * vjp(lambda y: x * y * y, 2.0)[1](1.0)[0]

    def by_jvp(x):
        return x * jvp(lambda y: x * y * y, (2.0,), (1.0,))[1]

    for f in (by_grad, by_vjp, by_jvp):
        agree(jit(f)(3.0), 36.0)
        agree(grad(f)(3.0), 24.0)


def test_compiled_functions_return_pullbacks():
    @jit
    def half(x, a):
        return vjp(lambda y: np.sin(a * y), x)

    y, pull = half(W, 2.0)
    agree(y, np.sin(2 * W))
    for g in (np.ones(3), X[0]):
        agree(pull(g), (2 * np.cos(2 * W) * g,))
    agree(jit(lambda x, g: half(x, 2.0)[1](g)[0])(W, X[0]), 2 * np.cos(2 * W) * X[0])
    agree(grad(lambda g: pull(g)[0].sum())(X[0]), 2 * np.cos(2 * W))


def test_tangents_of_constants_are_zero():
    value, tangent = jvp(lambda x: (np.ones(3, np.float32), x, 2.0, np.float32(1)), (1.0,), (5.0,))
    agree(value, (np.ones(3, np.float32), 1.0, 2.0, np.float32(1)))
    agree(tangent, (np.zeros(3, np.float32), 5.0, 0.0, np.float32(0)))
    agree(jvp(lambda x: X, (1.0,), (5.0,)), (X, np.zeros_like(X)))
    agree(jvp(lambda x, v: jvp(lambda x: X, (x,), (v,))[1], (1.0, 2.0), (5.0, 1.0)), (np.zeros_like(X), np.zeros_like(X)))
    with pytest.raises(DerivativeError, match="no tangent"):
        jvp(lambda x: 2, (1.0,), (1.0,))


def test_second_derivatives_where_operands_are_equal():
    for f, scale in ((np.logaddexp2, np.log(2)), (np.logaddexp, 1.0)):
        for gap in (0.0, 0.3):
            s = 1 / (1 + np.exp(-scale * gap))
            found = hessian(lambda x, f=f: f(x[0], x[1]))(np.array([0.4 + gap, 0.4]))
            agree(found, scale * s * (1 - s) * np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_the_deviation_of_one_number_does_not_vary():
    agree(grad(np.std)(3.5), 0.0)
    agree(grad(lambda x: np.std(x, axis=0).sum())(X[:1]), np.zeros((1, 3)))


HIDDEN = [
    (lambda x: np.where(x > 0, np.sqrt(x), 0.0).sum(), [0.0, 0.5, 0.25]),
    (lambda x: np.where(x > 0, 1 / x, 0.0).sum(), [0.0, -1.0, -0.0625]),
    (lambda x: np.where(x > 0, np.log(x), x).sum(), [1.0, 1.0, 0.25]),
    (lambda x: np.where(x > 1, x**-1.5, 2 * x).sum(), [2.0, 2.0, -1.5 * 4.0**-2.5]),
    (lambda x: np.where(x < 3, np.exp(x), 0.0).sum(), [1.0, np.e, 0.0]),
    (lambda x: np.where(x < 3, np.exp(1000 * (x - 2)), 0.0).sum(), [0.0, 0.0, 0.0]),
    (lambda x: np.where(x < 3, np.arctanh(x / 4), 0.0).sum(), [0.25, 0.25 / (1 - 1 / 16), 0.0]),
    (lambda x: np.linalg.norm(0 * x), [0.0, 0.0, 0.0]),
    (lambda x: np.linalg.norm(x[:, None], axis=1).sum(), [0.0, 1.0, 1.0]),
]


@pytest.mark.parametrize("case", range(len(HIDDEN)))
def test_what_a_where_does_not_take_leaves_no_nan_in_a_gradient(case):
    f, want = HIDDEN[case]
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(grad(f)(x), want, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(jvp(f, (x,), (np.ones(3),))[1], np.sum(want), rtol=1e-12, atol=1e-300)


def test_a_cotangent_of_zero_hides_no_second_derivative():
    f = lambda x: x[0] * np.sqrt(x[1])
    np.testing.assert_allclose(hessian(f)(np.array([0.0, 4.0])), [[0, 0.25], [0.25, 0]], rtol=1e-12)


class Weights:
    def __init__(self, w):
        self.w = w


def test_an_object_that_holds_arrays_is_no_argument_to_differentiate():
    f = grad(lambda p, x: ((p.w * x) ** 2).sum())
    with pytest.raises(DerivativeError, match="argument p, a Weights, is differentiated or mapped.*\n.*\n.*\n  Pass a dict, tuple or list"):
        f(Weights(np.ones(3)), np.arange(3.0))
    made = grad(lambda p, x: ((Weights(**p).w * x) ** 2).sum())
    np.testing.assert_allclose(made({"w": np.ones(3)}, np.arange(3.0))["w"], 2 * np.arange(3.0) ** 2)
    np.testing.assert_allclose(grad(lambda p, x: ((p.w * x) ** 2).sum(), argnums=1)(Weights(np.ones(3)), np.arange(3.0)), 2 * np.arange(3.0))
