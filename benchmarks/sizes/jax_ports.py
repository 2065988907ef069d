"""The eight programs as one writes them for JAX by hand: jnp, and lax.scan and lax.while_loop in the place of Python's
loops.

`PORTS`: name -> function of the same arguments. `jax.grad` has no derivative of `while_loop`: the stencil has none.
"""

import jax.numpy as jnp
from jax import lax
from programs import HEADS, HIDDEN


def softmax(scores):
    weights = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def normed(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def decoder(x, layers):
    n, width = x.shape
    d = width // HEADS
    hidden = jnp.triu(jnp.full((n, n), -jnp.inf), k=1)
    for layer in layers:
        y = normed(x)
        q, k, v = ((y @ layer[name]).reshape(n, HEADS, d).transpose(1, 0, 2) for name in "qkv")
        attended = softmax(q @ k.transpose(0, 2, 1) / jnp.sqrt(d) + hidden) @ v
        x = x + attended.transpose(1, 0, 2).reshape(n, width) @ layer["o"]
        x = x + jnp.maximum(normed(x) @ layer["up"], 0.0) @ layer["down"]
    return x[-1]


def lstm(x, w, u, b):
    def step(state, row):
        h, c = state
        i, f, g, o = jnp.split(row @ w + h @ u + b, 4)
        sigmoid = lambda z: 1.0 / (1.0 + jnp.exp(-z))
        c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(g)
        return (sigmoid(o) * jnp.tanh(c), c), None

    (h, _), _ = lax.scan(step, (jnp.zeros(HIDDEN), jnp.zeros(HIDDEN)), x)
    return h


def kalman(z, q, r):
    a = jnp.array([[1.0, 1.0], [0.0, 1.0]])

    def step(state, value):
        m, p, total = state
        m, p = a @ m, a @ p @ a.T + q * jnp.eye(2)
        s = p[0, 0] + r
        gain, error = p[:, 0] / s, value - m[0]
        m, p = m + gain * error, p - jnp.outer(gain, p[0])
        return (m, p, total + 0.5 * (jnp.log(s) + error * error / s)), None

    return lax.scan(step, (jnp.zeros(2), jnp.eye(2) * 10.0, 0.0), z)[0][2]


def gaussian_process(x, y, scale):
    n = len(x)
    k = jnp.exp(-0.5 * ((x[:, None] - x[None, :]) / scale) ** 2) + 0.1 * jnp.eye(n)
    factor = jnp.linalg.cholesky(k)
    solved = jnp.linalg.solve(k, y)
    return -0.5 * y @ solved - jnp.log(jnp.diag(factor)).sum() - 0.5 * n * jnp.log(2.0 * jnp.pi)


def convolution(x, kernel):
    smooth = jnp.convolve(x, kernel, mode="same")
    return (smooth**2).sum() + jnp.abs(jnp.diff(smooth)).sum()


def ranked(x):
    n = x.size
    ordered = jnp.sort(x)
    shares = jnp.cumsum(ordered) / ordered.sum()
    even = jnp.arange(1, n + 1) / n
    return 1.0 - 2.0 * shares.mean() + jnp.max(even - shares)


def relaxed(u, tolerance):
    if len(u) <= 2:
        return u

    def step(state):
        u, _ = state
        inner = 0.5 * (u[:-2] + u[2:])
        return u.at[1:-1].set(inner), jnp.max(jnp.abs(inner - u[1:-1]))

    return lax.while_loop(lambda state: state[1] > tolerance, step, (u, 1.0))[0]


def masked_log_sum_exp(x, mask):
    kept = jnp.where(mask, x, -jnp.inf)
    top = kept.max()
    return top + jnp.log(jnp.sum(jnp.where(mask, jnp.exp(kept - top), 0.0)))


PORTS = {
    "decoder": decoder,
    "lstm": lstm,
    "kalman": kalman,
    "gaussian process": gaussian_process,
    "convolution": convolution,
    "sort, cumsum": ranked,
    "stencil": relaxed,
    "log-sum-exp": masked_log_sum_exp,
}
