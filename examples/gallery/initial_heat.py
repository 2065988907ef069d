"""Where was the heat? An inverse problem.

A rod has cooled for a while, and its temperature is measured at 24 places. What was it at the start? The simulation is
differentiated: the gradient of the misfit with respect to the 120 starting temperatures comes from one pass back
through 300 steps. A momentum method goes down that gradient. A penalty on jumps keeps the answer from following the
noise.
"""

import numpy as np

from wengert import jit, value_and_grad


def cool(u, steps):
    """The temperatures f64[n] after `steps` steps of diffusion; both ends are kept at zero."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.4 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return u


def misfit(start, places, seen, steps):
    """Half the squared differences at the places, and the penalty."""
    off = cool(start, steps)[places] - seen
    return 0.5 * np.sum(off * off) + 1e-3 * np.sum(np.sqrt(np.diff(start) ** 2 + 1e-4))


@jit
def descend(places, seen, n, steps, rate, count):
    """Starting temperatures f64[n], and the misfit on the way f64[count]."""
    start, momentum, values = np.zeros(n), np.zeros(n), np.zeros(count)
    for k in range(count):
        values[k], slope = value_and_grad(misfit)(start, places, seen, steps)
        momentum = 0.95 * momentum - rate * slope
        start = start + momentum
    return start, values


def main(n=120, steps=300, count=800):
    x = np.linspace(0.0, 1.0, n)
    truth = np.where((x > 0.2) & (x < 0.4), 1.0, 0.0) + 0.6 * np.exp(-(((x - 0.7) / 0.05) ** 2))
    places = np.linspace(2, n - 3, min(24, n // 2)).astype(int)
    seen = cool(truth, steps)[places] + np.random.default_rng(0).normal(0.0, 0.003, len(places))
    start, values = descend(places, seen, n, steps, 0.1, count)
    return {"x": x, "truth": truth, "places": places, "seen": seen, "found": start, "values": values}


def draw(figure, found):
    axes = figure.subplots()
    axes.plot(found["x"], found["truth"], color="black", label="true start")
    axes.plot(found["x"], found["found"], color="tab:red", label="found start")
    axes.plot(found["x"][found["places"]], found["seen"], "o", markersize=4, label="measured at the end")
    axes.set(xlabel="place", ylabel="temperature")
    axes.legend()


SMALL = {"n": 12, "steps": 8, "count": 3}
