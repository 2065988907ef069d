"""What it costs to compile a function where it is called: in a loop, or in a function that is called many times.

    python benchmarks/latency/made_again.py

Microseconds a call of `grad(loss)(w)` and its like, and of the compiled function that is kept, written the same way
with `jax.jit` and `jax.grad`; and milliseconds of the first call. jax finds what it has compiled by the function
object: one that is made anew is compiled anew. jax's gradient without `jit` runs operation by operation.
"""

import time

import jax
import numpy as np
from jax import numpy as jnp

from wengert import grad, jit
from wengert.benchmarks.timing import table

jax.config.update("jax_enable_x64", True)
DATA, TARGET = np.random.default_rng(0).standard_normal((100, 5)), np.ones(100)
DATA_JAX, TARGET_JAX = jnp.asarray(DATA), jnp.asarray(TARGET)


def loss(w):
    return ((DATA @ w - TARGET) ** 2).mean()


def loss_jax(w):
    return ((DATA_JAX @ w - TARGET_JAX) ** 2).mean()


def step(data, target, w):
    """A gradient as in a step of training: the loss is made of this step's data."""

    def loss(w):
        return ((data @ w - target) ** 2).mean()

    return grad(loss)(w)


def step_jax(data, target, w):
    def loss(w):
        return ((data @ w - target) ** 2).mean()

    return jax.jit(jax.grad(loss))(w)


def measured(call, most=2.0):
    """-> (milliseconds of the first call, microseconds of one of those after)."""
    begun = time.perf_counter()
    call()
    first = time.perf_counter() - begun
    call()
    best, begun, count = np.inf, time.perf_counter(), 1
    while time.perf_counter() - begun < most and count < 1 << 12:
        start = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - start
        best, count = min(best, taken / count), count if taken > 0.02 else 2 * count
    return 1e3 * first, 1e6 * best


def rows():
    w, v = np.zeros(5), jnp.zeros(5)
    kept, kept_jax = jit(loss), jax.jit(loss_jax)
    cases = {
        "g = jit(f), g(w)": (lambda: kept(w), lambda: kept_jax(v)),
        "jit(f)(w)": (lambda: jit(loss)(w), lambda: jax.jit(loss_jax)(v)),
        "grad(f)(w)": (lambda: grad(loss)(w), lambda: jax.grad(loss_jax)(v)),
        "jit(grad(f))(w)": (lambda: jit(grad(loss))(w), lambda: jax.jit(jax.grad(loss_jax))(v)),
        "jit of a lambda": (lambda: jit(lambda x: (x * 2.0).sum())(w), lambda: jax.jit(lambda x: (x * 2.0).sum())(v)),
        "jit(grad) of a loss of other data": (
            lambda: step(DATA, TARGET, w),
            lambda: step_jax(DATA_JAX, TARGET_JAX, v),
        ),
    }
    for name, calls in cases.items():
        (first, ours), (first_jax, theirs) = map(measured, calls)
        yield [name, f"{first:.1f}", f"{first_jax:.1f}", f"{ours:.1f}", f"{theirs:.1f}"]


if __name__ == "__main__":
    table(list(rows()), ["written", "first ms", "jax", "then us", "jax"])
