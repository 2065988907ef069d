"""Products with matrices of scipy.sparse and their gradients: SciPy, with the gradient written by hand, against jit and
grad.

    python benchmarks/kernels/sparse.py [rows] [entries]

The best of many calls in turn, in milliseconds, after the calls in which jit finds out what is fastest.
"""

import sys
import time

import numpy as np
import scipy.sparse as sp

from wengert import grad, jit

TURNS, WARM = 15, 20


def program(A, x):
    return np.tanh(A @ x) + 1


def loss(A, x):
    return np.sum(np.tanh(A @ x) + 1)


def by_hand(A, x):
    return A.T @ (1 - np.tanh(A @ x) ** 2)


def back(A, x):
    return np.tanh(A.T @ x) + 1


CASES = {"tanh(A @ x) + 1": (program, jit(program)), "tanh(A.T @ x) + 1": (back, jit(back))}
CASES["its gradient by x"] = by_hand, grad(loss, 1)


def best_of(functions, *args):
    """The shortest call of each of some functions, called in turn, in milliseconds."""
    found = [[] for _ in functions]
    for turn in range(WARM + TURNS):
        for f, times in zip(functions, found):
            start = time.perf_counter()
            f(*args)
            if turn >= WARM:
                times.append(time.perf_counter() - start)
    return [1e3 * min(times) for times in found]


def main(rows=100_000, entries=1_000_000):
    rng = np.random.default_rng(0)
    A = sp.random_array((rows, rows), density=entries / rows**2, rng=rng)
    print(f"{'':20} {'format':>8} {'columns':>8} {'SciPy':>8} {'here':>8} {'ratio':>8}")
    for name, (theirs, ours) in CASES.items():
        for form in ("csr", "csc", "coo"):
            for columns in (1, 8):
                x = rng.normal(size=(rows, columns) if columns > 1 else rows)
                given = A.asformat(form), x
                np.testing.assert_allclose(ours(*given), theirs(*given), rtol=1e-10, atol=1e-12)
                plain, mine = best_of([theirs, ours], *given)
                print(f"{name:20} {form:>8} {columns:8} {plain:8.2f} {mine:8.2f} {mine / plain:8.2f}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
