"""What `tests/tracer/interop/test_processes.py` runs in two processes: checks by name, whose results each process writes as JSON.

Run as `python -m wengert launch -n 2 two_processes.py DIRECTORY`.
"""

import json
import pathlib
import sys
import time
import warnings

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from wengert import grad, jit, value_and_grad
from wengert.tracer.call import agreement

ROWS, STEPS = 16, 4


def problem():
    """(w, X, y) of a regression, the same everywhere."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 3))
    return np.zeros(3), X, X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.normal(size=ROWS)


def loss(w, X, y):
    return np.mean((X @ w - y) ** 2)


def train(w, v, X, y, steps):
    for _ in range(steps):
        v = 0.5 * v - 0.1 * grad(loss)(w, X, y)
        w = w + v
    return w, v


def heat(u, steps):
    for _ in range(steps):
        u = u.copy()
        u[1:-1] = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def by_value(x):
    if x.sum() > 0:
        return x * 2.0
    return x.min()


def repeated(x):
    n = int(x.max())
    rows = [x]
    for k in range(n):
        rows.append(x + k)
    return np.stack(rows)


def plainly(x):
    with open(__file__) as file:
        return x * len(file.readline()[:3])


def checked(x, k):
    return x[k] + 1.0


def in_place(u):
    u[1:-1] = 0.5 * (u[:-2] + u[2:])


class Checks:
    """Functions of the two processes by name; what each gives, or the error it ends with."""

    def __init__(self):
        self.rank = jax.process_index()
        self.mesh = Mesh(np.array(jax.devices()), ("rows",))
        self.rows = NamedSharding(self.mesh, PartitionSpec("rows"))
        self.whole = jax.jit(lambda x: x, out_shardings=NamedSharding(self.mesh, PartitionSpec()))
        self.found = {}

    def spread(self, full):
        """An array of which each process gives its own rows."""
        part = np.split(full, jax.process_count())[self.rank]
        return jax.make_array_from_process_local_data(self.rows, part, full.shape)

    def numbers(self, x):
        """JSON of a result."""
        if isinstance(x, tuple | list):
            return [self.numbers(v) for v in x]
        if isinstance(x, jax.Array) and not x.is_fully_addressable:
            x = self.whole(x)
        return np.asarray(x).tolist() if isinstance(x, np.ndarray | np.generic | jax.Array) else x

    def run(self, name, check):
        try:
            self.found[name] = self.numbers(check())
        except Exception as error:
            self.found[name] = f"{type(error).__name__}: {error}"

    def all(self):
        w, X, y = problem()
        x, spread = X[:, 0].copy(), self.spread
        traced = jit(by_value)
        whole = self.numbers
        self.run("gradient", lambda: jit(value_and_grad(loss))(w, spread(X), spread(y)))
        self.run("training", lambda: jit(train)(w, w, spread(X), spread(y), STEPS)[0])
        self.run("stays spread", lambda: jit(heat)(spread(x), 3).sharding.is_equivalent_to(self.rows, 1))
        self.run("stencil", lambda: jit(heat)(spread(x), 3))
        self.run("by value", lambda: [whole(traced(spread(s * abs(x)))) for s in (1.0, -1.0, 1.0)])
        self.run("ways", lambda: len(traced.explain().split("data took another way")))
        self.run("an int", lambda: jit(repeated)(spread(np.arange(ROWS) % 3 * 1.0)))
        self.run("masked", lambda: jit(lambda x: x[x > 0])(spread(x)))
        self.run("masked rows", lambda: jit(lambda x: x[x[:, 0] > 0])(spread(X)))
        self.run("a failed check", lambda: jit(checked)(spread(x), np.int64(ROWS + 7)))
        self.run("after it", lambda: jit(checked)(spread(x), np.int64(3)))
        self.run("enclosed", lambda: (lambda a: jit(lambda b: a * b))(spread(x))(spread(x)))
        self.run("plain Python", self.fallen_back)
        self.run("a NaN", lambda: jit(lambda x: np.log(x) + 0.0, debug="nan")(spread(x)))
        self.run("compared", lambda: jit(by_value, check=True)(spread(x)))
        self.run("device", lambda: jit(lambda x: x + 1.0, device="cpu")(spread(x)))
        self.run("small", lambda: self.engine(np.ones(3)))
        self.run("background", lambda: jit(lambda x: x * 3.0, tier="background")(np.ones(3)))
        self.with_mesh(w, X, y)
        self.differing(spread(x))

    def fallen_back(self):
        _, X, _ = problem()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            out = jit(plainly)(self.spread(X))
        return [self.numbers(out), [w.category.__name__ for w in said]]

    def engine(self, x):
        f = jit(lambda x: x * 3.0)
        return [self.numbers(f(x)), f.plan(x).data["traces"][0]["why"]]

    def with_mesh(self, w, X, y):
        """Arrays given in full in every process."""
        rows = {"X": "devices", "y": "devices"}
        u = X[:, 0].copy()
        self.run("mesh", lambda: jit(train, shard=rows)(w, w, X, y, STEPS)[0])
        self.run("mesh, auto", lambda: jit(train, shard="auto")(w, w, X, y, STEPS)[0])
        self.run("mesh, in place", lambda: [jit(in_place, shard={"u": "devices"})(u), u.tolist()])
        self.run("mesh, by value", lambda: jit(by_value, shard={"x": "devices"})(X[:, 0]))
        self.run("mesh, masked", lambda: jit(lambda x: x[x > 0], shard={"x": "devices"})(X[:, 0]))
        f = jit(lambda x, a: x * a, shard={"x": "devices"})
        self.run("mesh, an argument differs later", lambda: [f(X, 1.0) is None, f(X, 1.0 + self.rank) is None])

    def differing(self, x):
        """What processes do not do alike."""
        factor, rank = 1.0 + self.rank, self.rank
        f, other = jit(lambda x, a: x * a), jit(lambda x: (x - 1.0).sum())
        self.run("an argument differs", lambda: f(x, np.full(ROWS, factor)))
        self.run("a static argument differs", lambda: jit(lambda x, n: x**n)(x, rank + 1))
        self.run("an outside number differs", lambda: jit(lambda x: x * factor)(x))
        self.run("it differs again", lambda: f(x, np.full(ROWS, factor)))
        self.run("it does not any more", lambda: f(x, np.full(ROWS, 2.0)))
        self.run("another function", lambda: other(x) if rank else jit(lambda x, a: x - a)(x, 1.0))
        self.run("plan in one process", lambda: len(str(other.plan(x))) > 0 if rank == 0 else True)
        self.run("and then all", lambda: other(x))
        agreement.PATIENCE = 0.1
        time.sleep(0.6 * rank)
        self.run("late", lambda: jit(lambda x: x + 0.5)(x))


if __name__ == "__main__":
    jax.distributed.initialize()
    with jax.enable_x64(True):
        made = Checks()
        made.all()
    (pathlib.Path(sys.argv[1]) / f"{made.rank}.json").write_text(json.dumps(made.found))
    print(f"process {made.rank} has done")
