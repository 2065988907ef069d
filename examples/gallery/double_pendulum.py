"""A double pendulum, 25,600 times.

For each pair of starting angles: how long until the lower rod turns over? The step is the classical Runge-Kutta method
on one pendulum's four numbers; `vmap` runs a grid of pendulums at once. Each lane has a `while` of its own.
"""

import numpy as np

from wengert import jit, vmap


def slope(state):
    """Time derivatives of (two angles, two angular velocities), for rods and masses of size one."""
    a, b, va, vb = state
    d = a - b
    below = 3.0 - np.cos(2.0 * d)
    fa = (-3.0 * np.sin(a) - np.sin(a - 2.0 * b) - 2.0 * np.sin(d) * (vb**2 + va**2 * np.cos(d))) / below
    fb = 2.0 * np.sin(d) * (2.0 * va**2 + 2.0 * np.cos(a) + vb**2 * np.cos(d)) / below
    return np.stack([va, vb, fa, fb])


def turning_time(a, b, dt, limit):
    """When the lower rod first turns over; `limit` steps if it does not."""
    state, steps = np.stack([a, b, 0.0, 0.0]), 0
    while np.abs(state[1]) < np.pi and steps < limit:
        k1 = slope(state)
        k2 = slope(state + 0.5 * dt * k1)
        k3 = slope(state + 0.5 * dt * k2)
        k4 = slope(state + dt * k3)
        state = state + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        steps += 1
    return steps * dt


def main(n=160, dt=0.04, limit=400):
    angles = np.linspace(-3.1, 3.1, n)
    a, b = (x.ravel() for x in np.meshgrid(angles, angles, indexing="ij"))
    times = jit(vmap(turning_time, in_axes=(0, 0, None, None)))(a, b, dt, limit)
    return {"times": times.reshape(n, n)}


def draw(figure, found):
    axes = figure.subplots()
    times = np.where(found["times"] < found["times"].max(), found["times"], np.nan)
    shown = axes.imshow(np.log(times + 0.2).T, cmap="turbo_r", extent=(-3.1, 3.1, -3.1, 3.1), origin="lower")
    axes.set(xlabel="first angle", ylabel="second angle")
    figure.colorbar(shown, label="log of the time until it turns over; white: it did not")


SMALL = {"n": 4, "limit": 20}
