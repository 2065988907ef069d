"""Two clusters of stars meet.

Every star attracts every other. The inner double loop over pairs is written as plain Python loops over numbers, which
NumPy alone would run slowly: here they become machine code. Time goes on by the leapfrog scheme, which keeps the total
energy close to what it was.
"""

import numpy as np

from wengert import jit


@jit
def accelerations(x, mass, soft):
    """f64[n,2] from positions f64[n,2] and masses f64[n]; soft: the distance below which forces stop to grow."""
    a = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
            pull = mass[j] / (dx * dx + dy * dy + soft * soft) ** 1.5
            a[i, 0] += pull * dx
            a[i, 1] += pull * dy
    return a


@jit
def simulate(x, v, mass, soft, dt, steps):
    """Positions at every step, f64[steps,n,2]."""
    path = np.zeros((steps, *x.shape))
    a = accelerations(x, mass, soft)
    for t in range(steps):
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x, mass, soft)
        v = v + 0.5 * dt * a
        path[t] = x
    return path


def cluster(rng, stars, centre, velocity):
    """Stars on circles about a heavy one -> (positions, velocities, masses)."""
    radius, angle = rng.uniform(0.2, 1.0, stars), rng.uniform(0.0, 2.0 * np.pi, stars)
    out = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    round_ = np.stack([-out[:, 1], out[:, 0]], axis=1) / np.sqrt(radius)[:, None]
    x = np.vstack([np.zeros(2), radius[:, None] * out]) + centre
    v = np.vstack([np.zeros(2), round_]) + velocity
    return x, v, np.concatenate([[1.0], np.full(stars, 1e-4)])


def main(stars=150, steps=500, dt=0.01):
    rng = np.random.default_rng(3)
    left, right = cluster(rng, stars, [-1.5, -0.6], [0.55, 0.0]), cluster(rng, stars, [1.5, 0.6], [-0.55, 0.0])
    x, v, mass = (np.concatenate(pair) for pair in zip(left, right, strict=True))
    return {"path": simulate(x, v, mass, 0.05, dt, steps)}


def draw(figure, found):
    path, half = found["path"], found["path"].shape[1] // 2
    for axes, share in zip(figure.subplots(1, 3), (0.0, 0.5, 0.999), strict=True):
        x = path[int(share * len(path))]
        axes.scatter(*x[:half].T, s=3, color="tab:blue")
        axes.scatter(*x[half:].T, s=3, color="tab:orange")
        axes.scatter(*x[[0, half]].T, s=25, color="black")
        axes.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
        axes.set_title(f"step {int(share * len(path))}")


SMALL = {"stars": 8, "steps": 20}
