"""Matrix products by XLA on this machine: as they stand, and as Wengert spells them; beside NumPy.

    python benchmarks/kernels/products.py

Each is x y over one axis of each factor, the first or the last: "tn" is x^T y. ms are medians of interleaved turns on
jax arrays; ratios below 0.95 are losses.
"""

import jax
import numpy as np

from wengert.backends.xla.linalg import plain, product, spelling
from wengert.benchmarks.timing import interleave, table

SIZES = [
    (1, 300, 300), (1, 2000, 2000), (2000, 2000, 1), (300, 300, 1), (1, 10000, 50), (5000, 300, 1), (1, 100000, 10),
    (32, 32, 32), (64, 64, 64), (128, 128, 128), (256, 256, 256), (1000, 1000, 1000), (500, 600, 500), (784, 64, 128),
    (1000, 4, 1000),
    (100, 10000, 100), (8, 3000, 2000), (2000, 30000, 8), (3000, 3000, 4), (4, 3000, 3000),
]  # fmt: skip


def factors(m, k, n, dtype, form, rng):
    """(x, y, their contracted axes), m or n being 1 for a vector."""
    draw = lambda *shape: (
        rng.normal(size=shape).astype(dtype) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    )
    x = draw(*((k,) if m == 1 else (m, k) if form[0] == "n" else (k, m))).astype(dtype)
    y = draw(*((k,) if n == 1 else (k, n) if form[1] == "n" else (n, k))).astype(dtype)
    return x, y, ((0 if m == 1 or form[0] == "t" else 1,), (0 if n == 1 or form[1] == "n" else 1,))


def measure(x, y, over):
    """(ms as XLA has it, ms as we spell it, NumPy's), once the two agree."""
    a, b = jax.numpy.array(x), jax.numpy.array(y)
    as_is, ours = (
        jax.jit(lambda a, b: plain(a, b, over)),
        jax.jit(lambda a, b: product(a, b, contract=over, batch=((), ()))),
    )
    close = 1e-3 if x.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(ours(a, b), as_is(a, b), rtol=close, atol=100 * close)
    sides = {
        "xla": lambda: as_is(a, b).block_until_ready(),
        "ours": lambda: ours(a, b).block_until_ready(),
        "numpy": lambda: np.tensordot(x, y, over),
    }
    return [1e3 * t for t in interleave(sides, 0.2, 9).values()]


def main():
    jax.config.update("jax_enable_x64", True)
    rng, rows = np.random.default_rng(0), []
    for dtype in ("float64", "float32", "complex128"):
        for m, k, n in SIZES:
            for form in ("nn", "nt", "tn", "tt"):
                x, y, over = factors(m, k, n, dtype, form, rng)
                how = spelling(x, y, over, ((), ()))
                times = measure(x, y, over)
                rows.append([dtype, f"{m}x{k}x{n}", form, how.__name__ if how else "", *times, times[0] / times[1]])
    table(rows, ["dtype", "m k n", "form", "spelled", "xla ms", "ours ms", "numpy ms", "xla/ours"])


if __name__ == "__main__":
    main()
