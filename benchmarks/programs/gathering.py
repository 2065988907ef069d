"""Indexing, sorting and histograms: where elements go is data."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program


def histogram(x, weights, bins):
    """(how many, how heavy) in each bin of [0, 1)."""
    at = np.clip((x * bins).astype(np.int64), 0, bins - 1)
    counts = np.zeros(bins, np.int64)
    heavy = np.zeros(bins)
    np.add.at(counts, at, 1)
    np.add.at(heavy, at, weights)
    return counts, heavy


def histogram_jax(x, weights, bins):
    at = jnp.clip((x * bins).astype(jnp.int64), 0, bins - 1)
    return jnp.zeros(bins, jnp.int64).at[at].add(1), jnp.zeros(bins).at[at].add(weights)


def gini(x):
    """How unequal: a weighted sum of what is sorted."""
    s = np.sort(x)
    n = len(x)
    return (2 * np.arange(1, n + 1) - n - 1) @ s / (n * s.sum())


def trimmed_mean(X):
    """Of every row, without its lowest and highest quarter."""
    quarter = X.shape[1] // 4
    return np.sort(X, axis=1)[:, quarter : X.shape[1] - quarter].mean(axis=1)


def ranks(x):
    order = np.argsort(x)
    at = np.empty(len(x), np.int64)
    at[order] = np.arange(len(x))
    return at


def ranks_jax(x):
    return jnp.empty(len(x), jnp.int64).at[jnp.argsort(x)].set(jnp.arange(len(x)), unique_indices=True)


def interpolation(x, xs, ys):
    """Straight lines between the points (xs, ys)."""
    k = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
    t = (x - xs[k]) / (xs[k + 1] - xs[k])
    return (1 - t) * ys[k] + t * ys[k + 1]


def warp(image, dx, dy):
    """The image as it is between its points, at places moved by dx and dy."""
    h, w = image.shape
    y = np.clip(np.arange(h)[:, None] + dy, 0, h - 1.001)
    x = np.clip(np.arange(w)[None, :] + dx, 0, w - 1.001)
    i, j = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    u, v = y - i, x - j
    upper = (1 - v) * image[i, j] + v * image[i, j + 1]
    lower = (1 - v) * image[i + 1, j] + v * image[i + 1, j + 1]
    return (1 - u) * upper + u * lower


def sparse_product(values, columns, starts, x):
    """Compressed rows times a vector."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        y[i] = np.sum(values[row] * x[columns[row]])
    return y


def sparse_product_jax(values, columns, starts, x):
    rows = jnp.repeat(jnp.arange(len(starts) - 1), jnp.diff(starts), total_repeat_length=len(values))
    return jax.ops.segment_sum(values * x[columns], rows, len(starts) - 1, indices_are_sorted=True)


def above(x, threshold):
    """The mean and the spread of what is above."""
    chosen = x[x > threshold]
    return chosen.mean(), chosen.std()


def above_jax(x, threshold):
    chosen = x > threshold
    return x.mean(where=chosen), x.std(where=chosen)


def embedding(table, words, w):
    """The mean of a table's rows for each list of words, through a matrix."""
    return np.tanh(table[words].mean(axis=1) @ w)


def counting_sort(keys, most):
    counts = np.zeros(most + 1, np.int64)
    for key in keys:
        counts[key + 1] += 1
    for k in range(most):
        counts[k + 1] += counts[k]
    out = np.empty_like(keys)
    for key in keys:
        out[counts[key]] = key
        counts[key] += 1
    return out


def counting_sort_jax(keys, most):
    counts = jnp.zeros(most, jnp.int64).at[keys].add(1)
    return jnp.repeat(jnp.arange(most), counts, total_repeat_length=len(keys))


def union_find(a, b, n):
    """The component that each of n nodes is in, by the edges a to b: its lowest node."""
    parent = np.arange(n)
    for e in range(len(a)):
        i = a[e]
        j = b[e]
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        while parent[j] != j:
            parent[j] = parent[parent[j]]
            j = parent[j]
        parent[max(i, j)] = min(i, j)
    for k in range(n):
        parent[k] = parent[parent[k]]
    return parent


def union_find_jax(a, b, n):
    def root(parent, i):
        def up(state):
            parent, i = state
            parent = parent.at[i].set(parent[parent[i]])
            return parent, parent[i]

        return lax.while_loop(lambda s: s[0][s[1]] != s[1], up, (parent, i))

    def edge(e, parent):
        parent, i = root(parent, a[e])
        parent, j = root(parent, b[e])
        return parent.at[jnp.maximum(i, j)].set(jnp.minimum(i, j))

    parent = lax.fori_loop(0, len(a), edge, jnp.arange(n))
    return lax.fori_loop(0, n, lambda k, parent: parent.at[k].set(parent[parent[k]]), parent)


# -- arguments -----------------------------------------------------------------------------------


def for_interpolation(rng, n):
    return np.sort(rng.random(n)) * 0.9 + 0.05, np.linspace(0, 1, n // 2 + 2), rng.normal(size=n // 2 + 2)


def compressed(rng, n):
    starts = np.append(0, np.cumsum(rng.integers(0, 12, n)))
    return rng.normal(size=starts[-1]), rng.integers(0, n, starts[-1]), starts, rng.normal(size=n)


def for_embedding(rng, n):
    return rng.normal(size=(n, 16)), rng.integers(0, n, (n, 8)), rng.normal(size=(16, 4))


PROGRAMS = [
    Program(
        histogram,
        lambda rng, n: (rng.random(n), rng.normal(size=n), 16),
        (10, 200, 100_000),
        (1,),
        histogram_jax,
        numba=False,
    ),
    Program(gini, lambda rng, n: (rng.random(n) + 0.1,), (9, 200, 100_000), (0,)),
    Program(trimmed_mean, lambda rng, n: (rng.normal(size=(n, n)),), (8, 20, 300), (0,), numba=False),
    Program(ranks, lambda rng, n: (rng.normal(size=n),), (9, 200, 100_000), (), ranks_jax),
    Program(interpolation, for_interpolation, (8, 200, 50_000), (0, 1, 2)),
    Program(
        warp,
        lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=(n, n))),
        (6, 30, 300),
        (0, 1, 2),
        numba=False,
    ),
    Program(sparse_product, compressed, (8, 100, 5000), (0, 3), sparse_product_jax),
    Program(above, lambda rng, n: (rng.normal(size=n), 0.2), (12, 200, 100_000), (0,), above_jax),
    Program(embedding, for_embedding, (6, 50, 2000), (0, 2), numba=False),
    Program(counting_sort, lambda rng, n: (rng.integers(0, 20, n), 20), (9, 100, 10_000), (), counting_sort_jax),
    Program(
        union_find, lambda rng, n: (rng.integers(0, n, n), rng.integers(0, n, n), n), (9, 100, 5000), (), union_find_jax
    ),
]
