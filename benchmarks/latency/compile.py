"""Seconds from a function to its first result, against jax.jit of the same program, in fresh processes' terms:
every round makes new functions, so nothing is remembered but the tracers' own tables.

    python benchmarks/latency/compile.py

Rows: a program and its gradient; columns: trace, passes, lower and compile for wengert, all of it for jax, the
same again (the A/A control), and how long the compiled program then runs. Correctness is checked first.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

from wengert import grad, jit
from wengert.benchmarks.timing import interleave, table

ROUNDS = 5


def mlp(np_, layers=8):
    def loss(x, *ws):
        for w in ws:
            x = np_.tanh(x @ w)
        return np_.sum(x * x)

    rng = np.random.default_rng(0)
    return loss, (rng.normal(size=(32, 64)), *(rng.normal(size=(64, 64)) / 8 for _ in range(layers)))


def chain(np_, length=100):
    def loss(x):
        for _ in range(length):
            x = np_.sin(x) * 1.1 + np_.cos(x) * x
        return np_.mean(x)

    return loss, (np.linspace(0.0, 1.0, 1000),)


def logistic(np_):
    def loss(w, X, y):
        z = X @ w
        return np_.mean(np_.logaddexp(0, z) - y * z)

    rng = np.random.default_rng(0)
    return loss, (rng.normal(size=20), rng.normal(size=(500, 20)), (rng.random(500) < 0.5) * 1.0)


def attention(np_):
    def loss(x, q, k, v):
        a = (x @ q) @ (x @ k).T / 8.0
        a = np_.exp(a - np_.max(a, axis=-1, keepdims=True))
        a = a / np_.sum(a, axis=-1, keepdims=True)
        return np_.sum((a @ (x @ v)) ** 2)

    rng = np.random.default_rng(0)
    return loss, (rng.normal(size=(64, 64)), *(rng.normal(size=(64, 64)) / 8 for _ in range(3)))


def first(make, args):
    """Seconds of a first call, the function with it, and what explains them."""
    f = make()
    start = time.perf_counter()
    jax.block_until_ready(f(*args))
    return time.perf_counter() - start, f


def main():
    jax.config.update("jax_enable_x64", True)
    rows = []
    for build in (logistic, mlp, chain, attention):
        for gradient in (False, True):
            (f_np, args), (f_jax, _) = build(np), build(jnp)
            everything = tuple(range(len(args)))

            def ours(f=f_np, g=gradient, n=everything):
                return grad(f, argnums=n) if g else jit(f)

            def theirs(f=f_jax, g=gradient, n=everything):
                return jax.jit(jax.grad(lambda *xs: f(*xs), argnums=n) if g else lambda *xs: f(*xs))

            for a, b in zip(
                jax.tree_util.tree_leaves(ours()(*args)), jax.tree_util.tree_leaves(theirs()(*args)), strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
            rows.append(measure(f"{build.__name__}{' gradient' if gradient else ''}", ours, theirs, args))
    table(rows, ["program", "trace ms", "passes ms", "compile ms", "jax ms", "A/A", "jax/wengert", "run: jax/wengert"])


def measure(name, ours, theirs, args):
    seconds = {"ours": [], "jax": [], "control": []}
    for turn in range(ROUNDS):
        for key, make in (("ours", ours), ("jax", theirs), ("control", theirs))[:: 1 if turn % 2 else -1]:
            spent, f = first(make, args)
            seconds[key].append((spent, f))
    best = {k: min(s for s, _ in v) for k, v in seconds.items()}
    f, j = min(seconds["ours"], key=lambda p: p[0])[1], seconds["jax"][0][1]
    (entry,) = f.compiled.entries.values()
    (version,) = entry.current.versions
    on_device = [jnp.asarray(a) for a in args]
    run = interleave(
        {"ours": lambda: jax.block_until_ready(f(*on_device)), "jax": lambda: jax.block_until_ready(j(*on_device))},
        seconds=1.0,
    )
    return [
        name, 1e3 * version.trace_seconds, 1e3 * version.pass_seconds,
        1e3 * (best["ours"] - version.trace_seconds - version.pass_seconds),
        1e3 * best["jax"], best["control"] / best["jax"], best["jax"] / best["ours"], run["jax"] / run["ours"],
    ]  # fmt: skip


if __name__ == "__main__":
    main()
