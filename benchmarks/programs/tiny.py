"""Tiny calls: a few calls of NumPy on small arrays, numbers, and many small arguments. What a call costs is what
counts."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def quaternions(p, q):
    """Their product."""
    a, b, c, d = p
    e, f, g, h = q
    return np.array(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def black_scholes(price, strike, rate, spread, time):
    """A call, the normal distribution by its logistic approximation."""
    root = spread * np.sqrt(time)
    up = (np.log(price / strike) + (rate + 0.5 * spread * spread) * time) / root
    below = lambda z: 1 / (1 + np.exp(-1.5976 * z - 0.07056 * z**3))
    return price * below(up) - strike * np.exp(-rate * time) * below(up - root)


def momentum(rate, *given):
    """A step of eight parameters, of their gradients and velocities."""
    parameters, gradients, velocities = given[:8], given[8:16], given[16:]
    velocities = [0.9 * v + g for v, g in zip(velocities, gradients)]
    return (*[p - rate * v for p, v in zip(parameters, velocities)], *velocities)


def huber(x, width):
    size = np.sqrt(np.sum(x * x))
    if size < width:
        return 0.5 * size * size
    return width * (size - 0.5 * width)


def huber_jax(x, width):
    size = jnp.sqrt(jnp.sum(x * x))
    return lax.cond(size < width, lambda s: 0.5 * s * s, lambda s: width * (s - 0.5 * width), size)


def line(A, b, x):
    """A Newton step on a quadratic, and how far it goes."""
    step = np.linalg.solve(A, b - A @ x)
    return x + step, np.linalg.norm(step)


def arm(angles, lengths):
    """Where the joints of a plane arm are."""
    turned = np.cumsum(angles)
    return np.stack([np.cumsum(lengths * np.cos(turned)), np.cumsum(lengths * np.sin(turned))])


def controller(wanted, seen, total, before, dt):
    """A step of proportion, integral and derivative, on Python's floats; (what to do, the next two)."""
    error = wanted - seen
    total = min(max(total + error * dt, -1.0), 1.0)
    return 2.0 * error + 0.5 * total + 0.1 * (error - before) / dt, total, error


def controller_jax(wanted, seen, total, before, dt):
    error = wanted - seen
    total = jnp.clip(total + error * dt, -1.0, 1.0)
    return 2.0 * error + 0.5 * total + 0.1 * (error - before) / dt, total, error


def many(rng, n):
    return 0.01, *(rng.normal(size=n) for _ in range(24))


def conditioned(rng, n):
    return rng.normal(size=(n, n)) + 2 * n * np.eye(n), rng.normal(size=n), rng.normal(size=n)


PROGRAMS = [
    Program(softmax, lambda rng, n: (rng.normal(size=n),), (4, 10, 100), (0,)),
    Program(quaternions, lambda rng, n: (rng.normal(size=4), rng.normal(size=4)), (4, 4, 4), (0, 1)),
    Program(rosenbrock, lambda rng, n: (rng.normal(size=n),), (4, 10, 100), (0,)),
    Program(black_scholes, lambda rng, n: (*(90 + 20 * rng.random(2)), 0.05, 0.2, 0.5), (1, 1, 1), (0, 1, 2, 3, 4)),
    Program(momentum, many, (2, 3, 100), (0, 1, 9, 17), numba=False),
    Program(huber, lambda rng, n: (rng.normal(size=n), 2.5), (4, 5, 100), (0, 1), huber_jax),
    Program(line, conditioned, (3, 3, 10), (0, 1, 2)),
    Program(arm, lambda rng, n: (rng.normal(size=n), rng.random(n)), (3, 4, 40), (0, 1), numba=False),
    Program(controller, lambda rng, n: tuple(rng.random(4)) + (0.1,), (1, 1, 1), (0, 1, 2, 3), controller_jax),
]
