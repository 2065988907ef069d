"""Heat in a plate.

A plate is kept at 1 along its left edge and at 0 along the others; a hole in the middle is kept at 0 too. Each step
replaces every inner point by the mean of its four neighbours (Jacobi's method for the steady state of the heat
equation). The loop ends when nothing changes by more than the tolerance, which the data decide.

The function is what one writes in NumPy: an array changed in place, and a `while` on data. It becomes one loop of the
compiled program.
"""

import numpy as np

from wengert import jit


@jit
def settle(u, fixed, tolerance):
    """The temperatures f64[n,n] when no step changes them by more than `tolerance`, and the number of steps."""
    change, steps = np.inf, 0
    while change > tolerance:
        before = u.copy()
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u[fixed] = 0.0
        change = np.abs(u - before).max()
        steps += 1
    return u, steps


def main(n=100, tolerance=2e-5):
    y, x = np.mgrid[:n, :n] / (n - 1)
    hole = np.hypot(x - 0.45, y - 0.5) < 0.12
    start = np.zeros((n, n))
    start[:, 0] = 1.0
    u, steps = settle(start, hole, tolerance)
    return {"u": u, "steps": steps}


def draw(figure, found):
    axes = figure.subplots()
    axes.set_title(f"Steady temperature after {found['steps']} steps")
    shown = axes.contourf(np.sqrt(found["u"]), 40, cmap="inferno")
    axes.set_aspect("equal")
    axes.set_axis_off()
    figure.colorbar(shown, label="square root of the temperature")


SMALL = {"n": 24, "tolerance": 1e-3}
