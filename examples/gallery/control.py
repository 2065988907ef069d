"""Park a car: optimal control.

A car is described by place, heading and speed. What must be done with pedal and wheel over 60 steps so that it ends
beside where it began, straight and at rest, with little effort? The 120 numbers are found by descending the gradient of
a cost through the whole drive.
"""

import numpy as np

from wengert import jit, value_and_grad


def drive(actions, start, dt):
    """States f64[steps+1,4] (x, y, heading, speed) under actions f64[steps,2] (acceleration, steering)."""
    path = np.zeros((len(actions) + 1, 4))
    path[0] = start
    for t in range(len(actions)):
        x, y, heading, speed = path[t]
        push, wheel = actions[t]
        path[t + 1, 0] = x + dt * speed * np.cos(heading)
        path[t + 1, 1] = y + dt * speed * np.sin(heading)
        path[t + 1, 2] = heading + dt * speed * np.tanh(wheel)
        path[t + 1, 3] = speed + dt * push
    return path


def cost(actions, start, goal, dt):
    """Squared distance from the goal at the end, and a little for effort and jerks."""
    off = drive(actions, start, dt)[-1] - goal
    return 10.0 * np.sum(off * off) + 0.02 * np.sum(actions**2) + 0.1 * np.sum(np.diff(actions, axis=0) ** 2)


@jit
def plan(actions, start, goal, dt, rate, count):
    """Actions after `count` steps of Adam's method (Kingma and Ba, 2015), and the costs on the way."""
    mean, square, costs = np.zeros_like(actions), np.zeros_like(actions), np.zeros(count)
    for k in range(count):
        costs[k], slope = value_and_grad(cost)(actions, start, goal, dt)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        step = (mean / (1.0 - 0.9 ** (k + 1.0))) / (np.sqrt(square / (1.0 - 0.99 ** (k + 1.0))) + 1e-8)
        actions = actions - rate * step
    return actions, costs


def main(steps=60, count=1500, dt=0.1):
    start, goal = np.array([0.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.5, 0.0, 0.0])
    actions = np.random.default_rng(0).normal(0.0, 0.1, (steps, 2))
    actions, costs = plan(actions, start, goal, dt, 0.02, count)
    return {"path": drive(actions, start, dt), "costs": costs, "actions": actions}


def draw(figure, found):
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    x, y, heading, _ = found["path"].T
    left.plot(x, y, color="tab:gray")
    ahead = np.cos(heading), np.sin(heading)
    left.quiver(x[::3], y[::3], ahead[0][::3], ahead[1][::3], np.arange(len(x))[::3], cmap="viridis", scale=25)
    left.plot(*found["path"][0, :2], "o", color="black", label="start")
    left.plot(0.0, 1.5, "*", color="tab:red", markersize=14, label="goal")
    left.set(aspect="equal", title="the drive")
    left.legend()
    right.plot(found["actions"], label=["pedal", "wheel"])
    right.set(xlabel="step", title=f"actions, cost {found['costs'][-1]:.2f}")
    right.legend()


SMALL = {"steps": 4, "count": 2}
