"""How far functions of the C library are from the true values on the lanes that nests run them on, and what one takes.

    pip install mpmath
    python benchmarks/correctness/vector_functions.py [--points 3000] [--only exp sin]

A row a function and width: the largest error in units in the last place against mpmath's value at 100 bits, of a nest
and of NumPy; special numbers that come out otherwise than NumPy's; elements that come out otherwise where they stand
elsewhere in a row; nanoseconds an element of a row of 4,096, in one loop.
"""

import argparse
import importlib
import time

import numpy as np

from wengert import jit
from wengert.backends import native
from wengert.benchmarks.timing import table

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e300, -1e300, 710.0, -746.0, 1e22, 88.8, -104.0, 1.0, -1.0]
ODD = 29  # elements of a stretch that is repeated, so that each of them comes to stand on every lane
LAST = np.array([10**9])  # which a loop does not know
WIDE, FAR, REAL, NEAR, LOGS = (-700.0, 700.0), (-1e5, 1e5), (-20.0, 20.0), (-1.0, 1.0), (1e-12, 1e12)
TINY = -1e-5, 1e-5
FUNCTIONS = {
    "exp": (WIDE, REAL, NEAR), "expm1": (WIDE, REAL, NEAR, TINY), "tanh": (REAL, NEAR, TINY), "exp2": (REAL, NEAR),
    "log": (LOGS, (0.5, 2.0)), "log2": (LOGS, (0.5, 2.0)), "log10": (LOGS, (0.5, 2.0)), "log1p": ((-0.99, 1e6), NEAR),
    "sin": (FAR, REAL), "cos": (FAR, REAL), "tan": (REAL, NEAR),
    "arcsin": (NEAR,), "arccos": (NEAR,), "arctan": (REAL, NEAR), "sinh": (REAL, NEAR), "cosh": (REAL, NEAR),
    "arcsinh": (REAL, NEAR), "arccosh": ((1.0, 50.0),), "arctanh": (NEAR,), "cbrt": (REAL, NEAR),
}  # fmt: skip
TRUE = {name: name.replace("arc", "a") for name in FUNCTIONS}


def loop_of(name):
    """A function that calls NumPy's `name` in a loop over rows."""
    space = {"np": np}
    head = "def f(x, last, n):\n    y = x\n    for i in range(n):\n"
    exec(f"{head}        y = np.{name}(np.where(i > last[0], y, x))\n    return y", space)
    return space["f"]


def compiled(name):
    """NumPy's function on each row, by a nest however short that is."""
    made = jit(loop_of(name), engine="xla")

    def run(x, n):
        with native.asked(0, log := []), np.errstate(all="ignore"):
            found = made(x, LAST, n)
        assert all(reason is None for _, reason in log), log
        return found

    return run


def points(name, dtype, count):
    rng = np.random.default_rng(0)
    spans = [np.clip(s, -80, 80) if dtype == "f4" and s == WIDE else s for s in FUNCTIONS[name]]
    return np.concatenate([rng.uniform(*span, count) for span in spans]).astype(dtype)


def true_value(name, x):
    mpmath = importlib.import_module("mpmath")
    with mpmath.workprec(100):
        v = mpmath.mpf(float(x))
        if name == "exp2":
            return mpmath.power(2, v)
        if name == "log2":
            return mpmath.log(v, 2)
        if name == "cbrt":
            return mpmath.cbrt(v) if v >= 0 else -mpmath.cbrt(-v)
        return getattr(mpmath, TRUE[name])(v)


def ulps(got, want, dtype):
    mpmath = importlib.import_module("mpmath")
    tiny = np.finfo(dtype).tiny
    with mpmath.workprec(100):
        return max(
            float(abs(mpmath.mpf(float(a)) - w)) / float(np.spacing(np.asarray(max(abs(float(w)), tiny), dtype)))
            for a, w in zip(got, want)
            if np.isfinite(a)
        )


def seconds(run, x, trips=200):
    best = np.inf
    for _ in range(9):
        start = time.perf_counter()
        run(x, trips)
        best = min(best, time.perf_counter() - start)
    return best / trips / len(x)


def row(name, dtype, count):
    x, special = points(name, dtype, count), np.asarray(SPECIAL, np.float64).astype(dtype)
    run, numpys = compiled(name), getattr(np, name)
    want, whole = [true_value(name, v) for v in x], run(x, 2)
    with np.errstate(all="ignore"):
        a, b = run(special, 2), numpys(special)
        alike = np.isclose(a, b, rtol=1e-5, atol=0, equal_nan=True) & (np.isnan(b) | (np.signbit(a) == np.signbit(b)))
    again = run(np.tile(x[:ODD], 99), 2).reshape(99, ODD)
    places = (again != again[0]).sum()
    in_cache = np.resize(x[-count:], 4096)
    errors = [ulps(found, want, dtype) for found in (whole, numpys(x))]
    return [name, dtype, *errors, (~alike).sum(), places, 1e9 * seconds(run, in_cache)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=3000, help="of each span")
    parser.add_argument("--only", nargs="*", default=list(FUNCTIONS))
    args = parser.parse_args()
    head = ["function", "width", "ulp", "NumPy ulp", "special otherwise", "by place", "ns"]
    table([row(name, dtype, args.points) for name in args.only for dtype in ("f8", "f4")], head)


if __name__ == "__main__":
    main()
