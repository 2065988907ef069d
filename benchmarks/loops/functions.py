"""Functions of the C library on rows in a loop: as a nest, which calls them on vectors where it can, against XLA.

    python benchmarks/loops/functions.py [--only exp sin] [--sizes 16 256 4096 65536]

A row a function and width: nanoseconds an element as a nest, and how much longer XLA takes, at each size of a row.
Above 1 the nest is faster; `region.py` leaves to XLA what is not.
"""

import argparse
import time

import numpy as np

from wengert import jit
from wengert.backends import native
from wengert.benchmarks.timing import table

TRIPS = 200
ONE = "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arctanh cbrt".split()
FORMS = {name: f"np.{name}(s * 0.3 + x)" for name in ONE} | {
    "arccosh": "np.arccosh(s * 0.3 + x + 1.0)", "arctan2": "np.arctan2(s, x)", "hypot": "np.hypot(s, x) * 0.5",
    "logistic": "1.0 / (1.0 + np.exp(-s - x))",
    "logaddexp": "np.logaddexp(s * 0.1, x)", "pow": "(s * s * 0.1 + 1.0) ** x",
}  # fmt: skip


def loop_of(form):
    space = {"np": np}
    exec(f"def f(x):\n    s = x * 0.0\n    for i in range({TRIPS}):\n        s = {form}\n    return s", space)
    return space["f"]


def seconds(run, x):
    """The least seconds of a call, once it has been compiled."""
    run(x)
    best, begin = np.inf, time.perf_counter()
    while time.perf_counter() - begin < 0.15:
        start = time.perf_counter()
        run(x)
        best = min(best, time.perf_counter() - start)
    return best / TRIPS / len(x)


def measured(name, dtype, sizes):
    found = []
    for n in sizes:
        x = np.random.default_rng(0).uniform(0.2, 0.6, n).astype(dtype)
        times = []
        for least in (native.LEAST, None):
            run = jit(loop_of(FORMS[name]), engine="xla")
            with native.asked(least):
                times.append(seconds(run, x))
        found += [1e9 * times[0], times[1] / times[0]]
    return [name, dtype, *found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=list(FORMS))
    parser.add_argument("--sizes", nargs="*", type=int, default=[16, 256, 4096, 65536])
    args = parser.parse_args()
    head = ["function", "width", *(text for n in args.sizes for text in (f"{n}: ns", "xla/nest"))]
    table([measured(name, dtype, args.sizes) for name in args.only for dtype in ("f8", "f4")], head)


if __name__ == "__main__":
    main()
