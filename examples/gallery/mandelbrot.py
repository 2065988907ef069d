"""The Mandelbrot set, a point at a time.

For each point c of the plane, z is replaced by z*z + c until it leaves the circle of radius 2. The code is the loop
that a textbook gives: two `for`, one `while` that ends on data, Python's own complex numbers. Compiled it is a loop of
machine code.
"""

import numpy as np

from wengert import jit


@jit
def escape(real, imaginary, limit):
    """f64[len(imaginary), len(real)]: after how many steps each point leaves, made smooth; 0 for those that stay."""
    counts = np.zeros((len(imaginary), len(real)))
    for row in range(len(imaginary)):
        for column in range(len(real)):
            c = complex(real[column], imaginary[row])
            z, steps = c, 0
            while abs(z) < 4.0 and steps < limit:
                z = z * z + c
                steps += 1
            if steps < limit:
                counts[row, column] = steps + 1.0 - np.log2(np.log(abs(z)))
    return counts


def main(width=640, height=400, limit=300):
    real, imaginary = np.linspace(-0.7485, -0.7415, width), np.linspace(0.1178, 0.1222, height)
    return {"counts": escape(real, imaginary, limit)}


def draw(figure, found):
    axes = figure.subplots()
    shown = np.log1p(np.maximum(found["counts"], 0.0))
    axes.imshow(np.where(found["counts"] == 0, np.nan, shown), cmap="twilight_shifted", origin="lower")
    axes.set_facecolor("black")
    axes.set(xticks=[], yticks=[])


SMALL = {"width": 12, "height": 8, "limit": 60}
