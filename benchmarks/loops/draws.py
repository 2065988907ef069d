"""Random draws in loops: nanoseconds a draw, against plain Python and Numba.

    python benchmarks/loops/draws.py [--trips 200000]

Every program is run as it stands by Python, compiled, and by `numba.njit` where that takes it; the numbers drawn and
where the generator is left are those of Python, to the bit, and compared first. Numba's `np.random` functions draw from
a generator of Numba's own, with other numbers. Times are the least of a few turns in one process.
"""

import argparse
import time

import numpy as np

from wengert import jit
from wengert.benchmarks.timing import table

try:
    import numba
except ImportError:
    numba = None


def pi_legacy(n):
    inside = 0
    for _ in range(n):
        x = np.random.random()
        y = np.random.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


def pi(n, rng):
    inside = 0
    for _ in range(n):
        x = rng.random()
        y = rng.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


def walk(n, rng):
    x = 0.0
    for _ in range(n):
        x += rng.normal()
    return x


def dice(n, rng):
    total = 0
    for _ in range(n):
        total += rng.integers(6)
    return total


def metropolis(n, rng):
    x, total = 0.0, 0.0
    for _ in range(n):
        y = x + 0.5 * rng.standard_normal()
        if rng.random() < np.exp(0.5 * (x * x - y * y)):
            x = y
        total += x
    return total / n


def births_and_deaths(n, rng):
    t, count = 0.0, 50
    for _ in range(n):
        rate = 1.0 * count + 50.0
        t += rng.exponential(1.0 / rate)
        if rng.random() * rate < 50.0:
            count += 1
        else:
            count -= 1
    return t, count


def resampled(n, rng):
    total = np.zeros(8)
    for _ in range(n):
        k = rng.integers(8)
        total[k] += rng.exponential(2.0)
    return total


PROGRAMS = {  # program -> draws a trip
    pi_legacy: 2, pi: 2, walk: 1, dice: 1, metropolis: 2, births_and_deaths: 2, resampled: 2,
}  # fmt: skip


RNG = np.random.default_rng(0)


def given(f, n, seed):
    """The arguments of a call: the generators begin as others of that seed do."""
    np.random.seed(seed)
    RNG.bit_generator.state = np.random.default_rng(seed).bit_generator.state
    return (n,) if f is pi_legacy else (n, RNG)


def check(f, compiled, n):
    """That numbers and generators are those of Python."""
    ended = []
    for call in (f, compiled):
        args = given(f, n, 1)
        result = call(*args)
        generator = args[1] if len(args) > 1 else np.random
        ended.append((result, generator.standard_normal(3)))
    np.testing.assert_equal(*ended)


def least(f, call, n, turns):
    """Nanoseconds a draw."""
    best = np.inf
    for turn in range(turns):
        args = given(f, n, turn)
        start = time.perf_counter()
        call(*args)
        best = min(best, time.perf_counter() - start)
    return 1e9 * best / (n * PROGRAMS[f])


def by_numba(f, n):
    """The program by Numba, None where there is none, or it does not take the program."""
    if numba is None:
        return None
    made = numba.njit(f)
    try:
        made(*given(f, 10, 0))
    except numba.core.errors.NumbaError:
        return None
    return made


def rows(n):
    for f in PROGRAMS:
        compiled = jit(f)
        start = time.perf_counter()
        check(f, compiled, 1000)
        first = time.perf_counter() - start
        check(f, compiled, n)
        plain, ours = least(f, f, n // 10, 3), least(f, compiled, n, 7)
        peer = by_numba(f, n)
        theirs = least(f, peer, n, 7) if peer else np.nan
        yield [f.__name__, first, plain, ours, theirs, plain / ours, theirs / ours]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trips", type=int, default=200_000)
    heads = ["program", "first s", "Python ns", "Wengert ns", "Numba ns", "Python/Wengert", "Numba/Wengert"]
    table(list(rows(parser.parse_args().trips)), heads)
