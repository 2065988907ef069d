"""How an error grows: the Lorenz system.

A trajectory of the Lorenz equations, and, by forward mode through the whole simulation, how far the end would move if
the start moved a little. `jvp` carries that tangent along with the trajectory; the growth rate is the largest Lyapunov
exponent, about 0.9.
"""

import numpy as np

from wengert import jit, jvp


def flow(p):
    x, y, z = p
    return np.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def trajectory(start, dt, steps):
    """Positions f64[steps,3], by the classical Runge-Kutta method."""
    p, path = start, np.zeros((steps, 3))
    for t in range(steps):
        k1 = flow(p)
        k2 = flow(p + 0.5 * dt * k1)
        k3 = flow(p + 0.5 * dt * k2)
        k4 = flow(p + dt * k3)
        p = p + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path[t] = p
    return path


@jit
def with_tangent(start, nudge, dt, steps):
    """The path, and its derivative in the direction `nudge` of the start: both f64[steps,3]."""
    return jvp(lambda s: trajectory(s, dt, steps), (start,), (nudge,))


def main(steps=4000, dt=0.01):
    path, moved = with_tangent(np.array([1.0, 1.0, 20.0]), np.array([1.0, 0.0, 0.0]), dt, steps)
    growth = np.log(np.linalg.norm(moved, axis=1))
    times = dt * np.arange(1, steps + 1)
    return {"path": path, "growth": growth, "rate": np.polyfit(times, growth, 1)[0], "times": times}


def draw(figure, found):
    left, right = figure.subplots(1, 2)
    left.scatter(found["path"][:, 0], found["path"][:, 2], c=np.gradient(found["growth"]), s=1.5, cmap="coolwarm")
    left.set(xlabel="x", ylabel="z", title="red: errors grow here")
    right.plot(found["times"], found["growth"])
    right.plot(found["times"], found["rate"] * found["times"], "--")
    right.set(xlabel="time", ylabel="log of the error", title=f"rate {found['rate']:.2f}")


SMALL = {"steps": 60}
