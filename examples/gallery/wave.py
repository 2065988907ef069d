"""A wave behind two slits.

The wave equation on a square grid, by the leapfrog scheme: the new height of a point follows from the last two
heights and the curvature. A source swings at the left; a wall with two slits lets part of it through, and behind the
wall the two parts interfere. A layer at the border damps what would be reflected.
"""

import numpy as np

from wengert import jit


@jit
def propagate(open_, damping, steps, period):
    """The heights f64[n,m] after `steps` steps; open_: 0 in walls, 1 elsewhere."""
    before = np.zeros(open_.shape)
    now = np.zeros(open_.shape)
    for t in range(steps):
        curved = np.zeros(open_.shape)
        curved[1:-1, 1:-1] = (
            now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4.0 * now[1:-1, 1:-1]
        )
        after = (2.0 * now - before + 0.25 * curved) * damping * open_
        after[:, 4] += 0.05 * np.sin(2.0 * np.pi * t / period)
        before, now = now, after
    return now


def main(height=200, width=300, steps=700, period=28.0):
    open_ = np.ones((height, width))
    wall, middle, gap = width // 4, height // 2, height // 10
    open_[:, wall : wall + 3] = 0.0
    for slit in (middle - gap, middle + gap):
        open_[slit - 5 : slit + 5, wall : wall + 3] = 1.0
    y, x = np.mgrid[:height, :width]
    border = np.minimum.reduce([y, height - 1 - y, width - 1 - x])
    damping = 1.0 - 0.06 * np.clip(1.0 - border / 20.0, 0.0, 1.0) ** 2
    return {"heights": propagate(open_, damping, steps, period), "open": open_}


def draw(figure, found):
    axes = figure.subplots()
    top = 0.7 * np.abs(found["heights"]).max()
    axes.imshow(found["heights"], cmap="RdBu", vmin=-top, vmax=top)
    axes.imshow(np.where(found["open"] == 0, 0.2, np.nan), cmap="gray", vmin=0, vmax=1)
    axes.set_axis_off()


SMALL = {"height": 40, "width": 60, "steps": 30}
