"""A curve through noisy points: splines with knots that move.

Straight pieces between knots are fitted to noisy points. For given knots the heights are a least-squares problem; where
the knots lie is found by gradient descent through the solution of that problem.
"""

import numpy as np

from wengert import jit, value_and_grad


def hats(x, knots):
    """f64[n,k]: the weight of each knot's height at each x, for straight pieces between the knots."""
    left = (x[:, None] - knots[:-1]) / (knots[1:] - knots[:-1])
    rising = np.where((left >= 0.0) & (left <= 1.0), left, 0.0)
    falling = np.where((left >= 0.0) & (left < 1.0), 1.0 - left, 0.0)
    weights = np.zeros((len(x), len(knots)))
    weights[:, 1:] += rising
    weights[:, :-1] += falling
    return weights


def knots_of(widths):
    """Knots from 0 to 1 with gaps in proportion to exp(widths)."""
    gaps = np.exp(widths) / np.exp(widths).sum()
    return np.concatenate([[0.0], np.cumsum(gaps)])


def heights(widths, x, y):
    weights = hats(x, knots_of(widths))
    return np.linalg.solve(weights.T @ weights + 1e-6 * np.eye(len(widths) + 1), weights.T @ y)


def misfit(widths, x, y):
    off = hats(x, knots_of(widths)) @ heights(widths, x, y) - y
    return np.mean(off * off) + 1e-4 * np.mean(widths**2)


@jit
def descend(widths, x, y, rate, count):
    values = np.zeros(count)
    for k in range(count):
        values[k], slope = value_and_grad(misfit)(widths, x, y)
        widths = widths - rate * slope
    return widths, values


def main(n=300, pieces=8, count=1500):
    rng = np.random.default_rng(6)
    x = np.sort(rng.uniform(0.0, 1.0, n))
    y = np.sin(3.0 * x) + np.tanh((x - 0.68) / 0.03) + rng.normal(0.0, 0.05, n)
    start = np.zeros(pieces)
    widths, values = descend(start, x, y, 0.3, count)
    fits = {name: (knots_of(w), heights(w, x, y)) for name, w in (("even", start), ("moved", widths))}
    return {"x": x, "y": y, "values": values, **fits}


def draw(figure, found):
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    left.plot(found["x"], found["y"], ".", color="tab:gray", markersize=3)
    left.plot(*found["even"], "o-", color="tab:blue", markersize=4, label="even knots")
    left.plot(*found["moved"], "o-", color="tab:red", markersize=4, label="knots moved by gradients")
    left.legend()
    right.semilogy(found["values"])
    right.set(xlabel="step", title="mean squared error")


SMALL = {"n": 20, "pieces": 3, "count": 3}
