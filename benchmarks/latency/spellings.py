"""Every spelling of a loop over numbers: what its first call takes, and what later calls take beside plain Python.

    python benchmarks/latency/spellings.py [--sizes 20,200,2000] [NAME ...]

Columns for each size: seconds to the first result; plain Python's time by that of a compiled call (above 1 is faster
than Python). F marks what runs as plain Python (a `Fallback` warning), X a result that is not Python's. The data of
each timed call are those of the call before; the values are compared on other data too.
"""

import functools
import itertools
import sys
import time
import warnings

import numpy as np

from wengert import jit
from wengert.benchmarks.timing import table
from wengert.tracer.common.errors import Fallback

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


@case
def for_append(a):
    xs = []
    for v in a:
        xs.append(v * v + 1.0)
    return np.array(xs)


@case
def list_comp(a):
    return np.array([v * v + 1.0 for v in a])


@case
def cond_comp(a):
    return np.array([v * v for i, v in enumerate(a) if i % 2 == 0])


@case
def data_cond_comp(a):
    return np.array([v * v for v in a if v > 0])


@case
def nested(a):
    return np.array([[u * v for u in a[:5]] for v in a])


@case
def dict_comp(a):
    d = {i: v * 2 for i, v in enumerate(a[:20])}
    return sum(d.values())


@case
def gen_sum(a):
    return sum(v * v for v in a)


@case
def gen_max(a):
    return max(v * v for v in a)


@case
def gen_any(a):
    return any(v > 3.9 for v in a)


@case
def gen_all(a):
    return all(v > -3.9 for v in a)


@case
def gen_fromiter(a):
    return np.fromiter((v * v for v in a), float)


@case
def gen_list(a):
    return np.array(list(v * v for v in a))  # noqa: C400


@case
def map_list(a):
    return np.array(list(map(lambda v: v * v + 1, a)))  # noqa: C417


@case
def zip_sum(a):
    return sum(u * v for u, v in zip(a, a[::-1]))


@case
def enum_for(a):
    total = 0.0
    for i, v in enumerate(a):
        total += i * v
    return total


@case
def rev(a):
    total = 0.0
    for v in reversed(a):
        total = total * 0.5 + v
    return total


@case
def prod(a):
    return sum(u * v for u, v in itertools.product(a, a[:5]))


@case
def comb(a):
    return sum(u * v for u, v in itertools.combinations(a[:40], 2))


@case
def accum(a):
    return np.array(list(itertools.accumulate(a)))


@case
def islice(a):
    return sum(itertools.islice(a, 3, None, 2))


@case
def chain(a):
    return sum(v * v for v in itertools.chain(a, a))


@case
def pairwise(a):
    return sum(abs(v - u) for u, v in itertools.pairwise(a))


@case
def reduce(a):
    return functools.reduce(lambda s, v: s * 0.9 + v, a)


@case
def flat(a):
    return sum(v for v in a.flat)


@case
def nditer(a):
    return sum(v * v for v in np.nditer(a))


@case
def ndenum(a):
    total = 0.0
    for (i,), v in np.ndenumerate(a):
        total += i * v
    return total


@case
def ndindex(a):
    total = 0.0
    for (i,) in np.ndindex(*a.shape):
        total += a[i] * i
    return total


@case
def nested_append(a):
    xs = []
    for v in a:
        for w in a[:8]:
            xs.append(v * w)
    return np.array(xs)


@case
def nested_data_append(a):
    xs = []
    for v in a:
        for w in a[:8]:
            if w > v:
                xs.append(v * w)
    return np.array(xs), len(xs)


@case
def extend(a):
    xs = []
    for v in a:
        xs.extend([v, v * v])
        xs += list(a[:3] * v)
    return np.array(xs)


@case
def arange_rows(a):
    total = 0.0
    for v in a:
        total += np.arange(0.0, abs(v), 0.25).sum()
    return total


@case
def data_append(a):
    xs = []
    for v in a:
        if v > 0:
            xs.append(v * v)
    return np.array(xs), len(xs)


@case
def data_append_last(a):
    xs = [1.0]
    for v in a:
        if v > xs[-1] * 0.5:
            xs.append(xs[-1] * 0.5 + v)
    return np.array(xs), xs[-1]


@case
def every_tenth(a):
    u, frames = np.zeros(4), []
    for i in range(len(a)):
        u = u * 0.9 + a[i]
        if i % 10 == 0:
            frames.append(u.copy())
    return np.array(frames)


@case
def grow_vstack(a):
    rows = np.zeros((1, 3))
    for v in a:
        rows = np.vstack((rows, rows[-1] * 0.5 + v))
    return rows


@case
def grow_concat(a):
    out = np.zeros(1)
    for v in a:
        out = np.append(out, out[-1] * 0.5 + v)
    return out


@case
def append_last(a):
    xs = [1.0]
    for v in a:
        xs.append(xs[-1] * 0.5 + v)
    return np.array(xs)


@case
def mult(a):
    xs = [0.0] * len(a)
    for i in range(len(a)):
        xs[i] = a[i] * 2
    return np.array(xs)


@case
def store_list(a):
    xs = [0.0] * len(a)
    for i in range(1, len(a)):
        xs[i] = xs[i - 1] * 0.5 + float(a[i])
    return xs


@case
def while_append(a):
    ts, t = [0.0], 0.0
    while t < len(a):
        t = t + 0.5 + a[0] * a[0]
        ts.append(t)
    return np.array(ts)


@case
def stack(a):
    todo, total = [float(a[0])], 0.0
    while todo:
        x = todo.pop()
        total += x
        if abs(x) < len(a):
            todo.append(x * 2 + 1)
    return total


@case
def gram(a):
    return np.array([[np.exp(-((u - v) ** 2)) for u in a[:20]] for v in a[:20]])


@case
def tuple_state(a):
    traj, x, v = [], 0.0, 1.0
    for i in range(len(a)):
        v = v - 0.1 * x
        x = x + 0.1 * v + a[i]
        traj.append((i * 0.1, x, v))
    return np.array(traj)


@case
def list_of_rows(a):
    return np.array([np.array([v, v * 2, 1.0]) for v in a])


@case
def return_list(a):
    return [v * v for v in a]


@case
def data_list(a):
    return [v * v for v in a if v > 0]


@case
def sorted_comp(a):
    return sorted(v * v for v in a)


@case
def minkey(a):
    return min(range(len(a)), key=lambda i: a[i])


@case
def join_idx(a):
    return np.array([i for i, v in enumerate(a) if v > 0])


@case
def early_end(a):
    xs = []
    for v in a:
        if v > 3.9:
            break
        xs.append(v)
    return sum(xs)


def given(n, k):
    return np.clip(np.random.default_rng([n, k]).normal(size=n), -3.0, 3.0)


def least(f, x, seconds=0.05):
    """The least time of one call."""
    begun, best = time.perf_counter(), float("inf")
    while time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        f(x)
        best = min(best, time.perf_counter() - start)
    return best


def same(got, want):
    if type(got) is not type(want):
        return False
    if isinstance(want, list | tuple):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, np.ndarray):
        return got.dtype == want.dtype and got.shape == want.shape and np.allclose(got, want, 1e-11, 1e-11)
    return bool(np.isclose(got, want, 1e-11, 1e-11))


def measured(f, n):
    """(seconds to the first result, ratio as text)"""
    compiled, marks = jit(f), ""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        start = time.perf_counter()
        got = compiled(given(n, 0))
        first = time.perf_counter() - start
        fine = same(got, f(given(n, 0)))
        for k in (1, 2):
            fine = fine and same(compiled(given(n, k)), f(given(n, k)))
        x = given(n, 0)
        mine, plain = least(compiled, x), least(f, x)
        mine, plain = min(mine, least(compiled, x)), min(plain, least(f, x))
    marks += "F" if any(issubclass(w.category, Fallback) for w in seen) else ""
    return first, f"{plain / mine:.3g}{marks}{'' if fine else 'X'}"


def main(args):
    sizes = (20, 200, 2000)
    if args[:1] == ["--sizes"]:
        sizes, args = tuple(map(int, args[1].split(","))), args[2:]
    rows = []
    for name in args or CASES:
        found = [x for n in sizes for x in measured(CASES[name], n)]
        rows.append((name, *found))
        print(name, *[x if isinstance(x, str) else f"{x:.2f}" for x in found], file=sys.stderr, flush=True)
    table(rows, ("spelling", *[t for n in sizes for t in (f"first {n}", f"ratio {n}")]))


if __name__ == "__main__":
    main(sys.argv[1:])
