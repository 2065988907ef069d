"""Particles and differential equations: loops over time, whose steps are small formulas on a few or on many numbers."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program, ported


def attraction(x, m):
    d = x[None, :, :] - x[:, None, :]
    r2 = (d * d).sum(axis=-1) + 0.01
    return (d * (m[None, :] / (r2 * np.sqrt(r2)))[:, :, None]).sum(axis=1)


def gravity(x, v, m, dt, steps):
    a = attraction(x, m)
    for _ in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = attraction(x, m)
        v = v + 0.5 * dt * a
    return x, v


def gravity_jax(x, v, m, dt, steps):
    pull = ported(attraction)

    def step(_, state):
        x, v, a = state
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = pull(x, m)
        return x, v + 0.5 * dt * a, a

    return lax.fori_loop(0, steps, step, (x, v, pull(x, m)))[:2]


def slope(y):
    return np.array([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])


def lorenz(y, dt, steps):
    """Runge and Kutta's fourth order; all states."""
    out = np.zeros((steps, 3))
    for i in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * dt * k1)
        k3 = slope(y + 0.5 * dt * k2)
        k4 = slope(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out[i] = y
    return out


def lorenz_jax(y, dt, steps):
    slope_jax = ported(slope)

    def step(y, _):
        k1 = slope_jax(y)
        k2 = slope_jax(y + 0.5 * dt * k1)
        k3 = slope_jax(y + 0.5 * dt * k2)
        k4 = slope_jax(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, y, length=steps)[1]


def adaptive(x, v, mu, end):
    """Van der Pol's oscillator by Heun's rule, its step doubled and halved as it goes; (x, v, trips)."""
    t, h, trips = 0.0, 0.01, 0
    while t < end:
        a = mu * (1 - x * x) * v - x
        x1, v1 = x + h * v, v + h * a
        a1 = mu * (1 - x1 * x1) * v1 - x1
        x2, v2 = x + 0.5 * h * (v + v1), v + 0.5 * h * (a + a1)
        error = max(abs(x2 - x1), abs(v2 - v1))
        if error < 1e-3:
            t, x, v = t + h, x2, v2
            if error < 1e-4:
                h = 2 * h
        else:
            h = 0.5 * h
        trips += 1
    return x, v, trips


def adaptive_jax(x, v, mu, end):
    def step(state):
        x, v, t, h, trips = state
        a = mu * (1 - x * x) * v - x
        x1, v1 = x + h * v, v + h * a
        a1 = mu * (1 - x1 * x1) * v1 - x1
        x2, v2 = x + 0.5 * h * (v + v1), v + 0.5 * h * (a + a1)
        error = jnp.maximum(jnp.abs(x2 - x1), jnp.abs(v2 - v1))
        good = error < 1e-3
        taken = jnp.where(good, x2, x), jnp.where(good, v2, v), jnp.where(good, t + h, t)
        return *taken, jnp.where(good, jnp.where(error < 1e-4, 2 * h, h), 0.5 * h), trips + 1

    x, v, _, _, trips = lax.while_loop(lambda s: s[2] < end, step, (jnp.asarray(x), jnp.asarray(v), 0.0, 0.01, 0))
    return x, v, trips


def springs(x, v, stiffness, dt, steps):
    """A chain of masses between neighbours at distance 1."""
    x = x.copy()
    v = v.copy()
    for _ in range(steps):
        f = stiffness * (np.diff(x) - 1.0)
        v[:-1] += dt * f
        v[1:] -= dt * f
        x += dt * v
    return x, v


def springs_jax(x, v, stiffness, dt, steps):
    def step(_, state):
        x, v = state
        f = stiffness * (jnp.diff(x) - 1.0)
        v = v + dt * (jnp.pad(f, (0, 1)) - jnp.pad(f, (1, 0)))
        return x + dt * v, v

    return lax.fori_loop(0, steps, step, (x, v))


def diffusion(x, noise, depth, dt):
    """Random walks in two wells; the mean square at each time."""
    out = np.zeros(noise.shape[0])
    for t in range(noise.shape[0]):
        x = x - dt * depth * x * (x * x - 1) + np.sqrt(2 * dt) * noise[t]
        out[t] = (x * x).sum() / len(x)
    return out


def diffusion_jax(x, noise, depth, dt):
    def step(x, noise):
        x = x - dt * depth * x * (x * x - 1) + jnp.sqrt(2 * dt) * noise
        return x, (x * x).sum() / len(x)

    return lax.scan(step, x, noise)[1]


def bouncing(x, v, dt, steps):
    """Balls between two walls, which take a tenth of the speed."""
    for _ in range(steps):
        x = x + dt * v
        hit = (x < 0) | (x > 1)
        v = np.where(hit, -0.9 * v, v)
        x = np.where(x < 0, -x, np.where(x > 1, 2 - x, x))
    return x, v


def bouncing_jax(x, v, dt, steps):
    def step(_, state):
        x, v = state
        x = x + dt * v
        hit = (x < 0) | (x > 1)
        return jnp.where(x < 0, -x, jnp.where(x > 1, 2 - x, x)), jnp.where(hit, -0.9 * v, v)

    return lax.fori_loop(0, steps, step, (x, v))


def kepler(mean, e):
    """The eccentric anomaly, by Newton's method."""
    E = mean + e * np.sin(mean)
    for _ in range(6):
        E = E - (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
    return E


def kepler_jax(mean, e):
    def step(_, E):
        return E - (E - e * jnp.sin(E) - mean) / (1 - e * jnp.cos(E))

    return lax.fori_loop(0, 6, step, mean + e * jnp.sin(mean))


def bodies(rng, n):
    return rng.normal(size=(n, 3)), 0.1 * rng.normal(size=(n, 3)), rng.random(n) + 0.5, 0.01, 10


def chain(rng, n):
    return np.arange(n) + 0.1 * rng.normal(size=n), rng.normal(size=n), 1 + rng.random(n - 1), 0.02, 50


PROGRAMS = [
    Program(gravity, bodies, (4, 16, 100), (0, 1, 2, 3), gravity_jax),
    Program(lorenz, lambda rng, n: (rng.normal(size=3), 0.01, n), (8, 50, 1000), (0, 1), lorenz_jax),
    Program(adaptive, lambda rng, n: (1.3, 0.2, 1.5, n / 10), (5, 20, 200), (0, 1, 2), adaptive_jax),
    Program(springs, chain, (5, 40, 2000), (0, 1, 2, 3), springs_jax),
    Program(
        diffusion,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=(30, n)), 1.5, 0.02),
        (5, 40, 4000),
        (0, 1, 2),
        diffusion_jax,
    ),
    Program(
        bouncing, lambda rng, n: (rng.random(n), 3 * rng.normal(size=n), 0.03, 40), (5, 40, 4000), (0, 1), bouncing_jax
    ),
    Program(kepler, lambda rng, n: (3 * rng.random(n), 0.8 * rng.random(n)), (5, 100, 20_000), (0, 1), kepler_jax),
]
