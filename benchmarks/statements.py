"""Statements as people write them every day through a bare `jit`, one size after the other: where are we behind?

    python benchmarks/statements.py                                # ndarrays against NumPy, 1,000 and then 100,000
    python benchmarks/statements.py --device                       # jax arrays against jax.jit of the same text
    python benchmarks/statements.py --sizes 100000,1000 --only "mask set,cumsum"

One compiled function is called with the sizes in their order (`programs/statements.py` has the statements). Calls of a
size go on for --seconds, while what pays is compiled beside them: "at first" are those of the quarter of a second after
the first. Then it is left to settle, and everyone takes turns. Ratios are of the other's time by ours: above 1, ours is
faster; "A/A" is the other against itself. Answers are compared with NumPy's. Losses come first.
"""

import argparse
import functools
import sys
import time
import warnings

import jax
import numpy as np

from wengert import jit
from wengert.benchmarks.npbench import mean
from wengert.benchmarks.programs.statements import arguments, function_of, statements
from wengert.benchmarks.timing import interleave, settle, table

FIRST = 0.25  # seconds after the first call of which the calls are those "at first"


def agrees(got, want):
    """Whether two results are the same up to rounding."""
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    return all(
        np.asarray(x).dtype == np.asarray(y).dtype and np.allclose(x, y, rtol=1e-5 if y.dtype == np.float32 else 1e-9)
        for x, y in pairs
    )


def first_calls(call, seconds):
    """(seconds of the first call, the median of those in the quarter of a second after it); they go on for
    `seconds`."""
    start = time.perf_counter()
    call()
    first, begun, times = time.perf_counter() - start, time.perf_counter(), []
    while (now := time.perf_counter()) - begun < seconds or not times:
        call()
        if now - begun < FIRST:
            times.append(time.perf_counter() - now)
    return first, sorted(times)[len(times) // 2]


def contestants(name, given, text, device):
    """(the other, ours, the compiled function): the first two are done when they return."""
    run = jit(function_of(name, given, text))
    if not device:
        return function_of(name, given, text), run, run
    port = jax.jit(function_of(name, given, text, jax.numpy))
    return lambda *args: jax.block_until_ready(port(*args)), lambda *args: jax.block_until_ready(run(*args)), run


def measure(name, given, text, sizes, options):
    """Rows of a statement, one a size."""
    other, ours, run = contestants(name, given, text, options.device)
    for n in sizes:
        args = arguments(given, n)
        want = function_of(name, given, text)(*args)
        if options.device:
            args = [jax.numpy.asarray(x) for x in args]
        theirs, mine = functools.partial(other, *args), functools.partial(ours, *args)
        try:
            theirs()
        except (TypeError, IndexError, jax.errors.JAXTypeError):  # it mutates, or a shape depends on data
            return
        first, early = first_calls(mine, options.seconds)
        settle(run, mine)
        right = agrees(mine(), want)
        t = interleave({"other": theirs, "ours": mine, "again": theirs}, seconds=0.3)
        yield [
            name, str(n), 1e6 * t["other"], 1e6 * t["ours"], 1e3 * first, t["other"] / early, t["other"] / t["ours"],
            t["other"] / t["again"], "" if right else "WRONG",
        ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1000,100000", help="lengths of the vectors, in their order")
    parser.add_argument("--only", help="names, with commas between")
    parser.add_argument("--seconds", type=float, default=1.0, help="of calls of each size before it is left to settle")
    parser.add_argument("--device", action="store_true", help="jax arrays, against jax.jit of the same text")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    chosen, rows = options.only and options.only.split(","), []
    for name, (given, text) in statements().items():
        if chosen is None or name in chosen:
            rows += measure(name, given, text, [int(n) for n in options.sizes.split(",")], options)
    rows.sort(key=lambda row: (row[-1] == "", row[6]))
    peer = "jax.jit" if options.device else "numpy"
    table(rows, ["statement", "n", f"{peer} us", "ours us", "first ms", "at first", "settled", "A/A", ""])
    print(f"\n{len(rows)} rows; geometric means: at first {mean(r[5] for r in rows):.3g}", end=", ")
    print(f"settled {mean(r[6] for r in rows):.3g}; below 0.9: {sum(r[6] < 0.9 for r in rows)}")
    sys.exit(any(row[-1] for row in rows))


if __name__ == "__main__":
    main()
