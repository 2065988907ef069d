"""Neural nets, written out in NumPy: dense, convolutional, recurrent, on graphs, a stack of transformer blocks, and
training itself."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program, ported


def cross_entropy(z, labels):
    z = z - z.max(axis=-1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=-1)) - z[np.arange(len(labels)), labels])


def classifier(x, labels, w1, b1, w2, b2, w3, b3):
    h = np.maximum(x @ w1 + b1, 0)
    h = np.tanh(h @ w2 + b2)
    return cross_entropy(h @ w3 + b3, labels)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(x, q, k, v):
    """Causal, with one head."""
    scores = (x @ q) @ (x @ k).T / np.sqrt(q.shape[1])
    later = np.triu(np.ones(scores.shape, bool), 1)
    return softmax(np.where(later, -1e9, scores)) @ (x @ v)


def layer_norm(x, gain, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) + shift


def block(x, g1, s1, qkv, out, g2, s2, up, down, heads=4):
    """A transformer block: attention of all to all with four heads, and a net for each place."""
    T, d = x.shape
    q, k, v = np.split(layer_norm(x, g1, s1) @ qkv, 3, axis=-1)
    q, k, v = (np.transpose(np.reshape(a, (T, heads, d // heads)), (1, 0, 2)) for a in (q, k, v))
    mixed = softmax(q @ np.transpose(k, (0, 2, 1)) / np.sqrt(d / heads)) @ v
    x = x + np.reshape(np.transpose(mixed, (1, 0, 2)), (T, d)) @ out
    h = layer_norm(x, g2, s2) @ up
    return x + (0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3)))) @ down


def transformer(x, g1, s1, qkv, out, g2, s2, up, down):
    """The parameters of all layers, stacked."""
    for i in range(len(qkv)):
        x = block(x, g1[i], s1[i], qkv[i], out[i], g2[i], s2[i], up[i], down[i])
    return x


def transformer_jax(x, *parameters):
    layer = ported(block)
    return lax.scan(lambda x, given: (layer(x, *given), None), x, parameters)[0]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(xs, W, U, b):
    """The last output over all that came before; xs is time, batch, features."""
    h = np.zeros((xs.shape[1], U.shape[0]))
    c = np.zeros((xs.shape[1], U.shape[0]))
    for t in range(xs.shape[0]):
        i, f, o, g = np.split(xs[t] @ W + h @ U + b, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return h


def lstm_jax(xs, W, U, b):
    def step(state, x):
        h, c = state
        i, f, o, g = jnp.split(x + h @ U, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((xs.shape[1], U.shape[0]))
    return lax.scan(step, (zero, zero), xs @ W + b)[0][0]


def convolutional(images, filters, w):
    """3 x 3 filters, a rectifier, the mean over the image, a product."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    h = np.maximum(np.einsum("bijkl,klc->bijc", windows, filters), 0)
    return h.mean(axis=(1, 2)) @ w


def convolutional_jax(images, filters, w):
    h = lax.conv_general_dilated(
        images[..., None], filters[:, :, None, :], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return jnp.maximum(h, 0).mean(axis=(1, 2)) @ w


def training(X, y, w1, w2, rate, steps):
    """Steps down the gradient of a small net, worked out by hand; the weights at the end."""
    for _ in range(steps):
        h = np.tanh(X @ w1)
        d = (h @ w2 - y) / len(y)
        back = np.outer(d, w2) * (1 - h * h)
        w1, w2 = w1 - rate * (X.T @ back), w2 - rate * (h.T @ d)
    return w1, w2


def training_jax(X, y, w1, w2, rate, steps):
    def loss(weights):
        w1, w2 = weights
        return 0.5 * jnp.mean((jnp.tanh(X @ w1) @ w2 - y) ** 2)

    def step(_, weights):
        return jax.tree_util.tree_map(lambda w, g: w - rate * g, weights, jax.grad(loss)(weights))

    return lax.fori_loop(0, steps, step, (w1, w2))


def messages(h, w, u, sender, receiver):
    """Three rounds on a graph: every node adds up what its neighbours say."""
    for _ in range(3):
        heard = np.zeros_like(h)
        np.add.at(heard, receiver, np.tanh(h[sender] @ w))
        h = np.tanh(h @ u + heard)
    return h


def messages_jax(h, w, u, sender, receiver):
    def round_(_, h):
        return jnp.tanh(h @ u + jax.ops.segment_sum(jnp.tanh(h[sender] @ w), receiver, len(h)))

    return lax.fori_loop(0, 3, round_, h)


# -- arguments -----------------------------------------------------------------------------------


def weights(rng, *shape):
    return rng.normal(size=shape) / np.sqrt(shape[-2])


def for_classifier(rng, n):
    layers = [a for i, o in ((n, n), (n, n), (n, 5)) for a in (weights(rng, i, o), 0.1 * rng.normal(size=o))]
    return rng.normal(size=(2 * n, n)), rng.integers(0, 5, 2 * n), *layers


def for_attention(rng, n):
    return rng.normal(size=(n, 16)), weights(rng, 16, 16), weights(rng, 16, 16), weights(rng, 16, 16)


def for_transformer(rng, n, layers=4):
    vector = lambda: 1 + 0.1 * rng.normal(size=(layers, n))
    matrix = lambda i, o: weights(rng, layers, i, o)
    return (
        rng.normal(size=(n, n)),
        vector(),
        vector(),
        matrix(n, 3 * n),
        matrix(n, n),
        vector(),
        vector(),
        matrix(n, 4 * n),
        matrix(4 * n, n),
    )


def for_lstm(rng, n):
    return rng.normal(size=(20, 8, n)), weights(rng, n, 4 * n), weights(rng, n, 4 * n), 0.1 * rng.normal(size=4 * n)


def for_training(rng, n):
    return rng.normal(size=(4 * n, n)), rng.normal(size=4 * n), weights(rng, n, n), rng.normal(size=n), 0.05, 20


def for_messages(rng, n):
    return (
        rng.normal(size=(n, 8)),
        weights(rng, 8, 8),
        weights(rng, 8, 8),
        rng.integers(0, n, 4 * n),
        rng.integers(0, n, 4 * n),
    )


PROGRAMS = [
    Program(classifier, for_classifier, (5, 16, 128), (2, 3, 4, 5, 6, 7), numba=False),
    Program(attention, for_attention, (5, 24, 256), (0, 1, 2, 3), numba=False),
    Program(transformer, for_transformer, (4, 16, 96), tuple(range(9)), transformer_jax, numba=False),
    Program(lstm, for_lstm, (3, 8, 64), (0, 1, 2, 3), lstm_jax, numba=False),
    Program(
        convolutional,
        lambda rng, n: (rng.normal(size=(8, n, n)), rng.normal(size=(3, 3, 6)), rng.normal(size=(6, 4))),
        (5, 12, 64),
        (0, 1, 2),
        convolutional_jax,
        numba=False,
    ),
    Program(training, for_training, (4, 12, 64), (0, 1, 2, 3, 4), training_jax),
    Program(messages, for_messages, (5, 50, 2000), (0, 1, 2), messages_jax, numba=False),
]
