"""Follow a moving thing: a Kalman filter whose noise is fitted.

Positions are measured badly; the filter tells where the thing is and how fast it moves. How noisy the motion and the
measurements are is not known: both are found by descending the negative log likelihood, whose gradient goes through the
whole filter.
"""

import numpy as np

from wengert import grad, jit

MOVE = np.array([[1.0, 1.0], [0.0, 1.0]])  # position and velocity, a step later


def run(logs, seen):
    """(-log likelihood, positions f64[n]) for the logarithms of the noise of motion and measurement."""
    motion, measured = np.exp(logs[0]), np.exp(logs[1])
    noise = motion * np.array([[0.25, 0.5], [0.5, 1.0]])
    state, spread = np.array([seen[0], 0.0]), np.eye(2) * 10.0
    total, positions = 0.0, np.zeros(len(seen))
    for t in range(len(seen)):
        state, spread = MOVE @ state, MOVE @ spread @ MOVE.T + noise
        off, width = seen[t] - state[0], spread[0, 0] + measured
        total += 0.5 * (off * off / width + np.log(2.0 * np.pi * width))
        gain = spread[:, 0] / width
        state = state + gain * off
        spread = spread - np.outer(gain, spread[0])
        positions[t] = state[0]
    return total, positions


def misfit(logs, seen):
    return run(logs, seen)[0]


@jit
def fit(logs, seen, rate, steps):
    for _ in range(steps):
        logs = logs - rate * grad(misfit)(logs, seen) / len(seen)
    return logs


def main(n=150, steps=400):
    rng = np.random.default_rng(5)
    velocity = np.cumsum(rng.normal(0.0, 0.12, n))
    truth = np.cumsum(velocity)
    seen = truth + rng.normal(0.0, 4.0, n)
    logs = fit(np.array([-2.0, 1.0]), seen, 0.3, steps)
    return {"truth": truth, "seen": seen, "positions": jit(run)(logs, seen)[1], "deviations": np.exp(0.5 * logs)}


def draw(figure, found):
    axes = figure.subplots()
    axes.plot(found["seen"] - found["truth"], ".", color="tab:gray", label="measured")
    axes.plot(found["positions"] - found["truth"], color="tab:red", label="filtered")
    axes.axhline(0.0, color="black", linewidth=0.8)
    motion, measured = found["deviations"]
    axes.set(xlabel="time", ylabel="error of the position")
    axes.set_title(f"found: motion {motion:.2f} (is 0.12), measurement {measured:.2f} (is 4)")
    axes.legend()


SMALL = {"n": 12, "steps": 2}
