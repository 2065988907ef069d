"""Eight programs whose sizes change from call to call, in plain NumPy: each takes arrays of a length n and parameters
of fixed sizes, and gives a number or arrays.

`PROGRAMS`: name -> (function, `arguments(n, rng)`, which argument a gradient is of). `layers_of(width, depth)` are the
parameters of a decoder of another size.
"""

import numpy as np

WIDTH, HEADS, DEPTH = 64, 4, 2
HIDDEN = 16
TOKENS, WIDE, DEEP = 40, 256, 6  # of the decoder that makes a text: NumPy takes some 10 ms a token
DRAWS = np.random.default_rng(0)


def normal(*shape):
    return DRAWS.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 1.0)


def layers_of(width, depth):
    shapes = dict.fromkeys("qkvo", (width, width)) | {"up": (width, 4 * width), "down": (4 * width, width)}
    return [{k: normal(*shape) for k, shape in shapes.items()} for _ in range(depth)]


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def normed(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def decoder(x, layers):
    """The last position of a causal transformer over a context x: f64[n, width]."""
    n, width = x.shape
    d = width // HEADS
    hidden = np.triu(np.full((n, n), -np.inf), k=1)
    for layer in layers:
        y = normed(x)
        q, k, v = ((y @ layer[name]).reshape(n, HEADS, d).transpose(1, 0, 2) for name in "qkv")
        attended = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(d) + hidden) @ v
        x = x + attended.transpose(1, 0, 2).reshape(n, width) @ layer["o"]
        x = x + np.maximum(normed(x) @ layer["up"], 0.0) @ layer["down"]
    return x[-1]


def lstm(x, w, u, b):
    """The last state of an LSTM over x: f64[n, 8]."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    for t in range(x.shape[0]):
        i, f, g, o = np.split(x[t] @ w + h @ u + b, 4)
        sigmoid = lambda z: 1.0 / (1.0 + np.exp(-z))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def kalman(z, q, r):
    """Negative log-likelihood of z: f64[n] under a local linear trend."""
    a = np.array([[1.0, 1.0], [0.0, 1.0]])
    m, p, total = np.zeros(2), np.eye(2) * 10.0, 0.0
    for value in z:
        m, p = a @ m, a @ p @ a.T + q * np.eye(2)
        s = p[0, 0] + r
        gain, error = p[:, 0] / s, value - m[0]
        m, p = m + gain * error, p - np.outer(gain, p[0])
        total = total + 0.5 * (np.log(s) + error * error / s)
    return total


def gaussian_process(x, y, scale):
    """Log marginal likelihood of y: f64[n] at x: f64[n], by Cholesky."""
    n = len(x)
    k = np.exp(-0.5 * ((x[:, None] - x[None, :]) / scale) ** 2) + 0.1 * np.eye(n)
    factor = np.linalg.cholesky(k)
    solved = np.linalg.solve(k, y)
    return -0.5 * y @ solved - np.log(np.diag(factor)).sum() - 0.5 * n * np.log(2.0 * np.pi)


def convolution(x, kernel):
    """Energy of x: f64[n] behind a filter, and of its differences."""
    smooth = np.convolve(x, kernel, mode="same")
    return (smooth**2).sum() + np.abs(np.diff(smooth)).sum()


def ranked(x):
    """Gini coefficient of x: f64[n], and the largest excess of its empirical distribution."""
    n = x.size
    ordered = np.sort(x)
    shares = np.cumsum(ordered) / ordered.sum()
    even = np.arange(1, n + 1) / n
    return 1.0 - 2.0 * shares.mean() + np.max(even - shares)


def relaxed(u, tolerance):
    """A bar of n points, its ends held, relaxed until it changes no more than a tolerance."""
    u = u.copy()
    change = 1.0
    while change > tolerance:
        inner = 0.5 * (u[:-2] + u[2:]) if len(u) > 2 else u[1:1]
        change = np.max(np.abs(inner - u[1:-1])) if len(u) > 2 else 0.0
        u[1:-1] = inner
    return u


def masked_log_sum_exp(x, mask):
    """log(sum(exp(x))) of the entries of x: f64[n] that mask: bool[n] keeps."""
    kept = np.where(mask, x, -np.inf)
    top = kept.max()
    return top + np.log(np.sum(np.where(mask, np.exp(kept - top), 0.0)))


def positive(n, rng):
    return rng.random(n) + 0.1


def a_mask(n, rng):
    mask = rng.random(n) < 0.7
    mask[:1] = True
    return mask


LAYERS = layers_of(WIDTH, DEPTH)
W, U, B, KERNEL = normal(8, 4 * HIDDEN), normal(HIDDEN, 4 * HIDDEN), normal(4 * HIDDEN), normal(5)

PROGRAMS = {
    "decoder": (decoder, lambda n, rng: (rng.standard_normal((n, WIDTH)), LAYERS), 0),
    "lstm": (lstm, lambda n, rng: (rng.standard_normal((n, 8)), W, U, B), 1),
    "kalman": (kalman, lambda n, rng: (rng.standard_normal(n), 0.1, 0.5), 1),
    "gaussian process": (gaussian_process, lambda n, rng: (rng.random(n), rng.standard_normal(n), 0.3), 2),
    "convolution": (convolution, lambda n, rng: (rng.standard_normal(n), KERNEL), 1),
    "sort, cumsum": (ranked, lambda n, rng: (positive(n, rng),), 0),
    "stencil": (relaxed, lambda n, rng: (rng.random(n), 1e-3), 0),
    "log-sum-exp": (masked_log_sum_exp, lambda n, rng: (rng.standard_normal(n), a_mask(n, rng)), 0),
}
