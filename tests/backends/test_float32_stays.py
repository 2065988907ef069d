"""Programs of float32 have no float64 in them: neither equations nor what XLA makes of them, forward and backward."""

import re

import numpy as np
import pytest

from wengert import grad, jit, vmap
from wengert.ir.walk import every_equation

F4 = np.float32
rng = np.random.default_rng(0)
X, V, W = rng.normal(size=(8, 6)).astype(F4), rng.normal(size=6).astype(F4), rng.normal(size=(6, 6)).astype(F4)
LABELS = np.array([0, 1, 2, 3, 4, 5, 0, 1])
WIDE = ("float64", "complex128")


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def softmax(x):
    z = np.exp(x - x.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def cross_entropy(w, x):
    z = x @ w
    z = z - z.max(1, keepdims=True)
    return -(z - np.log(np.exp(z).sum(1, keepdims=True)))[np.arange(8), LABELS].mean()


def attention(x):
    return softmax(x @ x.T * 0.4) @ x


def stencil(x):
    x = x.copy()
    for _ in range(5):
        x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def recurrence(v):
    out = np.zeros_like(v)
    for i in range(1, len(v)):
        out[i] = out[i - 1] * F4(0.5) + v[i] * i
    return out


def halved(v):
    n = 0
    while (v * v).sum() > 1e-3:
        v, n = v * 0.5, n + 1
    return v / n


def adam(w, g, m, s):
    m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
    return w - 1e-3 * m / (np.sqrt(s) + 1e-8)


def functions(x):
    y = abs(x) + 1
    return (
        np.sin(x)
        + np.exp(x)
        + np.tanh(x)
        + np.log(y)
        + np.arctan2(x, y)
        + np.sqrt(y)
        + np.cbrt(x)
        + np.exp2(x)
        + np.log1p(y)
        + np.log2(y)
        + np.sinh(x)
        + np.hypot(x, y)
        + np.logaddexp(x, y)
        + np.arcsinh(x)
        + np.floor(x)
        + x // 2
        + x % 2
        + np.radians(x)
        + y**2.5
        + x**3
        + np.sinc(x)
    )


PROGRAMS = {
    "arithmetic": (lambda x: 2 * x + 1.5 - x / 3, X),
    "mean": (lambda x: x.mean(0) + x.mean(), X),
    "std": (lambda x: x.std(1, ddof=1) + x.var(), X),
    "layer norm": (layer_norm, X),
    "softmax": (softmax, X),
    "cross entropy": (cross_entropy, W, X),
    "attention": (attention, X),
    "stencil": (stencil, X),
    "recurrence": (recurrence, V),
    "while": (halved, V),
    "functions": (functions, X),
    "rows": (lambda x: x[LABELS[:3]] * x.shape[0] + x[np.arange(8), x.argmax(1)][:3, None], X),
    "sorted": (lambda x: np.sort(x, 1) + x[np.argsort(x[:, 0])], X),
    "cumulated": (lambda x: np.cumsum(x, 1) + np.cumprod(x, 0), X),
    "ranges": (lambda x: x * np.linspace(0, 1, 6, dtype=F4) + np.arange(6, dtype=F4), X),
    "norms": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1), X),
    "systems": (lambda w, v: np.linalg.solve(w, v) + np.linalg.inv(w)[0] + np.linalg.det(w), W, V),
    "factors": (lambda w: np.linalg.svd(w)[1] + np.linalg.eigh(w + w.T)[0] + np.linalg.cholesky(w @ w.T)[0], W),
    "transform": (lambda x: abs(np.fft.rfft(x)), X),
    "convolution": (lambda v: np.convolve(v, v[:3]), V),
    "quantiles": (lambda x: np.median(x) + np.percentile(x, 30), X),
    "where": (lambda x: np.where(x > 0, x, 0.5) + np.clip(x, 0, 1), X),
    "nan": (lambda x: np.nanmean(x) + np.nanstd(x, 0), X),
    "counted": (lambda x: x.mean(where=x > 0), X),
    "optimiser": (adam, V, V, V, abs(V)),
    "batch": (vmap(lambda v: (v * v).sum() / len(v)), X),
    "drawn": (lambda v: v + np.random.default_rng(0).standard_normal(6, dtype=F4), V),
    "einsum": (lambda x: np.einsum("ij,kj->ik", x, x), X),
    "integers of a few bits": (lambda x: x * np.int16(3) + LABELS.astype(np.uint8)[:6], X),
}
SLOPES = [
    "cross entropy",
    "attention",
    "layer norm",
    "stencil",
    "recurrence",
    "while",
    "functions",
    "std",
    "norms",
    "systems",
    "sorted",
    "cumulated",
    "convolution",
    "where",
    "einsum",
]


def wide_in(f, *args):
    """The ops of a program that have float64 to do with, and how many instructions of the executable have."""
    ops = {e.op.name for e in every_equation(f.ir(*args)) for x in (*e.operands, *e.results) if x.type.dtype.name in WIDE}
    return ops, len(re.findall(r"\b(?:f64|c128)\[", f.text("hlo", *args)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward(name):
    f, *args = PROGRAMS[name]
    f = jit(f, native=False)
    assert f(*args).dtype == F4 and wide_in(f, *args) == (set(), 0)


@pytest.mark.parametrize("name", SLOPES)
def test_backward(name):
    f, *args = PROGRAMS[name]
    slope = jit(grad(lambda *xs: f(*xs).sum()), native=False)
    assert slope(*args).dtype == F4 and wide_in(slope, *args) == (set(), 0)


def test_what_is_looked_for_is_found():
    ops, instructions = wide_in(jit(lambda x: x * LABELS[:6], native=False), X)
    assert "mul" in ops and instructions > 2
    assert wide_in(jit(lambda x: x * LABELS[:6], native=False, promote="weak", exact=False), X) == (set(), 0)
