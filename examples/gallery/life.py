"""The game of life.

A cell lives on with two or three living neighbours, and is born with three. The picture shows how the R-pentomino, five
cells, grows: the darker a cell, the longer ago it lived last.
"""

import numpy as np

from wengert import jit


@jit
def generations(alive, count):
    """bool[n,m] after `count` generations, and int64[n,m], the last generation in which each cell lived (-1: never)."""
    last = np.where(alive, 0, -1)
    for generation in range(count):
        around = np.zeros(alive.shape, np.int64)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    around += np.roll(alive, (dy, dx), (0, 1))
        alive = (around == 3) | (alive & (around == 2))
        last[alive] = generation + 1
    return alive, last


def main(n=160, count=600):
    alive = np.zeros((n, n), bool)
    y = x = n // 2
    for dy, dx in ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1)):
        alive[y + dy, x + dx] = True
    alive, last = generations(alive, count)
    return {"alive": alive, "last": last}


def draw(figure, found):
    axes = figure.subplots()
    axes.imshow(np.where(found["last"] < 0, np.nan, found["last"]), cmap="viridis")
    axes.imshow(np.where(found["alive"], 1.0, np.nan), cmap="autumn", vmin=0, vmax=1)
    axes.set_title(f"{found['alive'].sum()} cells live")
    axes.set_axis_off()


SMALL = {"n": 20, "count": 12}
