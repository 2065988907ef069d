"""Jacobians and Hessians against differences and each other, products against the whole, results of every structure, errors."""

import numpy as np
import pytest
from compare import agree

from wengert import DerivativeError, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, linearize, value_and_grad, vjp

X, Y = np.random.default_rng(0).uniform(0.3, 1.5, size=(2, 3)), np.random.default_rng(1).normal(size=4)


def layers(x):
    h = np.tanh(x @ np.arange(12.0).reshape(3, 4) / 7)
    for k in range(3):
        h = h * 0.5 + np.sin(h[:, ::-1] * (k + 1))
    return h[:, :2]


def data(x):
    y, n = x.copy(), 0
    while y.sum() > 1 and n < 9:
        y = y * 0.7
        n += 1
    if y[0, 0] > 0.1:
        y[0] = y[1] ** 2
    return y


FUNCTIONS = [layers, data, lambda x: (x**3).sum(), lambda x: x[0, 0], lambda x: x, lambda x: x.T[1:], lambda x: np.linalg.inv(x @ x.T + np.eye(2))]


def differences(f, x, h=1e-6):
    columns = []
    for k in range(x.size):
        d = np.zeros(x.size)
        d[k] = h
        d = d.reshape(x.shape)
        columns.append((np.asarray(f(x + d)) - np.asarray(f(x - d))) / (2 * h))
    return np.stack(columns, -1).reshape(*np.shape(f(x)), *x.shape)


@pytest.mark.parametrize("f", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_both_modes_are_the_differences(f):
    want = differences(f, X)
    forward, reverse = jacfwd(f)(X.copy()), jacrev(f)(X.copy())
    agree(forward, want, 1e-7)
    agree(reverse, forward, 1e-12)


@pytest.mark.parametrize("f", FUNCTIONS[:4], ids=range(4))
def test_hessians_are_the_differences_of_jacobians(f):
    agree(hessian(f)(X.copy()), differences(jacrev(f), X), 1e-6)


def mixed(p, x):
    h = p["w"] @ x + p["b"]
    return {"h": h, "loss": (h**2).sum()}


P = {"w": np.arange(6.0).reshape(2, 3) / 10, "b": np.ones(2)}


def test_containers_on_both_sides():
    x = np.arange(3.0)
    forward, reverse = jacfwd(mixed, argnums=(0, 1))(P, x), jacrev(mixed, argnums=(0, 1))(P, x)
    agree(forward, reverse, 1e-12)
    assert forward["h"][0]["w"].shape == (2, 2, 3) and forward["loss"][1].shape == (3,)
    agree(forward["loss"], grad(lambda p, x: mixed(p, x)["loss"], argnums=(0, 1))(P, x), 1e-12)
    second = hessian(lambda p: mixed(p, x)["loss"])(P)
    assert second["w"]["b"].shape == (2, 3, 2)


def test_products_are_those_with_the_whole():
    v = np.cos(X)
    f = lambda x: (layers(x) ** 2).sum()
    agree(hvp(f, (X,), (v,))[0], np.einsum("ijkl,kl->ij", hessian(f)(X), v), 1e-11)
    y, push = linearize(layers, X)
    agree(y, layers(X), 1e-12)
    agree(push(v), jvp(layers, (X,), (v,))[1], 1e-12)
    agree(jit(lambda x: linearize(layers, x)[1](v))(X), push(v), 1e-12)


def test_linearize_computes_the_function_once():
    calls = []

    def f(x):
        calls.append(1)
        return np.exp(x) * x

    _, push = linearize(f, Y)
    assert len(calls) == 1
    for k in range(3):
        agree(push(Y * k), jvp(f, (Y,), (Y * k,))[1], 1e-12)


def tells(x):
    print("sum", x.sum())
    x[0] = x[1] * 2
    for k in range(2):
        x = x * x
        print(k, x[0])
    return x


@pytest.mark.parametrize("transform", [jacfwd, jacrev, lambda f: lambda x: linearize(f, x)[1](x)], ids=["jacfwd", "jacrev", "linearize"])
def test_what_is_printed_is_printed_once(transform, capfd):
    transform(tells)(np.ones(3))
    assert capfd.readouterr().out == "sum 3.0\n0 4.0\n1 16.0\n"


def test_an_argument_that_is_returned():
    def scaled(x):
        x *= 2
        return x

    agree(jacfwd(scaled)(Y.copy()), 2 * np.eye(4), 0)
    agree(grad(lambda x: x)(3.0), 1.0, 0)
    value, back = vjp(lambda x: (x, x[1:]), Y)
    agree(back((np.ones(4), np.ones(3)))[0], np.array([1.0, 2, 2, 2]), 0)


def test_holomorphic_functions():
    z = np.array([1 + 1j, 2 - 0.5j])
    agree(jacrev(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z), 1e-12)
    agree(jacfwd(lambda z: z**2, holomorphic=True)(z), np.diag(2 * z), 1e-12)
    agree(grad(lambda z: np.exp(z) * z, holomorphic=True)(1 + 1j), complex(np.exp(1 + 1j) * (2 + 1j)), 1e-12)
    agree(jacfwd(lambda x: np.exp(1j * x))(0.3), 1j * np.exp(0.3j), 1e-12)


def test_errors():
    with pytest.raises(DerivativeError, match="Pass holomorphic=True"):
        jacrev(lambda z: z**2)(1j)
    with pytest.raises(DerivativeError, match=r"returns bool\[4\]"):
        jacfwd(lambda x: x > 1)(Y)
    with pytest.raises(DerivativeError, match="returns 3.0, which does not depend on the arguments"):
        jacrev(lambda x: 3.0)(Y)
    with pytest.raises(DerivativeError, match="only floating and complex values have derivatives"):
        jacfwd(np.sin)(np.arange(3))
    with pytest.raises(DerivativeError, match="the tangents have the structure"):
        linearize(np.sin, Y)[1](Y, Y)
    with pytest.raises(DerivativeError, match=r"holomorphic=True, and argument x is f64\[\]"):
        value_and_grad(lambda x: x, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="jacrev takes a function"):
        jacrev(3.0)


def test_compiled_functions_return_pushes():
    x = np.array([1.0, 3.0])
    y, push = jit(lambda x: linearize(lambda y: y * y, x))(x)
    agree(y, x * x)
    agree(push(np.array([1.0, 2.0])), np.array([2.0, 12.0]))
    with pytest.raises(DerivativeError, match="push"):
        push(1.0, 2.0)
