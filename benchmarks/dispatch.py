"""Per-call overhead against jax.jit on the same program: what a call costs beyond its arithmetic.

    python benchmarks/dispatch.py [--x64]

Columns: microseconds a call for jax.jit, for a second jit of the same program (the A/A control, whose
ratio says how far to trust the others) and for wengert, then the ratios. NumPy rows compare with
np.asarray(jax.jit(f)(x)); wengert's result there is a writable ndarray, which jax's is not.
`--x64` turns jax's 64-bit types on for the whole process, as a user of float64 jax would.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from timing import interleave, table

from wengert import jit


def rows():
    f_np, f_jax = (lambda x: np.tanh(x) * 2 + 1), (lambda x: jnp.tanh(x) * 2 + 1)
    dtype = np.float64 if jax.config.jax_enable_x64 else np.float32
    x = np.ones(16, dtype)
    many = [np.full(3, i, dtype) for i in range(20)]

    def total_np(*xs):
        out = xs[0]
        for y in xs[1:]:
            out = out + y
        return out

    yield "jax array -> jax array", f_np, f_jax, (jnp.asarray(x),), None
    yield "ndarray -> ndarray", f_np, f_jax, (x,), np.asarray
    yield "ndarray 1 MB -> ndarray", f_np, f_jax, (np.ones((1 << 20) // x.itemsize, dtype),), np.asarray
    yield "2 jax arrays -> jax array", (lambda a, b: a * b + a), (lambda a, b: a * b + a), (jnp.asarray(x), jnp.asarray(x)), None
    yield "ndarray and float -> ndarray", (lambda a, s: a * s), (lambda a, s: a * s), (x, 2.0), np.asarray
    yield "20 ndarrays -> ndarray", total_np, total_np, many, np.asarray
    yield "ndarray -> scalar", (lambda a: np.sum(a * a)), (lambda a: jnp.sum(a * a)), (x,), np.asarray


def measure(name, f_np, f_jax, args, convert):
    """One row: microseconds for the peer, the peer again, and wengert, and the two ratios."""
    ours, one, two = jit(f_np), jax.jit(f_jax), jax.jit(lambda *a: f_jax(*a))
    np.testing.assert_allclose(np.asarray(ours(*args)), np.asarray(one(*args)), rtol=1e-5)

    def peer(j):
        return (lambda: convert(j(*args))) if convert else (lambda: j(*args))

    t = {k: 1e6 * s for k, s in interleave({"jax": peer(one), "control": peer(two), "wengert": lambda: ours(*args)}).items()}
    return [name, *t.values(), t["control"] / t["jax"], t["wengert"] / min(t["jax"], t["control"])]


def main():
    if "--x64" in sys.argv:
        jax.config.update("jax_enable_x64", True)
    out = [measure(*row) for row in rows()]
    print(f"jax {jax.__version__}, numpy {np.__version__}, 64-bit types {'on' if jax.config.jax_enable_x64 else 'off'}, {jax.devices()[0].platform}")
    table(out, ["call", "jax us", "A/A us", "wengert us", "A/A ratio", "ratio"])


if __name__ == "__main__":
    main()
