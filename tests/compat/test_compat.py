"""`wengert.compat.autograd`: every name on small functions with known derivatives, and programs that change one import."""

import numpy
import pytest
from compare import agree

import wengert
import wengert.compat.autograd.numpy as np
import wengert.compat.autograd.numpy.random as npr
from wengert.backends.xla import dispatch
from wengert.compat import autograd
from wengert.compat.autograd import builtins, elementwise_grad, extend, grad, jacobian, make_hvp, make_jvp, make_vjp, value_and_grad
from wengert.compat.autograd.misc.fixed_points import fixed_point
from wengert.compat.autograd.misc.flatten import flatten, flatten_func
from wengert.compat.autograd.misc.optimizers import adam, rmsprop, sgd
from wengert.compat.autograd.test_util import check_equivalent, check_grads, combo_check

X = numpy.array([0.3, -1.2, 2.0])
A = numpy.array([[1.0, 2.0, 0.5], [-1.0, 0.3, 2.0]])


def bend(a):
    return lambda x: np.tanh(A @ x * a)


def scaled(x, y, power=2.0):
    return np.sum(x * y**power)


def test_numpy_is_numpy():
    assert np is numpy and npr is numpy.random
    assert builtins.dict is dict and autograd.isinstance is isinstance and autograd.type is type


def test_gradients_by_position():
    agree(grad(scaled)(X, 3.0), np.full(3, 9.0))
    agree(grad(scaled, 1)(X, 3.0), 6 * float(X.sum()))
    agree(grad(scaled, -1)(X, 3.0), 6 * float(X.sum()))
    for several in ((1, 0), [1, 0]):
        agree(grad(scaled, several)(X, 3.0, power=3.0), (27 * float(X.sum()), np.full(3, 27.0)))
    agree(grad(scaled, [0])(X, 3.0), (np.full(3, 9.0),))
    agree(autograd.grad_named(scaled, "y")(X, 3.0), 6 * float(X.sum()))
    assert grad(scaled, 1).__name__ == "grad_of_scaled_wrt_argnum_1"


def test_a_loss_may_have_any_shape_of_size_one():
    agree(grad(lambda x: np.sum(x * x, keepdims=True))(A), 2 * A)
    value, slope = value_and_grad(lambda x: np.sum(x * x, keepdims=True))(A)
    agree(value, np.sum(A * A, keepdims=True))
    agree(slope, 2 * A)
    for wrong in (lambda x: x, lambda x: (x[0], x[1]), lambda x: np.sum(x) * 1j):
        with pytest.raises(TypeError):
            grad(wrong)(X)
        with pytest.raises(TypeError):
            value_and_grad(wrong)(X)
    with pytest.raises(TypeError):
        elementwise_grad(lambda x: x * 1j)(X)


def test_elementwise():
    agree(elementwise_grad(np.tanh)(X), 1 - np.tanh(X) ** 2)
    agree(elementwise_grad(elementwise_grad(np.sin))(X), -np.sin(X))
    agree(elementwise_grad(lambda a, b: np.sin(b) * a, 1)(2.0, X), 2 * np.cos(X))
    agree(autograd.deriv(np.sin)(X), np.cos(X))


def test_containers_and_auxiliary_results():
    def loss(params, x):
        return np.sum((params["w"] * x + params["b"][0]) ** 2), {"seen": x}

    slope, aux = autograd.grad_and_aux(loss)({"w": X, "b": [1.0]}, 2.0)
    agree(slope, {"w": 4 * (2 * X + 1), "b": [float(np.sum(2 * (2 * X + 1)))]})
    agree(aux, {"seen": 2.0})

    def f(a, b, *more, c=3.0, **rest):
        return a * b + more[0] * c + rest["d"] ** 2

    agree(autograd.multigrad_dict(f)(1.0, 2.0, 4.0, d=5.0), {"a": 2.0, "b": 1.0, "more": (3.0,), "c": 4.0, "rest": {"d": 10.0}})


@pytest.mark.as_numpy
def test_jacobians_and_products():
    f, v, w = bend(0.5), numpy.array([1.0, -2.0, 0.5]), numpy.array([0.7, -1.0])
    J = (0.5 * (1 - f(X) ** 2))[:, None] * A
    agree(jacobian(f)(X), J)
    agree(jacobian(lambda a, x: f(x) * a, 1)(2.0, X), 2 * J)
    pull, value = make_vjp(f)(X)
    agree(value, f(X))
    agree(pull(w), w @ J)
    agree(make_vjp(lambda a, x: a * f(x), (0, 1))(2.0, X)[0](w), (float(w @ f(X)), 2 * w @ J))
    agree(make_jvp(f)(X)(v), (f(X), J @ v))
    agree(make_jvp(lambda a, x: a * f(x), (0, 1))(2.0, X)((0.0, v))[1], 2 * J @ v)
    agree(autograd.tensor_jacobian_product(f)(X, w), w @ J)
    agree(autograd.vector_jacobian_product(f)(X, w), w @ J)
    agree(autograd.tensor_jacobian_product(lambda x: np.outer(f(x), x))(X, w), np.einsum("i,ijk", w, jacobian(lambda x: np.outer(f(x), x))(X)))
    agree(autograd.make_ggnvp(f)(X)(v), J.T @ J @ v)
    agree(autograd.make_ggnvp(f, lambda y: np.sum(y**4))(X)(v), J.T @ (12 * f(X) ** 2 * (J @ v)))


def test_second_derivatives():
    def loss(x):
        return np.sum(x**3) + x[0] * x[1] * x[2]

    H = np.diag(6 * X) + np.array([[0, X[2], X[1]], [X[2], 0, X[0]], [X[1], X[0], 0]])
    v = numpy.array([1.0, 2.0, -1.0])
    agree(autograd.hessian(loss)(X), H)
    times, slope = make_hvp(loss)(X)
    agree(slope, grad(loss)(X))
    agree(times(v), H @ v)
    agree(autograd.hessian_vector_product(loss)(X, v), H @ v)
    square = numpy.outer(X, X)
    agree(autograd.hessian_tensor_product(lambda M: np.sum(M**4))(square, square), 12 * square**3)


def test_complex_gradients():
    z = 0.4 + 1.1j
    agree(autograd.holomorphic_grad(lambda z: np.exp(z) * z)(z), complex(np.exp(z) * (1 + z)))
    agree(grad(lambda z: np.abs(z) ** 2)(z), 2 * z.conjugate())
    pull, _ = make_vjp(lambda z: z**2 + np.conj(z))(z)  # a cotangent is a linear form: its value for a tangent v is Re(g dz(v))
    g, v = 0.3 - 2.0j, 1.0 + 0.5j
    agree((pull(g) * v).real, (g * (2 * z * v + v.conjugate())).real)
    with pytest.warns(UserWarning, match="real"):
        autograd.holomorphic_grad(lambda x: x * x)(1.5)


def test_dtypes_stay():
    for dtype in (np.float32, np.float64):
        slope = grad(lambda x: np.sum(x**2))(X.astype(dtype))
        assert slope.dtype == dtype
    with pytest.raises(TypeError, match="1.0 instead of 1"):
        grad(lambda x: x * x)(1)


def test_under_jit_and_nested():
    f = wengert.jit(lambda x: make_vjp(bend(0.5))(x)[0](np.ones(2)))
    agree(f(X), np.ones(2) @ jacobian(bend(0.5))(X))
    agree(grad(lambda x: np.sum(make_jvp(np.sin)(x)(X)[1]))(X), -np.sin(X) * X)
    agree(grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0), 6.0)
    agree(grad(autograd.checkpoint(lambda x: np.sum(np.sin(x))))(X), np.cos(X))


def test_flatten():
    value = {"b": (1.0, X), "a": [A, (), 2 + 1j], "c": np.float32(3)}
    vector, unflatten = flatten(value)
    agree(vector, np.concatenate([A.ravel(), [2 + 1j], [1.0], X, [3]]))
    back = unflatten(vector)
    assert list(back) == ["b", "a", "c"] and back["c"].dtype == np.float32 and back["b"][1].dtype == float
    agree(back["a"][0], A)
    agree(flatten(back)[0], vector)
    assert flatten([])[0].shape == (0,)
    f, unflatten, start = flatten_func(lambda p: {"x": p["x"] ** 2}, {"x": X})
    agree(jacobian(f)(start), np.diag(2 * X))
    agree(grad(lambda x: np.sum(flatten({"a": x, "b": 2 * x})[0] ** 2))(X), 10 * X)
    assert autograd.misc.flatten is flatten


@pytest.mark.parametrize("optimizer", [sgd, rmsprop, adam])
def test_optimizers(optimizer):
    given, far = {sgd: ({"num_iters": 300}, 1e-5), rmsprop: ({"num_iters": 400}, 0.1), adam: ({"step_size": 0.1}, 0.3)}[optimizer]

    def loss(p):
        return np.sum((p["w"] - A) ** 2) + (p["b"] - 1.0) ** 2

    seen = []
    slope = grad(loss)
    found = optimizer(lambda p, i: slope(p), {"w": np.zeros((2, 3)), "b": 0.0}, callback=lambda p, i, g: seen.append((i, loss(p))), **given)
    assert abs(found["w"] - A).max() < far and abs(found["b"] - 1) < far
    assert [i for i, _ in seen] == list(range(len(seen))) and seen[-1][1] < seen[0][1] / 50


def test_optimizers_first_steps():
    g = numpy.array([2.0, -0.5])
    agree(sgd(lambda x, i: g, np.zeros(2), num_iters=2, step_size=0.1, mass=0.9), -0.1 * (0.1 + 0.19) * g)
    agree(rmsprop(lambda x, i: g, np.zeros(2), num_iters=1, gamma=0.9), -0.1 * g / np.sqrt(0.9 + 0.1 * g**2), rtol=1e-6)
    agree(adam(lambda x, i: g, np.zeros(2), num_iters=3, step_size=0.01), -0.03 * np.sign(g), rtol=1e-6)


def test_optimizers_compile_whole():
    @wengert.jit
    def trained(x0):
        return sgd(lambda x, i: grad(lambda x: np.sum((x - X) ** 2))(x), x0, num_iters=300)

    agree(trained(np.zeros(3)), X, rtol=1e-6)
    assert str(trained.ir(np.zeros(3))).count("loop") >= 1


def test_fixed_points():
    def root(a):
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: np.abs(x - y), 1e-12)

    agree(root(2.0), 2.0**0.5)
    agree(grad(root)(2.0), 0.5 / 2.0**0.5, rtol=1e-9)
    M = A[:, :2] / 9
    found = lambda b: fixed_point(lambda b: lambda x: np.tanh(M @ x) + b, b, np.zeros(2), lambda x, y: np.abs(x - y).max(), 1e-13)
    x = found(np.ones(2))
    agree(jacobian(found)(np.ones(2)), np.linalg.inv(np.eye(2) - (1 - np.tanh(M @ x) ** 2)[:, None] * M), rtol=1e-9)


def scaled_rule(factor):
    @extend.primitive
    def mul(x, y, power=1):
        return x * y**power

    return mul, factor  # a factor in its rules tells them from what would be derived


@pytest.mark.as_numpy
def test_primitives():
    mul, c = scaled_rule(1.5)
    with pytest.raises(TypeError, match="mul"):
        grad(lambda x: np.sum(mul(x, 2.0)))(X)
    extend.defvjp(mul, lambda ans, x, y, power=1: lambda g: c * g * y**power, None)
    agree(mul(X, 3.0), 3 * X)
    agree(wengert.jit(mul)(X, 3.0), 3 * X)
    agree(grad(lambda x: np.sum(mul(x, 3.0)))(X), np.full(3, 4.5))
    agree(grad(lambda x: np.sum(mul(x, 3.0, power=2)))(X), np.full(3, 13.5))
    agree(make_jvp(lambda x: mul(x, 3.0))(X)(X)[1], 4.5 * X)
    agree(grad(lambda y: np.sum(mul(X, y)))(3.0), 0.0)

    only, c = scaled_rule(0.5)
    extend.defvjp(only, lambda ans, x, y: lambda g: c * np.sum(g * x), argnums=(1,))
    agree(grad(lambda y: np.sum(only(X, y)))(3.0), 0.5 * float(X.sum()))
    with pytest.raises(TypeError, match="mul"):
        grad(lambda x: np.sum(only(x, 3.0)))(X)

    forward, c = scaled_rule(2.0)
    extend.defjvp(forward, lambda g, ans, x, y: c * g * y, lambda g, ans, x, y: g * x)
    agree(make_jvp(lambda x, y: forward(x, y), (0, 1))(X, 3.0)((np.ones(3), 1.0))[1], 6 + X)
    agree(grad(lambda x, y: np.sum(forward(x, y)), (0, 1))(X, 3.0), (np.full(3, 6.0), float(X.sum())))


@pytest.mark.parametrize("define", [
    lambda f: extend.defvjp_argnum(f, lambda i, ans, args, kwargs: lambda g: 2 * (g * args[1] if i == 0 else np.sum(g * args[0]))),
    lambda f: extend.defvjp_argnums(f, lambda at, ans, args, kwargs: lambda g: [2 * (g * args[1] if i == 0 else np.sum(g * args[0])) for i in at]),
    lambda f: extend.defjvp_argnum(f, lambda i, t, ans, args, kwargs: 2 * t * args[1 - i]),
    lambda f: extend.defjvp_argnums(f, lambda at, ts, ans, args, kwargs: sum(2 * t * args[1 - i] for i, t in zip(at, ts))),
    lambda f: extend.defjvp(f, "same", "same"),
    lambda f: extend.def_linear(f),
])  # fmt: skip
def test_rules_by_argument_number(define):
    mul = extend.primitive(lambda x, y: x * y)
    define(mul)
    c = np.round(make_jvp(lambda x: mul(x, 1.0))(1.0)(1.0)[1])
    assert c in (1, 2)
    agree(grad(lambda x, y: np.sum(mul(x, y)), (0, 1))(X, 3.0), (np.full(3, 3 * c), float(c * X.sum())))
    agree(make_jvp(lambda x, y: mul(x, y), (0, 1))(X, 3.0)((np.ones(3), 1.0))[1], c * (3 + X))


def test_primitives_that_stop():
    count = extend.notrace_primitive(lambda x: np.sum(x > 0.0) * 1.0 + np.sum(x))
    agree(grad(lambda x: np.sum(x) * count(x))(X), np.full(3, count(X)))


@pytest.mark.as_numpy
def test_check_grads():
    check_grads(lambda x, y: np.sum(np.sin(x) * y["k"]), (0, 1))(X, {"k": A})
    check_grads(lambda z: np.abs(z) * np.conj(z), order=1)(X + 1j)
    check_grads(np.tanh, modes=["fwd"])(0.3)
    check_equivalent({"a": X, "b": (1.0,)}, {"a": X + 1e-9, "b": (1.0,)})
    for other in ({"a": X + 1e-3, "b": (1.0,)}, {"a": X[:2], "b": (1.0,)}, {"a": X, "b": (1j,)}):
        with pytest.raises(AssertionError, match="against"):
            check_equivalent({"a": X, "b": (1.0,)}, other)
    combo_check(lambda x, axis=None: np.sum(x**3, axis=axis), order=1)([A, X[None]], axis=[0, None])
    with pytest.raises(AssertionError, match="differences"):
        check_grads(lambda x: np.floor(x * 1e9) * 1e-9 + x, order=1)(0.3)
    with pytest.raises(ValueError, match="modes"):
        check_grads(np.tanh, modes=["back"])(0.3)


def test_scipy_names():
    scipy = pytest.importorskip("scipy")
    import wengert.compat.autograd.scipy.stats.norm as norm
    from wengert.compat.autograd.scipy import signal, special
    from wengert.compat.autograd.scipy.misc import logsumexp

    assert special is scipy.special and norm is scipy.stats.norm and logsumexp is scipy.special.logsumexp
    assert signal.fftconvolve is scipy.signal.fftconvolve


# -- programs as users of autograd write them ------------------------------------------------------


def test_logistic_regression():
    npr.seed(0)
    inputs = npr.randn(40, 3)
    targets = inputs @ np.array([1.0, -2.0, 0.5]) > 0

    def sigmoid(x):
        return 0.5 * (np.tanh(x / 2.0) + 1)

    def training_loss(weights):
        preds = sigmoid(np.dot(inputs, weights))
        label_probabilities = preds * targets + (1 - preds) * (1 - targets)
        return -np.sum(np.log(label_probabilities))

    weights, training_gradient = np.zeros(3), grad(training_loss)
    agree(training_gradient(weights), -inputs.T @ (targets - 0.5))
    check_grads(training_loss, modes=["rev"])(weights)
    before = training_loss(weights)
    for _ in range(50):
        weights -= training_gradient(weights) * 0.05
    assert training_loss(weights) < before / 4


def test_a_gradient_made_anew_at_each_step_is_compiled_once(monkeypatch):
    made, program = [], dispatch.program
    monkeypatch.setattr(dispatch, "program", lambda *args, **more: made.append(args) or program(*args, **more))
    loss, x = lambda x: np.sum(x**2), X
    for _ in range(3):
        x = x - 0.5 * grad(loss)(x)
    assert len(made) == 1
    agree(x, np.zeros(3))


@pytest.mark.as_numpy
def test_a_recurrent_network():
    def init(rs, hidden=5, inputs=2):
        return {"change": rs.randn(inputs + hidden + 1, hidden) * 0.5, "start": rs.randn(hidden), "predict": rs.randn(hidden + 1, inputs)}

    def concat_and_multiply(weights, *args):
        cat_state = np.hstack(args + (np.ones((args[0].shape[0], 1)),))
        return np.dot(cat_state, weights)

    def predict(params, inputs):
        hiddens = np.repeat(params["start"][None, :], inputs.shape[1], axis=0)
        outputs = []
        for x in inputs:
            hiddens = np.tanh(concat_and_multiply(params["change"], x, hiddens))
            outputs.append(concat_and_multiply(params["predict"], hiddens))
        return outputs

    def loss(params, inputs):
        return sum(np.sum((out - x) ** 2) for out, x in zip(predict(params, inputs), inputs)) / inputs.size

    rs = npr.RandomState(0)
    params, inputs = init(rs), rs.randn(4, 3, 2)
    check_grads(lambda p: loss(p, inputs), order=1)(params)
    better = adam(lambda p, i: grad(loss)(p, inputs), params, num_iters=20, step_size=0.02)
    assert loss(better, inputs) < loss(params, inputs)


def test_a_stencil():
    def diffuse(heat, steps, rate):
        for _ in range(steps):
            around = np.roll(heat, 1, 0) + np.roll(heat, -1, 0) + np.roll(heat, 1, 1) + np.roll(heat, -1, 1)
            heat = heat + rate * (around - 4 * heat)
        return heat

    target = np.zeros((6, 6))
    target[2:4, 2:4] = 1.0

    def distance(heat, rate):
        return np.mean((diffuse(heat, 8, rate) - target) ** 2)

    check_grads(distance, (0, 1), order=1)(npr.RandomState(1).rand(6, 6), 0.1)


def test_rules_read_containers_from_outside():
    table, seen = {"c": [2.0, 4.0]}, []

    @wengert.custom_vjp
    def f(x):
        return x * table["c"][0] + sum(table["c"])

    f.defvjp(lambda x: (f(x), None), lambda _, g: (g * sum(table["c"]) * len(table),))
    agree(grad(f)(1.0), 6.0)

    @wengert.custom_vjp
    def changing(x):
        seen.append(1)
        table["c"] = 3.0
        return x

    changing.defvjp(lambda x: (x, None), lambda _, g: (g,))
    with pytest.raises(TypeError, match="changes what lies outside"):
        grad(changing)(1.0)
    assert table == {"c": [2.0, 4.0]} and not seen


# -- autograd's own functions beside SciPy's -------------------------------------------------------


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolution_along_axes(mode):
    signal, ours = pytest.importorskip("scipy.signal"), pytest.importorskip("wengert.compat.autograd.scipy").signal
    rng = numpy.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 5)), rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 3))
    pairs = numpy.array([[signal.convolve(x, y, mode) for y in c.T] for x in a])
    agree(ours.convolve(a, c, axes=([1], [0]), mode=mode), pairs, 1e-12)
    summed = numpy.array([sum(signal.convolve(x, y, mode) for x, y in zip(a, m)) for m in b])
    agree(ours.convolve(a, b, axes=([1], [2]), dot_axes=([0], [1]), mode=mode), summed, 1e-12)
    agree(ours.convolve(b, a, axes=([2], [1]), dot_axes=([1], [0]), mode="full"), ours.convolve(a, b, axes=([1], [2]), dot_axes=([0], [1])), 1e-12)
    agree(ours.convolve(a, c, axes=([], []), dot_axes=([0], [1])), numpy.tensordot(a, c, ([0], [1])), 1e-12)
    agree(ours.convolve(a, a, mode=mode), signal.convolve(a, a, mode), 1e-12)
    assert ours.correlate is signal.correlate
    check_grads(lambda c: ours.convolve(a, c, axes=([1], [0]), mode=mode), order=1)(c)


def test_a_primitive_without_a_rule_has_no_derivative():
    twice = extend.primitive(lambda x: 2.0 * x)
    assert twice(1.5) == 3.0
    for asked in (grad(twice), autograd.deriv(twice)):
        with pytest.raises(NotImplementedError, match="takes as argument 0"):
            asked(1.0)
