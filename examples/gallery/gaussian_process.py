"""A curve with its uncertainty: a Gaussian process.

Thirty noisy points, and every smooth curve that could have given them. Length scale, height and noise are found by
descending the negative log marginal likelihood, whose gradient goes through a Cholesky factorisation (Rasmussen and
Williams, *Gaussian Processes for Machine Learning*, algorithm 2.1).
"""

import numpy as np

from wengert import jit, value_and_grad


def kernel(x, y, logs):
    """Covariances f64[n,m] of a process with length scale exp(logs[0]) and height exp(logs[1])."""
    return np.exp(2.0 * logs[1] - 0.5 * ((x[:, None] - y) / np.exp(logs[0])) ** 2)


def misfit(logs, x, y):
    """The negative log marginal likelihood."""
    factor = np.linalg.cholesky(kernel(x, x, logs) + np.exp(2.0 * logs[2]) * np.eye(len(x)))
    white = np.linalg.solve(factor, y)
    return 0.5 * (white @ white) + np.log(np.diag(factor)).sum()


@jit
def descend(logs, x, y, rate, count):
    for _ in range(count):
        value, slope = value_and_grad(misfit)(logs, x, y)
        logs = logs - rate * slope
    return logs, value


@jit
def predict(logs, x, y, new):
    """Mean and standard deviation f64[m] of the curve at `new`."""
    inverse = np.linalg.inv(kernel(x, x, logs) + np.exp(2.0 * logs[2]) * np.eye(len(x)))
    across = kernel(new, x, logs)
    spread = np.exp(2.0 * logs[1]) - np.einsum("ij,jk,ik->i", across, inverse, across)
    return across @ inverse @ y, np.sqrt(np.maximum(spread, 0.0))


def main(n=30, count=300, grid=200):
    rng = np.random.default_rng(4)
    x = np.sort(np.concatenate([rng.uniform(-4.0, -0.5, n // 2), rng.uniform(1.5, 4.0, n - n // 2)]))
    y = np.sin(1.5 * x) + 0.3 * x + rng.normal(0.0, 0.15, n)
    logs, value = descend(np.array([0.0, 0.0, -1.0]), x, y, 0.01, count)
    new = np.linspace(-5.0, 5.0, grid)
    mean, deviation = predict(logs, x, y, new)
    return {"x": x, "y": y, "new": new, "mean": mean, "deviation": deviation, "found": np.exp(logs), "value": value}


def draw(figure, found):
    axes = figure.subplots()
    mean, deviation = found["mean"], found["deviation"]
    axes.fill_between(found["new"], mean - 2.0 * deviation, mean + 2.0 * deviation, alpha=0.25)
    axes.plot(found["new"], mean)
    axes.plot(found["x"], found["y"], "o", color="black", markersize=4)
    axes.set_title("length {:.2f}, height {:.2f}, noise {:.2f} (is 0.15)".format(*found["found"]))


SMALL = {"n": 6, "count": 3, "grid": 4}
