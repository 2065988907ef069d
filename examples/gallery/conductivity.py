"""What is inside? A fit constrained by a differential equation.

A wall is heated at one side. Its conductivity varies inside, and cannot be seen: only temperatures are measured, after
each of ten sources was switched on. The steady heat equation is a linear system, solved by `np.linalg.solve`; the
gradient of the misfit with respect to the logarithm of all conductivities goes through the solution. Gauss and Newton's
method takes the Jacobian of all measurements from `jacfwd`.
"""

import numpy as np

from wengert import jacfwd, jit


def temperatures(logs, sources):
    """Temperatures f64[k,n] for sources f64[k,n]; logs f64[n+1]: of the conductivity between points. Ends are cold."""
    c = np.exp(logs)
    system = np.diag(c[:-1] + c[1:]) - np.diag(c[1:-1], 1) - np.diag(c[1:-1], -1)
    return np.linalg.solve(system, sources.T).T


def residuals(logs, sources, seen, smooth):
    """Differences from what was measured, and weighted second differences of the logarithms, in one vector."""
    off = (temperatures(logs, sources) - seen).ravel() / 0.01
    return np.concatenate([off, smooth * np.diff(logs, 2)])


@jit
def improved(logs, sources, seen, smooth):
    """One step of Gauss and Newton's method -> (logs, sum of squares before it)."""
    r = residuals(logs, sources, seen, smooth)
    slopes = jacfwd(residuals)(logs, sources, seen, smooth)
    normal = slopes.T @ slopes + 1e-6 * np.eye(len(logs))
    return logs - np.linalg.solve(normal, slopes.T @ r), r @ r


def main(n=40, steps=6):
    x = np.linspace(0.0, 1.0, n + 1)
    truth = 0.8 * np.sin(2.0 * np.pi * x) - 0.9 * np.exp(-(((x - 0.6) / 0.08) ** 2))
    sources = np.eye(n)[:: max(n // 10, 1)]
    seen = temperatures(truth, sources)
    seen = seen + np.random.default_rng(1).normal(0.0, 0.01, seen.shape)
    logs, squares = np.zeros(n + 1), []
    for _ in range(steps):
        logs, value = improved(logs, sources, seen, 3.0)
        squares.append(value)
    return {"x": x, "truth": truth, "logs": logs, "squares": np.array(squares), "seen": seen}


def draw(figure, found):
    left, right = figure.subplots(1, 2)
    left.plot(found["seen"].T, linewidth=0.8)
    left.set(xlabel="place", title="temperatures, measured")
    right.plot(found["x"], np.exp(found["truth"]), color="black", label="true")
    right.plot(found["x"], np.exp(found["logs"]), color="tab:red", label="found")
    right.set(xlabel="place", title="conductivity")
    right.legend()


SMALL = {"n": 8, "steps": 2}
