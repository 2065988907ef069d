"""Two kinds of points: logistic regression.

Points of two kinds, and the curve between them: a logistic model on all products of the coordinates up to the third
degree, with a small penalty. Newton's method takes the gradient and the Hessian from `grad` and `hessian`; eight steps
are enough.
"""

import numpy as np

from wengert import grad, hessian, jit


def features(x):
    """Products of the two coordinates up to the third degree, f64[n,10]."""
    a, b = x[:, 0], x[:, 1]
    return np.stack([a**i * b**j for i in range(4) for j in range(4 - i)], axis=1)


def loss(w, x, kind):
    """The mean of the negative log likelihood, and a small penalty."""
    score = features(x) @ w
    return np.mean(np.logaddexp(0.0, score) - kind * score) + 1e-3 * (w @ w)


@jit
def newton(w, x, kind):
    """One step of Newton's method."""
    return w - np.linalg.solve(hessian(loss)(w, x, kind), grad(loss)(w, x, kind))


def main(n=300, steps=8, grid=80):
    rng = np.random.default_rng(2)
    x = rng.uniform(-2.0, 2.0, (n, 2))
    kind = (x[:, 1] + rng.normal(0.0, 0.3, n) > np.sin(2.0 * x[:, 0])).astype(float)
    w, losses = np.zeros(10), []
    for _ in range(steps):
        losses.append(loss(w, x, kind))
        w = newton(w, x, kind)
    where = np.linspace(-2.0, 2.0, grid)
    points = np.stack([g.ravel() for g in np.meshgrid(where, where)], axis=1)
    chance = 1.0 / (1.0 + np.exp(-features(points) @ w))
    return {"x": x, "kind": kind, "w": w, "losses": np.array(losses), "chance": chance.reshape(grid, grid)}


def draw(figure, found):
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    left.contourf(found["chance"], 20, cmap="RdBu", extent=(-2, 2, -2, 2), alpha=0.8)
    left.contour(found["chance"], [0.5], colors="black", extent=(-2, 2, -2, 2))
    left.scatter(*found["x"].T, c=found["kind"], cmap="RdBu", edgecolors="black", linewidths=0.4, s=18)
    left.set(xticks=[], yticks=[])
    right.plot(found["losses"], "o-")
    right.set(xlabel="step of Newton's method", title="loss")


SMALL = {"n": 40, "steps": 2, "grid": 4}
