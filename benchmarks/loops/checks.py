"""Loops that read and store by indices of their data, each of which is asked whether it is in range.

    pip install numba
    python benchmarks/loops/checks.py [--only gather,csr] [--seconds 1] [--carried]

Microseconds of a call with ndarrays, medians of calls that take turns: ours; Numba, which asks nothing about indices,
and with its boundscheck ("asking"); and Numba once more, as the control. --carried: nests do not end where a check
fails, but carry the status to their end, as loops do that XLA runs. All results are compared with plain Python.
"""

import argparse
import copy
import functools

import numba
import numpy as np

from wengert import jit
from wengert.backends.native import legal
from wengert.benchmarks.timing import interleave, table


def gather(x, index):
    out = np.zeros(len(index))
    for i in range(len(index)):
        out[i] = x[index[i]]
    return out


def insertion_sort(a):
    a = a.copy()
    for i in range(1, len(a)):
        v, j = a[i], i - 1
        while j >= 0 and a[j] > v:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = v
    return a


def binary_search(a, xs):
    out = np.zeros(len(xs), dtype=np.int64)
    for k in range(len(xs)):
        low, high = 0, len(a)
        while low < high:
            middle = (low + high) // 2
            if a[middle] < xs[k]:
                low = middle + 1
            else:
                high = middle
        out[k] = low
    return out


def csr_product(data, indices, pointers, x):
    y = np.zeros(len(pointers) - 1)
    for i in range(len(pointers) - 1):
        s = 0.0
        for k in range(pointers[i], pointers[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


def markov_chain(p, u):
    counts, s = np.zeros(p.shape[0], dtype=np.int64), 0
    for t in range(len(u)):
        k, total = 0, p[s, 0]
        while u[t] > total and k < p.shape[1] - 1:
            k += 1
            total += p[s, k]
        s = k
        counts[s] += 1
    return counts


def linked_list(following, weight, n):
    at, s = 0, 0.0
    for _ in range(n):
        s += weight[at]
        at = following[at]
    return s


def histogram(x, n):
    counts = np.zeros(n, dtype=np.int64)
    for i in range(len(x)):
        counts[int(x[i] * n)] += 1
    return counts


def union_find(parent, left, right):
    parent = parent.copy()
    for e in range(len(left)):
        a, b = left[e], right[e]
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[a] = b
    return parent


def inputs(rng):
    n = 2000
    lengths = rng.integers(0, 20, n)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    p = rng.random((8, 8))
    order = rng.permutation(n)
    following = np.zeros(n, np.int64)
    following[order] = np.roll(order, -1)
    return {
        gather: (rng.random(20_000), rng.integers(0, 20_000, 20_000)),
        insertion_sort: (rng.random(300),),
        binary_search: (np.sort(rng.random(4096)), rng.random(2000)),
        csr_product: (rng.random(pointers[-1]), rng.integers(0, n, pointers[-1]), pointers, rng.random(n)),
        markov_chain: (p / p.sum(1, keepdims=True), rng.random(5000)),
        linked_list: (following, rng.random(n), 10_000),
        histogram: (rng.random(10_000), 64),
        union_find: (np.arange(n), rng.integers(0, n, 1500), rng.integers(0, n, 1500)),
    }


def row(f, args, seconds):
    want = f(*copy.deepcopy(args))
    calls = {
        "ours": jit(f), "numba": numba.njit(f), "asking": numba.njit(boundscheck=True)(f), "control": numba.njit(f),
    }  # fmt: skip
    for call in calls.values():
        np.testing.assert_allclose(call(*copy.deepcopy(args)), want, rtol=1e-9)
        for _ in range(30):
            call(*args)
    found = interleave({name: functools.partial(call, *args) for name, call in calls.items()}, seconds)
    times = [1e6 * found[name] for name in calls]
    return [f.__name__, *times, times[1] / times[0], times[2] / times[0]]


HEAD = ["program", "ours us", "numba us", "asking us", "control us", "numba/ours", "asking/ours"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--carried", action="store_true", help="nests carry the status to their end")
    options = parser.parse_args()
    if options.carried:
        legal.telling_loops = lambda func: {}
    wanted = options.only.split(",") if options.only else None
    rows = [
        row(f, args, options.seconds)
        for f, args in inputs(np.random.default_rng(0)).items()
        if wanted is None or any(name in f.__name__ for name in wanted)
    ]
    mean = [float(np.exp(np.mean(np.log([r[k] for r in rows])))) for k in (5, 6)]
    table([*rows, ["geometric mean", *[""] * 4, *mean]], HEAD)


if __name__ == "__main__":
    main()
