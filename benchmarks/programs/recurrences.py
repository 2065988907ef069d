"""Scalar recurrences and dynamic programming: every step needs the one before, so nothing is a big array operation."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program


def recurrence(a, c):
    b = np.empty_like(c)
    b[0] = c[0]
    for i in range(1, len(c)):
        b[i] = np.tanh(a[i] * b[i - 1] + c[i])
    return b


def recurrence_jax(a, c):
    def step(last, given):
        a, c = given
        new = jnp.tanh(a * last + c)
        return new, new

    _, rest = lax.scan(step, c[0], (a[1:], c[1:]))
    return jnp.concatenate([c[:1], rest])


def anchored(x):
    """Each step reads the two ends as well."""
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + x[i] * x[0] - x[-1]
    return y


def anchored_jax(x):
    def step(last, x_i):
        new = 0.5 * last + x_i * x[0] - x[-1]
        return new, new

    _, rest = lax.scan(step, jnp.zeros((), x.dtype), x[1:])
    return jnp.concatenate([jnp.zeros(1, x.dtype), rest])


def tridiagonal(low, mid, up, rhs):
    """Solves by elimination down and substitution up."""
    n = len(mid)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = up[0] / mid[0]
    d[0] = rhs[0] / mid[0]
    for i in range(1, n):
        pivot = mid[i] - low[i] * c[i - 1]
        c[i] = up[i] / pivot
        d[i] = (rhs[i] - low[i] * d[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def tridiagonal_jax(low, mid, up, rhs):
    def down(last, given):
        (c, d), (low, mid, up, rhs) = last, given
        pivot = mid - low * c
        new = up / pivot, (rhs - low * d) / pivot
        return new, new

    def back(x, given):
        c, d = given
        return (d - c * x,) * 2

    first = up[0] / mid[0], rhs[0] / mid[0]
    last, (c, d) = lax.scan(down, first, (low[1:], mid[1:], up[1:], rhs[1:]))
    c, d = jnp.append(first[0], c), jnp.append(first[1], d)
    _, rest = lax.scan(back, d[-1], (c[:-1], d[:-1]), reverse=True)
    return jnp.append(rest, d[-1])


def edit_distance(s, t):
    D = np.zeros((len(s) + 1, len(t) + 1), np.int64)
    D[:, 0] = np.arange(len(s) + 1)
    D[0, :] = np.arange(len(t) + 1)
    for i in range(len(s)):
        for j in range(len(t)):
            cost = D[i, j] + (s[i] != t[j])
            D[i + 1, j + 1] = min(cost, D[i, j + 1] + 1, D[i + 1, j] + 1)
    return D[-1, -1]


def edit_distance_jax(s, t):
    def point(left, best):
        new = jnp.minimum(left + 1, best)
        return new, new

    def row(above, given):
        i, letter = given
        best = jnp.minimum(above[:-1] + (letter != t), above[1:] + 1)
        _, new = lax.scan(point, i + 1, best)
        return jnp.append(i + 1, new), None

    n = jnp.arange(len(s), dtype=jnp.int64)
    return lax.scan(row, jnp.arange(len(t) + 1, dtype=jnp.int64), (n, s))[0][-1]


def time_warp(a, b):
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            D[i + 1, j + 1] = (a[i] - b[j]) ** 2 + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[len(a), len(b)]


def time_warp_jax(a, b):
    def point(left, given):
        cost, best = given
        new = cost + jnp.minimum(left, best)
        return new, new

    def row(above, a):
        _, new = lax.scan(point, jnp.inf, ((a - b) ** 2, jnp.minimum(above[:-1], above[1:])))
        return jnp.append(jnp.inf, new), None

    return lax.scan(row, jnp.full(len(b) + 1, jnp.inf).at[0].set(0.0), a)[0][-1]


def knapsack(values, weights, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(values)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[: capacity + 1 - w] + values[i])
    return best


def knapsack_jax(values, weights, capacity):
    def item(best, given):
        value, weight = given
        room = jnp.concatenate([jnp.full(capacity + 1, -jnp.inf), best])
        return jnp.maximum(best, lax.dynamic_slice(room, (capacity + 1 - weight,), (capacity + 1,)) + value), None

    return lax.scan(item, jnp.zeros(capacity + 1), (values, weights))[0]


def viterbi(start, move, emit, seen):
    """(the likeliest states, the logarithm of their probability), from logarithms."""
    T = len(seen)
    came = np.zeros((T, len(start)), np.int64)
    score = start + emit[:, seen[0]]
    for t in range(1, T):
        through = score[:, None] + move
        came[t] = np.argmax(through, axis=0)
        score = np.max(through, axis=0) + emit[:, seen[t]]
    path = np.zeros(T, np.int64)
    path[T - 1] = np.argmax(score)
    for t in range(T - 1, 0, -1):
        path[t - 1] = came[t, path[t]]
    return path, np.max(score)


def viterbi_jax(start, move, emit, seen):
    def step(score, seen):
        through = score[:, None] + move
        return through.max(axis=0) + emit[:, seen], through.argmax(axis=0)

    def back(state, came):
        return came[state], state

    score, came = lax.scan(step, start + emit[:, seen[0]], seen[1:])
    first, path = lax.scan(back, score.argmax(), came, reverse=True)
    return jnp.append(first, path), score.max()


def hidden_markov(start, move, emit, seen):
    """The logarithm of the probability of what is seen."""
    p = start * emit[:, seen[0]]
    total = np.log(p.sum())
    p = p / p.sum()
    for t in range(1, len(seen)):
        p = (p @ move) * emit[:, seen[t]]
        scale = p.sum()
        p = p / scale
        total += np.log(scale)
    return total


def hidden_markov_jax(start, move, emit, seen):
    def step(p, seen):
        p = (p @ move) * emit[:, seen]
        return p / p.sum(), jnp.log(p.sum())

    p = start * emit[:, seen[0]]
    _, logs = lax.scan(step, p / p.sum(), seen[1:])
    return jnp.log(p.sum()) + logs.sum()


def kalman(z, F, H, Q, R):
    """The filtered states, of scalar observations."""
    x = np.zeros(len(H))
    P = np.eye(len(H))
    out = np.zeros((len(z), len(H)))
    for t in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        S = H @ P @ H + R
        K = P @ H / S
        x = x + K * (z[t] - H @ x)
        P = P - np.outer(K, H @ P)
        out[t] = x
    return out


def kalman_jax(z, F, H, Q, R):
    def step(state, z):
        x, P = state
        x = F @ x
        P = F @ P @ F.T + Q
        K = P @ H / (H @ P @ H + R)
        x = x + K * (z - H @ x)
        return (x, P - jnp.outer(K, H @ P)), x

    return lax.scan(step, (jnp.zeros(len(H)), jnp.eye(len(H))), z)[1]


# -- arguments -----------------------------------------------------------------------------------


def dominant(rng, n):
    return 0.3 * rng.normal(size=n), 3 + rng.random(n), 0.3 * rng.normal(size=n), rng.normal(size=n)


def markov(rng, n, states=6, letters=5):
    start, move, emit = rng.random(states), rng.random((states, states)), rng.random((states, letters))
    return (
        start / start.sum(),
        move / move.sum(axis=1, keepdims=True),
        emit / emit.sum(axis=1, keepdims=True),
        rng.integers(0, letters, n),
    )


def logarithms(rng, n):
    return (*map(np.log, markov(rng, n)[:3]), markov(rng, n)[3])


def tracked(rng, n):
    return (
        np.cumsum(rng.normal(size=n)),
        np.array([[1.0, 0.1], [0.0, 0.95]]),
        np.array([1.0, 0.2]),
        0.1 * np.eye(2),
        0.5,
    )


def letters(rng, n):
    return rng.integers(0, 4, n), rng.integers(0, 4, n + 3)


PROGRAMS = [
    Program(
        recurrence, lambda rng, n: (rng.normal(size=n), rng.normal(size=n)), (8, 100, 10_000), (0, 1), recurrence_jax
    ),
    Program(anchored, lambda rng, n: (rng.normal(size=n),), (8, 100, 10_000), (0,), anchored_jax),
    Program(tridiagonal, dominant, (8, 100, 10_000), (0, 1, 2, 3), tridiagonal_jax),
    Program(edit_distance, letters, (6, 20, 200), (), edit_distance_jax),
    Program(
        time_warp, lambda rng, n: (rng.normal(size=n), rng.normal(size=n + 3)), (5, 20, 200), (0, 1), time_warp_jax
    ),
    Program(knapsack, lambda rng, n: (rng.random(n), rng.integers(1, n, n), 5 * n), (6, 20, 200), (0,), knapsack_jax),
    Program(viterbi, logarithms, (6, 30, 1000), (0, 1, 2), viterbi_jax, numba=False),
    Program(hidden_markov, markov, (6, 30, 1000), (0, 1, 2), hidden_markov_jax),
    Program(kalman, tracked, (6, 30, 1000), (0, 1, 2, 3, 4), kalman_jax),
]
