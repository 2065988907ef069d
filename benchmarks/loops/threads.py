"""Loops that threads share, against the same machine code on one thread.

    python benchmarks/loops/threads.py [--only pairs,rows] [--seconds 1]

Blocks of calls on one thread and on all take turns in one process, on the same arguments; ms are medians. "A/A" is one
thread by itself, in the blocks of even and of odd numbers; "serial" the share of the time on one thread that the
threads did not share, by Amdahl's law, and "64 would" the speed-up that follows from it for so many processors, were
memory as fast. `bits`: whether both give the same ones. The first call of each block is not counted: helpers are asleep
then.
"""

import argparse
import statistics
import time
import warnings

import numpy as np

from wengert import jit
from wengert.backends.native import threads
from wengert.benchmarks.timing import table

RNG = np.random.default_rng(0)
BLOCK = 8  # calls in a row
HEAD = ["program", "one ms", "all ms", "speed-up", "A/A", "serial", "64 would", "bits", "form"]


def pairs(x, y):
    out = np.zeros((len(x), 2))
    for i in range(len(x)):
        u = v = 0.0
        for j in range(len(x)):
            dx, dy = x[j] - x[i], y[j] - y[i]
            r = 1.0 / np.sqrt(dx * dx + dy * dy + 0.01)
            u, v = u + dx * r * r * r, v + dy * r * r * r
        out[i, 0], out[i, 1] = u, v
    return out


def energy(x, y):
    e = 0.0
    for i in range(len(x)):
        for j in range(i):
            e += 1.0 / np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2 + 0.01)
    return e


def mandelbrot(xs, ys):
    out = np.zeros((len(ys), len(xs)), dtype=np.int64)
    for a in range(len(ys)):
        for b in range(len(xs)):
            u = v = 0.0
            k = 0
            while k < 100 and u * u + v * v < 4.0:
                u, v, k = u * u - v * v + xs[b], 2 * u * v + ys[a], k + 1
            out[a, b] = k
    return out


def stencil(a):
    b = np.zeros_like(a)
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = 0.2 * (a[i, j] + a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])
    return b


def rows(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = np.sqrt((x[i] * x[i]).sum()) + np.abs(x[i]).max()
    return out


def sparse(start, column, value, x):
    y = np.zeros(len(start) - 1)
    for i in range(len(start) - 1):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += value[k] * x[column[k]]
        y[i] = s
    return y


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def relaxed(a, b):
    for _ in range(10):
        b[1:-1, 1:-1] = 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])
        a[1:-1, 1:-1] = 0.25 * (b[1:-1, :-2] + b[1:-1, 2:] + b[:-2, 1:-1] + b[2:, 1:-1])
    return a


def matrix(n):
    start = np.concatenate([[0], np.cumsum(RNG.integers(0, 40, n))])
    return start, RNG.integers(0, n, start[-1]), RNG.random(start[-1]), RNG.random(n)


draw = RNG.random
PROGRAMS = {
    "pairs": (pairs, [(draw(n), draw(n)) for n in (30, 100, 400, 1500)]),
    "energy": (energy, [(draw(n), draw(n)) for n in (100, 400, 1500)]),
    "mandelbrot": (mandelbrot, [(np.linspace(-2, 1, n), np.linspace(-1, 1, n)) for n in (20, 64, 300)]),
    "stencil": (stencil, [(draw((n, n)),) for n in (64, 400, 1000)]),
    "rows": (rows, [(draw((n, 1000)),) for n in (30, 300, 1000)]),
    "sparse": (sparse, [matrix(n) for n in (1000, 20_000)]),
    "product": (product, [(draw((n, n)), draw((n, n))) for n in (30, 200)]),
    "relaxed": (relaxed, [(draw((n, n)), draw((n, n))) for n in (64, 400, 1000)]),
}


def measured(name, function, args, seconds):
    """The row of one program."""
    compiled, times, bits = jit(function, dynamic=False), ([], [], []), []
    fresh = lambda: [x.copy() for x in args]
    given = fresh()
    for _ in range(4):
        compiled(*given)
    everybody, end, turn = threads.thread_count() - 1, time.perf_counter() + seconds, 0
    while time.perf_counter() < end or turn < 6:
        all_of_them = turn % 2
        if threads.POOL.address is not None:
            threads.POOL.allow(everybody if all_of_them else 0)
        bits.append(np.asarray(compiled(*fresh())).tobytes())
        for _ in range(BLOCK):
            start = time.perf_counter()
            compiled(*given)
            times[1 if all_of_them else turn % 4].append(time.perf_counter() - start)
        turn += 1
    one, both = statistics.median(times[0] + times[2]), statistics.median(times[1])
    gain, n = one / both, everybody + 1
    serial = min(max((1 / gain - 1 / n) / (1 - 1 / n), 0.0), 1.0)
    form = [line for line in compiled.explain().splitlines() if "  loop  " in line][-1].rpartition(": ")[2]
    label = f"{name} {' x '.join(map(str, args[0].shape))}"
    same = statistics.median(times[0]) / statistics.median(times[2])
    would = 1 / (serial + (1 - serial) / 64)
    told = f"{serial:.2f}", f"{would:.1f}"
    return [label, one * 1e3, both * 1e3, gain, same, *told, "same" if len(set(bits)) == 1 else "OTHER", form[:40]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name, (function, sizes) in PROGRAMS.items():
        if not given.only or name in given.only.split(","):
            lines += [measured(name, function, args, given.seconds) for args in sizes]
    table(lines, HEAD)


if __name__ == "__main__":
    main()
