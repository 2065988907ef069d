"""Nests of symbolic sizes against nests of one size: LLVM's time, and how long a call takes.

    python benchmarks/sizes/nests.py [NAME ...]

For each program, at each size: milliseconds that it takes to write the program and compile the nests of that size,
microseconds of a call with them, of one with those of symbolic sizes, and the ratio. Programs: those of `programs.py`,
and loops that hang on their sizes in other ways.
"""

import argparse
import functools
import time
import warnings

import numpy as np
from programs import PROGRAMS

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.numpy import fused
from wengert.backends.numpy.operand import NUMPY
from wengert.backends.numpy.quick import statements_of
from wengert.ir.sample import Decisions, Unalike, deciding, of_sample

SAMPLES = [{"n": n} for n in (37, 38, 74, 101, 45, 64)]
SIZES = 20, 60, 250, 1000


def running(x):
    """A recurrence."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = y[i - 1] * 0.5 + y[i]
    return y


def smoothed(x):
    """Sweeps over neighbours: vectors."""
    y = x.copy()
    for _ in range(20):
        y[1:-1] = 0.25 * y[:-2] + 0.5 * y[1:-1] + 0.25 * y[2:]
    return y


def eliminated(a):
    """Rows from rows."""
    a = a.copy()
    for k in range(len(a) - 1):
        for i in range(k + 1, len(a)):
            f = a[i, k] / a[k, k]
            a[i] = a[i] - f * a[k]
    return a


def edit_distance(x, y):
    """A table, cell by cell."""
    table = np.zeros((len(x) + 1, len(y) + 1))
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            cost = 0.0 if x[i - 1] == y[j - 1] else 1.0
            table[i, j] = min(table[i - 1, j] + 1.0, table[i, j - 1] + 1.0, table[i - 1, j - 1] + cost)
    return table[len(x), len(y)]


def heat(u):
    """Steps of a plane."""
    u = u.copy()
    for _ in range(10):
        inner = u[1:-1, 1:-1]
        u[1:-1, 1:-1] = inner + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
    return u


def counted(x, y):
    """Sums of rows by a table of places."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i % 7] += x[i] * y[len(x) - 1 - i]
    return out


def square(n, rng):
    return rng.random((n, n)) + n * np.eye(n)


OTHERS = {
    "recurrence": (running, lambda n, rng: (rng.random(n),)),
    "recurrence, gradient": (grad(lambda x: np.sum(running(x) ** 2)), lambda n, rng: (rng.random(n),)),
    "sweeps": (smoothed, lambda n, rng: (rng.random(n),)),
    "sweeps, gradient": (grad(lambda x: np.sum(smoothed(x) ** 2)), lambda n, rng: (rng.random(n),)),
    "elimination": (eliminated, lambda n, rng: (square(n, rng),)),
    "edit distance": (edit_distance, lambda n, rng: (rng.integers(0, 4, n), rng.integers(0, 4, n))),
    "plane": (heat, lambda n, rng: (rng.random((n, n)),)),
    "places": (counted, lambda n, rng: (rng.random(n), rng.random(n))),
}


def programs():
    for name, (f, arguments, wanted) in PROGRAMS.items():
        yield name, f, arguments
        yield f"{name}, gradient", grad(functools.partial(total, f), argnums=wanted), arguments
    for name, (f, arguments) in OTHERS.items():
        yield name, f, arguments


def total(f, *args):
    return np.sum(f(*args))


def written(func, sizes=None, log=None):
    with of_sample(sizes), deciding(log):
        return statements_of(fused(func) or func, lambda type: NUMPY)


def seconds(call, leaves, least=0.05):
    """Of a call: the shortest of many."""
    best, spent = np.inf, 0.0
    while spent < least:
        start = time.perf_counter()
        call(*leaves)
        took = time.perf_counter() - start
        best, spent = min(best, took), spent + took
    return best


def one_of_sizes(ir):
    """(SizeFreeNests, log of decisions, seconds that comparing took, and LLVM)"""
    log = Decisions()
    written(ir(101), {"n": 101}, log)
    start = time.perf_counter()
    found = []
    for sizes in SAMPLES:
        call = written(ir(sizes["n"]), sizes, Decisions(log.made))
        found.append([x for x in call.__globals__.values() if isinstance(x, native.SampledNest)])
    nests = [native.SampledNest.unified(row, SAMPLES) for row in zip(*found, strict=True)]
    middle = time.perf_counter()
    for one in nests:
        one.function  # noqa: B018 - compiled now
    return nests, log, middle - start, time.perf_counter() - middle


def measured(name, f, arguments):
    given = functools.cache(lambda n: arguments(n, np.random.default_rng(n)))
    ir = functools.cache(lambda n: jit(f).ir(*given(n)))
    nests, log, compared, llvm = one_of_sizes(ir)
    print(f"{name}: {len(nests)} nests, compared in {compared * 1e3:.0f} ms, LLVM {llvm * 1e3:.0f} ms once")
    if not nests:
        return
    for n in SIZES:
        sample = written(ir(n), {"n": n}, Decisions(log.made))
        space = sample.__globals__
        sampled = [x for x in space.values() if isinstance(x, native.SampledNest)]
        if not all(one.extended(x, {"n": n}) for one, x in zip(nests, sampled, strict=True)):
            print(f"{n:7}  other code")
            continue
        left = iter(nests)
        for place, x in list(space.items()):
            space[place] = next(left).function if isinstance(x, native.SampledNest) else x
        leaves = [np.asarray(x) for x in flat(given(n))]
        leaves = [x if x.ndim else x[()] for x in leaves]
        start = time.perf_counter()
        own = written(ir(n))
        emitted = time.perf_counter() - start
        with np.errstate(all="ignore"):
            for g, w in zip(sample(*leaves), own(*leaves), strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-10)
            a, b = seconds(own, leaves), seconds(sample, leaves)
        print(f"{n:7}  made in {emitted * 1e3:6.0f} ms {a * 1e6:10.2f} us {b * 1e6:10.2f} us {b / a:6.2f}", flush=True)


def flat(x):
    if isinstance(x, dict):
        return [y for k in sorted(x) for y in flat(x[k])]
    return [y for part in x for y in flat(part)] if isinstance(x, list | tuple) else [x]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*")
    names = p.parse_args().names
    for name, f, arguments in programs():
        if not names or any(x in name for x in names):
            try:
                measured(name, f, arguments)
            except Unalike as why:
                print(f"{name}: {why}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
