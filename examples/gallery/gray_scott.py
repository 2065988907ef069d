"""Spots that divide: reaction and diffusion.

Two substances diffuse on a ring-shaped sheet; one feeds on the other (Gray and Scott's model, J. E. Pearson, *Complex
patterns in a simple system*, 1993). A few drops grow into spots that divide. `np.roll` gives the neighbours across the
edges.
"""

import numpy as np

from wengert import jit


def laplacian(u):
    """The sum of the four neighbours minus four times the point itself."""
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u


@jit
def react(u, v, feed, kill, steps):
    """The concentrations f64[n,n] of both substances after `steps` steps."""
    for _ in range(steps):
        uvv = u * v * v
        u, v = (
            u + 0.16 * laplacian(u) - uvv + feed * (1.0 - u),
            v + 0.08 * laplacian(v) + uvv - (feed + kill) * v,
        )
    return u, v


def main(n=128, steps=4000, feed=0.035, kill=0.065):
    rng = np.random.default_rng(0)
    u, v = np.ones((n, n)), np.zeros((n, n))
    for y, x in rng.integers(0, n - 8, (12, 2)):
        u[y : y + 8, x : x + 8], v[y : y + 8, x : x + 8] = 0.5, 0.25
    v = v + 0.01 * rng.uniform(size=v.shape)
    early = react(u, v, feed, kill, steps // 4)
    return {"early": early[1], "late": react(*early, feed, kill, steps - steps // 4)[1]}


def draw(figure, found):
    for axes, name in zip(figure.subplots(1, 2), ("early", "late"), strict=True):
        axes.imshow(found[name], cmap="magma", interpolation="bilinear")
        axes.set_title(name)
        axes.set_axis_off()


SMALL = {"n": 24, "steps": 40}
