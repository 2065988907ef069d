"""What a call costs while nothing is compiled yet: plain NumPy, `jit`, and `jit(tier="background")`, each program in a
process of its own.

    python -m wengert.benchmarks.background [--only NAME,...] [--seconds 1]

The function is called over and over. Columns: plain NumPy's median, and its first call; the first call of `jit`, which
waits for the compiler; that of the background tier, and how it compares with plain NumPy's first; the median and the
longest of the calls until the program took over, compared with plain NumPy's median, and how many they were; a call
afterwards, compared with one of ordinary `jit`, and with itself. Compiler and calls share the cores of the machine and
Python's one lock.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np

from wengert import grad, jit
from wengert.benchmarks.timing import interleave, table

RNG = np.random.default_rng(0)


def tiny(x):
    return np.tanh(x).sum() * 2.0


def heavy(x):
    for _ in range(4):
        x = np.sqrt(np.abs(np.sin(x) + np.cos(x)))
    return x


def small_calls(x):
    for k in range(300):
        x = np.sin(x) + k
    return x


def python_loop(x):
    s = 0.0
    for i in range(len(x)):
        s = 0.9 * s + x[i] * x[i] if x[i] > 0 else s - x[i]
    return s


def net(x, layers):
    for wq, wk, wv, w1, w2 in layers:
        q, k, v = x @ wq, x @ wk, x @ wv
        a = q @ k.T / np.sqrt(k.shape[1])
        a = np.exp(a - a.max(axis=1, keepdims=True))
        x = x + (a / a.sum(axis=1, keepdims=True)) @ v
        x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        x = x + np.maximum(x @ w1, 0) @ w2
    return (x * x).mean()


def layers(n, d=32):
    return [tuple(RNG.normal(size=s) / 8 for s in ((d, d), (d, d), (d, d), (d, 2 * d), (2 * d, d))) for _ in range(n)]


def loss(w, x, y):
    z = np.tanh(x @ w)
    return ((z - y) ** 2).mean()


PROGRAMS = {
    "tiny": lambda: (tiny, (RNG.normal(size=20),)),
    "NumPy on 2e6 elements": lambda: (heavy, (RNG.normal(size=2_000_000),)),
    "300 calls of 4000 elements": lambda: (small_calls, (RNG.normal(size=4000),)),
    "Python loop": lambda: (python_loop, (RNG.normal(size=150_000),)),
    "net of 24 layers": lambda: (net, (RNG.normal(size=(64, 32)), layers(24))),
    "gradient": lambda: (grad(loss), (RNG.normal(size=100), RNG.normal(size=(500, 100)), RNG.normal(size=500))),
    "gradient, 24 layers": lambda: (grad(net, argnums=1), (RNG.normal(size=(64, 32)), layers(24))),
}


def clock(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def measure(name, seconds):
    """The row of one program, in this process."""
    f, args = PROGRAMS[name]()
    jit(lambda x: x + 1, engine="xla")(np.ones(3))  # jax starts
    plain = None if hasattr(f, "compiled") else lambda: f(*args)
    row = {"plain first": plain and clock(plain)}
    row["plain"] = plain and statistics.median(
        clock(plain) for _ in range(max(5, int(seconds / max(row["plain first"], 1e-4))))
    )
    ours = jit(f, tier="background")
    row["first"] = clock(lambda: ours(*args))
    calls, begun = [], time.perf_counter()
    while next(iter(ours.compiled.entries.values())).jobs and time.perf_counter() - begun < 60:
        calls.append(clock(lambda: ours(*args)))
    row |= {
        "calls": len(calls),
        "longest": max(calls),
        "median": statistics.median(calls),
        "after": time.perf_counter() - begun,
    }
    waits = jit(f)
    row["jit first"] = clock(lambda: waits(*args))
    found = interleave(
        {"jit": lambda: waits(*args), "background": lambda: ours(*args), "again": lambda: waits(*args)}, seconds
    )
    return row | {"steady": found["background"] / found["jit"], "control": found["again"] / found["jit"]}


def shown(seconds):
    if seconds is None:
        return ""
    return (
        f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.2f} s"
    )


def ratio(a, b):
    return "" if b is None else f"{a / b:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.seconds)))
        return
    rows = []
    for name in PROGRAMS:
        if any(name.startswith(word) for word in given.only.split(",")):
            line = [
                sys.executable,
                "-m",
                "wengert.benchmarks.background",
                "--one",
                name,
                "--seconds",
                str(given.seconds),
            ]
            r = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
            compared = [
                ratio(r["first"], r["plain first"]),
                ratio(r["median"], r["plain"]),
                ratio(r["longest"], r["plain"]),
            ]
            rows.append([name, *map(shown, (r["plain"], r["plain first"], r["jit first"], r["first"])), compared[0],
                shown(r["longest"]),
                         compared[1], compared[2], str(r["calls"]), shown(r["after"]), f"{r['steady']:.2f}",
                         f"{r['control']:.2f}"])  # fmt: skip
    header = [
        "program", "NumPy", "its first", "jit first", "first", "ratio", "longest", "median/", "longest/", "calls",
        "until", "steady", "A/A",
    ]
    table(rows, header)


if __name__ == "__main__":
    main()
