"""Sorting on the CPU: NumPy, jax.lax, and the lowering of `backends/xla/sorting.py`.

    python benchmarks/kernels/sorting.py
"""

import jax
import numpy as np
from jax import lax

from wengert.backends.xla import XLA
from wengert.benchmarks.timing import interleave, table
from wengert.ir.ops.sorting import sort

SHAPES = [((512,), 0), ((4096,), 0), ((100_000,), 0), ((1_000_000,), 0), ((1000, 1000), 1), ((1000, 1000), 0)]


def measure(name, x, axis, carried):
    device = [jax.numpy.asarray(x), lax.broadcasted_iota(np.int64, x.shape, axis)][: 1 + carried]
    theirs = jax.jit(lambda *xs: lax.sort(xs, axis, num_keys=1))
    mine = jax.jit(lambda *xs: XLA[sort](*xs, axis=axis, num_keys=1, stable=True))
    for a, b in zip(theirs(*device), mine(*device), strict=True):
        np.testing.assert_array_equal(a, b)
    t = interleave({
        "numpy": lambda: np.argsort(x, axis) if carried else np.sort(x, axis),
        "stable": lambda: np.argsort(x, axis, kind="stable") if carried else np.sort(x, axis, kind="stable"),
        "lax": lambda: jax.block_until_ready(theirs(*device)),
        "wengert": lambda: jax.block_until_ready(mine(*device)),
    }, seconds=0.5)  # fmt: skip
    ratios = [t[k] / t["wengert"] for k in ("numpy", "stable", "lax")]
    return [f"{'argsort' if carried else 'sort'} {name} {x.shape} axis {axis}", *(1e6 * s for s in t.values()), *ratios]


def main():
    jax.config.update("jax_enable_x64", True)
    rng, out = np.random.default_rng(0), []
    for shape, axis in SHAPES:
        for carried in (False, True):
            out.append(measure("f64", rng.standard_normal(shape), axis, carried))
    out += [measure("i64 below 1000", rng.integers(0, 1000, 100_000), 0, carried) for carried in (False, True)]
    out += [measure("bool", rng.random(shape) < 0.5, axis, True) for shape, axis in SHAPES]
    table(out, [
        "op", "numpy us", "stable us", "lax us", "wengert us", "numpy/wengert", "stable/wengert", "lax/wengert",
    ])


if __name__ == "__main__":
    main()
