"""Loops of NPBench as native nests, against the same programs through jax.lax alone and against Numba, if it is
installed.

    git clone https://github.com/spcl/npbench
    python benchmarks/loops/native.py npbench [--size M] [--only lu,durbin] [--seconds 2]

All take turns in one process and give and take ndarrays, on fresh copies; ms are medians. "moving" is a program that
only takes the arrays and has what is written to them written: no program that XLA launches is faster. Ratios above 1
mean that the native form is.
"""

import argparse
import copy
import pathlib
import sys
import time
import warnings

import jax

from wengert import jit
from wengert.backends import native
from wengert.benchmarks.npbench import NUMBA, Kernel, contestants, interleaved, mean, moving, prepared, verdict
from wengert.benchmarks.npbench import after as outcome
from wengert.benchmarks.timing import table

SCALAR = "cholesky,lu,ludcmp,nussinov,seidel_2d,crc16,trisolv,durbin,gramschmidt,deriche,mandelbrot1,mandelbrot2,spmv"
HEAD = [
    "kernel", "correct", "loops", "first s", "lax first s", "native ms", "lax ms", "numba ms", "moving ms",
    "lax/native", "numba/native",
]  # fmt: skip


def measured(kernel, size, seconds):
    """The row of one kernel."""
    args, want = prepared(kernel, size, False)
    fresh = lambda: copy.deepcopy(args)
    runs, firsts, log = {}, {}, []
    for name, least in (("native", native.LEAST), ("lax", None)):
        run = jit(kernel.function("_numpy"))
        with native.asked(least, log if least else None):
            got, firsts[name] = timed(lambda run=run: outcome(run, args))
        runs[name] = run, fresh
        if name == "native":
            correct, _ = verdict(kernel.function("_numpy"), args, want, got)
    runs |= {name: entry for name, entry in contestants(kernel, args).items() if name in NUMBA}
    runs["moving"] = moving(args, want), fresh
    ms = {name: 1e3 * t for name, t in interleaved(runs, seconds).items()}
    numba = min((ms[n] for n in NUMBA if n in ms), default=float("nan"))
    taken = f"{sum(reason is None for _, reason in log)} of {len(log)}"
    ratios = ms["lax"] / ms["native"], numba / ms["native"]
    return [
        kernel.info["module_name"],
        correct,
        taken,
        firsts["native"],
        firsts["lax"],
        ms["native"],
        ms["lax"],
        numba,
        ms["moving"],
        *ratios,
    ]


def timed(run):
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--size", default="S", choices=["S", "M"])
    parser.add_argument("--only", default=SCALAR)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")
    rows = []
    for name in given.only.split(","):
        rows.append(measured(Kernel(given.checkout, name), given.size, given.seconds))
        print(name, file=sys.stderr, flush=True)
    table(rows, HEAD)
    print("\ngeometric means: " + ", ".join(f"{HEAD[k]} {mean(row[k] for row in rows):.2f}" for k in (9, 10)))


if __name__ == "__main__":
    main()
