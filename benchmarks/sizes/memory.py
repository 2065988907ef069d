"""Resident memory of one process while one function meets new shapes, or functions, closures and objects are made anew.

    python benchmarks/sizes/memory.py                      # every case, 1,000 of each
    python benchmarks/sizes/memory.py "objects" --most 10000 --every 250

Each case runs in a process of its own. A case is made of `step(k)`, the k-th shape, function or object, whose result is
compared with plain NumPy's. Printed: megabytes resident behind so many steps, what came on top per step in the last
half, and seconds a step. `--counts` prints which classes of Python objects have become more.
"""

import argparse
import collections
import gc
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

import wengert

HERE = pathlib.Path(__file__).resolve()


def resident():
    """Megabytes of this process in memory; where the system does not tell, the most there were."""
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def smooth(x, w):
    """A number, of a length: elementwise chains, a softmax, a cumulative sum and a product."""
    y = np.tanh(x * w) + 0.5 * x
    y = np.exp(y - y.max())
    y = y / y.sum()
    return (np.cumsum(y) * x).sum() + y @ x


def recursion(x, w):
    """A number, of a length: a loop that becomes machine code."""
    total, level = 0.0, 0.0
    for value in x:
        level = w * level + (1.0 - w) * value
        total = total + level * level
    return total


def shapes(function, engine=None, transform=None):
    made = wengert.jit(transform(function) if transform else function, engine=engine, whole=True)

    def step(k):
        x = np.linspace(0.1, 1.0, k + 2)
        got = made(x, 0.5)
        if transform is None:
            np.testing.assert_allclose(got, function(x, 0.5), rtol=1e-9)

    return step


def gradient(function):
    return wengert.grad(function, argnums=1)


def families():
    """A function as users have it: what recurs is compiled, the rest is left to what is there."""
    made = wengert.jit(smooth)

    def step(k):
        x = np.linspace(0.1, 1.0, k % 5000 + 2)
        np.testing.assert_allclose(made(x, 0.5), smooth(x, 0.5), rtol=1e-9)

    return step


def lambdas():
    x = np.linspace(0.1, 1.0, 16)

    def step(k):
        y = np.full(3, float(k))
        np.testing.assert_allclose(wengert.jit(lambda x: x * k + y[0])(x), x * k + k)

    return step


def gradients_of_lambdas():
    x = np.linspace(0.1, 1.0, 16)

    def step(k):
        np.testing.assert_allclose(wengert.grad(lambda x: (x * x * k).sum())(x), 2 * k * x)

    return step


def code():
    """Functions of code of their own, as notebooks and configurations make them."""
    x = np.linspace(0.1, 1.0, 16)

    def step(k):
        space = {"np": np}
        exec(f"def f(x):\n    return np.sin(x) * {k} + x", space)
        np.testing.assert_allclose(wengert.jit(space["f"])(x), np.sin(x) * k + x)

    return step


class Scale:
    def __init__(self, k):
        self.k, self.values = float(k), np.full(16, float(k))

    @wengert.jit
    def applied(self, x):
        return x * self.k + self.values

    def plain(self, x):
        return x * self.k - self.values


def methods():
    x = np.linspace(0.1, 1.0, 16)

    def step(k):
        np.testing.assert_allclose(Scale(k).applied(x), x * k + k)

    return step


def bound_methods():
    x = np.linspace(0.1, 1.0, 16)

    def step(k):
        np.testing.assert_allclose(wengert.jit(Scale(k).plain)(x), x * k - k)

    return step


def instances():
    made, x = wengert.jit(lambda scale, x: scale.plain(x) * 2.0), np.linspace(0.1, 1.0, 16)

    def step(k):
        np.testing.assert_allclose(made(Scale(k), x), 2.0 * (x * k - k))

    return step


def captured():
    """Arrays read from outside, another at each step."""
    x, held = np.linspace(0.1, 1.0, 16), {}
    made = wengert.jit(lambda x: x + held["w"])

    def step(k):
        held["w"] = np.full(16, float(k))
        np.testing.assert_allclose(made(x), x + k)

    return step


def texts():
    """A static argument, another at each step."""
    made, x = wengert.jit(lambda x, name: x * len(name), whole=True), np.linspace(0.1, 1.0, 16)

    def step(k):
        np.testing.assert_allclose(made(x, f"name {k}"), x * len(f"name {k}"))

    return step


CASES = {
    "shapes, NumPy": lambda: shapes(smooth, "numpy"),
    "shapes, nests": lambda: shapes(recursion, "numpy"),
    "shapes, XLA": lambda: shapes(smooth, "xla"),
    "shapes, XLA with nests": lambda: shapes(recursion, "xla"),
    "shapes, gradient": lambda: shapes(smooth, "numpy", gradient),
    "shapes, as users have it": families,
    "lambdas": lambdas,
    "gradients of lambdas": gradients_of_lambdas,
    "code of their own": code,
    "methods": methods,
    "bound methods": bound_methods,
    "instances": instances,
    "arrays from outside": captured,
    "static texts": texts,
}


def census():
    return collections.Counter(f"{type(x).__module__}.{type(x).__qualname__}" for x in gc.get_objects())


def run(name, most, every, counts):
    step, rows, start = CASES[name](), [], time.perf_counter()
    before = None
    for k in range(most):
        step(k)
        if (k + 1) % every == 0:
            gc.collect()
            rows.append((k + 1, resident()))
            print(f"{name:26} {k + 1:6} {rows[-1][1]:8.1f} MB {(time.perf_counter() - start) / (k + 1):8.4f} s each")
            sys.stdout.flush()
        if counts and k + 1 == most // 2:
            gc.collect()
            before = census()
    (n, first), (m, last) = rows[len(rows) // 2 - 1 if len(rows) > 1 else 0], rows[-1]
    if m > n:
        print(f"{name:26} {1e3 * (last - first) / (m - n):8.1f} kB a step in the last half")
    if counts:
        gc.collect()
        for kind, more in (census() - before).most_common(40):
            print(f"    {more:8} {kind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", choices=[*CASES, []], default=list(CASES))
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument("--every", type=int, default=250)
    parser.add_argument("--counts", action="store_true")
    given = parser.parse_args()
    if len(given.case) == 1:
        run(given.case[0], given.most, given.every, given.counts)
        return
    for name in given.case:
        options = ["--most", str(given.most), "--every", str(given.every), *(["--counts"] * given.counts)]
        subprocess.run([sys.executable, str(HERE), name, *options], check=False)


if __name__ == "__main__":
    main()
