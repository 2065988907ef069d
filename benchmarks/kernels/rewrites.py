"""Rewrites and lowering choices, one program each, at two sizes: against NumPy, and against jax.jit and jax.grad of the
same program.

    python benchmarks/kernels/rewrites.py [NAME...]

numpy/ours: ndarrays in and out; jax/ours: jax arrays; gradients of the sum of what is returned, by the first argument,
on jax arrays. Ratios are of medians of interleaved turns; below 0.9 is a loss. Where JAX has no such function, its
program is the one its users write.
"""

import sys

import jax
import numpy as np
from jax import numpy as jnp

from wengert import grad, jit
from wengert.benchmarks.timing import interleave, table

RNG = np.random.default_rng(0)
draw = RNG.standard_normal


def interior(u):
    u = u.copy()
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def pooled(xp, x):
    n, m = x.shape
    return x.reshape(n // 2, 2, m // 2, 2).max(axis=(1, 3))


def overlapping(xp, x):
    """Pooling by windows of three, each two further."""
    return xp.maximum(xp.maximum(x[:-2:2], x[1:-1:2]), x[2::2])


def convolved(xp, x, k):
    n, m = x.shape[0] - 2, x.shape[1] - 2
    return sum(k[i, j] * x[i : i + n, j : j + m] for i in range(3) for j in range(3))


def mlp(xp, w, x, v):
    return xp.tanh(xp.tanh(x @ w) @ v)


def scattered(x, i):
    z = np.zeros(len(x))
    np.add.at(z, i, x)
    return z * z


def both(f):
    """The program for NumPy and the one for JAX of a function that takes either as its first argument."""
    return lambda *args: f(np, *args), lambda *args: f(jnp, *args)


positive = lambda n: np.abs(draw(n)) + 0.5
indices = lambda n: RNG.integers(0, n, n)
regular = lambda n: draw((n, n)) + 2 * np.sqrt(n) * np.eye(n)

PROGRAMS = [  # name, (NumPy's, JAX's), arguments of a size, sizes, whether it has a gradient
    (
        "matmul chain",
        both(lambda xp, a, b, c, v: a @ b @ c @ v),
        lambda n: (*(draw((n, n)) for _ in range(3)), draw(n)),
        (50, 400),
        True,
    ),
    (
        "chain through a neck",
        both(lambda xp, a, b, c: (a @ b @ c)[0]),
        lambda n: (draw((n, 5)), draw((5, n)), draw((n, 5))),
        (50, 400),
        True,
    ),
    ("inv(a) @ b", both(lambda xp, a, v: xp.linalg.inv(a) @ v), lambda n: (regular(n), draw(n)), (30, 300), True),
    ("x ** 1.5", both(lambda xp, x: x**1.5), lambda n: (positive(n),), (1000, 300_000), True),
    ("x ** 3", both(lambda xp, x: x**3), lambda n: (positive(n),), (1000, 300_000), True),
    ("x ** -0.5", both(lambda xp, x: x**-0.5), lambda n: (positive(n),), (1000, 300_000), True),
    ("cumsum", both(lambda xp, x: xp.cumsum(x)), lambda n: (draw(n),), (1000, 300_000), True),
    ("cumprod", both(lambda xp, x: xp.cumprod(x)), lambda n: (1 + 1e-6 * draw(n),), (1000, 300_000), True),
    (
        "maximum.accumulate",
        (np.maximum.accumulate, lambda x: jax.lax.cummax(x)),
        lambda n: (draw(n),),
        (1000, 300_000),
        True,
    ),
    ("sort", both(lambda xp, x: xp.sort(x)), lambda n: (draw(n),), (1000, 100_000), True),
    ("argsort", both(lambda xp, x: xp.argsort(x)), lambda n: (draw(n),), (1000, 100_000), False),
    ("median of rows", both(lambda xp, x: xp.median(x, axis=1)), lambda n: (draw((n, n)),), (30, 300), True),
    ("argmax of rows", both(lambda xp, x: xp.argmax(x, axis=1)), lambda n: (draw((n, n)),), (30, 500), False),
    ("histogram", both(lambda xp, x: xp.histogram(x, 50)[0]), lambda n: (draw(n),), (1000, 100_000), False),
    (
        "bincount",
        both(lambda xp, i: xp.bincount(i, minlength=len(i)) if xp is np else xp.bincount(i, length=len(i))),
        lambda n: (indices(n),),
        (1000, 100_000),
        False,
    ),
    (
        "interior store",
        (interior, lambda u: u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))),
        lambda n: (draw((n, n)),),
        (40, 500),
        True,
    ),
    ("pooling", both(pooled), lambda n: (draw((n, n)),), (40, 500), True),
    ("pooling, overlapping", both(overlapping), lambda n: (draw((n + 1, n)),), (40, 500), True),
    ("convolution by slices", both(convolved), lambda n: (draw((n, n)), draw((3, 3))), (40, 500), True),
    (
        "np.convolve",
        both(lambda xp, x, k: xp.convolve(x, k, "same")),
        lambda n: (draw(n), draw(15)),
        (1000, 100_000),
        True,
    ),
    ("gather", both(lambda xp, x, i: x[i] ** 2), lambda n: (draw(n), indices(n)), (1000, 100_000), True),
    ("gather of rows", both(lambda xp, x, i: x[i] ** 2), lambda n: (draw((n, 16)), indices(n)), (100, 10_000), True),
    (
        "scatter",
        (scattered, lambda x, i: jnp.zeros(len(x)).at[i].add(x) ** 2),
        lambda n: (draw(n), indices(n)),
        (1000, 100_000),
        True,
    ),
    ("dense a @ b", both(lambda xp, a, b: a @ b), lambda n: (draw((n, n)), draw((n, n))), (128, 512), True),
    ("dense a.T @ b", both(lambda xp, a, b: a.T @ b), lambda n: (draw((n, n)), draw((n, n))), (128, 512), True),
    ("dense mlp", both(mlp), lambda n: (draw((n, n)), draw((64, n)), draw((n, n))), (64, 512), True),
]


def measure(name, pair, arguments, size, slopes):
    """The ratios of one program at one size, once all agree."""
    plain, theirs = pair
    args = arguments(size)
    device = [jnp.asarray(x) for x in args]
    loss = lambda f: lambda *args: (f(*args) ** 2).sum()
    forms = {"ours": jit(plain), "jax": jax.jit(theirs)}
    forms |= {"slope": grad(loss(plain)), "jax slope": jax.jit(jax.grad(loss(theirs)))} if slopes else {}
    np.testing.assert_allclose(forms["ours"](*args), plain(*args), rtol=1e-6, atol=1e-6)
    if slopes:
        np.testing.assert_allclose(forms["slope"](*device), forms["jax slope"](*device), rtol=1e-6, atol=1e-6)
    sides = {k: lambda f=f: jax.block_until_ready(f(*device)) for k, f in forms.items()}
    t = interleave(
        sides | {"numpy": lambda: plain(*args), "on ndarrays": lambda: forms["ours"](*args)},
        seconds=0.2,
        rounds=15,
        least=9,
    )
    back = [1e6 * t["slope"], t["jax slope"] / t["slope"]] if slopes else ["", ""]
    return [
        f"{name} {size}",
        1e6 * t["on ndarrays"],
        t["numpy"] / t["on ndarrays"],
        1e6 * t["ours"],
        t["jax"] / t["ours"],
        *back,
    ]


def main():
    jax.config.update("jax_enable_x64", True)
    rows = []
    for name, pair, arguments, sizes, slopes in PROGRAMS:
        if not sys.argv[1:] or any(text in name for text in sys.argv[1:]):
            rows += [measure(name, pair, arguments, size, slopes) for size in sizes]
    table(rows, [
        "program", "ndarrays us", "numpy/ours", "jax arrays us", "jax/ours", "gradient us", "jax/ours, gradient",
    ])


if __name__ == "__main__":
    main()
