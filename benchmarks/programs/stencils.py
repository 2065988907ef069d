"""Stencils: grids in which every point meets its neighbours, by slices, by rolls, and point by point in place."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert.benchmarks.programs import Program, ported


def heat(u, rate, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u


def heat_jax(u, rate, steps):
    def step(_, u):
        # faster than .at[].add
        return u + jnp.pad(rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]), 1)

    return lax.fori_loop(0, steps, step, u)


def wave(u, speed, steps):
    """A string with fixed ends: the shapes of two times before, and all later ones."""
    out = np.zeros((steps, len(u)))
    out[0] = u
    out[1] = u
    for t in range(2, steps):
        out[t, 1:-1] = (
            2 * out[t - 1, 1:-1]
            - out[t - 2, 1:-1]
            + speed[1:-1] ** 2 * (out[t - 1, 2:] - 2 * out[t - 1, 1:-1] + out[t - 1, :-2])
        )
    return out


def wave_jax(u, speed, steps):
    def step(state, _):
        before, now = state
        new = 2 * now[1:-1] - before[1:-1] + speed[1:-1] ** 2 * (now[2:] - 2 * now[1:-1] + now[:-2])
        new = jnp.pad(new, 1)
        return (now, new), new

    _, rest = lax.scan(step, (u, u), length=steps - 2)
    return jnp.concatenate([u[None], u[None], rest])


def around(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def gray_scott(u, v, feed, kill, steps):
    for _ in range(steps):
        uvv = u * v * v
        u, v = u + 0.16 * around(u) - uvv + feed * (1 - u), v + 0.08 * around(v) + uvv - (feed + kill) * v
    return u, v


def gray_scott_jax(u, v, feed, kill, steps):
    spread = ported(around)

    def step(_, state):
        u, v = state
        uvv = u * v * v
        return u + 0.16 * spread(u) - uvv + feed * (1 - u), v + 0.08 * spread(v) + uvv - (feed + kill) * v

    return lax.fori_loop(0, steps, step, (u, v))


def gauss_seidel(u, f, sweeps):
    u = u.copy()
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def gauss_seidel_jax(u, f, sweeps):
    def point(left, rest):
        new = 0.25 * (left + rest)
        return new, new

    def row(above, given):
        old, below, f = given
        _, new = lax.scan(point, old[0], above[1:-1] + below[1:-1] + old[2:] - f[1:-1])
        new = jnp.concatenate([old[:1], new, old[-1:]])
        return new, new

    def sweep(_, u):
        _, rows = lax.scan(row, u[0], (u[1:-1], u[2:], f[1:-1]))
        return jnp.concatenate([u[:1], rows, u[-1:]])

    return lax.fori_loop(0, sweeps, sweep, u)


def life(cells, steps):
    for _ in range(steps):
        p = np.zeros((cells.shape[0] + 2, cells.shape[1] + 2), cells.dtype)
        p[1:-1, 1:-1] = cells
        near = (
            p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
        )
        cells = ((near == 3) | ((cells == 1) & (near == 2))).astype(cells.dtype)
    return cells


def life_jax(cells, steps):
    def step(_, cells):
        p = jnp.pad(cells, 1)
        near = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, :-2] + p[2:, 1:-1] + p[2:,
            2:]
        return ((near == 3) | ((cells == 1) & (near == 2))).astype(cells.dtype)

    return lax.fori_loop(0, steps, step, cells)


def convolve(image, kernel):
    h, w = image.shape[0] - kernel.shape[0] + 1, image.shape[1] - kernel.shape[1] + 1
    out = np.zeros((h, w))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += kernel[i, j] * image[i : i + h, j : j + w]
    return out


def relaxation(f, tolerance):
    """As many steps as it takes."""
    u = np.zeros_like(f)
    change = np.inf
    while change > tolerance:
        new = 0.5 * (u[:-2] + u[2:] - f[1:-1])
        change = np.abs(new - u[1:-1]).max()
        u[1:-1] = new
    return u


def relaxation_jax(f, tolerance):
    def step(state):
        u, _ = state
        new = 0.5 * (u[:-2] + u[2:] - f[1:-1])
        return jnp.pad(new, 1), jnp.abs(new - u[1:-1]).max()

    return lax.while_loop(lambda state: state[1] > tolerance, step, (jnp.zeros_like(f), jnp.inf))[0]


def two_species(rng, n):
    return 1 - 0.3 * rng.random((n, n)), 0.3 * rng.random((n, n)), 0.03, 0.06, 20


PROGRAMS = [
    Program(heat, lambda rng, n: (rng.normal(size=(n, n)), 0.2, 20), (6, 30, 200), (0, 1), heat_jax),
    Program(wave, lambda rng, n: (rng.normal(size=n), 0.5 * rng.random(n), n), (6, 40, 400), (0, 1), wave_jax),
    Program(gray_scott, two_species, (5, 20, 120), (0, 1, 2, 3), gray_scott_jax, numba=False),
    Program(
        gauss_seidel,
        lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(n, n)), 5),
        (5, 16, 60),
        (0, 1),
        gauss_seidel_jax,
    ),
    Program(life, lambda rng, n: ((rng.random((n, n)) < 0.4).astype(np.int8), 10), (8, 40, 300), (), life_jax),
    Program(convolve, lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(3, 3))), (6, 40, 500), (0, 1)),
    Program(relaxation, lambda rng, n: (rng.normal(size=n), 1e-3), (6, 16, 64), (0,), relaxation_jax),
]
