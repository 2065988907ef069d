"""Per-call overhead against jax.jit on the same program: what a call costs beyond its arithmetic.

    python benchmarks/dispatch.py [--x64] [--seconds 2] [--only PATTERN]

Columns: microseconds a call for jax.jit, for a second jit of the same program (the A/A control, whose
ratio says how far to trust the others) and for wengert, then the ratios. NumPy rows compare with
np.asarray(jax.jit(f)(x)); wengert's result there is a writable ndarray, which jax's is not.
`--x64` turns jax's 64-bit types on for the whole process, as a user of float64 jax would.

The second table compares with plain NumPy, on small programs given ndarrays and numbers: what a call costs there is
what stands around NumPy's own calls. "two signatures" are two calls that alternate.
"""

import argparse
import re

import jax
import jax.numpy as jnp
import numpy as np

from wengert import jit
from wengert.benchmarks.programs.tiny import PROGRAMS
from wengert.benchmarks.timing import interleave, table


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
    yield (
        "2 jax arrays -> jax array",
        (lambda a, b: a * b + a),
        (lambda a, b: a * b + a),
        (jnp.asarray(x), jnp.asarray(x)),
        None,
    )
    yield "ndarray and float -> ndarray", (lambda a, s: a * s), (lambda a, s: a * s), (x, 2.0), np.asarray
    yield "20 ndarrays -> ndarray", total_np, total_np, many, np.asarray
    yield "ndarray -> scalar", (lambda a: np.sum(a * a)), (lambda a: jnp.sum(a * a)), (x,), np.asarray
    others = [(x[:n],) for n in (4, 9)]
    yield "ndarray -> ndarray, of the third shape", f_np, f_jax, (x,), np.asarray, *others
    yield "jax array -> jax array, of the third shape", f_np, f_jax, (jnp.asarray(x),), None, *others


def tiny():
    rng = np.random.default_rng(0)
    x, A = rng.normal(size=8), rng.normal(size=(8, 8))

    def store(x):
        x[0] = 2.0

    def total(*xs):
        return sum(xs[1:], xs[0])

    for program in PROGRAMS:
        yield program.name, program.function, [program.arguments(rng, program.sizes[1])]
    yield "add two floats", (lambda a, b: a + b), [(1.0, 2.0)]
    yield "tanh", (lambda x: np.tanh(x) * 2 + 1), [(x,)]
    yield "20 ndarrays", total, [[np.full(3, i) for i in range(20)]]
    yield "standardise", (lambda x: (x - x.mean(0)) / x.std(0)), [(A,)]
    yield "float32", (lambda x, s: x * s + 1), [(x.astype(np.float32), 2.0)]
    yield "where", (lambda x: np.where(x > 0, x, 0.1 * x)), [(x,)]
    yield "matrix and vector", (lambda A, x: np.tanh(A @ x) + 2 * x), [(A, x)]
    yield "dict", (lambda p: {"w": p["w"] * 2, "b": p["b"] + 1}), [({"w": x, "b": x},)]
    yield "store", store, [(x.copy(),)]
    yield "embedding", (lambda t, i: t[i].sum(0)), [(A, np.arange(5))]
    yield "two signatures, shapes", (lambda x: np.tanh(x) * 2 + 1), [(x,), (x[:5],)]
    yield "two signatures, dtypes", (lambda x: np.tanh(x) * 2 + 1), [(x,), (x.astype(np.float32),)]
    yield "two signatures, kinds", (lambda x: np.tanh(x) * 2 + 1), [(x,), (1.5,)]


def beside_numpy(name, f, calls, seconds):
    """One row: microseconds for plain NumPy, again, and wengert, and the two ratios; what the program runs as."""
    ours = jit(f)
    for _ in range(2):
        for args in calls:
            ours(*args)

    def each(f):
        return (lambda args=calls[0]: f(*args)) if len(calls) == 1 else (lambda: [f(*args) for args in calls])

    t = {
        k: 1e6 * s
        for k, s in interleave({"numpy": each(f), "control": each(f), "wengert": each(ours)}, seconds).items()
    }
    engines = {v.engine or "XLA" for e in ours.compiled.entries.values() for w in e.worlds for v in w.versions}
    return [
        name,
        *t.values(),
        t["control"] / t["numpy"],
        t["wengert"] / min(t["numpy"], t["control"]),
        ", ".join(sorted(engines)),
    ]


def measure(name, f_np, f_jax, args, convert, *others, seconds):
    """One row: microseconds for the peer, the peer again, and wengert, and the two ratios; others: what all are called
    with before."""
    ours, one, two = jit(f_np), jax.jit(f_jax), jax.jit(lambda *a: f_jax(*a))
    for f in (ours, one, two):
        for other in others:
            f(*other)
    np.testing.assert_allclose(np.asarray(ours(*args)), np.asarray(one(*args)), rtol=1e-5)

    def peer(j):
        return (lambda: convert(j(*args))) if convert else (lambda: j(*args))

    t = {
        k: 1e6 * s
        for k, s in interleave(
            {"jax": peer(one), "control": peer(two), "wengert": lambda: ours(*args)}, seconds
        ).items()
    }
    return [name, *t.values(), t["control"] / t["jax"], t["wengert"] / min(t["jax"], t["control"])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--x64", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", given.x64)
    peers = [measure(*row, seconds=given.seconds) for row in rows() if re.search(given.only, row[0])]
    plain = [beside_numpy(*row, given.seconds) for row in tiny() if re.search(given.only, row[0])]
    print(
        f"jax {jax.__version__}, numpy {np.__version__}, 64-bit types {'on' if given.x64 else 'off'}, "
        f"{jax.devices()[0].platform}"
    )
    table(peers, ["call", "jax us", "A/A us", "wengert us", "A/A ratio", "ratio"])
    print()
    table(plain, ["call", "numpy us", "A/A us", "wengert us", "A/A ratio", "ratio", "runs as"])


if __name__ == "__main__":
    main()
