"""Sums, cumulative sums and argmax on the CPU: NumPy, jax.lax, and the lowering of `backends/xla/reduction.py`.

    python benchmarks/kernels/reductions.py
"""

from functools import partial

import jax
import numpy as np
from jax import lax

from wengert.backends.xla import XLA
from wengert.benchmarks.timing import interleave, table
from wengert.ir.ops.reduction import argmax, cumsum, reduce_max, reduce_sum

SHAPES = [
    ((64,), 0),
    ((128,), 0),
    ((300,), 0),
    ((1000,), 0),
    ((100_000,), 0),
    ((1_000_000,), 0),
    ((1000, 1000), 0),
    ((1000, 1000), 1),
    ((100_000, 10), 1),
    ((10, 100_000), 1),
]
SUMS = [
    ((2000, 8, 16), 1),
    ((100_000, 3), 1),
    ((100_000, 8), 1),
    ((3, 100_000), 0),
    ((32, 20_000), 0),
    ((50, 8), 1),
    ((128, 20_000), 0),
]


def measure(name, shape, axis, with_numpy, with_lax, ours):
    x = np.random.default_rng(0).standard_normal(shape)
    theirs, mine = jax.jit(with_lax), jax.jit(ours)
    on_device = jax.numpy.asarray(x)
    np.testing.assert_allclose(theirs(on_device), mine(on_device), atol=1e-8)
    t = interleave({
        "numpy": lambda: with_numpy(x),
        "lax": lambda: theirs(on_device).block_until_ready(),
        "wengert": lambda: mine(on_device).block_until_ready(),
    }, seconds=0.5)  # fmt: skip
    return [
        f"{name} {shape} axis {axis}",
        *(1e6 * s for s in t.values()),
        t["lax"] / t["wengert"],
        t["numpy"] / t["wengert"],
    ]


def main():
    jax.config.update("jax_enable_x64", True)
    out = []
    for shape, a in SHAPES:
        out.append(
            measure(
                "cumsum",
                shape,
                a,
                partial(np.cumsum, axis=a),
                partial(lax.cumsum, axis=a),
                partial(XLA[cumsum], axis=a, reverse=False),
            )
        )
        at = {"axis": a, "index_dtype": np.int64}, {"axis": a, "dtype": np.dtype(np.int64)}
        out.append(
            measure(
                "argmax",
                shape,
                a,
                partial(np.argmax, axis=a),
                partial(lax.argmax, **at[0]),
                partial(XLA[argmax], **at[1]),
            )
        )
    for shape, a in SUMS:
        theirs = {"sum": (np.sum, lax.reduce_sum, reduce_sum), "max": (np.max, lax.reduce_max, reduce_max)}
        for name, (with_numpy, with_lax, op) in theirs.items():
            out.append(
                measure(
                    name,
                    shape,
                    a,
                    partial(with_numpy, axis=a),
                    partial(with_lax, axes=(a,)),
                    partial(XLA[op], axes=(a,)),
                )
            )
    table(out, ["op", "numpy us", "lax us", "wengert us", "lax/wengert", "numpy/wengert"])


if __name__ == "__main__":
    main()
