"""What methods of objects cost compiled, beside plain Python, in microseconds a call.

    python benchmarks/latency/methods.py [--seconds 0.2] [--only PATTERN] [--engine auto|numpy]

Each method is called on one object until plain Python has been measured against the compiled form (`call/contest.py`),
and then a turn of it with a turn of the plain one. `--engine numpy` shows what the compiled form costs alone. The last
column says which of the two answers.
"""

import argparse
import dataclasses
import re
import time

import numpy as np

from wengert import jit
from wengert.benchmarks.timing import table

NAMES = [f"a{i}" for i in range(20)]
SETTLED = 40  # calls after which nothing is measured any more
CALLS = 200  # of a turn
MOST = 1.0  # microseconds that a method may take more than in plain Python


class Reads:
    """Attributes that are read."""

    def __init__(self):
        self.x, self.v, self.k, self.below = np.ones(3), np.full(3, 0.5), 2.0, Inner()
        for n, name in enumerate(NAMES):
            setattr(self, name, np.full(3, float(n)))

    def one_number(self, y):
        return self.k * y

    def one_array(self, y):
        return self.x * y

    def five(self, y):
        return self.a0 + self.a1 + self.a2 + self.a3 + self.a4 * y

    def twenty(self, y):
        s = self
        first = s.a0 + s.a1 + s.a2 + s.a3 + s.a4 + s.a5 + s.a6 + s.a7 + s.a8 + s.a9
        return first + s.a10 + s.a11 + s.a12 + s.a13 + s.a14 + s.a15 + s.a16 + s.a17 + s.a18 + s.a19 * y

    def nested(self, y):
        return self.below.below.x * y + self.below.below.k

    def helper(self, y):
        return self.one_array(y) + self.one_number(y)

    @property
    def speed(self):
        return float(np.sqrt(self.v @ self.v))

    def by_property(self, y):
        return self.speed * y


class Innermost:
    def __init__(self):
        self.x, self.k = np.ones(3), 2.0


class Inner:
    def __init__(self):
        self.below = Innermost()


class Stores:
    """Attributes that are stored."""

    def __init__(self):
        self.x, self.v, self.t, self.n, self.d, self.log = np.ones(3), np.full(3, 1e-3), 0.0, 0, {"t": 0.0}, [0.0]
        self.W, self.b = np.full((8, 3), 0.1), np.zeros(8)

    def set_number(self, y):
        self.t = y

    def count(self, y):
        self.n += 1

    def add(self, y):
        self.t += y

    def set_array(self, y):
        self.x = self.x + y * self.v

    def three(self, y):
        self.x = self.x + y * self.v
        self.v = self.v * 0.5
        self.t += y

    def ten(self, y):
        self.a = self.x + y
        self.b, self.c = self.a * 2.0, self.a - 1.0
        self.e = self.f = self.g = y
        self.h, self.i, self.j, self.t = y + 1.0, y * 2.0, y - 1.0, y

    def in_place(self, y):
        self.x += y * self.v

    def item(self, y):
        self.d["t"] = self.d["t"] + y
        self.log[0] = y

    def layer(self, y):
        self.out = np.tanh(self.W @ self.x + self.b)
        return self.out

    def fluent(self, y):
        self.t = y
        return self


class Slotted:
    __slots__ = ("t", "x")

    def __init__(self):
        self.x, self.t = np.ones(3), 0.0

    def move(self, y):
        self.x = self.x * y
        self.t += y


@dataclasses.dataclass
class Vector:
    x: float = 1.0
    y: float = 2.0

    def dot(self, k):
        return self.x * k + self.y * k

    def scale(self, k):
        self.x *= k
        self.y *= k

    def scaled(self, k):
        return Vector(self.x * k, self.y * k)


class Controller:
    """A controller of three terms."""

    def __init__(self):
        self.kp, self.ki, self.kd, self.goal, self.total, self.last = 1.0, 0.1, 0.01, 1.0, 0.0, 0.0

    def update(self, y):
        error = self.goal - y
        self.total += error
        change, self.last = error - self.last, error
        return self.kp * error + self.ki * self.total + self.kd * change


class Kalman:
    """A filter of two states."""

    def __init__(self):
        self.x, self.P, self.F, self.Q = np.zeros(2), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.01 * np.eye(2)
        self.H, self.R = np.array([[1.0, 0.0]]), np.array([[0.5]])

    def predict(self, y):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, y):
        self.y = y - self.H @ self.x
        self.S = self.H @ self.P @ self.H.T + self.R
        self.K = self.P @ self.H.T @ np.linalg.inv(self.S)
        self.x = self.x + self.K @ self.y
        self.P = (np.eye(2) - self.K @ self.H) @ self.P


class Ensemble:
    """A filter of samples, which draws."""

    def __init__(self):
        self.samples, self.F, self.Q = np.zeros((8, 2)), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.01 * np.eye(2)

    def predict(self, y):
        for i in range(8):
            self.samples[i] = self.F @ self.samples[i]
        self.samples += np.random.multivariate_normal(np.zeros(2), self.Q, 8)
        self.x = self.samples.mean(0)


class Optimiser:
    """Momentum, its state in dicts."""

    def __init__(self):
        self.parameters = {"w": np.ones((4, 4)), "b": np.zeros(4)}
        self.momenta = {name: np.zeros_like(p) for name, p in self.parameters.items()}

    def step(self, y):
        for name, p in self.parameters.items():
            self.momenta[name] = 0.9 * self.momenta[name] + p * y
            self.parameters[name] = p - 1e-9 * self.momenta[name]


class Grid:
    def __init__(self, n=256):
        self.u, self.k = np.random.default_rng(0).random((n, n)), 0.1

    def diffuse(self, y):
        u = self.u
        self.u = u + self.k * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u)


class Springs:
    def __init__(self, n=64):
        self.x, self.v, self.k, self.m = np.random.default_rng(0).random((n, 2)), np.zeros((n, 2)), 1.0, 1.0

    def step(self, y):
        gap = self.x[1:] - self.x[:-1]
        force = np.zeros_like(self.x)
        force[:-1] += self.k * gap
        force[1:] -= self.k * gap
        self.v += force * (y / self.m)
        self.x += self.v * y


CLASSES = (Reads, Stores, Slotted, Vector, Controller, Kalman, Ensemble, Optimiser, Grid, Springs)


def methods():
    for kind in CLASSES:
        for name, f in vars(kind).items():
            if callable(f) and not name.startswith("_"):
                yield f"{kind.__name__}.{name}", kind, f


def least(one, two, seconds):
    """Seconds a call of two methods on their objects, which take turns: of the shortest turns, for others may use the
    machine meanwhile."""
    found, begun = ([], []), time.perf_counter()
    while len(found[1]) < 5 or time.perf_counter() - begun < 2 * seconds:
        for (f, x), spent in zip((one, two), found, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                f(x, 1e-3)
            spent.append((time.perf_counter() - start) / CALLS)
    return tuple(map(min, found))


def rows(seconds, only, engine):
    """Rows: method, us in plain Python, us compiled, the difference, which answers."""
    for name, kind, f in methods():
        if not re.search(only, name):
            continue
        compiled, objects = jit(f, engine=engine), (kind(), kind())
        for _ in range(SETTLED):
            compiled(objects[1], 1e-3)
        plain, ours = (1e6 * t for t in least((f, objects[0]), (compiled, objects[1]), seconds))
        who = "plain Python" if "as plain Python" in compiled.explain() else "compiled"
        yield [name, plain, ours, ours - plain, who]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", default="")
    parser.add_argument("--engine", choices=["auto", "numpy"], default="auto")
    args = parser.parse_args()
    found = list(rows(args.seconds, args.only, None if args.engine == "auto" else args.engine))
    table(found, ["method", "plain us", "compiled us", "difference", "answered by"])
    slow = sum(row[3] > MOST for row in found)
    print(f"{slow} of {len(found)} take {MOST:g} us more than in plain Python, or longer")


if __name__ == "__main__":
    main()
