"""Gradients of long loops: how time and memory grow with the trips, beside jax.grad of the same loop as a JAX user
writes it.

    python benchmarks/loops/long_loops.py

"recurrence" is b[i] = f(b[i - 1]) over an array, "steps" a time loop of a state of 64 numbers, "while" the same until a
tolerance that it reaches after so many steps. MB are temporary buffers of the compiled programs; "200MB" is
`jit(memory="200MB")`. Peers: `lax.scan`, with `jax.checkpoint` over stretches of sqrt(n) for "steps". Values are
compared first. ms are medians of turns.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from wengert import grad, jit
from wengert.benchmarks.npbench_gradients import temporary
from wengert.benchmarks.timing import interleave, table

D = 64
A = np.random.default_rng(0).normal(size=(D, D)) / math.sqrt(D)


def recurrence(x):
    b = np.zeros_like(x)
    b[0] = x[0]
    for i in range(1, x.shape[0]):
        b[i] = np.sin(b[i - 1]) + x[i]
    return b.sum()


def recurrence_jax(x):
    def step(b, x):
        b = jnp.sin(b) + x
        return b, b

    first, rest = lax.scan(step, x[0], x[1:])
    return x[0] + rest.sum()


def steps(n):
    def f(x):
        for _ in range(n):
            x = x + 0.01 * np.tanh(A @ x)
        return (x * x).sum()

    return f


def steps_jax(n):
    inner = math.isqrt(n)

    @jax.checkpoint
    def stretch(x, _):
        return lax.scan(lambda x, _: (x + 0.01 * jnp.tanh(A @ x), None), x, None, length=inner)[0], None

    def f(x):
        x = lax.scan(stretch, x, None, length=n // inner)[0]
        x = lax.scan(lambda x, _: (x + 0.01 * jnp.tanh(A @ x), None), x, None, length=n - n // inner * inner)[0]
        return (x * x).sum()

    return f


def until(n):
    """Stops after n steps, which the data say."""

    def f(x, rate):
        t = 0.0
        while t < n * rate:
            x = x + rate * np.tanh(A @ x)
            t = t + rate
        return (x * x).sum()

    return f


def row(name, n, function, port, args, memory=None):
    ours, forward = jit(grad(function), memory=memory), jit(function)
    given = [jnp.asarray(a) for a in args]
    sides = {
        "forward": lambda: jax.block_until_ready(forward(*given)),
        "ours": lambda: jax.block_until_ready(ours(*given)),
    }
    theirs = math.nan
    if port is not None:
        run = jax.jit(jax.grad(port))
        np.testing.assert_allclose(ours(*given), run(*given), rtol=1e-6, atol=1e-9)
        theirs = run.lower(*given).compile().memory_analysis().temp_size_in_bytes / 1e6
        sides["jax"] = lambda: jax.block_until_ready(run(*given))
    found = interleave(sides, 1.0, 5)
    ms = [1e3 * found.get(side, math.nan) for side in ("forward", "ours", "jax")]
    return [name, str(n), memory or "", *ms, ms[1] / ms[0], ms[2] / ms[1], temporary(ours.ir(*given)), theirs]


def main():
    jax.config.update("jax_enable_x64", True)
    rng, rows = np.random.default_rng(1), []
    for n in (1000, 10_000, 100_000):
        rows.append(row("recurrence", n, recurrence, recurrence_jax, [rng.normal(size=n)]))
    for n in (1000, 10_000, 100_000):
        rows.append(row("steps", n, steps(n), steps_jax(n), [rng.normal(size=D)]))
        rows.append(row("steps", n, steps(n), steps_jax(n), [rng.normal(size=D)], "200MB"))
        rows.append(row("while", n, until(n), None, [rng.normal(size=D), 1e-2]))
    table(rows, [
        "loop", "trips", "memory", "forward ms", "ours ms", "jax ms", "grad/forward", "jax/ours", "MB", "jax MB",
    ])


if __name__ == "__main__":
    main()
