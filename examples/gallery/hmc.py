"""Draw from a bent distribution: Hamiltonian Monte Carlo.

The log density is plain NumPy; `grad` gives the force that pushes a fictitious particle, and Metropolis' rule corrects
the errors of its path (R. Neal, *MCMC using Hamiltonian dynamics*, 2011). All chains' draws come from NumPy's generator
in the order in which plain Python would take them.
"""

import numpy as np

from wengert import grad, jit


def log_density(x):
    """A ridge along the curve y = x^2 (up to a constant)."""
    return -0.5 * x[0] ** 2 - 4.0 * (x[1] - x[0] ** 2) ** 2


@jit
def sample(start, count, size, leaps, seed):
    """Points f64[count,2], and the share of proposals that were taken."""
    rng, force = np.random.default_rng(seed), grad(log_density)
    x, points, taken = start, np.zeros((count, 2)), 0
    for k in range(count):
        p = rng.normal(size=2)
        before = log_density(x) - 0.5 * (p @ p)
        y = x
        p = p + 0.5 * size * force(y)
        for _ in range(leaps):
            y = y + size * p
            p = p + size * force(y)
        p = p - 0.5 * size * force(y)
        if np.log(rng.random()) < log_density(y) - 0.5 * (p @ p) - before:
            x = y
            taken += 1
        points[k] = x
    return points, taken / count


def main(count=3000, size=0.15, leaps=20):
    points, share = sample(np.zeros(2), count, size, leaps, 11)
    return {"points": points, "share": share}


def draw(figure, found):
    axes = figure.subplots()
    x, y = np.meshgrid(np.linspace(-3.2, 3.2, 200), np.linspace(-1.5, 8.0, 200))
    axes.contourf(x, y, np.exp(log_density(np.stack([x, y]))), 12, cmap="Blues")
    axes.plot(*found["points"].T, ".", color="tab:red", markersize=2, alpha=0.6)
    axes.plot(*found["points"][:40].T, color="black", linewidth=0.6)
    axes.set_title(f"{len(found['points'])} draws, {found['share']:.0%} of proposals taken")


SMALL = {"count": 6, "leaps": 3}
