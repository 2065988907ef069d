"""Large products within loops, which nests leave to the BLAS that NumPy came with: operands wherever they lie, and what stays NumPy's."""

import importlib.util

import numpy as np
import pytest
import random_products
from compare import agree

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import blas
from wengert.tracer.program import backend_choice

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed"),
    pytest.mark.skipif(blas.routine("dgemm") is None, reason="NumPy came with a BLAS that has no 64-bit sizes in its names"),
]
RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(200, 150)) / 14, RNG.normal(size=(150, 120)) / 12
S, V, U, W = RNG.normal(size=(7, 140, 140)) / 12, RNG.normal(size=150), RNG.normal(size=200), RNG.normal(size=140)


def matrix_vector(a, v):
    total = np.zeros(a.shape[0], a.dtype)
    for k in range(5):
        total = total + a @ (v * k)
    return total


def vector_matrix(a, u):
    total = np.zeros(a.shape[1], a.dtype)
    for k in range(5):
        total = total + (u * k) @ a
    return total


def transposed(a, u):
    total = np.zeros(a.shape[1], a.dtype)
    for k in range(5):
        total = total + a.T @ (u - k)
    return total


def matrices(a, b, c):
    for k in range(5):
        c[k] = a @ b + k
    return c


def turned(a, b, c):
    for k in range(5):
        c[k] = (b.T @ a.T).T * k
    return c


def layers(s, w):
    for k in range(7):
        w = np.tanh(s[k] @ w)
    return w


def layers_turned(s, w):
    for k in range(7):
        w = np.tanh(s[k].T @ w)
    return w


def part(s, w):
    for k in range(6):
        w[2:138] = np.tanh(s[k, 2:138, 2:138] @ w[2:138])
    return w


def part_turned(s, w):
    for k in range(6):
        w[1:] = np.tanh(s[:, 1:, 1:][k].T @ w[1:])
    return w


def backwards(s, w):
    for k in range(6):
        w = np.tanh(s[k] @ w[::-1])
    return w


def columns(s, w):
    x = np.zeros((140, 3), w.dtype)
    x[:, 1] = w
    for k in range(6):
        x[:, 2] = np.tanh(s[k] @ x[:, 1])
        x[:, 1] = x[::-1, 2]
    return x


def chain(s):
    p = s[0]
    for k in range(1, 7):
        p = p @ s[k]
    return p


def chain_turned(s):
    p = s[0]
    for k in range(1, 7):
        p = p.T @ s[k].T
    return p


def every_second(s):
    p = s[0, ::2, ::2]
    for k in range(1, 7):
        p = p @ s[k, ::2, ::2] + s[k, :70, 70:] @ p
    return p


def in_place(s, w):
    for k in range(7):
        w[:] = s[k] @ w
    return w


def twice(s, w):
    """The operand is what is stored into, and read as it was afterwards."""
    for k in range(7):
        before = w[3]
        w[:] = s[k] @ w + before
    return w


def chosen(s, w):
    for k in range(7):
        if w[0] > 0:
            w = s[k] @ w
        else:
            w = w @ s[k] - 0.01
    return w


CASES = [(matrix_vector, A, V), (vector_matrix, A, U), (transposed, A, U), (layers, S, W), (layers_turned, S, W), (part, S, W)]
CASES += [(matrices, A, B, np.zeros((5, 200, 120))), (turned, A, B, np.zeros((5, 200, 120))), (part_turned, S, W), (columns, S, W)]
CASES += [(chain, S), (chain_turned, S), (every_second, S), (in_place, S, W), (twice, S, W), (chosen, S, W), (backwards, S, W)]


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("d", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("function, args", [(f, args) for f, *args in CASES], ids=[f.__name__ for f, *_ in CASES])
def test_values(function, args, d, engine):
    given, f = [x.astype(d) for x in args], jit(function, engine=engine)
    got, want = f(*map(np.copy, given)), function(*map(np.copy, given))
    told = [line.split(": ", 1)[1] for line in f.explain().splitlines() if line.lstrip().startswith("loop ")]
    assert told and set(told) == {"native"}
    assert got.dtype == want.dtype == d
    np.testing.assert_allclose(got, want, rtol=0, atol=(1e-13 if d is np.float64 else 1e-4) * abs(want).max())


def test_gradients():
    loss = lambda s, w: layers(s, w).sum()
    got, dw, h = grad(loss, argnums=(0, 1))(S, W), RNG.normal(size=140), 1e-6
    assert (loss(S, W + h * dw) - loss(S, W - h * dw)) / (2 * h) == pytest.approx(got[1] @ dw, rel=1e-6)
    ds = RNG.normal(size=S.shape)
    assert (loss(S + h * ds, W) - loss(S - h * ds, W)) / (2 * h) == pytest.approx((got[0] * ds).sum(), rel=1e-6)


def test_what_was_in_memory_before_does_not_count(monkeypatch):
    """Each nest has memory of its own for the results, in which another may have left NaN."""
    monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    f = jit(layers)
    for bad in (np.nan, np.inf):
        s = S.copy()
        s[2, 5, 7] = bad
        agree(f(s, W), layers(s, W), rtol=1e-12)
        agree(f(S, W), layers(S, W), rtol=1e-12)


@pytest.mark.parametrize("option, d", [({"exact": True}, float), ({}, complex), ({}, np.int64)])
def test_what_is_left_to_others(option, d):
    log, s = [], (S * 50 if d is np.int64 else S).astype(d)
    with native.asked(native.LEAST, log):
        agree(jit(chain, **option)(s), chain(s), rtol=1e-9)
    assert [why for _, why in log] == [blas.LARGE.format(140**3)]


def test_a_matrix_that_is_computed_is_not_written_down_for_a_vector():
    def f(a, v):
        for k in range(5):
            v = (a * (a > k * 0.01)) @ v
        return v

    log = []
    with native.asked(native.LEAST, log):
        agree(jit(f)(S[0], W), f(S[0], W), rtol=1e-9)
    assert [why for _, why in log] == [blas.LARGE.format(140**2)]


def test_without_such_routines_they_are_left_to_libraries(monkeypatch):
    monkeypatch.setattr(blas, "NAMES", ())
    blas.routine.cache_clear()
    native.legal.made.cache_clear(), native.legal.emitted.cache_clear()
    log = []
    try:
        with native.asked(native.LEAST, log):
            agree(jit(layers)(S[:, :139, :139], W[:139]), layers(S[:, :139, :139], W[:139]), rtol=1e-12)
    finally:
        blas.routine.cache_clear()
    assert [why for _, why in log] == [blas.LARGE.format(139**2)]


@pytest.mark.parametrize("first", range(0, 40, 8))
def test_random_products(first):
    """However small, wherever the operands lie, and whatever the loop has stored into them."""
    with random_products.all_left_to_blas():
        for seed in range(first, first + 8):
            assert random_products.differs(seed, "xla" if seed % 4 == 0 else "numpy") is None
        assert random_products.gradient_differs(first) is None
