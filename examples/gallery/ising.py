"""A magnet: the Ising model.

Spins of a square lattice, up or down, prefer to agree with their neighbours. Metropolis' rule turns one spin at a time:
always if that lowers the energy, else with probability exp(-change / temperature). Below the critical temperature of
about 2.269 whole regions align, above it they do not.

The random numbers are NumPy's own generator's, one after the other, so the compiled loop gives the very lattice that
plain Python would.
"""

import numpy as np

from wengert import jit


@jit
def sweep(spins, temperature, sweeps, seed):
    """The lattice f64[n,n] after `sweeps` times n*n attempts to turn a spin."""
    rng = np.random.default_rng(seed)
    n = len(spins)
    for _ in range(sweeps * n * n):
        i, j = int(rng.random() * n), int(rng.random() * n)
        around = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % n]
        change = 2.0 * spins[i, j] * around
        if change <= 0.0 or rng.random() < np.exp(-change / temperature):
            spins[i, j] = -spins[i, j]
    return spins


def main(n=96, sweeps=120, temperatures=(1.8, 2.27, 3.0)):
    start = np.random.default_rng(1).choice([-1.0, 1.0], (n, n))
    return {str(t): sweep(start.copy(), t, sweeps, 7) for t in temperatures}


def draw(figure, found):
    for axes, (temperature, spins) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        axes.imshow(spins, cmap="gray")
        axes.set(title=f"T = {temperature}, mean {spins.mean():+.2f}", xticks=[], yticks=[])


SMALL = {"n": 10, "sweeps": 3}
